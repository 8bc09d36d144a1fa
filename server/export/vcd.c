/* SPDX-License-Identifier: BSD-3-Clause */
#include "vcd.h"

#include <inttypes.h>
#include <string.h>

#define NO_TIME UINT64_MAX

static const struct {
    const char *name;
    unsigned bits;
} signals[VCD_SIGNALS] = {
    {"watch0", 32}, {"watch1", 32}, {"watch2", 32}, {"watch3", 32}, {"handler", 9}, {"pc", 32},
};

static char vcd_id(unsigned signal)
{
    return (char)('!' + signal);
}

void vcd_begin(struct vcd *v, FILE *out, const char *name)
{
    memset(v, 0, sizeof *v);
    v->out = out;
    v->written = NO_TIME;
    fputs("$version btraced $end\n$timescale 1 ns $end\n$scope module ", out);
    for (; *name; name++) /* a name has no spaces here */
        fputc(*name > ' ' && *name < 0x7f ? *name : '_', out);
    fputs(" $end\n", out);
    for (unsigned i = 0; i < VCD_SIGNALS; i++)
        fprintf(out, "$var wire %u %c %s $end\n", signals[i].bits, vcd_id(i), signals[i].name);
    fputs("$upscope $end\n$enddefinitions $end\n$dumpvars\n", out);
    for (unsigned i = 0; i < VCD_SIGNALS; i++)
        fprintf(out, "bx %c\n", vcd_id(i));
    fputs("$end\n", out);
}

static void vcd_write(struct vcd *v, const struct vcd_change *c)
{
    if (v->written != v->time)
        fprintf(v->out, "#%" PRIu64 "\n", v->time);
    v->written = v->time;
    for (unsigned i = 0; c->signal == VCD_SIGNALS && i < VCD_SIGNALS; i++)
        fprintf(v->out, "bx %c\n", vcd_id(i));
    if (c->signal == VCD_SIGNALS)
        return;
    fputc('b', v->out);
    int bit = (int)signals[c->signal].bits - 1;
    while (bit > 0 && !(c->value >> bit & 1))
        bit--;
    for (; bit >= 0; bit--)
        fputc(c->value >> bit & 1 ? '1' : '0', v->out);
    fprintf(v->out, " %c\n", vcd_id(c->signal));
}

static void vcd_write_pending(struct vcd *v)
{
    for (size_t i = 0; i < v->count; i++) {
        v->time += !v->timed;
        vcd_write(v, &v->pending[i]);
    }
    v->count = 0;
}

/* More changes than have room without a timestamp: there are none. */
static void vcd_add(struct vcd *v, unsigned signal, uint32_t value)
{
    if (v->count == VCD_PENDING)
        vcd_write_pending(v);
    v->pending[v->count++] = (struct vcd_change){value, (uint8_t)signal};
}

void vcd_event(struct vcd *v, const struct bt_event *e)
{
    switch ((enum bt_event_kind)e->kind) {
    case BT_EVENT_WATCH:
        if (e->u.watch.has_value)
            vcd_add(v, VCD_WATCH + (e->u.watch.comparator & 3u), e->u.watch.value);
        break;
    case BT_EVENT_EXCEPTION_TRACE:
        if (e->u.exception_trace.action != BT_EXCEPTION_EXITED)
            vcd_add(v, VCD_HANDLER, e->u.exception_trace.number);
        break;
    case BT_EVENT_SAMPLE:
        if (e->u.sample.state == BT_SAMPLE_RUNNING)
            vcd_add(v, VCD_PC, (uint32_t)e->u.sample.address);
        break;
    case BT_EVENT_GAP:
        vcd_add(v, VCD_SIGNALS, 0);
        break;
    case BT_EVENT_LOCAL_TIME:
        v->timed = true;
        if (e->u.local_time.value > v->time)
            v->time = e->u.local_time.value;
        vcd_write_pending(v);
        break;
    default:
        break;
    }
}

size_t vcd_end(struct vcd *v)
{
    size_t left = v->timed ? v->count : 0;
    if (!v->timed)
        vcd_write_pending(v);
    v->count = 0;
    fprintf(v->out, "#%" PRIu64 "\n", v->time + !v->timed);
    return left;
}
