/* SPDX-License-Identifier: BSD-3-Clause */
/* A case by hand through the ETMv3 model: how it begins, and the bytes that it must come to. */
#ifndef TESTS_SUPPORT_ETMV3_SCRIPT_CASE_H
#define TESTS_SUPPORT_ETMV3_SCRIPT_CASE_H

#include "tests/support/etmv3_script.h"
#include "tests/support/unit_main.h"

static inline void start(struct etmv3_script *s, uint32_t etmcr, uint32_t etmidr, uint32_t address)
{
    struct etmv3_encoder_options o;

    etmv3_script_options(&o, etmcr, etmidr);
    ck_assert(etmv3_script_start(s, &o, address));
}

static inline void start_on(struct etmv3_script *s, uint32_t etmcr, uint32_t etmidr,
                            uint32_t address)
{
    start(s, etmcr, etmidr, address);
    etmv3_script_on(s, 5);
    s->mark = s->out.size;
}

static inline void finish(struct etmv3_script *s, const char *hex)
{
    ck_assert_str_eq(etmv3_script_hex(s), hex);
    etmv3_script_end(s);
}

#endif
