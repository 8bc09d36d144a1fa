/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/protocols/source.h"

#include <string.h>
#include <strings.h>

static const struct source_protocol *const protocols[] = {
    &source_ptm, &source_etmv3, &source_etmv2, &source_etmv1, &source_etmv4,
};

#define PROTOCOLS (sizeof protocols / sizeof *protocols)

const struct source_protocol *source_protocol_of_type(const char *type)
{
    for (size_t i = 0; i < PROTOCOLS; i++)
        if (protocols[i]->matches(type))
            return protocols[i];
    return NULL;
}

const struct source_protocol *source_protocol(enum stream_protocol protocol)
{
    for (size_t i = 0; i < PROTOCOLS; i++)
        if (protocols[i]->protocol == protocol)
            return protocols[i];
    return NULL;
}

int source_need_reg(const struct snapshot_device *d, const char *name, uint32_t *value,
                    struct message *why)
{
    uint64_t v;
    if (snapshot_reg(d, name, &v)) {
        message_set(why,
                    "%s: register %s is missing: the trace of '%s' cannot be decoded "
                    "without it",
                    d->path, name, d->name);
        return BT_ERR_FORMAT;
    }
    *value = (uint32_t)v;
    return BT_OK;
}

int source_port_layout(const struct snapshot_device *d, struct port_format *format,
                       struct message *why)
{
    uint64_t layout = PORT_ETB;
    if (snapshot_reg(d, "PORT_LAYOUT", &layout) == BT_OK && layout >= PORT_LAYOUTS) {
        message_set(why, "%s: PORT_LAYOUT must be 0 (words of an ETB) or 1 (a cycle a record)",
                    d->path);
        return BT_ERR_FORMAT;
    }
    format->layout = (uint8_t)layout;
    return BT_OK;
}

bool source_m_profile(const struct snapshot_device *core)
{
    static const char *const names[] = {"Cortex-M",  "ARMv6-M", "ARMv7-M", "ARMv8-M",
                                        "ARMv8.1-M", "SC000",   "SC300",   "STAR-MC"};
    for (size_t i = 0; core && i < sizeof names / sizeof *names; i++)
        if (strncasecmp(core->type, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

void source_vectors(const struct snapshot_device *core, bool *low, bool *high)
{
    uint64_t sctlr;
    *low = *high = true;
    if (!core || snapshot_reg(core, "SCTLR", &sctlr))
        return;
    *high = sctlr >> 13 & 1;
    *low = !*high;
}
