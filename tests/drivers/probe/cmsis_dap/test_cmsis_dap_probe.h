/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CMSIS-DAP probe as a pipe, for tests of the driver: it answers packet by packet and checks that
 * the driver keeps the limits it was told. Its target is 16 registers and a count.
 */
#ifndef TESTS_UNIT_TEST_CMSIS_DAP_PROBE_H
#define TESTS_UNIT_TEST_CMSIS_DAP_PROBE_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/probe/cmsis_dap/cmsis_dap.h"

#define PROBE_QUEUE 64u

struct answer {
    uint8_t bytes[2048];
    size_t length;
};

struct probe {
    bool hid;
    uint16_t packet_size;
    uint8_t packet_count;
    uint16_t usb_packet;
    uint8_t caps;
    bool full_packets_only;
    struct answer queue[PROBE_QUEUE];
    unsigned head;
    unsigned waiting;
    unsigned most_waiting;
    unsigned commands;
    uint8_t last[2048];
    size_t last_length;
    /* The target: registers by (AP, A[3:2]); AP reads of DRW count up. */
    uint32_t regs[8];
    uint32_t counter;
    unsigned accesses;
    unsigned writes;
    unsigned fail_at; /* access number, from 1 */
    uint8_t fail_ack;
    bool sticky;       /* go on failing */
    bool short_posted; /* on failure the last read that is counted has no value */
    /* Sequences and pins as received. */
    unsigned sequence_bits;
    uint8_t sequence_first;
    uint8_t clock[4];
    bool no_connect;
    /* SWO. */
    uint8_t swo[4096];
    size_t swo_length;
    size_t swo_next;
    uint8_t swo_status;
    uint32_t swo_baud;
    bool swo_on;
    uint8_t swo_transport;
    /* Mischief: change the answer to command number `spoil_at`. */
    unsigned spoil_at;
    void (*spoil)(struct answer *a);
    bool gone;
    bool silent;
    unsigned late_ms;   /* the first answer is */
    unsigned waited_ms; /* for answers that did not come */
};

static inline uint32_t probe_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void probe_put32(uint8_t *p, uint32_t v)
{
    for (unsigned k = 0; k < 4; k++)
        p[k] = (uint8_t)(v >> 8 * k);
}

static inline void probe_info(struct probe *p, uint8_t id, struct answer *a)
{
    const char *text = NULL;
    a->bytes[1] = 0;
    a->length = 2;
    if (id == 0x01)
        text = "ACME";
    if (id == 0x02)
        text = "Probe\x01 CMSIS-DAP";
    if (id == 0x04)
        text = "2.1.0";
    if (text) {
        a->bytes[1] = (uint8_t)(strlen(text) + 1);
        memcpy(a->bytes + 2, text, strlen(text) + 1);
    } else if (id == 0xf0) {
        a->bytes[1] = 1;
        a->bytes[2] = p->caps;
    } else if (id == 0xfd) {
        a->bytes[1] = 4;
        probe_put32(a->bytes + 2, 4096);
    } else if (id == 0xfe) {
        a->bytes[1] = 1;
        a->bytes[2] = p->packet_count;
    } else if (id == 0xff) {
        a->bytes[1] = 2;
        a->bytes[2] = (uint8_t)p->packet_size;
        a->bytes[3] = (uint8_t)(p->packet_size >> 8);
    }
    a->length = 2 + a->bytes[1];
}

/* Returns the ack. */
static inline uint8_t probe_access(struct probe *p, uint8_t request, uint32_t *value)
{
    unsigned reg = (request & 1) * 4 + (request >> 2 & 3);
    p->accesses++;
    if (p->fail_at != 0 && (p->accesses == p->fail_at || (p->sticky && p->accesses > p->fail_at)))
        return p->fail_ack;
    if ((request & 2) == 0) {
        p->regs[reg] = *value;
        p->writes++;
        if (reg == 7)
            p->counter += *value;
    } else {
        *value = reg == 7 ? p->counter++ : p->regs[reg];
    }
    return 1;
}

static inline void probe_transfer(struct probe *p, const uint8_t *c, size_t length,
                                  struct answer *a, bool block)
{
    unsigned count = block ? (unsigned)(c[2] | c[3] << 8) : c[2];
    size_t at = block ? 5 : 3;
    size_t header = block ? 4 : 3;
    uint8_t ack = 1;
    unsigned done = 0;
    a->length = header;
    while (done < count && ack == 1) {
        uint8_t request = block ? c[4] : c[at++];
        uint32_t value = 0;
        ck_assert_uint_lt(at, length + 1);
        if ((request & 2) == 0) {
            ck_assert_uint_le(at + 4, length);
            value = probe_get32(c + at);
            at += 4;
        }
        ack = probe_access(p, request, &value);
        if (ack == 1 && (request & 2) != 0) {
            ck_assert_uint_le(a->length + 4, p->packet_size);
            probe_put32(a->bytes + a->length, value);
            a->length += 4;
        }
        if (ack == 1)
            done++;
        else if (p->short_posted && a->length > header)
            a->length -= 4;
    }
    a->bytes[1] = (uint8_t)done;
    if (block)
        a->bytes[2] = (uint8_t)(done >> 8);
    a->bytes[header - 1] = ack;
}

static inline void probe_swo_data(struct probe *p, const uint8_t *c, struct answer *a)
{
    size_t n = (size_t)(c[1] | c[2] << 8);
    if (n > p->swo_length - p->swo_next)
        n = p->swo_length - p->swo_next;
    a->bytes[1] = p->swo_status;
    a->bytes[2] = (uint8_t)n;
    a->bytes[3] = (uint8_t)(n >> 8);
    memcpy(a->bytes + 4, p->swo + p->swo_next, n);
    p->swo_next += n;
    p->swo_status &= 1;
    a->length = 4 + n;
}

static inline void probe_command(struct probe *p, const uint8_t *c, size_t length, struct answer *a)
{
    a->bytes[0] = c[0];
    a->bytes[1] = 0;
    a->length = 2;
    switch (c[0]) {
    case 0x00:
        probe_info(p, c[1], a);
        break;
    case 0x02:
        a->bytes[1] = p->no_connect ? 0 : c[1];
        break;
    case 0x05:
    case 0x06:
        probe_transfer(p, c, length, a, c[0] == 6);
        break;
    case 0x10:
        a->bytes[1] = (uint8_t)(c[1] ^ 0x0f);
        break;
    case 0x11:
        memcpy(p->clock, c + 1, 4);
        break;
    case 0x12:
        p->sequence_bits += c[1] ? c[1] : 256;
        p->sequence_first = c[2];
        break;
    case 0x17:
        p->swo_transport = c[1];
        break;
    case 0x19:
        probe_put32(a->bytes + 1, p->swo_baud);
        a->length = 5;
        break;
    case 0x1a:
        p->swo_on = c[1] != 0;
        if (p->swo_on)
            p->swo_next = p->swo_length;
        break;
    case 0x1b:
        a->bytes[1] = p->swo_status;
        p->swo_status &= 1;
        probe_put32(a->bytes + 2, (uint32_t)(p->swo_length - p->swo_next));
        a->length = 6;
        break;
    case 0x1c:
        probe_swo_data(p, c, a);
        break;
    case 0x01:
    case 0x03:
    case 0x04:
    case 0x13:
    case 0x15:
    case 0x18:
        break;
    default:
        a->bytes[0] = 0xff;
        a->length = 1;
    }
}

static inline int probe_send(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    struct probe *p = self;
    (void)timeout_ms;
    if (p->gone)
        return BT_ERR_IO;
    ck_assert_uint_le(length, p->packet_size);
    if (p->hid)
        ck_assert_uint_eq(length, p->usb_packet);
    if (p->full_packets_only && length != p->packet_size)
        return 0;
    if (!p->hid && length < p->packet_size)
        ck_assert_uint_ne(length % p->usb_packet, 0); /* no zero-length packet is ever due */
    ck_assert_uint_lt(p->waiting, p->packet_count);
    memcpy(p->last, data, length);
    p->last_length = length;
    p->commands++;
    if (p->silent)
        return 0;
    struct answer *a = &p->queue[(p->head + p->waiting) % PROBE_QUEUE];
    memset(a, 0, sizeof *a);
    probe_command(p, data, length, a);
    if (p->spoil && p->commands == p->spoil_at)
        p->spoil(a);
    if (p->hid)
        a->length = p->usb_packet;
    p->waiting++;
    if (p->waiting > p->most_waiting)
        p->most_waiting = p->waiting;
    return 0;
}

static inline int probe_receive(void *self, uint8_t *data, size_t capacity, size_t *length,
                                unsigned timeout_ms)
{
    struct probe *p = self;
    if (p->gone)
        return BT_ERR_IO;
    ck_assert_uint_eq(capacity % p->usb_packet, 0);
    if (p->waiting == 0 || p->late_ms > timeout_ms) {
        p->late_ms -= p->late_ms > timeout_ms ? timeout_ms : 0;
        p->waited_ms += timeout_ms;
        return USB_TIMED_OUT;
    }
    p->late_ms = 0;
    struct answer *a = &p->queue[p->head];
    ck_assert_uint_le(a->length, capacity);
    memcpy(data, a->bytes, a->length);
    *length = a->length;
    p->head = (p->head + 1) % PROBE_QUEUE;
    p->waiting--;
    return 0;
}

static inline struct probe *probe_new(bool hid, uint16_t usb_packet, uint16_t packet_size,
                                      uint8_t packet_count)
{
    struct probe *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    p->hid = hid;
    p->usb_packet = usb_packet;
    p->packet_size = packet_size;
    p->packet_count = packet_count;
    p->caps = CMSIS_DAP_CAP_SWD | CMSIS_DAP_CAP_SWO_UART | CMSIS_DAP_CAP_SWO_STREAM;
    return p;
}

static inline int probe_open(struct probe *p, struct cmsis_dap *dap)
{
    static const struct usb_pipe_ops OPS = {.send = probe_send, .receive = probe_receive};
    const struct usb_pipe pipe = {
        .ops = &OPS, .self = p, .out_packet = p->usb_packet, .in_packet = p->usb_packet};
    return cmsis_dap_open(dap, &pipe, p->hid ? CMSIS_DAP_HID : CMSIS_DAP_BULK);
}

#endif
