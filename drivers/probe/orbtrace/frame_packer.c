/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_packer.h"
#include "decoder/base/bytes.h"

#include <string.h>

#define SLOTS 15u /* the last byte holds a bit for each even one */
#define AUX   15u
#define NONE  0xffu
#define NULLS 0x00u

#define EVEN_BIT0 0x0001000100010001u

void frame_packer_init(struct frame_packer *p)
{
    *p = (struct frame_packer){.id = NONE};
}

static void set_id(struct frame_packer *p, unsigned slot, uint8_t id)
{
    p->frame[slot] = (uint8_t)(id << 1 | 1);
    p->id = id;
}

static size_t frame_packer_complete(struct frame_packer *p, uint8_t *out)
{
    memcpy(out, p->frame, sizeof p->frame);
    memset(p->frame, 0, sizeof p->frame);
    p->slot = 0;
    return sizeof p->frame;
}

/* From the next byte on all is of `id`. An ID needs an even slot: where that is taken already, its
 * byte goes behind the ID, which then counts from the byte after it. */
static size_t change_id(struct frame_packer *p, uint8_t id, uint8_t *out)
{
    if (p->slot % 2 == 0) {
        set_id(p, p->slot, id);
    } else {
        unsigned even = p->slot - 1, bit = 1u << even / 2;
        uint8_t low = (p->frame[AUX] & bit) ? 1 : 0;
        p->frame[p->slot] = p->frame[even] | low;
        p->frame[AUX] |= (uint8_t)bit;
        set_id(p, even, id);
    }
    p->slot++;
    return p->slot == SLOTS ? frame_packer_complete(p, out) : 0;
}

static void put_byte(struct frame_packer *p, uint8_t byte)
{
    if (p->slot % 2 == 0) {
        p->frame[p->slot] = byte & 0xfe;
        p->frame[AUX] |= (uint8_t)((byte & 1u) << p->slot / 2);
    } else {
        p->frame[p->slot] = byte;
    }
    p->slot++;
}

/* Bit 0 of the even ones of 8 bytes, the first one lowest. No two of the products meet. */
static unsigned even_bits(uint64_t half)
{
    return (unsigned)((half & EVEN_BIT0) * 0x0001000200040008u >> 48) & 0xf;
}

/* A frame of 15 bytes of one source, half by half: all of a capture at full speed goes through
 * here. Byte 7 is in both loads. */
static void whole_frame(const uint8_t *data, uint8_t *out)
{
    uint64_t low = bytes_double(data), high = bytes_double(data + 7) >> 8;
    uint64_t aux = even_bits(low) | even_bits(high) << 4;
    bytes_set_double(out, low & ~EVEN_BIT0);
    bytes_set_double(out + 8, (high & ~EVEN_BIT0) | aux << 56);
}

size_t frame_packer_put(struct frame_packer *p, uint8_t id, const uint8_t *data, size_t length,
                        uint8_t *out)
{
    size_t used = 0;
    if (length > 0 && id != p->id)
        used = change_id(p, id, out);
    while (length > 0) {
        if (p->slot == 0 && length >= SLOTS) {
            whole_frame(data, out + used);
            used += FRAME_PACKER_FRAME;
            data += SLOTS;
            length -= SLOTS;
            continue;
        }
        put_byte(p, *data++);
        length--;
        if (p->slot == SLOTS)
            used += frame_packer_complete(p, out + used);
    }
    return used;
}

size_t frame_packer_flush(struct frame_packer *p, uint8_t *out)
{
    size_t used = 0;
    if (p->slot > 0)
        used = change_id(p, NULLS, out);
    if (p->slot > 0)
        used += frame_packer_complete(p, out + used);
    p->id = NONE;
    return used;
}
