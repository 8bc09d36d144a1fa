/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf's record of the trace units: 64-bit numbers, a few for all, then a block a CPU. As Linux has
 * them in tools/perf/util/cs-etm.h: version; PMU type and number of CPUs (each 32 bits); snapshot
 * mode. A block: kind, CPU, since version 1 the number of registers, the registers. ETE is there
 * since version 1; version 2 leaves trace IDs to PERF_RECORD_AUX_OUTPUT_HW_ID, and marks those that
 * it would have given by bit 31. Registers are only ever added at the
 * end (TS_SOURCE was). */
#include <inttypes.h>

#include "perf_data_internal.h"

#define INFO_BEGIN     16u /* of the numbers in the record */
#define TYPE_CORESIGHT 3u

#define NEWEST 2u /* version of the layout */

/* One block: which unit, whose, how many numbers. Version 0 had fixed lengths and no count. */
#define MAGIC_ETMV3 UINT64_C(0x3030303030303030)
#define MAGIC_ETMV4 UINT64_C(0x4040404040404040)
#define MAGIC_ETE   UINT64_C(0x5050505050505050)

#define COUNT_ETMV3 4u
#define COUNT_ETMV4 7u
#define COUNT_ETE   8u

#define ID_UNUSED 0x80000000u /* the ID comes in a record of its own */

static const char *other_trace(uint32_t type)
{
    static const char *const names[] = {"no known kind", "Intel PT",    "Intel BTS",    "CoreSight",
                                        "Arm SPE",       "s390 CPUMCF", "HiSilicon PTT"};
    return type < sizeof names / sizeof *names ? names[type] : names[0];
}

static bool unit_kind(uint64_t magic, uint8_t *kind, uint32_t *count)
{
    switch (magic) {
    case MAGIC_ETMV3:
        *kind = PERF_UNIT_ETMV3;
        *count = COUNT_ETMV3;
        return true;
    case MAGIC_ETMV4:
        *kind = PERF_UNIT_ETMV4;
        *count = COUNT_ETMV4;
        return true;
    case MAGIC_ETE:
        *kind = PERF_UNIT_ETE;
        *count = COUNT_ETE;
        return true;
    default:
        return false;
    }
}

/* One block at *at; numbers that are newer than this reader are passed over. */
static int take_unit(struct perf_reader *r, uint64_t version, uint64_t *at, uint64_t end)
{
    struct perf_data *p = r->data;
    uint64_t begin = *at, head = version ? 24 : 16;
    uint32_t wanted;
    uint8_t kind;
    int error = BT_OK;
    if (end - begin < head)
        return perf_fail(r, BT_ERR_FORMAT, begin, "the list of trace units is cut off");
    if (!unit_kind(perf_u64(p, begin), &kind, &wanted))
        return perf_fail(r, BT_ERR_UNSUPPORTED, begin,
                         "a trace unit of kind 0x%" PRIx64 ", which is not known",
                         perf_u64(p, begin));
    uint64_t count = version ? perf_u64(p, begin + 16) : wanted;
    if (count < wanted || count > (end - begin - head) / 8)
        return perf_fail(r, BT_ERR_FORMAT, begin, "a trace unit with %" PRIu64 " registers", count);
    struct perf_unit *u =
        perf_grow(r, &p->units, &p->unit_count, sizeof *u, PERF_MAX_UNITS, begin, &error);
    if (!u)
        return error;
    u->kind = kind;
    u->cpu = (uint32_t)perf_u64(p, begin + 8);
    u->count = wanted;
    for (uint32_t i = 0; i < wanted; i++)
        u->params[i] = perf_u64(p, begin + head + 8 * (uint64_t)i);
    uint64_t id = u->params[1];
    u->trace_id = id & ID_UNUSED || (id & 0x7f) >= PERF_TRACE_IDS ? 0 : id & 0x7f;
    *at = begin + head + 8 * count;
    return BT_OK;
}

int perf_take_info(struct perf_reader *r, const struct perf_record *k)
{
    struct perf_data *p = r->data;
    uint64_t at = k->at + INFO_BEGIN, end = k->at + k->size / 8 * 8;
    if (k->size < INFO_BEGIN)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "the record of the trace units is cut off");
    uint32_t type = perf_u32(p, k->at + 8);
    if (type != TYPE_CORESIGHT)
        return perf_fail(r, BT_ERR_UNSUPPORTED, k->at + 8,
                         "its trace is of %s (type %" PRIu32 "), not of CoreSight",
                         other_trace(type), type);
    if (end - at < 24)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "the record of the trace units is cut off");
    if (p->has_info)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "a second record of the trace units");
    uint64_t version = perf_u64(p, at), count = perf_u64(p, at + 8);
    if (version > NEWEST)
        return perf_fail(r, BT_ERR_UNSUPPORTED, at,
                         "trace units described in version %" PRIu64 "; known are 0 to %u", version,
                         NEWEST);
    p->pmu_type = (uint32_t)(count >> 32);
    p->has_info = true;
    at += 24;
    for (uint32_t n = (uint32_t)count; n > 0; n--) {
        int error = take_unit(r, version, &at, end);
        if (error)
            return error;
    }
    return BT_OK;
}
