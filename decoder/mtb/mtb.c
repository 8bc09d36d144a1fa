/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/mtb/mtb.h"
#include "decoder/base/bytes.h"

#include <string.h>

void mtb_config_from_regs(struct mtb_config *config, uint32_t position, uint32_t master)
{
    unsigned mask = master & 0x1f;
    config->size = 1u << ((mask < 27 ? mask : 27) + 4);
    config->position = position & (config->size - 1) & ~7u;
    config->wrapped = position & 4;
    config->as_it_stood = true;
}

void mtb_init(struct mtb *p, const struct mtb_config *config)
{
    (void)config;
    memset(p, 0, sizeof *p);
}

void mtb_discontinuity(struct mtb *p)
{
    p->count = 0;
}

/* Bit 0 of the source is A, that of the destination S. */
static void mtb_take_packet(const struct mtb *p, struct mtb_packet *k)
{
    uint32_t source = bytes_word(p->bytes), destination = bytes_word(p->bytes + 4);
    *k = (struct mtb_packet){.offset = p->offset - MTB_PACKET,
                             .source = source & ~1u,
                             .destination = destination & ~1u,
                             .kind = source & 1 ? MTB_EXCEPTION : MTB_BRANCH,
                             .start = destination & 1};
}

size_t mtb_parse(struct mtb *p, const uint8_t *data, size_t len, struct mtb_packet *out, size_t max,
                 size_t *count)
{
    size_t i = 0, n = 0;
    for (; i < len && n < max; i++) {
        p->bytes[p->count++] = data[i];
        p->offset++;
        if (p->count < MTB_PACKET)
            continue;
        mtb_take_packet(p, &out[n++]);
        p->count = 0;
    }
    *count = n;
    return i;
}

size_t mtb_finish(struct mtb *p, struct mtb_packet *out)
{
    if (p->count == 0)
        return 0;
    *out = (struct mtb_packet){
        .offset = p->offset - p->count, .source = p->count, .kind = MTB_INCOMPLETE};
    return 1;
}
