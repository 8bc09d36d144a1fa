/* SPDX-License-Identifier: BSD-3-Clause */
/* SWO through the modelled CMSIS-DAP probe (CMSIS-DAP manual, "SWO Commands"). Time is counted. */
#include "tests/drivers/probe/cmsis_dap/cmsis_dap_bench.h"

START_TEST(test_swo)
{
    setup(4);
    connect();
    exchange("18 01", "18 00");
    exchange("17 01", "17 00");
    exchange("19 80 84 1e 00", "19 80 84 1e 00");
    exchange("1a 01", "1a 00");
    exchange("17 02", "17 ff"); /* active */
    /* A mode that it does not have ends the capture, and leaves it without one. */
    exchange("18 02", "18 ff");
    exchange("1b", "1b 00 00 00 00 00");
    exchange("1a 01", "1a ff");
    exchange("18 01", "18 00");
    exchange("1a 01", "1a 00");
    cs_swo_put(&board->system, (const uint8_t *)"\x01\x41\x42", 3);
    board->system.tpiu.sppr = 2;
    exchange("1b", "1b 01 03 00 00 00");
    exchange("1c 02 00", "1c 01 02 00 01 41");
    exchange("1c 02 00", "1c 01 01 00 42");
    exchange("1e 03", "1e 01 00 00 00 00");
    submit("1e 04"); /* index and time */
    ck_assert_uint_eq(cmsis_dap_response(&board->probe, answer), 9);
    ck_assert_mem_eq(answer, "\x1e\x03\x00\x00\x00", 5);
    exchange("1a 00", "1a 00");
    teardown();
}
END_TEST

static void send_swo(unsigned first, unsigned count);

/* A full buffer pauses, without an overrun; what is fetched ends that. */
START_TEST(test_swo_paused)
{
    setup(4);
    connect();
    board->system.tpiu.sppr = 2;
    exchange("18 01", "18 00");
    exchange("17 01", "17 00");
    exchange("19 80 84 1e 00", "19 80 84 1e 00");
    exchange("1a 01", "1a 00");
    send_swo(0, CMSIS_DAP_SWO_BUFFER - 1);
    exchange("1b", "1b 01 ff 0f 00 00");
    send_swo(CMSIS_DAP_SWO_BUFFER - 1, 3); /* two too many */
    exchange("1b", "1b 03 00 10 00 00");
    exchange("1b", "1b 03 00 10 00 00");
    exchange("1c 02 00", "1c 03 02 00 00 01");
    send_swo(CMSIS_DAP_SWO_BUFFER + 2, 1);
    exchange("1b", "1b 01 ff 0f 00 00");
    exchange("1a 00", "1a 00");
    exchange("1a 01", "1a 00");
    exchange("1b", "1b 01 00 00 00 00");
    teardown();
}
END_TEST

static uint64_t now;

static uint64_t read_now(void *ctx)
{
    (void)ctx;
    return now;
}

static void start_stream(void)
{
    setup(4);
    now = 1000000;
    board->probe.options.now = read_now;
    connect();
    exchange("18 01", "18 00");
    exchange("17 02", "17 00");
    exchange("19 80 84 1e 00", "19 80 84 1e 00");
    exchange("1a 01", "1a 00");
}

/* The pin sends `count` bytes that count from `first`. */
static void send_swo(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t byte = (uint8_t)(first + i);
        cs_swo_put(&board->system, &byte, 1);
    }
}

static void expect_block(unsigned first, size_t size)
{
    ck_assert_uint_eq(cmsis_dap_stream(&board->probe, answer), size);
    for (unsigned i = 0; i < size; i++)
        ck_assert_uint_eq(answer[i], (uint8_t)(first + i));
}

START_TEST(test_swo_blocks)
{
    start_stream();
    expect_block(0, 0);
    now += 3 * CMSIS_DAP_BLOCK_US; /* nothing came: this does not count */
    send_swo(0, 300);
    expect_block(0, 0);
    exchange("1b", "1b 01 2c 01 00 00");
    exchange("1c 00 01", "1c 01 00 00"); /* that is for the other transport */
    now += CMSIS_DAP_BLOCK_US - 1;
    send_swo(300, 100); /* what follows does not put it off */
    expect_block(0, 0);
    exchange("1b", "1b 01 90 01 00 00");
    now++;
    expect_block(0, 400);
    exchange("1b", "1b 01 00 00 00 00");
    /* Full ones leave at once; the rest waits from then on, although it came before. */
    send_swo(400, 1100);
    exchange("1b", "1b 01 4c 04 00 00");
    now += CMSIS_DAP_BLOCK_US / 2;
    expect_block(400, 512);
    expect_block(912, 512);
    now += CMSIS_DAP_BLOCK_US - 1;
    expect_block(0, 0);
    exchange("1b", "1b 01 4c 00 00 00");
    send_swo(1500, 436); /* until it is full */
    expect_block(1424, 512);
    expect_block(0, 0);
    teardown();
}
END_TEST

START_TEST(test_swo_stop)
{
    start_stream();
    send_swo(0, 600);
    expect_block(0, 512);
    expect_block(0, 0);
    exchange("1a 00", "1a 00");
    exchange("1b", "1b 00 58 00 00 00");
    expect_block(512, 88); /* nothing more will come for it */
    exchange("1b", "1b 00 00 00 00 00");
    exchange("1a 01", "1a 00");
    send_swo(0, 10);
    expect_block(0, 0);
    exchange("1a 00", "1a 00");
    exchange("1a 01", "1a 00"); /* a new start throws away what nobody took */
    now += CMSIS_DAP_BLOCK_US;
    expect_block(0, 0);
    teardown();
}
END_TEST

/* Whole blocks are whole packets: they end no transfer that has room for more. */
START_TEST(test_usb_swo)
{
    static struct usb_probe u;
    static uint8_t data[4096];
    size_t n;
    start_stream();
    usb_probe_init(&u, board, false);
    send_swo(0, 1024);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_SWO, data, sizeof data, &n),
                     USB_DEVICE_WAIT);
    exchange("1b", "1b 01 00 00 00 00"); /* the host's, but not told yet */
    now += 2 * CMSIS_DAP_BLOCK_US;
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_SWO, data, sizeof data, &n),
                     USB_DEVICE_WAIT);
    send_swo(1024, 6);
    exchange("1b", "1b 01 06 00 00 00");
    now += CMSIS_DAP_BLOCK_US;
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_SWO, data, sizeof data, &n), 0);
    ck_assert_uint_eq(n, 1030);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(data[i], (uint8_t)i);
    send_swo(0, 1024 + 70);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_SWO, data, 1024, &n), 0);
    ck_assert_uint_eq(n, 1024); /* full */
    now += CMSIS_DAP_BLOCK_US;
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_SWO, data, 64, &n), -EOVERFLOW);
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cmsis_dap_swo_model");
    unit_case(s, "cmsis_dap_swo_model: by commands", test_swo);
    unit_case(s, "cmsis_dap_swo_model: a buffer that is full", test_swo_paused);
    unit_case(s, "cmsis_dap_swo_model: in blocks", test_swo_blocks);
    unit_case(s, "cmsis_dap_swo_model: the rest of a capture", test_swo_stop);
    unit_case(s, "usb_probe: SWO packets", test_usb_swo);
    return s;
}
