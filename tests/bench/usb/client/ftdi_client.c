/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain libftdi1 client of an FT2232H, one line for each thing that it tries: finding and opening
 * both channels, strings, EEPROM, latency timer, MPSSE with its bad commands, 5000 bytes through
 * the loopback (in one piece, and asynchronously), and a read that nothing answers. With the
 * argument `stuck`: writes a batch that answers more than the chip holds and reads nothing. With
 * `stream BYTES FILE`: that much from the synchronous FIFO, by transfers one after the other; with
 * `readstream BYTES FILE`: the same by ftdi_readstream().
 */
#include <ftdi.h>
#include <libusb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define VID              0x0403
#define PID              0x6010
#define LOOP             5000
#define WAIT_MS          1000
#define STUCK_MS         300
#define STREAM_BYTES     65536
#define PACKET           512
#define STREAM_MS        900
#define STREAM_PACKETS   32 /* a transfer */
#define STREAM_TRANSFERS 16
#define LATENCY          20
#define ASK_BYTES        65536
#define FIFO             4096 /* bytes, in each direction */

static long now_ms(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    return t.tv_sec * 1000L + t.tv_usec / 1000;
}

/* Reads `size` bytes, or what came until the time is over. */
static int read_all(struct ftdi_context *f, uint8_t *bytes, int size)
{
    long end = now_ms() + WAIT_MS;
    int got = 0;
    while (got < size && now_ms() < end) {
        int n = ftdi_read_data(f, bytes + got, size - got);
        if (n < 0)
            return n;
        got += n;
    }
    return got;
}

static void find(struct ftdi_context *f)
{
    struct ftdi_device_list *list;
    char vendor[64] = "", product[64] = "", serial[64] = "";
    int n = ftdi_usb_find_all(f, &list, VID, PID);
    if (n == 1)
        ftdi_usb_get_strings(f, list->dev, vendor, sizeof vendor, product, sizeof product, serial,
                             sizeof serial);
    printf("found %d: %s, %s, %s\n", n, vendor, product, serial);
    if (n > 0)
        ftdi_list_free(&list);
}

static int open_channel(struct ftdi_context *f, enum ftdi_interface channel)
{
    ftdi_set_interface(f, channel);
    int r = ftdi_usb_open(f, VID, PID);
    if (r < 0)
        printf("open: %d %s\n", r, ftdi_get_error_string(f));
    return r;
}

static void eeprom(struct ftdi_context *f)
{
    int vid = 0;
    int read = ftdi_read_eeprom(f);
    int decoded = read < 0 ? -1 : ftdi_eeprom_decode(f, 0);
    ftdi_get_eeprom_value(f, VENDOR_ID, &vid);
    printf("eeprom: %d %d %04x\n", read, decoded, vid);
}

static void settings(struct ftdi_context *f)
{
    unsigned char latency = 0;
    unsigned short status = 0;
    int set = ftdi_set_latency_timer(f, LATENCY);
    ftdi_get_latency_timer(f, &latency);
    int modem = ftdi_poll_modem_status(f, &status);
    printf("type %d, packet %d, ends %02x %02x, latency %d %d, modem %d %04x\n", f->type,
           f->max_packet_size, f->in_ep, f->out_ep, set, latency, modem, status);
    printf("baud %d %d, flow %d, line %d\n", ftdi_set_baudrate(f, 115200),
           ftdi_set_baudrate(f, 12000000), ftdi_setflowctrl(f, SIO_DISABLE_FLOW_CTRL),
           ftdi_set_line_property(f, BITS_8, STOP_BIT_1, NONE));
}

static void bad_command(struct ftdi_context *f, uint8_t command)
{
    uint8_t bytes[2] = {command, SEND_IMMEDIATE};
    ftdi_write_data(f, bytes, 2);
    int n = read_all(f, bytes, 2);
    printf("echo %d: %02x %02x\n", n, bytes[0], bytes[1]);
}

/* Bytes out and in, least significant bit first; then the loop is opened again. */
static void loop(struct ftdi_context *f, bool async)
{
    static uint8_t out[LOOP + 8], in[LOOP];
    const int size = 4 + LOOP + 2;
    int sent, got;
    memcpy(out, (const uint8_t[]){LOOPBACK_START, 0x39, (LOOP - 1) & 0xff, (LOOP - 1) >> 8}, 4);
    for (unsigned i = 0; i < LOOP; i++)
        out[4 + i] = (uint8_t)(i * 7 + (i >> 8));
    out[4 + LOOP] = LOOPBACK_END;
    out[5 + LOOP] = SEND_IMMEDIATE;
    memset(in, 0, sizeof in);
    if (async) {
        struct ftdi_transfer_control *read = ftdi_read_data_submit(f, in, LOOP);
        struct ftdi_transfer_control *write = ftdi_write_data_submit(f, out, size);
        sent = ftdi_transfer_data_done(write);
        got = ftdi_transfer_data_done(read);
    } else {
        sent = ftdi_write_data(f, out, size);
        got = read_all(f, in, LOOP);
    }
    printf("loop %s: %d %d %s\n", async ? "async" : "sync", sent == size, got,
           memcmp(in, out + 4, LOOP) == 0 ? "same" : "different");
}

static void idle(struct ftdi_context *f)
{
    uint8_t byte;
    long start = now_ms();
    int n = ftdi_read_data(f, &byte, 1);
    long took = now_ms() - start;
    printf("idle: %d %s\n", n, took <= 10L * LATENCY ? "in time" : "late");
}

static int start_mpsse(struct ftdi_context *f)
{
    static const uint8_t init[] = {0x8a, 0x97, 0x8d, 0x85, 0x86, 2, 0, 0x80, 0x08, 0x0b};
    uint8_t bytes[64];
    if (ftdi_set_bitmode(f, 0, BITMODE_RESET) < 0 || ftdi_set_bitmode(f, 0, BITMODE_MPSSE) < 0 ||
        ftdi_tcioflush(f) < 0)
        return -1;
    while (ftdi_read_data(f, bytes, sizeof bytes) > 0) {
    }
    return ftdi_write_data(f, init, sizeof init) == sizeof init ? 0 : -1;
}

/* All that the chip takes while nobody reads; then all that it has to say. */
static void stuck(struct ftdi_context *f)
{
    static uint8_t out[2 * ASK_BYTES], in[ASK_BYTES];
    for (unsigned i = 0; i < sizeof out; i += 2) {
        out[i] = 0x81;
        out[i + 1] = SEND_IMMEDIATE;
    }
    int sent = 0;
    int r =
        libusb_bulk_transfer(f->usb_dev, (unsigned char)f->in_ep, out, sizeof out, &sent, STUCK_MS);
    printf("stuck: %s\n", r == LIBUSB_ERROR_TIMEOUT ? "timed out" : libusb_error_name(r));
    int got = read_all(f, in, ASK_BYTES);
    printf("behind it: %s\n", got >= FIFO && got < 3 * FIFO ? "what fits" : "something else");
}

/*
 * Not by ftdi_readstream(), which takes its time-out for microseconds and gives up when nothing has
 * come for that long.
 */
static int stream(struct ftdi_context *f, long left, const char *path)
{
    static uint8_t bytes[STREAM_BYTES];
    FILE *out = fopen(path, "w");
    if (!out || open_channel(f, INTERFACE_A) < 0 || ftdi_set_bitmode(f, 0xff, BITMODE_SYNCFF) < 0)
        return 1;
    int r = 0;
    while (left > 0 && r == 0) {
        int got = 0;
        r = libusb_bulk_transfer(f->usb_dev, (unsigned char)f->out_ep, bytes, sizeof bytes, &got,
                                 WAIT_MS);
        for (int at = 0; at + 2 < got; at += PACKET) {
            int n = (got - at < PACKET ? got - at : PACKET) - 2;
            left -= (long)fwrite(bytes + at + 2, 1, (size_t)n, out);
        }
    }
    printf("stream: %d, left %ld\n", r, left);
    return fclose(out) ? 1 : 0;
}

struct sink {
    FILE *out;
    long left;
    double rate; /* bytes a second, as libftdi1 counts them */
};

static int on_stream(uint8_t *bytes, int size, FTDIProgressInfo *progress, void *user)
{
    struct sink *s = user;
    if (size > 0)
        s->left -= (long)fwrite(bytes, 1, (size_t)size, s->out);
    if (progress)
        s->rate = progress->totalRate;
    return s->left <= 0;
}

/* Its time-out ends up in a field for microseconds that libusb wants below a million, and it gives
 * up when nothing has come for that long. */
static int read_stream(struct ftdi_context *f, long bytes, const char *path)
{
    struct sink s = {.out = fopen(path, "w"), .left = bytes};
    if (!s.out || open_channel(f, INTERFACE_A) < 0)
        return 1;
    f->usb_read_timeout = STREAM_MS;
    int r = ftdi_readstream(f, on_stream, &s, STREAM_PACKETS, STREAM_TRANSFERS);
    printf("readstream: %d, left %ld\n", r, s.left > 0 ? s.left : 0);
    return fclose(s.out) ? 1 : 0;
}

static int drive(struct ftdi_context *f, bool only_stuck)
{
    if (open_channel(f, INTERFACE_A) < 0)
        return 1;
    if (only_stuck) {
        start_mpsse(f);
        stuck(f);
        return 0;
    }
    eeprom(f);
    settings(f);
    printf("mpsse %d\n", start_mpsse(f));
    bad_command(f, 0xaa);
    bad_command(f, 0xab);
    loop(f, false);
    loop(f, true);
    idle(f);
    return 0;
}

int main(int argc, char **argv)
{
    bool only_stuck = argc > 1 && strcmp(argv[1], "stuck") == 0;
    struct ftdi_context *a = ftdi_new();
    struct ftdi_context *b = ftdi_new();
    if (!a || !b)
        return 1;
    find(a);
    bool streams = argc > 3;
    int code = 1;
    if (!streams)
        code = drive(a, only_stuck);
    else if (strcmp(argv[1], "readstream") == 0)
        code = read_stream(a, atol(argv[2]), argv[3]);
    else
        code = stream(a, atol(argv[2]), argv[3]);
    if (!streams && code == 0 && !only_stuck) {
        int r = open_channel(b, INTERFACE_B);
        printf("channel B: %d, ends %02x %02x\n", r, b->in_ep, b->out_ep);
        ftdi_usb_close(b);
    }
    ftdi_usb_close(a);
    ftdi_free(a);
    ftdi_free(b);
    return code;
}
