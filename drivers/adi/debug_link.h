/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A debug link: what a probe offers to reach a Debug Port. Lists of DP and AP register accesses
 * are executed in order, with the result of each; beside them bit sequences, clock and pins.
 *
 * Implemented by probe drivers (cmsis_dap.h), used by adiv5.h. A link belongs to one thread and
 * every call waits for its end. The wire: IHI 0031F chapters B3 to B5. */
#ifndef DRIVERS_DEBUG_LINK_H
#define DRIVERS_DEBUG_LINK_H

#include "btrace/types.h"

/* Time for those who wait. `user` is passed on. */
struct debug_clock {
    uint64_t (*now_us)(void *user);              /* microseconds, never goes back */
    void (*sleep_us)(void *user, uint32_t time); /* may return later, not much earlier */
    void *user;
};

static inline uint64_t debug_now(const struct debug_clock *c)
{
    return c->now_us(c->user);
}

static inline void debug_sleep(const struct debug_clock *c, uint32_t us)
{
    c->sleep_us(c->user, us);
}

/* The machine's own. */
extern const struct debug_clock debug_clock_monotonic;

enum debug_wire {
    DEBUG_WIRE_SWD,
    DEBUG_WIRE_JTAG,
};

/* Request of one access: DEBUG_AP or DEBUG_DP, DEBUG_READ or DEBUG_WRITE, A[3:2] in place. */
#define DEBUG_DP       0x00u
#define DEBUG_AP       0x01u
#define DEBUG_WRITE    0x00u
#define DEBUG_READ     0x02u
#define DEBUG_REG_MASK 0x0cu

struct debug_transfer {
    uint8_t request;
    uint32_t value; /* written, or read */
};

enum debug_ack {
    DEBUG_ACK_OK,
    DEBUG_ACK_WAIT,     /* busy, after all repeats of the probe */
    DEBUG_ACK_FAULT,    /* a sticky flag is set; on JTAG it is never seen here */
    DEBUG_ACK_NONE,     /* nobody answered */
    DEBUG_ACK_PROTOCOL, /* parity error, or an answer that does not exist */
};

/* By the three bits of SWD's acknowledge. */
static inline enum debug_ack debug_ack_of(unsigned bits)
{
    switch (bits & 7) {
    case 1:
        return DEBUG_ACK_OK;
    case 2:
        return DEBUG_ACK_WAIT;
    case 4:
        return DEBUG_ACK_FAULT;
    case 0: /* our own level, a line that something holds, or a probe that did not come to try */
    case 7:
        return DEBUG_ACK_NONE;
    default:
        return DEBUG_ACK_PROTOCOL;
    }
}

struct debug_result {
    size_t done; /* accesses from the first on that were executed and whose values are valid */
    /* DEBUG_ACK_OK: to all of them. Else the answer to access `done`; if `done` is the whole list,
     * the last write was taken and then failed. */
    enum debug_ack ack;
};

/* Pins of debug_link_ops.pins, as in the CMSIS-DAP commands. */
#define DEBUG_PIN_SWCLK  0x01u
#define DEBUG_PIN_SWDIO  0x02u
#define DEBUG_PIN_NTRST  0x20u
#define DEBUG_PIN_NRESET 0x80u

/* Capabilities. Posted: an AP read gives the value of the AP read before, and the error of a write
 * comes with the next access; without it the link sees to that. */
#define DEBUG_LINK_SWD    0x1u
#define DEBUG_LINK_JTAG   0x2u
#define DEBUG_LINK_POSTED 0x4u

/*
 * Each returns 0, or BT_ERR_IO (probe gone or silent), BT_ERR_FORMAT (answer without sense),
 * BT_ERR_UNSUPPORTED, BT_ERR_INVAL. An access that the target refused is no error here: it is in
 * the result. After an access that failed, accesses behind it may have been executed too if they
 * are reads; never a write. Only a link that queues (ftdi.h) cannot hold back writes behind a write
 * that the target took while its acknowledge was damaged on the way:
 * DEBUG_ACK_NONE or _PROTOCOL. */
struct debug_link_ops {
    int (*connect)(void *self, enum debug_wire wire);
    int (*disconnect)(void *self);
    int (*set_clock)(void *self, uint32_t hz);
    /* Optional. Hz that came of it; without it only the probe knows. */
    uint32_t (*clock)(void *self);
    /* Idle clocks behind each access, repeats on WAIT. */
    int (*configure)(void *self, uint8_t idle_clocks, uint16_t wait_retries);
    /* Bits on SWDIO/TMS, least significant bit of bytes[0] first. */
    int (*sequence)(void *self, unsigned bits, const uint8_t *bytes);
    /* Optional, SWD. After a request that nobody answered some probes leave SWDIO an input, and
     * sequences reach nothing: connects anew, with clock and configuration as they were. A probe
     * may let nRESET go meanwhile. */
    int (*reconnect)(void *self);
    /* Drive the selected pins, read all. Nobody waits: firmware disagrees on the unit. */
    int (*pins)(void *self, uint8_t output, uint8_t select, uint8_t *input);
    /* JTAG: instruction register lengths from TDO on, and which device is the DAP. */
    int (*jtag_chain)(void *self, const uint8_t *ir_lengths, unsigned count, unsigned dap);
    int (*transfer)(void *self, struct debug_transfer *list, size_t count,
                    struct debug_result *result);
    /* The same access `count` times: values are read into, or written from, `words`. */
    int (*block)(void *self, uint8_t request, uint32_t *words, size_t count,
                 struct debug_result *result);
};

struct debug_link {
    const struct debug_link_ops *ops;
    void *self;
    uint32_t caps; /* DEBUG_LINK_* */
};

/* Why something could not be done, for messages. Texts: debug_failure_text(). */
enum debug_failure {
    DEBUG_FAIL_NONE,
    DEBUG_FAIL_PROBE,     /* the probe does not answer: unplugged? */
    DEBUG_FAIL_ANSWER,    /* the probe's answer has no sense */
    DEBUG_FAIL_WIRE_KIND, /* the probe cannot do this wire */
    DEBUG_FAIL_SILENT,    /* no answer on the wire */
    DEBUG_FAIL_LINE,      /* bits were damaged on the wire */
    DEBUG_FAIL_WAIT,      /* the access port stays busy */
    DEBUG_FAIL_FAULT,     /* bus error, or the port refuses */
    DEBUG_FAIL_POWER,     /* debug power-up is not acknowledged */
    DEBUG_FAIL_VERSION,   /* a debug port of a version that is not known here */
    DEBUG_FAIL_LOCKED,    /* the access port is disabled by authentication */
    DEBUG_FAIL_NO_MEM_AP, /* the access port is not there or reaches no memory */
    DEBUG_FAIL_CHANGED,   /* another debug port answers than before */
    DEBUG_FAIL_TIMEOUT,   /* a state was not reached in its time */
    DEBUG_FAIL_NO_RESET,  /* the probe does not drive nRESET */
};

/* One line of text, lower case, without full stop. Never NULL. */
const char *debug_failure_text(enum debug_failure failure);

/* What failed with `error` is worth another try: bits were damaged, and not often. `*tries` begins
 * with 0. */
bool debug_link_again(int error, enum debug_failure failure, unsigned *tries);

#endif
