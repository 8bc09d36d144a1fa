/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up the probe target. */
#ifndef SERVER_PROBE_TARGET_INTERNAL_H
#define SERVER_PROBE_TARGET_INTERNAL_H

#include "server/probe/probe_target.h"

/* BT_OK when the probe is there; one that was gone is looked for. Before each operation. */
int probe_target_ready(struct probe_target *t);

/*
 * Behind each operation: `rc`. An error is put in words into t->said and, when it is not NULL and
 * still empty, into `why`; a probe that turns out to be gone is noted.
 */
int probe_target_result(struct probe_target *t, int rc, struct gdb_why *why);

/* Sets t->said, and `why` when it is not NULL. Returns `rc`. */
int probe_target_refuse(struct probe_target *t, struct gdb_why *why, int rc, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

/* A line for GDB's console while something runs; dropped otherwise. */
void probe_target_report(struct probe_target *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Why the last access failed: returns `text`. */
const char *probe_target_describe(const struct probe_target *t, char *text, size_t size);

/* A look at a core has failed. After some in a row the target is looked for, as a probe is. */
void probe_target_silent(struct probe_target *t);

/* Resets; the cores are halted at their first instruction. */
int probe_target_reset(struct probe_target *t);

/* The operations of the cores of this board file. */
const struct probe_target_core_ops *probe_target_ops_of(const struct config *config);

/* What was read of the registers is void. */
void probe_target_forget(struct probe_target *t);

/* probe_target_run.c */
int probe_target_op_halt_reason(void *ctx, struct gdb_stop *stop);
int probe_target_op_resume(void *ctx, const struct gdb_resume *resume, struct gdb_stop *stop,
                           struct gdb_why *why);
void probe_target_op_interrupt(void *ctx);
int probe_target_op_restart(void *ctx, struct gdb_why *why);

/* The cores that run: one may have halted. */
void probe_target_watch(struct probe_target *t);

/* What runs cannot be followed any more: the session gets a stop, and the reason. */
void probe_target_give_up(struct probe_target *t, const char *reason);

/* probe_target_registers.c */
int probe_target_op_read_regs(void *ctx, int core, struct gdb_regs *regs);
void probe_target_op_read_refused(void *ctx, struct gdb_why *why);
int probe_target_op_write_reg(void *ctx, int core, enum gdb_reg reg, uint32_t value,
                              struct gdb_why *why);
int probe_target_op_extra_registers(void *ctx, int core, const struct gdb_register **list);
int probe_target_op_read_extra(void *ctx, int core, unsigned index, uint64_t *value);
int probe_target_op_write_extra(void *ctx, int core, unsigned index, uint64_t value,
                                struct gdb_why *why);

/* probe_target_breakpoints.c */
int probe_target_op_insert(void *ctx, int core, const struct gdb_breakpoint *bp,
                           struct gdb_why *why);
int probe_target_op_remove(void *ctx, int core, const struct gdb_breakpoint *bp,
                           struct gdb_why *why);
/* What GDB calls a stop at this address. */
enum gdb_stop_kind probe_target_stop_kind(const struct probe_target *t, uint32_t address);
/* Takes all of them away. */
void probe_target_remove_breakpoints(struct probe_target *t);

/* probe_target_memory.c */
int probe_target_op_read_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len);
int probe_target_op_write_memory(void *ctx, int core, uint64_t address, const void *bytes,
                                 size_t len, struct gdb_why *why);
int probe_target_op_memory_map(void *ctx, const struct gdb_region **regions);
int probe_target_op_flash_erase(void *ctx, uint64_t address, uint64_t length, struct gdb_why *why);
int probe_target_op_flash_write(void *ctx, uint64_t address, const void *bytes, size_t len,
                                struct gdb_why *why);
int probe_target_op_flash_done(void *ctx, struct gdb_why *why);

/* probe_target_monitor.c */
int probe_target_op_monitor(void *ctx, int core, const char *text, gdb_print_fn print, void *to);

/* probe_target_m.c and its neighbours. */
/* t->m.values are those of this halt. */
int probe_target_m_load_values(struct probe_target *t);
void probe_target_m_describe_registers(struct probe_target *t);
int probe_target_m_read_regs(struct probe_target *t, unsigned core, struct gdb_regs *regs);
int probe_target_m_write_reg(struct probe_target *t, unsigned core, enum gdb_reg reg,
                             uint32_t value);
int probe_target_m_read_extra(struct probe_target *t, unsigned core, unsigned index,
                              uint64_t *value);
int probe_target_m_write_extra(struct probe_target *t, unsigned core, unsigned index,
                               uint64_t value);
void probe_target_m_report_cores(const struct probe_target *t, const struct console *c);
void probe_target_m_report_state(struct probe_target *t, const struct console *c);
extern const struct probe_target_command probe_target_m_commands[];

/* probe_target_a.c and its neighbours. */
#define PROBE_TARGET_A_CHANNEL 2u /* of the cross triggers; 0 and 1 are others' habit */
int probe_target_a_open(struct probe_target *t, struct message *why);
void probe_target_a_close(struct probe_target *t, bool run);
int probe_target_a_take_back(struct probe_target *t);
int probe_target_a_reset(struct probe_target *t);
void probe_target_a_report(struct probe_target *t, unsigned core,
                           const struct probe_target_status *s);
void probe_target_a_report_cores(const struct probe_target *t, const struct console *c);
void probe_target_a_report_state(struct probe_target *t, const struct console *c);
extern const struct probe_target_command probe_target_a_commands[];

#endif
