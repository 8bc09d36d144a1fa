/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CMSIS-DAP probes, versions 1 (HID reports) and 2 (bulk): the command layer on a pair of
 * endpoints, a debug link, and the capture of SWO. CMSIS-DAP manual, "CMSIS-DAP Commands".
 *
 * Nothing that the probe answers is trusted. After an answer that is late or makes no sense the
 * order of commands and answers is not known any more: what is still to come is thrown away
 * before the next command.
 *
 * A probe belongs to one thread; the structure holds no pointers that need freeing, and the pipe
 * and stream it was given stay the caller's.
 */
#ifndef DRIVERS_CMSIS_DAP_H
#define DRIVERS_CMSIS_DAP_H

#include "drivers/adi/debug_link.h"
#include "drivers/probe/trace_stream.h"
#include "drivers/usb/usb.h"

#define CMSIS_DAP_MAX_PACKET    1024u /* larger packets of a probe are used up to this size */
#define CMSIS_DAP_MIN_PACKET    32u
#define CMSIS_DAP_MAX_IN_FLIGHT 16u
#define CMSIS_DAP_MAX_TEXT      64u
#define CMSIS_DAP_SWO_HOLD      (256u * 1024u)

/* Capabilities of a probe (Info 0xF0). */
#define CMSIS_DAP_CAP_SWD            0x01u
#define CMSIS_DAP_CAP_JTAG           0x02u
#define CMSIS_DAP_CAP_SWO_UART       0x04u
#define CMSIS_DAP_CAP_SWO_MANCHESTER 0x08u
#define CMSIS_DAP_CAP_SWO_STREAM     0x40u

enum cmsis_dap_transport {
    CMSIS_DAP_HID,  /* version 1: each message is one whole report */
    CMSIS_DAP_BULK, /* version 2 */
};

struct cmsis_dap {
    struct usb_pipe pipe;
    enum cmsis_dap_transport transport;
    unsigned timeout_ms; /* for one answer, beside the time the command itself takes */
    uint32_t clock_hz;   /* as set last; 0: not set */
    uint16_t retries;    /* after WAIT, in the probe */
    uint8_t idle_clocks; /* behind each access */
    /* What the probe said of itself. */
    size_t packet_size;    /* bytes of a packet that are used, CMSIS_DAP_MIN.._MAX_PACKET */
    unsigned packet_count; /* packets in flight, 1..CMSIS_DAP_MAX_IN_FLIGHT */
    uint32_t caps;         /* CMSIS_DAP_CAP_* */
    uint32_t swo_buffer;   /* bytes the probe keeps of SWO; 0: not told */
    char vendor[CMSIS_DAP_MAX_TEXT];
    char product[CMSIS_DAP_MAX_TEXT];
    char serial[CMSIS_DAP_MAX_TEXT];
    char protocol[CMSIS_DAP_MAX_TEXT];
    char firmware[CMSIS_DAP_MAX_TEXT];
    /* Private. */
    bool stale;        /* answers to earlier commands may still come */
    bool pad;          /* commands are sent with the size of a full packet */
    uint8_t dap_index; /* device of the JTAG chain */
    uint8_t out[CMSIS_DAP_MAX_PACKET];
    uint8_t in[2 * CMSIS_DAP_MAX_PACKET]; /* a multiple of any wMaxPacketSize fits */
};

/*
 * Throw away old answers, ask the probe what it is. `pipe` is copied.
 * Return 0, BT_ERR_INVAL (packet sizes of the pipe out of range), BT_ERR_IO, BT_ERR_FORMAT
 * (answers without sense), BT_ERR_UNSUPPORTED (neither SWD nor JTAG).
 */
int cmsis_dap_open(struct cmsis_dap *dap, const struct usb_pipe *pipe,
                   enum cmsis_dap_transport transport);

/* The probe as a debug link; valid as long as `dap` is. */
struct debug_link cmsis_dap_link(struct cmsis_dap *dap);

/*
 * Send one command and take its answer, without the bytes of padding that HID adds behind it:
 * *length is what the probe sent. The first byte of the answer has been checked.
 * Return 0, BT_ERR_IO (silent or gone), BT_ERR_FORMAT (answer to something else),
 * BT_ERR_UNSUPPORTED (the probe does not know the command),
 * BT_ERR_INVAL (longer than a packet). */
int cmsis_dap_command(struct cmsis_dap *dap, const uint8_t *command, size_t length,
                      const uint8_t **answer, size_t *answer_length);

/* A command whose answer is one status byte. As above; a status that is not OK is
 * BT_ERR_UNSUPPORTED. */
int cmsis_dap_status(struct cmsis_dap *dap, const uint8_t *command, size_t length);

/* SWO. */

struct cmsis_dap_swo {
    struct cmsis_dap *dap;
    struct trace_stream stream; /* ops NULL: no endpoint, data are fetched by command */
    bool streaming;             /* data come through `stream` */
    bool running;
    struct trace_sink sink;
    /* Private. */
    bool hole; /* a loss was told, and nothing came since */
    /* On the endpoint, bytes since the start: those that came; with those that the probe had then;
     * up to `good` a status has confirmed them; from there to `bad` some are missing. */
    uint64_t came;
    uint64_t due;
    uint64_t good;
    uint64_t bad; /* 0: none are */
    size_t held;
    uint8_t hold[CMSIS_DAP_SWO_HOLD]; /* the last ones; no status has confirmed them yet */
};

/*
 * Set up the capture of NRZ on SWO, stopped. `stream` is the third endpoint of a version 2 probe,
 * or NULL. *actual (may be NULL) gets the baud rate of the probe. Return 0, BT_ERR_UNSUPPORTED (the
 * probe has no such capture), BT_ERR_RANGE (the probe's rate is more than 3 % off; *actual is set),
 * BT_ERR_INVAL (baud 0), BT_ERR_IO, BT_ERR_FORMAT.
 */
int cmsis_dap_swo_init(struct cmsis_dap_swo *swo, struct cmsis_dap *dap,
                       const struct trace_stream *stream, uint32_t baud, uint32_t *actual);

/*
 * The capture as a trace stream. poll asks the probe for its state each time: call it every 100 ms
 * at least, and often enough for the probe's buffer. Losses the probe tells of are told to the
 * sink with BT_GAP_LOST_BYTES, once for losses in a row: where they are, if data are fetched by
 * command. Of a probe that streams it is not always known: all bytes among which they may be are
 * dropped then.
 */
struct trace_stream cmsis_dap_swo_stream(struct cmsis_dap_swo *swo);

#endif
