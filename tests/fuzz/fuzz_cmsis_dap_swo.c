/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SWO of a CMSIS-DAP probe that lies about it, by the endpoint (first byte odd) or by command. Each
 * four bytes of the input are what one poll of the endpoint brings, or one answer: kind, status,
 * count, more. The trace is a counter: bytes that come out in one piece were sent in one piece.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/probe/cmsis_dap/cmsis_dap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SWO_STATUS 0x1bu
#define SWO_DATA   0x1cu
#define POLLS      64

struct input {
    const uint8_t *next, *end;
    uint8_t command[CMSIS_DAP_MAX_PACKET]; /* that waits for its answer */
    uint8_t counter;                       /* of the trace: what is sent next */
    bool by_command, torn;                 /* torn: what came out was not in one piece */
    struct trace_sink sink;                /* of the endpoint */
    uint64_t sent, came_out;
    int last; /* byte that came out; -1: a loss was told since */
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static const uint8_t *take_step(struct input *in)
{
    static const uint8_t nothing[4];
    const uint8_t *step = in->end - in->next < 4 ? nothing : in->next;
    in->next += step == nothing ? 0 : 4;
    return step;
}

static void make_trace(struct input *in, uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length; i++)
        data[i] = in->counter++;
    in->sent += length;
}

static int send_packet(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    struct input *in = self;
    (void)timeout_ms;
    require(length > 0 && length <= CMSIS_DAP_MAX_PACKET);
    memcpy(in->command, data, length);
    return in->next == in->end ? BT_ERR_IO : 0;
}

/* Commands are confirmed; status and data are as the input says. */
static int receive_packet(void *self, uint8_t *data, size_t capacity, size_t *length,
                          unsigned timeout_ms)
{
    struct input *in = self;
    (void)timeout_ms;
    memset(data, 0, capacity);
    data[0] = in->command[0];
    *length = capacity < 64 ? capacity : 64;
    if (in->command[0] != SWO_STATUS && in->command[0] != SWO_DATA) {
        memcpy(data + 1, in->command + 1, in->command[0] == 0x19 ? 4 : 0); /* the rate, as asked */
        return 0;
    }
    const uint8_t *step = take_step(in);
    if (step[0] == 0xff)
        return BT_ERR_IO;
    data[1] = step[1];
    data[2] = step[2];
    data[3] = in->command[0] == SWO_DATA ? 0 : step[3] & 1;
    if (in->command[0] == SWO_DATA)
        make_trace(in, data + 4, step[2] < *length - 4 ? step[2] : *length - 4);
    if (step[0] == 0xfe)
        *length = step[3] % 8;
    return 0;
}

static int endpoint_start(void *self, const struct trace_sink *sink)
{
    ((struct input *)self)->sink = *sink;
    return 0;
}

static int endpoint_poll(void *self, unsigned timeout_ms)
{
    struct input *in = self;
    uint8_t block[1024];
    const uint8_t *step = take_step(in);
    size_t length = (size_t)step[0] * 4 + (step[3] & 3);
    (void)timeout_ms;
    if (step[1] == 0xff)
        return BT_ERR_IO;
    if (step[1] & 1) {
        in->counter = (uint8_t)(in->counter + 1 + step[2] % 200);
        in->sink.lost(in->sink.user, BT_GAP_LOST_BYTES);
    }
    if (length > sizeof block)
        length = sizeof block;
    make_trace(in, block, length);
    if (length)
        in->sink.bytes(in->sink.user, block, length);
    return 0;
}

static int endpoint_stop(void *self)
{
    (void)self;
    return 0;
}

static void take_bytes(void *user, const uint8_t *data, size_t length)
{
    struct input *in = user;
    require(length > 0);
    for (size_t i = 0; i < length; i++) {
        in->torn |= in->last >= 0 && data[i] != (uint8_t)(in->last + 1);
        in->last = data[i];
    }
    in->came_out += length;
    require(in->came_out <= in->sent);
    require(in->by_command || !in->torn);
}

static void take_loss(void *user, enum bt_gap_cause cause)
{
    require(cause == BT_GAP_LOST_BYTES);
    ((struct input *)user)->last = -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct usb_pipe_ops OPS = {.send = send_packet, .receive = receive_packet};
    static const struct trace_stream_ops ENDPOINT = {
        .start = endpoint_start, .poll = endpoint_poll, .stop = endpoint_stop};
    if (size < 5)
        return 0;
    struct input in = {.next = data + 1,
                       .end = data + 1 + (size - 1) / 4 * 4,
                       .by_command = !(data[0] & 1),
                       .last = -1};
    const struct usb_pipe pipe = {.ops = &OPS, .self = &in, .out_packet = 64, .in_packet = 64};
    const struct trace_stream endpoint = {.ops = &ENDPOINT, .self = &in};
    const struct trace_sink sink = {.user = &in, .bytes = take_bytes, .lost = take_loss};
    struct cmsis_dap_swo swo;
    struct cmsis_dap *dap = calloc(1, sizeof *dap);
    require(dap != NULL);
    dap->pipe = pipe;
    dap->transport = CMSIS_DAP_BULK;
    dap->packet_size = 64;
    dap->packet_count = 1;
    dap->caps = CMSIS_DAP_CAP_SWO_UART | CMSIS_DAP_CAP_SWO_STREAM;
    dap->swo_buffer = data[0] & 2 ? 0 : 4096;
    if (cmsis_dap_swo_init(&swo, dap, in.by_command ? NULL : &endpoint, 1000000, NULL) == 0) {
        struct trace_stream t = cmsis_dap_swo_stream(&swo);
        int error = t.ops->start(t.self, &sink);
        for (unsigned i = 0; i < POLLS && !error && in.next < in.end; i++)
            error = t.ops->poll(t.self, 0);
        (void)t.ops->stop(t.self);
        require(t.ops->stop(t.self) == 0);
    }
    free(dap);
    return 0;
}
