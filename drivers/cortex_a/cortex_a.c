/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching to a Cortex-A, its locks and power; halting, stepping, resuming and resetting it.
 * DDI 0406C.d part C. */
#include "drivers/cortex_a/cortex_a.h"
#include "decoder/base/bytes.h"

#include <stdio.h>

#include "cortex_a_internal.h"

#define UNLOCK_KEY 0xc5acce55u

#define DIDR_VERSION(didr)     ((didr) >> 16 & 0xfu)
#define DIDR_BREAKPOINTS(didr) (((didr) >> 24 & 0xfu) + 1)
#define DIDR_WATCHPOINTS(didr) (((didr) >> 28) + 1)
#define VERSION_FIRST          3u /* v7 */
#define VERSION_LAST           5u /* v7.1 */

#define OSLSR_MODEL 0x9u
#define OSLSR_LOCK  0x2u

#define AUTH_MASK     0x3u /* invasive debug, non-secure; secure is 4 bits above */
#define AUTH_DISABLED 0x2u
#define AUTH_SECURE   4u

/* Entry reason, DbgAck to MDBGen, mode: what is not changed is written back. */

static const struct {
    uint16_t part;
    const char *name;
} PARTS[] = {
    {0xc05, "Cortex-A5"},  {0xc07, "Cortex-A7"},  {0xc08, "Cortex-A8"},  {0xc09, "Cortex-A9"},
    {0xc0d, "Cortex-A12"}, {0xc0e, "Cortex-A17"}, {0xc0f, "Cortex-A15"},
};

void cortex_a_init(struct cortex_a *core, struct mem_ap *ap, uint32_t base,
                   struct cortex_a_software *software)
{
    *core = (struct cortex_a){
        .ap = ap, .base = base, .software = software, .limit_ms = CORTEX_A_LIMIT_MS, .name = ""};
}

/* Identification, power, locks. */

/* Reading clears the sticky bits. */
static int cortex_a_look_power(struct cortex_a *core, bool *powered)
{
    uint32_t prsr = 0;
    int error = cortex_a_peek(core, DBG_PRSR, &prsr);
    *powered = (prsr & PRSR_POWERED) != 0;
    if (error == 0 && core->course != CORTEX_A_DETACHED &&
        (prsr & (PRSR_STICKY_POWER | PRSR_STICKY_RESET)) != 0)
        core->reset_seen = true;
    return error;
}

static int open_os_lock(struct cortex_a *core)
{
    uint32_t oslsr = 0;
    int error = cortex_a_peek(core, DBG_OSLSR, &oslsr);
    bool implemented = (oslsr & OSLSR_MODEL) == 0x1 || (oslsr & OSLSR_MODEL) == 0x8;
    if (error != 0 || !implemented || (oslsr & OSLSR_LOCK) == 0)
        return error;
    error = cortex_a_poke(core, DBG_OSLAR, 0);
    if (error == 0)
        error = cortex_a_peek(core, DBG_OSLSR, &oslsr);
    if (error == 0 && (oslsr & OSLSR_LOCK) != 0)
        return cortex_a_fail(core, CORTEX_A_FAIL_LOCKED, 0, BT_ERR_IO);
    return error;
}

static int cortex_a_identify(struct cortex_a *core)
{
    uint32_t didr = 0;
    bool powered = false;
    int error = cortex_a_peek(core, DBG_DIDR, &didr);
    core->debug_version = DIDR_VERSION(didr);
    if (error == 0 && (core->debug_version < VERSION_FIRST || core->debug_version > VERSION_LAST))
        return cortex_a_fail(core, CORTEX_A_FAIL_NO_CORE, core->base, BT_ERR_FORMAT);
    if (error == 0)
        error = cortex_a_look_power(core, &powered);
    if (error == 0 && !powered)
        return cortex_a_fail(core, CORTEX_A_FAIL_POWER, 0, BT_ERR_IO);
    if (error == 0)
        error = cortex_a_poke(core, DBG_LAR, UNLOCK_KEY);
    if (error == 0)
        error = open_os_lock(core);
    if (error == 0)
        error = cortex_a_peek(core, DBG_MIDR, &core->midr);
    if (error != 0)
        return error;
    core->breakpoint_count = DIDR_BREAKPOINTS(didr);
    core->watchpoint_count = DIDR_WATCHPOINTS(didr);
    core->name = "ARMv7-A";
    for (size_t k = 0; k < sizeof PARTS / sizeof *PARTS; k++) {
        if (core->midr >> 24 == 0x41 && (core->midr >> 4 & 0xfff) == PARTS[k].part)
            core->name = PARTS[k].name;
    }
    return 0;
}

/* Both worlds closed: nothing will ever halt. */
static int check_authentication(struct cortex_a *core)
{
    uint32_t auth = 0;
    int error = cortex_a_peek(core, DBG_AUTH, &auth);
    uint32_t secure = auth >> AUTH_SECURE & AUTH_MASK;
    if (error == 0 && (auth & AUTH_MASK) == AUTH_DISABLED &&
        (secure == AUTH_DISABLED || secure == 0))
        return cortex_a_fail(core, CORTEX_A_FAIL_DISABLED, 0, BT_ERR_IO);
    return error;
}

/* What a power-down or a reset takes away: locks, halting debug, comparators. */
static int cortex_a_enable(struct cortex_a *core)
{
    int error = open_os_lock(core);
    if (error == 0)
        error = cortex_a_poke(core, DBG_DSCCR, 0);
    if (error == 0)
        error = cortex_a_poke(core, DBG_DSMCR, 0);
    if (error == 0)
        error = cortex_a_read_dscr(core);
    if (error == 0)
        error = cortex_a_write_dscr(core, (core->dscr & ~DSCR_MODE_MASK) | DSCR_HDBGEN);
    return error == 0 ? cortex_a_restore_breakpoints(core) : error;
}

int cortex_a_attach(struct cortex_a *core)
{
    core->course = CORTEX_A_DETACHED;
    core->halted = false;
    core->cti_on = false;
    core->dirty = 0; /* who knows what became of it */
    int error = cortex_a_identify(core);
    if (error == 0)
        error = check_authentication(core);
    if (error == 0)
        error = cortex_a_enable(core);
    if (error == 0)
        core->course = CORTEX_A_FREE;
    return error;
}

int cortex_a_detach(struct cortex_a *core)
{
    int results[3];
    results[0] = cortex_a_clear_breakpoints(core);
    results[1] = cortex_a_leave(core);
    results[2] = core->halted ? cortex_a_resume(core) : 0;
    core->course = CORTEX_A_DETACHED;
    core->halted = false;
    for (unsigned k = 0; k < 3; k++) {
        if (results[k] != 0)
            return results[k];
    }
    return 0;
}

const char *cortex_a_mode_text(uint32_t cpsr, char *text, size_t size)
{
    static const struct {
        uint8_t mode;
        const char *name;
    } modes[] = {
        {0x10, "user"},       {0x11, "FIQ"},       {0x12, "IRQ"},
        {0x13, "supervisor"}, {0x16, "monitor"},   {0x17, "abort"},
        {0x1a, "hyp"},        {0x1b, "undefined"}, {0x1f, "system"},
    };
    const char *name = "unknown";
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
        if (modes[k].mode == (cpsr & CPSR_MODE))
            name = modes[k].name;
    }
    snprintf(text, size, "%s mode, %s%s%s%s", name, (cpsr & CPSR_THUMB) != 0 ? "Thumb" : "ARM",
             (cpsr & CPSR_BIG) != 0 ? ", big-endian data" : "",
             (cpsr & CPSR_IRQ) != 0 ? ", IRQ masked" : "",
             (cpsr & CPSR_FIQ) != 0 ? ", FIQ masked" : "");
    return text;
}

#define STEP_LIMIT_US  100000u
#define HALT_SLEEP_US  200u
#define START_LIMIT_US 100000u
#define RESET_LIMIT_US 100000u

#define BKPT_ARM        0xe1200070u
#define BKPT_ARM_MASK   0xfff000f0u
#define BKPT_THUMB      0xbe00u
#define BKPT_THUMB_MASK 0xff00u

/* Entry reasons, DSCR[5:2]. */
enum moe {
    MOE_REQUEST = 0,
    MOE_BREAKPOINT = 1,
    MOE_WATCH_ASYNC = 2,
    MOE_BKPT = 3,
    MOE_EXTERNAL = 4,
    MOE_VECTOR = 5,
    MOE_OS_UNLOCK = 8,
    MOE_WATCH_SYNC = 10,
};

/* CTI: DDI 0314H. Trigger numbers: the tables of trigger inputs and outputs in the manuals of
 * Cortex-A5, A7, A15 and A17, and of the A9's development chips: input 0 is the entry to debug
 * state, output 0 the request to enter it. */
#define CTI_CTRL    0x000u
#define CTI_INTACK  0x010u
#define CTI_INEN    0x020u
#define CTI_OUTEN   0x0a0u
#define CTI_GATE    0x140u
#define CTI_LAR     0xfb0u
#define CTI_KEY     0xc5acce55u
#define CTI_REQUEST 0x1u /* of output 0 */

/* Cross trigger. */

static int cti_poke(struct cortex_a *core, uint32_t offset, uint32_t value)
{
    return cortex_a_port(core, mem_ap_write32(core->ap, core->cti + offset, value));
}

int cortex_a_join(struct cortex_a *core, unsigned channel)
{
    uint32_t gate = 0;
    if (core->cti == 0)
        return BT_ERR_UNSUPPORTED;
    if (channel > 3)
        return BT_ERR_INVAL;
    int error = cti_poke(core, CTI_LAR, CTI_KEY);
    if (error == 0)
        error = cortex_a_port(core, mem_ap_read32(core->ap, core->cti + CTI_GATE, &gate));
    if (error == 0)
        error = cti_poke(core, CTI_GATE, gate | 1u << channel);
    if (error == 0)
        error = cti_poke(core, CTI_INEN, 1u << channel);
    if (error == 0)
        error = cti_poke(core, CTI_OUTEN, 1u << channel);
    if (error == 0)
        error = cti_poke(core, CTI_CTRL, 1);
    core->cti_on = error == 0;
    return error;
}

int cortex_a_leave(struct cortex_a *core)
{
    if (!core->cti_on)
        return 0;
    int error = cti_poke(core, CTI_INEN, 0);
    if (error == 0)
        error = cti_poke(core, CTI_OUTEN, 0);
    if (error == 0)
        error = cti_poke(core, CTI_INTACK, CTI_REQUEST);
    core->cti_on = error != 0;
    return error;
}

/* Is a BKPT of the program at `address`? */
static bool bkpt_at(struct cortex_a *core, uint32_t address)
{
    uint8_t b[4] = {0};
    bool thumb = cortex_a_thumb(core);
    if (cortex_a_breakpoint_at(core, address) ||
        cortex_a_read_memory(core, address, b, thumb ? 2 : 4) != 0)
        return false;
    uint32_t code = bytes_word(b);
    return thumb ? (code & BKPT_THUMB_MASK) == BKPT_THUMB : (code & BKPT_ARM_MASK) == BKPT_ARM;
}

static enum target_halt_reason cortex_a_reason_of(struct cortex_a *core, uint32_t pc)
{
    switch (core->dscr >> DSCR_MOE_SHIFT & 0xf) {
    case MOE_BREAKPOINT:
        if (core->course == CORTEX_A_STEPPING && !cortex_a_breakpoint_at(core, pc))
            return TARGET_HALT_STEP;
        return cortex_a_software_at(core, pc) ? TARGET_HALT_SWBREAK : TARGET_HALT_HWBREAK;
    case MOE_BKPT:
        return bkpt_at(core, pc) ? TARGET_HALT_BKPT : TARGET_HALT_SWBREAK;
    case MOE_WATCH_ASYNC:
    case MOE_WATCH_SYNC:
        return TARGET_HALT_WATCH;
    case MOE_VECTOR:
        return TARGET_HALT_VECTOR;
    case MOE_EXTERNAL:
        return TARGET_HALT_EXTERNAL;
    case MOE_OS_UNLOCK:
        return TARGET_HALT_TRAP;
    default:
        return TARGET_HALT_INTERRUPT;
    }
}

/* The core is seen halted for the first time. */
static int cortex_a_note_halt(struct cortex_a *core)
{
    core->last = (struct target_core_status){.state = TARGET_CORE_HALTED};
    core->halted = true;
    core->dirty = 0;
    core->known &= CORTEX_A_KNOWN_FEATURES;
    int error = cortex_a_write_dscr(core, (core->dscr & ~DSCR_MODE_MASK) | DSCR_ITREN |
                                              DSCR_HDBGEN | DSCR_MODE_STALL);
    if (error == 0)
        error = cortex_a_clear_errors(core);
    if (error == 0)
        error = cortex_a_load_values(core);
    if (error == 0 && (core->known & CORTEX_A_KNOWN_FEATURES) == 0)
        error = cortex_a_find_features(core);
    if (error == 0) {
        core->last.pc = core->values[CORTEX_A_PC];
        core->last.reason = cortex_a_reason_of(core, core->last.pc);
        if (core->last.reason == TARGET_HALT_WATCH)
            error = cortex_a_find_watch(core);
    }
    if (error != 0)
        core->halted = false; /* asked again at the next look */
    return error;
}

/* A core that closes its OS lock refuses everything. */
static int read_state(struct cortex_a *core)
{
    int error = cortex_a_read_dscr(core);
    if (error != BT_ERR_IO || core->ap->dp->failure != DEBUG_FAIL_FAULT)
        return error;
    error = cortex_a_enable(core);
    return error == 0 ? cortex_a_read_dscr(core) : error;
}

/* One look; *powered: there is a core that can be looked at. */
static int cortex_a_look(struct cortex_a *core, bool *powered)
{
    bool before = core->reset_seen;
    int error = cortex_a_look_power(core, powered);
    if (error != 0 || !*powered) {
        core->halted = false;
        return error;
    }
    if (core->reset_seen && !before) {
        core->halted = false;
        core->known = 0;
        error = cortex_a_enable(core);
    }
    if (error == 0)
        error = read_state(core);
    if (error != 0)
        return error;
    if ((core->dscr & DSCR_HALTED) == 0)
        core->halted = false;
    else if (!core->halted)
        error = cortex_a_note_halt(core);
    return error;
}

int cortex_a_status(struct cortex_a *core, struct target_core_status *status)
{
    bool powered;
    *status = (struct target_core_status){.state = TARGET_CORE_RUNNING};
    int error = cortex_a_look(core, &powered);
    if (error != 0)
        return error;
    if (core->halted)
        *status = core->last;
    else if (!powered)
        status->state = TARGET_CORE_OFF;
    status->reset_seen = core->reset_seen;
    core->reset_seen = false;
    return 0;
}

/* CORTEX_A_FAIL_NO_HALT after `limit` microseconds. */
static int wait_halt(struct cortex_a *core, uint32_t limit)
{
    uint64_t begin = cortex_a_now(core);
    for (;;) {
        bool late = cortex_a_now(core) - begin > limit;
        bool powered;
        int error = cortex_a_look(core, &powered);
        if (error == 0 && !powered)
            return cortex_a_fail(core, CORTEX_A_FAIL_POWER, 0, BT_ERR_IO);
        if (error != 0 || core->halted)
            return error;
        if (late)
            return cortex_a_fail(core, CORTEX_A_FAIL_NO_HALT, 0, BT_ERR_IO);
        cortex_a_sleep(core, HALT_SLEEP_US);
    }
}

int cortex_a_halt(struct cortex_a *core)
{
    bool powered;
    int error = cortex_a_look(core, &powered);
    if (error == 0 && !powered)
        return cortex_a_fail(core, CORTEX_A_FAIL_POWER, 0, BT_ERR_IO);
    if (error != 0 || core->halted)
        return error;
    error = cortex_a_poke(core, DBG_DRCR, DRCR_HALT);
    return error == 0 ? wait_halt(core, 1000 * core->limit_ms) : error;
}

static int wait_start(struct cortex_a *core)
{
    uint64_t begin = cortex_a_now(core);
    for (;;) {
        bool late = cortex_a_now(core) - begin > START_LIMIT_US;
        int error = cortex_a_read_dscr(core);
        if (error != 0 || (core->dscr & DSCR_RESTARTED) != 0)
            return error;
        if (late)
            return cortex_a_fail(core, CORTEX_A_FAIL_NO_RUN, 0, BT_ERR_IO);
    }
}

/* Let it go; it counts as running as soon as the request may have got through. */
static int cortex_a_release(struct cortex_a *core, bool step, bool mask_interrupts)
{
    int error = cortex_a_note_watched(core);
    if (error == 0)
        error = cortex_a_sync_code(core);
    if (error == 0)
        error = cortex_a_store_values(core);
    if (error == 0 && core->cti_on)
        error = cti_poke(core, CTI_INTACK, CTI_REQUEST);
    uint32_t dscr = (core->dscr & ~(DSCR_ITREN | DSCR_INTDIS | DSCR_MODE_MASK)) | DSCR_HDBGEN;
    if (error == 0)
        error = cortex_a_write_dscr(core, dscr | (mask_interrupts ? DSCR_INTDIS : 0));
    if (error != 0)
        return error;
    core->halted = false;
    core->course = step ? CORTEX_A_STEPPING : CORTEX_A_FREE;
    error = cortex_a_poke(core, DBG_DRCR, DRCR_RESTART | DRCR_CLEAR);
    return error == 0 ? wait_start(core) : error;
}

static int step_once(struct cortex_a *core, bool mask_interrupts)
{
    uint32_t limit = 1000 * core->limit_ms;
    uint32_t first = limit / 2 < STEP_LIMIT_US ? limit / 2 : STEP_LIMIT_US;
    int error = cortex_a_arm_step(core, core->values[CORTEX_A_PC], cortex_a_thumb(core));
    bool armed = error == 0;
    if (error == 0)
        error = cortex_a_release(core, true, mask_interrupts);
    if (error == 0)
        error = wait_halt(core, first);
    if (error == BT_ERR_IO && core->failure == CORTEX_A_FAIL_NO_HALT) {
        error = cortex_a_poke(core, DBG_DRCR, DRCR_HALT);
        if (error == 0)
            error = wait_halt(core, limit - first);
        if (error == 0 && core->last.reason == TARGET_HALT_INTERRUPT)
            core->last.reason = TARGET_HALT_STEP;
    }
    int back = armed ? cortex_a_disarm_step(core) : 0;
    return error != 0 ? error : back;
}

/* A step that the breakpoint at the PC does not end. */
static int step_over(struct cortex_a *core, bool mask_interrupts)
{
    uint32_t pc = core->values[CORTEX_A_PC];
    if (!cortex_a_breakpoint_at(core, pc))
        return step_once(core, mask_interrupts);
    int error = cortex_a_lift(core, pc, true);
    if (error == 0)
        error = step_once(core, mask_interrupts);
    int back = cortex_a_lift(core, pc, false);
    return error != 0 ? error : back;
}

/* Where the core has stopped at a BKPT of the program, go behind it: *skipped. */
static int skip_bkpt(struct cortex_a *core, bool *skipped)
{
    uint32_t pc = core->values[CORTEX_A_PC];
    *skipped = false;
    if (core->last.reason != TARGET_HALT_BKPT || pc != core->last.pc || !bkpt_at(core, pc))
        return 0;
    core->last.pc = pc + (cortex_a_thumb(core) ? 2 : 4);
    core->last.reason = TARGET_HALT_STEP;
    *skipped = true;
    return cortex_a_write_register(core, CORTEX_A_PC, core->last.pc);
}

int cortex_a_step(struct cortex_a *core, bool mask_interrupts)
{
    bool skipped = false;
    int error = cortex_a_need_halt(core);
    if (error == 0)
        error = skip_bkpt(core, &skipped);
    return error == 0 && !skipped ? step_over(core, mask_interrupts) : error;
}

int cortex_a_resume(struct cortex_a *core)
{
    bool powered, skipped;
    int error = cortex_a_look(core, &powered);
    if (error != 0 || !core->halted)
        return error;
    error = skip_bkpt(core, &skipped);
    if (error == 0 && cortex_a_breakpoint_at(core, core->values[CORTEX_A_PC])) {
        error = step_over(core, true);
        /* Something else stopped it at once: that is what the user has to see. */
        if (error == 0 && core->last.reason != TARGET_HALT_STEP)
            return 0;
    }
    return error == 0 ? cortex_a_release(core, false, false) : error;
}

/* The registers may refuse everything meanwhile. What nobody implements is a write without effect:
 * only the sticky bit tells. */
static bool was_reset(struct cortex_a *core)
{
    uint64_t begin = cortex_a_now(core);
    bool seen = false, late = false;
    while (!late) {
        uint32_t prsr = 0;
        late = cortex_a_now(core) - begin > RESET_LIMIT_US;
        bool answers = cortex_a_peek(core, DBG_PRSR, &prsr) == 0;
        seen |= answers && (prsr & PRSR_STICKY_RESET) != 0;
        if (seen && answers && (prsr & PRSR_IN_RESET) == 0)
            return true;
        cortex_a_sleep(core, HALT_SLEEP_US);
    }
    return false;
}

int cortex_a_warm_reset(struct cortex_a *core)
{
    uint32_t prcr = 0;
    bool powered;
    int error = cortex_a_look_power(core, &powered); /* resets of earlier */
    if (error == 0 && !powered)
        return cortex_a_fail(core, CORTEX_A_FAIL_POWER, 0, BT_ERR_IO);
    if (error == 0)
        error = cortex_a_peek(core, DBG_PRCR, &prcr);
    if (error == 0)
        error = cortex_a_poke(core, DBG_PRCR, prcr | PRCR_WARM_RESET);
    if (error != 0)
        return error;
    bool done = was_reset(core);
    error = cortex_a_poke(core, DBG_PRCR, prcr & ~PRCR_WARM_RESET);
    if (done)
        core->halted = false;
    if (done || error != 0)
        return error;
    return cortex_a_fail(core, CORTEX_A_FAIL_NO_RESET, 0, BT_ERR_UNSUPPORTED);
}

int cortex_a_catch_reset(struct cortex_a *core, bool on)
{
    return cortex_a_poke(core, DBG_VCR, on ? 1 : 0);
}
