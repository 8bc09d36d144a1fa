/* SPDX-License-Identifier: BSD-3-Clause */
/* The FT2232H as a USB device: packets, latency timer, requests, buffers. */
#include "tests/drivers/probe/ftdi/ftdi_bench.h"
#include "tests/model/usbip_server.h"
#include "tests/support/random_next.h"

#define LOOP 5000

static void start_mpsse(void)
{
    ck_assert_int_eq(set(0x0b, 0x0000, 1), 0);
    ck_assert_int_eq(set(0x0b, 0x0200, 1), 0);
}

START_TEST(test_descriptors)
{
    setup();
    ck_assert_int_eq(control(0x80, 6, 0x0100, 0, 64), 0);
    ck_assert_uint_eq(actual, 18);
    ck_assert_mem_eq(data + 8, "\x03\x04\x10\x60\x00\x07", 6);
    ck_assert_int_eq(control(0x80, 6, 0x0200, 0, 255), 0);
    ck_assert_uint_eq(actual, data[2] | data[3] << 8);
    ck_assert_uint_eq(data[4], 2);
    uint8_t addresses[8];
    size_t at = 0, n = 0;
    for (; at < actual; at += data[at]) {
        if (data[at + 1] == USB_DT_ENDPOINT) {
            ck_assert_uint_eq(data[at + 4] | data[at + 5] << 8, 512);
            addresses[n++] = data[at + 2];
        }
    }
    ck_assert_uint_eq(at, actual);
    ck_assert_uint_eq(n, 4);
    ck_assert_mem_eq(addresses, "\x81\x02\x83\x04", 4);
    ck_assert_int_eq(control(0x80, 6, 0x0302, 0x0409, 255), 0);
    ck_assert_uint_eq(data[2], 'F');
    ck_assert_int_eq(control(0x80, 6, 0x0304, 0x0409, 255), -EPIPE);
    ck_assert_int_eq(receive(0x85, 512), -EPIPE);
    ck_assert_int_eq(send_bytes(0x06, "", 0), -EPIPE);
    teardown();
}
END_TEST

/* What libftdi1 tells of the chips: bcdDevice, channels, those with an MPSSE, buffers. */
START_TEST(test_chips)
{
    static const struct {
        const char *layout;
        unsigned release, channels, engines;
        size_t buffer;
        bool high_byte;
    } chips[] = {{"minimodule", 0x0700, 2, 2, 4096, true},
                 {"ft4232h", 0x0800, 4, 2, 2048, false},
                 {"ft232h-swd", 0x0900, 1, 1, 1024, true}};
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
        setup_with((struct usb_ftdi_options){.layout = ftdi_layout_find(chips[i].layout)});
        ck_assert_int_eq(control(0x80, 6, 0x0100, 0, 64), 0);
        ck_assert_uint_eq(data[12] | data[13] << 8, chips[i].release);
        ck_assert_int_eq(control(0x80, 6, 0x0200, 0, 255), 0);
        ck_assert_uint_eq(data[4], chips[i].channels);
        for (unsigned c = 0; c < FTDI_CHANNELS; c++) {
            bool is_there = c < chips[i].channels;
            ck_assert_int_eq(set(0x00, 0, c + 1), is_there ? 0 : -EPIPE);
            ck_assert_int_eq(set(0x0b, 0x0200, c + 1), is_there ? 0 : -EPIPE);
            /* A command that is none is answered where there is an engine. */
            ck_assert_int_eq(send_bytes((uint8_t)(2 * c + 2), "\xaa\x87", 2),
                             is_there ? 0 : -EPIPE);
            ck_assert_uint_eq(ftdi->channel[c].in.count, c < chips[i].engines ? 2 : 0);
        }
        ck_assert_uint_eq(ftdi_fifo_room(&ftdi->channel[0].in) + 2, chips[i].buffer);
        ck_assert_int_eq(send_bytes(0x02, "\x82\xff\xff", 3), 0);
        ck_assert_uint_eq(ftdi->channel[0].mpsse.output >> 8, chips[i].high_byte ? 0xff : 0);
        teardown();
    }
}
END_TEST

START_TEST(test_requests)
{
    setup();
    ck_assert_int_eq(control(0xc0, 0x0a, 0, 1, 1), 0);
    ck_assert_uint_eq(data[0], 16);
    ck_assert_int_eq(set(0x09, 77, 2), 0);
    ck_assert_int_eq(control(0xc0, 0x0a, 0, 2, 1), 0);
    ck_assert_uint_eq(data[0], 77);
    ck_assert_uint_eq(ftdi->channel[0].latency, 16);
    ck_assert_int_eq(set(0x09, 0, 1), -EPIPE);
    ck_assert_int_eq(set(0x09, 256, 1), -EPIPE);
    ck_assert_int_eq(control(0xc0, 0x05, 0, 1, 2), 0);
    ck_assert_uint_eq(actual, 2);
    ck_assert_mem_eq(data, "\x32\x60", 2);
    ck_assert_int_eq(set(0x00, 3, 1), -EPIPE);
    ck_assert_int_eq(set(0x00, 0, 0), -EPIPE); /* channels count from 1 */
    ck_assert_int_eq(set(0x00, 0, 3), -EPIPE);
    ck_assert_int_eq(set(0x20, 0, 1), -EPIPE);
    ck_assert_int_eq(set(0x02, 0, 0x0101), 0);
    ck_assert_int_eq(set(0x04, 8, 1), 0);
    ck_assert_int_eq(set(0x01, 0x0303, 1), 0);
    /* 12 MHz / 1, / 1.5 and / 104.125; 3 MHz / 26. */
    const unsigned bauds[][3] = {{0x0000, 0x0202, 12000000},
                                 {0x0001, 0x0202, 8000000},
                                 {0xc068, 0x0202, 115246},
                                 {0x001a, 0x0002, 115384}};
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(set(0x03, bauds[i][0], bauds[i][1]), 0);
        ck_assert_uint_eq(ftdi->channel[1].baud, bauds[i][2]);
    }
    teardown();
}
END_TEST

/* The checksum of the words comes out as the last one; writing and erasing change them. */
START_TEST(test_eeprom)
{
    setup();
    uint16_t sum = 0xaaaa;
    for (unsigned i = 0; i < FTDI_EEPROM_WORDS; i++) {
        ck_assert_int_eq(control(0xc0, 0x90, 0, i, 2), 0);
        uint16_t word = (uint16_t)(data[0] | data[1] << 8);
        ck_assert(i != 1 || word == 0x0403);
        ck_assert(i != 2 || word == 0x6010);
        if (i == FTDI_EEPROM_WORDS - 1)
            ck_assert_uint_eq(word, sum);
        sum ^= word;
        sum = (uint16_t)(sum << 1 | sum >> 15);
    }
    ck_assert_int_eq(set(0x91, 0x1234, 5), 0);
    ck_assert_int_eq(control(0xc0, 0x90, 0, 5, 2), 0);
    ck_assert_mem_eq(data, "\x34\x12", 2);
    ck_assert_int_eq(set(0x91, 0x1234, FTDI_EEPROM_WORDS), -EPIPE);
    ck_assert_int_eq(set(0x92, 0, 0), 0);
    ck_assert_int_eq(control(0xc0, 0x90, 0, 1, 2), 0);
    ck_assert_mem_eq(data, "\xff\xff", 2);
    ck_assert_uint_eq(ftdi->counters.eeprom_writes, 3);
    teardown();
}
END_TEST

START_TEST(test_latency)
{
    setup();
    start_mpsse();
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    now += 15999;
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    now += 1;
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_uint_eq(actual, 2);
    ck_assert_mem_eq(data, "\x32\x60", 2);
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    ck_assert_int_eq(send_bytes(0x02, "\xaa", 1), 0); /* without send immediate */
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    now += 16000;
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_uint_eq(actual, 4);
    ck_assert_mem_eq(data + 2, "\xfa\xaa", 2);
    ck_assert_int_eq(set(0x09, 255, 1), 0);
    now += 254999;
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    now += 1;
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_uint_eq(ftdi->counters.idle, 2);
    teardown();
}
END_TEST

/* Only what is there at that moment leaves at once. */
START_TEST(test_send_immediate)
{
    setup();
    start_mpsse();
    ck_assert_int_eq(send_bytes(0x02, "\xaa\x87\xab", 3), 0);
    ck_assert_int_eq(receive(0x81, 4096), 0);
    ck_assert_uint_eq(actual, 4);
    ck_assert_mem_eq(data + 2, "\xfa\xaa", 2);
    ck_assert_int_eq(receive(0x81, 4096), USB_DEVICE_WAIT);
    ck_assert_int_eq(send_bytes(0x02, "\x87", 1), 0);
    ck_assert_int_eq(receive(0x81, 4096), 0);
    ck_assert_mem_eq(data + 2, "\xfa\xab", 2);
    /* Nothing to send: it does not count for what comes later. */
    ck_assert_int_eq(send_bytes(0x02, "\x87\xaa", 2), 0);
    ck_assert_int_eq(receive(0x81, 4096), USB_DEVICE_WAIT);
    /* A buffer that is too small for the packet. */
    ck_assert_int_eq(send_bytes(0x02, "\x87", 1), 0);
    ck_assert_int_eq(receive(0x81, 3), -EOVERFLOW);
    teardown();
}
END_TEST

/* 5000 bytes through the loopback, read in transfers of that size; each packet has its status. */
static void loopback(size_t transfer)
{
    static uint8_t batch[4 + LOOP + 1];
    size_t got = 0;
    size_t taken = 0;
    memcpy(batch, (const uint8_t[]){0x84, 0x39, (LOOP - 1) & 0xff, (LOOP - 1) >> 8}, 4);
    for (unsigned i = 0; i < LOOP; i++)
        batch[4 + i] = (uint8_t)(i * 7 + (i >> 8));
    batch[4 + LOOP] = 0x87;
    int out = usb_device_out(&ftdi->device, 0x02, batch, sizeof batch, &taken);
    while (got < LOOP) {
        int status = receive(0x81, transfer);
        if (status == USB_DEVICE_WAIT && out == USB_DEVICE_WAIT) {
            out = usb_device_out(&ftdi->device, 0x02, batch, sizeof batch, &taken);
            continue;
        }
        ck_assert_int_eq(status, 0);
        for (size_t at = 0; at < actual; at += FTDI_PACKET) {
            size_t n = actual - at < FTDI_PACKET ? actual - at : FTDI_PACKET;
            ck_assert_mem_eq(data + at, "\x32\x60", 2);
            ck_assert_mem_eq(data + at + 2, batch + 4 + got, n - 2);
            got += n - 2;
        }
    }
    ck_assert_uint_eq(got, LOOP);
}

START_TEST(test_loopback)
{
    setup();
    start_mpsse();
    loopback(512);
    loopback(4096);
    loopback(16384);
    loopback(600); /* a row of single packets: two do not fit */
    teardown();
}
END_TEST

/* Who does not read comes to a stop, and loses nothing by it. */
START_TEST(test_back_pressure)
{
    static uint8_t batch[20000];
    size_t taken = 0, got = 0;
    setup();
    start_mpsse();
    memset(batch, 0xaa, sizeof batch); /* two bytes back for each */
    ck_assert_int_eq(usb_device_out(&ftdi->device, 0x02, batch, sizeof batch, &taken),
                     USB_DEVICE_WAIT);
    ck_assert_uint_ge(taken, FTDI_FIFO_SIZE + FTDI_FIFO_SIZE / 2);
    ck_assert_uint_le(taken, FTDI_FIFO_SIZE + FTDI_FIFO_SIZE / 2 + 2);
    size_t before = taken;
    ck_assert_int_eq(usb_device_out(&ftdi->device, 0x02, batch, sizeof batch, &taken),
                     USB_DEVICE_WAIT);
    ck_assert_uint_eq(taken, before);
    while (got < 2 * sizeof batch) {
        int status = receive(0x81, 512);
        if (status == 0)
            got += actual - 2;
        now += 20000;
        usb_device_out(&ftdi->device, 0x02, batch, sizeof batch, &taken);
    }
    ck_assert_uint_eq(got, 2 * sizeof batch);
    ck_assert_uint_eq(taken, sizeof batch);
    teardown();
}
END_TEST

START_TEST(test_purge)
{
    setup();
    start_mpsse();
    send_bytes(0x02, "\x88\xaa", 2); /* waits for a pin that is high: goes on at once */
    now += 20000;
    ck_assert_int_eq(set(0x00, 2, 1), 0);
    ck_assert_uint_eq(ftdi->counters.purged, 2);
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_uint_eq(actual, 2);
    send_bytes(0x02, "\x89\xaa", 2); /* and for one that never comes */
    ck_assert_uint_eq(ftdi->channel[0].out.count, 1);
    ck_assert_int_eq(set(0x00, 1, 1), 0);
    ck_assert_uint_eq(ftdi->channel[0].out.count, 0);
    teardown();
}
END_TEST

START_TEST(test_bit_modes)
{
    setup();
    ck_assert_int_eq(send_bytes(0x02, "abc", 3), 0); /* a UART with nobody at the end */
    ck_assert_uint_eq(ftdi->counters.dropped, 3);
    ck_assert_int_eq(set(0x0b, 0x010b, 1), 0);
    send_bytes(0x02, "\x09", 1);
    ck_assert_uint_eq(ftdi->channel[0].mpsse.level & 0xff, 0x09);
    ck_assert_uint_eq(ftdi->channel[0].mpsse.output, 0x0b);
    ck_assert_int_eq(control(0xc0, 0x0c, 0, 1, 1), 0);
    ck_assert_uint_eq(data[0] & 0x0b, 0x09);
    ck_assert_int_eq(set(0x0b, 0x040b, 1), 0);
    send_bytes(0x02, "\x02\x00", 2);
    now += 16000;
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_uint_eq(actual, 4);
    ck_assert_uint_eq(data[2] & 0x0b, 0x00); /* the pins before each byte */
    ck_assert_uint_eq(data[3] & 0x0b, 0x02);
    start_mpsse();
    send_bytes(0x02, "\x80\xff\x0b", 3);
    ck_assert_int_eq(set(0x0b, 0, 1), 0);
    ck_assert_uint_eq(ftdi->channel[0].mpsse.output, 0);
    teardown();
}
END_TEST

START_TEST(test_faults)
{
    setup();
    start_mpsse();
    ftdi->device.faults = (struct usb_faults){.unplug_after = 4, .stall_after = 1};
    send_bytes(0x02, "\xaa\x87", 2);
    ck_assert_int_eq(receive(0x81, 512), -EPIPE);
    ck_assert_int_eq(receive(0x81, 512), -EPIPE);
    usb_device_clear_halt(&ftdi->device);
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_mem_eq(data + 2, "\xfa\xaa", 2);
    ftdi->device.faults.lose_after = 1;
    send_bytes(0x02, "\xaa\x87", 2);
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    ftdi->device.faults.short_after = 1;
    send_bytes(0x02, "\xaa\x87", 2);
    ck_assert_int_eq(receive(0x81, 512), 0);
    ck_assert_uint_eq(actual, 3);
    ck_assert_int_eq(send_bytes(0x02, "\xaa\x87", 2), -ESHUTDOWN);
    ck_assert_int_eq(receive(0x81, 512), -ESHUTDOWN);
    ck_assert_int_eq(set(0x09, 1, 1), -ESHUTDOWN);
    usb_device_replug(&ftdi->device);
    ck_assert_uint_eq(ftdi->channel[0].mode, FTDI_MODE_RESET);
    ck_assert_int_eq(receive(0x81, 512), USB_DEVICE_WAIT);
    teardown();
}
END_TEST

/* Whatever a host sends: statuses make sense, nothing is written behind a buffer,
 * and it answers. */
START_TEST(test_nonsense)
{
    uint32_t state = (uint32_t)_i + 1;
    uint8_t bytes[64];
    setup_with((struct usb_ftdi_options){
        .layout = ftdi_layout_find(_i & 1 ? "kt-link" : "minimodule-swd")});
    start_mpsse();
    for (unsigned n = 0; n < 2000; n++) {
        uint8_t endpoint = random_next16(&state) & 1 ? 0x02 : 0x04;
        size_t size = random_next16(&state) % sizeof bytes;
        size_t taken = 0;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)random_next16(&state);
        int status = usb_device_out(&ftdi->device, endpoint, bytes, size, &taken);
        ck_assert(status == 0 || status == USB_DEVICE_WAIT);
        ck_assert(taken <= size && (status != 0 || taken == size));
        now += random_next16(&state) % 20000;
        size = random_next16(&state) % 2048;
        status = receive(random_next16(&state) & 1 ? 0x81 : 0x83, size);
        ck_assert(status == 0 || status == USB_DEVICE_WAIT || status == -EOVERFLOW);
        ck_assert_uint_le(actual, size);
        if (random_next16(&state) % 64 == 0)
            status = control(random_next16(&state) & 1 ? 0x40 : 0xc0,
                             (uint8_t)(random_next16(&state) % 0x93), random_next16(&state),
                             random_next16(&state) % 4, 2);
        ck_assert(status <= USB_DEVICE_WAIT);
    }
    set(0x00, 0, 1);
    start_mpsse();
    send_bytes(0x02, "\xaa\x87", 2);
    ck_assert_int_eq(receive(0x81, 4096), 0);
    ck_assert_mem_eq(data + 2, "\xfa\xaa", 2);
    teardown();
}
END_TEST

/* Over USB/IP a transfer that the device does not take waits, and its answer comes when it has. */
static struct {
    unsigned count;
    uint32_t sequence[4], actual[4];
} replies;

static void on_send(void *ctx, const uint8_t *bytes, size_t size)
{
    (void)ctx;
    (void)size;
    ck_assert_uint_lt(replies.count, 4);
    replies.sequence[replies.count] = bytes[7];
    replies.actual[replies.count++] = (uint32_t)bytes[26] << 8 | bytes[27];
}

static void request(uint8_t *h, uint8_t sequence, bool is_in, uint8_t endpoint, unsigned length)
{
    memset(h, 0, USBIP_HEADER);
    h[3] = 1;
    h[7] = sequence;
    h[15] = is_in;
    h[19] = endpoint;
    h[26] = (uint8_t)(length >> 8);
    h[27] = (uint8_t)length;
}

START_TEST(test_usbip_out_waits)
{
    enum { OUT = 10000, IN = 40960 };
    static uint8_t message[USBIP_HEADER + OUT];
    struct usbip_server server;
    setup();
    start_mpsse();
    memset(&replies, 0, sizeof replies);
    ck_assert_int_eq(usbip_server_init(&server, &ftdi->device, on_send, NULL), 0);
    memset(message, 0xaa, sizeof message);
    request(message, 1, false, 2, OUT);
    ck_assert_int_eq(usbip_server_input(&server, message, sizeof message), 0);
    ck_assert_uint_eq(replies.count, 0);
    request(message, 2, true, 1, IN);
    ck_assert_int_eq(usbip_server_input(&server, message, USBIP_HEADER), 0);
    ck_assert_uint_eq(replies.count, 1); /* it is taken while the other one is filled */
    ck_assert_uint_eq(replies.sequence[0], 1);
    ck_assert_uint_eq(replies.actual[0], OUT);
    now += 16000;
    ck_assert(!usbip_server_poll(&server));
    ck_assert_uint_eq(replies.sequence[1], 2);
    ck_assert_uint_eq(replies.actual[1], 2 * OUT + 2 * ((2 * OUT + 509) / 510));
    request(message, 3, false, 2, OUT); /* and is forgotten with the connection */
    ck_assert_int_eq(usbip_server_input(&server, message, sizeof message), 0);
    usbip_server_release(&server);
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("usb_ftdi");
    unit_case(s, "usb_ftdi: descriptors", test_descriptors);
    unit_case(s, "usb_ftdi: what differs between the chips", test_chips);
    unit_case(s, "usb_ftdi: control requests", test_requests);
    unit_case(s, "usb_ftdi: EEPROM", test_eeprom);
    unit_case(s, "usb_ftdi: latency timer", test_latency);
    unit_case(s, "usb_ftdi: send immediate", test_send_immediate);
    unit_case(s, "usb_ftdi: 5000 bytes through the loopback", test_loopback);
    unit_case(s, "usb_ftdi: buffers that are full", test_back_pressure);
    unit_case(s, "usb_ftdi: purge", test_purge);
    unit_case(s, "usb_ftdi: bit modes", test_bit_modes);
    unit_case(s, "usb_ftdi: stall, lost, short, unplugged", test_faults);
    unit_cases(s, "usb_ftdi: nonsense", test_nonsense, 0, 8);
    unit_case(s, "usb_ftdi: an OUT transfer that waits, over USB/IP", test_usbip_out_waits);
    return s;
}
