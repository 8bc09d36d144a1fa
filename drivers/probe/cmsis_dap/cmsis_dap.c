/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/probe/cmsis_dap/cmsis_dap.h"

#include <string.h>

#include "cmsis_dap_internal.h"

/* GDB waits 2 s for an answer of ours: a probe that is silent must be told before. */
#define TIMEOUT_MS       1000u
#define FIRST_TIMEOUT_MS 300u /* for the first question */
#define PROBE_TIMEOUT_MS 50u  /* before it is asked again: some answer only to full packets */
#define FIRST_ATTEMPTS   4u
#define ACCESS_BITS      100u /* on either wire, with idle clocks */
#define DRAIN_TIMEOUT_MS 10u
#define DRAIN_MAX        64u

enum {
    INFO_VENDOR = 0x01,
    INFO_PRODUCT = 0x02,
    INFO_SERIAL = 0x03,
    INFO_PROTOCOL = 0x04,
    INFO_FIRMWARE = 0x09,
    INFO_CAPABILITIES = 0xf0,
    INFO_SWO_BUFFER = 0xfd,
    INFO_PACKET_COUNT = 0xfe,
    INFO_PACKET_SIZE = 0xff,
};

/* One byte less than a packet that fills whole USB packets: no zero-length packet is ever due. */
static size_t cmsis_dap_command_limit(const struct cmsis_dap *dap)
{
    if (dap->transport == CMSIS_DAP_BULK && dap->packet_size % dap->pipe.out_packet == 0)
        return dap->packet_size - 1;
    return dap->packet_size;
}

/* Bytes of one IN transfer: a whole answer, and whole USB packets. */
static size_t receive_size(const struct cmsis_dap *dap)
{
    size_t unit = dap->pipe.in_packet;
    return (dap->packet_size + unit - 1) / unit * unit;
}

static void cmsis_dap_drain(struct cmsis_dap *dap)
{
    size_t length;
    for (unsigned k = 0; k < DRAIN_MAX; k++) {
        if (dap->pipe.ops->receive(dap->pipe.self, dap->in, receive_size(dap), &length,
                                   DRAIN_TIMEOUT_MS) != 0)
            break;
    }
    dap->stale = false;
}

/* Before the first command of a batch: throw away what is left from a failure. */
static void cmsis_dap_discard_rest(struct cmsis_dap *dap)
{
    if (dap->stale)
        cmsis_dap_drain(dap);
}

/* The size that goes over USB. Bytes behind a command are ignored by the probe. */
static size_t padded_length(const struct cmsis_dap *dap, size_t length)
{
    if (dap->transport == CMSIS_DAP_HID)
        return dap->pipe.out_packet;
    if (dap->pad)
        return dap->packet_size;
    return length % dap->pipe.out_packet == 0 ? length + 1 : length;
}

/* Send dap->out[0..length); `length` is at most cmsis_dap_command_limit(). */
static int cmsis_dap_send(struct cmsis_dap *dap, size_t length)
{
    size_t padded = padded_length(dap, length);
    if (padded > length)
        memset(dap->out + length, 0, padded - length);
    int error = dap->pipe.ops->send(dap->pipe.self, dap->out, padded, dap->timeout_ms);
    if (error != 0)
        dap->stale = true;
    return error == USB_TIMED_OUT ? BT_ERR_IO : error;
}

static int cmsis_dap_receive_within(struct cmsis_dap *dap, uint8_t command, size_t *length,
                                    unsigned timeout_ms)
{
    size_t capacity = receive_size(dap);
    int error = dap->pipe.ops->receive(dap->pipe.self, dap->in, capacity, length, timeout_ms);
    if (error == 0 && (*length == 0 || *length > capacity))
        error = BT_ERR_FORMAT;
    if (error == 0 && dap->in[0] == DAP_UNKNOWN)
        return BT_ERR_UNSUPPORTED;
    if (error == 0 && dap->in[0] != command)
        error = BT_ERR_FORMAT;
    if (error != 0)
        dap->stale = true;
    return error == USB_TIMED_OUT ? BT_ERR_IO : error;
}

/* Receive an answer into dap->in, `extra_ms` later than a probe answers at once, and check that it
 * is one to `command`. Errors as cmsis_dap_command(); all of them leave dap->stale set but
 * BT_ERR_UNSUPPORTED. */
static int cmsis_dap_receive(struct cmsis_dap *dap, uint8_t command, size_t *length,
                             unsigned extra_ms)
{
    return cmsis_dap_receive_within(dap, command, length, dap->timeout_ms + extra_ms);
}

/* Milliseconds that accesses may take on the wire at the clock that is set, one of them refused as
 * often as the probe repeats it. */
static unsigned cmsis_dap_wire_ms(const struct cmsis_dap *dap, unsigned accesses)
{
    uint64_t bits = (uint64_t)ACCESS_BITS * (accesses + dap->retries);
    return dap->clock_hz ? (unsigned)(bits * 1000 / dap->clock_hz) : 0;
}

int cmsis_dap_command(struct cmsis_dap *dap, const uint8_t *command, size_t length,
                      const uint8_t **answer, size_t *answer_length)
{
    if (length == 0 || length > cmsis_dap_command_limit(dap))
        return BT_ERR_INVAL;
    cmsis_dap_discard_rest(dap);
    memcpy(dap->out, command, length);
    int error = cmsis_dap_send(dap, length);
    if (error == 0)
        error = cmsis_dap_receive(dap, command[0], answer_length, 0);
    *answer = dap->in;
    return error;
}

int cmsis_dap_status(struct cmsis_dap *dap, const uint8_t *command, size_t length)
{
    const uint8_t *answer;
    size_t got;
    int error = cmsis_dap_command(dap, command, length, &answer, &got);
    if (error != 0)
        return error;
    if (got < 2)
        return BT_ERR_FORMAT;
    return answer[1] == 0 ? 0 : BT_ERR_UNSUPPORTED;
}

/* Ask for an item; *size bytes of it are at *data, 0 if the probe has none. */
static int cmsis_dap_info(struct cmsis_dap *dap, uint8_t id, const uint8_t **data, size_t *size)
{
    const uint8_t command[] = {DAP_INFO, id};
    const uint8_t *answer;
    size_t length;
    int error = cmsis_dap_command(dap, command, sizeof command, &answer, &length);
    *size = 0;
    *data = NULL;
    if (error == BT_ERR_UNSUPPORTED)
        return 0;
    if (error != 0)
        return error;
    if (length < 2 || answer[1] > length - 2)
        return BT_ERR_FORMAT;
    *size = answer[1];
    *data = answer + 2;
    return 0;
}

/* A number of 1 to 4 bytes; `value` stays as it is if the probe has none. */
static int info_number(struct cmsis_dap *dap, uint8_t id, uint32_t *value)
{
    const uint8_t *data;
    size_t size;
    int error = cmsis_dap_info(dap, id, &data, &size);
    if (error != 0 || size == 0)
        return error;
    if (size > 4)
        return BT_ERR_FORMAT;
    *value = 0;
    for (size_t k = 0; k < size; k++)
        *value |= (uint32_t)data[k] << (8 * k);
    return 0;
}

/* A text; what cannot be printed becomes a question mark. */
static int info_text(struct cmsis_dap *dap, uint8_t id, char *text)
{
    const uint8_t *data;
    size_t size;
    text[0] = '\0';
    int error = cmsis_dap_info(dap, id, &data, &size);
    if (error != 0)
        return error;
    size_t n = 0;
    while (n < size && n < CMSIS_DAP_MAX_TEXT - 1 && data[n] != 0) {
        text[n] = data[n] >= 0x20 && data[n] < 0x7f ? (char)data[n] : '?';
        n++;
    }
    text[n] = '\0';
    return 0;
}

/* Answers to the first questions that came too late look like those to the next ones. They have
 * come when another command is answered: the probe keeps the order. */
static int pass_late_answers(struct cmsis_dap *dap)
{
    const uint8_t light[] = {DAP_HOST_STATUS, 0, 0};
    size_t length;
    memcpy(dap->out, light, sizeof light);
    int error = cmsis_dap_send(dap, sizeof light);
    if (error != 0)
        return error;
    for (unsigned k = 0; k <= FIRST_ATTEMPTS; k++) {
        error = cmsis_dap_receive(dap, DAP_HOST_STATUS, &length, 0);
        if (error != BT_ERR_FORMAT || dap->in[0] != DAP_INFO)
            break;
    }
    if (error == 0)
        dap->stale = false;
    return error == BT_ERR_UNSUPPORTED ? 0 : error;
}

/*
 * The first question. Some probes answer only to a packet of full size, and after a client that
 * died the first answer may be an old one.
 */
static int first_contact(struct cmsis_dap *dap, uint32_t *packet_size)
{
    int error = BT_ERR_IO;
    for (unsigned attempt = 0; attempt < FIRST_ATTEMPTS; attempt++) {
        dap->pad = attempt % 2 != 0;
        dap->timeout_ms = attempt < 2 ? PROBE_TIMEOUT_MS : FIRST_TIMEOUT_MS;
        error = info_number(dap, INFO_PACKET_SIZE, packet_size);
        if (error == 0) {
            dap->timeout_ms = TIMEOUT_MS;
            return attempt > 0 ? pass_late_answers(dap) : 0;
        }
    }
    return error;
}

static int read_sizes(struct cmsis_dap *dap)
{
    uint32_t size = 0;
    uint32_t count = 1;
    int error = first_contact(dap, &size);
    if (error != 0)
        return error;
    if (size == 0)
        size = dap->pipe.out_packet;
    if (size < CMSIS_DAP_MIN_PACKET)
        return BT_ERR_FORMAT;
    if (size > CMSIS_DAP_MAX_PACKET)
        size = CMSIS_DAP_MAX_PACKET;
    if (dap->transport == CMSIS_DAP_HID && size > dap->pipe.out_packet)
        size = dap->pipe.out_packet;
    if (dap->transport == CMSIS_DAP_HID && size > dap->pipe.in_packet)
        size = dap->pipe.in_packet;
    dap->packet_size = size;
    error = info_number(dap, INFO_PACKET_COUNT, &count);
    if (error != 0)
        return error;
    dap->packet_count = count < 1 ? 1 : count;
    if (count > CMSIS_DAP_MAX_IN_FLIGHT)
        dap->packet_count = CMSIS_DAP_MAX_IN_FLIGHT;
    return 0;
}

static int read_identity(struct cmsis_dap *dap)
{
    int error = info_number(dap, INFO_CAPABILITIES, &dap->caps);
    if (error == 0 && (dap->caps & (CMSIS_DAP_CAP_SWO_UART | CMSIS_DAP_CAP_SWO_MANCHESTER)) != 0)
        error = info_number(dap, INFO_SWO_BUFFER, &dap->swo_buffer);
    if (error == 0)
        error = info_text(dap, INFO_VENDOR, dap->vendor);
    if (error == 0)
        error = info_text(dap, INFO_PRODUCT, dap->product);
    if (error == 0)
        error = info_text(dap, INFO_SERIAL, dap->serial);
    if (error == 0)
        error = info_text(dap, INFO_PROTOCOL, dap->protocol);
    if (error == 0)
        error = info_text(dap, INFO_FIRMWARE, dap->firmware);
    if (error == 0 && (dap->caps & (CMSIS_DAP_CAP_SWD | CMSIS_DAP_CAP_JTAG)) == 0)
        error = BT_ERR_UNSUPPORTED;
    return error;
}

static bool size_allowed(uint16_t packet)
{
    return packet >= 8 && packet <= CMSIS_DAP_MAX_PACKET;
}

int cmsis_dap_open(struct cmsis_dap *dap, const struct usb_pipe *pipe,
                   enum cmsis_dap_transport transport)
{
    *dap = (struct cmsis_dap){.pipe = *pipe, .transport = transport};
    if (!size_allowed(pipe->out_packet) || !size_allowed(pipe->in_packet))
        return BT_ERR_INVAL;
    if (transport == CMSIS_DAP_HID && pipe->out_packet < CMSIS_DAP_MIN_PACKET)
        return BT_ERR_INVAL;
    dap->packet_size = pipe->out_packet; /* until the probe has told */
    dap->packet_count = 1;
    dap->timeout_ms = TIMEOUT_MS;
    cmsis_dap_drain(dap);
    int error = read_sizes(dap);
    if (error == 0)
        error = read_identity(dap);
    return error;
}

#define LIST_HEADER  3u /* command, index, count; the answer's header has this size too */
#define LIST_MAX     255u
#define BLOCK_HEADER 5u /* command, index, count (2), request */
#define BLOCK_ANSWER 4u /* command, count (2), ack */
#define BLOCK_MAX    65535u
#define ACK_BAD_LINE 0x08u

/* A packet that was sent and is not answered yet. */
struct packet {
    size_t first;
    unsigned count;
};

struct job {
    struct cmsis_dap *dap;
    struct debug_transfer *list; /* NULL: a block */
    uint32_t *words;             /* of a block */
    uint8_t request;             /* of a block */
    size_t count;
    struct debug_result *result;
    size_t next; /* first access that is not sent */
    bool failed; /* an answer was not OK: nothing more is sent */
    struct packet sent[CMSIS_DAP_MAX_IN_FLIGHT];
    unsigned oldest;
    unsigned in_flight;
};

static bool cmsis_dap_reads(const struct job *job, size_t index)
{
    return ((job->list ? job->list[index].request : job->request) & DEBUG_READ) != 0;
}

/* Put a packet together in dap->out. Returns its length. */
static size_t pack_list(struct job *job, struct packet *packet, bool *writes)
{
    struct cmsis_dap *dap = job->dap;
    size_t limit = cmsis_dap_command_limit(dap);
    size_t length = LIST_HEADER;
    size_t answer = LIST_HEADER;
    unsigned n = 0;
    *writes = false;
    while (n < LIST_MAX && job->next + n < job->count) {
        const struct debug_transfer *t = &job->list[job->next + n];
        bool read = cmsis_dap_reads(job, job->next + n);
        if (length + (read ? 1 : 5) > limit || answer + (read ? 4 : 0) > dap->packet_size)
            break;
        dap->out[length++] = t->request & (DEBUG_AP | DEBUG_READ | DEBUG_REG_MASK);
        if (read) {
            answer += 4;
        } else {
            bytes_set_word(dap->out + length, t->value);
            length += 4;
            *writes = true;
        }
        n++;
    }
    dap->out[0] = DAP_TRANSFER;
    dap->out[1] = dap->dap_index;
    dap->out[2] = (uint8_t)n;
    *packet = (struct packet){.first = job->next, .count = n};
    return length;
}

static size_t pack_block(struct job *job, struct packet *packet, bool *writes)
{
    struct cmsis_dap *dap = job->dap;
    bool read = cmsis_dap_reads(job, job->next);
    size_t room = read ? (dap->packet_size - BLOCK_ANSWER) / 4
                       : (cmsis_dap_command_limit(dap) - BLOCK_HEADER) / 4;
    size_t left = job->count - job->next;
    size_t n = left < room ? left : room;
    if (n > BLOCK_MAX)
        n = BLOCK_MAX;
    dap->out[0] = DAP_TRANSFER_BLOCK;
    dap->out[1] = dap->dap_index;
    bytes_set_half(dap->out + 2, (uint32_t)n);
    dap->out[4] = job->request & (DEBUG_AP | DEBUG_READ | DEBUG_REG_MASK);
    for (size_t k = 0; !read && k < n; k++)
        bytes_set_word(dap->out + BLOCK_HEADER + 4 * k, job->words[job->next + k]);
    *writes = !read;
    *packet = (struct packet){.first = job->next, .count = (unsigned)n};
    return BLOCK_HEADER + (read ? 0 : 4 * n);
}

/* Send the next packet if it may go now; *sent tells. */
static int send_next(struct job *job, bool *sent)
{
    struct packet packet;
    bool writes;
    *sent = false;
    if (job->failed || job->next == job->count || job->in_flight == job->dap->packet_count)
        return 0;
    size_t length =
        job->list ? pack_list(job, &packet, &writes) : pack_block(job, &packet, &writes);
    if (writes && job->in_flight > 0)
        return 0;
    int error = cmsis_dap_send(job->dap, length);
    if (error != 0)
        return error;
    job->sent[(job->oldest + job->in_flight) % CMSIS_DAP_MAX_IN_FLIGHT] = packet;
    job->in_flight++;
    job->next += packet.count;
    *sent = true;
    return 0;
}

/*
 * Take the values of `done` accesses. After a failure the last read that is counted may lack its
 * value: with bulk transfers the length tells, in a report of fixed size it is left out.
 * Returns how many accesses are good.
 */
static unsigned take_values(struct job *job, const struct packet *packet, unsigned done,
                            enum debug_ack ack, const uint8_t *data, size_t words)
{
    size_t used = 0;
    for (unsigned k = 0; k < done; k++) {
        size_t index = packet->first + k;
        if (!cmsis_dap_reads(job, index))
            continue;
        bool last_in_report =
            ack != DEBUG_ACK_OK && job->dap->transport == CMSIS_DAP_HID && k + 1 == done;
        if (used == words || last_in_report)
            return k;
        uint32_t value = bytes_word(data + 4 * used++);
        if (job->list)
            job->list[index].value = value;
        else
            job->words[index] = value;
    }
    return done;
}

static int take_answer(struct job *job)
{
    struct cmsis_dap *dap = job->dap;
    struct packet packet = job->sent[job->oldest];
    size_t header = job->list ? LIST_HEADER : BLOCK_ANSWER;
    size_t length;
    int error = cmsis_dap_receive(dap, job->list ? DAP_TRANSFER : DAP_TRANSFER_BLOCK, &length,
                                  cmsis_dap_wire_ms(dap, packet.count));
    if (error != 0) {
        dap->stale = true; /* answers to other packets may follow */
        return error;
    }
    job->oldest = (job->oldest + 1) % CMSIS_DAP_MAX_IN_FLIGHT;
    job->in_flight--;
    if (job->failed)
        return 0;
    unsigned done = length < header ? 0 : job->list ? dap->in[1] : bytes_half(dap->in + 1);
    if (length < header || done > packet.count) {
        dap->stale = true;
        return BT_ERR_FORMAT;
    }
    uint8_t answer = dap->in[header - 1];
    enum debug_ack ack = (answer & ACK_BAD_LINE) != 0 ? DEBUG_ACK_PROTOCOL : debug_ack_of(answer);
    unsigned good = take_values(job, &packet, done, ack, dap->in + header, (length - header) / 4);
    job->result->done = packet.first + good;
    if (ack == DEBUG_ACK_OK && good < packet.count)
        return BT_ERR_FORMAT; /* says OK, but has not done all of it */
    job->result->ack = ack;
    job->failed = ack != DEBUG_ACK_OK;
    return 0;
}

static int cmsis_dap_run(struct job *job)
{
    *job->result = (struct debug_result){.done = 0, .ack = DEBUG_ACK_OK};
    cmsis_dap_discard_rest(job->dap);
    while (job->in_flight > 0 || (!job->failed && job->next < job->count)) {
        bool sent;
        int error = send_next(job, &sent);
        if (error == 0 && !sent)
            error = take_answer(job);
        if (error != 0) {
            job->dap->stale = true;
            return error;
        }
    }
    return 0;
}

static int cmsis_dap_link_transfer(void *self, struct debug_transfer *list, size_t count,
                                   struct debug_result *result)
{
    struct job job = {.dap = self, .list = list, .count = count, .result = result};
    return cmsis_dap_run(&job);
}

/* The parts of the debug link that have a file of their own. */
static int cmsis_dap_link_block(void *self, uint8_t request, uint32_t *words, size_t count,
                                struct debug_result *result)
{
    struct job job = {
        .dap = self, .request = request, .words = words, .count = count, .result = result};
    return cmsis_dap_run(&job);
}

#define SEQUENCE_MAX_BITS 256u /* of one command; its count byte is 0 then */
#define MATCH_RETRIES     0u
#define CHAIN_MAX         16u

#define PORT_SWD  1u
#define PORT_JTAG 2u

static int dap_connect(void *self, enum debug_wire wire)
{
    struct cmsis_dap *dap = self;
    uint32_t need = wire == DEBUG_WIRE_SWD ? CMSIS_DAP_CAP_SWD : CMSIS_DAP_CAP_JTAG;
    uint8_t port = wire == DEBUG_WIRE_SWD ? PORT_SWD : PORT_JTAG;
    if ((dap->caps & need) == 0)
        return BT_ERR_UNSUPPORTED;
    const uint8_t command[] = {DAP_CONNECT, port};
    const uint8_t *answer;
    size_t length;
    int error = cmsis_dap_command(dap, command, sizeof command, &answer, &length);
    if (error != 0)
        return error;
    if (length < 2)
        return BT_ERR_FORMAT;
    if (answer[1] != port)
        return BT_ERR_UNSUPPORTED;
    /* One turnaround clock, no data phase after WAIT and FAULT. */
    const uint8_t configure[] = {DAP_SWD_CONFIGURE, 0};
    if (wire == DEBUG_WIRE_SWD)
        error = cmsis_dap_status(dap, configure, sizeof configure);
    if (error != 0)
        return error;
    /* A light that does not burn is no reason to fail. */
    const uint8_t light[] = {DAP_HOST_STATUS, 0, 1};
    error = cmsis_dap_status(dap, light, sizeof light);
    return error == BT_ERR_IO ? error : 0;
}

static int dap_disconnect(void *self)
{
    const uint8_t light[] = {DAP_HOST_STATUS, 0, 0};
    const uint8_t command[] = {DAP_DISCONNECT};
    (void)cmsis_dap_status(self, light, sizeof light);
    return cmsis_dap_status(self, command, sizeof command);
}

static int dap_set_clock(void *self, uint32_t hz)
{
    struct cmsis_dap *dap = self;
    uint8_t command[5] = {DAP_SWJ_CLOCK};
    if (hz == 0)
        return BT_ERR_INVAL;
    bytes_set_word(command + 1, hz);
    dap->clock_hz = hz;
    return cmsis_dap_status(dap, command, sizeof command);
}

static int dap_configure(void *self, uint8_t idle_clocks, uint16_t wait_retries)
{
    struct cmsis_dap *dap = self;
    uint8_t command[6] = {DAP_TRANSFER_CONFIGURE, idle_clocks};
    dap->retries = wait_retries;
    dap->idle_clocks = idle_clocks;
    bytes_set_half(command + 2, wait_retries);
    bytes_set_half(command + 4, MATCH_RETRIES);
    return cmsis_dap_status(dap, command, sizeof command);
}

/* Disconnect and Connect alone set pins up anew. */
static int dap_reconnect(void *self)
{
    struct cmsis_dap *dap = self;
    const uint8_t disconnect[] = {DAP_DISCONNECT};
    int error = cmsis_dap_status(dap, disconnect, sizeof disconnect);
    if (error == 0 || error == BT_ERR_UNSUPPORTED)
        error = dap_connect(dap, DEBUG_WIRE_SWD);
    if (error == 0 && dap->clock_hz != 0)
        error = dap_set_clock(dap, dap->clock_hz);
    return error != 0 ? error : dap_configure(dap, dap->idle_clocks, dap->retries);
}

/* Any number of bits: all but the last command have whole bytes. */
static int dap_sequence(void *self, unsigned bits, const uint8_t *bytes)
{
    struct cmsis_dap *dap = self;
    uint8_t command[2 + SEQUENCE_MAX_BITS / 8] = {DAP_SWJ_SEQUENCE};
    size_t room = cmsis_dap_command_limit(dap) - 2;
    unsigned most = room < SEQUENCE_MAX_BITS / 8 ? (unsigned)room * 8 : SEQUENCE_MAX_BITS;
    while (bits > 0) {
        unsigned now = bits < most ? bits : most;
        size_t size = (now + 7) / 8;
        command[1] = (uint8_t)now;
        memcpy(command + 2, bytes, size);
        int error = cmsis_dap_status(dap, command, 2 + size);
        if (error != 0)
            return error;
        bits -= now;
        bytes += size;
    }
    return 0;
}

/* Without a wait: there is firmware that takes its microseconds for milliseconds, and a probe that
 * waits answers nothing else. */
static int dap_pins(void *self, uint8_t output, uint8_t select, uint8_t *input)
{
    const uint8_t command[7] = {DAP_SWJ_PINS, output, select};
    const uint8_t *answer;
    size_t length;
    int error = cmsis_dap_command(self, command, sizeof command, &answer, &length);
    if (error != 0)
        return error;
    if (length < 2)
        return BT_ERR_FORMAT;
    *input = answer[1];
    return 0;
}

static int dap_jtag_chain(void *self, const uint8_t *ir_lengths, unsigned count, unsigned index)
{
    struct cmsis_dap *dap = self;
    uint8_t command[2 + CHAIN_MAX] = {DAP_JTAG_CONFIGURE, (uint8_t)count};
    if (count == 0 || count > CHAIN_MAX || index >= count)
        return BT_ERR_INVAL;
    memcpy(command + 2, ir_lengths, count);
    int error = cmsis_dap_status(dap, command, 2 + count);
    if (error == 0)
        dap->dap_index = (uint8_t)index;
    return error;
}

static const struct debug_link_ops LINK_OPS = {
    .connect = dap_connect,
    .disconnect = dap_disconnect,
    .set_clock = dap_set_clock,
    .configure = dap_configure,
    .sequence = dap_sequence,
    .reconnect = dap_reconnect,
    .pins = dap_pins,
    .jtag_chain = dap_jtag_chain,
    .transfer = cmsis_dap_link_transfer,
    .block = cmsis_dap_link_block,
};

struct debug_link cmsis_dap_link(struct cmsis_dap *dap)
{
    struct debug_link link = {.ops = &LINK_OPS, .self = dap};
    if ((dap->caps & CMSIS_DAP_CAP_SWD) != 0)
        link.caps |= DEBUG_LINK_SWD;
    if ((dap->caps & CMSIS_DAP_CAP_JTAG) != 0)
        link.caps |= DEBUG_LINK_JTAG;
    return link;
}
