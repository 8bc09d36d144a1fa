/* SPDX-License-Identifier: BSD-3-Clause */
/* ARMv7-A cores: run control, memory; found, reset, let go. */
#include "probe_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of the cross triggers; 0 and 1 are others' habit. */
#define CHANNEL 2u

#define MAX_COMPONENTS 128
#define ROM_VALID      3u
#define RESET_HOLD_US  20000u
#define RESET_LIMIT_US 1000000u
#define RESET_POLL_US  2000u

/* Notes who failed. */
static int probe_a_note(struct probe_target *t, unsigned core, int error)
{
    if (error) {
        t->a.failed = core;
        t->a.failed_memory = false;
    }
    return error;
}

/* The core that memory and system registers are reached by: the one asked, or any that stands. */
static struct cortex_a *probe_a_standing(struct probe_target *t, unsigned core)
{
    for (unsigned k = 0; k < t->a.count; k++) {
        struct cortex_a *c = &t->a.cores[(core + k) % t->a.count];
        if (c->halted)
            return c;
    }
    return &t->a.cores[core];
}

static unsigned probe_a_index_of(const struct probe_target *t, const struct cortex_a *c)
{
    return (unsigned)(c - t->a.cores);
}

static const char *probe_a_describe(const struct probe_target *t, char *text, size_t size)
{
    const struct probe_target_a *a = &t->a;
    char why[160];
    if (a->failed_memory)
        snprintf(text, size, "no access to the system's memory: %s",
                 adiv5_describe(&t->link.dp, why, sizeof why));
    else if (a->count > 1)
        snprintf(text, size, "core %s: %s", t->config->cores[a->failed].name,
                 cortex_a_describe(&a->cores[a->failed], why, sizeof why));
    else
        cortex_a_describe(&a->cores[a->failed], text, size);
    return text;
}

static const char *probe_a_name(const struct probe_target *t, unsigned core)
{
    return t->a.cores[core].name;
}

/* Power came: it gets the breakpoints that the others have. */
static int probe_a_wake(struct probe_target *t, unsigned core)
{
    struct cortex_a *c = &t->a.cores[core];
    for (unsigned k = 0; k < t->a.count; k++) {
        const struct cortex_a *other = &t->a.cores[k];
        if (k == core || other->course == CORTEX_A_DETACHED || t->a.off[k])
            continue;
        memcpy(c->breakpoints, other->breakpoints, sizeof c->breakpoints);
        memcpy(c->watchpoints, other->watchpoints, sizeof c->watchpoints);
        break;
    }
    int error = cortex_a_attach(c);
    if (!error && t->a.joined)
        error = cortex_a_join(c, CHANNEL);
    return error;
}

static int probe_a_look(struct probe_target *t, unsigned core, struct target_core_status *s)
{
    struct cortex_a *c = &t->a.cores[core];
    int error = BT_OK;
    *s = (struct target_core_status){.state = TARGET_CORE_OFF};
    if (t->a.off[core]) {
        error = probe_a_wake(t, core);
        if (error == BT_ERR_IO && c->failure == CORTEX_A_FAIL_POWER)
            return BT_OK;
    }
    if (!error)
        error = cortex_a_status(c, s);
    if (!error)
        t->a.off[core] = s->state == TARGET_CORE_OFF;
    return error;
}

static int probe_a_status(struct probe_target *t, unsigned core, struct target_core_status *s)
{
    return probe_a_note(t, core, probe_a_look(t, core, s));
}

static int probe_a_halt(struct probe_target *t, unsigned core)
{
    t->a.cores[core].limit_ms = probe_target_left_ms(t);
    int error = cortex_a_halt(&t->a.cores[core]);
    if (error == BT_ERR_IO && t->a.cores[core].failure == CORTEX_A_FAIL_POWER) {
        t->a.off[core] = true; /* its program has switched it off */
        error = BT_OK;
    }
    return probe_a_note(t, core, error);
}

static int probe_a_resume(struct probe_target *t, unsigned core)
{
    return probe_a_note(t, core, t->a.off[core] ? BT_OK : cortex_a_resume(&t->a.cores[core]));
}

static int probe_a_step(struct probe_target *t, unsigned core, bool mask_interrupts,
                        struct target_core_status *s)
{
    struct cortex_a *c = &t->a.cores[core];
    c->limit_ms = probe_target_left_ms(t);
    if (t->a.off[core])
        c->failure = CORTEX_A_FAIL_POWER;
    int error = t->a.off[core] ? BT_ERR_IO : cortex_a_step(c, mask_interrupts);
    *s = c->last;
    return probe_a_note(t, core, error);
}

static void probe_a_mode(struct probe_target *t, unsigned core, char *text, size_t size)
{
    uint32_t cpsr;
    if (t->a.off[core])
        snprintf(text, size, "powered down");
    else if (cortex_a_read_register(&t->a.cores[core], CORTEX_A_CPSR, &cpsr) == BT_OK)
        cortex_a_mode_text(cpsr, text, size);
}

static int probe_a_signal(struct probe_target *t, unsigned core)
{
    (void)t, (void)core;
    return 0;
}

/* A core without power has no registers: GDB cannot go on without numbers. */
static int probe_a_read_regs(struct probe_target *t, unsigned core, enum target_register_set set,
                             struct target_regs *regs)
{
    int error = BT_OK;
    regs->known = (1u << TARGET_REG_COUNT) - 1;
    if (t->a.off[core])
        return BT_OK;
    for (unsigned i = 0; i < TARGET_REG_COUNT && !error; i++) {
        uint32_t value = 0;
        error = cortex_a_read_register(&t->a.cores[core], i, &value);
        regs->value[i] = value;
    }
    if (error || set != TARGET_REGISTERS_ALL || t->extra_count == 0)
        return probe_a_note(t, core, error);
    error = cortex_a_load_vfp(&t->a.cores[core], t->a.doubles);
    if (error == BT_ERR_UNSUPPORTED)
        return BT_OK; /* switched off by the program */
    memcpy(regs->extra, t->a.cores[core].vfp, t->extra_count * sizeof *regs->extra);
    regs->extra_known = ((uint64_t)1 << t->extra_count) - 1;
    return probe_a_note(t, core, error);
}

static int probe_a_write_reg(struct probe_target *t, unsigned core, unsigned reg, uint32_t value)
{
    return probe_a_note(t, core, cortex_a_write_register(&t->a.cores[core], reg, value));
}

static int probe_a_write_extra(struct probe_target *t, unsigned core, unsigned index,
                               uint64_t value)
{
    struct cortex_a *c = &t->a.cores[core];
    return probe_a_note(t, core,
                        index < t->a.doubles ? cortex_a_write_double(c, index, value)
                                             : cortex_a_write_fpscr(c, (uint32_t)value));
}

/* Width of a single access: it may be a device. 0: any will do. */
static unsigned probe_a_width(uint32_t address, size_t len)
{
    bool one = len == 1 || len == 2 || len == 4;
    return one && address % len == 0 ? (unsigned)len : 0;
}

static bool probe_a_use_system(const struct probe_target *t, const struct cortex_a *c)
{
    return t->a.has_memory && (t->a.through_system || !c->halted);
}

static int probe_a_system_result(struct probe_target *t, int error)
{
    t->a.failed_memory = error != BT_OK;
    return error;
}

static int probe_a_read_bytes(struct probe_target *t, unsigned core, uint32_t address,
                              uint8_t *bytes, size_t len, bool device)
{
    struct cortex_a *c = probe_a_standing(t, core);
    unsigned size = device ? 4 : probe_a_width(address, len);
    if (probe_a_use_system(t, c)) {
        int error = size ? mem_ap_read_sized(&t->a.memory, address, size, bytes, len / size)
                         : mem_ap_read(&t->a.memory, address, bytes, len);
        cortex_a_show_original(&t->a.software, address, bytes, len);
        return probe_a_system_result(t, error);
    }
    return probe_a_note(t, probe_a_index_of(t, c),
                        size ? cortex_a_read_sized(c, address, size, bytes, len / size)
                             : cortex_a_read_memory(c, address, bytes, len));
}

/* Whoever runs next fetches its instructions anew. */
static void probe_a_changed(struct probe_target *t)
{
    for (unsigned i = 0; i < t->a.count; i++)
        cortex_a_code_changed(&t->a.cores[i]);
}

static int probe_a_write_bytes(struct probe_target *t, unsigned core, uint32_t address,
                               const uint8_t *bytes, size_t len)
{
    struct cortex_a *c = probe_a_standing(t, core);
    unsigned size = probe_a_width(address, len);
    probe_a_changed(t);
    if (probe_a_use_system(t, c)) {
        int error = size ? mem_ap_write_sized(&t->a.memory, address, size, bytes, 1)
                         : mem_ap_write(&t->a.memory, address, bytes, len);
        if (!error && t->a.software.count > 0)
            error =
                probe_a_note(t, probe_a_index_of(t, c), cortex_a_put_back(c, address, bytes, len));
        return probe_a_system_result(t, error);
    }
    return probe_a_note(t, probe_a_index_of(t, c),
                        size ? cortex_a_write_sized(c, address, size, bytes, 1)
                             : cortex_a_write_memory(c, address, bytes, len));
}

static bool probe_a_nothing_at(const struct probe_target *t, uint64_t *address)
{
    const struct cortex_a *c = &t->a.cores[t->a.failed];
    if (t->a.failed_memory) {
        *address = t->a.memory.fault_address;
        return t->link.dp.failure == DEBUG_FAIL_FAULT;
    }
    *address = c->failure_address;
    return c->failure == CORTEX_A_FAIL_ABORT;
}

/* Breakpoints and watchpoints. */

/* Those in memory stand for all cores: one that stands plants them, or takes them away. */
static int probe_a_set_software(struct probe_target *t, const struct target_breakpoint *bp,
                                bool insert)
{
    struct cortex_a *c = probe_a_standing(t, 0);
    uint32_t address = (uint32_t)bp->address;
    probe_a_changed(t);
    return probe_a_note(t, probe_a_index_of(t, c),
                        insert ? cortex_a_insert(c, bp->type, address, bp->kind)
                               : cortex_a_remove(c, bp->type, address, bp->kind));
}

static int probe_a_lift(struct probe_target *t, const struct target_breakpoint *bp)
{
    int first = BT_OK;
    if (bp->type == TARGET_BREAKPOINT_SOFTWARE)
        return probe_a_set_software(t, bp, false);
    for (unsigned i = 0; i < t->a.count; i++) {
        int error = t->a.off[i] ? BT_OK
                                : cortex_a_remove(&t->a.cores[i], bp->type, (uint32_t)bp->address,
                                                  bp->kind);
        if (error != BT_ERR_RANGE && !first)
            first = probe_a_note(t, i, error);
    }
    return first;
}

/* All cores have it, or none. */
static int probe_a_insert(struct probe_target *t, const struct target_breakpoint *bp)
{
    int error = BT_OK;
    if (bp->type == TARGET_BREAKPOINT_SOFTWARE)
        return probe_a_set_software(t, bp, true);
    for (unsigned i = 0; i < t->a.count && !error; i++)
        if (!t->a.off[i])
            error = probe_a_note(
                t, i, cortex_a_insert(&t->a.cores[i], bp->type, (uint32_t)bp->address, bp->kind));
    if (error) {
        enum cortex_a_failure failure = t->a.cores[t->a.failed].failure;
        uint32_t at = t->a.cores[t->a.failed].failure_address;
        unsigned failed = t->a.failed;
        probe_a_lift(t, bp);
        t->a.failed = failed;
        t->a.cores[failed].failure = failure;
        t->a.cores[failed].failure_address = at;
    }
    return error;
}

static enum probe_refusal probe_a_refusal(const struct probe_target *t)
{
    enum cortex_a_failure f = t->a.cores[t->a.failed].failure;
    return f == CORTEX_A_FAIL_FULL      ? PROBE_REFUSED_FULL
           : f == CORTEX_A_FAIL_NOT_RAM ? PROBE_REFUSED_PLACE
                                        : PROBE_REFUSED;
}

static void probe_a_units(const struct probe_target *t, unsigned *breakpoints,
                          unsigned *watchpoints)
{
    *breakpoints = t->a.cores[0].breakpoint_count;
    *watchpoints = t->a.cores[0].watchpoint_count;
}

_Static_assert((int)TARGET_REG_PC == (int)CORTEX_A_PC && (int)TARGET_REG_PSR == (int)CORTEX_A_CPSR,
               "register numbers");

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

static int probe_a_open_memory(struct probe_target *t, struct message *why)
{
    char text[160];
    unsigned ap = t->config->probe.memory_ap;
    if (ap == CONFIG_NO_AP)
        return BT_OK;
    int error = mem_ap_init(&t->a.memory, &t->link.dp, (uint8_t)ap);
    t->a.has_memory = !error;
    if (error)
        message_set(why, "%s: memory_ap = %u cannot be used: %s", t->config->path, ap,
                    adiv5_describe(&t->link.dp, text, sizeof text));
    return error;
}

/*
 * The init sequence where it can run before anything else: without clocks the debug and trace
 * registers of some chips do not answer. It runs again when GDB connects.
 */
static void probe_a_set_up(struct probe_target *t)
{
    struct coresight_bus bus;
    if (!t->a.has_memory)
        return;
    coresight_bus_on_mem_ap(&bus, &t->a.memory);
    trace_setup_init_try(&bus, t->config);
}

/* A core that is off stays so; it is taken in when it has power. */
static int probe_a_attach(struct probe_target *t, unsigned core)
{
    struct cortex_a *c = &t->a.cores[core];
    int error = cortex_a_attach(c);
    t->a.off[core] = error == BT_ERR_IO && c->failure == CORTEX_A_FAIL_POWER;
    if (error)
        t->a.failed = core;
    return t->a.off[core] ? BT_OK : error;
}

static int probe_a_attach_all(struct probe_target *t)
{
    int error = BT_OK;
    t->a.joined = false;
    for (unsigned i = 0; i < t->a.count && !error; i++)
        error = probe_a_attach(t, i);
    return error;
}

/* With cross triggers in all cores, one that halts takes the others along. */
static int probe_a_join(struct probe_target *t)
{
    bool all = t->a.count > 1;
    int error = BT_OK;
    for (unsigned i = 0; i < t->a.count; i++)
        all &= t->a.cores[i].cti != 0;
    for (unsigned i = 0; i < t->a.count && all && !error; i++) {
        t->a.failed = i;
        error = t->a.off[i] ? BT_OK : cortex_a_join(&t->a.cores[i], CHANNEL);
    }
    t->a.joined = all && !error;
    return error;
}

/* What VFP there is only a halted core tells: one is halted for a moment. */
static int probe_a_learn_vfp(struct probe_target *t)
{
    struct target_core_status s;
    for (unsigned i = 0; i < t->a.count; i++) {
        struct cortex_a *c = &t->a.cores[i];
        if (t->a.off[i])
            continue;
        t->a.failed = i;
        int error = cortex_a_status(c, &s);
        bool ran = s.state == TARGET_CORE_RUNNING;
        if (!error && ran)
            error = probe_a_halt(t, i);
        t->a.doubles = c->vfp_doubles;
        if (!error && ran)
            error = cortex_a_resume(c);
        return error;
    }
    return BT_OK;
}

static int probe_a_open(struct probe_target *t, struct message *why)
{
    uint64_t debug[CONFIG_MAX_CORES];
    char text[240];
    t->a.count = t->config->core_count;
    int error = probe_a_open_memory(t, why);
    if (!error)
        error = probe_target_flash_open(&t->flash, t->config, NULL, why);
    if (error)
        return error;
    probe_a_set_up(t);
    error = find_cores(t, debug, why);
    if (error)
        return error;
    for (unsigned i = 0; i < t->a.count; i++) {
        cortex_a_init(&t->a.cores[i], &t->link.ap, (uint32_t)debug[i], &t->a.software);
        t->a.cores[i].cti = (uint32_t)t->config->cores[i].cti;
        t->a.cores[i].find_access = probe_a_find_access;
    }
    error = probe_a_attach_all(t);
    if (!error)
        error = probe_a_learn_vfp(t);
    if (t->a.doubles > 0)
        t->extra_count = target_describe_float(t->registers + TARGET_REG_COUNT, t->a.doubles);
    if (!error)
        error = probe_a_join(t);
    if (error)
        message_set(why, "%s: no core to debug: %s", t->config->path,
                    t->ops->describe(t, text, sizeof text));
    return error;
}

static int probe_a_take_back(struct probe_target *t)
{
    int error = BT_OK;
    if (t->a.has_memory)
        error = mem_ap_init(&t->a.memory, &t->link.dp, (uint8_t)t->config->probe.memory_ap);
    t->a.failed_memory = error != BT_OK;
    if (!error)
        error = probe_a_attach_all(t);
    for (unsigned i = 0; i < t->a.count && !error; i++)
        error = t->a.off[i] ? BT_OK : probe_a_halt(t, i);
    return error ? error : probe_a_join(t);
}

static void probe_a_close(struct probe_target *t, bool run)
{
    for (unsigned i = 0; i < t->a.count; i++) {
        (void)cortex_a_leave(&t->a.cores[i]);
        if (run && !t->a.off[i])
            (void)cortex_a_detach(&t->a.cores[i]);
    }
}

/* The debug port may be deaf for a while. */
static int await_cores(struct probe_target *t)
{
    uint64_t begin = debug_now(&debug_clock_monotonic);
    int error;
    do {
        debug_sleep(&debug_clock_monotonic, RESET_POLL_US);
        error = probe_a_attach_all(t);
        if (error && !probe_link_is_gone(&t->link))
            (void)adiv5_connect(&t->link.dp, &t->link.connect);
    } while (error && !probe_link_is_gone(&t->link) &&
             debug_now(&debug_clock_monotonic) - begin < RESET_LIMIT_US);
    return error;
}

static int reset_by_pin(struct probe_target *t)
{
    int error = adiv5_drive_reset(&t->link.dp, true, 0);
    if (error)
        return error;
    debug_sleep(&debug_clock_monotonic, RESET_HOLD_US);
    error = adiv5_drive_reset(&t->link.dp, false, 0);
    int back = await_cores(t);
    return error ? error : back;
}

/* Without a pin: core by core, where their debug registers can. The chip's peripherals stay. */
static int reset_by_registers(struct probe_target *t)
{
    bool any = false;
    int error = BT_OK;
    for (unsigned i = 0; i < t->a.count && !error; i++) {
        if (t->a.off[i])
            continue;
        t->a.failed = i;
        t->a.failed_memory = false;
        error = cortex_a_warm_reset(&t->a.cores[i]);
        any |= !error;
    }
    if (!any)
        return error;
    int back = await_cores(t);
    return error ? BT_ERR_IO : back; /* some were reset: the history ends here */
}

/* The core that starts stops at the vector of the reset, where the debug registers outlive it. */
static int probe_a_reset(struct probe_target *t)
{
    for (unsigned i = 0; i < t->a.count; i++)
        if (!t->a.off[i])
            (void)cortex_a_catch_reset(&t->a.cores[i], true);
    int error = reset_by_pin(t);
    if (error == BT_ERR_UNSUPPORTED)
        error = reset_by_registers(t);
    for (unsigned i = 0; i < t->a.count; i++) {
        if (t->a.off[i])
            continue;
        (void)cortex_a_catch_reset(&t->a.cores[i], false);
        if (!error)
            error = t->ops->halt(t, i);
    }
    return error ? error : probe_a_join(t);
}

const struct probe_core_ops probe_a_ops = {
    .profile = TARGET_PROFILE_A,
    .commands = probe_a_commands,
    .open = probe_a_open,
    .close = probe_a_close,
    .take_back = probe_a_take_back,
    .describe = probe_a_describe,
    .name = probe_a_name,
    .status = probe_a_status,
    .halt = probe_a_halt,
    .resume = probe_a_resume,
    .step = probe_a_step,
    .reset = probe_a_reset,
    .signal = probe_a_signal,
    .read_regs = probe_a_read_regs,
    .write_reg = probe_a_write_reg,
    .write_extra = probe_a_write_extra,
    .read = probe_a_read_bytes,
    .write = probe_a_write_bytes,
    .nothing_at = probe_a_nothing_at,
    .insert = probe_a_insert,
    .remove = probe_a_lift,
    .refusal = probe_a_refusal,
    .units = probe_a_units,
    .mode = probe_a_mode,
    .report_stop = probe_a_report_fault,
    .report_cores = probe_a_report_cores,
};
