/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target that lies: acks and values of all accesses come from the input, one byte of control and
 * up to four of value each. First byte: wire and posted reads. Connect, scan,
 * memory of all sizes. */
#include <stdlib.h>
#include <string.h>

#include "drivers/adi/mem_ap.h"
#include "tests/support/fuzz_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    struct fuzz_link link;
    const uint8_t *next;
    const uint8_t *end;
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
    if (size < 1)
        return 0;
    struct input in = {
        .link = {.transfer = transfer, .tick = 100}, .next = data + 1, .end = data + size};
    const struct debug_link link = fuzz_link(&in.link, (data[0] & 2) != 0 ? DEBUG_LINK_POSTED : 0);
    const struct debug_clock clock = fuzz_clock(&in.link);
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
