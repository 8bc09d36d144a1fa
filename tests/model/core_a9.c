/* SPDX-License-Identifier: BSD-3-Clause */
#include "core_a9.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP_MS   5000
#define BYTES_MAX 64

/* Run control. */

static int ask(struct core_a9 *c, const char *packet, char *body, size_t size)
{
    if (qemu_link_packet(&c->link, packet) < 0 ||
        qemu_link_reply(&c->link, body, size, STOP_MS) <= 0)
        return -1;
    return 0;
}

/* A stop reply: T, signal, thread:N;, and watch:ADDRESS; for one of the three kinds. */
static void note_stop(struct core_a9 *c, const char *body)
{
    const char *thread = strstr(body, "thread:");
    const char *watch = strstr(body, "watch:");
    unsigned long number = thread ? strtoul(thread + 7, NULL, 16) : 0;
    bool asked = strncmp(body, "T02", 3) == 0;
    c->rests = true;
    for (unsigned i = 0; i < c->count; i++)
        c->core[i].does = CORE_A_STOPPED;
    qemu_link_command(&c->link, NULL, "flush");
    if (asked || body[0] != 'T' || number < 1 || number > c->count)
        return;
    struct core_a9_one *one = &c->core[number - 1];
    one->stop = watch ? CORE_A_ACCESSES : CORE_A_STEPPED;
    one->address = watch ? (uint32_t)strtoul(watch + 6, NULL, 16) : 0;
    one->want = CORE_A_STOPPED;
}

static int interrupt(struct core_a9 *c)
{
    char body[256];
    if (c->rests)
        return 0;
    if (qemu_link_packet(&c->link, NULL) < 0 ||
        qemu_link_reply(&c->link, body, sizeof body, STOP_MS) <= 0)
        return -1;
    note_stop(c, body);
    return 0;
}

/* Steps are without interrupts if the one that steps says so; QEMU has one setting for all. */
static int set_step_mode(struct core_a9 *c)
{
    char body[256], packet[32];
    unsigned sstep = 1; /* bits: on, no interrupts, no timers */
    for (unsigned i = 0; i < c->count; i++)
        if (c->core[i].want == CORE_A_STEPPING && c->core[i].masked)
            sstep = 3;
    if (sstep == c->sstep)
        return 0;
    snprintf(packet, sizeof packet, "Qqemu.sstep=%x", sstep);
    if (ask(c, packet, body, sizeof body) < 0)
        return -1;
    c->sstep = sstep;
    return 0;
}

/* Those that are not in the packet stay where they are. */
static int go(struct core_a9 *c)
{
    char packet[64] = "vCont";
    size_t used = strlen(packet);
    if (set_step_mode(c) < 0)
        return -1;
    for (unsigned i = 0; i < c->count; i++) {
        struct core_a9_one *one = &c->core[i];
        one->does = one->want;
        if (one->want != CORE_A_STOPPED)
            used += (size_t)snprintf(packet + used, sizeof packet - used, ";%c:%x",
                                     one->want == CORE_A_STEPPING ? 's' : 'c', i + 1);
    }
    c->rests = used == strlen("vCont");
    return c->rests ? 0 : qemu_link_packet(&c->link, packet);
}

static void want(void *ctx, unsigned core, enum core_a_run run)
{
    struct core_a9 *c = ctx;
    c->core[core].want = run;
    if (run != CORE_A_STOPPED)
        c->core[core].stop = CORE_A_NONE;
}

static int carry_out(void *ctx)
{
    struct core_a9 *c = ctx;
    bool changed = false;
    for (unsigned i = 0; i < c->count; i++)
        changed |= c->core[i].want != c->core[i].does;
    if (!changed)
        return 0;
    return interrupt(c) < 0 ? -1 : go(c);
}

static enum core_a_stop poll_core(void *ctx, unsigned core, uint32_t *address)
{
    struct core_a9 *c = ctx;
    char body[256];
    if (!c->rests && qemu_link_reply(&c->link, body, sizeof body, 0) > 0)
        note_stop(c, body);
    enum core_a_stop stop = c->core[core].stop;
    *address = c->core[core].address;
    c->core[core].stop = CORE_A_NONE;
    return stop;
}

static int reset(void *ctx)
{
    struct core_a9 *c = ctx;
    char body[256];
    const char *command = "qRcmd,73797374656d5f7265736574"; /* system_reset */
    /* The reset happens after the answer, in front of the next packet. */
    if (interrupt(c) < 0 || ask(c, command, body, sizeof body) < 0 ||
        ask(c, "qC", body, sizeof body) < 0)
        return -1;
    return 0;
}

static int mask(void *ctx, unsigned core, bool on)
{
    struct core_a9 *c = ctx;
    c->core[core].masked = on;
    return 0;
}

/* State of a core. */

static int get_number(struct core_a9 *c, unsigned core, const char *what, uint32_t number,
                      uint32_t *value)
{
    char text[QEMU_LINK_TEXT];
    if (qemu_link_command(&c->link, text, "core %x %s %x", core, what, number) < 0)
        return -1;
    *value = (uint32_t)strtoul(text, NULL, 16);
    return 0;
}

static int get(void *ctx, unsigned core, unsigned reg, uint32_t *value)
{
    return get_number(ctx, core, "register", reg, value);
}

static int set(void *ctx, unsigned core, unsigned reg, uint32_t value)
{
    struct core_a9 *c = ctx;
    return qemu_link_command(&c->link, NULL, "core %x register %x %x", core, reg, value);
}

static int get_cp15(void *ctx, unsigned core, uint32_t reg, uint32_t *value)
{
    return get_number(ctx, core, "cp15", reg, value);
}

static int set_cp15(void *ctx, unsigned core, uint32_t reg, uint32_t value)
{
    struct core_a9 *c = ctx;
    return qemu_link_command(&c->link, NULL, "core %x cp15 %x %x", core, reg, value);
}

static int read_bytes(struct core_a9 *c, const char *text, uint8_t *bytes, size_t size)
{
    if (strlen(text) != 2 * size)
        return -1;
    for (size_t i = 0; i < size; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return c->link.dead ? -1 : 0;
}

/* Why a command was refused, from what is said behind "error". */
static int refused(const struct core_a9 *c, const char *text)
{
    if (c->link.dead)
        return -1;
    return strcmp(text, "unmapped") == 0 ? CORE_A_UNMAPPED : CORE_A_REFUSED;
}

static int load(void *ctx, unsigned core, uint32_t address, void *bytes, size_t size)
{
    struct core_a9 *c = ctx;
    char text[QEMU_LINK_TEXT] = "";
    if (qemu_link_command(&c->link, text, "core %x load %x %zx", core, address, size) < 0)
        return refused(c, text);
    return read_bytes(c, text, bytes, size);
}

static int write_bytes(struct core_a9 *c, char *reply, const char *command, uint32_t address,
                       const uint8_t *bytes, size_t size)
{
    char text[2 * BYTES_MAX + 1] = "";
    if (size > BYTES_MAX)
        return -1;
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return qemu_link_command(&c->link, reply, "%s %x %s", command, address, text);
}

static int store(void *ctx, unsigned core, uint32_t address, const void *bytes, size_t size)
{
    struct core_a9 *c = ctx;
    char text[QEMU_LINK_TEXT] = "", command[32];
    snprintf(command, sizeof command, "core %x store", core);
    return write_bytes(c, text, command, address, bytes, size) < 0 ? refused(c, text) : 0;
}

static int translate(void *ctx, unsigned core, uint32_t address, uint32_t *physical)
{
    struct core_a9 *c = ctx;
    char text[QEMU_LINK_TEXT] = "";
    if (qemu_link_command(&c->link, text, "core %x translate %x", core, address) < 0)
        return refused(c, text);
    *physical = (uint32_t)strtoul(text, NULL, 16);
    return 0;
}

static int read_memory(void *ctx, uint32_t address, void *bytes, size_t size)
{
    struct core_a9 *c = ctx;
    char text[QEMU_LINK_TEXT];
    if (qemu_link_command(&c->link, text, "core 0 read %x %zx", address, size) < 0)
        return -1;
    return read_bytes(c, text, bytes, size);
}

static int write_memory(void *ctx, uint32_t address, const void *bytes, size_t size)
{
    return write_bytes(ctx, NULL, "core 0 write", address, bytes, size);
}

static int set_breakpoint(void *ctx, unsigned core, enum core_a_breakpoint_kind kind,
                          uint32_t address, uint32_t size, bool on)
{
    static const char kinds[] = "xrwa";
    struct core_a9 *c = ctx;
    return qemu_link_command(&c->link, NULL, "core %x breakpoint %c %x %x %s", core, kinds[kind],
                             address, size, on ? "on" : "off");
}

static int set_bkpt(void *ctx, unsigned core, bool stops)
{
    struct core_a9 *c = ctx;
    return qemu_link_command(&c->link, NULL, "core %x halting %s", core, stops ? "on" : "off");
}

static int set_debug(void *ctx, unsigned core, bool state)
{
    struct core_a9 *c = ctx;
    return qemu_link_command(&c->link, NULL, "core %x debug %s", core, state ? "on" : "off");
}

static int set_ranges(struct core_a9 *c, unsigned core, const struct core_a_trace *t)
{
    const char *what = t->exclude ? "exclude" : "include";
    int r = qemu_link_command(&c->link, NULL, "core %x include none", core);
    if (r == 0)
        r = qemu_link_command(&c->link, NULL, "core %x exclude none", core);
    for (unsigned i = 0; r == 0 && i < t->ranges; i++)
        r = qemu_link_command(&c->link, NULL, "core %x %s 0x%x-0x%x", core, what, t->first[i],
                              t->last[i]);
    return r;
}

static int flush_trace(void *ctx, unsigned core)
{
    struct core_a9 *c = ctx;
    return qemu_link_command(&c->link, NULL, "core %x flush", core);
}

static int set_trace(void *ctx, unsigned core, const struct core_a_trace *t)
{
    struct core_a9 *c = ctx;
    struct core_a9_one *one = &c->core[core];
    int r = 0;
    if (one->traced) {
        r = qemu_link_command(&c->link, NULL, "core %x off", core);
        if (r == 0)
            r = flush_trace(c, core);
        one->traced = false;
    }
    if (r == 0 && t->on)
        r = set_ranges(c, core, t);
    if (r == 0 && t->on)
        r = qemu_link_command(&c->link, NULL, "core %x etmcr %x", core, t->etmcr);
    if (r == 0 && t->on)
        r = qemu_link_command(&c->link, NULL, "core %x on", core);
    one->traced = r == 0 && t->on;
    return r;
}

static size_t trace(void *ctx, unsigned core, uint8_t *bytes, size_t size)
{
    struct core_a9 *c = ctx;
    struct trace_bytes *from = &c->link.source[core];
    size_t *taken = &c->core[core].taken;
    if (*taken == from->size) {
        from->size = *taken = 0;
        qemu_link_read_trace(&c->link);
    }
    if (size > from->size - *taken)
        size = from->size - *taken;
    if (size > 0) /* there may be no buffer yet */
        memcpy(bytes, from->data + *taken, size);
    *taken += size;
    return size;
}

static int pace(void *ctx, uint64_t rate)
{
    struct core_a9 *c = ctx;
    return qemu_link_command(&c->link, NULL, "pace %llu", (unsigned long long)rate);
}

int core_a9_start(struct core_a9 *c, const struct qemu_link_options *o, char *message, size_t size)
{
    char body[256];
    memset(c, 0, sizeof *c);
    c->count = o->a_cores;
    c->rests = true;
    if (qemu_link_start(&c->link, o, message, size) < 0)
        return -1;
    for (unsigned i = 0; i < c->count; i++)
        c->core[i].want = CORE_A_RUNNING;
    if (ask(c, "qSupported", body, sizeof body) < 0 || carry_out(c) < 0) {
        snprintf(message, size, "QEMU's gdbstub does not answer");
        return -1;
    }
    return 0;
}

void core_a9_stop(struct core_a9 *c)
{
    if (interrupt(c) == 0)
        qemu_link_packet(&c->link, "qRcmd,71756974"); /* quit */
    qemu_link_stop(&c->link);
}

struct core_a core_a9_cores(struct core_a9 *c)
{
    static const struct core_a_ops ops = {
        .want = want,
        .carry_out = carry_out,
        .poll = poll_core,
        .reset = reset,
        .mask = mask,
        .get = get,
        .set = set,
        .get_cp15 = get_cp15,
        .set_cp15 = set_cp15,
        .load = load,
        .store = store,
        .translate = translate,
        .set_breakpoint = set_breakpoint,
        .set_bkpt = set_bkpt,
        .set_debug = set_debug,
        .read_memory = read_memory,
        .write_memory = write_memory,
        .set_trace = set_trace,
        .flush_trace = flush_trace,
        .trace = trace,
        .pace = pace,
    };
    return (struct core_a){&ops, c, c->count};
}
