/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a debugger of an M-profile core needs of QEMU. */
#include <string.h>

#include "board_qemu.h"

#define NUMBER_XPSR    16
#define NUMBER_MSP     17
#define NUMBER_PSP     18
#define NUMBER_SPECIAL 20

/* MSP and PSP of the non-secure and of the secure state, then their limits, secure ones first. */
#define NUMBER_STACKS     0x18
#define NUMBER_STACKS_S   0x1a
#define NUMBER_LIMITS     0x1c
#define NUMBER_LIMITS_NS  0x1e
#define NUMBER_STACKS_END 0x20
#define NUMBER_SPECIAL_S  0x22
#define NUMBER_SPECIAL_NS 0x23

#define CONTROL       3 /* index of the special registers */
#define CONTROL_SPSEL 2u
#define CONTROL_FPCA  4u /* one for both states (DDI 0553B.v, CONTROL), in QEMU the secure one */
#define IPSR          0x1ffu

/*
 * Of a transaction; which of a CPU's address spaces is the secure one: 1. Bit 1 of up to four bytes
 * in QEMU 7.2 to 9.2, where bit 0 says that the bus master has not told; bit 0 of eight bytes from
 * QEMU 10.0 on, where bit 1 is looked at on the way to the page tables of an A profile.
 */
#define ATTRIBUTE_SECURE 3u

/* Flags of QEMU's break- and watchpoints. */
#define WATCH_READ     0x01
#define WATCH_WRITE    0x02
#define WATCH_BEFORE   0x04
#define WATCH_DEBUGGER 0x10

static struct CPUState *vcpu_of(const struct board_qemu *q, unsigned vcpu)
{
    return q->get_cpu ? q->get_cpu((int)vcpu) : NULL;
}

static bool member(const struct board_qemu *q, unsigned vcpu, size_t offset, uint32_t **at)
{
    struct CPUState *cpu = vcpu_of(q, vcpu);

    *at = cpu ? (uint32_t *)(void *)((char *)cpu + offset) : NULL;
    return cpu && offset;
}

/* A Cortex-M33 in its secure state: memory and special registers are those of that state. */
static bool is_secure(const struct board_qemu *q, unsigned vcpu)
{
    uint32_t *secure;

    return q->secure && member(q, vcpu, q->secure, &secure) && *secure;
}

/* What is there for each security state, that of the non-secure one at `offset`. */
static bool banked(const struct board_qemu *q, unsigned vcpu, size_t offset, bool secure,
                   uint32_t **at)
{
    return member(q, vcpu, offset && secure ? offset + 4 : offset, at);
}

static bool write_register(const struct board_qemu *q, unsigned vcpu, int number, uint32_t value)
{
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                        (uint8_t)(value >> 24)};
    struct CPUState *cpu = vcpu_of(q, vcpu);

    return cpu && q->write_register && q->write_register(cpu, bytes, number) == 4;
}

/* Thread mode with SPSEL: R13 is PSP. */
static bool on_process_stack(const struct board_qemu *q, unsigned vcpu, bool *psp)
{
    uint32_t psr, *control;

    if (!banked(q, vcpu, q->masks[CONTROL], is_secure(q, vcpu), &control) ||
        !board_qemu_register(q, vcpu, BOARD_REG_CPSR, &psr))
        return false;
    *psp = !(psr & IPSR) && *control & CONTROL_SPSEL;
    return true;
}

static bool get_stack(const struct board_qemu *q, unsigned vcpu, bool process, uint32_t *value)
{
    bool psp;

    if (!on_process_stack(q, vcpu, &psp))
        return false;
    return psp == process ? board_qemu_register(q, vcpu, BOARD_REG_SP, value)
                          : board_qemu_other_sp(q, vcpu, value);
}

static bool set_stack(const struct board_qemu *q, unsigned vcpu, bool process, uint32_t value)
{
    uint32_t *other;
    bool psp;

    if (!on_process_stack(q, vcpu, &psp))
        return false;
    if (psp == process)
        return write_register(q, vcpu, BOARD_REG_SP, value & ~3u);
    if (!member(q, vcpu, q->other_sp, &other))
        return false;
    *other = value & ~3u;
    return true;
}

static bool get_special(const struct board_qemu *q, unsigned vcpu, bool secure, uint32_t *value)
{
    uint32_t *at;

    *value = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (!banked(q, vcpu, q->masks[i], secure, &at))
            return false;
        *value |= (*at & 0xff) << 8 * i;
    }
    if (member(q, vcpu, q->masks[CONTROL] + 4, &at))
        *value |= (*at & CONTROL_FPCA) << 8 * CONTROL;
    return true;
}

/* SPSEL chooses which of the stack pointers is in R13. */
static bool set_special(const struct board_qemu *q, unsigned vcpu, bool secure, uint32_t value)
{
    uint32_t msp, psp, *at, *state;

    if (!get_stack(q, vcpu, false, &msp) || !get_stack(q, vcpu, true, &psp))
        return false;
    for (unsigned i = 0; i < 4; i++) {
        if (!banked(q, vcpu, q->masks[i], secure, &at))
            return false;
        *at = value >> 8 * i & 0xff;
    }
    if (!secure && member(q, vcpu, q->masks[CONTROL] + 4, &at))
        *at = (*at & ~CONTROL_FPCA) | (value >> 8 * CONTROL & CONTROL_FPCA);
    if (q->refresh && member(q, vcpu, q->regs, &state))
        q->refresh(state);
    return set_stack(q, vcpu, false, msp) && set_stack(q, vcpu, true, psp);
}

/* Of a core with security states. */

/* Where a stack pointer of the other state, or a limit, is. */
static bool find_banked(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t **at)
{
    if (number < NUMBER_LIMITS)
        return member(q, vcpu, q->other_stacks[number & 1], at);
    return banked(q, vcpu, q->limits[number & 1], number < NUMBER_LIMITS_NS, at);
}

/* A stack pointer of the state that the core is in. */
static bool is_own_stack(const struct board_qemu *q, unsigned vcpu, uint32_t number)
{
    return number < NUMBER_LIMITS && (number >= NUMBER_STACKS_S) == is_secure(q, vcpu);
}

static bool get_secure(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t *value)
{
    uint32_t *at;

    if (number == BOARD_QEMU_SECURE) {
        *value = is_secure(q, vcpu);
        return true;
    }
    if (number == NUMBER_SPECIAL_S || number == NUMBER_SPECIAL_NS)
        return q->secure && get_special(q, vcpu, number == NUMBER_SPECIAL_S, value);
    if (number < NUMBER_STACKS || number >= NUMBER_STACKS_END || !q->secure)
        return false;
    if (is_own_stack(q, vcpu, number))
        return get_stack(q, vcpu, number & 1, value);
    if (!find_banked(q, vcpu, number, &at))
        return false;
    *value = *at;
    return true;
}

static bool set_secure(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t value)
{
    uint32_t *at;

    if (number == NUMBER_SPECIAL_S || number == NUMBER_SPECIAL_NS)
        return q->secure && set_special(q, vcpu, number == NUMBER_SPECIAL_S, value);
    if (number < NUMBER_STACKS || number >= NUMBER_STACKS_END || !q->secure)
        return false;
    if (is_own_stack(q, vcpu, number))
        return set_stack(q, vcpu, number & 1, value);
    if (!find_banked(q, vcpu, number, &at))
        return false;
    *at = value & ~(number < NUMBER_LIMITS ? 3u : 7u);
    return true;
}

bool board_qemu_get(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t *value)
{
    if (number < NUMBER_XPSR)
        return board_qemu_register(q, vcpu, (int)number, value);
    switch (number) {
    case NUMBER_XPSR:
        return board_qemu_register(q, vcpu, BOARD_REG_CPSR, value);
    case NUMBER_MSP:
    case NUMBER_PSP:
        return get_stack(q, vcpu, number == NUMBER_PSP, value);
    case NUMBER_SPECIAL:
        return get_special(q, vcpu, is_secure(q, vcpu), value);
    default:
        return get_secure(q, vcpu, number, value);
    }
}

bool board_qemu_set(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t value)
{
    if (number == BOARD_REG_PC)
        value &= ~1u;
    if (number < NUMBER_XPSR)
        return write_register(q, vcpu, (int)number, value);
    switch (number) {
    case NUMBER_XPSR:
        return write_register(q, vcpu, BOARD_REG_CPSR, value);
    case NUMBER_MSP:
    case NUMBER_PSP:
        return set_stack(q, vcpu, number == NUMBER_PSP, value);
    case NUMBER_SPECIAL:
        return set_special(q, vcpu, is_secure(q, vcpu), value);
    default:
        return set_secure(q, vcpu, number, value);
    }
}

static bool access_as(const struct board_qemu *q, unsigned vcpu, bool secure, uint32_t address,
                      void *bytes, size_t size, bool write)
{
    struct CPUState *cpu = vcpu_of(q, vcpu);

    return cpu && q->get_space && q->access_space &&
           q->access_space(q->get_space(cpu, secure), address, secure ? ATTRIBUTE_SECURE : 0, bytes,
                           size, write) == 0;
}

bool board_qemu_bus(const struct board_qemu *q, unsigned vcpu, uint32_t address, void *bytes,
                    size_t size, bool write)
{
    return access_as(q, vcpu, is_secure(q, vcpu), address, bytes, size, write);
}

bool board_qemu_word_of(const struct board_qemu *q, unsigned vcpu, bool secure, uint32_t address,
                        uint32_t *value)
{
    uint8_t bytes[4];

    if (!access_as(q, vcpu, secure, address, bytes, sizeof bytes, false))
        return false;
    *value = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
             (uint32_t)bytes[3] << 24;
    return true;
}

static bool board_qemu_m_watch(const struct board_qemu *q, struct CPUState *cpu, int flags,
                               uint32_t address, uint32_t size, bool on)
{
    if (q->before_access)
        flags |= WATCH_BEFORE;
    if (!q->insert_watchpoint || !q->remove_watchpoint)
        return false;
    return on ? q->insert_watchpoint(cpu, address, size, flags, NULL) == 0
              : q->remove_watchpoint(cpu, address, size, flags) == 0;
}

bool board_qemu_breakpoint(const struct board_qemu *q, unsigned vcpu, char what, uint32_t address,
                           uint32_t size, bool on)
{
    struct CPUState *cpu = vcpu_of(q, vcpu);

    if (!cpu || !q->insert_breakpoint || !q->remove_breakpoint)
        return false;
    switch (what) {
    case 'r':
        return board_qemu_m_watch(q, cpu, WATCH_DEBUGGER | WATCH_READ, address, size, on);
    case 'w':
        return board_qemu_m_watch(q, cpu, WATCH_DEBUGGER | WATCH_WRITE, address, size, on);
    case 'a':
        return board_qemu_m_watch(q, cpu, WATCH_DEBUGGER | WATCH_READ | WATCH_WRITE, address, size,
                                  on);
    default:
        return on ? q->insert_breakpoint(cpu, address, WATCH_DEBUGGER, NULL) == 0
                  : q->remove_breakpoint(cpu, address, WATCH_DEBUGGER) == 0;
    }
}

void board_qemu_leave_block(const struct board_qemu *q, unsigned vcpu, uintptr_t host)
{
    struct CPUState *cpu = vcpu_of(q, vcpu);

    if (cpu && q->leave_block)
        q->leave_block(cpu, host);
}
