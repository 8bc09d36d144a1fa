/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * USB devices that lie: the functions of libusb that the driver calls are here, and what they tell
 * of up to four devices, their interfaces, endpoints and strings is the input. Whatever that is:
 * texts end, what is chosen is an endpoint of its interface that can do what it is chosen for, and
 * all that was opened is closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/usb/usb_libusb_device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEVICES    4u
#define INTERFACES 4u
#define SETTINGS   3u
#define ENDPOINTS  10u

struct libusb_device {
    struct libusb_device_descriptor descriptor;
    struct libusb_config_descriptor config;
    struct libusb_interface interfaces[INTERFACES];
    struct libusb_interface_descriptor settings[INTERFACES][SETTINGS];
    struct libusb_endpoint_descriptor endpoints[INTERFACES][SETTINGS][ENDPOINTS];
    uint8_t bus, address, ports, speed;
    int open_error, config_error;
};

static struct {
    const uint8_t *next, *end;
    struct libusb_device devices[DEVICES];
    unsigned count;
    int open, listed, configs, references, claimed;
} usb;

static uint8_t take(void)
{
    return usb.next < usb.end ? *usb.next++ : 0;
}

/* What an error or 0 is of; most devices do as they are told. */
static int take_error(void)
{
    static const int errors[8] = {LIBUSB_ERROR_ACCESS,  LIBUSB_ERROR_BUSY, LIBUSB_ERROR_IO,
                                  LIBUSB_ERROR_TIMEOUT, LIBUSB_ERROR_PIPE, LIBUSB_ERROR_NO_DEVICE};
    uint8_t code = take();
    return code < 0xf8 ? 0 : errors[code & 7];
}

static void make_setting(struct libusb_device *d, unsigned i, unsigned a)
{
    struct libusb_interface_descriptor *s = &d->settings[i][a];
    s->bInterfaceNumber = (uint8_t)i;
    s->bAlternateSetting = (uint8_t)a;
    s->bInterfaceClass = take();
    s->iInterface = take();
    s->bNumEndpoints = take() % (ENDPOINTS + 1);
    s->endpoint = d->endpoints[i][a];
    for (unsigned k = 0; k < s->bNumEndpoints; k++) {
        struct libusb_endpoint_descriptor *e = &d->endpoints[i][a][k];
        e->wMaxPacketSize = take() * 17u;
        e->bEndpointAddress = take();
        e->bmAttributes = take();
    }
}

static void make_device(struct libusb_device *d)
{
    memset(d, 0, sizeof *d);
    d->descriptor.idVendor = take();
    d->descriptor.idProduct = take();
    d->descriptor.iProduct = take() & 3;
    d->descriptor.iSerialNumber = take() & 3;
    d->descriptor.iManufacturer = take() & 3;
    d->bus = 200; /* no such bus here: the kernel has no names of it */
    d->address = take();
    d->ports = take() % 9;
    d->speed = take() % 7;
    d->open_error = take_error();
    d->config_error = take_error();
    d->config.bNumInterfaces = take() % (INTERFACES + 1);
    d->config.interface = d->interfaces;
    for (unsigned i = 0; i < d->config.bNumInterfaces; i++) {
        d->interfaces[i].altsetting = d->settings[i];
        d->interfaces[i].num_altsetting = take() % (SETTINGS + 1);
        for (int a = 0; a < d->interfaces[i].num_altsetting; a++)
            make_setting(d, i, (unsigned)a);
    }
}

int libusb_init(libusb_context **context)
{
    *context = NULL;
    return take_error();
}

void libusb_exit(libusb_context *context)
{
    (void)context;
}

ssize_t libusb_get_device_list(libusb_context *context, libusb_device ***list)
{
    (void)context;
    int error = take_error();
    if (error != 0)
        return error;
    *list = calloc(usb.count + 1, sizeof **list);
    if (!*list)
        abort();
    for (unsigned k = 0; k < usb.count; k++)
        (*list)[k] = &usb.devices[k];
    usb.listed++;
    return usb.count;
}

void libusb_free_device_list(libusb_device **list, int unref)
{
    if (!unref)
        abort(); /* the list holds references */
    free(list);
    usb.listed--;
}

uint8_t libusb_get_bus_number(libusb_device *d)
{
    return d->bus;
}

uint8_t libusb_get_device_address(libusb_device *d)
{
    return d->address;
}

int libusb_get_port_numbers(libusb_device *d, uint8_t *ports, int length)
{
    if (d->ports > length)
        return LIBUSB_ERROR_OVERFLOW;
    memset(ports, 255, d->ports);
    return d->ports;
}

int libusb_get_device_speed(libusb_device *d)
{
    return d->speed;
}

int libusb_get_device_descriptor(libusb_device *d, struct libusb_device_descriptor *out)
{
    *out = d->descriptor;
    return 0;
}

int libusb_get_active_config_descriptor(libusb_device *d, struct libusb_config_descriptor **config)
{
    *config = &d->config;
    usb.configs += d->config_error == 0;
    return d->config_error;
}

void libusb_free_config_descriptor(struct libusb_config_descriptor *config)
{
    (void)config;
    usb.configs--;
}

libusb_device *libusb_ref_device(libusb_device *d)
{
    usb.references++;
    return d;
}

void libusb_unref_device(libusb_device *d)
{
    (void)d;
    usb.references--;
}

int libusb_open(libusb_device *d, libusb_device_handle **handle)
{
    *handle = (libusb_device_handle *)d;
    usb.open += d->open_error == 0;
    return d->open_error;
}

void libusb_close(libusb_device_handle *handle)
{
    if (!handle)
        abort();
    usb.open--;
}

libusb_device *libusb_get_device(libusb_device_handle *handle)
{
    return (libusb_device *)handle;
}

/* Names of probes, or bytes of the input: as many as fit, without an end of their own. */
int libusb_get_string_descriptor_ascii(libusb_device_handle *handle, uint8_t index,
                                       unsigned char *text, int length)
{
    static const char *const names[4] = {"CMSIS-DAP", "Probe CMSIS-DAP v2", "Orbtrace", ""};
    uint8_t code = take();
    (void)handle;
    if (index == 0 || length <= 0)
        abort();
    if (code >= 0xf0)
        return LIBUSB_ERROR_PIPE;
    if (code & 0x80)
        return snprintf((char *)text, (size_t)length, "%s", names[code & 3]);
    int n = code * 2 < length ? code * 2 : length;
    for (int k = 0; k < n; k++)
        text[k] = take() | 1;
    return n;
}

int libusb_set_auto_detach_kernel_driver(libusb_device_handle *handle, int enable)
{
    (void)handle;
    (void)enable;
    return 0;
}

int libusb_claim_interface(libusb_device_handle *handle, int number)
{
    int error = take_error();
    (void)handle;
    (void)number;
    usb.claimed += error == 0;
    return error;
}

int libusb_release_interface(libusb_device_handle *handle, int number)
{
    (void)handle;
    (void)number;
    usb.claimed--;
    return 0;
}

int libusb_set_interface_alt_setting(libusb_device_handle *handle, int number, int alternate)
{
    (void)handle;
    (void)number;
    (void)alternate;
    return take_error();
}

int libusb_get_max_packet_size(libusb_device *d, unsigned char endpoint)
{
    (void)d;
    (void)endpoint;
    int error = take_error();
    return error != 0 ? error : take() * 17;
}

int libusb_clear_halt(libusb_device_handle *handle, unsigned char endpoint)
{
    (void)handle;
    (void)endpoint;
    return take_error();
}

static int transfer(unsigned char *data, int length, int *done, bool in)
{
    *done = take() * 8;
    if (*done > length)
        *done = length;
    for (int k = 0; in && k < *done; k++)
        data[k] = take();
    return take_error();
}

int libusb_bulk_transfer(libusb_device_handle *handle, unsigned char endpoint, unsigned char *data,
                         int length, int *done, unsigned timeout)
{
    (void)handle;
    (void)timeout;
    return transfer(data, length, done, (endpoint & 0x80) != 0);
}

int libusb_interrupt_transfer(libusb_device_handle *handle, unsigned char endpoint,
                              unsigned char *data, int length, int *done, unsigned timeout)
{
    return libusb_bulk_transfer(handle, endpoint, data, length, done, timeout);
}

int libusb_control_transfer(libusb_device_handle *handle, uint8_t type, uint8_t request,
                            uint16_t value, uint16_t index, unsigned char *data, uint16_t length,
                            unsigned timeout)
{
    int done;
    (void)handle;
    (void)request;
    (void)value;
    (void)index;
    (void)timeout;
    int error = transfer(data, length, &done, (type & 0x80) != 0);
    return error != 0 ? error : done;
}

static void check_text(const char *text, size_t size)
{
    if (!memchr(text, '\0', size))
        abort();
}

static void check_info(const struct usb_device_info *info)
{
    if (info->interface_count > USB_MAX_INTERFACES)
        abort();
    check_text(info->product_name, sizeof info->product_name);
    check_text(info->serial, sizeof info->serial);
    for (unsigned k = 0; k < info->interface_count; k++)
        check_text(info->interfaces[k].name, sizeof info->interfaces[k].name);
}

static void found(void *user, const struct usb_probe_seen *probe)
{
    char text[300];
    (void)user;
    check_info(&probe->info);
    check_text(probe->manufacturer, sizeof probe->manufacturer);
    check_text(probe->path, sizeof probe->path);
    check_text(probe->node, sizeof probe->node);
    usb_describe(&probe->info, probe->path, text, sizeof text);
}

/* An endpoint of that interface, of that direction, which is not the one of control. */
static void check_endpoint(const struct usb_interface_info *i, uint8_t address, bool in)
{
    bool has = false;
    for (unsigned k = 0; k < i->endpoint_count; k++)
        has |= i->endpoints[k].address == address && i->endpoints[k].packet != 0;
    if (!has || ((address & 0x80) != 0) != in || (address & 0x7f) == 0)
        abort();
}

static void check_choice(const struct usb_device_info *info, const struct usb_dap_choice *c)
{
    for (unsigned k = 0; k < info->interface_count; k++) {
        const struct usb_interface_info *i = &info->interfaces[k];
        if (i->number != c->interface || i->alternate != c->alternate)
            continue;
        if (c->out != 0 || !c->hid)
            check_endpoint(i, c->out, false);
        check_endpoint(i, c->in, true);
        if (c->swo != 0)
            check_endpoint(i, c->swo, true);
        return;
    }
    abort();
}

static void use(struct usb_probe *p)
{
    uint8_t *bytes = calloc(1, 2048); /* on the heap: its ends are watched */
    size_t length = 0;
    if (!bytes)
        abort();
    check_info(usb_probe_info(p));
    check_choice(usb_probe_info(p), usb_probe_choice(p));
    struct usb_pipe pipe = usb_probe_pipe(p);
    size_t room = (size_t)pipe.in_packet;
    (void)pipe.ops->send(pipe.self, bytes, 64, 10);
    if (room <= 2048 && pipe.ops->receive(pipe.self, bytes, room, &length, 10) == 0 &&
        length > room)
        abort();
    free(bytes);
    usb_probe_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const serials[4] = {NULL, "", "CMSIS-DAP", "a"};
    struct message why;
    struct usb_probe *probe;
    memset(&usb, 0, sizeof usb);
    usb.next = data;
    usb.end = data + size;
    usb.count = take() % (DEVICES + 1);
    struct usb_probe_filter filter = {.serial = serials[take() & 3]};
    for (unsigned k = 0; k < usb.count; k++)
        make_device(&usb.devices[k]);
    (void)usb_probe_list(found, NULL, &why);
    int error = usb_probe_open(&filter, &probe, &why);
    if ((error == 0) != (probe != NULL))
        abort();
    if (error == 0)
        use(probe);
    else
        check_text(why.text, sizeof why.text);
    if (usb.open != 0 || usb.listed != 0 || usb.configs != 0 || usb.references != 0 ||
        usb.claimed != 0)
        abort();
    return 0;
}
