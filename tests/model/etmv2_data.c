/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv2 model: data accesses (IHI 0014Q 6.4). */
#include "etmv2_encoder_state.h"

#define HEADER_NORMAL     0x02 /* C0A0SS10 */
#define HEADER_NOT_TRACED 0x6a
#define HEADER_MISS       0x50 /* C1A1TT00 */
#define HEADER_FIRST      0x20 /* A */
#define FIELD_SIZE(code)  ((code) << 2)
#define FIELD_TAG(tag)    ((tag) << 2) /* of a load miss */
#define DATA_TAG(tag)     ((tag) << 5) /* of its data: CTT0SS00 */

static unsigned put_address(struct etmv2_encoder *e, uint8_t *p, uint32_t address)
{
    unsigned extra = trace_random_percent(&e->random, e->options.longer_percent)
                         ? 1 + trace_random_below(&e->random, 4)
                         : 0;
    unsigned n = etmv2_put_data_address(p, &e->data_base, address, e->data_full, extra);

    e->data_full = false;
    return n;
}

static unsigned free_tag(const struct etmv2_encoder *e)
{
    for (unsigned tag = 1; tag < ETMV2_MODEL_TAGS; tag++)
        if (e->tags[tag] == ETMV2_TAG_FREE)
            return tag;
    return 0;
}

static bool selected(const struct etmv2_encoder *e, const struct etmv2_model_access *a)
{
    if (!e->on || !(e->data_value || e->data_address))
        return false;
    return a->cprt ? e->cprt : e->data_begun || !a->filtered;
}

int etmv2_encoder_data(struct etmv2_encoder *e, const struct etmv2_model_access *a)
{
    uint8_t packet[ETMV2_PACKET_MAX];
    unsigned size = 1;

    if (a->first)
        e->data_begun = false;
    if (!selected(e, a))
        return 0;
    if (a->filtered && !a->cprt) {
        packet[0] = HEADER_NOT_TRACED;
        return etmv2_add(e, ETMV2_MODEL_NOT_TRACED, packet, 1);
    }
    bool first = !a->cprt && (!e->data_begun || a->addressed);
    unsigned tag = a->miss && !a->cprt ? free_tag(e) : 0;
    e->data_begun = true;
    packet[0] = (uint8_t)(first ? HEADER_FIRST : 0);
    packet[0] |= (uint8_t)(tag ? HEADER_MISS | FIELD_TAG(tag)
                               : HEADER_NORMAL | FIELD_SIZE(etmv2_value_code(a->value)));
    if (first && e->data_address)
        size += put_address(e, packet + size, a->address);
    if (!tag && e->data_value)
        size += etmv2_put_value(packet + size, a->value);
    if (tag) {
        e->tags[tag] = ETMV2_TAG_OUT;
        e->tag_wide[tag] = a->wide;
    }
    int error = etmv2_add(e, tag ? ETMV2_MODEL_MISS : ETMV2_MODEL_DATA, packet, size);
    return error ? error : (int)tag;
}

static int add_late(struct etmv2_encoder *e, unsigned tag, uint32_t value)
{
    uint8_t packet[ETMV2_PACKET_MAX];
    unsigned size = 1;

    packet[0] = (uint8_t)(DATA_TAG(tag) | FIELD_SIZE(etmv2_value_code(value)));
    if (e->data_value)
        size += etmv2_put_value(packet + size, value);
    return etmv2_add(e, ETMV2_MODEL_MISS_DATA, packet, size);
}

int etmv2_encoder_late_value(struct etmv2_encoder *e, unsigned tag, uint64_t value)
{
    int error = 0;

    if (tag == 0 || tag >= ETMV2_MODEL_TAGS || e->tags[tag] == ETMV2_TAG_FREE)
        return 0;
    bool wide = e->tag_wide[tag];
    e->tags[tag] = ETMV2_TAG_FREE;
    if (!e->on)
        return 0;
    /* Both halves are of one cycle. */
    error = etmv2_reserve(e, wide ? 10 : 5);
    if (!error && wide)
        error = add_late(e, 0, (uint32_t)value);
    if (!error)
        error = add_late(e, tag, (uint32_t)(wide ? value >> 32 : value));
    return error;
}
