/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run control of one ARMv7-A core (Cortex-A5, A7, A8, A9, A15 ...) through its external debug
 * registers. DDI 0406C.d part C; CTI: DDI 0314H.
 *
 * A halted core executes instructions that are given to it, one by one: that is how registers and
 * memory are reached. They use r0 and r1, so all registers are read when a halt is seen, and put
 * back before the core runs. A core belongs to one thread; every call waits for its end, but never
 * for the program of the core.
 *
 * Functions return 0 or
 *   BT_ERR_IO           the access was refused, or a state was not reached in its time
 *   BT_ERR_INVAL        argument out of range; a register or memory of a core that runs
 *   BT_ERR_RANGE        no comparator is free
 *   BT_ERR_UNSUPPORTED  this core cannot do that
 *   BT_ERR_FORMAT       the probe's answer has no sense; what answers is no ARMv7-A core
 * cortex_a_describe() tells in words why. After a failure the next call may be tried.
 */
#ifndef DRIVERS_CORTEX_A_H
#define DRIVERS_CORTEX_A_H

#include "drivers/adi/mem_ap.h"
#include "drivers/target/target_core.h"

#define CORTEX_A_BREAKPOINTS 16u
#define CORTEX_A_WATCHPOINTS 16u
#define CORTEX_A_SOFTWARE    64u /* software breakpoints at a time */
#define CORTEX_A_LIMIT_MS    3000u

enum cortex_a_failure {
    CORTEX_A_FAIL_NONE,
    CORTEX_A_FAIL_PORT,      /* the access failed: ap->dp->failure */
    CORTEX_A_FAIL_NO_CORE,   /* no ARMv7-A debug registers at this address */
    CORTEX_A_FAIL_POWER,     /* the core is powered down */
    CORTEX_A_FAIL_LOCKED,    /* the OS lock stays closed */
    CORTEX_A_FAIL_DISABLED,  /* invasive debug is disabled by authentication */
    CORTEX_A_FAIL_NO_HALT,   /* the core does not enter debug state */
    CORTEX_A_FAIL_NO_RUN,    /* the core does not leave debug state */
    CORTEX_A_FAIL_STUCK,     /* an instruction that was given to the core does not end */
    CORTEX_A_FAIL_ABORT,     /* data abort: failure_address */
    CORTEX_A_FAIL_UNDEFINED, /* the core does not know the instruction: it has no such register */
    CORTEX_A_FAIL_RUNNING,   /* only possible while the core is halted */
    CORTEX_A_FAIL_FULL,      /* all comparators are in use */
    CORTEX_A_FAIL_NOT_RAM,   /* the memory does not take a software breakpoint */
    CORTEX_A_FAIL_NO_RESET,  /* the debug registers do not reset the core */
};

/* r0..r15 have their numbers; r8 to r14 are those of the mode that CPSR names. */
#define CORTEX_A_PC        15u
#define CORTEX_A_CPSR      16u
#define CORTEX_A_REGISTERS 17u

/* A comparator as it is programmed; control 0: free. */
struct cortex_a_comparator {
    uint32_t value;
    uint32_t control;
    uint8_t kind;      /* enum target_breakpoint_type */
    uint32_t address;  /* as asked for */
    uint32_t length;   /* watchpoints: bytes as asked for; breakpoints: 2 or 4 */
    uint8_t before[8]; /* bytes watched, as they were when the core was let go */
    bool before_known;
};

/*
 * Software breakpoints stand in memory, which cores share: one list for all of them. All zero is
 * an empty one.
 */
struct cortex_a_software {
    struct {
        uint32_t address;
        uint8_t length; /* 2: Thumb, 4: ARM */
        uint8_t original[4];
    } list[CORTEX_A_SOFTWARE];
    unsigned count;
};

/*
 * Private: how the core was let go. cortex_a_attach() makes CORTEX_A_FREE of CORTEX_A_DETACHED,
 * cortex_a_step() CORTEX_A_STEPPING, cortex_a_resume() CORTEX_A_FREE again.
 */
enum cortex_a_course {
    CORTEX_A_DETACHED,
    CORTEX_A_FREE,
    CORTEX_A_STEPPING,
};

/* Private: what was asked already. */
enum cortex_a_known {
    CORTEX_A_KNOWN_FEATURES = 1,
    /* Of this halt: */
    CORTEX_A_KNOWN_CACHES = 2,
    CORTEX_A_KNOWN_VFP = 4,
    CORTEX_A_KNOWN_FAULTS = 8,
    CORTEX_A_KNOWN_DOUBLES = 16,
};

/* What an instruction reads or writes, in bytes. */
struct cortex_a_access {
    uint32_t address, length;
    bool load, store;
};

/*
 * `code`: an ARM instruction; or a Thumb one, its first halfword in the upper half if it has two,
 * else in the lower half. `regs`: r0 to r15 and CPSR before it is executed, r15 its address. False:
 * it is no access, or of a kind that is not known.
 */
typedef bool (*cortex_a_find_access)(uint32_t code, const uint32_t *regs,
                                     struct cortex_a_access *access);

struct cortex_a {
    /* Set by the user; all must live as long as the core. */
    struct mem_ap *ap; /* that reaches the debug registers: an APB-AP */
    uint32_t base;     /* of the debug registers, as `ap` sees them */
    uint32_t cti;      /* of the core's cross trigger interface; 0: there is none, or not known */
    struct cortex_a_software *software;
    cortex_a_find_access find_access; /* tells which watchpoint it was; NULL: nobody knows */
    unsigned limit_ms;                /* that a halt may take; CORTEX_A_LIMIT_MS */
    /* Found by cortex_a_attach(). */
    uint32_t midr;
    const char *name;       /* "Cortex-A9"; of a part that is not known "ARMv7-A" */
    unsigned debug_version; /* DBGDIDR: 3 v7, 4 v7 without extended CP14, 5 v7.1 */
    unsigned breakpoint_count;
    unsigned watchpoint_count;
    unsigned vfp_doubles; /* d registers: 16 or 32, 0 without VFP: known at the first halt */
    /* Of the last failure. */
    enum cortex_a_failure failure;
    uint32_t failure_address;
    /* Private. */
    enum cortex_a_course course;
    unsigned known; /* enum cortex_a_known */
    bool halted;    /* at the last look */
    bool reset_seen;
    bool vfp_on;       /* CPACR and FPEXC let the program use it */
    bool code_changed; /* instructions that are cached are out of date */
    bool cti_on;
    uint32_t faults[2]; /* DFSR, DFAR of the program */
    unsigned line;      /* bytes of a line of the data cache; 0: caches are off */
    uint32_t dscr;      /* as last read */
    uint32_t values[CORTEX_A_REGISTERS];
    uint64_t vfp[33];
    uint32_t dirty; /* bit n: value n is not that of the core */
    struct target_core_status last;
    struct cortex_a_comparator breakpoints[CORTEX_A_BREAKPOINTS];
    struct cortex_a_comparator watchpoints[CORTEX_A_WATCHPOINTS];
};

/* Nothing is sent. */
void cortex_a_init(struct cortex_a *core, struct mem_ap *ap, uint32_t base,
                   struct cortex_a_software *software);

/*
 * Identify the core, open its locks, enable halting debug; it is neither reset nor halted, and one
 * that is halted stays so. Comparators that somebody left on are switched off; what was set here
 * before (the target was unplugged) is set again. A core without power: BT_ERR_IO with
 * CORTEX_A_FAIL_POWER.
 */
int cortex_a_attach(struct cortex_a *core);

/* Take breakpoints and watchpoints of the hardware away, and let a halted core run. All steps are
 * tried; the first failure is returned. */
int cortex_a_detach(struct cortex_a *core);

/* The last failure for people: one line, lower case, without full stop. Returns `text`. */
const char *cortex_a_describe(const struct cortex_a *core, char *text, size_t size);

/* What the core does. A power-down or reset that is seen sets breakpoints and watchpoints again. */
int cortex_a_status(struct cortex_a *core, struct target_core_status *status);

/* Halt; no effect on a halted core. */
int cortex_a_halt(struct cortex_a *core);

/* Run. A breakpoint at the PC does not stop the core again: it is stepped over, while the others
 * do whatever they do. Behind a BKPT of the program it goes on behind that instruction. */
int cortex_a_resume(struct cortex_a *core);

/* One instruction; the core is halted at the end. Breakpoints at the PC do not count. An
 * instruction that does not end (WFI, a branch to itself) is halted after a while. */
int cortex_a_step(struct cortex_a *core, bool mask_interrupts);

/*
 * Reset this core alone by its debug registers (DBGPRCR), where nothing has a reset pin. What is
 * known of the core is void then: attach again. BT_ERR_UNSUPPORTED with CORTEX_A_FAIL_NO_RESET: it
 * does not do that, and goes on as it was.
 */
int cortex_a_warm_reset(struct cortex_a *core);

/* Halt at the vector of the reset, where the debug registers outlive that. */
int cortex_a_catch_reset(struct cortex_a *core, bool on);

/*
 * Cores that halt each other: what enters debug state pulls channel `channel` (0 to 3), which halts
 * those that are in it. Needs core->cti. The trigger numbers are those of
 * the Cortex-A manuals. */
int cortex_a_join(struct cortex_a *core, unsigned channel);

/* Take the core out again. */
int cortex_a_leave(struct cortex_a *core);

/* Registers: halted cores only. */

/* r0 to r15, CPSR: as of this halt, nothing is sent. */
int cortex_a_read_register(struct cortex_a *core, unsigned reg, uint32_t *value);
/* A new mode in CPSR changes which r8 to r14 are seen. */
int cortex_a_write_register(struct cortex_a *core, unsigned reg, uint32_t value);

/* BT_ERR_UNSUPPORTED: there is none, or the program has not switched it on; then no VFP instruction
 * is given to the core. */
/* d0 to d`doubles - 1`, and FPSCR behind them, into core->vfp: once for each halt. */
int cortex_a_load_vfp(struct cortex_a *core, unsigned doubles);
int cortex_a_write_double(struct cortex_a *core, unsigned number, uint64_t value);
int cortex_a_write_fpscr(struct cortex_a *core, uint32_t value);

/* A register of CP15, as its MRC or MCR with r0 names it: 0xee110f10 is SCTLR. */
int cortex_a_read_system(struct cortex_a *core, uint32_t mrc, uint32_t *value);
int cortex_a_write_system(struct cortex_a *core, uint32_t mcr, uint32_t value);

/* Memory: halted cores only. */

/*
 * As the program would: through MMU and caches. Bytes are in the order of addresses. A data abort
 * is CORTEX_A_FAIL_ABORT with its address in failure_address; what lies before it is transferred,
 * and the program's fault registers are as they were. Where a software breakpoint stands the bytes
 * of the program are read, and written below it.
 */
int cortex_a_read_memory(struct cortex_a *core, uint32_t address, uint8_t *bytes, size_t length);
int cortex_a_write_memory(struct cortex_a *core, uint32_t address, const uint8_t *bytes,
                          size_t length);

/* The same with accesses of `size` bytes (1, 2, 4), each once: for peripherals. */
int cortex_a_read_sized(struct cortex_a *core, uint32_t address, unsigned size, uint8_t *bytes,
                        size_t count);
int cortex_a_write_sized(struct cortex_a *core, uint32_t address, unsigned size,
                         const uint8_t *bytes, size_t count);

/* Memory was changed by somebody else: another core, or past this one. Cached instructions are
 * dropped before the core runs again. */
void cortex_a_code_changed(struct cortex_a *core);

/* Breakpoints and watchpoints. */

/*
 * Comparators can be set while the core runs, software breakpoints need a halted one. `length`: of
 * the instruction that a breakpoint is at, 2 (Thumb) or 4 (ARM; 3, a wide Thumb one, counts as 2);
 * bytes of a watchpoint, 1 or more: several comparators are used where the range is neither within
 * a word nor an aligned power of two. What is set already is left as it is.
 *   BT_ERR_RANGE        CORTEX_A_FAIL_FULL
 *   BT_ERR_UNSUPPORTED  CORTEX_A_FAIL_NOT_RAM: try TARGET_BREAKPOINT_HARDWARE
 */
int cortex_a_insert(struct cortex_a *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length);
/* BT_ERR_RANGE: there is none such. */
int cortex_a_remove(struct cortex_a *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length);

/* "supervisor mode, Thumb, IRQ masked": what a CPSR says. Returns `text`. */
const char *cortex_a_mode_text(uint32_t cpsr, char *text, size_t size);

/* The program's bytes in the place of those that are planted. */
void cortex_a_show_original(const struct cortex_a_software *software, uint32_t address,
                            uint8_t *bytes, size_t length);

/* Behind a write of `bytes`: they are the original now where something is planted, and that is
 * planted again. */
int cortex_a_put_back(struct cortex_a *core, uint32_t address, const uint8_t *bytes, size_t length);

#endif
