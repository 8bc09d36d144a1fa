/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4 and ETE. IHI 0064H.b chapters 4 and 7. */
#include "drivers/coresight/coresight_etm4.h"

#define TRCPRGCTLR    0x004u
#define TRCPROCSELR   0x008u
#define TRCSTATR      0x00cu
#define TRCCONFIGR    0x010u
#define TRCAUXCTLR    0x018u
#define TRCEVENTCTL0R 0x020u
#define TRCEVENTCTL1R 0x024u
#define TRCSTALLCTLR  0x02cu
#define TRCTSCTLR     0x030u
#define TRCSYNCPR     0x034u
#define TRCCCCTLR     0x038u
#define TRCBBCTLR     0x03cu
#define TRCTRACEIDR   0x040u
#define TRCQCTLR      0x044u
#define TRCVICTLR     0x080u
#define TRCVIIECTLR   0x084u
#define TRCVISSCTLR   0x088u
#define TRCVIPCSSCTLR 0x08cu
#define TRCVDCTLR     0x0a0u
#define TRCSEQEVR     0x100u
#define TRCSEQRSTEVR  0x118u
#define TRCSEQSTR     0x11cu
#define TRCEXTINSELR  0x120u
#define TRCCNTCTLR    0x150u
#define TRCIDR8       0x180u
#define TRCIDR0       0x1e0u
#define TRCRSCTLR     0x200u
#define TRCOSLAR      0x300u
#define TRCOSLSR      0x304u
#define TRCPDCR       0x310u
#define TRCPDSR       0x314u
#define TRCACVR       0x400u
#define TRCACATR      0x480u
#define TRCAUTHSTATUS 0xfb8u
#define TRCDEVARCH    0xfbcu

#define PRGCTLR_EN 0x1u

#define SYNC_LEAST 8u
#define SYNC_MOST  20u

/* Sets state->failure; returns `error`. */
static inline int coresight_etm4_fail(struct coresight_etm4_state *state,
                                      enum coresight_etm4_failure failure, int error)
{
    state->failure = failure;
    return error;
}

#define ARCHID_ETM4 0x4a13u

static bool coresight_is_known(const struct coresight_etm4_state *state)
{
    if (coresight_etm4_has_devarch(state))
        return (state->devarch & 0xffff) == ARCHID_ETM4 || coresight_etm4_is_ete(state);
    return (state->idr[1] >> 8 & 0xf) == 4 && state->idr[1] != UINT32_MAX;
}

uint32_t coresight_etm4_sync_bytes(const struct coresight_etm4_state *state)
{
    unsigned period = state->sync & 0x1f;
    return period < SYNC_LEAST || period > SYNC_MOST ? 0 : 1u << period;
}

/* Nothing of what the core runs may be traced. */
static bool coresight_etm4_is_forbidden(const struct coresight_etm4_state *state)
{
    bool secure = (state->auth >> 6 & 3) == 3;
    bool nonsecure = (state->auth >> 2 & 3) == 3;
    bool given = (state->auth & 0xcc) != 0;
    return given && !secure && !nonsecure;
}

const char *coresight_etm4_failure_text(enum coresight_etm4_failure failure)
{
    static const char *const TEXTS[] = {
        [CORESIGHT_ETM4_OTHER_UNIT] = "is no ETMv4 and no ETE",
        [CORESIGHT_ETM4_NO_POWER] = "has no power (TRCPDSR): keep its core from powering down",
        [CORESIGHT_ETM4_LOCKED] = "stays behind its OS lock (TRCOSLSR): its core must let go of it",
        [CORESIGHT_ETM4_FORBIDDEN] = "may not trace: the chip is closed (TRCAUTHSTATUS; signals "
                                     "NIDEN and SPNIDEN)",
        [CORESIGHT_ETM4_BUSY] = "does not become idle (TRCSTATR): does its trace clock run, and "
                                "does anybody take its trace?",
        [CORESIGHT_ETM4_STUCK] = "does not start (TRCSTATR): does its trace clock run?",
        [CORESIGHT_ETM4_DEAF] = "does not keep what is written to it: is it locked, or somebody "
                                "else's?",
        [CORESIGHT_ETM4_ODD_ID] = "can trace data, too, under the next ID: its TRCTRACEIDR must be "
                                  "even",
        [CORESIGHT_ETM4_FEW_RANGES] = "has fewer address comparators than this filter needs",
    };
    return (size_t)failure < sizeof TEXTS / sizeof *TEXTS ? TEXTS[failure] : NULL;
}

/* All that can be read without changing anything. */
static int coresight_etm4_identify(struct coresight_bus *bus, uint64_t base,
                                   struct coresight_etm4_state *state)
{
    int error = coresight_read(bus, base + TRCDEVARCH, &state->devarch);
    if (error == 0)
        error = bus->ops->read(bus, base + TRCIDR0, state->idr, 8);
    if (error == 0 && !coresight_is_known(state))
        return coresight_etm4_fail(state, CORESIGHT_ETM4_OTHER_UNIT, BT_ERR_UNSUPPORTED);
    if (error == 0)
        error = bus->ops->read(bus, base + TRCIDR8, state->idr + 8, CORESIGHT_ETM4_IDS - 8);
    if (error == 0)
        error = coresight_read(bus, base + TRCAUTHSTATUS, &state->auth);
    return error;
}

/* The settings that *state has room for. */
static int coresight_etm4_settings(struct coresight_bus *bus, uint64_t base,
                                   struct coresight_etm4_state *state)
{
    const struct coresight_reading list[] = {{TRCCONFIGR, &state->config},
                                             {TRCTRACEIDR, &state->trace_id},
                                             {TRCSYNCPR, &state->sync},
                                             {TRCSTALLCTLR, &state->stall}};
    return CORESIGHT_READ_ALL(bus, base, list);
}

int coresight_etm4_read(struct coresight_bus *bus, uint64_t base,
                        struct coresight_etm4_state *state)
{
    uint32_t control = 0;
    *state = (struct coresight_etm4_state){0};
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_etm4_identify(bus, base, state);
    if (error == 0)
        error = coresight_etm4_settings(bus, base, state);
    if (error == 0)
        error = coresight_read(bus, base + TRCPRGCTLR, &control);
    state->enabled = (control & PRGCTLR_EN) != 0;
    return error;
}

#define STATR_IDLE     0x1u
#define STATR_PMSTABLE 0x2u
#define CONFIGR_RES1   0x1u
#define VICTLR_ALL     0x201u /* event: always; the start/stop logic is started */
#define OSLSR_LOCKED   0x2u
#define PDCR_POWER_UP  0x8u
#define PDSR_POWER     0x1u

#define IDR0_TRCDATA    0x00000018u
#define IDR0_TRCBB      0x00000020u
#define IDR0_TRCCCI     0x00000080u
#define IDR0_RETSTACK   0x00000200u
#define IDR0_QFILT      0x00004000u
#define IDR0_QSUPP      0x00018000u
#define IDR0_TSSIZE     0x1f000000u
#define IDR2_CIDSIZE    0x000003e0u
#define IDR2_VMIDSIZE   0x00007c00u
#define IDR3_CCITMIN    0x00000fffu
#define IDR3_SYNCPR     0x02000000u /* the period is fixed */
#define IDR3_STALLCTL   0x04000000u
#define IDR3_NUMPROC    0x70000000u
#define IDR3_NOOVERFLOW 0x80000000u
#define IDR5_EXTERNAL   0x000001ffu

#define MAX_TRACE_ID  0x6fu
#define SYNC_DEFAULT  10u
#define FIRST_FREE    2u /* resource selector: 0 and 1 are fixed */
#define SEQ_EVENTS    3u
#define VERSION_PAIRS 3u /* from ETMv4.3 on no resource pair may mean none */

/*
 * TRCVIIECTLR, TRCACATRn and the single-shot comparators (IHI 0064H.b chapter 7). Their layout is
 * that of the public register lists of Linux's and FreeBSD's drivers and of two chip makers, which
 * agree. A bit for each pair of comparators; an access type of 0 is instructions of all exception
 * levels, in any context.
 */
#define VIIECTLR_INCLUDE_SHIFT 0u
#define VIIECTLR_EXCLUDE_SHIFT 16u
#define ACATR_INSTRUCTIONS     0u
#define TRCSSCCR               0x280u

/* As coresight_poll(); what a timeout means is noted. */
static int coresight_etm4_await(struct coresight_bus *bus, uint64_t address, uint32_t mask,
                                uint32_t value, struct coresight_etm4_state *state,
                                enum coresight_etm4_failure meaning)
{
    int error = coresight_poll(bus, address, mask, value);
    bool late = error == BT_ERR_IO && bus->failure == DEBUG_FAIL_TIMEOUT;
    return late ? coresight_etm4_fail(state, meaning, error) : error;
}

/* Access: power, locks, idle. */

/* Units of small cores have no power control of their own: the request reads back as 0. */
static int power_up(struct coresight_bus *bus, uint64_t base, struct coresight_etm4_state *state)
{
    uint32_t control = 0;
    int error = coresight_modify(bus, base + TRCPDCR, PDCR_POWER_UP, PDCR_POWER_UP);
    if (error == 0)
        error = coresight_read(bus, base + TRCPDCR, &control);
    if (error != 0 || (control & PDCR_POWER_UP) == 0)
        return error;
    return coresight_etm4_await(bus, base + TRCPDSR, PDSR_POWER, PDSR_POWER, state,
                                CORESIGHT_ETM4_NO_POWER);
}

static int open_os_lock(struct coresight_bus *bus, uint64_t base,
                        struct coresight_etm4_state *state)
{
    uint32_t lock = 0;
    int error = coresight_write(bus, base + TRCOSLAR, 0);
    if (error == 0)
        error = coresight_read(bus, base + TRCOSLSR, &lock);
    if (error == 0 && (lock & OSLSR_LOCKED) != 0)
        return coresight_etm4_fail(state, CORESIGHT_ETM4_LOCKED, BT_ERR_UNSUPPORTED);
    return error;
}

static int coresight_etm4_halt(struct coresight_bus *bus, uint64_t base,
                               struct coresight_etm4_state *state)
{
    const uint32_t quiet = STATR_IDLE | STATR_PMSTABLE;
    int error = coresight_write(bus, base + TRCPRGCTLR, 0);
    if (error == 0)
        error =
            coresight_etm4_await(bus, base + TRCSTATR, quiet, quiet, state, CORESIGHT_ETM4_BUSY);
    return error;
}

/* Registers ignore writes before all of this is done. */
static int coresight_etm4_prepare(struct coresight_bus *bus, uint64_t base,
                                  struct coresight_etm4_state *state)
{
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = power_up(bus, base, state);
    if (error == 0)
        error = open_os_lock(bus, base, state);
    if (error == 0)
        error = coresight_etm4_identify(bus, base, state);
    if (error == 0 && coresight_etm4_is_forbidden(state))
        return coresight_etm4_fail(state, CORESIGHT_ETM4_FORBIDDEN, BT_ERR_UNSUPPORTED);
    return error == 0 ? coresight_etm4_halt(bus, base, state) : error;
}

static int check_options(const struct coresight_etm4_options *o, struct coresight_etm4_state *state)
{
    bool period = o->sync_log2 == 0 || (o->sync_log2 >= SYNC_LEAST && o->sync_log2 <= SYNC_MOST);
    if (o->trace_id == 0 || o->trace_id > MAX_TRACE_ID || !period)
        return BT_ERR_INVAL;
    if ((state->idr[0] & IDR0_TRCDATA) != 0 && (o->trace_id & 1) != 0)
        return coresight_etm4_fail(state, CORESIGHT_ETM4_ODD_ID, BT_ERR_INVAL);
    if (o->range_count > coresight_etm4_ranges(state))
        return coresight_etm4_fail(state, CORESIGHT_ETM4_FEW_RANGES, BT_ERR_RANGE);
    for (unsigned k = 0; k < o->range_count; k++) {
        if (o->ranges[k].first > o->ranges[k].last)
            return BT_ERR_INVAL;
    }
    return 0;
}

static uint32_t config_of(const struct coresight_etm4_options *o, const uint32_t *idr)
{
    const struct {
        uint32_t option;
        bool there;
    } list[] = {
        {CORESIGHT_ETM4_BROADCAST, (idr[0] & IDR0_TRCBB) != 0},
        {CORESIGHT_ETM4_CYCLES, (idr[0] & IDR0_TRCCCI) != 0},
        {CORESIGHT_ETM4_CONTEXT, (idr[2] & IDR2_CIDSIZE) != 0},
        {CORESIGHT_ETM4_VMID, (idr[2] & IDR2_VMIDSIZE) != 0},
        {CORESIGHT_ETM4_TIMESTAMPS, (idr[0] & IDR0_TSSIZE) != 0},
        {CORESIGHT_ETM4_RETURN_STACK, (idr[0] & IDR0_RETSTACK) != 0},
    };
    uint32_t config = CONFIGR_RES1;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++)
        config |= list[k].there ? o->config & list[k].option : 0;
    /* With both the unit is unpredictable (IHI 0064H.b chapter 7). */
    if ((config & CORESIGHT_ETM4_BROADCAST) != 0)
        config &= ~CORESIGHT_ETM4_RETURN_STACK;
    return config;
}

static uint32_t stall_of(const struct coresight_etm4_options *o, const uint32_t *idr)
{
    uint32_t allowed = 0;
    if ((idr[3] & IDR3_STALLCTL) != 0)
        allowed = CORESIGHT_ETM4_STALL | CORESIGHT_ETM4_STALL_LEVEL;
    if ((idr[3] & IDR3_NOOVERFLOW) != 0)
        allowed |= CORESIGHT_ETM4_LOSSLESS;
    return (o->stall & CORESIGHT_ETM4_STALL) != 0 ? o->stall & allowed : 0;
}

static uint32_t threshold_of(const struct coresight_etm4_options *o, const uint32_t *idr)
{
    uint32_t least = idr[3] & IDR3_CCITMIN;
    uint32_t wanted = o->cycle_threshold > least ? o->cycle_threshold : least;
    return wanted == 0 ? 1 : wanted & IDR3_CCITMIN;
}

/* Everything another tool may have left in the resources is switched off. */
static int coresight_etm4_clear_resources(struct coresight_bus *bus, uint64_t base,
                                          const struct coresight_etm4_state *state)
{
    unsigned counters = state->idr[5] >> 28 & 7;
    unsigned single = state->idr[4] >> 20 & 0xf;
    unsigned pairs = state->idr[4] >> 16 & 0xf;
    bool sequencer = (state->idr[5] >> 25 & 7) != 0;
    bool may_lack = coresight_etm4_is_ete(state) || coresight_etm4_version(state) >= VERSION_PAIRS;
    unsigned selectors = pairs == 0 && may_lack ? FIRST_FREE : 2 * (pairs + 1);
    const struct coresight_setting list[] = {
        {TRCRSCTLR + 4 * FIRST_FREE, 0, selectors - FIRST_FREE},
        {TRCSSCCR, 0, single},
        {TRCCNTCTLR, 0, counters > 4 ? 4 : counters},
        {TRCSEQEVR, 0, sequencer ? SEQ_EVENTS : 0},
        {TRCSEQRSTEVR, 0, sequencer},
        {TRCSEQSTR, 0, sequencer},
        {TRCEXTINSELR, 0, (state->idr[5] & IDR5_EXTERNAL) != 0},
        {TRCVDCTLR, 0, (state->idr[0] & IDR0_TRCDATA) != 0},
    };
    return CORESIGHT_WRITE_ALL(bus, base, list);
}

static int write_double(struct coresight_bus *bus, uint64_t address, uint64_t value)
{
    int error = coresight_write(bus, address, (uint32_t)value);
    return error == 0 ? coresight_write(bus, address + 4, (uint32_t)(value >> 32)) : error;
}

/* Comparators 2n and 2n + 1 make range n. */
static int set_range(struct coresight_bus *bus, uint64_t base, unsigned n,
                     const struct coresight_etm4_range *range)
{
    const uint64_t values = base + TRCACVR + 16 * (uint64_t)n;
    const uint64_t types = base + TRCACATR + 16 * (uint64_t)n;
    int error = write_double(bus, values, range->first);
    if (error == 0)
        error = write_double(bus, values + 8, range->last);
    if (error == 0)
        error = write_double(bus, types, ACATR_INSTRUCTIONS);
    return error == 0 ? write_double(bus, types + 8, ACATR_INSTRUCTIONS) : error;
}

static int set_ranges(struct coresight_bus *bus, uint64_t base,
                      const struct coresight_etm4_options *o)
{
    uint32_t select = 0;
    int error = 0;
    for (unsigned k = 0; error == 0 && k < o->range_count; k++) {
        bool exclude = o->ranges[k].exclude;
        select |= 1u << (k + (exclude ? VIIECTLR_EXCLUDE_SHIFT : VIIECTLR_INCLUDE_SHIFT));
        error = set_range(bus, base, k, &o->ranges[k]);
    }
    return error == 0 ? coresight_write(bus, base + TRCVIIECTLR, select) : error;
}

static int coresight_etm4_set_tracing(struct coresight_bus *bus, uint64_t base,
                                      const struct coresight_etm4_options *o,
                                      const struct coresight_etm4_state *state)
{
    const uint32_t *idr = state->idr;
    const struct coresight_setting list[] = {
        {TRCPROCSELR, 0, (idr[3] & IDR3_NUMPROC) != 0},
        {TRCCONFIGR, config_of(o, idr), 1},
        {TRCAUXCTLR, 0, 1},
        {TRCEVENTCTL0R, 0, 1},
        {TRCEVENTCTL1R, 0, 1},
        {TRCSTALLCTLR, stall_of(o, idr), 1},
        {TRCTSCTLR, 0, (idr[0] & IDR0_TSSIZE) != 0},
        {TRCSYNCPR, o->sync_log2 ? o->sync_log2 : SYNC_DEFAULT, (idr[3] & IDR3_SYNCPR) == 0},
        {TRCCCCTLR, threshold_of(o, idr), (idr[0] & IDR0_TRCCCI) != 0},
        {TRCBBCTLR, 0, (idr[0] & IDR0_TRCBB) != 0}, /* no range is excluded */
        {TRCTRACEIDR, o->trace_id, 1},
        {TRCQCTLR, 0, (idr[0] & (IDR0_QSUPP | IDR0_QFILT)) != 0},
        {TRCVICTLR, VICTLR_ALL, 1},
        {TRCVISSCTLR, 0, 1},
        {TRCVIPCSSCTLR, 0, (idr[4] >> 12 & 0xf) != 0},
    };
    int error = CORESIGHT_WRITE_ALL(bus, base, list);
    return error == 0 ? set_ranges(bus, base, o) : error;
}

int coresight_etm4_program(struct coresight_bus *bus, uint64_t base,
                           const struct coresight_etm4_options *options,
                           struct coresight_etm4_state *state)
{
    *state = (struct coresight_etm4_state){0};
    int error = coresight_etm4_prepare(bus, base, state);
    if (error == 0)
        error = check_options(options, state);
    if (error == 0)
        error = coresight_etm4_clear_resources(bus, base, state);
    if (error == 0)
        error = coresight_etm4_set_tracing(bus, base, options, state);
    if (error == 0)
        error = coresight_etm4_settings(bus, base, state);
    if (error == 0 && (state->trace_id & 0x7f) != options->trace_id)
        return coresight_etm4_fail(state, CORESIGHT_ETM4_DEAF, BT_ERR_UNSUPPORTED);
    return error;
}

/* On and off. */

int coresight_etm4_start(struct coresight_bus *bus, uint64_t base,
                         const struct coresight_etm4_options *options,
                         struct coresight_etm4_state *state)
{
    int error = coresight_etm4_program(bus, base, options, state);
    if (error == 0)
        error = coresight_write(bus, base + TRCPRGCTLR, PRGCTLR_EN);
    if (error == 0)
        error =
            coresight_etm4_await(bus, base + TRCSTATR, STATR_IDLE, 0, state, CORESIGHT_ETM4_STUCK);
    state->enabled = error == 0;
    return error;
}

int coresight_etm4_stop(struct coresight_bus *bus, uint64_t base,
                        struct coresight_etm4_state *state)
{
    state->failure = CORESIGHT_ETM4_FINE;
    int error = coresight_unlock(bus, base);
    error = error == 0 ? coresight_etm4_halt(bus, base, state) : error;
    state->enabled = state->enabled && error != 0;
    return error;
}

bool coresight_etm4_runs(struct coresight_bus *bus, uint64_t base,
                         const struct coresight_etm4_state *state)
{
    const struct {
        uint16_t offset;
        uint32_t mask, value;
    } list[] = {
        {TRCPRGCTLR, PRGCTLR_EN, PRGCTLR_EN},
        {TRCCONFIGR, UINT32_MAX, state->config},
        {TRCTRACEIDR, 0x7f, state->trace_id & 0x7f},
    };
    bool runs = true;
    for (size_t k = 0; runs && k < sizeof list / sizeof *list; k++) {
        uint32_t value;
        runs = coresight_read(bus, base + list[k].offset, &value) == 0 &&
               (value & list[k].mask) == list[k].value;
    }
    return runs;
}
