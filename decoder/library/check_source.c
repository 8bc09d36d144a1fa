/* SPDX-License-Identifier: BSD-3-Clause */
#include "check_source.h"

#include <string.h>

static bool has_names(const struct bt_source *source)
{
    if (!source || !source->type || (source->register_count && !source->registers))
        return false;
    for (size_t i = 0; i < source->register_count; i++)
        if (!source->registers[i].name)
            return false;
    return true;
}

int check_source(const struct bt_source *source, struct stream_config *config, unsigned *trace_id,
                 struct source_error *why)
{
    memset(config, 0, sizeof *config);
    *trace_id = 0;
    why->text[0] = '\0';
    if (!has_names(source)) {
        source_fail(why, "the source has no type, or a register has no name");
        return BT_ERR_INVAL;
    }
    const struct source_protocol *protocol = source_protocol_of_type(source->type);
    if (!protocol) {
        source_fail(why, "protocol '%s' is not supported", source->type);
        return BT_ERR_UNSUPPORTED;
    }
    config->protocol = protocol->protocol;
    return protocol->configure(source, config, trace_id, why);
}

int bt_source_check(const struct bt_source *source, unsigned *trace_id, char *why, size_t size)
{
    struct stream_config config;
    struct source_error text;
    unsigned id;
    int error = check_source(source, &config, &id, &text);
    if (trace_id && !error)
        *trace_id = id;
    if (why && size) {
        size_t len = strnlen(text.text, size - 1);
        memcpy(why, text.text, len);
        why[len] = '\0';
    }
    return error;
}
