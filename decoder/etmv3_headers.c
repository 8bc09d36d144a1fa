/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv3_headers.h"

#define ALL_VERSIONS 0x3fu
#define FROM_3       0x38u /* ETMv3.3 and later */
#define ONLY_0       0x01u

/* E atoms of a header that has two atoms, the oldest in bit 3, before the first N. */
#define TWO_PASSED(h) ((h)&8 ? 0 : (h)&4 ? 1 : 2)

/* Which of them are N, the oldest in bit 0; and of those that end with an N behind `e` E atoms. */
#define TWO_FAILED(h)     (((h) >> 3 & 1) | ((h) >> 1 & 2))
#define LAST_FAILED(h, e) (((h) >> 6 & 1) << (e))

/* Format 1: E atoms, then perhaps an N. Format 2: two of any kind. */
#define PLAIN_1(h)                                                                                 \
    {                                                                                              \
        ALL_VERSIONS, ((h) >> 2 & 15) + ((h) >> 6 & 1), (h) >> 6 & 1, 0, 0, (h) >> 2 & 15, 0, 0    \
    }
#define PLAIN_2(h)                                                                                 \
    {                                                                                              \
        ALL_VERSIONS, 2, (h) >> 2 & 3, 0, 0, TWO_PASSED(h), 0, 0                                   \
    }

/* Format 0: a W alone. Format 1: a W before each atom. Format 2: W atoms, then perhaps an E.
 * Format 3: a W, then two atoms. Format 4: one atom without a W. */
#define CYCLE_0(h)                                                                                 \
    {                                                                                              \
        ONLY_0, 0, 0, 1, 1, 0, 0, 0                                                                \
    }
#define CYCLE_1(h)                                                                                 \
    {                                                                                              \
        ALL_VERSIONS, ((h) >> 2 & 7) + ((h) >> 6 & 1), (h) >> 6 & 1,                               \
            ((h) >> 2 & 7) + ((h) >> 6 & 1), 1, (h) >> 2 & 7, 1, LAST_FAILED(h, (h) >> 2 & 7)      \
    }
#define CYCLE_2(h)                                                                                 \
    {                                                                                              \
        ALL_VERSIONS, (h) >> 6 & 1, 0, ((h) >> 2 & 7) + 1, ((h) >> 2 & 7) + 1, (h) >> 6 & 1, 0, 0  \
    }
#define CYCLE_3(h)                                                                                 \
    {                                                                                              \
        ALL_VERSIONS, 2, (h) >> 2 & 3, 1, 1, TWO_PASSED(h), 0, TWO_FAILED(h)                       \
    }
#define CYCLE_4(h)                                                                                 \
    {                                                                                              \
        FROM_3, 1, (h) >> 2 & 1, 0, 0, (h)&4 ? 0 : 1, 0, (h) >> 2 & 1                              \
    }

#define AT(m, h)    [((h)-0x80) / 2] = m(h)
#define FOUR(m, h)  AT(m, h), AT(m, (h) + 4), AT(m, (h) + 8), AT(m, (h) + 12)
#define EIGHT(m, h) FOUR(m, h), FOUR(m, (h) + 16)

const struct etmv3_header etmv3_plain_headers[ETMV3_HEADERS] = {
    EIGHT(PLAIN_1, 0x80), EIGHT(PLAIN_1, 0xa0), EIGHT(PLAIN_1, 0xc0),
    EIGHT(PLAIN_1, 0xe0), FOUR(PLAIN_2, 0x82),
};

const struct etmv3_header etmv3_cycle_headers[ETMV3_HEADERS] = {
    AT(CYCLE_0, 0x80),   AT(CYCLE_1, 0x84),    AT(CYCLE_1, 0x88),    AT(CYCLE_1, 0x8c),
    FOUR(CYCLE_1, 0x90), EIGHT(CYCLE_2, 0xa0), EIGHT(CYCLE_1, 0xc0), EIGHT(CYCLE_2, 0xe0),
    FOUR(CYCLE_3, 0x82), AT(CYCLE_4, 0x92),    AT(CYCLE_4, 0x96),
};
