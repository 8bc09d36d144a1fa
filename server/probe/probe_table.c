/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/probe/probe_table.h"

#include "drivers/usb/usb_libusb.h"
#include "probe_cmsis_dap.h"
#include "probe_ftdi.h"

#include <string.h>

#define UDEV_RULES "60-btraced.rules"

static const struct probe_driver *const drivers[] = {
    &probe_cmsis_dap,
    &probe_ftdi,
};

const struct probe_driver *const *probe_drivers(size_t *count)
{
    *count = sizeof drivers / sizeof *drivers;
    return drivers;
}

const struct probe_driver *probe_driver_named(const char *type)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (strcmp(drivers[i]->type, type) == 0)
            return drivers[i];
    return NULL;
}

struct probe_listing probe_listing_of(const char *type, const struct usb_probe_seen *seen,
                                      struct message *why)
{
    struct probe_listing entry = {.type = type,
                                  .vendor = seen->manufacturer,
                                  .product = seen->info.product_name,
                                  .serial = seen->info.serial,
                                  .usb_vendor = seen->info.vendor,
                                  .usb_product = seen->info.product,
                                  .usb_path = seen->path,
                                  .firmware = "",
                                  .wires = "",
                                  .trace = "",
                                  .capture = "",
                                  .speed = seen->speed};
    if (seen->no_permission) {
        message_set(why,
                    "no permission to open %s: install the udev rules " UDEV_RULES
                    ", then plug it in again",
                    seen->node);
        entry.problem = why->text;
    }
    return entry;
}
