/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced arm: trace into the chip's own buffer, and nobody watches. docs/flight-recorder.md. */
#include "commands.h"
#include "drivers/cortex_m/cortex_m.h"
#include "server/base/command_line.h"
#include "server/base/exit_codes.h"
#include "server/probe/probe_target_trace.h"
#include "server/trace_unit/trace_setup.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SCS_DHCSR     0xe000edf0u
#define SCS_DEMCR     0xe000edfcu
#define SCS_ICSR      0xe000ed04u
#define DHCSR_DEBUGEN 0xa05f0001u /* with the key */
#define DHCSR_HALTED  0x00020000u
#define DEMCR_HARDERR 0x00000400u
#define ICSR_ACTIVE   0x000001ffu

static const char arm_help[] =
    "usage: btraced arm -c BOARD [OPTION]...\n"
    "Starts trace into the buffer of the chip (ETB, TMC) and leaves: the core is neither halted "
    "nor\n"
    "reset. Later 'btraced serve --attach -c BOARD' shows how the core got where it is then.\n"
    "\n"
    "  -c, --config BOARD     the board file: with [probe], and sink = etb or tmc\n"
    "  --halt-on-fault        a HardFault halts the core from now on, and so ends the history "
    "there\n";

struct arm {
    const char *path;
    bool halt_on_fault;
    struct config config;
    struct probe_link probe;
    struct probe_target_trace trace;
};

static void drop_bytes(void *user, const uint8_t *data, size_t length)
{
    (void)user, (void)data, (void)length;
}

static void drop_loss(void *user, enum bt_gap_cause cause)
{
    (void)user, (void)cause;
}

static int complain_of_arm(const struct message *why, int code)
{
    fprintf(stderr, "btraced arm: %s\n", why->text);
    return code;
}

static int load_arm_config(struct arm *a)
{
    struct message why;
    const struct config_names names = {.run = "$RUN"}; /* nothing here is used that has it */
    if (config_load(&a->config, a->path, &names, &why))
        return complain_of_arm(&why, EXIT_USAGE);
    if (!config_has_probe(&a->config)) {
        fprintf(stderr, "btraced arm: %s has no [probe], through which trace units are reached\n",
                a->config.path);
        return EXIT_USAGE;
    }
    if (a->config.sink != CONFIG_SINK_ETB && a->config.sink != CONFIG_SINK_TMC &&
        a->config.sink != CONFIG_SINK_MTB) {
        fprintf(stderr,
                "btraced arm: %s has no buffer to record into: allowed: [trace] sink = etb, "
                "tmc or mtb, if the chip has one\n",
                a->config.path);
        return EXIT_USAGE;
    }
    if (a->halt_on_fault && config_is_a_profile(&a->config.cores[0])) {
        fprintf(stderr, "btraced arm: --halt-on-fault is for Cortex-M cores, and %s names a %s\n",
                a->config.path, a->config.cores[0].type);
        return EXIT_USAGE;
    }
    a->config.probe.connect_under_reset = false;
    return EXIT_OK;
}

static int write_arm_setup(struct arm *a)
{
    for (unsigned i = 0; i < a->config.setup_count; i++) {
        const struct config_setup *s = &a->config.setup[i];
        int error = trace_setup_init_write(&a->probe.bus, s);
        if (error) {
            fprintf(stderr, "btraced arm: %s:%u: 0x%08" PRIx32 " cannot be written: %s\n",
                    a->config.path, s->line, s->address, debug_failure_text(a->probe.bus.failure));
            return EXIT_PROBE;
        }
    }
    return EXIT_OK;
}

/* Debug is enabled without a halt; a fault then stops the core, and its trace with it. */
static int catch_faults(struct arm *a)
{
    struct coresight_bus *bus = &a->probe.bus;
    int error = coresight_write(bus, SCS_DHCSR, DHCSR_DEBUGEN);
    if (!error)
        error = coresight_modify(bus, SCS_DEMCR, DEMCR_HARDERR, DEMCR_HARDERR);
    if (!error)
        return EXIT_OK;
    fprintf(stderr, "btraced arm: a halt at faults cannot be set: %s\n",
            debug_failure_text(bus->failure));
    return EXIT_PROBE;
}

static int start_arm_trace(struct arm *a)
{
    struct message why;
    const struct trace_sink sink = {.bytes = drop_bytes, .lost = drop_loss};
    char text[100];
    int error = probe_target_trace_open(&a->trace, &a->probe, &a->config, &sink, &why);
    fputs(a->trace.setup.notes.text, stderr);
    if (!error && !a->trace.setup.history)
        return EXIT_PROBE;
    if (!error)
        error = probe_target_trace_resume(&a->trace, &why);
    if (error)
        return complain_of_arm(&why, EXIT_PROBE);
    printf("armed: %s%s\n", trace_setup_describe_sink(&a->trace.setup, text, sizeof text),
           a->halt_on_fault ? "; a HardFault halts the core" : "");
    printf("later: btraced serve --attach -c %s\n", a->path);
    return EXIT_OK;
}

/* Before the trace began: then the buffer will never hold what led there. */
static void look_at_faults(struct arm *a)
{
    struct coresight_bus *bus = &a->probe.bus;
    uint32_t state = 0, active = 0;
    char name[32];
    if (config_is_a_profile(&a->config.cores[0]) || coresight_read(bus, SCS_DHCSR, &state) ||
        coresight_read(bus, SCS_ICSR, &active))
        return;
    active &= ICSR_ACTIVE;
    if (state & DHCSR_HALTED)
        fprintf(stderr, "btraced arm: warning: the core is halted: nothing is recorded before it "
                        "goes on\n");
    else if (active >= CORTEX_M_HARDFAULT && active <= CORTEX_M_SECUREFAULT)
        fprintf(stderr,
                "btraced arm: warning: the core is in its %s handler already: what led there is "
                "not recorded\n",
                cortex_m_exception_name(active, name, sizeof name));
}

static int arm_board(struct arm *a)
{
    struct message why;
    int code = load_arm_config(a);
    if (!code &&
        probe_link_open(&a->probe, probe_driver_named(a->config.probe.type), &a->config, &why))
        code = complain_of_arm(&why, EXIT_PROBE);
    if (!code)
        code = write_arm_setup(a);
    if (!code && a->halt_on_fault)
        code = catch_faults(a);
    if (!code)
        code = start_arm_trace(a);
    if (!code)
        look_at_faults(a);
    if (a->trace.probe)
        probe_target_trace_close(&a->trace);
    probe_link_close(&a->probe);
    config_release(&a->config);
    return code;
}

static int parse_arm_args(int argc, char **argv, struct arm *a)
{
    const struct command_option options[] = {
        {.name = "config", .letter = 'c', .text = &a->path},
        {.name = "halt-on-fault", .flag = &a->halt_on_fault},
        {.name = NULL},
    };
    const struct command_line line = {.name = "arm", .help = arm_help, .options = options};
    int code = command_line_parse(&line, argc, argv);
    if (code || (optind == argc && a->path))
        return code;
    return usage_error("arm", "a board file is named with -c", NULL);
}

int cmd_arm(int argc, char **argv)
{
    struct arm *a = calloc(1, sizeof *a);
    if (!a)
        return EXIT_INTERNAL;
    int code = parse_arm_args(argc, argv, a);
    if (code == EXIT_OK)
        code = arm_board(a);
    free(a);
    return code < 0 ? EXIT_OK : code;
}
