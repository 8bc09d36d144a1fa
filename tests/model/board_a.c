/* SPDX-License-Identifier: BSD-3-Clause */
#include "board_a.h"

/* Typical identifications of such parts. */
#define AHB_AP_IDR   0x44770001u
#define APB_AP_IDR   0x24770002u
#define NO_ROM_TABLE 0xffffffffu
#define ROM_TABLE    0x80000003u

static void nreset(void *ctx, bool low)
{
    system_a_nreset(ctx, low);
}

static void run(void *ctx)
{
    system_a_run(ctx);
}

static int fault(void *ctx, const char *name, size_t size, unsigned value)
{
    return system_a_fault(ctx, name, size, value);
}

static void report(void *ctx, FILE *out)
{
    system_a_report(ctx, out);
}

static size_t pins(void *ctx, uint8_t *bytes, size_t size)
{
    return system_a_pins(ctx, bytes, size);
}

static void port(void *ctx, struct probe_port *p)
{
    const struct system_a *s = ctx;
    p->width = tpiu_a_width(&s->trace.tpiu);
    p->holes = s->trace.tpiu.pins.holes;
}

int board_a_start(struct board_a *b, const struct qemu_link_options *o,
                  const struct trace_a_options *trace, char *message, size_t size)
{
    if (core_a9_start(&b->cores, o, message, size) < 0)
        return -1;
    struct core_a cores = core_a9_cores(&b->cores);
    system_a_init(&b->system, &cores, trace);
    b->target = (struct probe_system){
        .ctx = &b->system,
        .ap_count = 2,
        .ap = {{.idr = AHB_AP_IDR, .base = NO_ROM_TABLE},
               {.idr = APB_AP_IDR, .base = ROM_TABLE, .word_only = true, .no_packed = true}},
        .bus = {system_a_memory(&b->system), system_a_debug(&b->system)},
        .nreset = nreset,
        .run = run,
        .fault = fault,
        .report = report,
        .pins = trace->pins ? pins : NULL,
        .port = trace->pins ? port : NULL,
    };
    return 0;
}

void board_a_stop(struct board_a *b)
{
    core_a9_stop(&b->cores);
    system_a_release(&b->system);
}
