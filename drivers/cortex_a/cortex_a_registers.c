/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-A: its debug registers, instructions that it executes while it is halted, and its
 * registers. DDI 0406C.d part C. */
#include <stdio.h>

#include "drivers/cortex_a/cortex_a.h"

#include "cortex_a_internal.h"

#define DSCR_WRITABLE (0x0000fc3cu | DSCR_MODE_MASK)

static const char *failure_text(enum cortex_a_failure failure)
{
    static const char *const texts[] = {
        [CORTEX_A_FAIL_NONE] = "no failure",
        [CORTEX_A_FAIL_PORT] = "the access failed",
        [CORTEX_A_FAIL_NO_CORE] = "no debug registers of an ARMv7-A core are here: set 'debug' of "
                                  "[core], or [probe] ap",
        [CORTEX_A_FAIL_POWER] = "the core is powered down: its program, or the chip's start-up "
                                "code, has to switch it on",
        [CORTEX_A_FAIL_LOCKED] = "the OS lock of the core stays closed",
        [CORTEX_A_FAIL_DISABLED] = "the chip does not allow halting debug: its authentication "
                                   "signals are off",
        [CORTEX_A_FAIL_NO_HALT] = "its clock may be off, or it waits for memory that does not "
                                  "answer",
        [CORTEX_A_FAIL_NO_RUN] = "the core does not run again: another request keeps it halted",
        [CORTEX_A_FAIL_STUCK] = "the core does not end an instruction: it waits for memory that "
                                "does not answer; reset it",
        [CORTEX_A_FAIL_ABORT] = "data abort",
        [CORTEX_A_FAIL_UNDEFINED] = "the core has no such register, or has not switched it on",
        [CORTEX_A_FAIL_RUNNING] = "the core runs: halt it first",
        [CORTEX_A_FAIL_FULL] = "all comparators of the core are in use: remove a breakpoint or "
                               "watchpoint",
        [CORTEX_A_FAIL_NOT_RAM] = "no software breakpoint is possible here: the memory does not "
                                  "keep it",
        [CORTEX_A_FAIL_NO_RESET] = "there is no reset line to the target, and its debug registers "
                                   "do not reset it: 'nsrst' in [probe] names the line of an FTDI "
                                   "adapter",
    };
    return texts[failure];
}

const char *cortex_a_describe(const struct cortex_a *core, char *text, size_t size)
{
    char cause[128];
    if (core->failure == CORTEX_A_FAIL_PORT)
        snprintf(text, size, "no access to 0x%08x: %s", (unsigned)core->failure_address,
                 adiv5_describe(core->ap->dp, cause, sizeof cause));
    else if (core->failure == CORTEX_A_FAIL_ABORT)
        snprintf(text, size, "data abort at 0x%08x: no memory, or the MMU does not allow it",
                 (unsigned)core->failure_address);
    else if (core->failure == CORTEX_A_FAIL_NO_HALT)
        snprintf(text, size, "the core does not halt: DBGDRCR.HRQ was set for %u ms: %s",
                 core->limit_ms, failure_text(core->failure));
    else if (core->failure_address != 0)
        snprintf(text, size, "%s (0x%08x)", failure_text(core->failure),
                 (unsigned)core->failure_address);
    else
        snprintf(text, size, "%s", failure_text(core->failure));
    return text;
}

/* Debug registers. */

/* One of them; may be tried again. */
static int cortex_a_access(struct cortex_a *core, uint32_t offset, struct mem_ap_banked *access)
{
    unsigned tries = 0;
    int error;
    access->offset = offset & 15;
    do {
        error = mem_ap_banked(core->ap, (core->base + offset) & ~15u, access, 1);
    } while (mem_ap_again(core->ap, error, &tries));
    return cortex_a_port(core, error);
}

int cortex_a_peek(struct cortex_a *core, uint32_t offset, uint32_t *value)
{
    struct mem_ap_banked read = {.write = false};
    int error = cortex_a_access(core, offset, &read);
    *value = error == 0 ? read.value : *value;
    return error;
}

int cortex_a_poke(struct cortex_a *core, uint32_t offset, uint32_t value)
{
    return cortex_a_access(core, offset, &(struct mem_ap_banked){.write = true, .value = value});
}

int cortex_a_read_dscr(struct cortex_a *core)
{
    return cortex_a_peek(core, DBG_DSCR, &core->dscr);
}

int cortex_a_write_dscr(struct cortex_a *core, uint32_t bits)
{
    int error = cortex_a_poke(core, DBG_DSCR, bits & DSCR_WRITABLE);
    if (error == 0)
        core->dscr = (core->dscr & ~DSCR_WRITABLE) | (bits & DSCR_WRITABLE);
    return error;
}

#define LIMIT_US 100000u /* no instruction of ours takes so long */
#define PAUSE_US 50u

static int cortex_a_bank(struct cortex_a *core, struct mem_ap_banked *list, size_t count)
{
    return cortex_a_port(core, mem_ap_banked(core->ap, core->base + DBG_BANK, list, count));
}

/* Until all bits of `set` are 1 and those of `clear` 0; ends at once when an error is pending. */
static int cortex_a_await(struct cortex_a *core, uint32_t set, uint32_t clear)
{
    uint64_t begin = cortex_a_now(core);
    for (;;) {
        bool late = cortex_a_now(core) - begin > LIMIT_US;
        int error = cortex_a_read_dscr(core);
        if (error != 0 || ((core->dscr & set) == set && (core->dscr & clear) == 0))
            return error;
        if ((core->dscr & DSCR_HALTED) == 0) {
            core->halted = false; /* somebody let it go */
            return cortex_a_need_halt(core);
        }
        if ((core->dscr & (DSCR_STICKY | DSCR_INSTRCOMPL)) > DSCR_INSTRCOMPL)
            return 0;
        if (late)
            return cortex_a_fail(core, CORTEX_A_FAIL_STUCK, 0, BT_ERR_IO);
        cortex_a_sleep(core, PAUSE_US);
    }
}

/* What is left over in the channel would be taken for the next value. */
static int cortex_a_drain(struct cortex_a *core)
{
    struct mem_ap_banked take = {.offset = BANK_DTRTX};
    struct mem_ap_banked give = {.offset = BANK_ITR, .write = true, .value = A_GIVE(0)};
    int error = cortex_a_await(core, DSCR_INSTRCOMPL, 0);
    if (error == 0 && (core->dscr & DSCR_RXFULL) != 0) {
        core->dirty |= 1;
        error = cortex_a_bank(core, &give, 1);
        if (error == 0)
            error = cortex_a_await(core, DSCR_INSTRCOMPL, DSCR_RXFULL);
    }
    if (error == 0 && (core->dscr & DSCR_TXFULL) != 0)
        error = cortex_a_bank(core, &take, 1);
    return error;
}

int cortex_a_clear_errors(struct cortex_a *core)
{
    int error = cortex_a_poke(core, DBG_DRCR, DRCR_CLEAR);
    return error == 0 ? cortex_a_drain(core) : error;
}

/* The sticky bits become an error, and are cleared. */
static int take_error(struct cortex_a *core, uint32_t dscr)
{
    bool undefined = (dscr & DSCR_UNDEFINED) != 0;
    int error = cortex_a_clear_errors(core);
    if (error != 0)
        return error;
    if (undefined)
        return cortex_a_fail(core, CORTEX_A_FAIL_UNDEFINED, 0, BT_ERR_UNSUPPORTED);
    return cortex_a_fail(core, CORTEX_A_FAIL_ABORT, 0, BT_ERR_IO);
}

/* One entry, when the core is ready for it. */
int cortex_a_play_one(struct cortex_a *core, struct mem_ap_banked *entry)
{
    uint32_t set = entry->offset == BANK_DTRTX ? DSCR_TXFULL : DSCR_INSTRCOMPL;
    uint32_t clear = entry->offset == BANK_DTRRX ? DSCR_RXFULL : 0;
    int error = cortex_a_await(core, set, clear);
    if (error == 0 && (core->dscr & DSCR_STICKY) != 0)
        return take_error(core, core->dscr);
    entry->value = entry->offset == BANK_DSCR ? core->dscr : entry->value;
    return error == 0 && entry->offset != BANK_DSCR ? cortex_a_bank(core, entry, 1) : error;
}

static int play_slowly(struct cortex_a *core, struct cortex_a_sequence *s)
{
    int error = cortex_a_drain(core);
    for (unsigned k = 0; k < s->count && error == 0; k++)
        error = cortex_a_play_one(core, &s->list[k]);
    return error;
}

/* What the states behind the instructions say together: errors, and whether the core stood. */
static uint32_t sum_up(const struct cortex_a_sequence *s)
{
    uint32_t sum = DSCR_HALTED | DSCR_INSTRCOMPL;
    for (unsigned k = 0; k < s->count; k++) {
        if (s->list[k].offset != BANK_DSCR)
            continue;
        sum |= s->list[k].value & DSCR_STICKY;
        sum &= s->list[k].value | ~DSCR_HALTED;
        /* Of the last one alone: accesses wait for the instructions before it. */
        sum = (sum & ~DSCR_INSTRCOMPL) | (s->list[k].value & DSCR_INSTRCOMPL);
    }
    return sum;
}

int cortex_a_play(struct cortex_a *core, struct cortex_a_sequence *s, bool once)
{
    unsigned tries = 0;
    int error = cortex_a_need_halt(core);
    if (error != 0)
        return error;
    struct cortex_a_sequence sent = *s;
    error = cortex_a_bank(core, sent.list, sent.count);
    if (error != 0)
        return !once && mem_ap_again(core->ap, error, &tries) ? play_slowly(core, s) : error;
    *s = sent;
    uint32_t state = sum_up(s);
    if ((state & DSCR_HALTED) == 0) {
        core->halted = false; /* somebody let it go */
        return cortex_a_need_halt(core);
    }
    if ((state & (DSCR_STICKY | DSCR_INSTRCOMPL)) == 0) {
        error = cortex_a_await(core, DSCR_INSTRCOMPL, 0);
        state = core->dscr;
    }
    return error == 0 && (state & DSCR_STICKY) != 0 ? take_error(core, state) : error;
}

/* The value that the last instruction leaves in the channel stays there. */
int cortex_a_start(struct cortex_a *core, struct cortex_a_sequence *s)
{
    int error = cortex_a_need_halt(core);
    return error == 0 ? play_slowly(core, s) : error;
}

int cortex_a_do(struct cortex_a *core, uint32_t opcode, uint32_t r0)
{
    struct cortex_a_sequence s = {.count = 0};
    core->dirty |= 1;
    cortex_a_give(&s, r0);
    cortex_a_execute(&s, A_GIVE(0));
    cortex_a_execute(&s, opcode);
    return cortex_a_play(core, &s, false);
}

int cortex_a_ask(struct cortex_a *core, uint32_t opcode, uint32_t *r0)
{
    struct cortex_a_sequence s = {.count = 0};
    core->dirty |= 1;
    cortex_a_execute(&s, opcode);
    cortex_a_execute(&s, A_TAKE(0));
    unsigned at = cortex_a_take(&s);
    int error = cortex_a_play(core, &s, false);
    *r0 = s.list[at].value;
    return error;
}

#define A_READ_FPSCR   0xeef10a10u
#define A_WRITE_FPSCR  0xeee10a10u
#define A_READ_DOUBLE  0xec510b10u /* r0, r1 <- dn */
#define A_WRITE_DOUBLE 0xec410b10u
#define A_READ_MVFR0   0xeef70a10u
#define A_READ_FPEXC   0xeef80a10u
#define A_READ_CTR     0xee100f30u
#define A_READ_CPACR   0xee110f50u
#define A_WRITE_CPACR  0xee010f50u

#define SCTLR_CACHES  0x1004u /* C, I */
#define MVFR0_DOUBLES 0xfu
#define MVFR0_32      2u
#define CPACR_VFP     0x00f00000u /* full access to coprocessors 10 and 11 */
#define CPACR_CP10(c) ((c) >> 20 & 3u)
#define CP10_ALWAYS   3u
#define CP10_OFF      0u
#define FPEXC_EN      0x40000000u
#define LINE_WORDS    8u

#define R(n)   (1u << (n))
#define BANKED 0x7f00u /* r8 to r14 */

/* Between core and values. */

/* r`from` to r`to`, in one round trip. */
static int load_range(struct cortex_a *core, unsigned from, unsigned to)
{
    struct cortex_a_sequence s = {.count = 0};
    unsigned at[15] = {0};
    for (unsigned n = from; n <= to; n++) {
        cortex_a_execute(&s, A_TAKE(n));
        at[n] = cortex_a_take(&s);
    }
    int error = cortex_a_play(core, &s, false);
    for (unsigned n = from; n <= to && error == 0; n++)
        core->values[n] = s.list[at[n]].value;
    return error;
}

int cortex_a_load_values(struct cortex_a *core)
{
    uint32_t *v = core->values;
    int error = load_range(core, 0, 14);
    if (error == 0)
        error = cortex_a_ask(core, A_READ_CPSR, &v[CORTEX_A_CPSR]);
    if (error == 0)
        error = cortex_a_ask(core, A_READ_PC, &v[CORTEX_A_PC]);
    if (error != 0)
        return error;
    v[CORTEX_A_PC] -= cortex_a_thumb(core) ? 4 : 8;
    v[CORTEX_A_PC] &= cortex_a_thumb(core) ? ~1u : ~3u;
    return 0;
}

/* Those of r0 to r14 that are marked; CPSR and PC have an order of their own. */
static int store_marked(struct cortex_a *core, uint32_t mask)
{
    struct cortex_a_sequence s = {.count = 0};
    mask &= core->dirty & 0x7fff;
    for (unsigned n = 0; n < 15; n++) {
        if ((mask & R(n)) == 0)
            continue;
        cortex_a_give(&s, core->values[n]);
        cortex_a_execute(&s, A_GIVE(n));
    }
    int error = s.count > 0 ? cortex_a_play(core, &s, false) : 0;
    if (error == 0)
        core->dirty &= ~mask;
    return error;
}

/*
 * CPSR first: it says whose r8 to r14 these are. The PC is written always: writing CPSR and CP15
 * may have lost it. Bit 0 tells a core that branches by this write to stay
 * in Thumb state. */
int cortex_a_store_values(struct cortex_a *core)
{
    const uint32_t *v = core->values;
    int error = 0;
    if ((core->dirty & R(CORTEX_A_CPSR)) != 0) {
        error = cortex_a_do(core, A_WRITE_CPSR, v[CORTEX_A_CPSR]);
        if (error == 0)
            core->dirty &= ~R(CORTEX_A_CPSR);
    }
    if (error == 0)
        error = cortex_a_do(core, A_WRITE_PC, v[CORTEX_A_PC] | (cortex_a_thumb(core) ? 1u : 0));
    return error == 0 ? store_marked(core, UINT32_MAX) : error;
}

int cortex_a_read_register(struct cortex_a *core, unsigned reg, uint32_t *value)
{
    int error = cortex_a_need_halt(core);
    if (error == 0 && reg >= CORTEX_A_REGISTERS)
        error = BT_ERR_INVAL;
    *value = error == 0 ? core->values[reg] : 0;
    return error;
}

/* The registers of the new mode appear: those of the old one go home first. */
static int change_mode(struct cortex_a *core, uint32_t cpsr)
{
    core->known &= ~(unsigned)(CORTEX_A_KNOWN_VFP |
                               CORTEX_A_KNOWN_DOUBLES); /* it may be privileged modes' alone */
    int error = store_marked(core, BANKED);
    if (error == 0)
        error = cortex_a_do(core, A_WRITE_CPSR, cpsr);
    if (error == 0)
        error = cortex_a_do(core, A_FLUSH, 0);
    if (error == 0)
        error = cortex_a_ask(core, A_READ_CPSR, &core->values[CORTEX_A_CPSR]);
    return error == 0 ? load_range(core, 8, 14) : error;
}

int cortex_a_write_register(struct cortex_a *core, unsigned reg, uint32_t value)
{
    int error = cortex_a_need_halt(core);
    if (error != 0 || reg >= CORTEX_A_REGISTERS)
        return error != 0 ? error : BT_ERR_INVAL;
    uint32_t changed = core->values[reg] ^ value;
    if (reg == CORTEX_A_CPSR && (changed & CPSR_MODE) != 0)
        return change_mode(core, value);
    if (reg == CORTEX_A_PC)
        value &= ~1u;
    core->values[reg] = value;
    core->dirty |= R(reg);
    return 0;
}

int cortex_a_enter_privileged(struct cortex_a *core, bool *entered)
{
    uint32_t cpsr = core->values[CORTEX_A_CPSR];
    *entered = (cpsr & CPSR_MODE) == MODE_USER;
    if (!*entered)
        return 0;
    core->dirty |= R(CORTEX_A_CPSR);
    int error = cortex_a_do(core, A_WRITE_MODE, MODE_SVC | CPSR_MASKS);
    return error == 0 ? cortex_a_do(core, A_FLUSH, 0) : error;
}

int cortex_a_leave_privileged(struct cortex_a *core, bool entered)
{
    if (!entered)
        return 0;
    int error = cortex_a_do(core, A_WRITE_CPSR, core->values[CORTEX_A_CPSR]);
    return error == 0 ? cortex_a_do(core, A_FLUSH, 0) : error;
}

/* System registers. */

int cortex_a_read_system(struct cortex_a *core, uint32_t mrc, uint32_t *value)
{
    bool entered = false;
    *value = 0;
    int error = cortex_a_need_halt(core);
    if (error == 0)
        error = cortex_a_enter_privileged(core, &entered);
    if (error == 0)
        error = cortex_a_ask(core, mrc, value);
    int back = cortex_a_leave_privileged(core, entered);
    return error != 0 ? error : back;
}

int cortex_a_write_system(struct cortex_a *core, uint32_t mcr, uint32_t value)
{
    bool entered = false;
    int error = cortex_a_need_halt(core);
    if (error == 0)
        error = cortex_a_enter_privileged(core, &entered);
    if (error == 0)
        error = cortex_a_do(core, mcr, value);
    core->known &= ~(unsigned)(CORTEX_A_KNOWN_VFP | CORTEX_A_KNOWN_DOUBLES);
    int back = cortex_a_leave_privileged(core, entered);
    return error != 0 ? error : back;
}

/* What the core has not got it calls undefined. */
static int ask_feature(struct cortex_a *core, uint32_t opcode, uint32_t *value, bool *there)
{
    int error = cortex_a_read_system(core, opcode, value);
    *there = error == 0;
    return error == BT_ERR_UNSUPPORTED ? 0 : error;
}

static int write_access(struct cortex_a *core, uint32_t cpacr)
{
    int error = cortex_a_write_system(core, A_WRITE_CPACR, cpacr);
    return error == 0 ? cortex_a_do(core, A_FLUSH, 0) : error;
}

/* VFP is off until the program switches it on: it is switched on for the question. */
int cortex_a_find_features(struct cortex_a *core)
{
    uint32_t mvfr0 = 0, cpacr = 0;
    bool vfp = false, known = false;
    int error = ask_feature(core, A_READ_CPACR, &cpacr, &known);
    bool closed = known && (cpacr & CPACR_VFP) != CPACR_VFP;
    if (error == 0 && closed)
        error = write_access(core, cpacr | CPACR_VFP);
    if (error == 0)
        error = ask_feature(core, A_READ_MVFR0, &mvfr0, &vfp);
    if (error == 0 && closed)
        error = write_access(core, cpacr);
    core->known = (core->known & ~(unsigned)CORTEX_A_KNOWN_FEATURES) |
                  (error == 0 ? CORTEX_A_KNOWN_FEATURES : 0);
    core->vfp_doubles = !vfp ? 0 : (mvfr0 & MVFR0_DOUBLES) >= MVFR0_32 ? 32 : 16;
    return error;
}

int cortex_a_find_caches(struct cortex_a *core)
{
    uint32_t sctlr = 0, ctr = 0;
    bool known = false;
    if ((core->known & CORTEX_A_KNOWN_CACHES) != 0)
        return 0;
    int error = ask_feature(core, A_READ_SCTLR, &sctlr, &known);
    bool on = !known || (sctlr & SCTLR_CACHES) != 0;
    known = false;
    if (error == 0 && on)
        error = ask_feature(core, A_READ_CTR, &ctr, &known);
    unsigned words = known ? 1u << (ctr >> 16 & 0xf) : LINE_WORDS;
    core->line = on ? 4 * words : 0;
    core->known |= error == 0 ? CORTEX_A_KNOWN_CACHES : 0;
    return error;
}

/* May the mode that the program is in use it, and is it switched on? */
static int look_at_vfp(struct cortex_a *core, bool *on)
{
    uint32_t cpacr = 0, fpexc = 0;
    bool user = (core->values[CORTEX_A_CPSR] & CPSR_MODE) == MODE_USER, known = false;
    int error = ask_feature(core, A_READ_CPACR, &cpacr, &known);
    bool open =
        !known || CPACR_CP10(cpacr) == CP10_ALWAYS || (CPACR_CP10(cpacr) != CP10_OFF && !user);
    known = false;
    if (error == 0 && open)
        error = ask_feature(core, A_READ_FPEXC, &fpexc, &known);
    *on = known && (fpexc & FPEXC_EN) != 0;
    return error;
}

/* Asked before VFP instructions are given: one that is undefined takes those behind it along. */
static int need_vfp(struct cortex_a *core)
{
    int error = cortex_a_need_halt(core);
    if (error == 0 && core->vfp_doubles > 0 && (core->known & CORTEX_A_KNOWN_VFP) == 0) {
        error = look_at_vfp(core, &core->vfp_on);
        core->known |= error == 0 ? CORTEX_A_KNOWN_VFP : 0;
    }
    if (error == 0 && !(core->vfp_doubles > 0 && core->vfp_on))
        error = cortex_a_fail(core, CORTEX_A_FAIL_UNDEFINED, 0, BT_ERR_UNSUPPORTED);
    return error;
}

static uint32_t double_bits(unsigned number)
{
    return (number & 15) | (number >> 4) << 5;
}

static int read_doubles(struct cortex_a *core, uint64_t *values, unsigned count)
{
    int error = 0;
    core->dirty |= R(0) | R(1);
    for (unsigned done = 0; done < count && error == 0;) {
        struct cortex_a_sequence s = {.count = 0};
        unsigned at[MEM_AP_BANKED / 8 + 1] = {0}, n = 0;
        for (; cortex_a_room(&s) >= 8 && done + n < count; n++) {
            cortex_a_execute(&s, A_READ_DOUBLE | double_bits(done + n));
            cortex_a_execute(&s, A_TAKE(0));
            at[n] = cortex_a_take(&s);
            cortex_a_execute(&s, A_TAKE(1));
            cortex_a_take(&s); /* three behind the lower half */
        }
        error = cortex_a_play(core, &s, false);
        for (unsigned k = 0; k < n && error == 0; k++)
            values[done + k] = (uint64_t)s.list[at[k] + 3].value << 32 | s.list[at[k]].value;
        done += n;
    }
    return error;
}

int cortex_a_load_vfp(struct cortex_a *core, unsigned doubles)
{
    uint32_t fpscr = 0;
    int error = need_vfp(core);
    if (error == 0 && doubles > 32)
        error = BT_ERR_INVAL;
    if (error != 0 || (core->known & CORTEX_A_KNOWN_DOUBLES) != 0)
        return error;
    error = cortex_a_ask(core, A_READ_FPSCR, &fpscr);
    if (error == 0)
        error = read_doubles(core, core->vfp, doubles);
    core->vfp[doubles] = fpscr;
    core->known |= error == 0 ? CORTEX_A_KNOWN_DOUBLES : 0;
    return error;
}

int cortex_a_write_double(struct cortex_a *core, unsigned number, uint64_t value)
{
    struct cortex_a_sequence s = {.count = 0};
    int error = need_vfp(core);
    if (error != 0 || number > 31)
        return error != 0 ? error : BT_ERR_INVAL;
    core->known &= ~(unsigned)CORTEX_A_KNOWN_DOUBLES;
    core->dirty |= R(0) | R(1);
    cortex_a_give(&s, (uint32_t)value);
    cortex_a_execute(&s, A_GIVE(0));
    cortex_a_give(&s, (uint32_t)(value >> 32));
    cortex_a_execute(&s, A_GIVE(1));
    cortex_a_execute(&s, A_WRITE_DOUBLE | double_bits(number));
    return cortex_a_play(core, &s, false);
}

int cortex_a_write_fpscr(struct cortex_a *core, uint32_t value)
{
    int error = need_vfp(core);
    core->known &= ~(unsigned)CORTEX_A_KNOWN_DOUBLES;
    return error == 0 ? cortex_a_do(core, A_WRITE_FPSCR, value) : error;
}
