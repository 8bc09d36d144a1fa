/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain libusb client of the modelled probe: five DAP_Info exchanges over the endpoints of the
 * first interface, one line each: the response in hexadecimal or libusb's error. A stalled response
 * is fetched again after clearing the halt. With the argument `follow`: one exchange, then it waits
 * until the probe is pulled, and for its return, and does another.
 */
#include <libusb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define VID       0x1209
#define PID       0x0001
#define EXCHANGES 5
#define WAIT_MS   300
#define TRIES     100

struct endpoints {
    uint8_t out, in;
    bool interrupt;
    unsigned size;
};

static int find_endpoints(libusb_device_handle *h, struct endpoints *e)
{
    struct libusb_config_descriptor *config;
    int r = libusb_get_active_config_descriptor(libusb_get_device(h), &config);
    if (r < 0)
        return r;
    const struct libusb_interface_descriptor *i = &config->interface[0].altsetting[0];
    e->interrupt = i->bInterfaceClass == LIBUSB_CLASS_HID;
    for (unsigned n = i->bNumEndpoints; n-- > 0;) {
        uint8_t address = i->endpoint[n].bEndpointAddress;
        *(address & LIBUSB_ENDPOINT_IN ? &e->in : &e->out) = address;
    }
    e->size = e->interrupt ? 64 : 512;
    libusb_free_config_descriptor(config);
    return 0;
}

static int transfer(libusb_device_handle *h, const struct endpoints *e, uint8_t endpoint,
                    uint8_t *bytes, int size, int *actual)
{
    return e->interrupt ? libusb_interrupt_transfer(h, endpoint, bytes, size, actual, WAIT_MS)
                        : libusb_bulk_transfer(h, endpoint, bytes, size, actual, WAIT_MS);
}

static int exchange(libusb_device_handle *h, const struct endpoints *e)
{
    uint8_t bytes[512] = {0x00, 0xfe};
    int actual = 0;
    int r = transfer(h, e, e->out, bytes, e->interrupt ? 64 : 2, &actual);
    if (r < 0)
        return r;
    memset(bytes, 0xee, sizeof bytes);
    r = transfer(h, e, e->in, bytes, (int)e->size, &actual);
    if (r == LIBUSB_ERROR_PIPE) {
        printf("stall ");
        libusb_clear_halt(h, e->in);
        r = transfer(h, e, e->in, bytes, (int)e->size, &actual);
    }
    if (r < 0)
        return r;
    printf("%d:", actual);
    for (int i = 0; i < actual && i < 4; i++)
        printf(" %02x", bytes[i]);
    printf("\n");
    return 0;
}

static libusb_device_handle *open_probe(libusb_context *context, struct endpoints *e)
{
    libusb_device_handle *h = libusb_open_device_with_vid_pid(context, VID, PID);
    if (h && (find_endpoints(h, e) < 0 || libusb_claim_interface(h, 0) < 0)) {
        libusb_close(h);
        h = NULL;
    }
    return h;
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

/* Waits until the probe is pulled and until it comes back, and works with it again. */
static int follow(libusb_context *context)
{
    struct endpoints e = {0};
    for (unsigned time = 0; time < 2; time++) {
        libusb_device_handle *h = NULL;
        for (unsigned i = 0; !h && i < TRIES; i++) {
            h = open_probe(context, &e);
            pause_ms(20);
        }
        if (!h)
            return 1;
        int r = exchange(h, &e);
        fflush(stdout);
        for (unsigned i = 0; r == 0 && time == 0 && i < TRIES; i++) {
            uint8_t byte;
            int actual;
            r = transfer(h, &e, e.in, &byte, 1, &actual);
            r = r == LIBUSB_ERROR_TIMEOUT ? 0 : r;
        }
        libusb_close(h);
        if (r < 0)
            printf("%s\n", libusb_error_name(r));
        fflush(stdout);
    }
    return 0;
}

static int exchange_all(libusb_context *context)
{
    struct endpoints e = {0};
    libusb_device_handle *h = open_probe(context, &e);
    if (!h) {
        printf("no device\n");
        return 1;
    }
    for (unsigned i = 0; i < EXCHANGES; i++) {
        int r = exchange(h, &e);
        if (r < 0)
            printf("%s\n", libusb_error_name(r));
    }
    libusb_close(h);
    return 0;
}

int main(int argc, char **argv)
{
    libusb_context *context;
    if (libusb_init(&context) < 0)
        return 1;
    bool following = argc > 1 && strcmp(argv[1], "follow") == 0;
    int code = following ? follow(context) : exchange_all(context);
    libusb_exit(context);
    return code;
}
