/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of trace_setup.h. */
#ifndef SERVER_TRACE_SETUP_INTERNAL_H
#define SERVER_TRACE_SETUP_INTERNAL_H

#include "server/trace_unit/trace_setup.h"

/* A line for people; what does not fit is dropped. */
void trace_setup_note(struct trace_setup *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Why the bus refused, in words. */
const char *trace_setup_reason(const struct trace_setup *t, int error);

/* Fills *why: "WHAT: the reason", of an error of the bus also where. Returns `error`. */
int trace_setup_failed(const struct trace_setup *t, int error, const char *what,
                       struct message *why);

/* Cortex-M: without this bit trace components are not there. */
int trace_setup_enable_trace(struct trace_setup *t);

/* Cortex-M: the port keeps the last frame until it is full. Other bytes push it out, by way of the
 * ITM, whose state is put back. */
int trace_setup_push_out(struct trace_setup *t);

/* Cortex-M: frame syncs now and then, for those who come late. */
int trace_setup_enable_syncs(struct trace_setup *t);

/* Is this core an ARMv7-M or ARMv6-M, by its name? */
bool trace_setup_is_m_profile(const struct config_core *core);

/* Trace units, by kind. */

struct trace_unit_ops {
    const char *control; /* name of the register in trace_setup_core.control */
    /*
     * Reads what it is and, but with config->attach, sets it without starting it. Then the core is
     * as trace_setup.h says, and trace_setup_store() has been called; 0 or an error as coresight.h
     * says.
     */
    int (*take)(struct trace_setup *t, unsigned i);
    int (*start)(struct trace_setup *t, unsigned i);
    int (*stop)(struct trace_setup *t, unsigned i);
    bool (*runs)(const struct trace_setup *t, unsigned i);
    /* The last failure in words that follow the name of the unit, or NULL: the error says it. */
    const char *(*failure)(const struct trace_setup *t, unsigned i);
};

extern const struct trace_unit_ops trace_unit_etm;  /* ETMv3 and PTM */
extern const struct trace_unit_ops trace_unit_etm4; /* ETMv4 and ETE */

/* NULL: there is no trace unit that could be used. */
const struct trace_unit_ops *trace_unit_ops(const struct trace_setup_core *core);

/* Take the trace unit of a core, and say why if it cannot be used. BT_ERR_NOMEM, or BT_ERR_IO when
 * nothing at all can be asked any more. */
int trace_setup_take_unit(struct trace_setup *t, unsigned i);

/* The trace unit of a core cannot be "started" or "stopped". Fills *why, returns `error`. */
int trace_setup_unit_failed(const struct trace_setup *t, unsigned i, int error, const char *what,
                            struct message *why);

/* The board file's value of a register, which is a wish. */
uint32_t trace_setup_wish(const struct config_core *core, const char *name, uint32_t otherwise);

/* A register as it is in the hardware; `mask`: the bits that the board file should have right. */
struct trace_register {
    const char *name;
    uint32_t mask, value;
};

/* The type of a core's trace unit ("ETM4.2") and its registers go into the configuration; what the
 * board file says otherwise is told. `foreign`: how registers of other units begin. */
int trace_setup_store(struct trace_setup *t, unsigned i, const char *type, const char *foreign,
                      const struct trace_register *list, size_t count);

/* Nothing at all can be asked any more. */
bool trace_setup_is_dead(const struct trace_setup *t, int error);

#endif
