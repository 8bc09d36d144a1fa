/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of the debug and trace side of a Cortex-A9 system: what is behind its AHB-AP (AP 0, the
 * system's memory) and its APB-AP (AP 1: ROM table, cores, CTIs, trace units, funnel, ETB, TPIU).
 * The map is that of Zynq-7000 (UG585). Offsets are those of the APB-AP; with address bit 31 set a
 * component's software lock does not hold.
 */
#ifndef TESTS_USB_SYSTEM_A_H
#define TESTS_USB_SYSTEM_A_H

#include <stdio.h>

#include "ap_model.h"
#include "cti_model.h"
#include "debug_a.h"
#include "trace_a.h"

#define SYSTEM_A_MEMORY_AP 0
#define SYSTEM_A_DEBUG_AP  1

#define SYSTEM_A_ROM    0x00000u
#define SYSTEM_A_ETB    0x01000u
#define SYSTEM_A_TPIU   0x03000u
#define SYSTEM_A_FUNNEL 0x04000u
#define SYSTEM_A_DEBUG  0x90000u /* of the first core; 0x2000 further each */
#define SYSTEM_A_PMU    0x91000u
#define SYSTEM_A_CTI    0x98000u /* 0x1000 further each */
#define SYSTEM_A_UNIT   0x9c000u /* 0x1000 further each */

/* Counters and parts are for tests to look at. */
struct system_a {
    struct core_a cores;
    struct debug_a debug[CORE_A_MAX];
    struct cti_model cti[CORE_A_MAX];
    struct trace_a trace;
    unsigned sub_word; /* accesses to the debug bus that are no whole word */
    /* How the system's resets are wired; to be set after init. */
    bool hears_cores;  /* a core that asks for its reset by PRCR gets one, and so do the others */
    bool resets_trace; /* nRESET resets trace units, funnel, sinks and TPIU, too */
    unsigned unheard;  /* such requests that nobody heard */
    unsigned core_resets; /* and those that led to one */
};

/* `cores` is copied; its context must outlive the model. */
void system_a_init(struct system_a *s, const struct core_a *cores,
                   const struct trace_a_options *options);
void system_a_release(struct system_a *s);

/*
 * Where the cores themselves have the debug bus, without address bit 31: 0xf8800000 on Zynq-7000
 * (UG585). To be called after init; without it they do not reach it.
 */
void system_a_window(struct system_a *s, uint32_t base);

/* The two buses; valid as long as `s`. */
struct model_bus system_a_memory(struct system_a *s);
struct model_bus system_a_debug(struct system_a *s);

/* Takes up to `size` bytes that left on the pins of the TPIU; how many. */
size_t system_a_pins(struct system_a *s, uint8_t *bytes, size_t size);

/* nRESET of the target goes low, or high again: its cores start anew, its debug logic stays. */
void system_a_nreset(struct system_a *s, bool low);

/* What has happened since the last time: stops, cross triggers, trace. Every access does this. */
void system_a_run(struct system_a *s);

/*
 * Faults: off (a bit for each core without power), oslock (a bit each). 0,
 * or -1 for another name. */
int system_a_fault(struct system_a *s, const char *name, size_t size, unsigned value);

/* Counters, one "name value" a line. */
void system_a_report(const struct system_a *s, FILE *out);

#endif
