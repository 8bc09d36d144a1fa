/* SPDX-License-Identifier: BSD-3-Clause */
#include "usbip_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CMD_SUBMIT = 1,
    CMD_UNLINK = 2,
    RET_SUBMIT = 3,
    RET_UNLINK = 4,
};

/* Words of a header. */
enum {
    WORD_COMMAND,
    WORD_SEQUENCE,
    WORD_DEVICE,
    WORD_DIRECTION,
    WORD_ENDPOINT,
    WORD_FLAGS, /* of an unlink: the sequence number of its transfer */
    WORD_LENGTH,
    BYTE_SETUP = 40,
};
/* Of a reply. */
enum {
    WORD_STATUS = 5,
    WORD_ACTUAL = 6,
};

static uint32_t get_word(const uint8_t *header, unsigned word)
{
    const uint8_t *p = header + 4 * word;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_word(uint8_t *header, unsigned word, uint32_t value)
{
    uint8_t *p = header + 4 * word;
    p[0] = (uint8_t)(value >> 24);
    p[1] = (uint8_t)(value >> 16);
    p[2] = (uint8_t)(value >> 8);
    p[3] = (uint8_t)value;
}

int usbip_server_init(struct usbip_server *s, struct usb_device *device,
                      void (*send)(void *ctx, const uint8_t *bytes, size_t size), void *ctx)
{
    memset(s, 0, sizeof *s);
    s->device = device;
    s->send = send;
    s->ctx = ctx;
    s->input = malloc(USBIP_HEADER + USBIP_MAX_TRANSFER);
    s->reply = malloc(USBIP_HEADER + USBIP_MAX_TRANSFER);
    return s->input && s->reply ? 0 : -1;
}

void usbip_server_release(struct usbip_server *s)
{
    usbip_server_reset(s);
    free(s->input);
    free(s->reply);
    s->input = s->reply = NULL;
}

static void forget(struct usbip_server *s, size_t index)
{
    const struct usbip_waiting *w = &s->waiting[index];
    if (!w->data)
        usb_device_unqueue(s->device, w->endpoint, w->length);
    free(w->data);
    s->waiting_count--;
    memmove(s->waiting + index, s->waiting + index + 1,
            (s->waiting_count - index) * sizeof *s->waiting);
}

void usbip_server_reset(struct usbip_server *s)
{
    while (s->waiting_count)
        forget(s, s->waiting_count - 1);
    s->used = 0;
}

/* `data` bytes are in the reply already; those of an OUT transfer are only counted. */
static void reply(struct usbip_server *s, uint32_t command, uint32_t sequence, int status,
                  uint32_t actual, size_t data)
{
    memset(s->reply, 0, USBIP_HEADER);
    put_word(s->reply, WORD_COMMAND, command);
    put_word(s->reply, WORD_SEQUENCE, sequence);
    put_word(s->reply, WORD_STATUS, (uint32_t)status);
    if (command == RET_SUBMIT)
        put_word(s->reply, WORD_ACTUAL, actual);
    s->send(s->ctx, s->reply, USBIP_HEADER + data);
}

static void control(struct usbip_server *s, const uint8_t *header, uint32_t length)
{
    const uint8_t *setup = header + BYTE_SETUP;
    uint8_t *data = s->reply + USBIP_HEADER;
    bool in = setup[0] & 0x80;
    size_t actual = 0;
    int status = -EPIPE;
    if ((uint32_t)(setup[6] | setup[7] << 8) <= length) {
        if (!in)
            memcpy(data, header + USBIP_HEADER, length);
        status = usb_device_control(s->device, setup, data, &actual);
    }
    reply(s, RET_SUBMIT, get_word(header, WORD_SEQUENCE), status, (uint32_t)actual,
          in ? actual : 0);
}

static int submit(struct usbip_server *s, const uint8_t *header)
{
    uint32_t sequence = get_word(header, WORD_SEQUENCE);
    uint32_t length = get_word(header, WORD_LENGTH);
    uint32_t number = get_word(header, WORD_ENDPOINT);
    bool in = get_word(header, WORD_DIRECTION) != 0;
    if (number == 0) {
        control(s, header, length);
    } else {
        struct usbip_waiting w = {.sequence = sequence, .length = length};
        w.endpoint = (uint8_t)(in ? 0x80 | number : number);
        if (s->waiting_count == USBIP_MAX_WAITING || (!in && !(w.data = malloc(length + 1))))
            return -1;
        if (w.data)
            memcpy(w.data, header + USBIP_HEADER, length);
        else
            usb_device_queue(s->device, w.endpoint, length);
        s->waiting[s->waiting_count++] = w;
    }
    usbip_server_poll(s);
    return 0;
}

/* A transfer that has ended already cannot be taken back: status 0. */
static void unlink_transfer(struct usbip_server *s, const uint8_t *header)
{
    uint32_t wanted = get_word(header, WORD_FLAGS);
    int status = 0;
    for (size_t i = 0; i < s->waiting_count; i++) {
        if (s->waiting[i].sequence == wanted) {
            forget(s, i);
            status = -ECONNRESET;
            break;
        }
    }
    reply(s, RET_UNLINK, get_word(header, WORD_SEQUENCE), status, 0, 0);
}

/* Bytes that belong to the message in the buffer; 0: it makes no sense. */
static size_t message_size(const struct usbip_server *s)
{
    uint32_t command = get_word(s->input, WORD_COMMAND);
    uint32_t length = get_word(s->input, WORD_LENGTH);
    if (command == CMD_UNLINK)
        return USBIP_HEADER;
    if (command != CMD_SUBMIT || length > USBIP_MAX_TRANSFER ||
        get_word(s->input, WORD_ENDPOINT) > 15 || get_word(s->input, WORD_DIRECTION) > 1)
        return 0;
    return USBIP_HEADER + (get_word(s->input, WORD_DIRECTION) ? 0 : length);
}

int usbip_server_input(struct usbip_server *s, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t want = s->used < USBIP_HEADER ? USBIP_HEADER : message_size(s);
        size_t n = want - s->used < size ? want - s->used : size;
        memcpy(s->input + s->used, bytes, n);
        s->used += n;
        bytes += n;
        size -= n;
        if (s->used < USBIP_HEADER)
            return 0;
        want = message_size(s);
        if (want == 0)
            return -1;
        if (s->used < want)
            continue;
        s->used = 0;
        if (get_word(s->input, WORD_COMMAND) == CMD_UNLINK)
            unlink_transfer(s, s->input);
        else if (submit(s, s->input) < 0)
            return -1;
    }
    return 0;
}

/* Lets the device go on with a transfer: its status, USB_DEVICE_WAIT when it has not ended. */
static int go_on(struct usbip_server *s, struct usbip_waiting *w, size_t *actual)
{
    if (!w->data)
        return usb_device_in(s->device, w->endpoint, s->reply + USBIP_HEADER, w->length, actual);
    int status = usb_device_out(s->device, w->endpoint, w->data, w->length, &w->taken);
    *actual = w->taken;
    return status;
}

/* One look at all that waits. True: something moved, which may let others go on. */
static bool look(struct usbip_server *s)
{
    bool blocked[256] = {false};
    bool moved = false;
    size_t i = 0;
    while (i < s->waiting_count) {
        struct usbip_waiting *w = &s->waiting[i];
        uint32_t sequence = w->sequence;
        size_t before = w->taken;
        bool in = !w->data;
        size_t actual = 0;
        int status = blocked[w->endpoint] ? USB_DEVICE_WAIT : go_on(s, w, &actual);
        moved |= status != USB_DEVICE_WAIT || w->taken != before;
        if (status == USB_DEVICE_WAIT) {
            blocked[w->endpoint] = true; /* transfers of an endpoint end in order */
            i++;
            continue;
        }
        forget(s, i);
        reply(s, RET_SUBMIT, sequence, status, (uint32_t)actual, in ? actual : 0);
    }
    return moved;
}

bool usbip_server_poll(struct usbip_server *s)
{
    unsigned still = 0;
    /* An IN transfer that got its first packets still waits, but a device with full buffers can go
     * on: that shows in the next look. */
    while (still < 2)
        still = look(s) ? 0 : still + 1;
    return s->waiting_count > 0;
}
