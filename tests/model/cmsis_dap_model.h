/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of a CMSIS-DAP firmware, protocol 2.1 (CMSIS-DAP manual, "CMSIS-DAP Commands"): command
 * packets in, response packets out, every transfer clocked bit by bit through a dap_model, with the
 * accesses in the order of Arm's reference firmware. Knows no USB, and no commands that nobody here
 * uses: TransferAbort, SWD_Sequence, QueueCommands and ExecuteCommands. */
#ifndef TESTS_USB_CMSIS_DAP_MODEL_H
#define TESTS_USB_CMSIS_DAP_MODEL_H

#include <stddef.h>

#include "dap_model.h"
#include "tap_chain.h"

#define CMSIS_DAP_PACKET_MAX 1024
#define CMSIS_DAP_QUEUE      64
#define CMSIS_DAP_SWO_BUFFER 4096
#define CMSIS_DAP_SWO_BLOCK  512   /* bytes of a transfer of the SWO endpoint */
#define CMSIS_DAP_BLOCK_US   50000 /* microseconds that a shorter one waits for more */

#define CMSIS_DAP_CAP_SWD        0x01
#define CMSIS_DAP_CAP_JTAG       0x02
#define CMSIS_DAP_CAP_SWO_UART   0x04
#define CMSIS_DAP_CAP_SWO_MANCH  0x08
#define CMSIS_DAP_CAP_ATOMIC     0x10
#define CMSIS_DAP_CAP_TIMER      0x20
#define CMSIS_DAP_CAP_SWO_STREAM 0x40

enum cmsis_dap_port {
    CMSIS_DAP_PORT_OFF,
    CMSIS_DAP_PORT_SWD,
    CMSIS_DAP_PORT_JTAG,
};

/* What some firmware does otherwise than the reference. */
struct cmsis_dap_quirks {
    bool deaf;     /* a missing ACK leaves SWDIO an input until the next Connect */
    bool pin_wait; /* the time of SWJ_Pins is in ms: the answer comes after everybody has gone */
};

struct cmsis_dap_options {
    unsigned packet_size;  /* bytes, up to CMSIS_DAP_PACKET_MAX */
    unsigned packet_count; /* up to CMSIS_DAP_QUEUE */
    uint8_t capabilities;
    struct cmsis_dap_quirks quirks;
    bool timed; /* answers take the time that they take on the wire and on a High-Speed bus */
    const char *vendor, *product, *serial, *version; /* NULL: length 0 */
    void *ctx;
    void (*nreset)(void *ctx, bool low);                   /* NULL: pin not connected */
    size_t (*swo)(void *ctx, uint8_t *bytes, size_t size); /* NULL: no trace */
    uint64_t (*now)(void *ctx);                            /* microseconds; NULL: monotonic clock */
};

/* What a client did wrong. */
struct cmsis_dap_counters {
    unsigned packets;
    unsigned transfers;   /* requests of Transfer and TransferBlock that were executed */
    unsigned overruns;    /* more packets in flight than packet_count: dropped */
    unsigned oversized;   /* packets longer than packet_size: dropped */
    unsigned malformed;   /* packets that end inside a command */
    unsigned overflowed;  /* responses that do not fit into a packet: cut */
    unsigned unknown;     /* commands nobody knows */
    unsigned unconnected; /* transfers without a port */
    unsigned pin_waits;   /* times that it was to wait for a pin */
};

struct cmsis_dap_packet {
    uint8_t bytes[CMSIS_DAP_PACKET_MAX];
    size_t size;
    uint64_t due; /* timed: nanoseconds of the monotonic clock */
};

struct cmsis_dap_reader {
    const uint8_t *at;
    size_t left;
    bool bad; /* read past the end */
};

struct cmsis_dap_writer {
    uint8_t *bytes;
    size_t size, limit;
    bool full;
};

struct cmsis_dap_model_swo {
    uint8_t transport, mode;
    bool active, overrun;
    bool paused;    /* the buffer is full, until somebody takes something */
    unsigned drop;  /* fault: so many bytes of the pin are lost, as if the buffer had been full */
    unsigned pause; /* fault: so many times it takes the buffer for full */
    uint32_t baud;
    uint8_t buffer[CMSIS_DAP_SWO_BUFFER];
    size_t size;
    uint32_t index; /* bytes received since the start */
    uint64_t since; /* a block that is not full waits since then, microseconds */
};

/* Public to tests are options, counters, port, clock and connect_led; the rest is private. */
struct cmsis_dap_model {
    struct cmsis_dap_options options;
    struct cmsis_dap_counters counters;
    struct dap_model *dap;
    enum cmsis_dap_port port;
    uint32_t clock;
    bool connect_led, run_led;
    unsigned idle_cycles, wait_retries, match_retries;
    uint32_t match_mask;
    unsigned turnround;
    bool data_phase;
    unsigned jtag_devices;
    uint8_t jtag_ir[8];
    uint8_t pins; /* as the probe drives them, if a port is connected */
    bool deaf;    /* see the quirk */
    unsigned jtag_index;
    bool nreset_stuck;      /* something else holds nRESET low; public, too */
    struct tap_chain chain; /* what is on JTAG beside the DAP; public, too */
    uint32_t timer;
    struct cmsis_dap_model_swo swo;
    struct cmsis_dap_packet response[CMSIS_DAP_QUEUE];
    unsigned response_first, response_count;
    uint64_t clocks;     /* of the wire, since the start */
    uint64_t bus_ns;     /* that packets take on the wire and a High-Speed bus */
    uint64_t busy_until; /* timed: with packets that it has taken, nanoseconds */
};

/* Copies the options; `dap` must outlive the model. 0, or -1 for options out of range. */
int cmsis_dap_init(struct cmsis_dap_model *c, const struct cmsis_dap_options *options,
                   struct dap_model *dap);

/* The probe has been unplugged and plugged in again: it starts anew, but for the counters. */
void cmsis_dap_replug(struct cmsis_dap_model *c);

/* One command packet arrives, and is executed. */
void cmsis_dap_submit(struct cmsis_dap_model *c, const uint8_t *packet, size_t size);

/* Whether there is one that the host gets now. */
bool cmsis_dap_answers(const struct cmsis_dap_model *c);

/* The oldest response: its size, 0 when there is none. `bytes` holds packet_size. */
size_t cmsis_dap_response(struct cmsis_dap_model *c, uint8_t *bytes);

/*
 * The next block for the SWO endpoint (CMSIS-DAP manual, "SWO Commands"): its size, 0 when none is
 * due or streaming is off. A full one is due at once, less after CMSIS_DAP_BLOCK_US or when capture
 * has stopped; until then it counts as buffered in SWO_Status.
 */
size_t cmsis_dap_stream(struct cmsis_dap_model *c, uint8_t bytes[CMSIS_DAP_SWO_BLOCK]);

/* Inside the model. */

uint8_t cmsis_dap_u8(struct cmsis_dap_reader *r);
uint16_t cmsis_dap_u16(struct cmsis_dap_reader *r);
uint32_t cmsis_dap_u32(struct cmsis_dap_reader *r);
void cmsis_dap_put(struct cmsis_dap_writer *w, uint32_t value, unsigned size);

/* On the wire: request bits as in DAP_Transfer. Acknowledge, with bit 3 for a parity error. */
#define CMSIS_DAP_ACK_ERROR 8u
unsigned cmsis_dap_access(struct cmsis_dap_model *c, unsigned request, uint32_t *data);
void cmsis_dap_swj_sequence(struct cmsis_dap_model *c, struct cmsis_dap_reader *r);
void cmsis_dap_jtag_sequence(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                             struct cmsis_dap_writer *w);
uint32_t cmsis_dap_jtag_idcode(struct cmsis_dap_model *c);
void cmsis_dap_transfer(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                        struct cmsis_dap_writer *w);
void cmsis_dap_transfer_block(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                              struct cmsis_dap_writer *w);
/* Commands 0x17..0x1c and 0x1e. */
void cmsis_dap_swo_command(struct cmsis_dap_model *c, uint8_t id, struct cmsis_dap_reader *r,
                           struct cmsis_dap_writer *w);

#endif
