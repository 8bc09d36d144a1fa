/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain libusb client of a trace endpoint, an ORBTrace's or that of an FTDI synchronous FIFO:
 *
 *   stream_client [options]
 *     -f N    format for an ORBTrace (default 3, four bits); -b N  its baud rate
 *     -P N    the device at that port of the bus, else the first one
 *     -a N    alternate setting of its trace interface
 *     -n N    transfers in flight (32), -s N  bytes of each (65536)
 *     -B N    ends after so many bytes, -t N  after so many seconds (5),
 *     -i N    after so many milliseconds in which nothing came, once something has
 *     -p N    waits so many milliseconds with nothing in flight after the first 100 transfers
 *     -r N    begins again, up to so many times, when the device was pulled and comes back
 *     -o FILE what came; -l FILE  the length of each transfer, a line each
 *
 * An FTDI's status bytes are taken out. Prints a line when it listens, one when data come, and one
 * line of figures each time.
 */
#include <libusb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ORBTRACE_VID 0x1209
#define ORBTRACE_PID 0x3443
#define FTDI_VID     0x0403
#define FTDI_PID     0x6010
#define FTDI_IN      0x81
#define TRANSFERS    64
#define WAIT_MS      1000
#define PAUSE_AFTER  100
#define RETRY_MS     50
#define RETRIES      100

struct options {
    unsigned format, baud, port, alternate, transfers, size, pause_ms, idle_ms, again;
    unsigned long long bytes;
    double seconds;
    FILE *out, *lengths;
};

struct stream {
    struct options o;
    libusb_context *context;
    libusb_device_handle *handle;
    unsigned interface;
    uint8_t endpoint;
    unsigned packet; /* of an FTDI, else 0 */
    struct libusb_transfer *transfer[TRANSFERS];
    unsigned flying;
    bool stop;
    unsigned long long got;
    unsigned long done, shorts, empty, overruns;
    int error; /* status of a transfer */
    double began, ended;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void keep(struct stream *s, const uint8_t *bytes, size_t size)
{
    s->got += size;
    if (s->o.out)
        fwrite(bytes, 1, size, s->o.out);
}

static void strip(struct stream *s, const uint8_t *bytes, size_t size)
{
    while (size >= 2) {
        size_t n = size < s->packet ? size : s->packet;
        s->overruns += bytes[1] >> 1 & 1;
        s->empty += n == 2;
        keep(s, bytes + 2, n - 2);
        bytes += n;
        size -= n;
    }
}

static void on_done(struct libusb_transfer *t)
{
    struct stream *s = t->user_data;
    unsigned long long before = s->got;
    s->flying--;
    if (t->status != LIBUSB_TRANSFER_COMPLETED && t->status != LIBUSB_TRANSFER_CANCELLED)
        s->error = t->status;
    if (t->status == LIBUSB_TRANSFER_COMPLETED) {
        s->done++;
        s->shorts += t->actual_length < t->length;
        if (s->o.lengths)
            fprintf(s->o.lengths, "%d\n", t->actual_length);
    }
    if (s->packet)
        strip(s, t->buffer, (size_t)t->actual_length);
    else
        keep(s, t->buffer, (size_t)t->actual_length);
    if (s->got > before) {
        s->ended = now_s();
        if (s->o.out)
            fflush(s->o.out); /* somebody may wait for it at the other end of a pipe */
    }
    if (before == 0 && s->got > 0) {
        printf("streaming\n");
        fflush(stdout);
    }
    s->stop |= s->error || (s->o.bytes && s->got >= s->o.bytes);
    bool pause = s->o.pause_ms && s->done >= PAUSE_AFTER;
    if (!s->stop && !pause && libusb_submit_transfer(t) == 0)
        s->flying++;
}

/* The trace interface by its class, with its setting and endpoint. */
static int find_trace(struct stream *s)
{
    struct libusb_config_descriptor *config;
    int found = -1;
    if (libusb_get_active_config_descriptor(libusb_get_device(s->handle), &config) < 0)
        return -1;
    for (unsigned i = 0; i < config->bNumInterfaces; i++) {
        const struct libusb_interface *interface = &config->interface[i];
        for (int a = 0; a < interface->num_altsetting; a++) {
            const struct libusb_interface_descriptor *d = &interface->altsetting[a];
            if (d->bInterfaceClass != 0xff || d->bInterfaceSubClass != 'T')
                continue;
            printf("interface %u setting %d protocol %02x\n", d->bInterfaceNumber, a,
                   d->bInterfaceProtocol);
            s->interface = d->bInterfaceNumber;
            s->endpoint = d->endpoint[0].bEndpointAddress;
            found = 0;
        }
    }
    libusb_free_config_descriptor(config);
    return found;
}

/* A device of that maker, at the port of the options if they name one. */
static libusb_device_handle *open_one(const struct stream *s, uint16_t vid, uint16_t pid)
{
    libusb_device **list = NULL;
    libusb_device_handle *handle = NULL;
    ssize_t n = libusb_get_device_list(s->context, &list);
    for (ssize_t i = 0; i < n && !handle; i++) {
        struct libusb_device_descriptor d;
        if (libusb_get_device_descriptor(list[i], &d) == 0 && d.idVendor == vid &&
            d.idProduct == pid && (!s->o.port || libusb_get_port_number(list[i]) == s->o.port))
            libusb_open(list[i], &handle);
    }
    if (list)
        libusb_free_device_list(list, 1);
    return handle;
}

static int open_device(struct stream *s)
{
    s->handle = open_one(s, ORBTRACE_VID, ORBTRACE_PID);
    if (!s->handle) {
        s->handle = open_one(s, FTDI_VID, FTDI_PID);
        s->endpoint = FTDI_IN;
        if (!s->handle)
            return -1;
        int packet = libusb_get_max_packet_size(libusb_get_device(s->handle), FTDI_IN);
        s->packet = packet > 0 ? (unsigned)packet : 512;
    } else if (find_trace(s) < 0) {
        return -1;
    }
    int r = libusb_claim_interface(s->handle, (int)s->interface);
    if (r == 0 && s->o.alternate)
        r = libusb_set_interface_alt_setting(s->handle, (int)s->interface, (int)s->o.alternate);
    return r;
}

static int request(struct stream *s, uint8_t number, unsigned value, uint8_t *data, unsigned size)
{
    uint8_t type = s->packet ? 0x40 : 0x41;
    unsigned index = s->packet ? 1 : s->interface;
    return libusb_control_transfer(s->handle, type, number, (uint16_t)value, (uint16_t)index, data,
                                   (uint16_t)size, WAIT_MS);
}

/* Before the transfers: an FTDI is reset to the bit mode of its EEPROM, and emptied. */
static int prepare(struct stream *s)
{
    uint8_t baud[4] = {(uint8_t)s->o.baud, (uint8_t)(s->o.baud >> 8), (uint8_t)(s->o.baud >> 16),
                       (uint8_t)(s->o.baud >> 24)};
    if (!s->packet)
        return s->o.baud ? request(s, 2, 0, baud, sizeof baud) : 0;
    if (request(s, 0x0b, 0x00ff, NULL, 0) < 0 || request(s, 0x00, 1, NULL, 0) < 0 ||
        request(s, 0x00, 2, NULL, 0) < 0)
        return -1;
    return request(s, 0x09, 2, NULL, 0);
}

static int submit_all(struct stream *s)
{
    for (unsigned i = 0; i < s->o.transfers; i++) {
        int r = libusb_submit_transfer(s->transfer[i]);
        if (r < 0)
            return r;
        s->flying++;
    }
    return 0;
}

static void handle(struct stream *s)
{
    struct timeval t = {.tv_usec = 20000};
    libusb_handle_events_timeout_completed(s->context, &t, NULL);
}

static void flow(struct stream *s)
{
    while (!s->stop && now_s() - s->began < s->o.seconds) {
        handle(s);
        s->stop |= s->o.idle_ms && s->got && now_s() - s->ended > s->o.idle_ms / 1e3;
        if (s->flying == 0 && !s->stop) {
            usleep(1000 * s->o.pause_ms);
            s->o.pause_ms = 0;
            s->stop = submit_all(s) < 0;
        }
    }
    s->stop = true;
    request(s, s->packet ? 0x0b : 0x01, 0, NULL, 0);
    for (unsigned i = 0; i < s->o.transfers; i++)
        libusb_cancel_transfer(s->transfer[i]);
    while (s->flying > 0)
        handle(s);
}

static int stream(struct stream *s)
{
    int r = prepare(s);
    for (unsigned i = 0; i < s->o.transfers; i++) {
        uint8_t *buffer = malloc(s->o.size);
        s->transfer[i] = libusb_alloc_transfer(0);
        if (!buffer || !s->transfer[i])
            return -1;
        libusb_fill_bulk_transfer(s->transfer[i], s->handle, s->endpoint, buffer, (int)s->o.size,
                                  on_done, s, 0);
        s->transfer[i]->flags = LIBUSB_TRANSFER_FREE_BUFFER;
    }
    if (r < 0 || submit_all(s) < 0)
        return -1;
    s->began = s->ended = now_s();
    r = s->packet ? request(s, 0x0b, 0x40ff, NULL, 0) : request(s, 1, s->o.format, NULL, 0);
    if (r < 0)
        printf("refused: %s\n", libusb_error_name(r));
    else
        printf("listening\n");
    fflush(stdout);
    s->stop = r < 0;
    flow(s);
    for (unsigned i = 0; i < s->o.transfers; i++)
        libusb_free_transfer(s->transfer[i]);
    double took = s->ended - s->began;
    printf("%llu bytes, %.1f MB/s, %lu transfers, %lu short, %lu empty, %lu overruns, error %d\n",
           s->got, took > 0 ? (double)s->got / 1e6 / took : 0, s->done, s->shorts, s->empty,
           s->overruns, s->error);
    printf("%.2f s CPU\n", (double)clock() / CLOCKS_PER_SEC);
    return r < 0 ? 1 : 0;
}

static int parse(struct options *o, int argc, char **argv)
{
    int c;
    *o = (struct options){.format = 3, .transfers = 32, .size = 65536, .seconds = 5};
    while ((c = getopt(argc, argv, "f:b:P:a:n:s:B:t:i:p:r:o:l:")) != -1) {
        unsigned value = (unsigned)strtoul(optarg, NULL, 0);
        switch (c) {
        case 'f':
            o->format = value;
            break;
        case 'b':
            o->baud = value;
            break;
        case 'P':
            o->port = value;
            break;
        case 'a':
            o->alternate = value;
            break;
        case 'n':
            o->transfers = value;
            break;
        case 's':
            o->size = value;
            break;
        case 'B':
            o->bytes = strtoull(optarg, NULL, 0);
            break;
        case 't':
            o->seconds = strtod(optarg, NULL);
            break;
        case 'p':
            o->pause_ms = value;
            break;
        case 'r':
            o->again = value;
            break;
        case 'i':
            o->idle_ms = value;
            break;
        case 'o':
            o->out = fopen(optarg, "wb");
            break;
        case 'l':
            o->lengths = fopen(optarg, "w");
            break;
        default:
            return -1;
        }
    }
    return optind == argc && o->transfers >= 1 && o->transfers <= TRANSFERS && o->size ? 0 : -1;
}

static int run_once(struct stream *s, unsigned tries)
{
    int code = 1;
    int r = open_device(s);
    for (unsigned i = 0; r < 0 && i < tries; i++) {
        if (s->handle)
            libusb_close(s->handle);
        usleep(1000 * RETRY_MS);
        r = open_device(s);
    }
    if (r == 0)
        code = stream(s);
    else
        printf("no device\n");
    fflush(stdout);
    if (s->handle)
        libusb_close(s->handle);
    return code;
}

int main(int argc, char **argv)
{
    static struct stream s;
    if (parse(&s.o, argc, argv) < 0 || libusb_init(&s.context) < 0)
        return 2;
    const struct stream fresh = s;
    int code = run_once(&s, 0);
    for (unsigned i = 0; s.error == LIBUSB_TRANSFER_NO_DEVICE && i < fresh.o.again; i++) {
        s = fresh;
        code = run_once(&s, RETRIES);
    }
    libusb_exit(s.context);
    if (s.o.out && fclose(s.o.out))
        code = 1;
    if (s.o.lengths && fclose(s.o.lengths))
        code = 1;
    return code;
}
