/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run control of a Cortex-M (ARMv6-M, ARMv7-M, ARMv8-M) through its MEM-AP. DDI 0403E.e C1.6 to
 * C1.8 and C1.11, DDI 0553B.v.
 *
 * A core belongs to one thread; every call waits for its end, but never for the program of the
 * core. Nothing that the core may change is cached: registers and memory are read when asked for.
 *
 * Functions return 0 or
 *   BT_ERR_IO           the access was refused, or a state was not reached in its time
 *   BT_ERR_INVAL        argument out of range; a register of a core that runs
 *   BT_ERR_RANGE        no comparator is free; no such address
 *   BT_ERR_UNSUPPORTED  this core cannot do that
 *   BT_ERR_FORMAT       the probe's answer has no sense; what answers is no Cortex-M
 * cortex_m_describe() tells in words why. After a failure the next call may be tried.
 */
#ifndef DRIVERS_CORTEX_M_H
#define DRIVERS_CORTEX_M_H

#include "drivers/adi/mem_ap.h"
#include "drivers/target/target_core.h"

#define CORTEX_M_BREAKPOINTS 16u /* comparators that are used, at most */
#define CORTEX_M_WATCHPOINTS 16u
#define CORTEX_M_SOFTWARE    64u /* software breakpoints at a time */
#define CORTEX_M_LIMIT_MS    3000u

enum cortex_m_arch {
    CORTEX_M_V6M,
    CORTEX_M_V7M,
    CORTEX_M_V8M_BASE,
    CORTEX_M_V8M_MAIN,
};

/* Why something could not be done, beside the reasons of the port: see cortex_m_describe(). */
enum cortex_m_failure {
    CORTEX_M_FAIL_NONE,
    CORTEX_M_FAIL_PORT,     /* the access failed: ap->dp->failure, ap->fault_address */
    CORTEX_M_FAIL_NO_CORE,  /* no Cortex-M answers at the place of its registers */
    CORTEX_M_FAIL_DISABLED, /* debug cannot be enabled: the part is locked */
    CORTEX_M_FAIL_NO_HALT,  /* the core does not halt */
    CORTEX_M_FAIL_NO_RESET, /* the core does not come out of reset, or does not halt behind it */
    CORTEX_M_FAIL_REGISTER, /* a register transfer is not done in its time */
    CORTEX_M_FAIL_RUNNING,  /* only possible while the core is halted */
    CORTEX_M_FAIL_FULL,     /* all comparators are in use */
    CORTEX_M_FAIL_UPPER,    /* this breakpoint unit has no addresses from 0x20000000 on */
    CORTEX_M_FAIL_NOT_RAM,  /* the memory does not take a software breakpoint */
    CORTEX_M_FAIL_NO_PIN,   /* the probe does not drive nRESET */
    CORTEX_M_FAIL_SECURE,   /* it does not halt, and Secure code may not be halted */
};

/* A comparator of the FPB: version 1 has an aligned word and one or both of its halves. */
struct cortex_m_comparator {
    uint32_t address;
    uint8_t halves; /* bit 0: lower, bit 1: upper; 0: free. Version 2: 1 */
};

/* A comparator of the DWT. Several make one watchpoint when its range is no power of two. */
struct cortex_m_watch {
    bool used;
    uint8_t size;     /* bytes that the comparator watches, log2 */
    uint8_t kind;     /* enum target_breakpoint_type */
    uint32_t at;      /* what the comparator watches */
    uint32_t address; /* the watchpoint that it is part of */
    uint32_t length;
};

struct cortex_m_software {
    uint32_t address;
    uint8_t original[2];
};

/*
 * Private: how the core was let go, which tells what its next halt means. It stays when the core
 * halts, and when a look fails. From any of them:
 *   cortex_m_attach(), cortex_m_resume()  -> CORTEX_M_FREE
 *   cortex_m_step()                       -> CORTEX_M_STEPPING
 *   cortex_m_reset()                      -> CORTEX_M_FROM_RESET
 */
enum cortex_m_course {
    CORTEX_M_FREE,
    CORTEX_M_STEPPING,
    CORTEX_M_FROM_RESET,
};

/* Private: C_MASKINTS as it was written last; unsure: that failed, and may have got through. */
enum cortex_m_mask {
    CORTEX_M_MASK_OFF,
    CORTEX_M_MASK_ON,
    CORTEX_M_MASK_UNSURE,
};

/* Of v8-M: Security Extension. */
enum cortex_m_security {
    CORTEX_M_SECURITY_NONE,
    CORTEX_M_SECURITY_CLOSED, /* Secure state may not be debugged: at the last look */
    CORTEX_M_SECURITY_OPEN,
};

enum cortex_m_register {
    CORTEX_M_R0 = 0,
    CORTEX_M_SP = 13, /* the one in use */
    CORTEX_M_LR = 14,
    CORTEX_M_PC = 15,
    CORTEX_M_XPSR = 16,
    CORTEX_M_MSP,
    CORTEX_M_PSP,
    CORTEX_M_PRIMASK,
    CORTEX_M_BASEPRI,   /* not in v6-M, v8-M baseline */
    CORTEX_M_FAULTMASK, /* the same */
    CORTEX_M_CONTROL,
    CORTEX_M_MSP_NS, /* with Security Extension */
    CORTEX_M_PSP_NS,
    CORTEX_M_MSP_S, /* those of Secure state: where it may be debugged */
    CORTEX_M_PSP_S,
    CORTEX_M_MSPLIM_S,
    CORTEX_M_PSPLIM_S,
    CORTEX_M_MSPLIM_NS, /* v8-M mainline; without Security Extension MSPLIM and PSPLIM */
    CORTEX_M_PSPLIM_NS,
    CORTEX_M_FPSCR, /* with FPU */
    CORTEX_M_S0,
    CORTEX_M_S31 = CORTEX_M_S0 + 31,
    CORTEX_M_REGISTERS
};

/* Private: which of the values are of this halt; CORE: up to those of the FPU. */
enum cortex_m_known {
    CORTEX_M_KNOWN_NONE,
    CORTEX_M_KNOWN_CORE,
    CORTEX_M_KNOWN_ALL,
};

struct cortex_m {
    struct mem_ap *ap;
    unsigned limit_ms; /* that a halt or a reset may take; set by the user, or CORTEX_M_LIMIT_MS */
    /* For the time behind a reset, when the port has to be woken up again; NULL: that is not
     * tried. Set by the user; must live as long as the core. */
    const struct adiv5_connect_options *reconnect;
    /* Found by cortex_m_attach(). */
    uint32_t cpuid;
    const char *name; /* "Cortex-M4"; of a part that is not known its architecture: "ARMv7-M" */
    enum cortex_m_arch arch;
    bool fpu; /* FPSCR, s0-s31 */
    enum cortex_m_security security;
    bool instruction_cache;    /* is invalidated when memory is written */
    unsigned breakpoint_count; /* usable comparators; 0 without an FPB */
    unsigned breakpoint_version;
    unsigned watchpoint_count;
    bool watchpoint_v8;       /* the form of ARMv8-M */
    uint32_t watchpoint_size; /* largest range of one comparator, bytes */
    /* Of the last failure. */
    enum cortex_m_failure failure;
    uint32_t failure_address;
    /* Private. */
    bool halted; /* at the last look */
    enum cortex_m_course course;
    enum cortex_m_mask mask;
    bool reset_seen;
    bool lifted; /* the breakpoints at lifted_at are away for a step, or could not be put back */
    uint32_t lifted_at;
    unsigned ready_reads; /* of DHCSR before a register is there */
    uint32_t catch;       /* CORTEX_M_CATCH_* that are set */
    struct target_core_status last;
    enum cortex_m_known known;
    uint32_t values[CORTEX_M_REGISTERS];
    struct cortex_m_comparator breakpoints[CORTEX_M_BREAKPOINTS];
    struct cortex_m_watch watchpoints[CORTEX_M_WATCHPOINTS];
    struct cortex_m_software software[CORTEX_M_SOFTWARE];
    unsigned software_count;
};

/* Nothing is sent. `ap` must live as long as the core. */
void cortex_m_init(struct cortex_m *core, struct mem_ap *ap);

/*
 * Identify the core and enable debug; it is neither reset nor halted, and one that is halted stays
 * so. Comparators that somebody left on are switched off, TRCENA is switched on. May be called
 * again when the target was unplugged: what was set is set again.
 */
int cortex_m_attach(struct cortex_m *core);

/*
 * Remove all breakpoints, watchpoints and vector catches, and let a halted core run. `keep_debug`
 * leaves C_DEBUGEN on, which some chips need for their trace pins; TRCENA stays as it is. All steps
 * are tried; the first failure is returned.
 */
int cortex_m_detach(struct cortex_m *core, bool keep_debug);

/* The last failure for people: one line, lower case, without full stop. Returns `text`. */
const char *cortex_m_describe(const struct cortex_m *core, char *text, size_t size);

/* What the core does. A reset that is seen sets breakpoints and watchpoints again. */
int cortex_m_status(struct cortex_m *core, struct target_core_status *status);

/* Halt; no effect on a halted core, but that C_MASKINTS of a step goes. Sleep and lockup are
 * left. */
int cortex_m_halt(struct cortex_m *core);

/*
 * Run. A breakpoint at the PC does not stop the core again: it is stepped over. Where the core has
 * stopped at a BKPT instruction of the program, it goes on behind that instruction.
 */
int cortex_m_resume(struct cortex_m *core);

/*
 * One instruction; the core is halted at the end. Breakpoints at the PC do not count. With
 * `mask_interrupts` no interrupt handler is entered; without, as the hardware has it, the step may
 * end at the first instruction of a handler.
 */
int cortex_m_step(struct cortex_m *core, bool mask_interrupts);

enum cortex_m_reset_kind {
    CORTEX_M_RESET_SYSTEM, /* SYSRESETREQ */
    CORTEX_M_RESET_PIN,    /* nRESET: also for a core that is stuck */
};

/* Reset; it is halted before its first instruction. Breakpoints, watchpoints and vector
 * catch are as before; caches of others (trace set-up) are void. */
int cortex_m_reset(struct cortex_m *core, enum cortex_m_reset_kind kind);

/* With Security Extension: is the halted core in Secure state? Without: *secure is false. */
int cortex_m_is_secure(struct cortex_m *core, bool *secure);

/* Registers: halted cores only. */

/* Does this core have it? */
bool cortex_m_has_register(const struct cortex_m *core, unsigned reg);

/* "r0", "sp", "xpsr", "msp", "msplim_ns", "s31"...: GDB's names. Never NULL. */
const char *cortex_m_register_name(unsigned reg);

int cortex_m_read_register(struct cortex_m *core, unsigned reg, uint32_t *value);
int cortex_m_write_register(struct cortex_m *core, unsigned reg, uint32_t value);

/* Into core->values, once for each halt: all that the core has, but for those of the FPU unless
 * `all`; the others are 0. Void when a register is written. */
int cortex_m_load(struct cortex_m *core, bool all);

/* All that the core has, in few round trips; the others are 0. */
int cortex_m_read_all(struct cortex_m *core, uint32_t values[CORTEX_M_REGISTERS]);

/* Memory: also while the core runs. */

/* As mem_ap_read() and mem_ap_write(), but where a software breakpoint stands the bytes of the
 * program are read, and written below it. */
int cortex_m_read_memory(struct cortex_m *core, uint32_t address, uint8_t *bytes, size_t length);
int cortex_m_write_memory(struct cortex_m *core, uint32_t address, const uint8_t *bytes,
                          size_t length);

/* With accesses of `size` bytes (1, 2, 4), each once: for peripherals. */
int cortex_m_read_sized(struct cortex_m *core, uint32_t address, unsigned size, uint8_t *bytes,
                        size_t count);
int cortex_m_write_sized(struct cortex_m *core, uint32_t address, unsigned size,
                         const uint8_t *bytes, size_t count);

/* Breakpoints and watchpoints. */

/*
 * Set: also while the core runs. `address` of a breakpoint is even, its `length` does not matter;
 * a watchpoint is `length` bytes (1 or more) at `address`. What is set already is left as it is.
 *   BT_ERR_RANGE        CORTEX_M_FAIL_FULL
 *   BT_ERR_UNSUPPORTED  CORTEX_M_FAIL_UPPER;
 * CORTEX_M_FAIL_NOT_RAM: try TARGET_BREAKPOINT_HARDWARE */
int cortex_m_insert(struct cortex_m *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length);

/* Remove. BT_ERR_RANGE: there is none such. */
int cortex_m_remove(struct cortex_m *core, enum target_breakpoint_type kind, uint32_t address,
                    uint32_t length);

/* Halt before the first instruction of these exceptions: bits of DEMCR. v6-M and v8-M baseline
 * have RESET and HARDFAULT only; others are left out. */
#define CORTEX_M_CATCH_RESET     0x001u
#define CORTEX_M_CATCH_MEMORY    0x010u /* MemManage */
#define CORTEX_M_CATCH_NOCP      0x020u /* UsageFault: no such coprocessor */
#define CORTEX_M_CATCH_CHECK     0x040u /* UsageFault: alignment, division by zero */
#define CORTEX_M_CATCH_STATE     0x080u /* UsageFault: undefined instruction, state */
#define CORTEX_M_CATCH_BUS       0x100u /* BusFault */
#define CORTEX_M_CATCH_ENTRY     0x200u /* fault while entering or leaving an exception */
#define CORTEX_M_CATCH_HARDFAULT 0x400u
#define CORTEX_M_CATCH_SECURE    0x800u /* SecureFault: with Security Extension */
#define CORTEX_M_CATCH_FAULTS    0xff0u
int cortex_m_vector_catch(struct cortex_m *core, uint32_t catches);

/* Exceptions. */

/* The exception in which a halted core is, and what the fault registers say. */
struct cortex_m_exception {
    unsigned number; /* IPSR: 0 none, 3 HardFault ... 16 + n interrupt n */
    bool lockup;
    uint32_t cfsr;  /* 0 where the core has none */
    uint32_t hfsr;  /* the same */
    uint32_t mmfar; /* valid by CFSR bit 7 */
    uint32_t bfar;  /* valid by CFSR bit 15 */
    uint32_t sfsr;  /* with Security Extension */
    uint32_t sfar;
    bool frame_known;     /* the first instruction of the handler is still to come */
    uint32_t interrupted; /* frame_known: PC that is stacked */
};

int cortex_m_exception(struct cortex_m *core, struct cortex_m_exception *exception);

/* Numbers of the first and the last exception that is a fault. */
#define CORTEX_M_HARDFAULT   3u
#define CORTEX_M_SECUREFAULT 7u

/* "HardFault", "SysTick", "interrupt 5"; number 0: "thread mode". Returns `text`. */
const char *cortex_m_exception_name(unsigned number, char *text, size_t size);

/*
 * In words: "HardFault: a read or write at 0x60000000 was refused by the bus; at 0x080001a4". Empty
 * in thread mode without lockup. Interrupts have their name alone. Returns `text`.
 */
const char *cortex_m_exception_text(const struct cortex_m_exception *exception, char *text,
                                    size_t size);

#endif
