/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CMSIS-DAP probe that lies: its answers are taken from the input. First byte: transport and USB
 * packet size; then answers: a control byte, a length byte, bytes. The control byte tells whether
 * the command's number is put first, whether nothing comes,
 * and whether the probe is gone. */
#include <stdlib.h>
#include <string.h>

#include "drivers/probe/cmsis_dap/cmsis_dap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *next;
    const uint8_t *end;
    uint8_t commands[64]; /* numbers of the commands that wait for an answer */
    unsigned head;
    unsigned waiting;
};

static int send_packet(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    struct input *in = self;
    (void)timeout_ms;
    if (length == 0 || length > CMSIS_DAP_MAX_PACKET)
        abort();
    if (in->next >= in->end)
        return BT_ERR_IO;
    if (in->waiting < 64)
        in->commands[(in->head + in->waiting++) % 64] = data[0];
    return 0;
}

static int receive_packet(void *self, uint8_t *data, size_t capacity, size_t *length,
                          unsigned timeout_ms)
{
    struct input *in = self;
    (void)timeout_ms;
    if (in->end - in->next < 2)
        return BT_ERR_IO;
    uint8_t control = in->next[0];
    size_t n = in->next[1] + (control & 0x10 ? 256u : 0);
    in->next += 2;
    if ((control & 0x0f) == 1)
        return USB_TIMED_OUT;
    if ((control & 0x0f) == 2)
        return BT_ERR_IO;
    size_t have = (size_t)(in->end - in->next);
    size_t take = n < have ? n : have;
    if (n > capacity)
        n = capacity;
    memset(data, 0, n);
    memcpy(data, in->next, take < n ? take : n);
    in->next += take;
    if (in->waiting > 0) {
        if ((control & 0x0f) != 3 && n > 0)
            data[0] = in->commands[in->head];
        in->head = (in->head + 1) % 64;
        in->waiting--;
    }
    *length = n;
    return 0;
}

static void take_bytes(void *user, const uint8_t *data, size_t length)
{
    uint32_t *sum = user;
    if (length == 0)
        abort();
    for (size_t k = 0; k < length; k++)
        *sum += data[k];
}

static void take_loss(void *user, enum bt_gap_cause cause)
{
    (void)user;
    (void)cause;
}

static void use_link(struct cmsis_dap *dap)
{
    struct debug_link link = cmsis_dap_link(dap);
    struct debug_result r;
    uint32_t *words = calloc(300, sizeof *words); /* on the heap: its ends are watched */
    struct debug_transfer *list = calloc(70, sizeof *list);
    uint8_t pins;
    static const uint8_t bits[40] = {0xff};
    if (!words || !list)
        abort();
    (void)link.ops->connect(link.self, DEBUG_WIRE_SWD);
    (void)link.ops->sequence(link.self, 300, bits);
    (void)link.ops->pins(link.self, 0, 0x80, &pins);
    (void)link.ops->reconnect(link.self);
    for (unsigned k = 0; k < 70; k++)
        list[k].request = (uint8_t)(k * 7 & 0x0f);
    int rc = link.ops->transfer(link.self, list, 70, &r);
    if (r.done > 70 || (rc == 0 && r.ack == DEBUG_ACK_OK && r.done != 70))
        abort();
    for (unsigned read = 0; read <= 2; read += 2) {
        rc = link.ops->block(link.self, (uint8_t)(DEBUG_AP | read | 0xc), words, 300, &r);
        if (r.done > 300 || (rc == 0 && r.ack == DEBUG_ACK_OK && r.done != 300))
            abort();
    }
    free(words);
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct usb_pipe_ops OPS = {.send = send_packet, .receive = receive_packet};
    static const uint16_t packets[4] = {64, 512, 8, 1024};
    if (size < 1)
        return 0;
    struct input in = {.next = data + 1, .end = data + size};
    uint16_t packet = packets[data[0] >> 1 & 3];
    const struct usb_pipe pipe = {
        .ops = &OPS, .self = &in, .out_packet = packet, .in_packet = packet};
    struct cmsis_dap *dap = malloc(sizeof *dap);
    if (!dap)
        abort();
    if (cmsis_dap_open(dap, &pipe, data[0] & 1 ? CMSIS_DAP_HID : CMSIS_DAP_BULK) == 0) {
        uint32_t sum = 0;
        struct cmsis_dap_swo swo;
        const struct trace_sink sink = {.user = &sum, .bytes = take_bytes, .lost = take_loss};
        use_link(dap);
        if (cmsis_dap_swo_init(&swo, dap, NULL, 1000000, NULL) == 0) {
            struct trace_stream t = cmsis_dap_swo_stream(&swo);
            (void)t.ops->start(t.self, &sink);
            (void)t.ops->poll(t.self, 0);
            (void)t.ops->stop(t.self);
        }
    }
    free(dap);
    return 0;
}
