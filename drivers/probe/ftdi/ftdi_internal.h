/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the FTDI driver. */
#ifndef DRIVERS_FTDI_INTERNAL_H
#define DRIVERS_FTDI_INTERNAL_H

#include "drivers/probe/ftdi/ftdi.h"
#include "ftdi_mpsse.h"

#define FTDI_IR_UNKNOWN 0xffu

/* DP registers, bits 3:2 of their address in place. */
#define FTDI_REG_ABORT     0x0u
#define FTDI_REG_CTRL_STAT 0x4u
#define FTDI_REG_SELECT    0x8u
#define FTDI_REG_RDBUFF    0xcu

#define FTDI_REQUEST_MASK (DEBUG_AP | DEBUG_READ | DEBUG_REG_MASK)
#define FTDI_RDBUFF_READ  (DEBUG_DP | DEBUG_READ | FTDI_REG_RDBUFF)

static inline bool ftdi_reads(uint8_t request)
{
    return (request & DEBUG_READ) != 0;
}

static inline bool ftdi_is_ap(uint8_t request)
{
    return (request & DEBUG_AP) != 0;
}

/* Is it a write of this DP register? */
static inline bool ftdi_writes_dp(uint8_t request, unsigned reg)
{
    return (request & FTDI_REQUEST_MASK) == (DEBUG_DP | DEBUG_WRITE | reg);
}

/* Batches (ftdi.c). */

/* An empty batch in f->command. After a failure the engine is brought in step again first. */
void ftdi_start(struct ftdi *f, struct mpsse *m);

/* Sends it; the answer is in f->answer. Returns 0, BT_ERR_IO, BT_ERR_FORMAT, BT_ERR_INVAL. */
int ftdi_run(struct ftdi *f, struct mpsse *m);

/* Adds what sets the pins to `value` and `direction`, where these differ from what they are. */
void ftdi_put_pins(struct ftdi *f, struct mpsse *m, uint16_t value, uint16_t direction);

/* Pins (ftdi_pins.c). */

/* Pins as they are when SWDIO is driven by the host or left to the target. */
void ftdi_put_swdio(struct ftdi *f, struct mpsse *m, bool drive);

/* Switches the board to a wire; reset lines stay as they are. */
void ftdi_put_wire(struct ftdi *f, struct mpsse *m, enum debug_wire wire);

int ftdi_link_pins(void *self, uint8_t output, uint8_t select, uint32_t wait_us, uint8_t *input);

/* Accesses (ftdi_transfer.c). */

int ftdi_link_transfer(void *self, struct debug_transfer *list, size_t count,
                       struct debug_result *result);
int ftdi_link_block(void *self, uint8_t request, uint32_t *words, size_t count,
                    struct debug_result *result);

/* Takes ORUNDETECT back, if it is set. */
void ftdi_leave_overrun(struct ftdi *f);

/* SWD (ftdi_swd.c). */

/* Adds one access with its data phase. The answer has ftdi_swd_length() bytes. */
void ftdi_swd_put(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op);
size_t ftdi_swd_length(const struct ftdi_op *op);
enum debug_ack ftdi_swd_take(const struct ftdi_op *op, const uint8_t *answer, uint32_t *value);

/* The clocks behind the last access of a batch. */
void ftdi_swd_put_end(struct ftdi *f, struct mpsse *m);

/* One access in two round trips: the data phase as the acknowledge wants it. */
int ftdi_swd_step(struct ftdi *f, const struct ftdi_op *op, enum debug_ack *ack, uint32_t *value);

void ftdi_swd_put_sequence(struct ftdi *f, struct mpsse *m, unsigned bits, const uint8_t *bytes);

/* JTAG (ftdi_jtag.c). */

/* Adds the scan of one access, and one of the instruction before it if that changes. */
void ftdi_jtag_put(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op);
size_t ftdi_jtag_length(const struct ftdi *f);

/* The acknowledge, and the value of the scan before. */
enum debug_ack ftdi_jtag_take(const struct ftdi *f, const uint8_t *answer, uint32_t *value);

void ftdi_jtag_put_sequence(struct mpsse *m, unsigned bits, const uint8_t *bytes);

int ftdi_link_chain(void *self, const uint8_t *ir_lengths, unsigned count, unsigned dap);

#endif
