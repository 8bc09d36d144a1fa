/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One source's trace of a random execution, encoded with random options and perhaps damaged at
 * random places, and the code that ran. The same protocol and seed always give the same.
 */
#ifndef TESTS_SUPPORT_RANDOM_SAMPLE_H
#define TESTS_SUPPORT_RANDOM_SAMPLE_H

#include "decoder/stream/stream.h"
#include "tests/support/random_etmv3.h"
#include "tests/support/random_etmv4.h"

struct random_sample {
    struct stream_config config;
    struct code_image image;
    uint8_t *bytes;
    size_t size;
    struct random_flow ptm; /* that of config.protocol is in use: the image is of its code */
    struct random_etmv3 etmv3;
    struct random_etmv4 etmv4;
};

/* PTM, ETMv3 or ETMv4. 0 or a bt_error; release in both cases. */
int random_sample_init(struct random_sample *s, enum stream_protocol protocol, uint64_t seed);
void random_sample_release(struct random_sample *s);

#endif
