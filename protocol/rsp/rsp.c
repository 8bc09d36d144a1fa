/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/rsp.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_START    '$'
#define FRAME_END      '#'
#define FRAME_ESCAPE   '}'
#define FRAME_REPEAT   '*'
#define ESCAPE_FLIP    0x20
#define CHECKSUM_CHARS 2

/* The count of a run is one printable character: this much more than the repetitions. */
#define REPEAT_BIAS 29
#define REPEAT_MIN  ' '
#define REPEAT_MAX  '~'

/* More refusals of one frame than this mean that the peer will never take it. */
#define RESENDS_MAX 16

/* More damaged frames than this, one after the other, will not get better. */
#define DAMAGED_MAX 16

int rsp_receiver_init(struct rsp_receiver *r, size_t limit)
{
    *r = (struct rsp_receiver){.limit = limit};
    r->payload = malloc(limit + 1);
    if (!r->payload)
        return BT_ERR_NOMEM;
    r->payload[0] = '\0';
    return BT_OK;
}

void rsp_receiver_release(struct rsp_receiver *r)
{
    free(r->payload);
    *r = (struct rsp_receiver){0};
}

static void receiver_reset(struct rsp_receiver *r)
{
    r->state = RSP_STATE_IDLE;
    r->payload_len = 0;
    r->payload[0] = '\0';
}

static void frame_begin(struct rsp_receiver *r)
{
    r->payload_len = 0;
    r->sum = 0;
    r->wanted = 0;
    r->bad = false;
    r->oversize = false;
    r->state = RSP_STATE_PAYLOAD;
}

static void frame_store(struct rsp_receiver *r, uint8_t byte)
{
    if (r->payload_len < r->limit)
        r->payload[r->payload_len++] = (char)byte;
    else
        r->oversize = true;
}

static enum rsp_event receiver_take_idle(struct rsp_receiver *r, uint8_t byte)
{
    switch (byte) {
    case FRAME_START:
        frame_begin(r);
        return RSP_NONE;
    case '+':
        return RSP_ACK;
    case '-':
        return RSP_NAK;
    case RSP_INTERRUPT:
        return RSP_BREAK;
    default:
        return RSP_NONE;
    }
}

/* The byte before the '*' comes `count` times more. */
static void frame_repeat(struct rsp_receiver *r, uint8_t count)
{
    r->state = RSP_STATE_PAYLOAD;
    if (r->payload_len == 0 || count < REPEAT_MIN || count > REPEAT_MAX) {
        r->bad = true;
        return;
    }
    uint8_t byte = (uint8_t)r->payload[r->payload_len - 1];
    for (unsigned i = count - REPEAT_BIAS; i > 0; i--)
        frame_store(r, byte);
}

/* Inside a frame 0x03 is data: GDB sends it unescaped in X packets. */
static void frame_take_payload(struct rsp_receiver *r, uint8_t byte)
{
    if (byte == FRAME_START) {
        frame_begin(r);
        return;
    }
    if (byte == FRAME_END) {
        r->bad = r->bad || r->state != RSP_STATE_PAYLOAD;
        r->state = RSP_STATE_CHECKSUM1;
        return;
    }
    r->sum += byte;
    if (r->state == RSP_STATE_ESCAPE) {
        frame_store(r, byte ^ ESCAPE_FLIP);
        r->state = RSP_STATE_PAYLOAD;
    } else if (r->state == RSP_STATE_REPEAT) {
        frame_repeat(r, byte);
    } else if (byte == FRAME_ESCAPE) {
        r->state = RSP_STATE_ESCAPE;
    } else if (byte == FRAME_REPEAT && r->expand) {
        r->state = RSP_STATE_REPEAT;
    } else {
        frame_store(r, byte);
    }
}

static enum rsp_event frame_end_event(struct rsp_receiver *r)
{
    r->state = RSP_STATE_IDLE;
    r->payload[r->payload_len] = '\0';
    if (r->bad || r->sum != r->wanted)
        return RSP_BAD;
    return r->oversize ? RSP_OVERSIZE : RSP_PACKET;
}

static enum rsp_event frame_take_checksum(struct rsp_receiver *r, int digit)
{
    r->wanted = (uint8_t)(r->wanted << 4 | digit);
    if (r->state == RSP_STATE_CHECKSUM2)
        return frame_end_event(r);
    r->state = RSP_STATE_CHECKSUM2;
    return RSP_NONE;
}

enum rsp_event rsp_receive(struct rsp_receiver *r, const uint8_t **bytes, size_t *len)
{
    enum rsp_event event = RSP_NONE;
    while (*len > 0 && event == RSP_NONE) {
        uint8_t byte = **bytes;
        if (r->state >= RSP_STATE_CHECKSUM1 && text_hex_digit((char)byte) < 0) {
            /* The byte stays: a '$' here begins the next frame. */
            r->bad = true;
            return frame_end_event(r);
        }
        (*bytes)++;
        (*len)--;
        if (r->state == RSP_STATE_IDLE)
            event = receiver_take_idle(r, byte);
        else if (r->state < RSP_STATE_CHECKSUM1)
            frame_take_payload(r, byte);
        else
            event = frame_take_checksum(r, text_hex_digit((char)byte));
    }
    return event;
}

void rsp_sender_init(struct rsp_sender *s, rsp_write_fn write, void *write_ctx)
{
    *s = (struct rsp_sender){.write = write, .write_ctx = write_ctx};
    text_buf_init(&s->queue);
}

static void sender_reset(struct rsp_sender *s)
{
    text_buf_clear(&s->queue);
    s->resends = 0;
    s->no_ack = false;
}

static bool payload_needs_escape(char c)
{
    return c == FRAME_START || c == FRAME_END || c == FRAME_ESCAPE || c == FRAME_REPEAT;
}

/* Documents of a history have megabytes, and hardly anything in them needs an escape: eight bytes
 * at a time are enough to see that. */
#define WORD      sizeof(uint64_t)
#define EACH_BYTE UINT64_C(0x0101010101010101)
#define HIGH_BITS (EACH_BYTE << 7)
#define PAIR_LOW  UINT64_C(0x00ff00ff00ff00ff)

/* Not 0 if one of the eight bytes is `c`. */
static inline uint64_t word_has_byte(uint64_t word, char c)
{
    uint64_t zero_if = word ^ EACH_BYTE * (uint8_t)c;
    return (zero_if - EACH_BYTE) & ~zero_if & HIGH_BITS;
}

static inline uint64_t payload_word_at(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, WORD);
    return word;
}

/* Bytes before the first one that needs an escape. */
static size_t payload_plain_len(const char *bytes, size_t len)
{
    size_t i = 0;
    for (; i + WORD <= len; i += WORD) {
        uint64_t word = payload_word_at(bytes + i);
        if (word_has_byte(word, FRAME_START) | word_has_byte(word, FRAME_END) |
            word_has_byte(word, FRAME_ESCAPE) | word_has_byte(word, FRAME_REPEAT))
            break;
    }
    while (i < len && !payload_needs_escape(bytes[i]))
        i++;
    return i;
}

/* Appends payload bytes with escapes; runs without any in one piece. */
static void payload_add_escaped(struct text_buf *b, const char *payload, size_t len)
{
    for (;;) {
        size_t plain = payload_plain_len(payload, len);
        text_buf_add(b, payload, plain);
        if (plain == len)
            return;
        text_buf_putc(b, FRAME_ESCAPE);
        text_buf_putc(b, (char)(payload[plain] ^ ESCAPE_FLIP));
        payload += plain + 1;
        len -= plain + 1;
    }
}

/* Sums of pairs of bytes do not run over within 64 words: 4 * 64 sums of 2 * 255. */
static uint8_t payload_sum(const char *bytes, size_t len)
{
    uint64_t sum = 0;
    while (len >= WORD) {
        size_t words = len / WORD < 64 ? len / WORD : 64;
        uint64_t pairs = 0;
        for (size_t i = 0; i < words; i++) {
            uint64_t word = payload_word_at(bytes + WORD * i);
            pairs += (word & PAIR_LOW) + (word >> 8 & PAIR_LOW);
        }
        sum += pairs + (pairs >> 16) + (pairs >> 32) + (pairs >> 48);
        bytes += WORD * words;
        len -= WORD * words;
    }
    for (size_t i = 0; i < len; i++)
        sum += (uint8_t)bytes[i];
    return (uint8_t)sum;
}

/* Length of the first frame of the queue: a '#' inside of one is escaped. */
static size_t sender_head_len(const struct rsp_sender *s)
{
    if (s->queue.len == 0)
        return 0;
    const char *end = memchr(s->queue.data, FRAME_END, s->queue.len);
    return (size_t)(end - s->queue.data) + 1 + CHECKSUM_CHARS;
}

static void sender_write_head(struct rsp_sender *s)
{
    if (s->queue.len > 0)
        s->write(s->write_ctx, s->queue.data, sender_head_len(s));
}

int rsp_send(struct rsp_sender *s, const void *payload, size_t len)
{
    size_t start = s->queue.len;
    text_buf_putc(&s->queue, FRAME_START);
    payload_add_escaped(&s->queue, payload, len);
    if (text_buf_error(&s->queue) == BT_OK) {
        uint8_t sum = payload_sum(s->queue.data + start + 1, s->queue.len - start - 1);
        text_buf_putc(&s->queue, FRAME_END);
        text_buf_hex(&s->queue, &sum, 1);
    }
    if (text_buf_error(&s->queue) < 0) {
        text_buf_clear(&s->queue);
        return BT_ERR_NOMEM;
    }
    if (s->no_ack) {
        s->write(s->write_ctx, s->queue.data, s->queue.len);
        text_buf_clear(&s->queue);
    } else if (start == 0) {
        s->resends = 0;
        sender_write_head(s);
    }
    return BT_OK;
}

void rsp_send_ack(struct rsp_sender *s, bool good)
{
    if (!s->no_ack)
        s->write(s->write_ctx, good ? "+" : "-", 1);
}

void rsp_sender_acked(struct rsp_sender *s)
{
    text_buf_drop(&s->queue, sender_head_len(s));
    s->resends = 0;
    sender_write_head(s);
}

int rsp_sender_nacked(struct rsp_sender *s)
{
    if (s->queue.len == 0)
        return BT_OK;
    if (++s->resends > RESENDS_MAX)
        return BT_ERR_IO;
    sender_write_head(s);
    return BT_OK;
}

void rsp_sender_implied_ack(struct rsp_sender *s)
{
    size_t head = sender_head_len(s);
    if (s->queue.len > head)
        s->write(s->write_ctx, s->queue.data + head, s->queue.len - head);
    text_buf_clear(&s->queue);
}

void rsp_sender_set_no_ack(struct rsp_sender *s)
{
    rsp_sender_implied_ack(s);
    s->no_ack = true;
}

/* GDB's end of a connection. */

int gdb_link_init(struct gdb_link *l, size_t limit, const struct gdb_link_events *events, void *ctx,
                  rsp_write_fn write, void *write_ctx)
{
    *l = (struct gdb_link){.events = events, .ctx = ctx};
    if (rsp_receiver_init(&l->receiver, limit) < 0)
        return BT_ERR_NOMEM;
    l->receiver.expand = true;
    rsp_sender_init(&l->sender, write, write_ctx);
    return BT_OK;
}

void gdb_link_release(struct gdb_link *l)
{
    rsp_receiver_release(&l->receiver);
    rsp_sender_release(&l->sender);
}

void gdb_link_open(struct gdb_link *l)
{
    receiver_reset(&l->receiver);
    sender_reset(&l->sender);
    l->open = true;
    l->greeted = false;
    l->damaged = 0;
    l->epoch++;
}

static void link_give_up(struct gdb_link *l, int error)
{
    gdb_link_close(l);
    l->events->broken(l->ctx, error);
}

/*
 * In ack mode a frame that comes before the '+' of the last request is not its reply but
 * something older: acknowledged and dropped, as GDB does (a server that was running when the
 * connection came reports the stop).
 */
static bool link_is_stale(const struct gdb_link *l)
{
    return !l->sender.no_ack && l->sender.queue.len > 0;
}

static void link_take_packet(struct gdb_link *l, bool oversize)
{
    bool stale = link_is_stale(l);
    l->damaged = 0;
    rsp_send_ack(&l->sender, true);
    if (!l->open || stale)
        return;
    l->events->packet(l->ctx, oversize ? NULL : l->receiver.payload, l->receiver.payload_len);
}

/* Without acknowledgements nothing brings the frame again: what follows would not fit. */
static void link_take_damaged(struct gdb_link *l)
{
    if (l->sender.no_ack || ++l->damaged > DAMAGED_MAX)
        link_give_up(l, BT_ERR_IO);
    else
        rsp_send_ack(&l->sender, false);
}

static void link_take_event(struct gdb_link *l, enum rsp_event event)
{
    switch (event) {
    case RSP_PACKET:
    case RSP_OVERSIZE:
        link_take_packet(l, event == RSP_OVERSIZE);
        break;
    case RSP_BAD:
        link_take_damaged(l);
        break;
    case RSP_ACK:
        rsp_sender_acked(&l->sender);
        break;
    case RSP_NAK:
        if (rsp_sender_nacked(&l->sender) < 0)
            link_give_up(l, BT_ERR_IO);
        break;
    case RSP_BREAK:
    case RSP_NONE:
        break;
    }
}

/* A web server or a shell begins with neither a frame nor an acknowledgement. */
static bool link_is_greeting(uint8_t byte)
{
    return byte == '+' || byte == '-' || byte == '$';
}

void gdb_link_input(struct gdb_link *l, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    unsigned epoch = l->epoch;
    if (l->open && !l->greeted && len > 0) {
        l->greeted = true;
        if (!link_is_greeting(*at))
            link_give_up(l, BT_ERR_FORMAT);
    }
    while (len > 0 && l->open && l->epoch == epoch)
        link_take_event(l, rsp_receive(&l->receiver, &at, &len));
}

int gdb_link_send(struct gdb_link *l, const void *payload, size_t len)
{
    if (!l->open)
        return BT_ERR_IO;
    return rsp_send(&l->sender, payload, len);
}

void gdb_link_interrupt(struct gdb_link *l)
{
    static const char interrupt[] = {RSP_INTERRUPT};
    if (l->open)
        l->sender.write(l->sender.write_ctx, interrupt, sizeof(interrupt));
}
