/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, pipes; streams are in usb_bulk_stream.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/usb/usb_bulk_stream.h"
#include "drivers/usb/usb_libusb_device.h"

/* Bus and ports as the filter has them; "" if the system does not tell. */
static void usb_libusb_path(libusb_device *device, char text[USB_MAX_PATH])
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

/* Is it where the filter wants it? */
static bool usb_libusb_is_there(libusb_device *device, const struct usb_probe_filter *filter)
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

/* The device file that is opened to use it. */
static void usb_libusb_node(libusb_device *device, char *text, size_t size)
{
    snprintf(text, size, "/dev/bus/usb/%03u/%03u", libusb_get_bus_number(device),
             libusb_get_device_address(device));
}

static const char *speed_of(libusb_device *device)
{
    static const char *const speeds[] = {
        [LIBUSB_SPEED_LOW] = "1.5 Mbit/s",       [LIBUSB_SPEED_FULL] = "12 Mbit/s",
        [LIBUSB_SPEED_HIGH] = "480 Mbit/s",      [LIBUSB_SPEED_SUPER] = "5 Gbit/s",
        [LIBUSB_SPEED_SUPER_PLUS] = "10 Gbit/s",
    };
    unsigned speed = (unsigned)libusb_get_device_speed(device);
    return speed < sizeof speeds / sizeof *speeds && speeds[speed] ? speeds[speed] : "";
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
    int code = libusb_open(device, &h);
    if (code != 0)
        h = NULL;
    seen->no_permission = code == LIBUSB_ERROR_ACCESS;
    usb_libusb_describe(device, h, &seen->info);
    if (libusb_get_device_descriptor(device, &d) == 0)
        (void)get_string(device, h, d.iManufacturer, "/manufacturer", seen->manufacturer);
    if (h)
        libusb_close(h);
}

int usb_libusb_each(void (*look)(void *user, libusb_device *device), void *user,
                    struct message *why)
{
    libusb_context *context;
    libusb_device **list;
    int code = libusb_init(&context);
    ssize_t n = code == 0 ? libusb_get_device_list(context, &list) : 0;
    if (code != 0 || n < 0) {
        message_set(why, "cannot use USB: %s", libusb_strerror(code != 0 ? code : (int)n));
        if (code == 0)
            libusb_exit(context);
        return BT_ERR_IO;
    }
    for (ssize_t k = 0; k < n; k++)
        look(user, list[k]);
    libusb_free_device_list(list, 1);
    libusb_exit(context);
    return 0;
}

struct listing {
    void (*found)(void *user, const struct usb_probe_seen *probe);
    void *user;
};

static void look_for_cmsis_dap(void *user, libusb_device *device)
{
    const struct listing *l = user;
    struct usb_probe_seen seen;
    struct usb_dap_choice choice;
    usb_libusb_look(device, &seen);
    if (usb_choose_cmsis_dap(&seen.info, &choice) == 0 ||
        (seen.no_permission && usb_may_be_cmsis_dap(&seen.info)))
        l->found(l->user, &seen);
}

int usb_probe_list(void (*found)(void *user, const struct usb_probe_seen *probe), void *user,
                   struct message *why)
{
    struct listing l = {found, user};
    return usb_libusb_each(look_for_cmsis_dap, &l, why);
}

/* Several that fit. */

static void usb_several_add(struct usb_several *s, libusb_device *device,
                            const struct usb_device_info *info)
{
    unsigned k = s->count++;
    if (k >= USB_SEVERAL)
        return;
    snprintf(s->list[k].serial, sizeof s->list[k].serial, "%s", info->serial);
    snprintf(s->list[k].product, sizeof s->list[k].product, "%s", info->product_name);
    usb_libusb_path(device, s->list[k].path);
}

/* Does the serial number name this one alone? Cheap adapters have none, or all the same. */
static bool has_own_serial(const struct usb_several *s, unsigned k)
{
    unsigned listed = s->count < USB_SEVERAL ? s->count : USB_SEVERAL;
    bool own = s->list[k].serial[0] != '\0' && s->count <= USB_SEVERAL;
    for (unsigned i = 0; i < listed; i++)
        own &= i == k || strcmp(s->list[i].serial, s->list[k].serial) != 0;
    return own;
}

/* BT_ERR_RANGE with the list of them, and with the key of the board file that names each. */
static int usb_several_refuse(const struct usb_several *s, const char *noun, struct message *why)
{
    unsigned listed = s->count < USB_SEVERAL ? s->count : USB_SEVERAL;
    message_set(why, "%u %ss are attached; name one", s->count, noun);
    for (unsigned k = 0; k < listed; k++) {
        bool own = has_own_serial(s, k);
        message_set(why, "%s%s '%s = %.40s' (%.30s)", why->text, k ? "," : ":",
                    own ? "serial" : "usb", own ? s->list[k].serial : s->list[k].path,
                    s->list[k].product);
    }
    if (s->count > listed)
        message_set(why, "%s, ... (btraced probes lists them)", why->text);
    return BT_ERR_RANGE;
}

static bool usb_passes(libusb_device *device, const struct usb_wanted *wanted,
                       const struct usb_probe_filter *filter)
{
    struct usb_device_info info;
    if (!usb_libusb_is_there(device, filter))
        return false;
    usb_libusb_describe(device, NULL, &info);
    return wanted->fits(&info, filter);
}

static int usb_none(const struct usb_wanted *wanted, const struct usb_probe_filter *filter,
                    unsigned attached, struct message *why)
{
    bool at = filter->path && filter->path[0] != '\0';
    const char *path = at ? filter->path : "";
    if (attached > 0)
        message_set(
            why, "no %s with serial number '%.60s'%s%s, but %u attached: see 'btraced probes'",
            wanted->noun, filter->serial ? filter->serial : "", at ? " at " : "", path, attached);
    else if (filter->vendor || filter->product)
        message_set(why, "no %s %04x:%04x found on USB%s%s", wanted->noun, filter->vendor,
                    filter->product, at ? " at " : "", path);
    else
        message_set(why, "no %s found on USB%s%s", wanted->noun, at ? " at " : "", path);
    return BT_ERR_RANGE;
}

static int usb_check(const struct usb_probe_seen *seen, const struct usb_wanted *wanted,
                     const struct usb_several *all, struct message *why)
{
    if (all->count > 1)
        return usb_several_refuse(all, wanted->noun, why);
    if (!seen->no_permission)
        return 0;
    return message_fail(
        why, BT_ERR_IO,
        "no permission to open %s %s (%04x:%04x): install the udev rules 60-btraced.rules",
        wanted->noun, seen->node, seen->info.vendor, seen->info.product);
}

int usb_libusb_find(libusb_context *context, const struct usb_wanted *wanted,
                    const struct usb_probe_filter *filter, libusb_device **out,
                    struct usb_probe_seen *seen, struct message *why)
{
    libusb_device **list;
    struct usb_several all = {.count = 0};
    *out = NULL;
    ssize_t n = libusb_get_device_list(context, &list);
    for (ssize_t k = 0; k < n; k++) {
        struct usb_probe_seen look;
        if (!usb_passes(list[k], wanted, filter))
            continue;
        all.attached++;
        usb_libusb_look(list[k], &look);
        if (!usb_serial_matches(&look.info, filter->serial))
            continue;
        usb_several_add(&all, list[k], &look.info);
        if (*out)
            continue;
        *out = libusb_ref_device(list[k]);
        *seen = look;
    }
    if (n >= 0)
        libusb_free_device_list(list, 1);
    int error =
        *out ? usb_check(seen, wanted, &all, why) : usb_none(wanted, filter, all.attached, why);
    if (error != 0 && *out) {
        libusb_unref_device(*out);
        *out = NULL;
    }
    return error;
}

/* Probes send SWO in blocks of 512 bytes: one that is no short packet ends no transfer that has
 * room for more, so it would stay in it for as long as the others take to come. */
#define STREAM_BYTES     512
#define STREAM_TRANSFERS 256 /* 128 KiB: 50 ms of 2.5 MB/s */

#define HID_SET_REPORT    0x09
#define HID_OUTPUT_REPORT 0x0200

struct usb_probe {
    libusb_context *context;
    libusb_device_handle *handle;
    bool claimed;
    struct usb_device_info info;
    struct usb_dap_choice choice;
    struct usb_bulk_stream stream;
};

static int usb_claim(struct usb_probe *p, struct message *why)
{
    (void)libusb_set_auto_detach_kernel_driver(p->handle, 1);
    int code = libusb_claim_interface(p->handle, p->choice.interface);
    if (code == 0) {
        p->claimed = true;
        if (p->choice.alternate != 0)
            code = libusb_set_interface_alt_setting(p->handle, p->choice.interface,
                                                    p->choice.alternate);
    }
    if (code == 0)
        return 0;
    return message_fail(why, BT_ERR_IO, "cannot use probe '%.60s': interface %u %s",
                        p->info.product_name, p->choice.interface,
                        code == LIBUSB_ERROR_BUSY ? "is in use by another program"
                                                  : libusb_strerror(code));
}

/* Of the wanted kind, and where it is wanted. */
static bool may_fit(const struct usb_probe_filter *f, libusb_device *device,
                    const struct usb_device_info *info)
{
    if ((f->vendor || f->product) && (f->vendor != info->vendor || f->product != info->product))
        return false;
    return usb_libusb_is_there(device, f);
}

static bool usb_fits(const struct usb_probe_filter *f, libusb_device *device,
                     const struct usb_device_info *info)
{
    return may_fit(f, device, info) && usb_serial_matches(info, f->serial);
}

/* It cannot be opened: worth a word only if it may be the one that is looked for. */
static void note_refusal(libusb_device *device, int error, const struct usb_probe_filter *filter,
                         struct message *why)
{
    struct usb_device_info info;
    struct usb_dap_choice choice;
    char node[32];
    if (error != LIBUSB_ERROR_ACCESS || why->text[0] != '\0')
        return;
    usb_libusb_describe(device, NULL, &info);
    bool known = usb_choose_cmsis_dap(&info, &choice) == 0;
    if (known ? !usb_fits(filter, device, &info)
              : !usb_may_be_cmsis_dap(&info) || !may_fit(filter, device, &info))
        return;
    usb_libusb_node(device, node, sizeof node);
    message_set(
        why, "no permission to open %s%s%s (%04x:%04x)%s: install the udev rules 60-btraced.rules",
        known ? "probe " : "", known ? "" : "USB device ", node, info.vendor, info.product,
        known ? "" : " and perhaps others");
}

/* Is it the one? If so it stays open in p->handle. */
static bool usb_consider(struct usb_probe *p, struct usb_several *all, libusb_device *device,
                         const struct usb_probe_filter *filter, struct message *why)
{
    int code = libusb_open(device, &p->handle);
    if (code != 0) {
        p->handle = NULL;
        note_refusal(device, code, filter, why);
        return false;
    }
    usb_libusb_describe(device, p->handle, &p->info);
    if (usb_choose_cmsis_dap(&p->info, &p->choice) == 0) {
        all->attached++;
        if (usb_fits(filter, device, &p->info))
            return true;
    }
    libusb_close(p->handle);
    p->handle = NULL;
    return false;
}

/* One of several that fit would be a guess, and a core that is halted by mistake. */
static void consider_too(struct usb_several *all, libusb_device *device,
                         const struct usb_probe_filter *filter)
{
    libusb_device_handle *handle = NULL;
    struct usb_device_info info;
    struct usb_dap_choice choice;
    if (libusb_open(device, &handle) != 0)
        return;
    usb_libusb_describe(device, handle, &info);
    libusb_close(handle);
    if (usb_choose_cmsis_dap(&info, &choice) == 0 && usb_fits(filter, device, &info))
        usb_several_add(all, device, &info);
}

static int usb_no_probe(const struct usb_probe_filter *filter, unsigned attached,
                        struct message *why)
{
    if (why->text[0] != '\0')
        return BT_ERR_IO; /* no permission */
    if (attached == 0)
        message_set(why,
                    "no CMSIS-DAP probe found on USB: 'btraced probes' lists what is attached; "
                    "what an ordinary user may open is said by udev rules (docs/probes.md)");
    else if (filter->serial && filter->serial[0])
        message_set(why,
                    "no probe with serial number '%.60s', but %u attached: see 'btraced probes'",
                    filter->serial, attached);
    else if (filter->path && filter->path[0])
        message_set(why, "no probe at %s, but %u attached: see 'btraced probes'", filter->path,
                    attached);
    else
        message_set(why, "no probe %04x:%04x, but %u attached: see 'btraced probes'",
                    filter->vendor, filter->product, attached);
    return BT_ERR_RANGE;
}

static int usb_find(struct usb_probe *p, const struct usb_probe_filter *filter, struct message *why)
{
    libusb_device **list;
    ssize_t n = libusb_get_device_list(p->context, &list);
    if (n < 0)
        return BT_ERR_IO;
    struct usb_several all = {.count = 0};
    for (ssize_t k = 0; k < n; k++) {
        if (all.count > 0)
            consider_too(&all, list[k], filter);
        else if (usb_consider(p, &all, list[k], filter, why))
            usb_several_add(&all, list[k], &p->info);
    }
    libusb_free_device_list(list, 1);
    if (all.count > 1)
        return usb_several_refuse(&all, "CMSIS-DAP probe", why);
    return all.count == 1 ? 0 : usb_no_probe(filter, all.attached, why);
}

int usb_probe_open(const struct usb_probe_filter *filter, struct usb_probe **out,
                   struct message *why)
{
    *out = NULL;
    *why = (struct message){.text = ""};
    struct usb_probe *p = calloc(1, sizeof *p);
    if (!p)
        return message_default(why, BT_ERR_NOMEM);
    int error = libusb_init(&p->context);
    if (error != 0) {
        message_set(why, "cannot use USB: %s", libusb_strerror(error));
        free(p);
        return BT_ERR_IO;
    }
    error = usb_find(p, filter, why);
    if (error == 0)
        error = usb_claim(p, why);
    if (error != 0) {
        usb_probe_close(p);
        return message_default(why, error);
    }
    int most = libusb_get_max_packet_size(libusb_get_device(p->handle), p->choice.swo);
    usb_bulk_stream_init(&p->stream, p->context, p->handle, p->choice.swo, STREAM_TRANSFERS,
                         most > STREAM_BYTES ? (size_t)most : STREAM_BYTES);
    *out = p;
    return 0;
}

const struct usb_device_info *usb_probe_info(const struct usb_probe *probe)
{
    return &probe->info;
}

const struct usb_dap_choice *usb_probe_choice(const struct usb_probe *probe)
{
    return &probe->choice;
}

static int result_of(int error)
{
    if (error == 0)
        return 0;
    return error == LIBUSB_ERROR_TIMEOUT ? USB_TIMED_OUT : BT_ERR_IO;
}

static int usb_transfer(struct usb_probe *p, uint8_t endpoint, uint8_t *data, size_t length,
                        int *done, unsigned timeout_ms)
{
    if (p->choice.hid)
        return libusb_interrupt_transfer(p->handle, endpoint, data, (int)length, done, timeout_ms);
    return libusb_bulk_transfer(p->handle, endpoint, data, (int)length, done, timeout_ms);
}

static int pipe_send(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    struct usb_probe *p = self;
    uint8_t *bytes = (uint8_t *)(uintptr_t)data; /* libusb does not write to it */
    int done = 0;
    if (p->choice.out == 0) {
        int n = libusb_control_transfer(
            p->handle, LIBUSB_REQUEST_TYPE_CLASS | LIBUSB_RECIPIENT_INTERFACE, HID_SET_REPORT,
            HID_OUTPUT_REPORT, p->choice.interface, bytes, (uint16_t)length, timeout_ms);
        return n == (int)length ? 0 : result_of(n < 0 ? n : LIBUSB_ERROR_IO);
    }
    int error = usb_transfer(p, p->choice.out, bytes, length, &done, timeout_ms);
    if (error == LIBUSB_ERROR_PIPE)
        (void)libusb_clear_halt(p->handle, p->choice.out);
    return error == 0 && done != (int)length ? BT_ERR_IO : result_of(error);
}

static int pipe_receive(void *self, uint8_t *data, size_t capacity, size_t *length,
                        unsigned timeout_ms)
{
    struct usb_probe *p = self;
    int done = 0;
    int error = usb_transfer(p, p->choice.in, data, capacity, &done, timeout_ms);
    if (error == LIBUSB_ERROR_PIPE)
        (void)libusb_clear_halt(p->handle, p->choice.in);
    *length = (size_t)done;
    /* What came before the time was over is a message all the same. */
    return error == LIBUSB_ERROR_TIMEOUT && done > 0 ? 0 : result_of(error);
}

struct usb_pipe usb_probe_pipe(struct usb_probe *probe)
{
    static const struct usb_pipe_ops OPS = {.send = pipe_send, .receive = pipe_receive};
    return (struct usb_pipe){.ops = &OPS,
                             .self = probe,
                             .out_packet = probe->choice.out_packet,
                             .in_packet = probe->choice.in_packet};
}

struct trace_stream usb_probe_stream(struct usb_probe *probe)
{
    if (probe->choice.swo == 0)
        return (struct trace_stream){0};
    return usb_bulk_trace_stream(&probe->stream);
}

void usb_probe_close(struct usb_probe *probe)
{
    if (!probe)
        return;
    int error = usb_bulk_stream_stop(&probe->stream);
    if (probe->claimed)
        (void)libusb_release_interface(probe->handle, probe->choice.interface);
    if (probe->handle)
        libusb_close(probe->handle);
    libusb_exit(probe->context);
    if (error == 0)
        free(probe);
}
