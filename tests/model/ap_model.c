/* SPDX-License-Identifier: BSD-3-Clause */
#include "ap_model.h"

#include <string.h>

#define CSW_SIZE      0x7u
#define CSW_INC_SHIFT 4
#define CSW_INC       (0x3u << CSW_INC_SHIFT)
#define CSW_DEVICE_EN (1u << 6)
#define CSW_WRITABLE  0xff000f37u
#define INC_SINGLE    1u
#define INC_PACKED    2u
#define SIZE_WORD     2u
#define DEFAULT_SPAN  0x400u

void ap_model_init(struct ap_model *ap, const struct ap_model_options *options,
                   const struct model_bus *bus)
{
    memset(ap, 0, sizeof *ap);
    ap->options = *options;
    ap->bus = *bus;
    ap->csw = CSW_DEVICE_EN | SIZE_WORD;
    ap->tar = 0xdeadbee0;
}

static void write_csw(struct ap_model *ap, uint32_t value)
{
    unsigned inc = (value & CSW_INC) >> CSW_INC_SHIFT;
    ap->csw = (value & CSW_WRITABLE) | CSW_DEVICE_EN;
    if ((value & CSW_SIZE) > SIZE_WORD || ap->options.word_only)
        ap->csw = (ap->csw & ~CSW_SIZE) | SIZE_WORD;
    if (inc == 3 || (inc == INC_PACKED && ap->options.no_packed))
        ap->csw &= ~CSW_INC;
}

static void increment(struct ap_model *ap, unsigned bytes)
{
    uint32_t span = ap->options.increment_span ? ap->options.increment_span : DEFAULT_SPAN;
    uint32_t low = (ap->tar + bytes) & (span - 1);
    if (low < bytes)
        ap->wraps++;
    ap->tar = (ap->tar & ~(span - 1)) | low;
}

/* One bus access at TAR, its data in the byte lane of the address. */
static int lane_access(struct ap_model *ap, bool read, uint32_t *value)
{
    unsigned size = 1u << (ap->csw & CSW_SIZE);
    unsigned shift = 8 * (ap->tar & 3);
    uint32_t mask = size == 4 ? UINT32_MAX : ((1u << 8 * size) - 1) << shift;
    uint32_t lane = (*value & mask) >> shift;
    if (ap->tar & (size - 1)) {
        ap->unaligned++;
        return -1;
    }
    int r = read ? ap->bus.read(ap->bus.ctx, ap->tar, size, &lane)
                 : ap->bus.write(ap->bus.ctx, ap->tar, size, lane);
    if (r < 0) {
        ap->bus_errors++;
        return r;
    }
    if (read)
        *value = (*value & ~mask) | (lane << shift & mask);
    return 0;
}

static int drw_access(struct ap_model *ap, bool read, uint32_t *value)
{
    unsigned size = 1u << (ap->csw & CSW_SIZE);
    unsigned inc = (ap->csw & CSW_INC) >> CSW_INC_SHIFT;
    int r;
    /* Packed: all the lanes from TAR to the end of the word, in address order. */
    do {
        r = lane_access(ap, read, value);
        if (r < 0)
            return r;
        if (inc)
            increment(ap, size);
    } while (inc == INC_PACKED && (ap->tar & 3));
    return 0;
}

static int banked_access(struct ap_model *ap, bool read, unsigned reg, uint32_t *value)
{
    uint32_t address = (ap->tar & ~0xfu) + (reg & 0xf);
    int r = read ? ap->bus.read(ap->bus.ctx, address, 4, value)
                 : ap->bus.write(ap->bus.ctx, address, 4, *value);
    if (r < 0)
        ap->bus_errors++;
    return r;
}

int ap_model_read(struct ap_model *ap, unsigned reg, uint32_t *value)
{
    *value = 0;
    switch (reg & 0xfc) {
    case MEM_AP_CSW:
        *value = ap->csw;
        return 0;
    case MEM_AP_TAR:
        *value = ap->tar;
        return 0;
    case MEM_AP_DRW:
        return drw_access(ap, true, value);
    case MEM_AP_BASE:
        *value = ap->options.base;
        return 0;
    case MEM_AP_IDR:
        *value = ap->options.idr;
        return 0;
    default:
        return (reg & 0xf0) == MEM_AP_BD0 ? banked_access(ap, true, reg, value) : 0;
    }
}

int ap_model_write(struct ap_model *ap, unsigned reg, uint32_t value)
{
    switch (reg & 0xfc) {
    case MEM_AP_CSW:
        write_csw(ap, value);
        return 0;
    case MEM_AP_TAR:
        ap->tar = value;
        return 0;
    case MEM_AP_DRW:
        return drw_access(ap, false, &value);
    default:
        return (reg & 0xf0) == MEM_AP_BD0 ? banked_access(ap, false, reg, &value) : 0;
    }
}
