/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv3_filter.h"

static bool hits(const struct etmv3_range *r, uint64_t address)
{
    return address >= r->first && address <= r->last;
}

int etmv3_filter_insn(struct etmv3_filter *f, const struct etmv3_insn *insn)
{
    const struct etmv3_state here = {
        .address = insn->address, .isa = insn->isa, .security = f->security};
    bool wanted = hits(&f->insns, insn->address) || f->held;
    int error = 0;

    if (wanted && !f->on)
        error = etmv3_encoder_trace_on(f->encoder, &here, f->busy);
    else if (!wanted && f->on)
        error = etmv3_encoder_trace_off(f->encoder);
    if (error)
        return error;
    f->on = wanted;
    f->busy |= insn->in_progress;
    f->held = f->on && f->busy;
    f->next = insn->next;
    f->security = insn->next.security;
    return etmv3_encoder_insn(f->encoder, insn);
}

int etmv3_filter_data(struct etmv3_filter *f, const struct etmv3_access *a,
                      const struct etmv3_state *executing)
{
    int error = 0;

    if (!f->on && f->busy && hits(&f->data, a->address)) {
        error =
            etmv3_encoder_trace_on(f->encoder, executing ? executing : &f->next, executing != NULL);
        f->on = true;
        f->held = true;
    }
    return error ? error : etmv3_encoder_data(f->encoder, a);
}

void etmv3_filter_data_done(struct etmv3_filter *f)
{
    f->busy = false;
    f->held = false;
    etmv3_encoder_data_done(f->encoder);
}
