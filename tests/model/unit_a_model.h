/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers of the trace unit of an A-profile core (IHI 0014Q chapter 3, IHI 0035B chapter 3): the
 * PTM of a Cortex-A9, which on known parts has neither timestamps nor a return stack, or the
 * ETMv3.5 of a Cortex-A7. What it traces is another's business: this says whether, how, and what.
 *
 * Of the ways to choose, address ranges of TECR1 work; any other choice traces nothing.
 */
#ifndef TESTS_USB_UNIT_A_MODEL_H
#define TESTS_USB_UNIT_A_MODEL_H

#include "core_a.h"

#define UNIT_A_REGS 0xc4

/* Private, but for the counters. */
struct unit_a_model {
    bool etmv3;
    uint32_t reg[UNIT_A_REGS];
    bool prog;           /* as ETMSR shows it */
    unsigned prog_reads; /* until it follows ETMCR */
    bool locked, os_locked;
    unsigned locked_writes;
    unsigned ignored_writes; /* while it was not in programming mode, or off */
};

void unit_a_init(struct unit_a_model *u, bool etmv3);

/* As after power-on; counters stay. */
void unit_a_reset(struct unit_a_model *u);

uint32_t unit_a_read(struct unit_a_model *u, unsigned offset, bool external);
void unit_a_write(struct unit_a_model *u, unsigned offset, bool external, uint32_t value);

/* To be called now and then: the programming bit takes effect. */
void unit_a_update(struct unit_a_model *u);

/* What the registers say now. */
struct core_a_trace unit_a_setting(const struct unit_a_model *u);
uint8_t unit_a_trace_id(const struct unit_a_model *u);

#endif
