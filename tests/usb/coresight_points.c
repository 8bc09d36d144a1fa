/* SPDX-License-Identifier: BSD-3-Clause */
/* FPB v1 and the DWT's comparators (ADIv5 digest, section 9; CoreSight digest, section 17). */
#include <string.h>

#include "tests/usb/coresight_model.h"

#define FP_KEY        (1u << 1)
#define FP_ENABLE     (1u << 0)
#define FP_COMP_BITS  0xdffffffdu
#define FP_NONE       1u
#define FP_BOTH       (1u << 31) /* in fp_set: both halfwords */
#define FP_CTRL_START 0x260u

#define DWT_CTRL_RW    0x007f1fffu
#define DWT_CYCCNTENA  (1u << 0)
#define DWT_FUNCTION   0xfu
#define DWT_MATCHED    (1u << 24)
#define DWT_COMP_FIRST 0x20
#define DWT_COMP_END   (DWT_COMP_FIRST + 16 * CS_DWT_COUNT)

static void set_point(struct coresight_model *m, uint32_t coded, bool on)
{
    if (coded != FP_NONE)
        m->core.ops->set_point(m->core.ctx, CORE_POINT_CODE, coded & ~FP_BOTH,
                               coded & FP_BOTH ? 4 : 2, on);
}

static uint32_t wanted(const struct coresight_model *m, unsigned i)
{
    uint32_t comp = m->fp_comp[i];
    unsigned replace = comp >> 30;
    if (!(m->fp_ctrl & FP_ENABLE) || !(comp & 1) || !replace || !(m->scs.dhcsr & 1))
        return FP_NONE;
    uint32_t address = comp & 0x1ffffffcu;
    return replace == 3 ? address | FP_BOTH : address + (replace == 2 ? 2 : 0);
}

void cs_points_apply(struct coresight_model *m)
{
    for (unsigned i = 0; i < CS_FPB_CODE; i++) {
        uint32_t want = wanted(m, i);
        if (want == m->fp_set[i])
            continue;
        set_point(m, m->fp_set[i], false);
        set_point(m, want, true);
        m->fp_set[i] = want;
    }
}

uint32_t cs_fpb_read(struct coresight_model *m, unsigned offset)
{
    unsigned n = (offset - 8) / 4;
    if (offset == 0)
        return m->fp_ctrl;
    return offset >= 8 && n < CS_FPB_ALL ? m->fp_comp[n] : 0;
}

void cs_fpb_write(struct coresight_model *m, unsigned offset, uint32_t value)
{
    unsigned n = (offset - 8) / 4;
    if (offset == 0) {
        if (!(value & FP_KEY)) {
            m->counters.ignored_writes++;
            return;
        }
        m->fp_ctrl = (m->fp_ctrl & ~FP_ENABLE) | (value & FP_ENABLE);
    } else if (offset >= 8 && n < CS_FPB_ALL) {
        m->fp_comp[n] = value & FP_COMP_BITS;
    }
    cs_points_apply(m);
}

static void watch(struct coresight_model *m, unsigned i, bool on)
{
    static const enum core_point kinds[] = {CORE_POINT_CODE, CORE_POINT_READ, CORE_POINT_WRITE,
                                            CORE_POINT_ACCESS};
    unsigned function = m->dwt_function[i] & DWT_FUNCTION;
    if (function < 4 || function > 7)
        return;
    uint32_t size = 1u << (m->dwt_mask[i] & 0x1f);
    m->core.ops->set_point(m->core.ctx, kinds[function - 4], m->dwt_comp[i] & ~(size - 1), size,
                           on);
    m->dwt_set[i] = on;
}

void cs_points_clear(struct coresight_model *m)
{
    m->fp_ctrl = FP_CTRL_START;
    memset(m->fp_comp, 0, sizeof m->fp_comp);
    cs_points_apply(m);
    for (unsigned i = 0; i < CS_DWT_COUNT; i++) {
        watch(m, i, false);
        m->dwt_comp[i] = m->dwt_mask[i] = m->dwt_function[i] = 0;
        m->dwt_matched[i] = m->dwt_set[i] = false;
    }
    m->dwt_ctrl = CS_DWT_COUNT << 28;
    m->dwt_cyccnt = 0;
}

static uint32_t *comparator(struct coresight_model *m, unsigned offset)
{
    unsigned i = (offset - DWT_COMP_FIRST) / 16;
    switch (offset & 0xf) {
    case 0:
        return &m->dwt_comp[i];
    case 4:
        return &m->dwt_mask[i];
    case 8:
        return &m->dwt_function[i];
    default:
        return NULL;
    }
}

static uint32_t pc_sample(struct coresight_model *m)
{
    uint32_t pc = UINT32_MAX;
    if (!m->scs.halted)
        m->core.ops->read_register(m->core.ctx, 15, &pc);
    return pc;
}

uint32_t cs_dwt_read(struct coresight_model *m, unsigned offset)
{
    if (offset >= DWT_COMP_FIRST && offset < DWT_COMP_END) {
        unsigned i = (offset - DWT_COMP_FIRST) / 16;
        uint32_t *reg = comparator(m, offset);
        uint32_t value = reg ? *reg : 0;
        if (reg == &m->dwt_function[i] && m->dwt_matched[i]) {
            value |= DWT_MATCHED;
            m->dwt_matched[i] = false;
        }
        return value;
    }
    switch (offset) {
    case 0x000:
        return m->dwt_ctrl;
    case 0x004:
        m->dwt_cyccnt += m->dwt_ctrl & DWT_CYCCNTENA ? 100 : 0;
        return m->dwt_cyccnt;
    case 0x01c:
        return pc_sample(m);
    default:
        return 0;
    }
}

void cs_dwt_write(struct coresight_model *m, unsigned offset, uint32_t value)
{
    if (offset == 0) {
        m->dwt_ctrl = (m->dwt_ctrl & ~DWT_CTRL_RW) | (value & DWT_CTRL_RW);
    } else if (offset == 4) {
        m->dwt_cyccnt = value;
    } else if (offset >= DWT_COMP_FIRST && offset < DWT_COMP_END) {
        unsigned i = (offset - DWT_COMP_FIRST) / 16;
        uint32_t *reg = comparator(m, offset);
        if (!reg)
            return;
        watch(m, i, false);
        *reg = value;
        watch(m, i, true);
    }
}
