/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target: cores that run, halt and are read, whatever they are behind. There are three kinds:
 * cores behind a probe of ours (server/probe), another GDB server (protocol/remote), a recording
 * (server/replay). Each is a struct target_ops; what they have in common is target.c: who is asked
 * when, what has been changed, which breakpoints are there, who waits for a halt.
 *
 * Asynchronous: target_ask() returns at once, and the answer comes by a function, maybe from
 * within. One request is under way at a time. All of this belongs to one thread, that of the event
 * loop. No sockets, no clock: the time comes with target_tick().
 *
 * Functions return BT_OK or a negative enum bt_error. `core` is in 0 .. target_cores() - 1.
 */
#ifndef DRIVERS_TARGET_H
#define DRIVERS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "btrace/types.h"

#define TARGET_CORES_MAX 64

/* Bytes of one read or write. */
#define TARGET_ACCESS_MAX 0x10000

enum target_profile {
    TARGET_PROFILE_A,
    TARGET_PROFILE_R,
    TARGET_PROFILE_A64, /* AArch64: org.gnu.gdb.aarch64.core */
    TARGET_PROFILE_M,   /* described with org.gnu.gdb.arm.m-profile: xpsr in the place of cpsr */
};

struct target_core {
    const char *name; /* shown by "info threads"; owned by the target, lives as long as it */
    enum target_profile profile;
    bool big_endian; /* byte order of registers on the wire; GDB takes one order for all cores */
};

/* Index into struct target_regs. Of AArch64 there are SP, LR (x30), PC and PSR. */
enum target_reg {
    TARGET_REG_R0,
    TARGET_REG_R7 = 7,
    TARGET_REG_R11 = 11,
    TARGET_REG_SP = 13,
    TARGET_REG_LR = 14,
    TARGET_REG_PC = 15,
    TARGET_REG_PSR = 16, /* CPSR, or xPSR on the M profile */
    TARGET_REG_COUNT
};

/* Of an M-profile core: which of the banked stack pointers SP is. */
enum target_security { TARGET_SECURITY_UNKNOWN, TARGET_SECURITY_SECURE, TARGET_SECURITY_NONSECURE };

/* Stack pointers of the M profile: those of the present security state, then those of each. */
enum target_stack {
    TARGET_STACK_MSP,
    TARGET_STACK_PSP,
    TARGET_STACK_MSP_S,
    TARGET_STACK_PSP_S,
    TARGET_STACK_MSP_NS,
    TARGET_STACK_PSP_NS,
    TARGET_STACKS,
};

/* CP15 of a Cortex-A; with two security states those that Secure state has of its own, too. Then
 * those that AArch64 has beside SCTLR and TTBR0. */
enum target_system {
    TARGET_SYSTEM_SCR,
    TARGET_SYSTEM_SCTLR,
    TARGET_SYSTEM_TTBR0,
    TARGET_SYSTEM_TTBCR,
    TARGET_SYSTEM_SCTLR_S,
    TARGET_SYSTEM_TTBR0_S,
    TARGET_SYSTEM_TTBCR_S,
    TARGET_SYSTEM_TTBR1,
    TARGET_SYSTEM_TCR,
    TARGET_SYSTEM_VBAR,
    TARGET_SYSTEM_HCR,
    TARGET_SYSTEM_LEVELS, /* SP_EL0 to SP_EL2; SCTLR, TTBR0, TCR, VBAR of EL2 and EL3; ELR, SPSR */
    TARGET_SYSTEMS = TARGET_SYSTEM_LEVELS + 17,
};

/* Registers beyond the first seventeen: at most so many, numbered from here on. */
#define TARGET_EXTRA_NUMBER 26
#define TARGET_EXTRA_MAX    64
#define TARGET_VECTORS      32

/*
 * Values of a core, or in a write what is to be written. PC, SP, LR and PSR should always be known.
 */
struct target_regs {
    uint64_t value[TARGET_REG_COUNT];
    uint32_t known; /* bit i: value[i] is valid */
    enum target_security security;
    uint32_t stack[TARGET_STACKS]; /* M profile */
    uint32_t stack_known;          /* bit i: stack[i] is valid */
    uint64_t system[TARGET_SYSTEMS];
    uint32_t system_known; /* bit i: system[i] is valid */
    /* Entry i + TARGET_REG_COUNT of target_registers(); of AArch64 entry i, those of 128 bits not
     * counted. */
    uint64_t extra[TARGET_EXTRA_MAX];
    uint64_t extra_known;               /* bit i: extra[i] is valid */
    uint64_t vector[TARGET_VECTORS][2]; /* AArch64: v0 to v31, the lower half first */
    uint32_t vector_known;
};

/*
 * A register as the target description lists it: what GDB makes of a feature and its registers is
 * written in its manual, appendix "ARM features".
 */
struct target_register {
    const char *feature; /* "org.gnu.gdb.arm.vfp"; registers of one feature are neighbours */
    const char *name;
    const char *type; /* "uint32", "data_ptr", "ieee_double" ...; NULL: that of its size */
    unsigned bits;
    unsigned number; /* of p and P packets; a g packet has them in rising order */
};

#define TARGET_A64_COUNT   34 /* x0-x30, sp, pc, cpsr */
#define TARGET_DOUBLES_MAX 32

/*
 * The registers that every core of a profile has, as GDB's own descriptions have them: returns how
 * many, TARGET_REG_COUNT or TARGET_A64_COUNT. The other: d0 and so on, of which GDB makes s0-s31,
 * and fpscr behind them, as the first extra registers.
 */
unsigned target_describe_core(struct target_register *list, enum target_profile profile);
unsigned target_describe_float(struct target_register *list, unsigned doubles);

/* Which of enum target_reg, target_stack and target_system it is by its name; -1: none. */
int target_register_reg(const struct target_register *r);
int target_register_stack(const struct target_register *r);
int target_register_system(const struct target_register *r);

/*
 * The value of list[entry], by its name, else as extra register. get: false when it is not known.
 * set: those that struct target_regs has no place for are dropped.
 */
bool target_regs_get(const struct target_regs *regs, const struct target_register *list,
                     unsigned entry, uint64_t *value);
void target_regs_set(struct target_regs *regs, const struct target_register *list, unsigned entry,
                     uint64_t value);

/* Which of v0 to v31 it is, which have values of 128 bits: target_regs.vector; -1: none. */
int target_register_vector(const struct target_register *r);

/*
 * Explanation of a refusal, for the user: printed by GDB after the "E." of an error reply. Empty
 * when the operation is called; when still empty after an error, the session takes the text of
 * the error code. One short line; '#', '$', '*',
 * '}' and control characters are replaced.
 */
struct target_error {
    char text[160];
};

/* Why a core stands. */
enum target_halt_reason {
    TARGET_HALT_TRAP,      /* at attach, by somebody else; no other reason is known */
    TARGET_HALT_INTERRUPT, /* it was asked for */
    TARGET_HALT_STEP,      /* the step is done */
    TARGET_HALT_SWBREAK,   /* a breakpoint, as which it was asked for */
    TARGET_HALT_HWBREAK,
    TARGET_HALT_BKPT,  /* a breakpoint instruction of the program itself */
    TARGET_HALT_WATCH, /* these three: address = the address watched */
    TARGET_HALT_RWATCH,
    TARGET_HALT_AWATCH,
    TARGET_HALT_VECTOR,       /* vector catch: a fault, or a reset; signal if it is one */
    TARGET_HALT_EXTERNAL,     /* another core, or a pin */
    TARGET_HALT_REPLAY_BEGIN, /* start of the history reached going back */
    TARGET_HALT_REPLAY_END,   /* live position reached by a continue, never by a step */
    TARGET_HALT_SIGNAL,       /* signal = GDB signal number: 11 SIGSEGV, 4 SIGILL ... */
    TARGET_HALT_FAILED,       /* it could not be run, or does not halt: see the text */
    TARGET_HALT_EXITED,       /* the connection to the hardware is gone; signal = exit code */
};

struct target_stop {
    enum target_halt_reason kind;
    int core; /* becomes the general thread */
    int signal;
    uint64_t address;
};

/* Return value of operations that go on: their end is told later. */
#define TARGET_PENDING 1
enum target_action {
    TARGET_ACTION_NONE, /* stays halted */
    TARGET_ACTION_CONTINUE,
    TARGET_ACTION_STEP, /* one instruction */
};

struct target_resume {
    enum target_action action[TARGET_CORES_MAX];
    int core;  /* the selected thread: the one that steps, else the general thread */
    bool step; /* some core has TARGET_ACTION_STEP */
    /*
     * GDB listed the threads since the last stop reply. False when a continue follows GDB's own
     * step over a breakpoint at once: GDB 13.1 wants that.
     */
    bool threads_listed;
};

/* As in the Z packets. */
enum target_breakpoint_type {
    TARGET_BREAKPOINT_SOFTWARE,
    TARGET_BREAKPOINT_HARDWARE,
    TARGET_WATCHPOINT_WRITE,
    TARGET_WATCHPOINT_READ,
    TARGET_WATCHPOINT_ACCESS,
};

struct target_breakpoint {
    enum target_breakpoint_type type;
    uint64_t address;
    /* Breakpoints: 2 Thumb, 3 Thumb with a 32-bit instruction, 4 ARM. Watchpoints: bytes. */
    uint32_t kind;
};

/* Of breakpoints the kind does not count: LLDB 21 removes with 4 what it inserted with 2. */
static inline bool target_same_breakpoint(const struct target_breakpoint *a,
                                          const struct target_breakpoint *b)
{
    bool watch = a->type >= TARGET_WATCHPOINT_WRITE;
    return a->type == b->type && a->address == b->address && (!watch || a->kind == b->kind);
}

enum target_region_type {
    TARGET_REGION_RAM,
    TARGET_REGION_ROM,
    TARGET_REGION_FLASH,
};

struct target_region {
    enum target_region_type type;
    uint64_t start;
    uint64_t length;
    uint64_t blocksize; /* of one erase, flash only */
};

/* Prints text to a console; '\n' ends lines. `to` is what was given along with it. */
typedef void (*target_print_fn)(void *to, const char *text);

/* Requests. */

enum target_request_kind {
    TARGET_READ_REGISTERS,  /* core, set: answer.regs */
    TARGET_WRITE_REGISTERS, /* core, regs: those that it marks as known */
    /* core, address, length, device: answer.bytes, length from the start; fewer where the rest
     * cannot be read, an error when not even the first can */
    TARGET_READ_MEMORY,
    TARGET_WRITE_MEMORY, /* core, address, bytes, length: all or an error */
    TARGET_INSERT,       /* breakpoint: BT_ERR_UNSUPPORTED: there is no such type here */
    TARGET_REMOVE,       /* the same; one that is not there is removed, too */
    TARGET_FLASH_ERASE,  /* address, length: whole blocks */
    TARGET_FLASH_WRITE,  /* address, bytes, length: in rising order, of erased blocks */
    TARGET_FLASH_DONE,   /* what was kept back is written */
    TARGET_STATUS,       /* answer.stop: why it stands */
    /* resume: no answer but its stop, see target_client_ops. Of clients only: the owner has
     * target_resume(). With `packet`, regs: it says from where, so the PC is another one */
    TARGET_RESUME,
    TARGET_RESET,   /* starts over, and is halted; answer.stop */
    TARGET_COMMAND, /* text of `monitor`; BT_ERR_UNSUPPORTED: no such command */
    TARGET_PACKET,  /* of another server's protocol: no other kind; answer.bytes */
};

enum target_register_set {
    TARGET_REGISTERS_PC,   /* PC and PSR: the cheapest */
    TARGET_REGISTERS_CORE, /* the first seventeen, and the stack pointers */
    TARGET_REGISTERS_ALL,
};

struct target_request {
    enum target_request_kind kind;
    int core;
    enum target_register_set set;
    uint64_t address;
    size_t length;
    const uint8_t *bytes; /* or text; copied */
    /* Read word by word, each once, and no smaller: registers of devices. */
    bool device;
    /* Goes behind what clients ask for; BT_ERR_INVAL when cores run before it had its turn. */
    bool background;
    /* No deadline, as commands, resets and flash have none anyway. */
    bool takes_time;
    bool only_shows; /* TARGET_COMMAND: nothing is changed by it */
    struct target_breakpoint breakpoint;
    const struct target_regs *regs; /* copied; NULL with a packet that writes registers: the one */
                                    /* of number `address`, or if `length` is 0 any */
    const struct target_resume *resume; /* copied; NULL: all cores run */
    /*
     * A packet as a client has sent it, which is sent on as it is instead of what is above (and
     * above says what it does): targets with ops->packets alone; copied. The answer is in
     * answer.bytes as it came, whatever its kind, and whether it is an error or not: answer.error
     * says so, too. answer.bytes NULL: there is none.
     */
    const char *packet;
    size_t packet_length;
    /* With `packet`: the thread that is selected before it, as the protocol writes it; "":
     * whichever is selected. It need not be one of a core: servers have threads of operating
     * systems, too. */
    char thread[32];
};

/* Valid during the call. */
struct target_answer {
    /* BT_OK, or a bt_error; BT_ERR_IO: the target is lost or late, BT_ERR_INVAL: it was overtaken
     * by a resume */
    int error;
    const char *why; /* the error in words, "" if the number is all */
    const struct target_regs *regs;
    const uint8_t *bytes;
    size_t length;
    const struct target_stop *stop;
};

typedef void (*target_done_fn)(void *ctx, const struct target_answer *answer);

/* States. */

/* DOWN to OPENING when it is connected, to READY when all is asked; both to DOWN at its end. */
enum target_phase {
    TARGET_DOWN,
    TARGET_OPENING,
    TARGET_READY,
};

/*
 * HALTED    the cores are halted, as all clients know
 * RESUMING  events->resumed() is being called; the target is not asked to run yet
 * RUNNING   it was
 * HALTING   a halt was asked for since
 * HELD      halted, and clients are not told until target_release_stop()
 *
 * HALTED to RESUMING to RUNNING, or back to HALTED when that is not possible; RUNNING to HALTING,
 * and back when it does not halt in its time; either of them to HELD with the stop; HELD to HALTED
 * when it is released; any of them to HALTED when the target is lost.
 */
enum target_run {
    TARGET_HALTED,
    TARGET_RESUMING,
    TARGET_RUNNING,
    TARGET_HALTING,
    TARGET_HELD,
};

/* What has been changed behind the back of what was known before. */
enum target_change {
    TARGET_CHANGE_MEMORY, /* `address` and `length` are where */
    /* Registers were written: of core `address` those that `length` has bits of (enum target_reg);
     * 0: some, and PC may be another one. */
    TARGET_CHANGE_REGISTERS,
    TARGET_CHANGE_RESET, /* it may have started over */
};

/* For the owner of the target. */
struct target_events {
    /* Opened and asked for what it can do; error: BT_ERR_IO, BT_ERR_FORMAT (no such target). */
    void (*ready)(void *ctx, int error);
    /* Cores start to run; called before the target is asked to. */
    void (*resumed)(void *ctx);
    /* The cores have halted; clients are told with target_release_stop(). Also called when there
     * are none. */
    void (*stopped)(void *ctx);
    void (*changed)(void *ctx, enum target_change change, uint64_t address, uint64_t length);
    /* Optional: flash was programmed. What is there now need not be so already. */
    void (*programmed)(void *ctx, uint64_t address, const void *bytes, size_t length);
    /* The target is gone; every open request is answered with an error first. */
    void (*lost)(void *ctx);
};

/* A halt for clients. */
struct target_halt {
    const struct target_stop *stop;
    const char *text; /* of TARGET_HALT_FAILED: why */
    /* The packet that says so, where the target has packets: to be sent on as it is; else NULL. */
    const char *packet;
    size_t packet_length;
};

struct target_client_ops {
    /* The cores have halted; NULL: the target is lost. Only for clients that wait for it. */
    void (*stopped)(void *ctx, const struct target_halt *halt);
    /* Text of a command under way, or of cores that run. With packets: as they are, file requests
     * of the program, too. */
    void (*output)(void *ctx, const char *text, size_t length);
    /* Another client has control, or the target was freed: it is no client any more, what it has
     * asked gets no answer, and it may be freed. */
    void (*dropped)(void *ctx);
    /* What waited for target_hold_clients() may go on. */
    void (*go_on)(void *ctx);
};

/*
 * Somebody who asks. One is in control; the others observe: what they ask must change nothing,
 * and not be asked while cores run, which they see to themselves. Linked between
 * target_add_client() and target_remove_client(); the memory is the caller's.
 */
struct target_client {
    struct target_client *next;
    const struct target_client_ops *ops;
    void *ctx;
    bool linked;
    /* For a halt: set by a TARGET_RESUME, and by the client itself when it waits for one that is
     * not its own; cleared before it is told. */
    bool waits;
};

struct target;
struct target_question; /* private to target.c */

/* What a kind of target does. */
struct target_ops {
    /*
     * One request at a time, never while cores run; target_answered() follows, maybe from within.
     * TARGET_RESUME: no answer, but target_stopped() follows, maybe from within. What `request`
     * points to stays until then.
     */
    void (*start)(struct target *t, const struct target_request *request);
    /* Cores that run are to halt: target_stopped() follows. */
    void (*interrupt)(struct target *t);
    /* All registers of a core, in the order of a g packet; at least the first seventeen, which may
     * stand elsewhere when `packets`: see target_register_reg(). Constant while it is ready. */
    unsigned (*registers)(struct target *t, int core, const struct target_register **list);
    int (*core_info)(struct target *t, int core, struct target_core *info);
    /* Optional: "running", "HardFault": for "info threads". */
    void (*core_status)(struct target *t, int core, char *text, size_t size);
    /* Optional; 0 regions: nothing is known of it. */
    unsigned (*memory_map)(struct target *t, const struct target_region **regions);
    /* Optional: the client in control has gone while cores waited for it (serves_client). */
    void (*client_gone)(struct target *t);
    bool packets;  /* it takes packets of the remote serial protocol as they are */
    bool writable; /* registers and memory can be written, breakpoints set */
};

/* Members are for those who implement a target, and for inline functions. */
struct target {
    const struct target_ops *ops;
    const struct target_events *events;
    void *ctx; /* of events */
    enum target_phase phase;
    enum target_run run;
    int core_count;
    int stopped_core;        /* that the last stop was about */
    struct target_stop stop; /* the last one */
    char stop_text[160];
    char *stop_packet; /* NULL: none */
    size_t stop_packet_length;
    uint64_t epoch; /* of what the halted cores are like: changes with whatever changes them */
    struct target_question *asks, *background, *of_clients; /* queues */
    struct target_question *under_way;
    struct target_question *resumed; /* kept until the stop; NULL: it was the owner's */
    struct target_client *clients;
    struct target_client *control;
    bool holds_clients;
    bool resume_wanted;    /* by the owner, as soon as nothing else is to be asked */
    bool interrupt_wanted; /* before the resume was sent */
    struct target_breakpoint *breakpoints;
    size_t breakpoint_count, breakpoint_capacity;
    /* Cores that run wait for the client in control (a file request of the program): meanwhile it
     * may ask. */
    bool serves_client;
    bool orphaned;           /* no client has them any more: they go at the next halt */
    uint64_t now_ms, due_ms; /* due_ms: of the halt that was asked for */
    unsigned deadline_ms;    /* 3000, until somebody writes it; 0: none */
    uint64_t owed_since_ms;  /* see target_silent_ms(), written by the kind; 0: nothing is owed */
    /* Digits of another server's replies to g, which may end before the list of registers does;
     * 0: not known. GDB takes no longer one after a shorter one. */
    size_t registers_length;
    int pump;
    struct target_regs *last_regs[TARGET_CORES_MAX];
};

/* For the owner. */

static inline bool target_is_ready(const struct target *t)
{
    return t->phase == TARGET_READY;
}

/* Cores run, or their stop has not been released yet. */
bool target_is_running(const struct target *t);
/* What becomes of the cores if nobody asks for anything more. */
bool target_will_run(const struct target *t);
/* The cores were let run for one instruction, by a client. */
bool target_steps(const struct target *t);
/* Nothing is under way, waits for its turn or is still to happen. */
bool target_is_idle(const struct target *t);

/* 1 .. TARGET_CORES_MAX. */
static inline int target_cores(const struct target *t)
{
    return t->core_count > 0 ? t->core_count : 1;
}

/*
 * `client` NULL: a question of the owner, for halted cores, also while a stop is held. It goes
 * before those of clients; with `background` behind them. Of a client: waits while cores run (one
 * that is in control halts them by it) and while clients are held. BT_OK: `done` follows, maybe
 * from within; NULL: nobody wants to know. BT_ERR_NOMEM, BT_ERR_IO (not ready), BT_ERR_INVAL (cores
 * run, and the question is the owner's; no such core).
 */
int target_ask(struct target *t, struct target_client *client, const struct target_request *request,
               target_done_fn done, void *ctx);

/* All cores run; stopped() follows some time. BT_OK, BT_ERR_IO, BT_ERR_INVAL (they run). */
int target_resume(struct target *t);
/* Asks for a halt; stopped() follows, at the deadline with TARGET_HALT_FAILED. Nothing happens when
 * halted. */
void target_interrupt(struct target *t);
/* The stop goes to the clients that wait for it. Nothing happens if none is held. */
void target_release_stop(struct target *t);
/* Whether more is to be done here before the state of the halted cores is good: meanwhile what
 * clients ask waits. Ends by itself when the target is lost. */
void target_hold_clients(struct target *t, bool hold);
/* The halted cores are not what they were. */
void target_outdate(struct target *t);
/*
 * Control is let go: the breakpoints of the client are removed, for which cores that run are
 * halted, then the cores run, or stay halted. Takes a while: target_is_idle().
 */
void target_let_go(struct target *t, bool run);
/* Breakpoints and watchpoints that are set: their number, *out points at them. */
size_t target_breakpoints(const struct target *t, const struct target_breakpoint **out);

/*
 * To be called often (four times a second), with the time of any clock, not 0. A halt that was
 * asked for and has not come within deadline_ms is told to those who wait as TARGET_HALT_FAILED,
 * and the cores count as running again; an answer that has not come is BT_ERR_IO for who asked.
 * Returns whether something was late.
 */
bool target_tick(struct target *t, uint64_t now_ms);

/* For how long the target has owed an answer and not said anything; 0: it owes none. */
static inline uint64_t target_silent_ms(const struct target *t)
{
    return t->owed_since_ms ? t->now_ms - t->owed_since_ms : 0;
}

/* For clients. */

/*
 * `control`: the one before is dropped, and its breakpoints go at the next halt. One that is there
 * already takes control, or gives it away: then the same becomes of its breakpoints, and what it
 * has asked is forgotten.
 */
void target_add_client(struct target *t, struct target_client *c, bool control);
/* Its questions are forgotten. Nothing happens when it is not there. Of the one in control the
 * breakpoints go as soon as the cores are halted; nothing else changes. */
void target_remove_client(struct target *t, struct target_client *c);

/* All registers of a core, as some client has read them at the last halt; NULL: none has. */
static inline const struct target_regs *target_last_regs(const struct target *t, int core)
{
    return t->last_regs[core];
}

/* For those who implement one. */

/* All zero but these; release with target_release(), which answers what is open. */
void target_init(struct target *t, const struct target_ops *ops, const struct target_events *events,
                 void *ctx);
void target_release(struct target *t);
/* It is connected to. */
void target_opening(struct target *t);
/* The cores are halted since before they were asked: why. Before target_opened(). */
void target_note_stop(struct target *t, const struct target_halt *halt);
/* core_count is set. `run`: TARGET_HALTED or TARGET_RUNNING. */
void target_opened(struct target *t, enum target_run run);
void target_answered(struct target *t, const struct target_answer *answer);
/* `halt` is copied. Nothing happens when no cores run. */
void target_stopped(struct target *t, const struct target_halt *halt);
/* Cores that were to halt do not, and count as running again: those who wait are told, as at the
 * deadline, in these words. */
void target_halt_failed(struct target *t, const char *text);
/* To the client whose command (takes_time) is under way, else to the one that waits for a halt in
 * control. */
void target_output(struct target *t, const char *text, size_t length);
/* Without a request having told so: it was reset, or is elsewhere. */
void target_changed(struct target *t, enum target_change change);
/* error: for events->ready() if it was still opening. */
void target_lost(struct target *t, int error);

#endif
