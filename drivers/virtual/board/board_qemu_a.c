/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a debugger of an A-profile core needs of QEMU. */
#include <string.h>

#include "board_qemu.h"

#define NUMBER_CPSR    16
#define NUMBER_SPSR    17
#define NUMBER_FPSCR   18
#define NUMBER_FPEXC   19
#define NUMBER_FP      0x40
#define NUMBER_FP_LAST 0x7f

#define MODE        0x1fu
#define MODE_USER   0x10u
#define MODE_SYSTEM 0x1fu
#define CPSR_T      (1u << 5)
#define SCR_NS      1u

/* How QEMU's cpsr_write() is meant: bits alone; or with the banks of the new mode. */
#define CPSR_RAW      2
#define CPSR_DEBUGGER 3

/* QEMU's keys of system registers. */
#define KEY_CP15 (15u << 16)
#define KEY_NS   (1u << 29)

#define CP15(crn, crm, opc1, opc2) ((crn) << 11 | (crm) << 7 | (opc1) << 3 | (opc2))
#define CP15_SCR                   CP15(1, 1, 0, 0)

#define KEY_A64                 (1u << 28 | 0x13u << 16)
#define A64(op1, crn, crm, op2) (3u << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

/*
 * In front of the member that QEMU saves stand the pointer to the table, two pointers and a count
 * with its padding.
 */
#define BEFORE_SAVED_KEYS 32

/* Among QEMU's control registers of the VFP, by the number that VMRS has for it. */
#define FPEXC_INDEX 8

void board_qemu_a_init(struct board_qemu *q, const struct saved_description *arm,
                       void *(*look_up)(const char *name))
{
    const struct saved_description *fp = board_qemu_saved_part(arm, "cpu/vfp");
    size_t keys = board_qemu_saved_offset(arm, "env.regs", "cpreg_vmstate_indexes");

    *(void **)&q->write_cpsr = look_up("cpsr_write");
    *(void **)&q->read_fpscr = look_up("vfp_get_fpscr");
    *(void **)&q->write_fpscr = look_up("vfp_set_fpscr");
    *(void **)&q->find_cp = look_up("get_arm_cp_reginfo");
    *(void **)&q->read_cp = look_up("read_raw_cp_reg");
    *(void **)&q->write_cp = look_up("raw_write");
    *(void **)&q->flush_tlb = look_up("tlb_flush");
    *(void **)&q->translate = look_up("cpu_get_phys_page_attrs_debug");
    q->fp = board_qemu_saved_offset(fp, "env.vfp.zregs[0].d", "env.vfp.zregs[0].d");
    q->fp_next = board_qemu_saved_offset(fp, "env.vfp.zregs[0].d", "env.vfp.zregs[1].d");
    q->fpexc = board_qemu_saved_offset(fp, "env.vfp.zregs[0].d", "env.vfp.xregs[0]");
    q->fpexc += q->fpexc ? FPEXC_INDEX * sizeof(uint32_t) : 0;
    q->asleep = board_qemu_saved_offset(look_up("vmstate_cpu_common"), "halted", "halted");
    q->elr = board_qemu_saved_offset(arm, "env.regs", "env.elr_el");
    q->syndrome = board_qemu_saved_offset(arm, "env.regs", "env.exception.syndrome");
    q->cp_table = keys > BEFORE_SAVED_KEYS ? keys - BEFORE_SAVED_KEYS : 0;
}

static struct CPUState *vcpu_of(const struct board_qemu *q, unsigned vcpu)
{
    return q->get_cpu ? q->get_cpu((int)vcpu) : NULL;
}

/* The member at `offset`, or NULL. */
static void *member(const struct board_qemu *q, unsigned vcpu, size_t offset)
{
    struct CPUState *cpu = vcpu_of(q, vcpu);

    return cpu && offset ? (char *)cpu + offset : NULL;
}

/* Core registers. */

/* User mode cannot leave by itself; System mode, with the same bank, can. */
static bool set_cpsr(const struct board_qemu *q, void *state, uint32_t now, uint32_t value)
{
    if (!q->write_cpsr || !q->refresh)
        return false;
    if ((now & MODE) == MODE_USER && (value & MODE) != MODE_USER)
        q->write_cpsr(state, MODE_SYSTEM, MODE, CPSR_RAW);
    q->write_cpsr(state, value, UINT32_MAX, CPSR_DEBUGGER);
    q->refresh(state);
    return true;
}

static uint32_t *fp_half(const struct board_qemu *q, unsigned vcpu, uint32_t number)
{
    uint32_t half = number - NUMBER_FP;
    size_t pair = q->fp_next - q->fp;
    char *at = member(q, vcpu, q->fp);

    if (!at || q->fp_next <= q->fp)
        return NULL;
    return (uint32_t *)(void *)(at + half / 4 * pair + half % 4 * sizeof(uint32_t));
}

static uint32_t *plain_member(const struct board_qemu *q, unsigned vcpu, uint32_t number)
{
    if (number == NUMBER_SPSR)
        return member(q, vcpu, q->spsr);
    if (number == NUMBER_FPEXC)
        return member(q, vcpu, q->fpexc);
    if (number >= NUMBER_FP && number <= NUMBER_FP_LAST)
        return fp_half(q, vcpu, number);
    return NULL;
}

bool board_qemu_a_get(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t *value)
{
    void *state = member(q, vcpu, q->regs);
    const uint32_t *at;

    if (number <= NUMBER_CPSR)
        return board_qemu_register(q, vcpu, number == NUMBER_CPSR ? BOARD_REG_CPSR : (int)number,
                                   value);
    if (number == NUMBER_FPSCR) {
        *value = state && q->read_fpscr ? q->read_fpscr(state) : 0;
        return state && q->read_fpscr;
    }
    at = plain_member(q, vcpu, number);
    if (at)
        *value = *at;
    return at;
}

bool board_qemu_a_set(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t value)
{
    void *state = member(q, vcpu, q->regs);
    uint32_t cpsr, *at;

    if (!state || !board_qemu_register(q, vcpu, BOARD_REG_CPSR, &cpsr))
        return false;
    if (number == BOARD_REG_PC)
        value &= cpsr & CPSR_T ? ~1u : ~3u;
    if (number < NUMBER_CPSR) {
        ((uint32_t *)state)[number] = value;
        return true;
    }
    if (number == NUMBER_CPSR)
        return set_cpsr(q, state, cpsr, value);
    if (number == NUMBER_FPSCR) {
        if (q->write_fpscr)
            q->write_fpscr(state, value);
        return q->write_fpscr;
    }
    at = plain_member(q, vcpu, number);
    if (at)
        *at = value;
    if (at && q->refresh)
        q->refresh(state);
    return at;
}

/* CP15. */

/* Plain values of this version's Cortex-A9. QEMU ends when it is asked for one that
 * is an action. */
static const struct {
    uint16_t reg;
    bool writable;
} known[] = {
    {CP15(0, 0, 0, 0), false},  /* MIDR */
    {CP15(0, 0, 0, 1), false},  /* CTR */
    {CP15(0, 0, 0, 2), false},  /* TCMTR */
    {CP15(0, 0, 0, 3), false},  /* TLBTR */
    {CP15(0, 0, 0, 5), false},  /* MPIDR */
    {CP15(0, 0, 1, 0), false},  /* CCSIDR */
    {CP15(0, 0, 1, 1), false},  /* CLIDR */
    {CP15(0, 0, 2, 0), true},   /* CSSELR */
    {CP15(1, 0, 0, 0), true},   /* SCTLR */
    {CP15(1, 0, 0, 1), false},  /* ACTLR */
    {CP15(1, 0, 0, 2), true},   /* CPACR */
    {CP15(1, 1, 0, 0), false},  /* SCR */
    {CP15(2, 0, 0, 0), true},   /* TTBR0 */
    {CP15(2, 0, 0, 1), true},   /* TTBR1 */
    {CP15(2, 0, 0, 2), true},   /* TTBCR */
    {CP15(3, 0, 0, 0), true},   /* DACR */
    {CP15(5, 0, 0, 0), true},   /* DFSR */
    {CP15(5, 0, 0, 1), true},   /* IFSR */
    {CP15(6, 0, 0, 0), true},   /* DFAR */
    {CP15(6, 0, 0, 2), true},   /* IFAR */
    {CP15(10, 2, 0, 0), true},  /* PRRR */
    {CP15(10, 2, 0, 1), true},  /* NMRR */
    {CP15(12, 0, 0, 0), true},  /* VBAR */
    {CP15(13, 0, 0, 0), true},  /* FCSEIDR */
    {CP15(13, 0, 0, 1), true},  /* CONTEXTIDR */
    {CP15(13, 0, 0, 2), true},  /* TPIDRURW */
    {CP15(13, 0, 0, 3), true},  /* TPIDRURO */
    {CP15(13, 0, 0, 4), true},  /* TPIDRPRW */
    {CP15(15, 0, 4, 0), false}, /* CBAR */
};

static bool is_known(uint32_t reg, bool write)
{
    /* ID_PFR0 to ID_ISAR5 */
    if (!write && reg >= CP15(0u, 1u, 0u, 0u) && reg <= CP15(0u, 2u, 0u, 5u) && !(reg & 0x78))
        return true;
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].reg == reg)
            return known[i].writable || !write;
    return false;
}

static const void *board_qemu_a_find(const struct board_qemu *q, unsigned vcpu, uint32_t reg)
{
    void **table = member(q, vcpu, q->cp_table);
    void *state = member(q, vcpu, q->regs);
    const void *scr;

    if (!table || !state || !q->find_cp || !q->read_cp)
        return NULL;
    scr = q->find_cp(*table, KEY_CP15 | CP15_SCR);
    if (!scr || q->read_cp(state, scr) & SCR_NS)
        reg |= KEY_NS;
    return q->find_cp(*table, KEY_CP15 | reg);
}

bool board_qemu_get_cp15(const struct board_qemu *q, unsigned vcpu, uint32_t reg, uint32_t *value)
{
    const void *found = is_known(reg, false) ? board_qemu_a_find(q, vcpu, reg) : NULL;

    if (found)
        *value = (uint32_t)q->read_cp(member(q, vcpu, q->regs), found);
    return found;
}

bool board_qemu_set_cp15(const struct board_qemu *q, unsigned vcpu, uint32_t reg, uint32_t value)
{
    const void *found = is_known(reg, true) ? board_qemu_a_find(q, vcpu, reg) : NULL;
    void *state = member(q, vcpu, q->regs);

    if (!found || !q->write_cp || !q->flush_tlb || !q->refresh)
        return false;
    q->write_cp(state, found, value);
    q->flush_tlb(vcpu_of(q, vcpu));
    q->refresh(state);
    return true;
}

void board_qemu_awake(const struct board_qemu *q, unsigned vcpu)
{
    uint32_t *asleep = member(q, vcpu, q->asleep);

    if (asleep)
        *asleep = 0;
}

bool board_qemu_translate(const struct board_qemu *q, unsigned vcpu, uint32_t address,
                          uint32_t *physical)
{
    struct CPUState *cpu = vcpu_of(q, vcpu);
    uint32_t attributes[4];
    uint64_t page;

    if (!cpu || !q->translate)
        return false;
    page = q->translate(cpu, address & ~0xfffu, attributes);
    *physical = (uint32_t)page | (address & 0xfff);
    return page != UINT64_MAX;
}

/* AArch64. */

static bool read_vectors(const struct board_qemu *q, unsigned vcpu, unsigned level, uint64_t *value)
{
    /* VBAR_EL1 to VBAR_EL3 differ in op1 alone. */
    static const uint8_t op1[] = {0, 0, 4, 6};
    void **table = member(q, vcpu, q->cp_table);
    void *state = member(q, vcpu, q->regs);
    const void *found;

    if (!table || !state || !q->find_cp || !q->read_cp)
        return false;
    found = q->find_cp(*table, KEY_A64 | A64((uint32_t)op1[level], 12u, 0u, 0u));
    if (found)
        *value = q->read_cp(state, found);
    return found;
}

bool board_qemu_taken(const struct board_qemu *q, unsigned vcpu, unsigned level,
                      struct board_qemu_taken *taken)
{
    /* The SPSRs are those of Supervisor, Hyp and Monitor mode. */
    static const uint8_t banks[] = {0, 1, 6, 7};
    const uint64_t *elr = member(q, vcpu, q->elr);
    const char *spsr = member(q, vcpu, q->banked_spsr);
    const uint32_t *syndrome = member(q, vcpu, q->syndrome);

    if (level < 1 || level > 3 || !elr || !spsr || !syndrome ||
        !read_vectors(q, vcpu, level, &taken->vectors))
        return false;
    taken->elr = elr[level];
    memcpy(&taken->spsr, spsr + 8 * (size_t)banks[level], sizeof taken->spsr);
    taken->syndrome = *syndrome;
    return true;
}
