/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/probe_table.h"

#include "server/probe_cmsis_dap.h"
#include "server/probe_ftdi.h"

#include <string.h>

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
