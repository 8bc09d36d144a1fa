/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/etmv2_script.h"

#include <stdio.h>

void etmv2_script_options(struct etmv2_encoder_options *o, uint32_t etmcr)
{
    etmv2_encoder_default_options(o);
    o->etmcr = etmcr;
    o->sync_period = 0;
}

struct etmv2_place etmv2_script_place(uint32_t address)
{
    return (struct etmv2_place){.address = address & ~1u,
                                .isa = address & 1 ? BT_ISA_T32 : BT_ISA_A32};
}

bool etmv2_script_start(struct etmv2_script *s, const struct etmv2_encoder_options *o,
                        uint32_t address)
{
    *s = (struct etmv2_script){.port = 4u << (o->etmcr >> 4 & 7)};
    s->pc = etmv2_script_place(address);
    s->encoder = etmv2_encoder_new(o, &s->out);
    return s->encoder != NULL;
}

void etmv2_script_end(struct etmv2_script *s)
{
    etmv2_encoder_free(s->encoder);
    trace_bytes_release(&s->out);
}

void etmv2_script_on(struct etmv2_script *s)
{
    etmv2_encoder_trace_on(s->encoder, &s->pc, false);
    etmv2_encoder_drain(s->encoder);
    s->mark = s->out.size;
}

void etmv2_script_at(struct etmv2_script *s, uint32_t address)
{
    s->pc = etmv2_script_place(address);
}

static void step(struct etmv2_script *s, uint32_t opcode, bool pass, struct etmv2_place next)
{
    const struct etmv2_insn insn = {.at = s->pc, .opcode = opcode, .pass = pass, .next = next};

    etmv2_encoder_insn(s->encoder, &insn);
    s->pc = next;
}

static struct etmv2_place behind(const struct etmv2_script *s)
{
    struct etmv2_place next = s->pc;

    next.address += next.isa == BT_ISA_A32 ? 4 : 2;
    return next;
}

void etmv2_script_run(struct etmv2_script *s, uint32_t opcode)
{
    step(s, opcode, true, behind(s));
}

void etmv2_script_fail(struct etmv2_script *s, uint32_t opcode)
{
    step(s, opcode, false, behind(s));
}

void etmv2_script_branch(struct etmv2_script *s, uint32_t opcode, uint32_t target)
{
    step(s, opcode, true, etmv2_script_place(target));
}

void etmv2_script_exception(struct etmv2_script *s, bool cancel, uint32_t vector)
{
    s->pc = etmv2_script_place(vector);
    etmv2_encoder_exception(s->encoder, cancel, &s->pc);
}

int etmv2_script_data(struct etmv2_script *s, uint32_t address, uint32_t value)
{
    const struct etmv2_model_access a = {.address = address, .value = value, .first = true};

    return etmv2_encoder_data(s->encoder, &a);
}

int etmv2_script_more(struct etmv2_script *s, uint32_t value)
{
    const struct etmv2_model_access a = {.value = value};

    return etmv2_encoder_data(s->encoder, &a);
}

static size_t add_cycle(char *text, size_t room, uint32_t cycle, unsigned port)
{
    static const char *const names[16] = {"IE",   "DE",   "IN",   "DN",   "WT",   "DW",
                                          "TR",   "TD",   "PTIE", "PTDE", "PTIN", "PTDN",
                                          "PNIE", "PNDE", "PNIN", "PNDN"};
    unsigned status = (cycle & 7) | (cycle >> (port + 3) & 1) << 3;
    uint32_t pkt = cycle >> 3 & ((1u << port) - 1);

    return (size_t)snprintf(text, room, "%s %0*X", names[status], (int)port / 4, (unsigned)pkt);
}

const char *etmv2_script_text(struct etmv2_script *s)
{
    static char text[4000];
    unsigned bytes = s->port == 4 ? 1 : s->port == 8 ? 2 : 4;
    size_t size = 0;

    etmv2_encoder_wait(s->encoder, 0);
    text[0] = 0;
    for (size_t i = s->mark; i < s->out.size && size < sizeof text - 32; i += bytes) {
        uint32_t cycle = 0;
        for (unsigned k = 0; k < bytes; k++)
            cycle |= (uint32_t)s->out.data[i + k] << 8 * k;
        if (size)
            size += (size_t)snprintf(text + size, sizeof text - size, " | ");
        size += add_cycle(text + size, sizeof text - size, cycle, s->port);
    }
    return text;
}

const char *etmv2_script_drained(struct etmv2_script *s)
{
    etmv2_encoder_drain(s->encoder);
    const char *text = etmv2_script_text(s);
    s->mark = s->out.size;
    return text;
}
