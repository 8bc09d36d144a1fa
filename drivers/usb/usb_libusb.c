/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, pipes; streams are in usb_bulk_stream.c. */
#include "drivers/usb/usb_bulk_stream.h"
#include "drivers/usb/usb_libusb_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int usb_claim(struct usb_probe *p, struct usb_open_error *err)
{
    (void)libusb_set_auto_detach_kernel_driver(p->handle, 1);
    int rc = libusb_claim_interface(p->handle, p->choice.interface);
    if (rc == 0) {
        p->claimed = true;
        if (p->choice.alternate != 0)
            rc = libusb_set_interface_alt_setting(p->handle, p->choice.interface,
                                                  p->choice.alternate);
    }
    if (rc == 0)
        return 0;
    snprintf(err->text, sizeof err->text, "cannot use probe '%.60s': interface %u %s",
             p->info.product_name, p->choice.interface,
             rc == LIBUSB_ERROR_BUSY ? "is in use by another program" : libusb_strerror(rc));
    return BT_ERR_IO;
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
static void note_refusal(libusb_device *device, int rc, const struct usb_probe_filter *filter,
                         struct usb_open_error *err)
{
    struct usb_device_info info;
    struct usb_dap_choice choice;
    char node[32];
    if (rc != LIBUSB_ERROR_ACCESS || err->text[0] != '\0')
        return;
    usb_libusb_describe(device, NULL, &info);
    bool known = usb_choose_cmsis_dap(&info, &choice) == 0;
    if (known ? !usb_fits(filter, device, &info)
              : !usb_may_be_cmsis_dap(&info) || !may_fit(filter, device, &info))
        return;
    usb_libusb_node(device, node, sizeof node);
    snprintf(err->text, sizeof err->text,
             "no permission to open %s%s%s (%04x:%04x)%s: install the udev rules 60-btraced.rules",
             known ? "probe " : "", known ? "" : "USB device ", node, info.vendor, info.product,
             known ? "" : " and perhaps others");
}

/* Is it the one? If so it stays open in p->handle. */
static bool usb_consider(struct usb_probe *p, libusb_device *device,
                     const struct usb_probe_filter *filter, struct usb_open_error *err)
{
    int rc = libusb_open(device, &p->handle);
    if (rc != 0) {
        p->handle = NULL;
        note_refusal(device, rc, filter, err);
        return false;
    }
    usb_libusb_describe(device, p->handle, &p->info);
    if (usb_choose_cmsis_dap(&p->info, &p->choice) == 0) {
        err->candidates++;
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

static int usb_none(const struct usb_probe_filter *filter, struct usb_open_error *err)
{
    size_t size = sizeof err->text;
    if (err->text[0] != '\0')
        return BT_ERR_IO; /* no permission */
    if (err->candidates == 0)
        snprintf(err->text, size, "no CMSIS-DAP probe found on USB");
    else if (filter->serial && filter->serial[0])
        snprintf(err->text, size,
                 "no probe with serial number '%.60s', but %u attached: see 'btraced probes'",
                 filter->serial, err->candidates);
    else if (filter->path && filter->path[0])
        snprintf(err->text, size, "no probe at %s, but %u attached: see 'btraced probes'",
                 filter->path, err->candidates);
    else
        snprintf(err->text, size, "no probe %04x:%04x, but %u attached: see 'btraced probes'",
                 filter->vendor, filter->product, err->candidates);
    return BT_ERR_RANGE;
}

static int usb_find(struct usb_probe *p, const struct usb_probe_filter *filter,
                struct usb_open_error *err)
{
    libusb_device **list;
    ssize_t n = libusb_get_device_list(p->context, &list);
    if (n < 0)
        return BT_ERR_IO;
    struct usb_several all = {.count = 0};
    for (ssize_t k = 0; k < n; k++) {
        if (all.count > 0)
            consider_too(&all, list[k], filter);
        else if (usb_consider(p, list[k], filter, err))
            usb_several_add(&all, list[k], &p->info);
    }
    libusb_free_device_list(list, 1);
    if (all.count > 1)
        return usb_several_refuse(&all, "CMSIS-DAP probe", err);
    return all.count == 1 ? 0 : usb_none(filter, err);
}

int usb_probe_open(const struct usb_probe_filter *filter, struct usb_probe **out,
                   struct usb_open_error *err)
{
    *out = NULL;
    *err = (struct usb_open_error){0};
    struct usb_probe *p = calloc(1, sizeof *p);
    if (!p)
        return BT_ERR_NOMEM;
    int rc = libusb_init(&p->context);
    if (rc != 0) {
        snprintf(err->text, sizeof err->text, "cannot use USB: %s", libusb_strerror(rc));
        free(p);
        return BT_ERR_IO;
    }
    rc = usb_find(p, filter, err);
    if (rc == 0)
        rc = usb_claim(p, err);
    if (rc != 0) {
        usb_probe_close(p);
        return rc;
    }
    int most = libusb_get_max_packet_size(libusb_get_device(p->handle), p->choice.swo);
    usb_bulk_stream_init(&p->stream, p->context, p->handle, p->choice.swo, STREAM_TRANSFERS,
                         most > STREAM_BYTES ? (size_t)most : STREAM_BYTES);
    err->text[0] = '\0';
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

static int result_of(int rc)
{
    if (rc == 0)
        return 0;
    return rc == LIBUSB_ERROR_TIMEOUT ? USB_TIMED_OUT : BT_ERR_IO;
}

static int usb_transfer(struct usb_probe *p, uint8_t endpoint, uint8_t *data, size_t length, int *done,
                    unsigned timeout_ms)
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
    int rc = usb_transfer(p, p->choice.out, bytes, length, &done, timeout_ms);
    if (rc == LIBUSB_ERROR_PIPE)
        (void)libusb_clear_halt(p->handle, p->choice.out);
    return rc == 0 && done != (int)length ? BT_ERR_IO : result_of(rc);
}

static int pipe_receive(void *self, uint8_t *data, size_t capacity, size_t *length,
                        unsigned timeout_ms)
{
    struct usb_probe *p = self;
    int done = 0;
    int rc = usb_transfer(p, p->choice.in, data, capacity, &done, timeout_ms);
    if (rc == LIBUSB_ERROR_PIPE)
        (void)libusb_clear_halt(p->handle, p->choice.in);
    *length = (size_t)done;
    /* What came before the time was over is a message all the same. */
    return rc == LIBUSB_ERROR_TIMEOUT && done > 0 ? 0 : result_of(rc);
}

struct usb_pipe usb_probe_pipe(struct usb_probe *probe)
{
    static const struct usb_pipe_ops OPS = {.send = pipe_send, .receive = pipe_receive};
    return (struct usb_pipe){.ops = &OPS,
                             .self = probe,
                             .out_packet = probe->choice.out_packet,
                             .in_packet = probe->choice.in_packet};
}

struct usb_stream usb_probe_stream(struct usb_probe *probe)
{
    if (probe->choice.swo == 0)
        return (struct usb_stream){0};
    return usb_bulk_stream_ops(&probe->stream);
}

void usb_probe_close(struct usb_probe *probe)
{
    if (!probe)
        return;
    int rc = usb_bulk_stream_stop(&probe->stream);
    if (probe->claimed)
        (void)libusb_release_interface(probe->handle, probe->choice.interface);
    if (probe->handle)
        libusb_close(probe->handle);
    libusb_exit(probe->context);
    if (rc == 0)
        free(probe);
}
