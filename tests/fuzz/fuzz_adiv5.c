/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that lies: acks and values of all accesses come from the input, one byte of control and
 * up to four of value each. First byte: wire and posted reads. Connect, scan, memory of all sizes.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/mem_ap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *next;
    const uint8_t *end;
    uint64_t now;
    unsigned accesses;
};

static uint8_t take(struct input *in)
{
    return in->next < in->end ? *in->next++ : 0x0f;
}

/* Values that let a connection get on, or four bytes of the input. */
static uint32_t take_value(struct input *in, uint8_t control)
{
    static const uint32_t likely[8] = {0x2ba01477, 0xf0000040, 0x24770011, 0x23000052,
                                       0x23000040, 0xffffffff, 0,          0x4ba00477};
    if ((control & 0x80) != 0)
        return likely[control >> 4 & 7];
    uint32_t value = 0;
    for (unsigned k = 0; k < 4; k++)
        value = value << 8 | take(in);
    return value;
}

static int transfer(void *self, struct debug_transfer *list, size_t count, struct debug_result *r)
{
    struct input *in = self;
    *r = (struct debug_result){.ack = DEBUG_ACK_OK};
    if (count == 0 || ++in->accesses > 100000)
        abort();
    if (in->next >= in->end)
        return BT_ERR_IO;
    for (size_t k = 0; k < count; k++) {
        uint8_t control = take(in);
        switch (control & 0x0f) {
        case 12:
            r->ack = DEBUG_ACK_WAIT;
            return 0;
        case 13:
            r->ack = DEBUG_ACK_FAULT;
            return 0;
        case 14:
            r->ack = DEBUG_ACK_NONE;
            return 0;
        case 15:
            r->ack = DEBUG_ACK_PROTOCOL;
            return 0;
        default:
            break;
        }
        if ((list[k].request & DEBUG_READ) != 0)
            list[k].value = take_value(in, control);
        r->done++;
    }
    return 0;
}

static int block(void *self, uint8_t request, uint32_t *words, size_t count, struct debug_result *r)
{
    size_t done = 0;
    int rc = 0;
    r->done = 0;
    r->ack = DEBUG_ACK_OK;
    for (; rc == 0 && r->ack == DEBUG_ACK_OK && done < count; done++) {
        struct debug_transfer t = {.request = request, .value = words[done]};
        struct debug_result one;
        rc = transfer(self, &t, 1, &one);
        r->ack = one.ack;
        if (one.done)
            words[done] = t.value;
        r->done += one.done;
    }
    return rc;
}

static int wire(void *self, enum debug_wire kind)
{
    (void)self;
    (void)kind;
    return 0;
}

static int simple(void *self)
{
    (void)self;
    return 0;
}

static int set_clock(void *self, uint32_t hz)
{
    (void)hz;
    return simple(self);
}

static int configure(void *self, uint8_t idle, uint16_t retries)
{
    (void)idle;
    (void)retries;
    return simple(self);
}

static int sequence(void *self, unsigned bits, const uint8_t *bytes)
{
    (void)bytes;
    return bits == 0 ? BT_ERR_INVAL : simple(self);
}

static int chain(void *self, const uint8_t *lengths, unsigned count, unsigned dap)
{
    (void)lengths;
    return dap < count ? simple(self) : BT_ERR_INVAL;
}

static uint64_t now_us(void *user)
{
    struct input *in = user;
    return in->now += 100;
}

static void sleep_us(void *user, uint32_t time)
{
    struct input *in = user;
    in->now += time;
}

static void use_memory(struct adiv5_dp *dp, uint8_t index)
{
    struct mem_ap ap;
    struct mem_ap_banked banked[2] = {{.offset = 4}, {.offset = 8, .write = true}};
    if (mem_ap_init(&ap, dp, index) != 0)
        return;
    uint8_t *bytes = calloc(1, 1500); /* on the heap: its ends are watched */
    if (!bytes)
        abort();
    static const struct {
        uint32_t address;
        size_t length;
    } spans[] = {{0x20000001, 1500}, {0x200003ff, 2}, {0xfffffffc, 4}, {0xfffffffe, 4}};
    for (size_t k = 0; k < sizeof spans / sizeof *spans; k++) {
        int rc = mem_ap_read(&ap, spans[k].address, bytes, spans[k].length);
        if (rc == BT_ERR_IO && ap.dp->failure == DEBUG_FAIL_NONE)
            abort();
        (void)mem_ap_write(&ap, spans[k].address, bytes, spans[k].length);
    }
    (void)mem_ap_read_sized(&ap, 0x20000002, 2, bytes, 700);
    (void)mem_ap_write_sized(&ap, 0x20000003, 1, bytes, 9);
    (void)mem_ap_banked(&ap, 0xe000edf0, banked, 2);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct debug_link_ops OPS = {.connect = wire,
                                              .disconnect = simple,
                                              .set_clock = set_clock,
                                              .configure = configure,
                                              .sequence = sequence,
                                              .jtag_chain = chain,
                                              .transfer = transfer,
                                              .block = block};
    if (size < 1)
        return 0;
    struct input in = {.next = data + 1, .end = data + size};
    const struct debug_link link = {.ops = &OPS,
                                    .self = &in,
                                    .caps = DEBUG_LINK_SWD | DEBUG_LINK_JTAG |
                                            (data[0] & 2 ? DEBUG_LINK_POSTED : 0)};
    const struct debug_clock clock = {.now_us = now_us, .sleep_us = sleep_us, .user = &in};
    const struct adiv5_connect_options options = {.wire = data[0] & 1 ? DEBUG_WIRE_JTAG
                                                                      : DEBUG_WIRE_SWD};
    struct adiv5_dp dp;
    struct adiv5_ap_info found[2];
    char text[80];
    adiv5_init(&dp, &link, &clock);
    if (adiv5_connect(&dp, &options) == 0) {
        if ((data[0] & 4) != 0)
            (void)adiv5_scan(&dp, found, 2);
        use_memory(&dp, 0);
    } else if (dp.failure == DEBUG_FAIL_NONE) {
        abort();
    }
    if (strlen(adiv5_describe(&dp, text, sizeof text)) == 0)
        abort();
    return 0;
}
