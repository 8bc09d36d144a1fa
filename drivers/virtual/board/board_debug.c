/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_debug.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "board.h"

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Pairs of digits up to the end of the line. False: something else is there, or too much. */
static bool parse_bytes(const char *text, struct board_debug_order *o)
{
    for (o->size = 0; text[2 * o->size]; o->size++) {
        int high = digit(text[2 * o->size]);
        int low = high < 0 ? -1 : digit(text[2 * o->size + 1]);
        if (low < 0 || o->size == BOARD_DEBUG_BYTES)
            return false;
        o->bytes[o->size] = (uint8_t)(high << 4 | low);
    }
    return o->size > 0;
}

static bool parse_breakpoint(const char *line, struct board_debug_order *o)
{
    char on[4];

    if (sscanf(line, "breakpoint %c %" SCNx32 " %" SCNx32 " %3s", &o->what, &o->address, &o->size,
               on) != 4 ||
        !strchr("xrwa", o->what))
        return false;
    o->kind = strcmp(on, "on") == 0 ? BOARD_DEBUG_SET_BREAKPOINT : BOARD_DEBUG_CLEAR_BREAKPOINT;
    return o->kind == BOARD_DEBUG_SET_BREAKPOINT || strcmp(on, "off") == 0;
}

static bool parse_pace(const char *line, struct board_debug_order *o)
{
    char stall[8] = "", end;
    int n = sscanf(line, "pace %" SCNu64 " %7s%c", &o->value, stall, &end);

    o->kind = BOARD_DEBUG_PACE;
    o->what = stall[0];
    return n == 1 || (n == 2 && strcmp(stall, "stall") == 0);
}

static bool parse_word(const char *line, struct board_debug_order *o)
{
    const struct {
        const char *line;
        enum board_debug_kind kind;
        uint32_t value;
    } words[] = {
        {"halting on", BOARD_DEBUG_HALTING, 1}, {"halting off", BOARD_DEBUG_HALTING, 0},
        {"caught", BOARD_DEBUG_CAUGHT, 0},      {"debug on", BOARD_DEBUG_STATE, 1},
        {"debug off", BOARD_DEBUG_STATE, 0},
    };

    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(line, words[i].line) == 0) {
            o->kind = words[i].kind;
            o->value = words[i].value;
            return true;
        }
    }
    return false;
}

/* True: it is one of these, and *valid says whether it is right. */
static bool parse_memory(const char *line, struct board_debug_order *o, bool *valid)
{
    const struct {
        const char *name;
        enum board_debug_kind kind;
        bool bytes;
    } words[] = {
        {"read ", BOARD_DEBUG_READ, false},
        {"load ", BOARD_DEBUG_LOAD, false},
        {"write ", BOARD_DEBUG_WRITE, true},
        {"store ", BOARD_DEBUG_STORE, true},
    };
    char end;
    int used = 0;

    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].name);
        if (strncmp(line, words[i].name, length) != 0)
            continue;
        line += length;
        o->kind = words[i].kind;
        if (words[i].bytes)
            *valid = sscanf(line, "%" SCNx32 " %n", &o->address, &used) == 1 && used &&
                     parse_bytes(line + used, o);
        else
            *valid = sscanf(line, "%" SCNx32 " %" SCNx32 "%c", &o->address, &o->size, &end) == 2 &&
                     o->size > 0 && o->size <= BOARD_DEBUG_BYTES;
        return true;
    }
    return false;
}

bool board_debug_parse(const char *line, struct board_debug_order *o)
{
    bool done = false;
    char end;

    memset(o, 0, sizeof *o);
    if (parse_memory(line, o, &done))
        return done;
    if (sscanf(line, "register %" SCNx32 " %" SCNx64 "%c", &o->address, &o->value, &end) == 2)
        o->kind = BOARD_DEBUG_SET;
    else if (sscanf(line, "register %" SCNx32 "%c", &o->address, &end) == 1)
        o->kind = BOARD_DEBUG_GET;
    else if (sscanf(line, "cp15 %" SCNx32 " %" SCNx64 "%c", &o->address, &o->value, &end) == 2)
        o->kind = BOARD_DEBUG_CP15_SET;
    else if (sscanf(line, "cp15 %" SCNx32 "%c", &o->address, &end) == 1)
        o->kind = BOARD_DEBUG_CP15_GET;
    else if (sscanf(line, "translate %" SCNx32 "%c", &o->address, &end) == 1)
        o->kind = BOARD_DEBUG_TRANSLATE;
    else if (sscanf(line, "catch %" SCNx32 "%c", &o->address, &end) == 1)
        o->kind = BOARD_DEBUG_CATCH;
    else if (sscanf(line, "etmcr %" SCNx64 "%c", &o->value, &end) == 1)
        o->kind = BOARD_DEBUG_ETMCR;
    else if (sscanf(line, "etmv4 %" SCNx64 " %" SCNx32 " %" SCNx32 "%c", &o->value, &o->address,
                    &o->size, &end) == 3)
        o->kind = BOARD_DEBUG_ETMV4;
    else if (parse_pace(line, o))
        return true;
    else
        return parse_word(line, o) || parse_breakpoint(line, o);
    return true;
}

void board_debug_reply(const struct board_debug_order *o, char *reply, size_t size)
{
    size_t used = 0;

    if (o->kind == BOARD_DEBUG_GET || o->kind == BOARD_DEBUG_CAUGHT ||
        o->kind == BOARD_DEBUG_CP15_GET || o->kind == BOARD_DEBUG_TRANSLATE)
        snprintf(reply, size, " %" PRIx64, o->value);
    if (o->kind != BOARD_DEBUG_READ && o->kind != BOARD_DEBUG_LOAD)
        return;
    used = (size_t)snprintf(reply, size, " ");
    for (uint32_t i = 0; i < o->size && used < size; i++)
        used += (size_t)snprintf(reply + used, size - used, "%02x", o->bytes[i]);
}

static void pace(struct board *b, uint64_t rate, bool stall)
{
    b->options.rate = rate;
    b->options.drop = rate > 0 && !stall;
    board_port_pace(&b->port, rate);
}

static bool run_register(const struct board *b, const struct board_cpu *c,
                         struct board_debug_order *o)
{
    bool m_profile = b->options.profile == BOARD_PROFILE_M;
    uint32_t value = 0;
    bool done;

    if (o->kind == BOARD_DEBUG_SET)
        return (m_profile ? board_qemu_set : board_qemu_a_set)(&b->qemu, c->index, o->address,
                                                               (uint32_t)o->value);
    done = (m_profile ? board_qemu_get : board_qemu_a_get)(&b->qemu, c->index, o->address, &value);
    o->value = value;
    return done;
}

static bool run_cp15(const struct board *b, const struct board_cpu *c, struct board_debug_order *o)
{
    uint32_t value = 0;
    bool done;

    if (o->kind == BOARD_DEBUG_CP15_SET)
        return board_qemu_set_cp15(&b->qemu, c->index, o->address, (uint32_t)o->value);
    done = board_qemu_get_cp15(&b->qemu, c->index, o->address, &value);
    o->value = value;
    return done;
}

/* As the core's own loads and stores: through its MMU. Does not cross a page. */
static bool run_access(const struct board *b, const struct board_cpu *c,
                       struct board_debug_order *o)
{
    uint32_t address = 0;

    o->unmapped = !board_qemu_translate(&b->qemu, c->index, o->address, &address);
    o->value = address;
    if (o->kind == BOARD_DEBUG_TRANSLATE)
        return !o->unmapped;
    return !o->unmapped && board_qemu_bus(&b->qemu, c->index, address, o->bytes, o->size,
                                          o->kind == BOARD_DEBUG_STORE);
}

static void mark(uint32_t *cores, const struct board_cpu *c, bool on)
{
    *cores = (*cores & ~(1u << c->index)) | (uint32_t)on << c->index;
}

static void hold_or_release(struct board *b, struct board_cpu *c, bool debug)
{
    mark(&b->debug.held, c, debug);
    if (debug) {
        board_cpu_halt(c, true);
        board_qemu_awake(&b->qemu, c->index);
    } else {
        board_cpu_resume(c);
    }
}

void board_debug_run(struct board *b, struct board_cpu *c, struct board_debug_order *o)
{
    const struct board_qemu *q = &b->qemu;
    bool done = true;

    switch (o->kind) {
    case BOARD_DEBUG_READ:
    case BOARD_DEBUG_WRITE:
        done = board_qemu_bus(q, c->index, o->address, o->bytes, o->size,
                              o->kind == BOARD_DEBUG_WRITE);
        break;
    case BOARD_DEBUG_GET:
    case BOARD_DEBUG_SET:
        done = run_register(b, c, o);
        break;
    case BOARD_DEBUG_CP15_GET:
    case BOARD_DEBUG_CP15_SET:
        done = run_cp15(b, c, o);
        break;
    case BOARD_DEBUG_LOAD:
    case BOARD_DEBUG_STORE:
    case BOARD_DEBUG_TRANSLATE:
        done = run_access(b, c, o);
        break;
    case BOARD_DEBUG_STATE:
        hold_or_release(b, c, o->value);
        break;
    case BOARD_DEBUG_SET_BREAKPOINT:
    case BOARD_DEBUG_CLEAR_BREAKPOINT:
        done = board_qemu_breakpoint(q, c->index, o->what, o->address, o->size,
                                     o->kind == BOARD_DEBUG_SET_BREAKPOINT);
        break;
    case BOARD_DEBUG_HALTING:
        mark(&b->debug.halting, c, o->value);
        break;
    case BOARD_DEBUG_CATCH:
        b->debug.catch = o->address;
        break;
    case BOARD_DEBUG_CAUGHT:
        o->value = b->debug.caught;
        b->debug.caught = 0;
        break;
    case BOARD_DEBUG_ETMCR:
        b->options.etmcr = (uint32_t)o->value;
        done = board_unit_reprogram(&c->unit, &b->options) == 0;
        break;
    case BOARD_DEBUG_ETMV4:
        b->options.trcconfigr = (uint32_t)o->value;
        b->options.trcccctlr = o->address;
        b->options.trcsyncpr = o->size;
        done = o->size <= 20 && board_unit_reprogram(&c->unit, &b->options) == 0;
        break;
    case BOARD_DEBUG_PACE:
        pace(b, o->value, o->what != '\0');
        break;
    case BOARD_DEBUG_NONE:
        break;
    }
    o->failed = !done;
}

/* QEMU leaves the block and finds the breakpoint when it comes to the place again. */
static void stop_at(struct board *b, unsigned vcpu, uint32_t address, uintptr_t host)
{
    struct board_debug *d = &b->debug;
    bool known = false;

    for (unsigned i = 0; i < d->stop_count; i++)
        known |= d->stops[i].vcpu == vcpu && d->stops[i].address == address;
    if (!known) {
        if (d->stop_count == BOARD_DEBUG_STOPS ||
            !board_qemu_breakpoint(&b->qemu, vcpu, 'x', address, 2, true))
            return;
        d->stops[d->stop_count].vcpu = vcpu;
        d->stops[d->stop_count++].address = address;
    }
    board_qemu_leave_block(&b->qemu, vcpu, host);
}

void board_debug_bkpt(struct board *b, unsigned vcpu, uint32_t address, uintptr_t host)
{
    if (b->debug.halting >> vcpu & 1)
        stop_at(b, vcpu, address, host);
}

void board_debug_entered(struct board *b, struct board_cpu *c, uint32_t address, uintptr_t host)
{
    if (b->debug.catch >> (c->entered & 31) & 1 && c->entered < 32)
        stop_at(b, c->index, address, host);
    c->entered = 0;
}

void board_debug_stopped(struct board *b)
{
    struct board_debug *d = &b->debug;

    for (unsigned i = 0; i < d->stop_count; i++)
        board_qemu_breakpoint(&b->qemu, d->stops[i].vcpu, 'x', d->stops[i].address, 2, false);
    d->stop_count = 0;
    if (b->cpus[0].entered < 32 && d->catch >> b->cpus[0].entered & 1)
        d->caught = b->cpus[0].entered;
    b->cpus[0].entered = 0;
}
