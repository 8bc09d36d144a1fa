/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/etmv1_script.h"

#include <stdio.h>

void etmv1_script_options(struct etmv1_encoder_options *o, uint32_t etmcr)
{
    etmv1_encoder_default_options(o);
    o->etmcr = etmcr;
    o->sync_period = 0;
}

struct etmv1_place etmv1_script_place(uint32_t address)
{
    return (struct etmv1_place){.address = address & ~1u,
                                .isa = address & 1 ? BT_ISA_T32 : BT_ISA_A32};
}

bool etmv1_script_start(struct etmv1_script *s, const struct etmv1_encoder_options *o,
                        uint32_t address)
{
    *s = (struct etmv1_script){.port = 4u << (o->etmcr >> 4 & 7)};
    s->pc = etmv1_script_place(address);
    s->encoder = etmv1_encoder_new(o, &s->out);
    return s->encoder != NULL;
}

void etmv1_script_end(struct etmv1_script *s)
{
    etmv1_encoder_free(s->encoder);
    trace_bytes_release(&s->out);
}

void etmv1_script_on(struct etmv1_script *s)
{
    etmv1_encoder_trace_on(s->encoder, &s->pc);
    etmv1_encoder_drain(s->encoder);
    s->mark = s->out.size;
}

void etmv1_script_at(struct etmv1_script *s, uint32_t address)
{
    s->pc = etmv1_script_place(address);
}

static void step(struct etmv1_script *s, uint32_t opcode, bool pass, struct etmv1_place next)
{
    const struct etmv1_insn insn = {.at = s->pc, .opcode = opcode, .pass = pass, .next = next};

    etmv1_encoder_insn(s->encoder, &insn);
    s->pc = next;
}

static struct etmv1_place behind(const struct etmv1_script *s)
{
    struct etmv1_place next = s->pc;

    next.address += next.isa == BT_ISA_A32 ? 4 : 2;
    return next;
}

void etmv1_script_run(struct etmv1_script *s, uint32_t opcode)
{
    step(s, opcode, true, behind(s));
}

void etmv1_script_fail(struct etmv1_script *s, uint32_t opcode)
{
    step(s, opcode, false, behind(s));
}

void etmv1_script_branch(struct etmv1_script *s, uint32_t opcode, uint32_t target)
{
    step(s, opcode, true, etmv1_script_place(target));
}

void etmv1_script_exception(struct etmv1_script *s, bool own, uint32_t vector)
{
    s->pc = etmv1_script_place(vector);
    etmv1_encoder_exception(s->encoder, own, &s->pc);
}

void etmv1_script_data(struct etmv1_script *s, uint32_t address, uint32_t value, unsigned size)
{
    const struct etmv1_model_access a = {.address = address, .value = value, .size = (uint8_t)size};

    etmv1_encoder_data(s->encoder, &a);
}

static size_t add_cycle(char *text, size_t room, uint32_t cycle, unsigned port)
{
    static const char *const names[8] = {"IE", "ID", "IN", "WT", "BE", "BD", "TR", "TD"};
    uint32_t pkt = cycle >> 3 & ((1u << port) - 1);

    return (size_t)snprintf(text, room, "%s %0*X%s", names[cycle & 7], (int)port / 4, (unsigned)pkt,
                            cycle >> (port + 3) & 1 ? "s" : "");
}

const char *etmv1_script_text(struct etmv1_script *s)
{
    static char text[4000];
    unsigned bytes = s->port == 4 ? 1 : s->port == 8 ? 2 : 4;
    size_t size = 0;

    etmv1_encoder_wait(s->encoder, 0);
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

const char *etmv1_script_drained(struct etmv1_script *s)
{
    etmv1_encoder_drain(s->encoder);
    const char *text = etmv1_script_text(s);
    s->mark = s->out.size;
    return text;
}
