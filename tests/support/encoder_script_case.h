/* SPDX-License-Identifier: BSD-3-Clause */
/* A case by hand through the PTM model: how it begins, and the bytes that it must come to. */
#ifndef TESTS_SUPPORT_ENCODER_SCRIPT_CASE_H
#define TESTS_SUPPORT_ENCODER_SCRIPT_CASE_H

#include "tests/support/encoder_script.h"
#include "tests/support/unit_main.h"

#define ASYNC   "00 00 00 00 00 80 "
#define ON_1000 ASYNC "08 00 10 00 00 21 "

/* Secure, A32, trace on at `address` (bit 0: T32). */
static inline void start(struct script *s, uint32_t etmcr, uint32_t etmidr, uint32_t etmccer,
                         uint32_t address)
{
    struct ptm_encoder_options o;

    script_options(&o, etmcr, etmidr, etmccer);
    ck_assert(script_start(s, &o));
    script_at(s, address);
    script_trace_on(s);
}

static inline void finish(struct script *s, const char *hex)
{
    ck_assert_str_eq(script_hex(s), hex);
    script_end(s);
}

#endif
