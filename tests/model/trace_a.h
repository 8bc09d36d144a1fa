/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of the trace of a Cortex-A9 system: a trace unit each core, a funnel with one port for
 * each, and behind it, joined without a choice, an ETB or TMC and a TPIU (DDI 0314H, DDI 0461B).
 *
 * Known difference from silicon: a narrow port does not hold up the ETB beside it; what does not
 * fit on its pins is lost in the trace units while the TPIU sends.
 */
#ifndef TESTS_USB_TRACE_A_H
#define TESTS_USB_TRACE_A_H

#include "core_a.h"
#include "sink_model.h"
#include "tpiu_a.h"
#include "unit_a_model.h"

struct trace_a_options {
    bool etmv3;     /* else PTMs */
    bool tmc;       /* else an ETB */
    unsigned words; /* of it; 0: 1024 */
    bool pins;      /* the TPIU's are wired */
};

struct funnel_a {
    uint32_t ctrl, prictl;
    bool locked;
};

/* Parts are for tests to look at. */
struct trace_a {
    struct core_a cores;
    struct unit_a_model unit[CORE_A_MAX];
    struct core_a_trace set[CORE_A_MAX]; /* as the cores were told last */
    struct funnel_a funnel;
    struct tpiu_a tpiu;
    struct sink_model sink;
    unsigned unselected;    /* bytes that came to a port of the funnel that was off */
    unsigned locked_writes; /* to the funnel */
    uint64_t pace;          /* bytes a second, as the cores were told */
};

/* `cores` is copied; its context must outlive the model. */
void trace_a_init(struct trace_a *t, const struct core_a *cores, const struct trace_a_options *o);
void trace_a_release(struct trace_a *t);

/* All of it as after power-on; counters stay, and so does what the sink's memory holds. */
void trace_a_reset(struct trace_a *t);

/* Tells the cores what the registers say, and takes what they have made. */
void trace_a_run(struct trace_a *t);

uint32_t funnel_a_read(struct trace_a *t, unsigned offset, bool external);
void funnel_a_write(struct trace_a *t, unsigned offset, bool external, uint32_t value);
void trace_a_write_sink(struct trace_a *t, unsigned offset, bool external, uint32_t value);
void trace_a_write_tpiu(struct trace_a *t, unsigned offset, bool external, uint32_t value);

#endif
