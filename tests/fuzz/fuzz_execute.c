/* SPDX-License-Identifier: BSD-3-Clause */
/* Any instructions, exceptions and returns, executed forwards: 8 bytes are one of them. */
#include "decoder/execute/execute.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum execute_memory_kind fuzz_kind(void *context, uint64_t address, uint64_t *from,
                                          uint64_t *to, const uint8_t **bytes)
{
    (void)context;
    (void)bytes;
    *from = address & ~UINT64_C(0xfff);
    *to = *from + 0x1000;
    return address >> 28 == 2   ? EXECUTE_MEMORY_RAM
           : address >> 28 == 1 ? EXECUTE_MEMORY_ALIAS
                                : EXECUTE_MEMORY_OTHER;
}

static void begin_state(struct execute *x, uint8_t how)
{
    x->core = (struct execute_core){.profile = how & 1 ? EXECUTE_PROFILE_M : EXECUTE_PROFILE_AR,
                                    .big_endian = how & 2,
                                    .fpu = how & 4,
                                    .security = how & 8,
                                    .v4t = how & 16,
                                    .bit_band = how & 32};
    for (unsigned i = 0; i < EXECUTE_REGS; i++)
        x->regs.value[i] = i < 16 || i == EXECUTE_MSP || i == 32 ? 0x20000100 + 8 * i : how & 0x80;
    x->regs.value[EXECUTE_FPCCR] = how & 64 ? 0xc0000000u : 0;
    x->regs.known = UINT64_MAX;
    if (how & 128 && how & 64)
        x->core.profile = EXECUTE_PROFILE_A64;
    x->regs.psr = x->core.profile == EXECUTE_PROFILE_A64 ? 0x3c5
                  : how & 1                              ? 0x01000000
                  : execute_mode_bank(0x1f)              ? 0
                                                         : 0x1f;
    x->regs.psr_known = UINT32_MAX;
}

static int one_step(struct execute *x, const uint8_t *p)
{
    struct bt_event event = {.kind = BT_EVENT_EXCEPTION};
    struct execute_insn i = {.address = 0x8000 + p[5] * 2u, .isa = p[4] & 1, .cond = p[4] >> 1 & 3};
    memcpy(&i.opcode, p, 4);
    if (x->core.profile == EXECUTE_PROFILE_A64) {
        i.isa = BT_ISA_A64;
        i.address &= ~UINT64_C(3);
    }
    i.size = i.isa == BT_ISA_T32 && p[4] & 8 ? 2 : 4;
    i.opcode = i.size == 2 ? i.opcode & 0xffff : i.opcode;
    i.has_next = p[4] & 16;
    i.next = i.address + p[6];
    event.u.exception = (struct bt_exception){.number = p[7],
                                              .m_profile = p[4] & 1,
                                              .has_return = p[4] & 2,
                                              .return_address = 0x8000 + p[5]};
    if (p[4] >> 5 == 7)
        return execute_exception(x, &event, 0x8000);
    if (p[4] >> 5 == 6)
        return execute_exception_return(x, &event, p[6] & 1 ? EXECUTE_NO_ADDRESS : 0x8000);
    if (p[4] >> 5 == 5 && p[6] == 1)
        execute_forget_memory(x);
    if (p[4] >> 5 == 5 && p[6] == 2)
        execute_forget_registers(x);
    return execute_step(x, &i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct execute_budget budget = {.limit = 1 << 16};
    struct execute x = {.code = execute_code_new()}, copy;
    if (!x.code)
        return 0;
    execute_memory_init(&x.memory, &budget, fuzz_kind, NULL);
    begin_state(&x, size ? data[0] : 0);
    copy = x;
    if (execute_memory_share(&copy.memory, &x.memory))
        abort();
    for (size_t at = 1; at + 8 <= size; at += 8) {
        if (one_step(&x, data + at) == BT_ERR_NOMEM)
            break;
        if (at % 64 == 1) {
            execute_memory_release(&copy.memory);
            if (execute_memory_share(&copy.memory, &x.memory))
                break;
        }
    }
    if (execute_memory_kind(&x.memory, 0x20000000) != EXECUTE_MEMORY_RAM)
        abort();
    execute_memory_release(&x.memory);
    execute_memory_release(&copy.memory);
    execute_code_free(x.code);
    if (budget.used)
        abort();
    return 0;
}
