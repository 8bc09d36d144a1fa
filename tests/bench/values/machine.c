/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/values/machine.h"

#include "decoder/program/insn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

static const int ids[17] = {
    UC_ARM_REG_R0,  UC_ARM_REG_R1, UC_ARM_REG_R2, UC_ARM_REG_R3, UC_ARM_REG_R4,  UC_ARM_REG_R5,
    UC_ARM_REG_R6,  UC_ARM_REG_R7, UC_ARM_REG_R8, UC_ARM_REG_R9, UC_ARM_REG_R10, UC_ARM_REG_R11,
    UC_ARM_REG_R12, UC_ARM_REG_SP, UC_ARM_REG_LR, UC_ARM_REG_PC, UC_ARM_REG_CPSR};

uint32_t machine_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

static uint32_t word_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static void read_state(struct machine *m, struct state *s)
{
    int all[17];
    void *to[17];
    memcpy(all, ids, sizeof all);
    for (unsigned i = 0; i < 16; i++)
        to[i] = &s->regs[i];
    to[16] = &s->cpsr;
    uc_reg_read_batch(m->uc, all, to, 17);
}

static bool passes(unsigned cond, uint32_t cpsr)
{
    bool n = cpsr >> 31, z = cpsr >> 30 & 1, c = cpsr >> 29 & 1, v = cpsr >> 28 & 1;
    bool table[8] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    return cond >= 14 || table[cond >> 1] != (cond & 1);
}

/* The condition as hardware sees it; the IT state is followed here. */
static bool runs(struct machine *m, const struct values_insn *i, const struct state *s)
{
    uint32_t cpsr = s->cpsr;
    unsigned cond = 14;
    if (i->isa == BT_ISA_A32)
        return passes(i->opcode >> 28, cpsr);
    if (m->it) {
        cond = m->it >> 4;
        m->it = m->it & 7 ? (uint8_t)((m->it & 0xe0) | (m->it << 1 & 0x1f)) : 0;
    } else if (i->size == 2 && (i->opcode & 0xff00) == 0xbf00 && i->opcode & 0xf) {
        m->it = (uint8_t)i->opcode;
    } else if (i->size == 2 && (i->opcode & 0xf500) == 0xb100) { /* CBZ, CBNZ */
        return (s->regs[i->opcode & 7] == 0) != (i->opcode >> 11 & 1);
    } else if (i->size == 2 && i->opcode >> 12 == 13) {
        cond = i->opcode >> 8 & 15;
    } else if (i->size == 4 && (i->opcode & 0xf800d000) == 0xf0008000) {
        cond = i->opcode >> 22 & 15;
    }
    return passes(cond, cpsr);
}

static void append(struct machine *m, const struct state *s)
{
    struct values_insn *i = &m->insns[m->count];
    bool thumb = s->cpsr >> 5 & 1;
    uint32_t w = word_at(m->code + (s->regs[15] - CODE_BASE));
    *i = (struct values_insn){.address = s->regs[15], .isa = thumb ? BT_ISA_T32 : BT_ISA_A32};
    i->size = thumb ? (uint8_t)insn_t32_size((uint16_t)w) : 4;
    i->opcode = !thumb ? w : i->size == 2 ? w & 0xffff : w << 16 | w >> 16;
    i->cond = runs(m, i, s) ? BT_COND_PASS : BT_COND_FAIL;
    m->states[m->count] = *s;
    m->count++;
}

/* The emulator does not tell of instructions of an IT block that fail: put them in. */
static void append_skipped(struct machine *m, const struct state *s)
{
    struct state at = *s;
    while (m->count && m->it && !passes(m->it >> 4, s->cpsr)) {
        at.regs[15] = m->insns[m->count - 1].address + m->insns[m->count - 1].size;
        if (at.regs[15] == s->regs[15])
            return;
        append(m, &at);
    }
}

static void on_code(uc_engine *uc, uint64_t address, uint32_t size, void *user)
{
    struct machine *m = user;
    struct state s;
    (void)size;
    if (m->count >= m->max + 8 || address - CODE_BASE >= CODE_SIZE) {
        uc_emu_stop(uc);
        return;
    }
    read_state(m, &s);
    s.regs[15] = (uint32_t)address;
    append_skipped(m, &s);
    if (m->count >= m->max && !m->it) /* not within an IT block, where a stop is not exact */
        uc_emu_stop(uc);
    else
        append(m, &s);
}

static void note_write(struct machine *m, uint32_t address)
{
    if (m->write_count == m->write_max) {
        m->write_max = m->write_max ? m->write_max * 2 : 1024;
        m->writes = realloc(m->writes, m->write_max * sizeof *m->writes);
    }
    struct write *w = &m->writes[m->write_count++];
    w->step = (uint32_t)m->count - 1;
    w->address = address & ~3u;
    for (unsigned i = 0; i < 3; i++)
        w->old[i] = (address & ~3u) - RAM_BASE + 4 * i + 4 <= RAM_SIZE
                        ? word_at(m->ram + (w->address - RAM_BASE) + 4 * i)
                        : 0;
}

static void on_write(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value,
                     void *user)
{
    (void)uc;
    (void)type;
    (void)size;
    (void)value;
    note_write(user, (uint32_t)address);
}

static void event(struct machine *m, enum bt_event_kind kind, uint32_t address)
{
    if (m->event_count == m->event_max) {
        m->event_max = m->event_max ? m->event_max * 2 : 64;
        m->events = realloc(m->events, m->event_max * sizeof *m->events);
    }
    m->events[m->event_count++] = (struct bt_event){.position = m->count, .kind = (uint8_t)kind};
    if (kind == BT_EVENT_EXCEPTION)
        m->events[m->event_count - 1].u.exception =
            (struct bt_exception){.return_address = address, .has_return = true};
}

/* DDI 0403E.e B1.5.6 and B1.5.8: stacking with 8-byte alignment, unstacking. */
static void enter(struct machine *m)
{
    static const uint8_t order[6] = {0, 1, 2, 3, 12, 14};
    struct state s;
    read_state(m, &s);
    append_skipped(m, &s);
    uint32_t sp = s.regs[13], frame = (sp - 0x20) & ~7u, words[8], junk;
    for (unsigned i = 0; i < 6; i++)
        words[i] = s.regs[order[i]];
    words[6] = s.regs[15];
    words[7] = (s.cpsr & 0xf0000000u) | 1u << 24 | (sp & 4 ? 1u << 9 : 0) | (m->it & 3u) << 25 |
               (m->it >> 2 & 0x3fu) << 10;
    if (frame - RAM_BASE >= RAM_SIZE - 0x20)
        return;
    for (unsigned i = 0; i < 8; i++) {
        m->count++;
        note_write(m, frame + 4 * i);
        m->count--;
        m->writes[m->write_count - 1].step |= 0x80000000u; /* seen by the state of its step */
        memcpy(m->ram + (frame - RAM_BASE) + 4 * i, &words[i], 4);
    }
    event(m, BT_EVENT_EXCEPTION, s.regs[15]);
    uint32_t lr = m->active++ ? 0xfffffff1u : 0xfffffff9u;
    uc_reg_write(m->uc, UC_ARM_REG_LR, &lr);
    uc_reg_write(m->uc, UC_ARM_REG_SP, &frame);
    for (unsigned i = 0; i < 5; i++) { /* unknown on entry: make sure */
        junk = machine_random(&m->seed);
        uc_reg_write(m->uc, ids[order[i]], &junk);
    }
    m->it = 0;
    s.cpsr = (s.cpsr & ~0x0600fc00u) | 0x20;
    uc_reg_write(m->uc, UC_ARM_REG_CPSR, &s.cpsr);
    uc_reg_write(m->uc, UC_ARM_REG_PC, &m->handler);
}

static void leave(struct machine *m)
{
    static const uint8_t order[6] = {0, 1, 2, 3, 12, 14};
    struct state s;
    read_state(m, &s);
    const uint8_t *p = m->ram + (s.regs[13] - RAM_BASE);
    uint32_t xpsr = word_at(p + 28), sp = s.regs[13] + 0x20, pc = word_at(p + 24) | 1;
    m->active--;
    if (xpsr & 1u << 9)
        sp |= 4;
    for (unsigned i = 0; i < 6; i++) {
        uint32_t v = word_at(p + 4 * i);
        uc_reg_write(m->uc, ids[order[i]], &v);
    }
    m->it = (uint8_t)((xpsr >> 25 & 3) | (xpsr >> 10 & 0x3f) << 2);
    s.cpsr = (xpsr & 0xf600fc00u) | (s.cpsr & ~0xf600fc00u) | 0x20;
    uc_reg_write(m->uc, UC_ARM_REG_CPSR, &s.cpsr);
    uc_reg_write(m->uc, UC_ARM_REG_SP, &sp);
    uc_reg_write(m->uc, UC_ARM_REG_PC, &pc);
    event(m, BT_EVENT_EXCEPTION_RET, 0);
}

static void start(struct machine *m, uint32_t entry)
{
    for (unsigned i = 0; i < 13; i++) {
        uint32_t v = machine_random(&m->seed);
        if (i < 8)
            v = RAM_BASE + 0x4000 + (v & 0x7ffc);
        uc_reg_write(m->uc, ids[i], &v);
    }
    uint32_t sp = RAM_BASE + 0xe000, lr = MAGIC_EXIT;
    uc_reg_write(m->uc, UC_ARM_REG_SP, &sp);
    uc_reg_write(m->uc, UC_ARM_REG_LR, &lr);
    uc_reg_write(m->uc, UC_ARM_REG_PC, &entry);
}

/* The last instruction may have faulted half way: it is left out, its writes undone. */
static void cut(struct machine *m)
{
    if (!m->count)
        return;
    struct state now;
    read_state(m, &now);
    append_skipped(m, &now);
    if (now.regs[15] == m->insns[m->count - 1].address)
        m->count--;
    else
        m->states[m->count] = now;
    while (m->write_count && (m->writes[m->write_count - 1].step & 0x7fffffff) >= m->count &&
           !(m->writes[m->write_count - 1].step & 0x80000000u)) {
        const struct write *w = &m->writes[--m->write_count];
        for (unsigned i = 0; i < 3; i++)
            if (w->address + 4 * i - RAM_BASE <= RAM_SIZE - 4)
                memcpy(m->ram + (w->address + 4 * i - RAM_BASE), &w->old[i], 4);
    }
}

int machine_run(struct machine *m, const uint8_t *code, size_t size, uint32_t entry, size_t max,
                uint32_t seed)
{
    uc_hook code_hook, write_hook;
    uc_engine *uc;
    uint32_t pc = entry;
    if (uc_open(UC_ARCH_ARM, UC_MODE_ARM, &uc))
        return -1;
    m->uc = uc;
    m->seed = seed | 1;
    m->max = max;
    m->insns = calloc(max + 16, sizeof *m->insns);
    m->states = calloc(max + 17, sizeof *m->states);
    memset(m->code, 0, CODE_SIZE);
    memcpy(m->code, code, size);
    for (unsigned i = 0; i < RAM_SIZE; i++)
        m->ram[i] = (uint8_t)machine_random(&m->seed);
    uc_ctl_set_cpu_model(uc, UC_CPU_ARM_CORTEX_A15);
    uc_mem_map_ptr(uc, CODE_BASE, CODE_SIZE, UC_PROT_READ | UC_PROT_EXEC, m->code);
    uc_mem_map_ptr(uc, RAM_BASE, RAM_SIZE, UC_PROT_READ | UC_PROT_WRITE, m->ram);
    uc_hook_add(uc, &code_hook, UC_HOOK_CODE, (void *)on_code, m, 1, 0);
    uc_hook_add(uc, &write_hook, UC_HOOK_MEM_WRITE, (void *)on_write, m, 1, 0);
    start(m, entry);
    while (m->count < m->max) {
        size_t before = m->count;
        size_t chunk = m->handler ? 1 + machine_random(&m->seed) % m->irq_every : 0;
        uc_err error = uc_emu_start(uc, pc, 0xffffffffu, 0, chunk);
        struct state s;
        read_state(m, &s);
        if (m->handler && s.regs[15] >= 0xfffffff0u)
            leave(m);
        else if (error || s.regs[15] - CODE_BASE >= CODE_SIZE || m->count == before)
            break;
        else if (m->handler && m->active < 3)
            enter(m);
        else if (!m->handler)
            break;
        read_state(m, &s);
        pc = s.regs[15] | (s.cpsr >> 5 & 1);
    }
    cut(m);
    return 0;
}

void machine_release(struct machine *m)
{
    if (m->uc)
        uc_close(m->uc);
    free(m->insns);
    free(m->states);
    free(m->writes);
    free(m->events);
    m->uc = NULL;
    m->insns = NULL;
    m->states = NULL;
    m->writes = NULL;
    m->events = NULL;
    m->count = m->write_count = m->write_max = m->event_count = m->event_max = 0;
    m->active = 0;
    m->it = 0;
}
