/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of a CTI (DDI 0314H, cross trigger interface): trigger inputs and outputs, four channels,
 * and the matrix that joins the channels of all of them.
 *
 * Of a Cortex-A9's CTI (its public manual's table of triggers): input 0 is the entry of Debug
 * state, output 0 EDBGRQ, which stays until it is acknowledged, output 7 DBGRESTART.
 */
#ifndef TESTS_USB_CTI_MODEL_H
#define TESTS_USB_CTI_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define CTI_TRIGGERS    8
#define CTI_CHANNELS    4
#define CTI_IN_DEBUG    0
#define CTI_OUT_REQUEST 0
#define CTI_OUT_RESTART 7

/* Private, but for locked_writes. */
struct cti_model {
    uint32_t ctrl, gate, appset;
    uint32_t inen[CTI_TRIGGERS], outen[CTI_TRIGGERS];
    uint32_t inputs;  /* levels */
    uint32_t latched; /* outputs that wait for INTACK */
    uint32_t pulses;  /* outputs that an event has reached since they were looked at */
    bool locked;
    unsigned locked_writes;
};

void cti_init(struct cti_model *c);
uint32_t cti_read(struct cti_model *c, unsigned offset, bool external);

/* Returns the channels on which an event begins that others shall see: APPSET, APPPULSE. */
uint32_t cti_write(struct cti_model *c, unsigned offset, bool external, uint32_t value);

/* Level of a trigger input. Returns the channels on which an event begins. */
uint32_t cti_input(struct cti_model *c, unsigned input, bool level);

/* Events on channels, from this CTI or, through its gate, from another. */
void cti_event(struct cti_model *c, uint32_t channels, bool own);

/* An output: its level, or whether an event has reached it since the last time. */
bool cti_level(const struct cti_model *c, unsigned output);
bool cti_pulse(struct cti_model *c, unsigned output);

#endif
