/* SPDX-License-Identifier: BSD-3-Clause */
/* USB/IP as the kernel speaks it: requests of any split, waiting, taking back, and nonsense. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit_main.h"
#include "usb_probe.h"
#include "usbip_server.h"

#define MAX_REPLIES 16

struct reply {
    uint32_t word[8];
    uint8_t data[64];
    size_t size; /* of data */
};

static struct probe_board *board;
static struct usb_probe probe;
static struct usbip_server server;
static struct reply replies[MAX_REPLIES];
static size_t reply_count;

static void on_send(void *ctx, const uint8_t *bytes, size_t size)
{
    (void)ctx;
    ck_assert_uint_ge(size, USBIP_HEADER);
    ck_assert_uint_lt(reply_count, MAX_REPLIES);
    struct reply *r = &replies[reply_count++];
    for (unsigned i = 0; i < 8; i++)
        r->word[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
                     (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
    r->size = size - USBIP_HEADER;
    ck_assert_uint_le(r->size, sizeof r->data);
    memcpy(r->data, bytes + USBIP_HEADER, r->size);
}

static void setup(void)
{
    const struct probe_board_options options = {0};
    board = malloc(sizeof *board);
    ck_assert_ptr_nonnull(board);
    ck_assert_int_eq(probe_board_init(board, &options), 0);
    usb_probe_init(&probe, board, false);
    ck_assert_int_eq(usbip_server_init(&server, &probe.device, on_send, NULL), 0);
    reply_count = 0;
}

static void teardown(void)
{
    usbip_server_release(&server);
    probe_board_release(board);
    free(board);
}

/* A header in `out`: command, sequence number, direction, endpoint, then the next two words. */
static void header(uint8_t out[USBIP_HEADER], uint32_t command, uint32_t sequence, bool in,
                   uint32_t endpoint, uint32_t flags, uint32_t length)
{
    const uint32_t words[] = {command, sequence, 0x10002, in, endpoint, flags, length};
    memset(out, 0, USBIP_HEADER);
    for (unsigned i = 0; i < 7; i++) {
        out[4 * i] = (uint8_t)(words[i] >> 24);
        out[4 * i + 1] = (uint8_t)(words[i] >> 16);
        out[4 * i + 2] = (uint8_t)(words[i] >> 8);
        out[4 * i + 3] = (uint8_t)words[i];
    }
}

static int request_in(uint32_t sequence, uint32_t length)
{
    uint8_t h[USBIP_HEADER];
    header(h, 1, sequence, true, 1, 0, length);
    return usbip_server_input(&server, h, sizeof h);
}

static int request_out(uint32_t sequence, const uint8_t *data, uint32_t length, size_t split)
{
    uint8_t h[USBIP_HEADER + 64];
    header(h, 1, sequence, false, 1, 0, length);
    memcpy(h + USBIP_HEADER, data, length);
    for (size_t at = 0; at < USBIP_HEADER + length; at += split) {
        size_t n = USBIP_HEADER + length - at < split ? USBIP_HEADER + length - at : split;
        if (usbip_server_input(&server, h + at, n) < 0)
            return -1;
    }
    return 0;
}

static void check_reply(size_t index, uint32_t command, uint32_t sequence, int status)
{
    ck_assert_uint_gt(reply_count, index);
    ck_assert_uint_eq(replies[index].word[0], command);
    ck_assert_uint_eq(replies[index].word[1], sequence);
    ck_assert_int_eq((int)replies[index].word[5], status);
}

START_TEST(test_device_descriptor)
{
    uint8_t h[USBIP_HEADER];
    setup();
    header(h, 1, 7, true, 0, 0, 18);
    memcpy(h + 40, (const uint8_t[]){0x80, 6, 0, 1, 0, 0, 18, 0}, 8);
    ck_assert_int_eq(usbip_server_input(&server, h, sizeof h), 0);
    check_reply(0, 3, 7, 0);
    ck_assert_uint_eq(replies[0].word[6], 18);
    ck_assert_uint_eq(replies[0].size, 18);
    ck_assert_uint_eq(replies[0].data[8] | replies[0].data[9] << 8, USB_PROBE_VID);
    teardown();
}
END_TEST

START_TEST(test_unknown_control)
{
    uint8_t h[USBIP_HEADER];
    setup();
    header(h, 1, 8, true, 0, 0, 4);
    memcpy(h + 40, (const uint8_t[]){0xc0, 0x77, 0, 0, 0, 0, 4, 0}, 8);
    ck_assert_int_eq(usbip_server_input(&server, h, sizeof h), 0);
    check_reply(0, 3, 8, -EPIPE);
    ck_assert_uint_eq(replies[0].size, 0);
    /* More asked for in the set-up packet than the transfer holds. */
    header(h, 1, 9, true, 0, 0, 4);
    memcpy(h + 40, (const uint8_t[]){0x80, 6, 0, 1, 0, 0, 18, 0}, 8);
    ck_assert_int_eq(usbip_server_input(&server, h, sizeof h), 0);
    check_reply(1, 3, 9, -EPIPE);
    teardown();
}
END_TEST

START_TEST(test_command_and_response)
{
    static const uint8_t info[] = {0x00, 0xfe};
    setup();
    for (size_t split = 1; split <= USBIP_HEADER + sizeof info; split++) {
        reply_count = 0;
        ck_assert_int_eq(request_in(1, 512), 0);
        ck_assert_uint_eq(reply_count, 0);
        ck_assert(usbip_server_poll(&server));
        ck_assert_int_eq(request_out(2, info, sizeof info, split), 0);
        check_reply(0, 3, 2, 0);
        ck_assert_uint_eq(replies[0].word[6], sizeof info);
        ck_assert_uint_eq(replies[0].size, 0);
        check_reply(1, 3, 1, 0);
        ck_assert_uint_eq(replies[1].word[6], 3);
        ck_assert_int_eq(memcmp(replies[1].data, (const uint8_t[]){0, 1, 4}, 3), 0);
        ck_assert(!usbip_server_poll(&server));
    }
    teardown();
}
END_TEST

START_TEST(test_unlink)
{
    uint8_t h[USBIP_HEADER];
    setup();
    ck_assert_int_eq(request_in(1, 512), 0);
    ck_assert_int_eq(request_in(2, 512), 0);
    header(h, 2, 3, false, 0, 1, 0);
    ck_assert_int_eq(usbip_server_input(&server, h, sizeof h), 0);
    check_reply(0, 4, 3, -ECONNRESET);
    ck_assert_int_eq(usbip_server_input(&server, h, sizeof h), 0);
    check_reply(1, 4, 3, 0); /* it is gone already */
    ck_assert_int_eq(request_out(4, (const uint8_t[]){0x00, 0xfe}, 2, 99), 0);
    check_reply(3, 3, 2, 0); /* the other one gets the answer */
    teardown();
}
END_TEST

/* The device knows how much the host waits for. */
START_TEST(test_queued)
{
    uint8_t h[USBIP_HEADER];
    const size_t *queued = &probe.device.queued[USB_PROBE_EP_IN % USB_DEVICE_ENDPOINTS];
    setup();
    ck_assert_int_eq(request_in(1, 512), 0);
    ck_assert_int_eq(request_in(2, 100), 0);
    ck_assert_uint_eq(*queued, 612);
    header(h, 2, 3, false, 0, 1, 0);
    ck_assert_int_eq(usbip_server_input(&server, h, sizeof h), 0);
    ck_assert_uint_eq(*queued, 100);
    ck_assert_int_eq(request_out(4, (const uint8_t[]){0x00, 0xfe}, 2, 99), 0);
    ck_assert_uint_eq(*queued, 0);
    ck_assert_int_eq(request_in(5, 512), 0);
    usbip_server_reset(&server);
    ck_assert_uint_eq(*queued, 0);
    teardown();
}
END_TEST

START_TEST(test_unplugged)
{
    setup();
    ck_assert_int_eq(request_in(1, 512), 0);
    probe.device.unplugged = true;
    ck_assert(!usbip_server_poll(&server));
    check_reply(0, 3, 1, -ESHUTDOWN);
    teardown();
}
END_TEST

START_TEST(test_nonsense)
{
    static const uint32_t bad[][4] = {
        /* command, direction, endpoint, length */
        {0, 1, 1, 0}, {3, 1, 1, 0}, {1, 2, 1, 0}, {1, 1, 16, 0}, {1, 0, 1, USBIP_MAX_TRANSFER + 1},
    };
    setup();
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t h[USBIP_HEADER];
        header(h, bad[i][0], 1, false, bad[i][2], 0, bad[i][3]);
        h[15] = (uint8_t)bad[i][1];
        ck_assert_int_eq(usbip_server_input(&server, h, sizeof h), -1);
        ck_assert_uint_eq(reply_count, 0);
        usbip_server_reset(&server);
    }
    for (unsigned i = 0; i < USBIP_MAX_WAITING; i++)
        ck_assert_int_eq(request_in(i, 512), 0);
    ck_assert_int_eq(request_in(999, 512), -1);
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("usbip_server");
    unit_case(s, "usbip: a descriptor", test_device_descriptor);
    unit_case(s, "usbip: a control request that the device does not know", test_unknown_control);
    unit_case(s, "usbip: a command and its response, any split", test_command_and_response);
    unit_case(s, "usbip: a transfer is taken back", test_unlink);
    unit_case(s, "usbip: bytes that the host waits for", test_queued);
    unit_case(s, "usbip: the device is pulled while a transfer waits", test_unplugged);
    unit_case(s, "usbip: what is no request", test_nonsense);
    return s;
}
