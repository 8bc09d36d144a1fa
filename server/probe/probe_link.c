/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/probe/probe_link.h"

#include <stdio.h>
#include <string.h>

#define RESET_LIMIT_US  500000u
#define RESET_POLL_US   5000u
#define IDLE_CLOCKS     8
#define WAIT_RETRIES    1000
#define BASE_LEGACY     0xffffffffu
#define BASE_ADDRESS    0xfffff000u
#define SCS_DHCSR       0xe000edf0u
#define SCS_DEMCR       0xe000edfcu
#define DHCSR_KEY       0xa05f0000u
#define DHCSR_DEBUGEN   0x1u
#define DHCSR_HALT      0x2u
#define DHCSR_S_HALT    0x20000u
#define DEMCR_CORERESET 0x1u

static int link_refused(struct probe_link *p, int error, const char *what, struct message *why)
{
    char text[200];
    if (error == BT_ERR_UNSUPPORTED && p->dp.failure == DEBUG_FAIL_NONE)
        p->dp.failure = DEBUG_FAIL_WIRE_KIND;
    return message_fail(why, error, "probe '%s': %s: %s", p->name, what,
                        adiv5_describe(&p->dp, text, sizeof text));
}

/* A single damaged bit is no reason to give up. */
static bool link_again(const struct probe_link *p, int error, unsigned *tries)
{
    return debug_link_again(error, p->dp.failure, tries);
}

/* With `under_reset` nRESET is low behind it. */
static int connect_port(struct probe_link *p, bool under_reset, struct message *why)
{
    const struct config_probe *o = &p->config->probe;
    p->connect = (struct adiv5_connect_options){
        .wire = (enum debug_wire)o->wire,
        .hold_reset = under_reset,
        .clock_hz = o->clock,
        .idle_clocks = IDLE_CLOCKS,
        .wait_retries = WAIT_RETRIES,
        .ir_lengths = o->jtag_chain.ir_lengths,
        .chain_count = o->jtag_chain.count,
        .chain_dap = o->jtag_device,
    };
    unsigned tries = 0;
    int error;
    do {
        error = adiv5_connect(&p->dp, &p->connect);
    } while (link_again(p, error, &tries));
    p->connect.hold_reset = false;
    uint32_t hz = p->link.ops->clock ? p->link.ops->clock(p->link.self) : o->clock;
    snprintf(p->wire, sizeof p->wire, "%s at %u.%03u MHz",
             o->wire == DEBUG_WIRE_SWD ? "SWD" : "JTAG", hz / 1000000, hz / 1000 % 1000);
    if (error && p->dp.failure == DEBUG_FAIL_NO_RESET)
        return link_refused(p, error, "nRESET cannot be driven", why);
    return error ? link_refused(p, error, "the target does not answer", why) : BT_OK;
}

/* Ports that are there instead of the one that was named. */
static void list_ports(struct probe_link *p, struct message *why)
{
    struct adiv5_ap_info found[16];
    int count = adiv5_scan(&p->dp, found, sizeof found / sizeof *found);
    for (int i = 0; i < count && i < 16; i++) {
        size_t used = strlen(why->text);
        if (adiv5_is_mem_ap(found[i].idr))
            snprintf(why->text + used, sizeof why->text - used, "%s ap = %u is %s",
                     i ? "," : "; there is:", found[i].ap, adiv5_ap_name(found[i].idr));
    }
}

static int find_memory(struct probe_link *p, struct message *why)
{
    uint32_t base = 0;
    char what[64];
    unsigned tries = 0;
    int error;
    do {
        error = mem_ap_init(&p->ap, &p->dp, (uint8_t)p->config->probe.ap);
        if (!error)
            error = adiv5_ap_read(&p->dp, (uint8_t)p->config->probe.ap, ADIV5_AP_BASE, &base);
    } while (link_again(p, error, &tries));
    if (error) {
        bool absent = p->dp.failure == DEBUG_FAIL_NO_MEM_AP;
        snprintf(what, sizeof what, "access port %u", p->config->probe.ap);
        link_refused(p, error, what, why);
        if (absent)
            list_ports(p, why);
        return error;
    }
    bool none = base == BASE_LEGACY || (base & 3) == 2;
    p->rom = none ? 0 : base & BASE_ADDRESS;
    coresight_bus_on_mem_ap(&p->bus, &p->ap);
    return BT_OK;
}

/* nRESET is low: the core is told to stop at its first instruction, then let go. */
static int halt_out_of_reset(struct probe_link *p)
{
    uint32_t demcr = 0, dhcsr = 0;
    int error = mem_ap_read32(&p->ap, SCS_DEMCR, &demcr);
    if (!error)
        error = mem_ap_write32(&p->ap, SCS_DHCSR, DHCSR_KEY | DHCSR_DEBUGEN | DHCSR_HALT);
    if (!error)
        error = mem_ap_write32(&p->ap, SCS_DEMCR, demcr | DEMCR_CORERESET);
    int freed = adiv5_drive_reset(&p->dp, false, 0);
    uint64_t begin = debug_now(&debug_clock_monotonic);
    while (!error && !freed && (dhcsr & DHCSR_S_HALT) == 0) {
        debug_sleep(&debug_clock_monotonic, RESET_POLL_US);
        error = mem_ap_read32(&p->ap, SCS_DHCSR, &dhcsr);
        if (debug_now(&debug_clock_monotonic) - begin <= RESET_LIMIT_US)
            error = BT_OK; /* not yet out of reset */
        else if (!error && (dhcsr & DHCSR_S_HALT) == 0)
            error = adiv5_fail(&p->dp, DEBUG_FAIL_TIMEOUT);
    }
    if (!error)
        error = mem_ap_write32(&p->ap, SCS_DEMCR, demcr);
    return error ? error : freed;
}

static int reach_target(struct probe_link *p, bool under_reset, struct message *why)
{
    int error = connect_port(p, under_reset, why);
    if (!error)
        error = find_memory(p, why);
    if (!error && under_reset) {
        error = halt_out_of_reset(p);
        if (error)
            link_refused(p, error, "the core does not halt under reset", why);
    }
    if (error && under_reset)
        (void)adiv5_drive_reset(&p->dp, false, 0);
    return error;
}

static int open_link(struct probe_link *p, bool under_reset, struct message *why)
{
    int error = p->driver->open(p, p->config, why);
    if (error)
        return error;
    p->is_open = true;
    adiv5_init(&p->dp, &p->link, &debug_clock_monotonic);
    error = reach_target(p, under_reset, why);
    p->generation++;
    if (error)
        probe_link_close(p);
    return error;
}

int probe_link_open(struct probe_link *p, const struct probe_driver *driver,
                    const struct config *config, struct message *why)
{
    memset(p, 0, sizeof *p);
    p->config = config;
    p->driver = driver;
    if (!driver)
        return message_fail(why, BT_ERR_RANGE, "%s: no probe is named: section [probe] is missing",
                            config->path);
    return open_link(p, config->probe.connect_under_reset, why);
}

void probe_link_close(struct probe_link *p)
{
    if (!p->is_open)
        return;
    enum debug_failure failure = p->dp.failure;
    if (failure != DEBUG_FAIL_PROBE)
        adiv5_disconnect(&p->dp);
    p->dp.failure = failure; /* what went wrong before is what is asked for */
    p->driver->close(p);
    p->swo = (struct trace_stream){0};
    p->is_open = false;
}

int probe_link_reopen(struct probe_link *p, struct message *why)
{
    if (!p->driver)
        return BT_ERR_RANGE;
    p->dp.failure = DEBUG_FAIL_PROBE; /* nothing is sent to what is gone */
    probe_link_close(p);
    return open_link(p, false, why);
}
