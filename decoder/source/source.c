/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/source/source.h"

#include <string.h>
#include <strings.h>

static const struct source_protocol *const protocols[] = {
    &source_ptm,   &source_etmv3, &source_etmv2, &source_etmv1,
    &source_etmv4, &source_itm,   &source_stm,   &source_mtb,
};

#define PROTOCOLS (sizeof protocols / sizeof *protocols)

const struct source_protocol *source_protocol_of_type(const char *type)
{
    for (size_t i = 0; i < PROTOCOLS; i++)
        for (const char *const *name = protocols[i]->types; *name; name++)
            if (strncasecmp(type, *name, strlen(*name)) == 0)
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
