/* SPDX-License-Identifier: BSD-3-Clause */
/* ARMv7-A cores: found, attached to, reset, let go. */
#include "probe_target_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_COMPONENTS 128
#define ROM_VALID      3u
#define RESET_HOLD_US  20000u
#define RESET_LIMIT_US 1000000u
#define RESET_POLL_US  2000u

static bool all_named(const struct config *config)
{
    bool reported = true;
    for (unsigned i = 0; i < config->core_count; i++)
        reported &= config->cores[i].debug != 0;
    return reported;
}

/* Debug registers in the order of the ROM table, for the cores whose place is not told. */
static int find_cores(struct probe_target *t, uint64_t debug[CONFIG_MAX_CORES], struct message *why)
{
    struct coresight_component list[MAX_COMPONENTS];
    const struct config *config = t->config;
    uint64_t rom = config->coresight.rom ? config->coresight.rom : t->link.rom;
    unsigned used = 0;
    for (unsigned i = 0; i < config->core_count; i++)
        debug[i] = config->cores[i].debug;
    if (all_named(config))
        return BT_OK;
    int found = rom ? coresight_scan(&t->link.bus, rom | ROM_VALID, list, MAX_COMPONENTS) : 0;
    if (found < 0)
        return message_set(why, "%s: the ROM table at 0x%08" PRIx64 " cannot be read: %s",
                           config->path, rom, debug_failure_text(t->link.bus.failure)),
               found;
    for (unsigned i = 0; i < config->core_count; i++) {
        while (!debug[i] && used < (unsigned)found) {
            const struct coresight_component *c = &list[used++];
            if (coresight_kind_of(c) == CORESIGHT_CORE_DEBUG)
                debug[i] = c->base;
        }
        if (!debug[i])
            return message_set(why,
                               "%s: the debug registers of core %s are not in the ROM table of "
                               "access port %u: is it the one of the debug bus ([probe] ap)? else "
                               "set 'debug' of [core %s]",
                               config->path, config->cores[i].name, config->probe.ap,
                               config->cores[i].name),
                   BT_ERR_RANGE;
    }
    return BT_OK;
}

static int open_memory(struct probe_target *t, struct message *why)
{
    char text[160];
    unsigned ap = t->config->probe.memory_ap;
    if (ap == CONFIG_NO_AP)
        return BT_OK;
    int rc = mem_ap_init(&t->a.memory, &t->link.dp, (uint8_t)ap);
    t->a.has_memory = !rc;
    if (rc)
        message_set(why, "%s: memory_ap = %u cannot be used: %s", t->config->path, ap,
                    adiv5_describe(&t->link.dp, text, sizeof text));
    return rc;
}

/*
 * The init sequence where it can run before anything else: without clocks the debug and trace
 * registers of some chips do not answer. It runs again when GDB connects.
 */
static void set_up(struct probe_target *t)
{
    struct coresight_bus bus;
    if (!t->a.has_memory)
        return;
    coresight_bus_on_mem_ap(&bus, &t->a.memory);
    trace_setup_init_try(&bus, t->config);
}

/* A core that is off stays so; it is taken in when it has power. */
static int attach(struct probe_target *t, unsigned core)
{
    struct cortex_a *c = &t->a.cores[core];
    int rc = cortex_a_attach(c);
    t->a.off[core] = rc == BT_ERR_IO && c->failure == CORTEX_A_FAIL_POWER;
    if (rc)
        t->a.failed = core;
    return t->a.off[core] ? BT_OK : rc;
}

static int attach_all(struct probe_target *t)
{
    int rc = BT_OK;
    t->a.joined = false;
    for (unsigned i = 0; i < t->a.count && !rc; i++)
        rc = attach(t, i);
    return rc;
}

/* With cross triggers in all cores, one that halts takes the others along. */
static int join(struct probe_target *t)
{
    bool all = t->a.count > 1;
    int rc = BT_OK;
    for (unsigned i = 0; i < t->a.count; i++)
        all &= t->a.cores[i].cti != 0;
    for (unsigned i = 0; i < t->a.count && all && !rc; i++) {
        t->a.failed = i;
        rc = t->a.off[i] ? BT_OK : cortex_a_join(&t->a.cores[i], PROBE_TARGET_A_CHANNEL);
    }
    t->a.joined = all && !rc;
    return rc;
}

/* What VFP there is only a halted core tells: one is halted for a moment. */
static int learn(struct probe_target *t)
{
    struct cortex_a_status s;
    for (unsigned i = 0; i < t->a.count; i++) {
        struct cortex_a *c = &t->a.cores[i];
        if (t->a.off[i])
            continue;
        t->a.failed = i;
        int rc = cortex_a_status(c, &s);
        bool ran = s.state == CORTEX_A_RUNNING;
        if (!rc && ran)
            rc = cortex_a_halt(c);
        t->a.doubles = c->vfp ? c->vfp_doubles : 0;
        if (!rc && ran)
            rc = cortex_a_resume(c);
        return rc;
    }
    return BT_OK;
}

int probe_target_a_open(struct probe_target *t, struct message *why)
{
    uint64_t debug[CONFIG_MAX_CORES];
    char text[240];
    t->a.count = t->config->core_count;
    int rc = open_memory(t, why);
    if (!rc)
        rc = probe_target_flash_open(&t->flash, t->config, NULL, why);
    if (rc)
        return rc;
    set_up(t);
    rc = find_cores(t, debug, why);
    if (rc)
        return rc;
    for (unsigned i = 0; i < t->a.count; i++) {
        cortex_a_init(&t->a.cores[i], &t->link.ap, (uint32_t)debug[i], &t->a.software);
        t->a.cores[i].cti = (uint32_t)t->config->cores[i].cti;
    }
    rc = attach_all(t);
    if (!rc)
        rc = learn(t);
    if (!rc)
        rc = join(t);
    if (rc)
        message_set(why, "%s: no core to debug: %s", t->config->path,
                    t->ops->describe(t, text, sizeof text));
    return rc;
}

int probe_target_a_take_back(struct probe_target *t)
{
    int rc = BT_OK;
    if (t->a.has_memory)
        rc = mem_ap_init(&t->a.memory, &t->link.dp, (uint8_t)t->config->probe.memory_ap);
    t->a.failed_memory = rc != BT_OK;
    if (!rc)
        rc = attach_all(t);
    for (unsigned i = 0; i < t->a.count && !rc; i++)
        rc = t->a.off[i] ? BT_OK : cortex_a_halt(&t->a.cores[i]);
    return rc ? rc : join(t);
}

void probe_target_a_close(struct probe_target *t, bool run)
{
    for (unsigned i = 0; i < t->a.count; i++) {
        (void)cortex_a_leave(&t->a.cores[i]);
        if (run && !t->a.off[i])
            (void)cortex_a_detach(&t->a.cores[i]);
    }
}

static int drive_reset(struct probe_target *t, bool low)
{
    const struct debug_link *link = &t->link.dp.link;
    uint8_t pins;
    if (!link->ops->pins)
        return BT_ERR_UNSUPPORTED;
    return link->ops->pins(link->self, low ? 0 : DEBUG_PIN_NRESET, DEBUG_PIN_NRESET, 0, &pins);
}

/* The debug port may be deaf for a while. */
static int await_cores(struct probe_target *t)
{
    const struct debug_clock *clock = &probe_link_clock;
    uint64_t begin = clock->now_us(clock->user);
    int rc;
    do {
        clock->sleep_us(clock->user, RESET_POLL_US);
        rc = attach_all(t);
        if (rc && !probe_link_is_gone(&t->link))
            (void)adiv5_connect(&t->link.dp, &t->link.connect);
    } while (rc && !probe_link_is_gone(&t->link) &&
             clock->now_us(clock->user) - begin < RESET_LIMIT_US);
    return rc;
}

static int reset_by_pin(struct probe_target *t)
{
    const struct debug_clock *clock = &probe_link_clock;
    int rc = drive_reset(t, true);
    if (rc)
        return rc;
    clock->sleep_us(clock->user, RESET_HOLD_US);
    rc = drive_reset(t, false);
    int back = await_cores(t);
    return rc ? rc : back;
}

/* Without a pin: core by core, where their debug registers can. The chip's peripherals stay. */
static int reset_by_registers(struct probe_target *t)
{
    bool any = false;
    int rc = BT_OK;
    for (unsigned i = 0; i < t->a.count && !rc; i++) {
        if (t->a.off[i])
            continue;
        t->a.failed = i;
        t->a.failed_memory = false;
        rc = cortex_a_warm_reset(&t->a.cores[i]);
        any |= !rc;
    }
    if (!any)
        return rc;
    int back = await_cores(t);
    return rc ? BT_ERR_IO : back; /* some were reset: the history ends here */
}

/* The core that starts stops at the vector of the reset, where the debug registers outlive it. */
int probe_target_a_reset(struct probe_target *t)
{
    for (unsigned i = 0; i < t->a.count; i++)
        if (!t->a.off[i])
            (void)cortex_a_catch_reset(&t->a.cores[i], true);
    int rc = reset_by_pin(t);
    if (rc == BT_ERR_UNSUPPORTED)
        rc = reset_by_registers(t);
    for (unsigned i = 0; i < t->a.count; i++) {
        if (t->a.off[i])
            continue;
        (void)cortex_a_catch_reset(&t->a.cores[i], false);
        if (!rc)
            rc = t->ops->halt(t, i);
    }
    return rc ? rc : join(t);
}
