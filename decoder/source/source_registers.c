/* SPDX-License-Identifier: BSD-3-Clause */
/* What a recording says of a source: its registers and its core. */
#include "decoder/source/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int source_fail(int error, char *why, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, size, format, args);
    va_end(args);
    return error;
}

int source_reg(const struct bt_source *source, const char *name, uint64_t *value)
{
    for (size_t i = 0; i < source->register_count; i++) {
        if (strcasecmp(source->registers[i].name, name) == 0) {
            *value = source->registers[i].value;
            return BT_OK;
        }
    }
    return BT_ERR_RANGE;
}

int source_need_reg(const struct bt_source *source, const char *name, uint32_t *value, char *why,
                    size_t size)
{
    uint64_t v;
    if (source_reg(source, name, &v))
        return source_fail(BT_ERR_FORMAT, why, size,
                           "register %s is missing: the trace of '%s' cannot be decoded without it",
                           name, source->name ? source->name : source->type);
    *value = (uint32_t)v;
    return BT_OK;
}

bool source_m_profile(const struct bt_source *source)
{
    static const char *const names[] = {"Cortex-M",  "ARMv6-M", "ARMv7-M", "ARMv8-M",
                                        "ARMv8.1-M", "SC000",   "SC300",   "STAR-MC"};
    for (size_t i = 0; source->core && i < sizeof names / sizeof *names; i++)
        if (strncasecmp(source->core, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}
