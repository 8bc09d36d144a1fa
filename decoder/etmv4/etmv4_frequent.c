/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop that most bytes of packets go through: apart from the others, for its registers. */
#include "etmv4_forms.h"

size_t etmv4_parse_frequent(struct etmv4 *p, const uint8_t *data, size_t len,
                            struct etmv4_packet *out, size_t max, size_t *count)
{
    const uint8_t *at = data, *end = data + len;
    struct etmv4_packet *k = out + *count, *limit = out + max;
    uint64_t base = p->offset - (uintptr_t)data;
    struct etmv4_address last[3] = {p->last[0], p->last[1], p->last[2]};
    for (; k < limit && end - at >= ETMV4_CARRY; k++) {
        unsigned size = etmv4_take_frequent(p, last, at, base + (uintptr_t)at, k);
        if (!size)
            break;
        at += size;
    }
    memcpy(p->last, last, sizeof last);
    p->offset += (size_t)(at - data);
    *count = (size_t)(k - out);
    return (size_t)(at - data);
}
