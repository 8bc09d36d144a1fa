/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/reverse/engine_path.h"

#include "decoder/program/insn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAIL_MAX 16 /* instructions at the end that no trace packet has reached */

static void fail(const char *what, size_t where)
{
    fprintf(stderr, "engine: %s at %zu\n", what, where);
    exit(1);
}

bool path_code_word(const struct path *p, uint32_t address, uint32_t *value)
{
    for (size_t i = 0; i < p->image->count; i++) {
        const struct code_region *r = &p->image->regions[i];
        if (address >= r->address && address + UINT64_C(4) <= r->address + r->size) {
            memcpy(value, r->bytes + (address - r->address), 4);
            return true;
        }
    }
    return false;
}

/* The instruction at `address`: opcode and size from the code. */
static void add(struct path *p, uint32_t address, enum bt_isa isa, enum bt_cond cond)
{
    uint32_t low = 0, high = 0;
    struct values_insn *i = &p->insns[p->count];

    if (!path_code_word(p, address & ~3u, &low))
        fail("no code", p->count);
    path_code_word(p, (address & ~3u) + 4, &high);
    if (address & 2)
        low = low >> 16 | high << 16;
    *i = (struct values_insn){.address = address, .isa = (uint8_t)isa, .cond = (uint8_t)cond};
    i->size = isa == BT_ISA_T32 ? (uint8_t)insn_t32_size((uint16_t)low) : 4;
    i->opcode = isa == BT_ISA_A32 || isa == BT_ISA_A64 ? low
                : i->size == 2                         ? low & 0xffff
                                                       : low << 16 | low >> 16;
    p->count++;
}

/* Where each instruction has an atom, a block goes on only while conditions pass. */
static void add_block(struct path *p, const struct bt_block *b, bool each, size_t max)
{
    uint32_t address = (uint32_t)b->first;
    for (uint32_t n = bt_block_count(b); n; n--) {
        enum bt_cond cond = n == 1 ? bt_block_cond(b) : each ? BT_COND_PASS : BT_COND_UNKNOWN;
        if (p->count == max)
            fail("more instructions than ran", p->count);
        add(p, address, bt_block_isa(b), cond);
        address += p->insns[p->count - 1].size;
    }
}

static void add_event(struct path *p, const struct bt_event *e)
{
    if (!(p->event_count & (p->event_count - 1))) {
        size_t max = p->event_count ? 2 * p->event_count : 64;
        p->events = realloc(p->events, max * sizeof *p->events);
        if (!p->events)
            fail("no memory", 0);
    }
    p->events[p->event_count++] = *e;
}

static void add_history(struct path *p, size_t max)
{
    struct history *h = p->history.history;
    bool each = p->history.source->config.protocol == STREAM_ETMV3;
    for (size_t i = 0; i < history_window_count(h); i++) {
        struct history_window w;
        if (history_window_index(h, i, &w) != BT_OK)
            fail("window", i);
        for (size_t k = 0; k < w.block_count; k++) {
            struct bt_block block;
            history_block(&w, k, &block);
            add_block(p, &block, each, max);
        }
        for (size_t k = 0; k < w.event_count; k++)
            if (w.events[k].kind == BT_EVENT_EXCEPTION ||
                w.events[k].kind == BT_EVENT_EXCEPTION_RET || w.events[k].kind == BT_EVENT_STATE ||
                (w.events[k].kind == BT_EVENT_GAP && w.events[k].position))
                add_event(p, &w.events[k]);
    }
}

static enum bt_isa isa_of(const struct path *p, const struct truth *t, size_t position)
{
    if (t->wide)
        return BT_ISA_A64;
    return t->states[position][16] >> (p->m_profile ? 24 : 5) & 1 ? BT_ISA_T32 : BT_ISA_A32;
}

static void check(struct path *p, const struct truth *t)
{
    if (t->count - p->count > TAIL_MAX)
        fail("the trace ends too early", p->count);
    while (p->count < t->count)
        add(p, truth_pc(t, p->count), isa_of(p, t, p->count), BT_COND_UNKNOWN);
    for (size_t i = 0; i < p->count; i++)
        if (p->insns[i].address != truth_pc(t, i) || p->insns[i].isa != isa_of(p, t, i))
            fail("another instruction ran", i);
    for (size_t i = 0; i < p->event_count; i++)
        if (p->events[i].kind == BT_EVENT_GAP)
            fail("gap", (size_t)p->events[i].position);
}

/* Devices: what a look afterwards finds is not what the core read. */
static bool has_value(const struct path *p, const struct truth *t, uint32_t address)
{
    uint32_t word;
    return address - t->ram_base < TRUTH_RAM_SIZE || path_code_word(p, address & ~3u, &word);
}

/* SETEND: the bytes are not in the order of the register's. */
static bool big_endian(const struct path *p, const struct truth *t, size_t position)
{
    return !p->m_profile && t->states[position][16] & 0x200;
}

static void add_data(struct path *p, const struct truth *t)
{
    struct bt_event *old = p->events;
    size_t old_count = p->event_count, next = 0;
    p->events = NULL;
    p->event_count = 0;
    for (size_t i = 0; i < t->access_count; i++) {
        const struct truth_access *a = &t->accesses[i];
        if (a->flags & TRUTH_FRAME)
            continue;
        while (next < old_count && old[next].position <= a->index)
            add_event(p, &old[next++]);
        for (unsigned k = 0; k < a->size; k += 4) {
            struct bt_event e = {
                .position = a->index + 1,
                .kind = BT_EVENT_DATA,
                .u.data = {.address = a->address + k,
                           .value = a->value[k / 4],
                           .bytes = a->size < 4 ? (uint8_t)a->size : 4,
                           .has_address = true,
                           .has_value = has_value(p, t, a->address) && !big_endian(p, t, a->index),
                           .store = (a->flags & TRUTH_STORE) != 0,
                           .back = 1}};
            add_event(p, &e);
        }
    }
    while (next < old_count)
        add_event(p, &old[next++]);
    free(old);
}

void path_load(struct path *p, const char *folder, const struct truth *t, bool data)
{
    char place[4096];
    struct message why = {.text = ""};

    memset(p, 0, sizeof *p);
    snprintf(place, sizeof place, "%s/recording", folder);
    if (recording_open(&p->recording, place, NULL, 0, &why) != BT_OK) {
        fprintf(stderr, "engine: %s\n", why.text);
        exit(1);
    }
    const struct recording_source *source = &p->recording.sources[0];
    p->image = source->image;
    p->m_profile = strncmp(source->core->type, "Cortex-M", 8) == 0;
    p->bit_band = strcmp(source->core->type, "Cortex-M3") == 0 ||
                  strcmp(source->core->type, "Cortex-M4") == 0;
    p->limits = strcmp(source->core->type, "Cortex-M33") == 0;
    if (recording_history_init(&p->history, &p->recording, source, NULL, NULL) != BT_OK)
        fail("history", 0);
    p->insns = calloc(t->count + 1, sizeof *p->insns);
    add_history(p, t->count);
    check(p, t);
    if (data)
        add_data(p, t);
}

void path_release(struct path *p)
{
    recording_history_release(&p->history);
    recording_close(&p->recording);
    free(p->insns);
    free(p->events);
}
