/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of an MTB (DDI 0486B chapter 3, and the manuals of Kinetis chips): its registers, and RAM
 * that it writes packets to. POINTER is as many of the low address bits as that RAM needs, whatever
 * its address. After a reset registers hold what they like: a stop at a watermark, for one.
 *
 * Known differences from silicon: the program has no access to this RAM; there is no start or stop
 * by the DWT; AUTOHALT does not halt.
 */
#ifndef TESTS_USB_MTB_MODEL_H
#define TESTS_USB_MTB_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MTB_MODEL_RAM   0x1f001000u /* no multiple of its size */
#define MTB_MODEL_BYTES 0x4000u

/* Private, but for `present` and the counter. */
struct mtb_model {
    bool present;
    uint32_t position, master, flow;
    unsigned written; /* registers since the reset, a bit each */
    uint8_t packet[8];
    unsigned packet_bytes;
    unsigned unprogrammed; /* starts with a register that was not written */
    uint8_t ram[MTB_MODEL_BYTES];
};

/* As after power-on; the counter stays, and so does `present`. */
void mtb_model_reset(struct mtb_model *m);

bool mtb_model_traces(const struct mtb_model *m);

/* Bytes of packets, which may be cut anywhere; lost while it does not trace. */
void mtb_model_put(struct mtb_model *m, const uint8_t *bytes, size_t size);

uint32_t mtb_model_read(const struct mtb_model *m, unsigned offset);
void mtb_model_write(struct mtb_model *m, unsigned offset, uint32_t value);

/* `size` bytes of its RAM at the bus address; NULL: that is elsewhere. */
uint8_t *mtb_model_ram(struct mtb_model *m, uint32_t address, unsigned size);

#endif
