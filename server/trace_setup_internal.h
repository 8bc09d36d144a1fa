/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of trace_setup.h. */
#ifndef SERVER_TRACE_SETUP_INTERNAL_H
#define SERVER_TRACE_SETUP_INTERNAL_H

#include "server/trace_setup.h"

/* A line for people; what does not fit is dropped. */
void trace_setup_note(struct trace_setup *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Why the bus refused, in words. */
const char *trace_setup_reason(const struct trace_setup *t, int error);

/* Cortex-M: without this bit trace components are not there. */
int trace_setup_enable_trace(struct trace_setup *t);

/* Cortex-M: the port keeps the last frame until it is full. Other bytes push it out, by way of the
 * ITM, whose state is put back. */
int trace_setup_push_out(struct trace_setup *t);

/* Cortex-M: frame syncs now and then, for those who come late. */
int trace_setup_enable_syncs(struct trace_setup *t);

/* Is this core an ARMv7-M or ARMv6-M, by its name? */
bool trace_setup_is_m_profile(const struct config_core *core);

#endif
