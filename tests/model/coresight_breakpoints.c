/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FPB and the DWT's comparators (DDI 0403E.e C1.8 and C1.11); DWT_FUNCTION of v8-M as in
 * DDI 0553B.v. */
#include <string.h>

#include "coresight_model.h"

#define FP_KEY       (1u << 1)
#define FP_ENABLE    (1u << 0)
#define FP_COMP_BITS 0xdffffffdu
#define FP_NONE      1u
#define FP_BOTH      (1u << 31)  /* in fp_set: both halfwords */
#define FP_V1        0x00000260u /* six code comparators, two for literals */
#define FP_V6        0x00000040u /* four code comparators */
#define FP_V2        0x10000080u /* eight code comparators */

#define DWT_CTRL_RW    0x007f1fffu
#define DWT_CYCCNTENA  (1u << 0)
#define DWT_FUNCTION   0xfu
#define DWT_MATCHED    (1u << 24)
#define V8_FUNCTION    0x00000c3fu
#define V8_ACTION      0x00000030u
#define V8_HALT        0x00000010u
#define V8_ID          0x50000000u /* instruction and data addresses */
#define V8_CODE        2u
#define V8_DATA        4u /* both, writes, reads */
#define DWT_COMP_FIRST 0x20
#define DWT_COMP_END   (DWT_COMP_FIRST + 16 * CS_DWT_COUNT)

static void set_breakpoint(struct coresight_model *m, uint32_t coded, bool on)
{
    uint32_t both = cs_is_v4(m) ? 0 : FP_BOTH;
    if (coded != FP_NONE)
        m->core.ops->set_breakpoint(m->core.ctx, CORE_BREAKPOINT_CODE, coded & ~both,
                                    coded & both ? 4 : 2, on);
}

static uint32_t wanted_v2(const struct coresight_model *m, unsigned i)
{
    bool on = m->fp_ctrl & FP_ENABLE && m->fp_comp[i] & 1 && m->scs.dhcsr & 1;
    return on ? m->fp_comp[i] & ~1u : FP_NONE;
}

static uint32_t wanted(const struct coresight_model *m, unsigned i)
{
    uint32_t comp = m->fp_comp[i];
    unsigned replace = comp >> 30;
    if (cs_is_v4(m))
        return wanted_v2(m, i);
    if (i >= CS_FPB_CODE)
        return FP_NONE;
    if (!(m->fp_ctrl & FP_ENABLE) || !(comp & 1) || !replace || !(m->scs.dhcsr & 1))
        return FP_NONE;
    uint32_t address = comp & 0x1ffffffcu;
    return replace == 3 ? address | FP_BOTH : address + (replace == 2 ? 2 : 0);
}

void cs_breakpoints_apply(struct coresight_model *m)
{
    for (unsigned i = 0; i < CS_FPB_ALL; i++) {
        uint32_t want = wanted(m, i);
        if (want == m->fp_set[i])
            continue;
        set_breakpoint(m, m->fp_set[i], false);
        set_breakpoint(m, want, true);
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
        m->fp_comp[n] = cs_is_v4(m) ? value : value & FP_COMP_BITS;
    }
    cs_breakpoints_apply(m);
}

/* What a comparator watches, and how many bytes. False: nothing that halts the core. */
static bool watches(const struct coresight_model *m, unsigned i, enum core_breakpoint_kind *kind,
                    uint32_t *size)
{
    static const enum core_breakpoint_kind kinds[] = {
        CORE_BREAKPOINT_CODE, CORE_BREAKPOINT_READ, CORE_BREAKPOINT_WRITE, CORE_BREAKPOINT_ACCESS};
    static const enum core_breakpoint_kind kinds_v8[] = {
        CORE_BREAKPOINT_ACCESS, CORE_BREAKPOINT_WRITE, CORE_BREAKPOINT_READ};
    uint32_t function = m->dwt_function[i], match = function & DWT_FUNCTION;
    if (m->kind != CS_M33) {
        *kind = kinds[match & 3];
        *size = 1u << (m->dwt_mask[i] & 0x1f);
        return match >= 4 && match <= 7;
    }
    *size = match == V8_CODE ? 2 : 1u << (function >> 10 & 3);
    *kind =
        match >= V8_DATA && match < V8_DATA + 3 ? kinds_v8[match - V8_DATA] : CORE_BREAKPOINT_CODE;
    return (function & V8_ACTION) == V8_HALT &&
           (match == V8_CODE || (match >= V8_DATA && match < V8_DATA + 3));
}

static void watch(struct coresight_model *m, unsigned i, bool on)
{
    enum core_breakpoint_kind kind;
    uint32_t size;
    if (!watches(m, i, &kind, &size))
        return;
    m->core.ops->set_breakpoint(m->core.ctx, kind, m->dwt_comp[i] & ~(size - 1), size, on);
    m->dwt_set[i] = on;
}

void cs_breakpoints_clear(struct coresight_model *m)
{
    m->fp_ctrl = cs_is_v4(m) ? FP_V2 : m->kind == CS_M0 ? FP_V6 : FP_V1;
    memset(m->fp_comp, 0, sizeof m->fp_comp);
    cs_breakpoints_apply(m);
    for (unsigned i = 0; i < CS_DWT_COUNT; i++) {
        watch(m, i, false);
        m->dwt_comp[i] = m->dwt_mask[i] = m->dwt_function[i] = 0;
        m->dwt_matched[i] = m->dwt_set[i] = false;
    }
    m->dwt_ctrl = (m->kind == CS_M0 ? 2u : CS_DWT_COUNT) << 28;
    m->dwt_cyccnt = 0;
}

static uint32_t *comparator(struct coresight_model *m, unsigned offset)
{
    unsigned i = (offset - DWT_COMP_FIRST) / 16;
    switch (offset & 0xf) {
    case 0:
        return &m->dwt_comp[i];
    case 4:
        return m->kind == CS_M33 ? NULL : &m->dwt_mask[i];
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
        if (reg != &m->dwt_function[i])
            return value;
        value |= (m->dwt_matched[i] ? DWT_MATCHED : 0) | (m->kind == CS_M33 ? V8_ID : 0);
        m->dwt_matched[i] = false;
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
        *reg = m->kind == CS_M33 && reg == &m->dwt_function[i] ? value & V8_FUNCTION : value;
        watch(m, i, true);
    }
}
