/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/encoder_script.h"

#include <stdio.h>
#include <stdlib.h>

#include "drivers/virtual/encoder/waypoint.h"

#define HEX_BYTES 200

void script_options(struct ptm_encoder_options *o, uint32_t etmcr, uint32_t etmidr,
                    uint32_t etmccer)
{
    ptm_encoder_default_options(o);
    o->etmcr = etmcr;
    o->etmidr = etmidr;
    o->etmccer = etmccer;
    o->sync_period = 0;
}

bool script_start(struct script *s, const struct ptm_encoder_options *o)
{
    *s = (struct script){.pc = {.isa = BT_ISA_A32, .security = BT_SEC_SECURE}};
    s->encoder = ptm_encoder_new(o, &s->out);
    return s->encoder != NULL;
}

void script_end(struct script *s)
{
    ptm_encoder_free(s->encoder);
    trace_bytes_release(&s->out);
}

/* Tests have no use for an encoder that ran out of memory. */
static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "encoder: error %d\n", result);
        abort();
    }
}

void script_at(struct script *s, uint32_t address)
{
    s->pc.address = address & ~1u;
    s->pc.isa = address & 1 ? BT_ISA_T32 : BT_ISA_A32;
}

void script_secure(struct script *s, enum bt_security security)
{
    s->pc.security = security;
}

void script_trace_on(struct script *s)
{
    must(ptm_encoder_trace_on(s->encoder, &s->pc));
}

static void execute(struct script *s, uint32_t opcode, bool pass, const struct ptm_state *next)
{
    const struct ptm_insn insn = {
        .address = s->pc.address, .isa = s->pc.isa, .opcode = opcode, .pass = pass, .next = *next};

    must(ptm_encoder_insn(s->encoder, &insn));
    s->pc = *next;
}

static void execute_on(struct script *s, uint32_t opcode, bool pass)
{
    struct ptm_state next = s->pc;
    struct waypoint w;

    waypoint_classify(s->pc.isa, opcode, s->pc.address, &w);
    next.address += w.size;
    execute(s, opcode, pass, &next);
}

void script_run(struct script *s, uint32_t opcode)
{
    execute_on(s, opcode, true);
}

void script_fail(struct script *s, uint32_t opcode)
{
    execute_on(s, opcode, false);
}

void script_branch(struct script *s, uint32_t opcode, uint32_t target)
{
    const struct ptm_state next = {.address = target & ~1u,
                                   .isa = target & 1 ? BT_ISA_T32 : BT_ISA_A32,
                                   .security = s->pc.security};
    execute(s, opcode, true, &next);
}

void script_run_to(struct script *s, uint32_t address)
{
    while (s->pc.address < address)
        script_run(s, s->pc.isa == BT_ISA_A32 ? A32_NOP : T16_NOP);
}

void script_exception(struct script *s, unsigned number, uint32_t vector)
{
    script_at(s, vector);
    must(ptm_encoder_exception(s->encoder, number, &s->pc));
}

const char *script_hex(struct script *s)
{
    static char text[3 * HEX_BYTES + 1];
    size_t length = 0;

    must(ptm_encoder_flush(s->encoder));
    text[0] = '\0';
    for (size_t i = s->mark; i < s->out.size && i < s->mark + HEX_BYTES; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%02X", length ? " " : "",
                                   s->out.data[i]);
    return text;
}
