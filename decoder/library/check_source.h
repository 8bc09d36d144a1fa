/* SPDX-License-Identifier: BSD-3-Clause */
/* What a caller says of a source, checked. Private to the library. */
#ifndef DECODER_CHECK_SOURCE_H
#define DECODER_CHECK_SOURCE_H

#include "decoder/source/source.h"

/* The decoder's configuration; errors as bt_source_check(), *why filled. */
int check_source(const struct bt_source *source, struct stream_config *config, unsigned *trace_id,
                 struct source_error *why);

#endif
