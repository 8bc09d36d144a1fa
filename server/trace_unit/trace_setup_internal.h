/* SPDX-License-Identifier: BSD-3-Clause */
/* What trace_setup.c has of trace_setup_unit.c. */
#ifndef SERVER_TRACE_SETUP_INTERNAL_H
#define SERVER_TRACE_SETUP_INTERNAL_H

#include "server/trace_unit/trace_setup.h"

/* A line for people; what does not fit is dropped. */
void trace_setup_note(struct trace_setup *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Why the bus refused, in words. */
static inline const char *trace_setup_reason(const struct trace_setup *t, int error)
{
    return error == BT_ERR_IO ? debug_failure_text(t->bus->failure) : bt_strerror(error);
}

/* Nothing at all can be asked any more. */
static inline bool trace_setup_is_dead(const struct trace_setup *t, int error)
{
    return error == BT_ERR_NOMEM || (error == BT_ERR_IO && t->bus->failure == DEBUG_FAIL_PROBE);
}

/* Fills *why: "WHAT: the reason", of an error of the bus also where. Returns `error`. */
int trace_setup_failed(const struct trace_setup *t, int error, const char *what,
                       struct message *why);

/* Is this core an ARMv7-M or ARMv6-M, by its name? */
bool trace_setup_is_m_profile(const struct config_core *core);

/* Take the trace unit of a core, and say why if it cannot be used. BT_ERR_NOMEM, or BT_ERR_IO when
 * nothing at all can be asked any more. */
int trace_setup_take_unit(struct trace_setup *t, unsigned i);

/* Start all of them, or with `scarce_only` those whose next synchronisation would be long in
 * coming. 0, or an error as coresight.h says with *why filled. */
int trace_setup_start_units(struct trace_setup *t, bool scarce_only, struct message *why);

/* As trace_setup_runs() and trace_setup_stop(), of the cores' trace units. */
bool trace_setup_units_run(const struct trace_setup *t);
int trace_setup_stop_units(struct trace_setup *t, struct message *why);

/* trace_setup_itm.c: find the ITM that the board file wants; what it lacks is noted. 0, or an error
 * when nothing at all can be asked any more. */
int trace_setup_take_itm(struct trace_setup *t);

/* Start it, and tell who has which comparator. As coresight.h, with *why filled. */
int trace_setup_start_itm(struct trace_setup *t, struct message *why);
int trace_setup_stop_itm(struct trace_setup *t, struct message *why);

#endif
