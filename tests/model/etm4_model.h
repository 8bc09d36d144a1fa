/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers of an ETMv4 trace unit (IHI 0064H.b chapters 4 and 7) as a debugger on the bus sees
 * them: that of a Cortex-M7, with software lock, OS lock and a power domain of its own, or that of
 * a Cortex-M33, which has none of them. What it traces is another's business: this says whether,
 * how, and what.
 *
 * It is strict where hardware may be. Power leaves nonsense in the registers; without power, or
 * while the OS lock is on, the bus refuses; changes of state take a few looks; a unit that was
 * switched on with settings that IHI 0064H.b forbids traces nothing, and says why in a counter.
 *
 * Of the ways to choose, the always true resource and address ranges work, and branch broadcast
 * everywhere or nowhere. Any other choice traces nothing, which is counted, too. Events can be
 * programmed and make no packets.
 */
#ifndef TESTS_USB_ETM4_MODEL_H
#define TESTS_USB_ETM4_MODEL_H

#include "core_model.h"

#define ETM4_DEVARCH_M7  0x47704a13u
#define ETM4_DEVARCH_M33 0x47724a13u

#define ETM4_WORDS 0x300 /* registers below the management registers */

enum etm4_kind {
    ETM4_M7,  /* ETMv4.0 */
    ETM4_M33, /* ETMv4.2 */
};

struct etm4_options {
    enum etm4_kind kind;
    unsigned pairs; /* of address comparators, up to CORE_TRACE_RANGES; those of Cortex-M have 0 */
};

/* What the client did against the rules. */
struct etm4_counters {
    unsigned locked_writes; /* the software lock was on */
    unsigned os_locked;     /* accesses that the OS lock refused */
    unsigned unpowered;     /* accesses without power */
    unsigned busy_writes;   /* of settings while it was on or not idle: ignored */
    unsigned read_only;     /* writes of registers that cannot be written */
    unsigned early;         /* switched on again before it was idle: ignored */
    unsigned unprogrammed;  /* switched on with a register that must be written and was not */
    unsigned forbidden;     /* switched on with values that contradict each other */
    unsigned unmodelled;    /* switched on with a choice that this model does not know */
};

/* Tests may set them at any time. */
struct etm4_faults {
    bool never_idle; /* once it has been on */
    bool no_trace;   /* the chip does not allow non-invasive debug */
};

enum etm4_state {
    ETM4_IDLE,
    ETM4_STARTING,
    ETM4_RUNNING,
    ETM4_STOPPING,
};

/* Private, but for counters and faults. */
struct etm4_model {
    struct etm4_options options;
    struct etm4_counters counters;
    struct etm4_faults faults;
    uint32_t reg[ETM4_WORDS];
    bool written[ETM4_WORDS]; /* since power came */
    enum etm4_state state;
    unsigned looks; /* until the state that it is in has passed */
    bool refuses;   /* it is on, but its settings make no sense */
    bool locked, os_locked;
    bool powered, power_lost;
    unsigned power_looks; /* until it has power; 0: nothing changes */
    uint32_t claim, itctrl;
};

/* After power-up of the chip. */
void etm4_init(struct etm4_model *u, const struct etm4_options *options);

/* Offsets up to TRCDEVTYPE, a multiple of 4. 0, or -1 for a bus error. */
int etm4_read(struct etm4_model *u, unsigned offset, uint32_t *value);
int etm4_write(struct etm4_model *u, unsigned offset, uint32_t value);

/* Time passes: to be called with every access to the system. */
void etm4_update(struct etm4_model *u);

/* Does it trace? And what it has made, does it let it out? */
bool etm4_traces(const struct etm4_model *u);
bool etm4_holds_back(const struct etm4_model *u);

/* What the registers say, while it traces. */
struct core_trace_v4 etm4_setting(const struct etm4_model *u);
bool etm4_stalls(const struct etm4_model *u);
uint8_t etm4_trace_id(const struct etm4_model *u);

/* The target does it: sets the OS lock, or cuts the power for a moment. */
void etm4_lock_again(struct etm4_model *u);
void etm4_lose_power(struct etm4_model *u);

/* Inside the model: etm4_settings.c */

/* Bits of the register at `offset` that can be written; 0: no such setting. */
uint32_t etm4_implemented(const struct etm4_model *u, unsigned offset);

/* Every register that must be written before the unit is switched on has been. */
bool etm4_programmed(const struct etm4_model *u);

/* Values that IHI 0064H.b does not allow; a choice that this model does not know. */
bool etm4_forbidden(const struct etm4_model *u);
bool etm4_unmodelled(const struct etm4_model *u);

/* Does the choice of what is traced take instructions at all? */
bool etm4_selects(const struct etm4_model *u);

#endif
