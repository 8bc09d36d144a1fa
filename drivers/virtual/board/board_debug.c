/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivers/virtual/board/board_debug.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/virtual/board/board.h"

/* ---- text -------------------------------------------------------------------------------------
 */

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

static bool parse_point(const char *line, struct board_debug_order *o)
{
    char on[4];

    if (sscanf(line, "point %c %" SCNx32 " %" SCNx32 " %3s", &o->what, &o->address, &o->size, on) !=
            4 ||
        !strchr("xrwa", o->what))
        return false;
    o->kind = strcmp(on, "on") == 0 ? BOARD_DEBUG_POINT : BOARD_DEBUG_UNPOINT;
    return o->kind == BOARD_DEBUG_POINT || strcmp(on, "off") == 0;
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
        {"halting on", BOARD_DEBUG_HALTING, 1},
        {"halting off", BOARD_DEBUG_HALTING, 0},
        {"caught", BOARD_DEBUG_CAUGHT, 0},
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

bool board_debug_parse(const char *line, struct board_debug_order *o)
{
    char end;
    int used = 0;

    memset(o, 0, sizeof *o);
    if (sscanf(line, "read %" SCNx32 " %" SCNx32 "%c", &o->address, &o->size, &end) == 2) {
        o->kind = BOARD_DEBUG_READ;
        return o->size > 0 && o->size <= BOARD_DEBUG_BYTES;
    }
    if (sscanf(line, "write %" SCNx32 " %n", &o->address, &used) == 1 && used) {
        o->kind = BOARD_DEBUG_WRITE;
        return parse_bytes(line + used, o);
    }
    if (sscanf(line, "register %" SCNx32 " %" SCNx64 "%c", &o->address, &o->value, &end) == 2)
        o->kind = BOARD_DEBUG_SET;
    else if (sscanf(line, "register %" SCNx32 "%c", &o->address, &end) == 1)
        o->kind = BOARD_DEBUG_GET;
    else if (sscanf(line, "catch %" SCNx32 "%c", &o->address, &end) == 1)
        o->kind = BOARD_DEBUG_CATCH;
    else if (sscanf(line, "etmcr %" SCNx64 "%c", &o->value, &end) == 1)
        o->kind = BOARD_DEBUG_ETMCR;
    else if (parse_pace(line, o))
        return true;
    else
        return parse_word(line, o) || parse_point(line, o);
    return true;
}

void board_debug_reply(const struct board_debug_order *o, char *reply, size_t size)
{
    size_t used = 0;

    if (o->kind == BOARD_DEBUG_GET || o->kind == BOARD_DEBUG_CAUGHT)
        snprintf(reply, size, " %" PRIx64, o->value);
    if (o->kind != BOARD_DEBUG_READ)
        return;
    used = (size_t)snprintf(reply, size, " ");
    for (uint32_t i = 0; i < o->size && used < size; i++)
        used += (size_t)snprintf(reply + used, size - used, "%02x", o->bytes[i]);
}

/* ---- orders -----------------------------------------------------------------------------------
 */

static void pace(struct board *b, uint64_t rate, bool stall)
{
    b->options.rate = rate;
    b->options.drop = rate > 0 && !stall;
    board_port_pace(&b->port, rate);
}

void board_debug_run(struct board *b, struct board_cpu *c, struct board_debug_order *o)
{
    const struct board_qemu *q = &b->qemu;
    uint32_t value = 0;
    bool done = true;

    switch (o->kind) {
    case BOARD_DEBUG_READ:
    case BOARD_DEBUG_WRITE:
        done = board_qemu_bus(q, c->index, o->address, o->bytes, o->size,
                              o->kind == BOARD_DEBUG_WRITE);
        break;
    case BOARD_DEBUG_GET:
        done = board_qemu_get(q, c->index, o->address, &value);
        o->value = value;
        break;
    case BOARD_DEBUG_SET:
        done = board_qemu_set(q, c->index, o->address, (uint32_t)o->value);
        break;
    case BOARD_DEBUG_POINT:
    case BOARD_DEBUG_UNPOINT:
        done = board_qemu_point(q, c->index, o->what, o->address, o->size,
                                o->kind == BOARD_DEBUG_POINT);
        break;
    case BOARD_DEBUG_HALTING:
        b->debug.halting = o->value;
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
    case BOARD_DEBUG_PACE:
        pace(b, o->value, o->what != '\0');
        break;
    case BOARD_DEBUG_NONE:
        break;
    }
    o->failed = !done;
}

/* ---- places to stop at ------------------------------------------------------------------------
 */

/* QEMU leaves the block and finds the breakpoint when it comes to the place again. */
static void stop_at(struct board *b, unsigned vcpu, uint32_t address, uintptr_t host)
{
    struct board_debug *d = &b->debug;
    bool known = false;

    for (unsigned i = 0; i < d->stop_count; i++)
        known |= d->stops[i] == address;
    if (!known) {
        if (d->stop_count == BOARD_DEBUG_STOPS ||
            !board_qemu_point(&b->qemu, vcpu, 'x', address, 2, true))
            return;
        d->stops[d->stop_count++] = address;
    }
    board_qemu_leave_block(&b->qemu, vcpu, host);
}

void board_debug_bkpt(struct board *b, unsigned vcpu, uint32_t address, uintptr_t host)
{
    if (b->debug.halting)
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
        board_qemu_point(&b->qemu, 0, 'x', d->stops[i], 2, false);
    d->stop_count = 0;
    if (b->cpus[0].entered < 32 && d->catch >> b->cpus[0].entered & 1)
        d->caught = b->cpus[0].entered;
    b->cpus[0].entered = 0;
}
