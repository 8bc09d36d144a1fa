/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin interface of QEMU does not offer: registers, work on a vCPU's thread, stop
 * and start of the machine. QEMU's executable exports its own functions; they are looked up by name
 * at run time. Nothing here is an official interface: any of it may be missing, and then the
 * function says false.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_QEMU_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CPUState;
struct byte_array; /* GLib's GByteArray */
struct address_space;

/* QEMU passes work data by value as this union. */
union board_work_data {
    unsigned long number;
    void *pointer;
};

typedef void (*board_work)(struct CPUState *cpu, union board_work_data data);
typedef void (*board_run_state)(void *context, bool running, int state);

/* Found functions are not NULL; private. */
struct board_qemu {
    struct CPUState *(*get_cpu)(int index);
    const char *(*get_typename)(void *object);
    int (*read_memory)(struct CPUState *cpu, uint64_t address, void *bytes, size_t size,
                       bool write);
    int (*read_register)(struct CPUState *cpu, struct byte_array *buffer, int number);
    int (*read_register_a64)(struct CPUState *cpu, struct byte_array *buffer, int number);
    struct byte_array *(*new_array)(void);
    struct byte_array *(*resize_array)(struct byte_array *array, unsigned size);
    void (*run_on_cpu)(struct CPUState *cpu, board_work work, union board_work_data data);
    void *(*watch_run_state)(board_run_state handler, void *context);
    void (*kick)(struct CPUState *cpu);
    int (*write_register)(struct CPUState *cpu, uint8_t *bytes, int number);
    struct address_space *(*get_space)(struct CPUState *cpu, int index);
    uint32_t (*access_space)(struct address_space *space, uint64_t address, uint64_t attributes,
                             void *bytes, uint64_t size, bool write);
    int (*insert_breakpoint)(struct CPUState *cpu, uint64_t address, int flags, void **made);
    int (*remove_breakpoint)(struct CPUState *cpu, uint64_t address, int flags);
    int (*insert_watchpoint)(struct CPUState *cpu, uint64_t address, uint64_t size, int flags,
                             void **made);
    int (*remove_watchpoint)(struct CPUState *cpu, uint64_t address, uint64_t size, int flags);
    void (*leave_block)(struct CPUState *cpu, uintptr_t host);
    void (*refresh)(void *state); /* after writing a member of the CPU's state */
    void (*write_cpsr)(void *state, uint32_t value, uint32_t mask, int kind);
    uint32_t (*read_fpscr)(void *state);
    void (*write_fpscr)(void *state, uint32_t value);
    const void *(*find_cp)(void *table, uint32_t key);
    uint64_t (*read_cp)(void *state, const void *reg);
    void (*write_cp)(void *state, const void *reg, uint64_t value);
    void (*flush_tlb)(struct CPUState *cpu);
    uint64_t (*translate)(struct CPUState *cpu, uint64_t address, uint32_t *attributes);
    bool before_access; /* where a watchpoint stops; else behind it */
    bool a64;           /* the cores are in AArch64 state */
    /* Byte offsets in the CPU object; 0: not known. */
    size_t spsr;
    size_t banked_spsr;
    size_t banked_lr;
    size_t other_sp;
    size_t regs;    /* the CPU's state begins here */
    size_t asleep;  /* in WFI */
    size_t fp;      /* D0, D1 */
    size_t fp_next; /* D2 */
    size_t fpexc;
    size_t cp_table; /* where the pointer to the system registers is */
    size_t masks[4]; /* PRIMASK, BASEPRI, FAULTMASK, CONTROL; of the secure state one word behind */
    size_t secure;   /* M profile: the state that it is in */
    size_t other_stacks[2]; /* MSP and PSP of the state that it is not in */
    size_t limits[2];       /* of MSP and PSP; as masks */
    size_t elr;             /* of EL0 to EL3 */
    size_t syndrome;        /* of the latest exception */
};

#define BOARD_QEMU_SECURE 0x100 /* the security state of an M-profile core: 1 secure */

#define BOARD_REG_SP   13
#define BOARD_REG_LR   14
#define BOARD_REG_PC   15
#define BOARD_REG_CPSR 25

void board_qemu_init(struct board_qemu *q);

/*
 * Core register r0-r15 or CPSR as GDB numbers them; of AArch64 CPSR alone. Exact at the first
 * instruction of a translated block, and between blocks. Only from the vCPU's own thread, or while
 * the machine is stopped.
 */
bool board_qemu_register(const struct board_qemu *q, unsigned vcpu, int number, uint32_t *value);

/* The PC, and of AArch64 a register x0-x30, as above. */
bool board_qemu_pc(const struct board_qemu *q, unsigned vcpu, uint64_t *value);
bool board_qemu_x(const struct board_qemu *q, unsigned vcpu, unsigned number, uint64_t *value);

/* AArch64: what an exception taken to `level` has left, and where that level's vectors are. */
struct board_qemu_taken {
    uint64_t vectors; /* VBAR */
    uint64_t elr;
    uint32_t spsr;
    uint32_t syndrome;
};
bool board_qemu_taken(const struct board_qemu *q, unsigned vcpu, unsigned level,
                      struct board_qemu_taken *taken);

/* QEMU's handle of a vCPU, and where the calling thread keeps that of the one it runs. Or NULL. */
struct CPUState *board_qemu_handle(const struct board_qemu *q, unsigned vcpu);
struct CPUState **board_qemu_current(void);

/* Register of the vCPU whose thread calls. Exact while it translates a block, for its start. */
bool board_qemu_own_register(const struct board_qemu *q, int number, uint32_t *value);

/* SPSR of the current mode; SPSR and LR of another mode, given as in CPSR[4:0]. */
bool board_qemu_spsr(const struct board_qemu *q, unsigned vcpu, uint32_t *value);
bool board_qemu_banked(const struct board_qemu *q, unsigned vcpu, uint32_t mode, uint32_t *spsr,
                       uint32_t *lr);

/* M profile: the stack pointer that is not in use, PSP in a handler. */
bool board_qemu_other_sp(const struct board_qemu *q, unsigned vcpu, uint32_t *value);

/* A word of memory, not of a device, as the vCPU sees it (little-endian). */
bool board_qemu_word(const struct board_qemu *q, unsigned vcpu, uint32_t address, uint32_t *value);

/* M profile with the Security Extension: the same, as an access of one of the states. */
bool board_qemu_word_of(const struct board_qemu *q, unsigned vcpu, bool secure, uint32_t address,
                        uint32_t *value);

/* Is the vCPU of the M profile? False if that cannot be found out: `known` says. */
bool board_qemu_is_m(const struct board_qemu *q, unsigned vcpu, bool *known);

/*
 * M profile, by number as in DCRSR: 0 to 16, 17 MSP, 18 PSP, 20 PRIMASK to CONTROL; of a core with
 * security states 0x18 to 0x1f their stack pointers and limits, 0x22 and 0x23 their PRIMASK to
 * CONTROL, and BOARD_QEMU_SECURE, read only. From the vCPU's thread between two blocks.
 */
bool board_qemu_get(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t *value);
bool board_qemu_set(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t value);

/* A profile, by number as board_control.h has them. From the vCPU's thread between two blocks. */
bool board_qemu_a_get(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t *value);
bool board_qemu_a_set(const struct board_qemu *q, unsigned vcpu, uint32_t number, uint32_t value);

/*
 * CP15 of the A profile: CRn<<11 | CRm<<7 | opc1<<3 | opc2, of the core's own security state. Those
 * that are plain values; false for all others.
 */
bool board_qemu_get_cp15(const struct board_qemu *q, unsigned vcpu, uint32_t reg, uint32_t *value);
bool board_qemu_set_cp15(const struct board_qemu *q, unsigned vcpu, uint32_t reg, uint32_t value);

/* Debug state ends the sleep of a WFI: the core goes on behind it. */
void board_qemu_awake(const struct board_qemu *q, unsigned vcpu);

/* Physical address of what a core loads at `address`; false: its MMU aborts. */
bool board_qemu_translate(const struct board_qemu *q, unsigned vcpu, uint32_t address,
                          uint32_t *physical);

/* Between board_qemu.c and board_qemu_a.c: members that QEMU saves, and what A cores need. */
struct saved_description;
const struct saved_description *board_qemu_saved_part(const struct saved_description *description,
                                                      const char *name);
size_t board_qemu_saved_offset(const struct saved_description *description, const char *first,
                               const char *name);
void board_qemu_a_init(struct board_qemu *q, const struct saved_description *arm,
                       void *(*look_up)(const char *name));

/* Memory and devices, as a privileged access of the vCPU, of the M profile in its own security
 * state. False: the bus refuses. */
bool board_qemu_bus(const struct board_qemu *q, unsigned vcpu, uint32_t address, void *bytes,
                    size_t size, bool write);

/*
 * A breakpoint (`what` is x) or a watchpoint (r, w, a: both) as a debugger sets it, on or off. From
 * the vCPU's thread, or while the machine stands still.
 */
bool board_qemu_breakpoint(const struct board_qemu *q, unsigned vcpu, char what, uint32_t address,
                           uint32_t size, bool on);

/*
 * Leaves the block that runs, which begins again; `host` is the return address of the callback of
 * its first instruction. Returns only if it cannot.
 */
void board_qemu_leave_block(const struct board_qemu *q, unsigned vcpu, uintptr_t host);

/* Queues `work` for the vCPU's thread; it runs between two blocks, also in a stopped machine. */
bool board_qemu_run_on(const struct board_qemu *q, unsigned vcpu, board_work work, void *context);

/*
 * Wakes the vCPU's thread. What run_on() does of this is lost when the thread was just about to
 * sleep: QEMU means it to be called under a lock that is not ours.
 */
void board_qemu_kick(const struct board_qemu *q, unsigned vcpu);

/* `handler` is called when the machine has stopped or is about to start, vCPUs at rest. */
bool board_qemu_watch(const struct board_qemu *q, board_run_state handler, void *context);

#endif
