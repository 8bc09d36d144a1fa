/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ETMv4 whose registers answer what the input says: 10 bytes of options, then the records of
 * fuzz_unit.h. Whatever a unit says, nothing outside its page is accessed, the number of accesses
 * is bounded, and it is not switched on unless everything before that went well.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/coresight/coresight_etm4.h"
#include "tests/support/fuzz_unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE    0xe0041000u
#define HEAD    10u
#define PRGCTLR 0x004u
#define STATR   0x00cu
#define PDCR    0x310u
#define PDSR    0x314u

struct etm4 {
    struct fuzz_unit unit;
    bool on;
};

static void wrote(struct fuzz_unit *u, unsigned offset)
{
    struct etm4 *etm = (struct etm4 *)u;
    uint32_t value = u->regs[offset / 4];
    if (etm->on && offset != PRGCTLR)
        abort(); /* settings while it runs */
    if (offset == PRGCTLR) {
        etm->on = value != 0;
        u->regs[STATR / 4] = value != 0 ? 0 : 3;
    }
    if (offset == PDCR)
        u->regs[PDSR / 4] = value >> 3 & 1;
}

static struct coresight_etm4_options options_of(const uint8_t *p)
{
    struct coresight_etm4_options o = {.trace_id = p[0],
                                       .config = fuzz_get32(p + 1),
                                       .stall = fuzz_get16(p + 5),
                                       .cycle_threshold = p[7],
                                       .sync_log2 = p[8] & 0x1f,
                                       .range_count = p[9] % (CORESIGHT_ETM4_RANGES + 1)};
    for (unsigned k = 0; k < o.range_count; k++)
        o.ranges[k] = (struct coresight_etm4_range){
            .first = 0x1000u * k, .last = 0x1000u * k + 0xff, .exclude = (p[9] >> k & 1) != 0};
    return o;
}

static void check(bool on, const struct coresight_etm4_options *o,
                  const struct coresight_etm4_state *s, int rc)
{
    if ((rc == 0) != s->enabled || (rc == 0 && s->failure != CORESIGHT_ETM4_FINE))
        abort();
    if (on && rc != 0 && s->failure != CORESIGHT_ETM4_STUCK && rc != BT_ERR_IO)
        abort(); /* switched on in spite of an error */
    if (rc == 0 &&
        ((s->trace_id & 0x7f) != o->trace_id || o->range_count > coresight_etm4_ranges(s)))
        abort();
    if (coresight_etm4_sync_bytes(s) > 1u << 20 || coresight_etm4_version(s) > 15)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct coresight_etm4_state state;
    struct etm4 etm = {.on = false};
    if (size < HEAD)
        return 0;
    fuzz_unit_init(&etm.unit, BASE, data + HEAD, size - HEAD);
    etm.unit.wrote = wrote;
    etm.unit.regs[STATR / 4] = 3;
    etm.unit.regs[0x1e4 / 4] = 0x4100f420;
    struct coresight_bus *bus = &etm.unit.bus;
    const struct coresight_etm4_options o = options_of(data);
    int rc = coresight_etm4_start(bus, BASE, &o, &state);
    check(etm.on, &o, &state, rc);
    (void)coresight_etm4_runs(bus, BASE, &state);
    etm.on = false; /* whoever stops it opens the lock first */
    (void)coresight_etm4_stop(bus, BASE, &state);
    if (coresight_etm4_read(bus, BASE, &state) == 0 && !state.devarch && state.idr[1] == 0)
        abort(); /* taken for an ETMv4 without a word of it */
    return 0;
}
