/* SPDX-License-Identifier: BSD-3-Clause */
/* A state of a Cortex-M of which all is known, for the tests of forward execution by hand. */
#ifndef TESTS_EXECUTE_CASE_H
#define TESTS_EXECUTE_CASE_H

#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define RAM 0x20000000u

static inline enum execute_memory_kind all_ram(void *context, uint64_t address, uint64_t *from,
                                               uint64_t *to, const uint8_t **bytes)
{
    (void)context;
    (void)bytes;
    *from = address < RAM ? 0 : address < RAM + 0x10000 ? RAM : RAM + 0x10000;
    *to = address < RAM ? RAM : address < RAM + 0x10000 ? RAM + 0x10000 : UINT32_MAX;
    return *from == RAM ? EXECUTE_MEMORY_RAM : EXECUTE_MEMORY_OTHER;
}

/* Below it there are NOPs, from 0x1200 on. */
static inline enum execute_memory_kind code_and_ram(void *context, uint64_t address, uint64_t *from,
                                                    uint64_t *to, const uint8_t **bytes)
{
    static uint8_t nops[0xf000];
    if (address < 0x1200 || address >= 0x1200 + sizeof nops)
        return all_ram(context, address, from, to, bytes);
    for (unsigned i = 1; i < sizeof nops; i += 2)
        nops[i] = 0xbf;
    *from = 0x1200;
    *to = *from + sizeof nops;
    *bytes = nops;
    return EXECUTE_MEMORY_CONST;
}

static inline void begin(struct execute *x, struct execute_budget *budget)
{
    *x = (struct execute){.core = {.profile = EXECUTE_PROFILE_M}};
    *budget = (struct execute_budget){.limit = 1 << 20};
    execute_memory_init(&x->memory, budget, code_and_ram, NULL);
    x->regs.psr_known = UINT32_MAX;
    x->regs.psr = 1u << 24;
    x->regs.known = UINT64_MAX;
    for (unsigned i = 0; i < 15; i++)
        x->regs.value[i] = 0x100 + i;
    x->regs.value[EXECUTE_SP] = RAM + 0x1004;
    x->regs.value[EXECUTE_MSP] = RAM + 0x2000;
    x->regs.value[EXECUTE_CCR] = 1u << 9;
}

static inline int step(struct execute *x, uint32_t opcode, uint64_t address, uint64_t next)
{
    bool wide = opcode >> 16;
    return execute_step(x, &(struct execute_insn){.address = address,
                                                  .opcode = opcode,
                                                  .isa = BT_ISA_T32,
                                                  .size = wide ? 4 : 2,
                                                  .next = next,
                                                  .has_next = true});
}

static inline uint32_t word(struct execute *x, uint32_t address)
{
    uint32_t v = 0;
    ck_assert_msg(execute_memory_read(&x->memory, address, &v, 4), "%x is not known", address);
    return v;
}

static inline struct bt_event entry(uint16_t number, uint64_t from)
{
    return (struct bt_event){
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {
            .number = number, .m_profile = true, .has_return = true, .return_address = from}};
}

#endif
