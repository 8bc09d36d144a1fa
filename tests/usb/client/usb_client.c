/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain libusb client of the modelled probe: five DAP_Info exchanges over the endpoints of the
 * first interface, one line each: the response in hexadecimal or libusb's error. A stalled response
 * is fetched again after clearing the halt.
 */
#include <libusb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define VID       0x1209
#define PID       0x0001
#define EXCHANGES 5
#define WAIT_MS   300

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

int main(void)
{
    libusb_context *context;
    struct endpoints e = {0};
    if (libusb_init(&context) < 0)
        return 1;
    libusb_device_handle *h = libusb_open_device_with_vid_pid(context, VID, PID);
    if (!h || find_endpoints(h, &e) < 0 || libusb_claim_interface(h, 0) < 0) {
        printf("no device\n");
        libusb_exit(context);
        return 1;
    }
    for (unsigned i = 0; i < EXCHANGES; i++) {
        int r = exchange(h, &e);
        if (r < 0)
            printf("%s\n", libusb_error_name(r));
    }
    libusb_close(h);
    libusb_exit(context);
    return 0;
}
