/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture of SWO: CMSIS-DAP manual, "SWO Commands". */
#include <string.h>

#include "cmsis_dap_internal.h"

#define MODE_UART         1u
#define TRANSPORT_NONE    0u
#define TRANSPORT_COMMAND 1u
#define TRANSPORT_STREAM  2u

#define STATUS_PAUSED  0x02u /* the buffer is full: nothing is captured until there is room */
#define STATUS_OVERRUN 0x80u
#define STATUS_LOSS    (STATUS_PAUSED | STATUS_OVERRUN) /* pausing alone loses, too */

#define BAUD_TOLERANCE 3u /* per cent */
#define DATA_HEADER    4u /* command, status, count (2) */
/* What left the probe's buffer and has not come: probes send blocks of 512 bytes. */
#define ON_ITS_WAY_MS    2u
#define ON_ITS_WAY_BYTES 1024u
#define BUFFER_UNKNOWN   65536u /* of a probe that does not tell its size */

static int byte_command(struct cmsis_dap *dap, uint8_t id, uint8_t value)
{
    const uint8_t command[] = {id, value};
    return cmsis_dap_status(dap, command, sizeof command);
}

static bool rate_fits(uint32_t wanted, uint32_t actual)
{
    uint64_t off = wanted > actual ? wanted - actual : actual - wanted;
    return actual != 0 && off * 100 <= (uint64_t)wanted * BAUD_TOLERANCE;
}

static int set_baud(struct cmsis_dap *dap, uint32_t baud, uint32_t *actual)
{
    uint8_t command[5] = {DAP_SWO_BAUDRATE};
    const uint8_t *answer;
    size_t length;
    bytes_set_word(command + 1, baud);
    int error = cmsis_dap_command(dap, command, sizeof command, &answer, &length);
    if (error != 0)
        return error;
    if (length < 5)
        return BT_ERR_FORMAT;
    *actual = bytes_word(answer + 1);
    return rate_fits(baud, *actual) ? 0 : BT_ERR_RANGE;
}

int cmsis_dap_swo_init(struct cmsis_dap_swo *swo, struct cmsis_dap *dap,
                       const struct trace_stream *stream, uint32_t baud, uint32_t *actual)
{
    uint32_t rate = 0;
    *swo = (struct cmsis_dap_swo){.dap = dap};
    if (actual)
        *actual = 0;
    if (baud == 0)
        return BT_ERR_INVAL;
    if ((dap->caps & CMSIS_DAP_CAP_SWO_UART) == 0)
        return BT_ERR_UNSUPPORTED;
    if (stream && stream->ops && (dap->caps & CMSIS_DAP_CAP_SWO_STREAM) != 0) {
        swo->stream = *stream;
        swo->streaming = true;
    }
    /* Neither transport nor mode may be changed while a capture runs, be it another client's. */
    int error = byte_command(dap, DAP_SWO_CONTROL, 0);
    if (error == 0 || error == BT_ERR_UNSUPPORTED)
        error = byte_command(dap, DAP_SWO_MODE, 0);
    if (error == 0)
        error = byte_command(dap, DAP_SWO_TRANSPORT,
                             swo->streaming ? TRANSPORT_STREAM : TRANSPORT_COMMAND);
    if (error == 0)
        error = byte_command(dap, DAP_SWO_MODE, MODE_UART);
    if (error == 0)
        error = set_baud(dap, baud, &rate);
    if (actual)
        *actual = rate;
    return error;
}

/* The pieces of both sides of a loss must not be joined. */
static void cmsis_dap_missing(struct cmsis_dap_swo *swo)
{
    if (!swo->hole)
        swo->sink.lost(swo->sink.user, BT_GAP_LOST_BYTES);
    swo->hole = true;
}

static void cmsis_dap_deliver(struct cmsis_dap_swo *swo, const uint8_t *data, size_t length)
{
    if (length == 0)
        return;
    swo->hole = false;
    swo->sink.bytes(swo->sink.user, data, length);
}

static int read_status(struct cmsis_dap_swo *swo, uint8_t *status, uint32_t *buffered)
{
    const uint8_t command[] = {DAP_SWO_STATUS};
    const uint8_t *answer;
    size_t length;
    int error = cmsis_dap_command(swo->dap, command, sizeof command, &answer, &length);
    if (error != 0)
        return error;
    if (length < 6)
        return BT_ERR_FORMAT;
    uint32_t most = swo->dap->swo_buffer ? swo->dap->swo_buffer : BUFFER_UNKNOWN;
    *status = answer[1];
    *buffered = bytes_word(answer + 2);
    if (*buffered > most)
        *buffered = most;
    return 0;
}

/* By the endpoint. */

/* `n` of the bytes that are held go, to the sink if they are good. */
static void cmsis_dap_release(struct cmsis_dap_swo *swo, uint64_t n, bool good)
{
    size_t count = n < swo->held ? (size_t)n : swo->held;
    if (good)
        cmsis_dap_deliver(swo, swo->hold, count);
    memmove(swo->hold, swo->hold + count, swo->held - count);
    swo->held -= count;
}

/* What is confirmed goes, what is doubtful goes nowhere, the rest waits. */
static void cmsis_dap_sort(struct cmsis_dap_swo *swo)
{
    uint64_t first = swo->came - swo->held;
    if (first < swo->good)
        cmsis_dap_release(swo, swo->good - first, true);
    first = swo->came - swo->held;
    if (swo->bad == 0 || first < swo->good)
        return;
    cmsis_dap_missing(swo);
    if (first < swo->bad)
        cmsis_dap_release(swo, swo->bad - first, false);
    if (swo->came >= swo->bad)
        swo->bad = 0;
}

static void stream_lost(void *user, enum bt_gap_cause cause)
{
    struct cmsis_dap_swo *swo = user;
    (void)cause;
    swo->held = 0;
    swo->good = swo->came;
    cmsis_dap_missing(swo);
}

static void stream_bytes(void *user, const uint8_t *data, size_t length)
{
    struct cmsis_dap_swo *swo = user;
    if (length > sizeof swo->hold - swo->held)
        stream_lost(swo, BT_GAP_LOST_BYTES);
    swo->came += length;
    if (length > sizeof swo->hold || length == 0)
        return;
    memcpy(swo->hold + swo->held, data, length);
    swo->held += length;
    cmsis_dap_sort(swo);
}

/*
 * Losses of a probe that streams are only in its status. One that is paused loses what comes behind
 * its buffer; an overrun may be over, and lies somewhere behind what the status before confirmed.
 * In both cases some of what left its buffer may not have come yet. */
static int ask_status(struct cmsis_dap_swo *swo)
{
    uint64_t came = swo->came; /* more may come beside the answer */
    uint8_t status;
    uint32_t buffered;
    int error = read_status(swo, &status, &buffered);
    if (error != 0)
        return error;
    swo->due = came + buffered;
    bool lost = (status & STATUS_LOSS) != 0, overrun = (status & STATUS_OVERRUN) != 0;
    if (swo->bad == 0 && !overrun && swo->good < swo->due)
        swo->good = swo->due;
    if (lost) {
        swo->bad = swo->due + ON_ITS_WAY_BYTES;
        error = swo->stream.ops->poll(swo->stream.self, ON_ITS_WAY_MS);
    }
    cmsis_dap_sort(swo);
    return error;
}

/* By command. */

/* Fetch `left` bytes that the probe has. *lost: it has told of a loss meanwhile. */
static int cmsis_dap_fetch(struct cmsis_dap_swo *swo, size_t left, bool *lost)
{
    struct cmsis_dap *dap = swo->dap;
    const size_t room = dap->packet_size - DATA_HEADER;
    size_t count = 1;
    while (left > 0 && count > 0) {
        uint8_t command[3] = {DAP_SWO_DATA};
        const uint8_t *answer;
        size_t length;
        bytes_set_half(command + 1, (uint32_t)(left < room ? left : room));
        int error = cmsis_dap_command(dap, command, sizeof command, &answer, &length);
        if (error != 0)
            return error;
        count = length < DATA_HEADER ? 0 : bytes_half(answer + 2);
        if (length < DATA_HEADER || count > left || count > length - DATA_HEADER)
            return BT_ERR_FORMAT;
        left -= count;
        *lost |= (answer[1] & STATUS_LOSS) != 0;
        cmsis_dap_deliver(swo, answer + DATA_HEADER, count);
    }
    return 0;
}

/*
 * A buffer that was full has room again as soon as something is fetched, and goes on in the middle:
 * from then on there is a hole in it every few bytes. What it holds before the first one has been
 * fetched; a new start empties it. */
static int cmsis_dap_start_anew(struct cmsis_dap_swo *swo)
{
    cmsis_dap_missing(swo);
    if (!swo->running)
        return 0;
    int error = byte_command(swo->dap, DAP_SWO_CONTROL, 0);
    return error != 0 ? error : byte_command(swo->dap, DAP_SWO_CONTROL, 1);
}

/*
 * The status tells how much the probe has: so much is in one piece, and a loss lies right behind
 * it. Not more than was there at first is fetched: a port in continuous mode never stops. */
static int fetch_all(struct cmsis_dap_swo *swo)
{
    const size_t room = swo->dap->packet_size - DATA_HEADER;
    const size_t most = swo->dap->swo_buffer ? swo->dap->swo_buffer : BUFFER_UNKNOWN;
    uint32_t buffered = 0;
    size_t sum = 0;
    do {
        uint8_t status;
        int error = read_status(swo, &status, &buffered);
        bool lost = error == 0 && (status & STATUS_LOSS) != 0;
        if (error == 0)
            error = cmsis_dap_fetch(swo, buffered, &lost);
        if (error != 0)
            return error;
        if (lost)
            return cmsis_dap_start_anew(swo);
        sum += buffered;
    } while (buffered >= room && sum <= most);
    return 0;
}

static int swo_start(void *self, const struct trace_sink *sink)
{
    struct cmsis_dap_swo *swo = self;
    const struct trace_sink endpoint = {.user = swo, .bytes = stream_bytes, .lost = stream_lost};
    int error = 0;
    if (swo->running)
        return BT_ERR_INVAL;
    swo->sink = *sink;
    swo->held = 0;
    swo->came = swo->due = 0;
    swo->good = swo->bad = 0;
    swo->hole = false;
    /* A capture that was stopped has given its way up. */
    error = byte_command(swo->dap, DAP_SWO_TRANSPORT,
                         swo->streaming ? TRANSPORT_STREAM : TRANSPORT_COMMAND);
    if (error != 0)
        return error;
    /* The transfers wait before the first byte can come. */
    if (swo->streaming)
        error = swo->stream.ops->start(swo->stream.self, &endpoint);
    if (error != 0)
        return error;
    error = byte_command(swo->dap, DAP_SWO_CONTROL, 1);
    if (error != 0 && swo->streaming)
        (void)swo->stream.ops->stop(swo->stream.self);
    swo->running = error == 0;
    return error;
}

static int swo_poll(void *self, unsigned timeout_ms)
{
    struct cmsis_dap_swo *swo = self;
    if (!swo->running)
        return BT_ERR_INVAL;
    if (!swo->streaming)
        return fetch_all(swo);
    int error = swo->stream.ops->poll(swo->stream.self, timeout_ms);
    return error != 0 ? error : ask_status(swo);
}

static int swo_stop(void *self)
{
    struct cmsis_dap_swo *swo = self;
    int first = 0;
    if (!swo->running)
        return 0;
    swo->running = false;
    int error = byte_command(swo->dap, DAP_SWO_CONTROL, 0);
    if (error != 0)
        first = error;
    error = swo->streaming ? swo->stream.ops->poll(swo->stream.self, 100) : fetch_all(swo);
    if (error == 0 && swo->streaming)
        error = ask_status(swo);
    if (swo->bad != 0)
        cmsis_dap_missing(swo);
    if (first == 0)
        first = error;
    if (swo->streaming)
        (void)swo->stream.ops->stop(swo->stream.self);
    error = byte_command(swo->dap, DAP_SWO_TRANSPORT, TRANSPORT_NONE);
    return first != 0 ? first : error;
}

/* A block that is not full stays in the probe for some time. */
static void swo_progress(void *self, uint64_t *came, uint64_t *due)
{
    const struct cmsis_dap_swo *swo = self;
    *came = swo->came;
    *due = swo->due;
}

static const struct trace_stream_ops SWO_OPS = {
    .start = swo_start,
    .poll = swo_poll,
    .stop = swo_stop,
    .progress = swo_progress,
};

struct trace_stream cmsis_dap_swo_stream(struct cmsis_dap_swo *swo)
{
    return (struct trace_stream){.ops = &SWO_OPS, .self = swo};
}
