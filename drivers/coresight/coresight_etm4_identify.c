/* SPDX-License-Identifier: BSD-3-Clause */
/* What an ETMv4 or ETE says of itself. IHI 0064H.b chapter 7. */
#include "coresight_etm4_internal.h"

#define DEVARCH_PRESENT 0x00100000u
#define ARCHID_ETM4     0x4a13u
#define ARCHID_ETE      0x5a13u

static bool arch_is_there(const struct coresight_etm4_state *state)
{
    return (state->devarch & DEVARCH_PRESENT) != 0;
}

bool coresight_etm4_is_ete(const struct coresight_etm4_state *state)
{
    return arch_is_there(state) && (state->devarch & 0xffff) == ARCHID_ETE;
}

unsigned coresight_etm4_version(const struct coresight_etm4_state *state)
{
    return arch_is_there(state) ? state->devarch >> 16 & 0xf : state->idr[1] >> 4 & 0xf;
}

static bool coresight_is_known(const struct coresight_etm4_state *state)
{
    if (arch_is_there(state))
        return (state->devarch & 0xffff) == ARCHID_ETM4 || coresight_etm4_is_ete(state);
    return (state->idr[1] >> 8 & 0xf) == 4 && state->idr[1] != UINT32_MAX;
}

uint32_t coresight_etm4_sync_bytes(const struct coresight_etm4_state *state)
{
    unsigned period = state->sync & 0x1f;
    return period < SYNC_LEAST || period > SYNC_MOST ? 0 : 1u << period;
}

unsigned coresight_etm4_ranges(const struct coresight_etm4_state *state)
{
    unsigned pairs = state->idr[4] & 0xf;
    return pairs < CORESIGHT_ETM4_RANGES ? pairs : CORESIGHT_ETM4_RANGES;
}

/* Two bits of TRCAUTHSTATUS: the signal is there, but off. */
static bool is_off(const struct coresight_etm4_state *state, unsigned shift)
{
    return (state->auth >> shift & 3) == 2;
}

bool coresight_etm4_nonsecure_hidden(const struct coresight_etm4_state *state)
{
    return is_off(state, 2);
}

bool coresight_etm4_secure_hidden(const struct coresight_etm4_state *state)
{
    return is_off(state, 6);
}

bool coresight_etm4_is_forbidden(const struct coresight_etm4_state *state)
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

int coresight_etm4_identify(struct coresight_bus *bus, uint64_t base,
                            struct coresight_etm4_state *state)
{
    int rc = coresight_read(bus, base + TRCDEVARCH, &state->devarch);
    if (rc == 0)
        rc = bus->ops->read(bus, base + TRCIDR0, state->idr, 8);
    if (rc == 0 && !coresight_is_known(state))
        return coresight_etm4_fail(state, CORESIGHT_ETM4_OTHER_UNIT, BT_ERR_UNSUPPORTED);
    if (rc == 0)
        rc = bus->ops->read(bus, base + TRCIDR8, state->idr + 8, CORESIGHT_ETM4_IDS - 8);
    if (rc == 0)
        rc = coresight_read(bus, base + TRCAUTHSTATUS, &state->auth);
    return rc;
}

int coresight_etm4_settings(struct coresight_bus *bus, uint64_t base,
                            struct coresight_etm4_state *state)
{
    const struct {
        uint16_t offset;
        uint32_t *value;
    } list[] = {
        {TRCCONFIGR, &state->config},
        {TRCTRACEIDR, &state->trace_id},
        {TRCSYNCPR, &state->sync},
        {TRCSTALLCTLR, &state->stall},
    };
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < sizeof list / sizeof *list; k++)
        rc = coresight_read(bus, base + list[k].offset, list[k].value);
    return rc;
}

int coresight_etm4_read(struct coresight_bus *bus, uint64_t base,
                        struct coresight_etm4_state *state)
{
    uint32_t control = 0;
    *state = (struct coresight_etm4_state){0};
    int rc = coresight_unlock(bus, base);
    if (rc == 0)
        rc = coresight_etm4_identify(bus, base, state);
    if (rc == 0)
        rc = coresight_etm4_settings(bus, base, state);
    if (rc == 0)
        rc = coresight_read(bus, base + TRCPRGCTLR, &control);
    state->enabled = (control & PRGCTLR_EN) != 0;
    return rc;
}
