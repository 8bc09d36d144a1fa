/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording's history as value reconstruction needs it. */
#ifndef TESTS_REVERSE_ENGINE_PATH_H
#define TESTS_REVERSE_ENGINE_PATH_H

#include "decoder/values/values.h"
#include "server/recording/recording_history.h"
#include "tests/bench/reverse/engine_truth.h"

struct path {
    struct recording recording;
    struct recording_history history;
    const struct code_image *image;
    struct values_insn *insns;
    size_t count;
    struct bt_event *events; /* in order */
    size_t event_count;
    bool m_profile;
    bool bit_band;
    bool limits;
};

/*
 * Decodes the recording of `folder` and holds it against the truth; what the trace does not reach
 * at the end is taken from there. `data`: with a data event for each access that really happened.
 * Ends the program with a message if anything is wrong.
 */
void path_load(struct path *p, const char *folder, const struct truth *t, bool data);
void path_release(struct path *p);

/* The aligned word of the program. */
bool path_code_word(const struct path *p, uint32_t address, uint32_t *value);

#endif
