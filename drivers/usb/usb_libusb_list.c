/* SPDX-License-Identifier: BSD-3-Clause */
/* What is attached: descriptions of devices, and the list of probes. */
#include "drivers/usb/usb_libusb_internal.h"

#include <stdio.h>
#include <string.h>

void usb_libusb_path(libusb_device *device, char text[USB_MAX_PATH])
{
    uint8_t ports[7]; /* of USB's depth */
    text[0] = '\0';
    int depth = libusb_get_port_numbers(device, ports, sizeof ports);
    if (depth <= 0)
        return;
    int n = snprintf(text, USB_MAX_PATH, "%u", libusb_get_bus_number(device));
    for (int k = 0; k < depth; k++)
        n += snprintf(text + n, USB_MAX_PATH - (size_t)n, "%c%u", k ? '.' : '-', ports[k]);
}

bool usb_libusb_is_there(libusb_device *device, const struct usb_probe_filter *filter)
{
    char path[USB_MAX_PATH];
    if ((filter->bus || filter->address) && (filter->bus != libusb_get_bus_number(device) ||
                                             filter->address != libusb_get_device_address(device)))
        return false;
    if (!filter->path || filter->path[0] == '\0')
        return true;
    usb_libusb_path(device, path);
    return strcmp(path, filter->path) == 0;
}

/* What the kernel read when the device was plugged in: needs no permission. `attribute` may name
 * an interface's: ":1.0/interface". */
static void read_attribute(libusb_device *device, const char *attribute, char *text)
{
    char place[USB_MAX_PATH];
    char path[128];
    text[0] = '\0';
    usb_libusb_path(device, place);
    if (place[0] == '\0')
        return;
    snprintf(path, sizeof path, "/sys/bus/usb/devices/%s%s", place, attribute);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    if (!fgets(text, USB_MAX_STRING, f))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(f);
}

/* From the device if it is open, else from the kernel. Returns whether it is hidden: there is one,
 * but neither can tell. */
static bool get_string(libusb_device *device, libusb_device_handle *h, uint8_t index,
                       const char *attribute, char *text)
{
    text[0] = '\0';
    if (index == 0)
        return false;
    if (!h) {
        read_attribute(device, attribute, text);
        return text[0] == '\0';
    }
    int n = libusb_get_string_descriptor_ascii(h, index, (unsigned char *)text, USB_MAX_STRING - 1);
    text[n > 0 ? n : 0] = '\0';
    return false;
}

/* Returns whether its name is hidden. */
static bool describe_interface(libusb_device *device, libusb_device_handle *h, uint8_t value,
                               const struct libusb_interface_descriptor *d,
                               struct usb_interface_info *i)
{
    *i = (struct usb_interface_info){.number = d->bInterfaceNumber,
                                     .alternate = d->bAlternateSetting,
                                     .class_code = d->bInterfaceClass,
                                     .subclass = d->bInterfaceSubClass,
                                     .protocol = d->bInterfaceProtocol};
    for (unsigned k = 0; k < d->bNumEndpoints && k < USB_MAX_ENDPOINTS; k++) {
        const struct libusb_endpoint_descriptor *e = &d->endpoint[k];
        i->endpoints[i->endpoint_count++] =
            (struct usb_endpoint_info){.address = e->bEndpointAddress,
                                       .kind = e->bmAttributes & 3,
                                       .packet = e->wMaxPacketSize & 0x7ff};
    }
    char attribute[32];
    snprintf(attribute, sizeof attribute, ":%u.%u/interface", value, d->bInterfaceNumber);
    return get_string(device, h, d->iInterface, attribute, i->name);
}

void usb_libusb_describe(libusb_device *device, libusb_device_handle *h,
                         struct usb_device_info *info)
{
    struct libusb_device_descriptor d;
    struct libusb_config_descriptor *config;
    *info = (struct usb_device_info){0};
    if (libusb_get_device_descriptor(device, &d) != 0)
        return;
    info->vendor = d.idVendor;
    info->product = d.idProduct;
    info->release = d.bcdDevice;
    info->names_hidden = get_string(device, h, d.iProduct, "/product", info->product_name);
    (void)get_string(device, h, d.iSerialNumber, "/serial", info->serial);
    if (libusb_get_active_config_descriptor(device, &config) != 0)
        return;
    for (unsigned k = 0; k < config->bNumInterfaces; k++) {
        const struct libusb_interface *i = &config->interface[k];
        for (int a = 0; a < i->num_altsetting && info->interface_count < USB_MAX_INTERFACES; a++)
            info->names_hidden |=
                describe_interface(device, h, config->bConfigurationValue, &i->altsetting[a],
                                   &info->interfaces[info->interface_count++]);
    }
    libusb_free_config_descriptor(config);
}

void usb_libusb_node(libusb_device *device, char *text, size_t size)
{
    snprintf(text, size, "/dev/bus/usb/%03u/%03u", libusb_get_bus_number(device),
             libusb_get_device_address(device));
}

static const char *speed_of(libusb_device *device)
{
    switch (libusb_get_device_speed(device)) {
    case LIBUSB_SPEED_LOW:
        return "1.5 Mbit/s";
    case LIBUSB_SPEED_FULL:
        return "12 Mbit/s";
    case LIBUSB_SPEED_HIGH:
        return "480 Mbit/s";
    case LIBUSB_SPEED_SUPER:
        return "5 Gbit/s";
    case LIBUSB_SPEED_SUPER_PLUS:
        return "10 Gbit/s";
    default:
        return "";
    }
}

void usb_libusb_look(libusb_device *device, struct usb_probe_seen *seen)
{
    struct libusb_device_descriptor d;
    libusb_device_handle *h;
    *seen = (struct usb_probe_seen){.bus = libusb_get_bus_number(device),
                                    .address = libusb_get_device_address(device),
                                    .speed = speed_of(device)};
    usb_libusb_node(device, seen->node, sizeof seen->node);
    usb_libusb_path(device, seen->path);
    int rc = libusb_open(device, &h);
    if (rc != 0)
        h = NULL;
    seen->no_permission = rc == LIBUSB_ERROR_ACCESS;
    usb_libusb_describe(device, h, &seen->info);
    if (libusb_get_device_descriptor(device, &d) == 0)
        (void)get_string(device, h, d.iManufacturer, "/manufacturer", seen->manufacturer);
    if (h)
        libusb_close(h);
}

int usb_libusb_each(bool (*look)(void *user, libusb_device *device), void *user,
                    struct usb_open_error *err)
{
    libusb_context *context;
    libusb_device **list;
    *err = (struct usb_open_error){0};
    int rc = libusb_init(&context);
    ssize_t n = rc == 0 ? libusb_get_device_list(context, &list) : 0;
    if (rc != 0 || n < 0) {
        snprintf(err->text, sizeof err->text, "cannot use USB: %s",
                 libusb_strerror(rc != 0 ? rc : (int)n));
        if (rc == 0)
            libusb_exit(context);
        return BT_ERR_IO;
    }
    for (ssize_t k = 0; k < n; k++)
        err->candidates += look(user, list[k]);
    libusb_free_device_list(list, 1);
    libusb_exit(context);
    return 0;
}

struct listing {
    void (*found)(void *user, const struct usb_probe_seen *probe);
    void *user;
};

static bool look_for_cmsis_dap(void *user, libusb_device *device)
{
    const struct listing *l = user;
    struct usb_probe_seen seen;
    struct usb_dap_choice choice;
    usb_libusb_look(device, &seen);
    if (usb_choose_cmsis_dap(&seen.info, &choice) != 0 &&
        !(seen.no_permission && usb_may_be_cmsis_dap(&seen.info)))
        return false;
    l->found(l->user, &seen);
    return true;
}

int usb_probe_list(void (*found)(void *user, const struct usb_probe_seen *probe), void *user,
                   struct usb_open_error *err)
{
    struct listing l = {found, user};
    return usb_libusb_each(look_for_cmsis_dap, &l, err);
}
