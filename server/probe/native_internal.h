/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up the native target. */
#ifndef SERVER_NATIVE_INTERNAL_H
#define SERVER_NATIVE_INTERNAL_H

#include "server/probe/native_target.h"

/* BT_OK when the probe is there; one that was gone is looked for. Before each operation. */
int native_ready(struct native_target *t);

/*
 * Behind each operation: `rc`. An error is put in words into t->said and, when it is not NULL and
 * still empty, into `why`; a probe that turns out to be gone is noted.
 */
int native_result(struct native_target *t, int rc, struct gdb_why *why);

/* Sets t->said, and `why` when it is not NULL. Returns `rc`. */
int native_refuse(struct native_target *t, struct gdb_why *why, int rc, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A line for GDB's console while something runs; dropped otherwise. */
void native_say(struct native_target *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Why the last access failed: returns `text`. */
const char *native_describe(const struct native_target *t, char *text, size_t size);

/* A look at a core has failed. After some in a row the target is looked for, as a probe is. */
void native_silent(struct native_target *t);

/* Resets; the cores are halted at their first instruction. */
int native_reset(struct native_target *t);

/* The operations of the cores of this board file. */
const struct native_core_ops *native_ops_of(const struct config *config);

/* What was read of the registers is void. */
void native_forget(struct native_target *t);

/* native_run.c */
int native_op_halt_reason(void *ctx, struct gdb_stop *stop);
int native_op_resume(void *ctx, const struct gdb_resume *resume, struct gdb_stop *stop,
                     struct gdb_why *why);
void native_op_interrupt(void *ctx);
int native_op_restart(void *ctx, struct gdb_why *why);

/* The cores that run: one may have halted. */
void native_watch(struct native_target *t);

/* What runs cannot be followed any more: the session gets a stop, and the reason. */
void native_give_up(struct native_target *t, const char *reason);

/* native_registers.c */
int native_op_read_regs(void *ctx, int core, struct gdb_regs *regs);
void native_op_read_refused(void *ctx, struct gdb_why *why);
int native_op_write_reg(void *ctx, int core, enum gdb_reg reg, uint32_t value, struct gdb_why *why);
int native_op_extra_registers(void *ctx, int core, const struct gdb_register **list);
int native_op_read_extra(void *ctx, int core, unsigned index, uint64_t *value);
int native_op_write_extra(void *ctx, int core, unsigned index, uint64_t value, struct gdb_why *why);

/* native_points.c */
int native_op_insert(void *ctx, int core, const struct gdb_breakpoint *bp, struct gdb_why *why);
int native_op_remove(void *ctx, int core, const struct gdb_breakpoint *bp, struct gdb_why *why);
/* What GDB calls a stop at this address. */
enum gdb_stop_kind native_stop_kind(const struct native_target *t, uint32_t address);
/* Takes all of them away. */
void native_remove_points(struct native_target *t);

/* native_memory.c */
int native_op_read_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len);
int native_op_write_memory(void *ctx, int core, uint64_t address, const void *bytes, size_t len,
                           struct gdb_why *why);
int native_op_memory_map(void *ctx, const struct gdb_region **regions);
int native_op_flash_erase(void *ctx, uint64_t address, uint64_t length, struct gdb_why *why);
int native_op_flash_write(void *ctx, uint64_t address, const void *bytes, size_t len,
                          struct gdb_why *why);
int native_op_flash_done(void *ctx, struct gdb_why *why);

/* native_monitor.c */
int native_op_monitor(void *ctx, int core, const char *text, gdb_print_fn print, void *to);

/* native_m.c and its neighbours. */
/* t->m.values are those of this halt. */
int native_m_load_values(struct native_target *t);
void native_m_describe_registers(struct native_target *t);
int native_m_read_regs(struct native_target *t, unsigned core, struct gdb_regs *regs);
int native_m_write_reg(struct native_target *t, unsigned core, enum gdb_reg reg, uint32_t value);
int native_m_read_extra(struct native_target *t, unsigned core, unsigned index, uint64_t *value);
int native_m_write_extra(struct native_target *t, unsigned core, unsigned index, uint64_t value);
void native_m_say_cores(const struct native_target *t, const struct console *c);
void native_m_say_state(struct native_target *t, const struct console *c);
extern const struct native_command native_m_commands[];

/* native_a.c and its neighbours. */
#define NATIVE_A_CHANNEL 2u /* of the cross triggers; 0 and 1 are others' habit */
int native_a_open(struct native_target *t, struct message *why);
void native_a_close(struct native_target *t, bool run);
int native_a_take_back(struct native_target *t);
int native_a_reset(struct native_target *t);
void native_a_tell(struct native_target *t, unsigned core, const struct native_status *s);
void native_a_say_cores(const struct native_target *t, const struct console *c);
void native_a_say_state(struct native_target *t, const struct console *c);
extern const struct native_command native_a_commands[];

#endif
