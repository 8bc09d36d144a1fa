/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An FTDI adapter whose answers are taken from the input. First byte: wire, chain, edge and whether
 * the engine is found at all; then for each exchange a control byte, and the bytes of its answer.
 * The status bytes of USB packets are stripped from a copy of the input beside it.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/adi/adiv5.h"
#include "drivers/probe/ftdi/ftdi.h"
#include "drivers/probe/ftdi/ftdi_mpsse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ACCESSES 70u
#define WORDS    700u

struct input {
    const uint8_t *next;
    const uint8_t *end;
    uint64_t now;
};

/* Answers to the search for the engine are right unless the input says otherwise. */
static bool is_search(const uint8_t *out, size_t out_length)
{
    return out_length == 2 && (out[0] == 0xaa || out[0] == 0xab) && out[1] == 0x87;
}

static int exchange(void *self, const uint8_t *out, size_t out_length, uint8_t *in,
                    size_t in_length, size_t *got, unsigned timeout_ms)
{
    struct input *input = self;
    (void)timeout_ms;
    *got = 0;
    if (out_length == 0 || out_length > FTDI_COMMAND_BYTES || in_length > FTDI_ANSWER_BYTES)
        abort();
    if (input->next >= input->end)
        return BT_ERR_IO;
    uint8_t control = *input->next++;
    if ((control & 0xf0) == 0xf0)
        return (control & 1) != 0 ? BT_ERR_IO : BT_ERR_FORMAT;
    if (is_search(out, out_length) && (control & 0x80) == 0) {
        in[0] = MPSSE_ECHO;
        in[1] = out[0];
        *got = 2;
        return 0;
    }
    size_t length = (control & 0xf0) == 0xe0 ? in_length / 2 : in_length;
    /* The same bytes again and again make a long answer of a short input. */
    size_t have = (size_t)(input->end - input->next);
    size_t row = (control & 0x0f) + 1u;
    if (row > have)
        row = have;
    for (size_t k = 0; k < length; k++)
        in[k] = row > 0 ? input->next[k % row] : 0;
    input->next += row;
    *got = length;
    return length < in_length ? FTDI_TIMED_OUT : 0;
}

static int purge(void *self)
{
    struct input *input = self;
    return input->next >= input->end ? BT_ERR_IO : 0;
}

static uint64_t now_us(void *user)
{
    return ((struct input *)user)->now += 1000;
}

static void sleep_us(void *user, uint32_t time)
{
    ((struct input *)user)->now += time;
}

static void check(int rc, const struct debug_result *r, size_t count)
{
    if (r->done > count || (rc == 0 && r->ack == DEBUG_ACK_OK && r->done != count))
        abort();
}

static void use_link(struct ftdi *f)
{
    struct debug_link link = ftdi_link(f);
    struct debug_result r;
    uint32_t *words = calloc(WORDS, sizeof *words); /* on the heap: its ends are watched */
    struct debug_transfer *list = calloc(ACCESSES, sizeof *list);
    uint8_t pins;
    if (!words || !list)
        abort();
    for (unsigned k = 0; k < ACCESSES; k++)
        list[k].request = (uint8_t)(k * 7 & 0x0f);
    int rc = link.ops->transfer(link.self, list, ACCESSES, &r);
    check(rc, &r, ACCESSES);
    for (unsigned read = 0; read <= 2; read += 2) {
        rc = link.ops->block(link.self, (uint8_t)(DEBUG_AP | read | 0xc), words, WORDS, &r);
        check(rc, &r, WORDS);
    }
    (void)link.ops->pins(link.self, 0, DEBUG_PIN_NRESET, &pins);
    free(words);
    free(list);
}

static void strip(const uint8_t *data, size_t size)
{
    static const size_t packets[] = {512, 64, 3, 2};
    uint8_t command;
    uint8_t *copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (mpsse_strip_status(copy, size, packets[data[0] & 3]) > size)
        abort();
    (void)mpsse_is_echo(copy, size, &command);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ftdi_port_ops OPS = {.exchange = exchange, .purge = purge};
    static const uint8_t lengths[] = {5, 4, 8, 32};
    if (size < 1)
        return 0;
    strip(data, size);
    struct input input = {.next = data + 1, .end = data + size};
    const struct ftdi_port port = {
        .ops = &OPS, .self = &input, .has_high_byte = (data[0] & 8) != 0};
    const struct debug_clock clock = {.now_us = now_us, .sleep_us = sleep_us, .user = &input};
    const struct ftdi_pinout pinout = {.value = 0x0008,
                                       .direction = 0x000b,
                                       .nsrst = {.data = 0x0200},
                                       .sample_falling = (data[0] & 4) != 0};
    struct adiv5_connect_options options = {.wire = data[0] & 1 ? DEBUG_WIRE_JTAG : DEBUG_WIRE_SWD,
                                            .idle_clocks = data[0] >> 4,
                                            .wait_retries = 3};
    if ((data[0] & 2) != 0) {
        options.ir_lengths = lengths;
        options.chain_count = 4;
        options.chain_dap = 1;
    }
    struct ftdi *f = malloc(sizeof *f);
    struct adiv5_dp dp;
    if (!f)
        abort();
    if (ftdi_open(f, &port, &pinout) == 0) {
        struct debug_link link = ftdi_link(f);
        adiv5_init(&dp, &link, &clock);
        (void)adiv5_connect(&dp, &options);
        use_link(f);
        adiv5_disconnect(&dp);
        ftdi_close(f);
    }
    free(f);
    return 0;
}
