/* SPDX-License-Identifier: BSD-3-Clause */
#include "source_choice.h"

#include <inttypes.h>

_Static_assert(sizeof(bool) == sizeof(uint8_t), "a field is one byte");

static bool allowed(const struct source_choice *r, uint64_t value)
{
    return value >= r->min && value <= r->max && (!r->valid || r->valid((unsigned)value));
}

int source_choices(const struct bt_source *source, const struct source_choice *choices,
                   size_t count, void *config, struct source_error *why)
{
    for (size_t i = 0; i < count; i++) {
        const struct source_choice *r = &choices[i];
        uint64_t value;
        if (source_reg(source, r->key, &value))
            continue;
        if (!allowed(r, value)) {
            source_fail(why, "%s is 0x%" PRIx64 ", but must be %s", r->key, value, r->allowed);
            return BT_ERR_FORMAT;
        }
        ((uint8_t *)config)[r->at] = (uint8_t)value;
    }
    return BT_OK;
}
