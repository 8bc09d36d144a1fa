/* SPDX-License-Identifier: BSD-3-Clause */
/* The firmware's packets, and the probe as a USB device, byte by byte (CMSIS-DAP manual). */
#include "tests/drivers/probe/cmsis_dap/cmsis_dap_bench.h"

START_TEST(test_info)
{
    setup(4);
    exchange("00 ff", "00 02 00 02");
    exchange("00 fe", "00 01 04");
    exchange("00 f0", "00 02 57 00");
    exchange("00 04", "00 06 32 2e 31 2e 30 00");
    exchange("00 08", "00 00");
    exchange("01 00 01", "01 00");
    ck_assert(board->probe.connect_led);
    exchange("33", "ff");
    ck_assert_uint_eq(board->probe.counters.unknown, 1);
    teardown();
}
END_TEST

START_TEST(test_connect_example)
{
    setup(4);
    connect();
    ck_assert_uint_eq(board->probe.clock, 4000000);
    ck_assert_uint_eq(board->dap.counters.contention, 0);
    exchange("03", "03 00");
    exchange("05 00 01 02", "05 00 00");
    ck_assert_uint_eq(board->probe.counters.unconnected, 1);
    teardown();
}
END_TEST

START_TEST(test_transfer)
{
    setup(4);
    connect();
    /* CSW, TAR; DRW write, TAR, DRW read, TAR read, DP read between. */
    exchange("05 00 02 01 12 00 00 23 05 00 02 00 20", "05 02 01");
    exchange("05 00 06 0d 78 56 34 12 05 00 02 00 20 0f 07 06 0f",
             "05 06 01 78 56 34 12 04 02 00 20 40 00 00 f0 00 00 00 00");
    ck_assert_mem_eq(board->sim.ram + 0x200, "\x78\x56\x34\x12", 4);
    teardown();
}
END_TEST

START_TEST(test_transfer_fault)
{
    setup(4);
    connect();
    exchange("05 00 02 01 12 00 00 23 05 00 00 00 60", "05 02 01");
    /* Three reads of nothing: the first is posted and counted, its word never comes. */
    exchange("05 00 03 0f 0f 0f", "05 01 04");
    exchange("05 00 01 02", "05 01 01 77 14 a0 2b");
    exchange("08 00 04 00 00 00", "08 00");
    exchange("05 00 01 07", "05 01 01 00 00 00 60");
    /* What follows a failed transfer in the same packet is not executed, but is read over. */
    exchange("05 00 03 0d 00 00 00 00 0d 00 00 00 00 05 00 00 00 20", "05 01 04");
    ck_assert_uint_eq(board->probe.counters.malformed, 0);
    teardown();
}
END_TEST

START_TEST(test_transfer_wait)
{
    setup(4);
    connect();
    board->dap.faults.wait = 3;
    exchange("05 00 01 03", "05 01 01 42 00 00 00");
    ck_assert_uint_eq(board->dap.counters.waits, 3);
    board->dap.faults.wait = 1000;
    exchange("05 00 01 03", "05 00 02");
    ck_assert_uint_eq(board->dap.counters.waits, 3 + 65); /* one try and 64 more */
    exchange("08 00 01 00 00 00", "08 00");
    exchange("05 00 01 03", "05 01 01 42 00 00 00");
    teardown();
}
END_TEST

START_TEST(test_line_errors)
{
    setup(4);
    connect();
    board->dap.faults.parity = 1;
    exchange("05 00 01 06", "05 00 08");
    exchange("05 00 01 06", "05 01 01 40 00 00 f0");
    board->dap.faults.no_ack = 1;
    exchange("05 00 01 06", "05 00 07");
    exchange("12 40 ff ff ff ff ff ff ff 00", "12 00");
    exchange("05 00 01 02", "05 01 01 77 14 a0 2b");
    teardown();
}
END_TEST

START_TEST(test_match)
{
    setup(4);
    connect();
    exchange("05 00 03 01 12 00 00 23 05 f0 ed 00 e0 0d 03 00 5f a0", "05 03 01");
    exchange("04 00 40 00 10 00", "04 00");
    /* Mask S_HALT, then read DHCSR until it is set: TAR must not move. */
    exchange("05 00 04 01 02 00 00 23 05 f0 ed 00 e0 20 00 00 02 00 1f 00 00 02 00", "05 04 01");
    exchange("05 00 02 20 00 00 02 00 1f 00 00 00 00", "05 01 11");
    teardown();
}
END_TEST

START_TEST(test_block)
{
    setup(4);
    connect();
    exchange("05 00 02 01 12 00 00 23 05 00 02 00 20", "05 02 01");
    exchange("06 00 03 00 0d 01 00 00 00 02 00 00 00 03 00 00 00", "06 03 00 01");
    exchange("05 00 01 05 00 02 00 20", "05 01 01");
    exchange("06 00 03 00 0f", "06 03 00 01 01 00 00 00 02 00 00 00 03 00 00 00");
    ck_assert_uint_eq(board->ap.tar, 0x2000020c); /* no read too many */
    exchange("05 00 01 05 00 00 00 60", "05 01 01");
    exchange("06 00 03 00 0f", "06 00 00 04");
    teardown();
}
END_TEST

START_TEST(test_jtag)
{
    setup(4);
    exchange("02 02", "02 02");
    exchange("15 01 04", "15 00");
    exchange("14 02 45 00 01 00", "14 00"); /* five clocks of TMS, one without */
    exchange("16 00", "16 00 77 04 a0 4b");
    exchange("16 01", "16 ff");
    /* DR scan in three sequences: capture 32 bits of IDCODE. */
    exchange("14 05 41 00 02 00 9f 00 00 00 00 c1 00 41 00", "14 00 77 04 a0 4b 00");
    exchange("05 00 02 08 00 00 00 00 04 00 00 00 50", "05 02 01");
    exchange("05 00 03 06 06 06", "05 03 01 00 00 00 50 00 00 00 50 00 00 00 f0");
    exchange("05 00 02 08 f0 00 00 00 0f", "05 02 01 11 00 77 24");
    teardown();
}
END_TEST

/* What the reference firmware does, and the words of the manual leave open. */
START_TEST(test_as_reference)
{
    setup(4);
    connect();
    /* WriteABORT is OK whatever the target says. */
    board->dap.faults.no_ack = 1;
    exchange("08 00 1e 00 00 00", "08 00");
    exchange("12 40 ff ff ff ff ff ff ff 00", "12 00");
    exchange("05 00 02 02 08 00 00 00 00", "05 02 01 77 14 a0 2b");
    /* A match read of an AP is posted once; each read behind it brings the one before. */
    exchange("05 00 04 01 12 00 00 23 05 00 02 00 20 0d 01 00 00 00 0d 02 00 00 00", "05 04 01");
    exchange("05 00 01 05 00 02 00 20", "05 01 01");
    exchange("04 00 40 00 10 00", "04 00");
    ck_assert_mem_eq(board->sim.ram + 0x200, "\1\0\0\0\2\0\0\0", 8);
    ck_assert_uint_eq(board->ap.tar, 0x20000200);
    unsigned before = board->probe.counters.transfers;
    exchange("05 00 02 20 ff ff ff ff 1f 02 00 00 00", "05 02 01");
    ck_assert_uint_eq(board->probe.counters.transfers - before, 3);
    ck_assert_uint_eq(board->ap.tar, 0x2000020c);
    /* Pins that do not exist read as 0. */
    exchange("10 ff 74 00 00 00 00", "10 83");
    teardown();
}
END_TEST

/* Reads on JTAG are chained, and RDBUFF brings the last one: four scans for three of them. */
START_TEST(test_jtag_posted)
{
    setup(4);
    exchange("02 02", "02 02");
    exchange("05 00 01 06", "05 00 00"); /* no chain is known yet */
    exchange("15 01 04", "15 00");
    exchange("14 02 45 00 01 00", "14 00");
    exchange("05 00 02 08 00 00 00 00 04 00 00 00 50", "05 02 01");
    unsigned before = board->probe.counters.transfers;
    exchange("05 00 03 06 06 06", "05 03 01 00 00 00 50 00 00 00 50 00 00 00 f0");
    ck_assert_uint_eq(board->probe.counters.transfers - before, 4);
    before = board->probe.counters.transfers;
    exchange("06 00 03 00 06", "06 03 00 01 00 00 00 f0 00 00 00 f0 00 00 00 f0");
    ck_assert_uint_eq(board->probe.counters.transfers - before, 4);
    exchange("05 01 01 06", "05 00 00"); /* a device that is not in the chain */
    exchange("08 01 01 00 00 00", "08 ff");
    teardown();
}
END_TEST

START_TEST(test_connects)
{
    setup(4);
    exchange("10 00 80 00 00 00 00", "10 82"); /* not driven: pulled up */
    ck_assert(!board->held);
    exchange("02 01", "02 01");
    ck_assert(!board->held);
    exchange("10 00 80 00 00 00 00", "10 03");
    ck_assert(board->held);
    exchange("02 01", "02 01"); /* all outputs go high */
    ck_assert(!board->held);
    exchange("10 00 80 00 00 00 00", "10 03");
    exchange("03", "03 00");
    ck_assert(!board->held);
    teardown();
}
END_TEST

START_TEST(test_packet_limits)
{
    uint8_t big[513] = {0};
    setup(2);
    submit("00 fe");
    submit("00 ff");
    submit("00 f0"); /* one too many */
    expect_next("00 01 02");
    expect_next("00 02 00 02");
    ck_assert_uint_eq(cmsis_dap_response(&board->probe, answer), 0);
    ck_assert_uint_eq(board->probe.counters.overruns, 1);
    cmsis_dap_submit(&board->probe, big, sizeof big);
    ck_assert_uint_eq(board->probe.counters.oversized, 1);
    submit("11 00 09");
    ck_assert_uint_eq(board->probe.counters.malformed, 1);
    teardown();
}
END_TEST

START_TEST(test_any_bytes)
{
    uint8_t packet[512];
    unsigned state = 12345 + (unsigned)_i;
    setup(4);
    connect();
    for (unsigned n = 0; n < 300; n++) {
        size_t size = 1 + n % sizeof packet;
        for (size_t i = 0; i < size; i++) {
            state = state * 1103515245 + 12345;
            packet[i] = (uint8_t)(state >> 16);
        }
        packet[0] = (uint8_t)(n % 0x20);
        cmsis_dap_submit(&board->probe, packet, size);
        ck_assert_uint_le(cmsis_dap_response(&board->probe, answer), 512);
    }
    teardown();
}
END_TEST

START_TEST(test_nreset)
{
    setup(4);
    connect();
    exchange("10 00 80 00 00 00 00", "10 03");
    ck_assert_uint_eq(board->system.counters.resets, 0);
    exchange("10 80 80 00 00 00 00", "10 83");
    ck_assert_uint_eq(board->system.counters.resets, 1);
    teardown();
}
END_TEST

START_TEST(test_fault_text)
{
    setup(4);
    ck_assert_int_eq(probe_board_faults(board, "wait=2,skip=0x10,trace=5"), 0);
    ck_assert_uint_eq(board->dap.faults.wait, 2);
    ck_assert_uint_eq(board->dap.faults.skip, 16);
    ck_assert_uint_eq(board->sim.trace_size, 5);
    static const char *const bad[] = {"wait", "wait=", "wait=1;", "waits=1", "=1", "trace=70000"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(probe_board_faults(board, bad[i]), -1);
    teardown();
}
END_TEST

static int send_out(struct usb_probe *u, const uint8_t *bytes, size_t size)
{
    size_t taken = 0;
    return usb_device_out(&u->device, USB_PROBE_EP_OUT, bytes, size, &taken);
}

START_TEST(test_usb_descriptors)
{
    struct usb_probe u;
    uint8_t data[256];
    size_t n;
    setup(4);
    usb_probe_init(&u, board, _i);
    ck_assert_int_eq(
        usb_device_control(&u.device, (const uint8_t[]){0x80, 6, 0, 1, 0, 0, 64, 0}, data, &n), 0);
    ck_assert_uint_eq(n, 18);
    ck_assert_int_eq(
        usb_device_control(&u.device, (const uint8_t[]){0x80, 6, 0, 2, 0, 0, 255, 0}, data, &n), 0);
    ck_assert_uint_eq(n, data[2]);
    size_t at = 0, endpoints = 0;
    for (; at < n; at += data[at])
        endpoints += data[at + 1] == 5;
    ck_assert_uint_eq(at, n);
    ck_assert_uint_eq(endpoints, _i ? 2 : 3);
    uint8_t text = data[9 + 8];
    ck_assert_int_eq(
        usb_device_control(&u.device, (const uint8_t[]){0x80, 6, text, 3, 9, 4, 255, 0}, data, &n),
        0);
    ck_assert_uint_eq(n, 26);
    ck_assert_uint_eq(data[2], 'C');
    ck_assert_uint_eq(data[24], _i ? '1' : '2');
    ck_assert_int_eq(
        usb_device_control(&u.device, (const uint8_t[]){0x40, 1, 0, 0, 0, 0, 0, 0}, data, &n),
        -EPIPE);
    teardown();
}
END_TEST

START_TEST(test_usb_faults)
{
    static const uint8_t command[] = {0x00, 0xfe};
    struct usb_probe u;
    uint8_t data[512];
    size_t n;
    setup(4);
    usb_probe_init(&u, board, false);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, data, sizeof data, &n),
                     USB_DEVICE_WAIT);
    u.device.faults = (struct usb_faults){.unplug_after = 4, .stall_after = 1, .short_after = 2};
    send_out(&u, command, 2);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, data, sizeof data, &n), -EPIPE);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, data, sizeof data, &n), -EPIPE);
    usb_device_clear_halt(&u.device);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, data, sizeof data, &n), 0);
    ck_assert_uint_eq(n, 3);
    send_out(&u, command, 2);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, data, sizeof data, &n), 0);
    ck_assert_uint_eq(n, 1);
    u.device.faults.lose_after = 1;
    send_out(&u, command, 2);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, data, sizeof data, &n),
                     USB_DEVICE_WAIT);
    ck_assert_int_eq(send_out(&u, command, 2), -ESHUTDOWN);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, data, sizeof data, &n), -ESHUTDOWN);
    teardown();
}
END_TEST

START_TEST(test_usb_hid)
{
    uint8_t report[64] = {0x00, 0xfe};
    struct usb_probe u;
    size_t n;
    setup(4);
    board->probe.options.packet_size = 64;
    usb_probe_init(&u, board, true);
    ck_assert_int_eq(send_out(&u, report, sizeof report), 0);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_IN, report, sizeof report, &n), 0);
    ck_assert_uint_eq(n, 64); /* a whole report, padded with zeros */
    ck_assert_mem_eq(report, "\x00\x01\x04\x00", 4);
    ck_assert_int_eq(usb_device_in(&u.device, USB_PROBE_EP_SWO, report, sizeof report, &n), -EPIPE);
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cmsis_dap_model");
    unit_case(s, "cmsis_dap_model: information", test_info);
    unit_case(s, "cmsis_dap_model: connect and power up", test_connect_example);
    unit_case(s, "cmsis_dap_model: mixed transfers", test_transfer);
    unit_case(s, "cmsis_dap_model: a FAULT ends the list", test_transfer_fault);
    unit_case(s, "cmsis_dap_model: WAIT is retried", test_transfer_wait);
    unit_case(s, "cmsis_dap_model: parity and no answer", test_line_errors);
    unit_case(s, "cmsis_dap_model: value match", test_match);
    unit_case(s, "cmsis_dap_model: blocks", test_block);
    unit_case(s, "cmsis_dap_model: JTAG", test_jtag);
    unit_case(s, "cmsis_dap_model: as the reference firmware", test_as_reference);
    unit_case(s, "cmsis_dap_model: posted reads on JTAG", test_jtag_posted);
    unit_case(s, "cmsis_dap_model: connecting sets pins up", test_connects);
    unit_case(s, "cmsis_dap_model: packet count and size", test_packet_limits);
    unit_cases(s, "cmsis_dap_model: any bytes", test_any_bytes, 0, 4);
    unit_case(s, "cmsis_dap_model: nRESET", test_nreset);
    unit_case(s, "probe_board: fault text", test_fault_text);
    unit_cases(s, "usb_probe: descriptors", test_usb_descriptors, 0, 2);
    unit_case(s, "usb_probe: stall, short, lost, unplugged", test_usb_faults);
    unit_case(s, "usb_probe: HID reports", test_usb_hid);
    return s;
}
