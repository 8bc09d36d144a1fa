/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of one byte, all of a kind in tables: P-headers (IHI 0014Q 7.3.1), exception returns. */
#include "etmv3_internal.h"

#define ALL_VERSIONS 0x3fu
#define FROM_3       0x38u /* ETMv3.3 and later */
#define ONLY_0       0x01u

/* E atoms of a header that has two atoms, the oldest in bit 3, before the first N. */
#define TWO_PASSED(h) ((h)&8 ? 0 : (h)&4 ? 1 : 2)

/* Which of them are N, the oldest in bit 0; and of those that end with an N behind `e` E atoms. */
#define TWO_FAILED(h)     (((h) >> 3 & 1) | ((h) >> 1 & 2))
#define LAST_FAILED(h, e) (((h) >> 6 & 1) << (e))

/*
 * M makes what is wanted of: versions, atoms, their value as in a packet, W atoms, those before the
 * first atom, E atoms before the first N, whether there is a W before each, which are N.
 * Format 1: E atoms, then perhaps an N. Format 2: two of any kind.
 */
#define PLAIN_1(M, h)                                                                              \
    M(ALL_VERSIONS, ((h) >> 2 & 15) + ((h) >> 6 & 1), (h) >> 6 & 1, 0, 0, (h) >> 2 & 15, 0, 0)
#define PLAIN_2(M, h) M(ALL_VERSIONS, 2, (h) >> 2 & 3, 0, 0, TWO_PASSED(h), 0, 0)

/* Format 0: a W alone. Format 1: a W before each atom. Format 2: W atoms, then perhaps an E.
 * Format 3: a W, then two atoms. Format 4: one atom without a W. */
#define CYCLE_0(M, h) M(ONLY_0, 0, 0, 1, 1, 0, 0, 0)
#define CYCLE_1(M, h)                                                                              \
    M(ALL_VERSIONS, ((h) >> 2 & 7) + ((h) >> 6 & 1), (h) >> 6 & 1,                                 \
      ((h) >> 2 & 7) + ((h) >> 6 & 1), 1, (h) >> 2 & 7, 1, LAST_FAILED(h, (h) >> 2 & 7))
#define CYCLE_2(M, h)                                                                              \
    M(ALL_VERSIONS, (h) >> 6 & 1, 0, ((h) >> 2 & 7) + 1, ((h) >> 2 & 7) + 1, (h) >> 6 & 1, 0, 0)
#define CYCLE_3(M, h) M(ALL_VERSIONS, 2, (h) >> 2 & 3, 1, 1, TWO_PASSED(h), 0, TWO_FAILED(h))
#define CYCLE_4(M, h) M(FROM_3, 1, (h) >> 2 & 1, 0, 0, (h)&4 ? 0 : 1, 0, (h) >> 2 & 1)

/* As the decoder of whole streams wants it, and as a packet. */
#define HEADER(versions, n, value, cycles, before, passed, each, failed)                           \
    {                                                                                              \
        versions, n, value, cycles, before, passed, each, failed                                   \
    }
#define SINGLE(versions, n, value, cycles, before, passed, each, failed)                           \
    {                                                                                              \
        {0, value, 0, cycles, 0, 1, 0, (each)*ETMV3_W_EACH, ETMV3_ATOM, 0, 0, n}, versions         \
    }

#define AT_HEADER(m, h) [((h)-0x80) / 2] = m(HEADER, h)
#define AT_SINGLE(m, h) [(h) / 2] = m(SINGLE, h)
#define OTHER(h, k)     [(h) / 2] = {{.kind = (k), .size = 1}, ALL_VERSIONS}

#define FOUR(AT, m, h)  AT(m, h), AT(m, (h) + 4), AT(m, (h) + 8), AT(m, (h) + 12)
#define EIGHT(AT, m, h) FOUR(AT, m, h), FOUR(AT, m, (h) + 16)

#define PLAIN_HEADERS(AT)                                                                          \
    EIGHT(AT, PLAIN_1, 0x80), EIGHT(AT, PLAIN_1, 0xa0), EIGHT(AT, PLAIN_1, 0xc0),                  \
        EIGHT(AT, PLAIN_1, 0xe0), FOUR(AT, PLAIN_2, 0x82)
#define CYCLE_HEADERS(AT)                                                                          \
    AT(CYCLE_0, 0x80), AT(CYCLE_1, 0x84), AT(CYCLE_1, 0x88), AT(CYCLE_1, 0x8c),                    \
        FOUR(AT, CYCLE_1, 0x90), EIGHT(AT, CYCLE_2, 0xa0), EIGHT(AT, CYCLE_1, 0xc0),               \
        EIGHT(AT, CYCLE_2, 0xe0), FOUR(AT, CYCLE_3, 0x82), AT(CYCLE_4, 0x92), AT(CYCLE_4, 0x96)

const struct etmv3_header etmv3_plain_headers[ETMV3_HEADERS] = {PLAIN_HEADERS(AT_HEADER)};
const struct etmv3_header etmv3_cycle_headers[ETMV3_HEADERS] = {CYCLE_HEADERS(AT_HEADER)};

const struct etmv3_single etmv3_plain_singles[ETMV3_SINGLES] = {
    PLAIN_HEADERS(AT_SINGLE), OTHER(ETMV3_EXC_EXIT, ETMV3_EXC_RETURN)};
const struct etmv3_single etmv3_cycle_singles[ETMV3_SINGLES] = {
    CYCLE_HEADERS(AT_SINGLE), OTHER(ETMV3_EXC_EXIT, ETMV3_EXC_RETURN)};
