/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/etmv3_script.h"

#include <stdio.h>

#define HEX_BYTES 400

void etmv3_script_options(struct etmv3_encoder_options *o, uint32_t etmcr, uint32_t etmidr)
{
    etmv3_encoder_default_options(o);
    o->etmcr = etmcr;
    o->etmidr = etmidr;
    o->m_profile = etmidr == ETMV3_IDR_M4;
    o->sync_period = 0;
}

bool etmv3_script_start(struct etmv3_script *s, const struct etmv3_encoder_options *o,
                        uint32_t address)
{
    *s = (struct etmv3_script){.cycles = 1};
    s->encoder = etmv3_encoder_new(o, &s->out);
    etmv3_script_at(s, address);
    return s->encoder != NULL;
}

void etmv3_script_end(struct etmv3_script *s)
{
    etmv3_encoder_free(s->encoder);
    trace_bytes_release(&s->out);
}

void etmv3_script_at(struct etmv3_script *s, uint32_t address)
{
    s->pc.isa = address & 1 ? BT_ISA_T32 : BT_ISA_A32;
    s->pc.address = address & ~1u;
}

void etmv3_script_on(struct etmv3_script *s, unsigned gap)
{
    etmv3_encoder_add_cycles(s->encoder, gap);
    etmv3_encoder_trace_on(s->encoder, &s->pc, false);
}

static void run(struct etmv3_script *s, uint32_t opcode, bool pass, const struct etmv3_state *next)
{
    const struct etmv3_insn insn = {
        .address = s->pc.address, .isa = s->pc.isa, .opcode = opcode, .pass = pass, .next = *next};

    etmv3_encoder_add_cycles(s->encoder, s->cycles);
    etmv3_encoder_insn(s->encoder, &insn);
    s->pc = *next;
}

static struct etmv3_state behind(const struct etmv3_script *s, uint32_t opcode)
{
    struct etmv3_state next = s->pc;

    next.address += s->pc.isa == BT_ISA_JAZELLE                  ? 1
                    : s->pc.isa == BT_ISA_A32 || opcode > 0xffff ? 4
                                                                 : 2;
    return next;
}

void etmv3_script_run(struct etmv3_script *s, uint32_t opcode)
{
    const struct etmv3_state next = behind(s, opcode);

    run(s, opcode, true, &next);
}

void etmv3_script_fail(struct etmv3_script *s, uint32_t opcode)
{
    const struct etmv3_state next = behind(s, opcode);

    run(s, opcode, false, &next);
}

void etmv3_script_step(struct etmv3_script *s, uint32_t opcode, unsigned cycles)
{
    unsigned kept = s->cycles;

    s->cycles = cycles;
    etmv3_script_run(s, opcode);
    s->cycles = kept;
}

void etmv3_script_branch(struct etmv3_script *s, uint32_t opcode, uint32_t target)
{
    const struct etmv3_state next = {.address = target & ~1u,
                                     .isa = target & 1 ? BT_ISA_T32 : BT_ISA_A32,
                                     .security = s->pc.security};

    run(s, opcode, true, &next);
}

void etmv3_script_exception(struct etmv3_script *s, unsigned number, bool cancel, uint32_t vector)
{
    const struct etmv3_exception x = {.number = number, .cancel = cancel};

    etmv3_script_at(s, vector);
    etmv3_encoder_exception(s->encoder, &x, &s->pc);
}

const char *etmv3_script_hex(struct etmv3_script *s)
{
    static char text[3 * HEX_BYTES + 1];
    size_t n = 0;

    etmv3_encoder_flush(s->encoder);
    text[0] = 0;
    for (size_t i = s->mark; i < s->out.size && i < s->mark + HEX_BYTES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%02X", n ? " " : "", s->out.data[i]);
    return text;
}
