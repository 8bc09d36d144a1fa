/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace through an FT2232H: a synchronous FIFO, and SWO on channel B (AN_130). */
#include "tests/drivers/probe/ftdi/ftdi_bench.h"

/* As fast as the host takes it, then at a rate. */
START_TEST(test_sync_fifo)
{
    enum { PACKETS = 128, SIZE = 3 * PACKETS * (FTDI_PACKET - FTDI_STATUS) };
    static uint8_t bytes[SIZE];
    struct trace_feed source = {.bytes = bytes, .size = SIZE, .times = 1};
    size_t got = 0;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 11 + (i >> 8));
    setup_with((struct usb_ftdi_options){.fifo = &source});
    ck_assert_int_eq(set(0x0b, 0x40ff, 1), 0);
    for (unsigned n = 0; n < 3; n++) {
        ck_assert_int_eq(receive(0x81, PACKETS * FTDI_PACKET), 0);
        ck_assert_uint_eq(actual, PACKETS * FTDI_PACKET);
        for (size_t i = 0; i < actual; i++)
            if (i % FTDI_PACKET >= FTDI_STATUS)
                ck_assert_uint_eq(data[i], bytes[got++]);
    }
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    source = (struct trace_feed){.bytes = bytes, .size = SIZE, .rate = 1000000, .times = 1};
    ck_assert_int_eq(receive(0x81, 4096), USB_DEVICE_WAIT);
    now += 600;
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_mem_eq(data + 2, bytes, 510);
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    /* Each packet starts the latency timer anew: a stream ends no transfer before it is full. */
    for (unsigned n = 0; n < 4; n++) {
        ck_assert_int_eq(receive(0x81, sizeof data), USB_DEVICE_WAIT);
        now += 16000;
    }
    now += 6000;
    ck_assert_int_eq(receive(0x81, sizeof data), 0);
    ck_assert_uint_eq(actual, sizeof data);
    ck_assert_mem_eq(data + 2, bytes + 510, 510);
    teardown();
}
END_TEST

static void put_swo(unsigned count)
{
    uint8_t bytes[256];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    for (; count > 0; count -= count < 256 ? count : 256)
        cs_swo_put(&board->system, bytes, count < 256 ? count : 256);
}

/* Channel B as a UART: the rate has to be the target's, and somebody has to read in time. */
START_TEST(test_swo)
{
    setup();
    board->system.tpiu.sppr = 2;
    board->system.tpiu.acpr = 15; /* 4 MHz */
    put_swo(100);
    now += 16000;
    ck_assert_int_eq(receive(0x83, 512), 0);
    ck_assert_uint_eq(actual, 2);
    ck_assert_uint_eq(ftdi->counters.wrong_baud, 100);
    ck_assert_int_eq(set(0x03, 0x0003, 0x0202), 0); /* 12 MHz / 3 */
    board->system.tpiu.sppr = 1;                    /* Manchester */
    put_swo(100);
    now += 16000;
    ck_assert_int_eq(receive(0x83, 512), 0);
    ck_assert_uint_eq(ftdi->counters.wrong_baud, 200);
    board->system.tpiu.sppr = 2;
    put_swo(100);
    now += 16000;
    ck_assert_int_eq(receive(0x83, 512), 0);
    ck_assert_uint_eq(actual, 102);
    ck_assert_mem_eq(data, "\x32\x60\x00\x01\x02", 5);
    for (unsigned i = 0; i < 40; i++) {
        put_swo(256);
        send_bytes(0x04, "", 0);
        send_bytes(0x04, "x", 1); /* lets the channel look at its pin */
    }
    ck_assert_uint_eq(ftdi->counters.overruns, 40 * 256 - FTDI_FIFO_SIZE);
    ck_assert_int_eq(receive(0x83, 4096), 0);
    ck_assert_uint_eq(data[1] & FTDI_LINE_OVERRUN, FTDI_LINE_OVERRUN);
    ck_assert_uint_eq(data[FTDI_PACKET + 1] & FTDI_LINE_OVERRUN, 0);
    teardown();
}
END_TEST

/* A UART's sender does not wait, but the chip fills the transfers that do. */
START_TEST(test_swo_queued)
{
    setup();
    board->system.tpiu.sppr = 2;
    board->system.tpiu.acpr = 15;
    ck_assert_int_eq(set(0x03, 0x0003, 0x0202), 0);
    usb_device_queue(&ftdi->device, 0x83, 8192);
    put_swo(8000);
    usb_device_queue(&ftdi->device, 0x83, 512);
    ck_assert_uint_eq(ftdi->counters.overruns, 0);
    ck_assert_int_eq(receive(0x83, 7680), 0);
    ck_assert_uint_eq(actual, 7680);
    for (size_t i = 0, byte = 0; i < actual; i++)
        if (i % FTDI_PACKET >= FTDI_STATUS)
            ck_assert_uint_eq(data[i], (uint8_t)byte++);
    ck_assert_int_eq(set(0x0b, 0x40ff, 1), 0); /* then this channel does not work */
    ck_assert_int_eq(set(0x00, 2, 2), 0);
    put_swo(1000);
    now += 16000;
    ck_assert_int_eq(receive(0x83, 7680), 0);
    ck_assert_uint_eq(actual, 2);
    teardown();
}
END_TEST

/* A file on the line of channel B waits until somebody listens at its rate, and then for nobody. */
START_TEST(test_uart)
{
    static uint8_t bytes[9000];
    struct trace_feed line = {.bytes = bytes, .size = sizeof bytes, .rate = 200000, .times = 1};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8));
    setup_with((struct usb_ftdi_options){.uart = &line, .uart_baud = 2000000});
    put_swo(100); /* that pin is not wired */
    now += 100000;
    ck_assert_int_eq(receive(0x83, 512), 0);
    ck_assert_uint_eq(actual, 2);
    ck_assert_uint_eq(ftdi->counters.wrong_baud, 0);
    ck_assert_int_eq(set(0x03, 0x0006, 0x0202), 0); /* 12 MHz / 6 */
    ck_assert_int_eq(receive(0x83, 512), USB_DEVICE_WAIT);
    now += 5100;
    ck_assert_int_eq(receive(0x83, 1024), 0);
    ck_assert_uint_eq(actual, 1024);
    ck_assert_mem_eq(data, "\x32\x60", 2);
    ck_assert_mem_eq(data + 2, bytes, 510);
    ck_assert_mem_eq(data + 512, "\x32\x60", 2);
    ck_assert_mem_eq(data + 514, bytes + 510, 510);
    ck_assert_int_eq(set(0x03, 0x0003, 0x0202), 0); /* another rate, while it sends */
    now += 5000;
    receive(0x83, 512);
    ck_assert_uint_eq(ftdi->counters.wrong_baud, 1000);
    ck_assert_int_eq(set(0x03, 0x0006, 0x0202), 0);
    now += 100000; /* all the rest, of which the chip holds 4096 */
    receive(0x83, 512);
    ck_assert_uint_eq(ftdi->counters.overruns, 9000 - 2020 - FTDI_FIFO_SIZE);
    teardown();
}
END_TEST

/* Packets of 64 bytes: 62 of payload. */
START_TEST(test_full_speed)
{
    static uint8_t bytes[62 * 100 + 10];
    struct trace_feed source = {.bytes = bytes, .size = sizeof bytes, .times = 1};
    size_t got = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8));
    setup_with((struct usb_ftdi_options){.fifo = &source, .full_speed = true});
    ck_assert_int_eq(control(0x80, 6, 0x0200, 0, 255), 0);
    for (size_t at = 0; at < actual; at += data[at])
        if (data[at + 1] == USB_DT_ENDPOINT)
            ck_assert_uint_eq(data[at + 4] | data[at + 5] << 8, 64);
    ck_assert_int_eq(set(0x0b, 0x40ff, 1), 0);
    ck_assert_int_eq(receive(0x81, 8192), USB_DEVICE_WAIT);
    now += 16000;
    ck_assert_int_eq(receive(0x81, 8192), 0);
    ck_assert_uint_eq(actual, 64 * 100 + 12);
    for (size_t i = 0; i < actual; i++) {
        if (i % 64 == 0)
            ck_assert_mem_eq(data + i, "\x32\x60", 2);
        else if (i % 64 >= FTDI_STATUS)
            ck_assert_uint_eq(data[i], bytes[got++]);
    }
    ck_assert_uint_eq(got, sizeof bytes);
    teardown();
}
END_TEST

/* The logic holds 1000 bytes, the chip 4096; then what the host waits for is room, too. */
START_TEST(test_fifo_lost)
{
    static uint8_t bytes[100000];
    struct trace_feed source = {.bytes = bytes, .size = sizeof bytes, .rate = 1000000, .times = 1};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 13 + (i >> 8));
    setup_with((struct usb_ftdi_options){.fifo = &source, .buffer = 1000});
    ck_assert_int_eq(set(0x0b, 0x40ff, 1), 0);
    usb_device_queue(&ftdi->device, 0x81, 5120);
    now += 10000;
    usb_device_queue(&ftdi->device, 0x81, 512);
    ck_assert_uint_eq(ftdi->counters.fifo_lost, 0);
    now += 10000;
    usb_device_unqueue(&ftdi->device, 0x81, 512);
    ck_assert_uint_eq(ftdi->counters.fifo_lost, 20000 - 4096 - 5632 - 1000);
    ck_assert_int_eq(receive(0x81, 5120), 0);
    ck_assert_mem_eq(data + 2, bytes, 510);
    ck_assert_mem_eq(data + 9 * 512 + 2, bytes + 9 * 510, 510);
    ck_assert_int_eq(receive(0x81, 5120), 0);
    board->probe.swo.drop = 100;
    now += 1000;
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_uint_eq(ftdi->counters.fifo_lost, 20000 - 4096 - 5632 - 1000 + 100);
    teardown();
}
END_TEST

/* A chip whose EEPROM says nothing of a FIFO has none, from the next time that it is plugged in. */
START_TEST(test_fifo_eeprom)
{
    static const uint8_t bytes[1000];
    struct trace_feed source = {.bytes = bytes, .size = sizeof bytes, .times = 1};
    setup_with((struct usb_ftdi_options){.fifo = &source});
    ck_assert_int_eq(control(0xc0, 0x90, 0, 0, 2), 0);
    ck_assert_uint_eq(data[0] & 7, 1);
    ck_assert_int_eq(set(0x92, 0, 0), 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(set(0x0b, 0x40ff, 1), 0);
        now += 16000;
        ck_assert_int_eq(receive(0x81, 512), 0);
        ck_assert_uint_eq(actual, i ? 2 : 512);
        usb_device_unplug(&ftdi->device);
        usb_device_replug(&ftdi->device);
    }
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("usb_ftdi_stream");
    unit_case(s, "usb_ftdi_stream: synchronous FIFO", test_sync_fifo);
    unit_case(s, "usb_ftdi_stream: SWO on a UART", test_swo);
    unit_case(s, "usb_ftdi_stream: SWO and transfers that wait", test_swo_queued);
    unit_case(s, "usb_ftdi_stream: a file on a UART", test_uart);
    unit_case(s, "usb_ftdi_stream: packets at full speed", test_full_speed);
    unit_case(s, "usb_ftdi_stream: a FIFO that overflows", test_fifo_lost);
    unit_case(s, "usb_ftdi_stream: no FIFO by the EEPROM", test_fifo_eeprom);
    return s;
}
