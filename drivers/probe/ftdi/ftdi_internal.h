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

/* Batches. */

/* Answers are those to our commands again, and the pins are as they are noted.
 * Returns as ftdi_open(). */
int ftdi_synchronise(struct ftdi *f);

/* An empty batch in f->command. After a failure the engine is brought in step again first. */
void ftdi_start(struct ftdi *f, struct mpsse *m);

/* Sends it; the answer is in f->answer. Returns 0, BT_ERR_IO, BT_ERR_FORMAT, BT_ERR_INVAL. */
int ftdi_run(struct ftdi *f, struct mpsse *m);

/* Pins. */

/* Adds what sets the pins to `value` and `direction`, where these differ from what they are. */
void ftdi_put_pins(struct ftdi *f, struct mpsse *m, uint16_t value, uint16_t direction);

/* Switches the board to a wire; reset lines stay as they are. */
void ftdi_put_wire(struct ftdi *f, struct mpsse *m, enum debug_wire wire);

/* Accesses, on the wire that is in use. */

/* Adds one access with its data phase; on JTAG also a scan of the instruction before it if that
 * changes. The answer has ftdi_access_length() bytes. */
void ftdi_put_access(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op);

/* The clocks behind the last access of a batch. */
void ftdi_put_end(struct ftdi *f, struct mpsse *m);
size_t ftdi_access_length(const struct ftdi *f, const struct ftdi_op *op);

/* The acknowledge, and the value: on JTAG that of the scan before. */
enum debug_ack ftdi_take_access(const struct ftdi *f, const struct ftdi_op *op,
                                const uint8_t *answer, uint32_t *value);

/* SWD: one access in two round trips, the data phase as the acknowledge wants it. */
int ftdi_swd_step(struct ftdi *f, const struct ftdi_op *op, enum debug_ack *ack, uint32_t *value);

/* Adds bits as they are: on SWDIO, on TMS of JTAG. */
void ftdi_put_sequence(struct ftdi *f, struct mpsse *m, unsigned bits, const uint8_t *bytes);

/* Of struct debug_link_ops. */
int ftdi_link_pins(void *self, uint8_t output, uint8_t select, uint8_t *input);
int ftdi_link_chain(void *self, const uint8_t *ir_lengths, unsigned count, unsigned dap);

#endif
