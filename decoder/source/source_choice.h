/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implementation-defined choices: what the specification of a trace protocol leaves open: each is
 * one field of the decoder's configuration, and one key of the source's [regs]
 * in a recording. */
#ifndef DECODER_SOURCE_CHOICE_H
#define DECODER_SOURCE_CHOICE_H

#include "decoder/source/source.h"

struct source_choice {
    const char *key;
    size_t at; /* of the field, a bool or uint8_t, in the configuration */
    uint8_t min, max;
    bool (*valid)(unsigned value); /* if not any value from min to max */
    const char *allowed;           /* what the values mean, for the message */
};

/*
 * Sets the fields of `config` whose key is there. BT_ERR_FORMAT: a value is not allowed; *why names
 * file, key and what is.
 */
int source_choices(const struct bt_source *source, const struct source_choice *choices,
                   size_t count, void *config, struct source_error *why);

#endif
