/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of RAM along the path. A version of a word lives from the store that made it (or from the
 * last moment at which anything may have written there) to the next store; all loads in between
 * see it, and the last one is present memory. Every pass starts anew, since addresses that became
 * known make fewer stores ones that may write anywhere; rules once made stay right.
 */
#include "decoder/values/values.h"
#include "values_work.h"

#include "decoder/base/array.h"

#include <stdlib.h>

#define HASH_START 1024
#define RAISE_NEAR 1024u /* bytes that are looked up word by word */

/* Second addresses of RAM (DDI 0403E.e B3.1): each bit of the first MiB has a word. */
#define BIT_BAND      0x22000000u
#define BIT_BAND_SIZE 0x02000000u
#define BIT_BAND_OF   0x20000000u

bool values_room(struct values *r, void **array, size_t *max, size_t count, size_t size)
{
    bool room = array_room(array, count, max, size);
    r->rules.nomem |= !room;
    return room;
}

static size_t slot_of(const struct values_memory_state *m, uint32_t address)
{
    size_t at = (address >> 2) * 2654435761u & (m->cell_max - 1);
    while (m->cells[at].used && m->cells[at].address != address)
        at = (at + 1) & (m->cell_max - 1);
    return at;
}

static bool grow_cells(struct values *r)
{
    struct values_memory_state *m = &r->memory;
    struct values_cell *old = m->cells;
    size_t old_max = m->cell_max;
    size_t max = old_max ? old_max * 2 : HASH_START;
    struct values_cell *cells = calloc(max, sizeof *cells);
    if (!cells) {
        r->rules.nomem = true;
        return false;
    }
    m->cells = cells;
    m->cell_max = max;
    for (size_t i = 0; i < old_max; i++)
        if (old[i].used)
            m->cells[slot_of(m, old[i].address)] = old[i];
    free(old);
    return true;
}

/* Other cores may write it. */
static bool is_others(const struct values_cell *c)
{
    return c->kind == VALUES_MEMORY_SAVED && c->saved == SAVED_NOT;
}

static void record_word(struct values *r, const struct values_cell *c, uint32_t end)
{
    struct values_memory_state *m = &r->memory;
    if (!c->version || end <= c->from || is_others(c) ||
        !values_room(r, (void **)&m->records, &m->record_max, m->record_count, sizeof *m->records))
        return;
    m->records[m->record_count++] =
        (struct values_record){c->address, c->from, end - 1, c->version};
}

/* Brings a cell up to this pass and past the clobbers since it was looked at. */
static void refresh_cell(struct values *r, struct values_cell *c)
{
    struct values_memory_state *m = &r->memory;
    if (c->round != m->round) {
        c->round = m->round;
        c->version = c->from = c->since = c->epoch = c->doubtful = 0;
        c->saved = SAVED_NOT;
        c->listed = false;
    }
    if (c->epoch == m->clobber_count)
        return;
    if (c->epoch < m->stack_epoch)
        c->since = m->clobbers[(m->stack_other ? m->clobber_count : m->stack_epoch) - 1];
    bool kept = c->saved == SAVED || (c->saved == SAVED_FRAME && c->epoch >= m->kernel_epoch);
    if (c->epoch >= m->hard_epoch && kept) {
        if (!c->doubtful)
            c->doubtful = m->clobbers[c->epoch];
        c->epoch = (uint32_t)m->clobber_count;
        return;
    }
    record_word(r, c, m->clobbers[c->epoch]);
    c->epoch = (uint32_t)m->clobber_count;
    c->version = c->doubtful = 0;
    c->saved = SAVED_NOT;
    c->from = m->clobbers[m->clobber_count - 1];
}

static bool is_trusted(enum values_memory kind)
{
    return kind != VALUES_MEMORY_OTHER && kind != VALUES_MEMORY_SHARED;
}

static enum values_memory look_up_word(const struct values *r, uint32_t address, uint32_t *word)
{
    enum values_memory kind = r->read ? r->read(r->context, address, word) : VALUES_MEMORY_OTHER;
    return kind == VALUES_MEMORY_RAM && r->earlier ? VALUES_MEMORY_UNREAD : kind;
}

static struct values_cell *cell_at(struct values *r, uint32_t address)
{
    struct values_memory_state *m = &r->memory;
    if (m->cell_count * 2 >= m->cell_max && !grow_cells(r))
        return NULL;
    struct values_cell *c = &m->cells[slot_of(m, address)];
    if (!c->used) {
        *c = (struct values_cell){.address = address, .used = true};
        c->kind = (uint8_t)look_up_word(r, address, &c->present);
        m->cell_count++;
    }
    refresh_cell(r, c);
    return c;
}

static void memory_clobber(struct values *r, uint32_t when, const struct values_access *a,
                           bool hard)
{
    struct values_memory_state *m = &r->memory;
    if (!values_room(r, (void **)&m->clobbers, &m->clobber_max, m->clobber_count,
                     sizeof *m->clobbers))
        return;
    m->clobbers[m->clobber_count++] = when;
    if (hard)
        m->hard_epoch = m->clobber_count;
    if (hard || a->stack) {
        m->stack_epoch = m->clobber_count;
        m->stack_other = !hard && a->saved == SAVED_NOT;
    }
    if (hard || a->kernel)
        m->kernel_epoch = m->clobber_count;
}

/* What was saved there never comes back, or nobody knows whether it has: others use the room. */
static void forget_saved(struct values *r, struct values_cell *c)
{
    if (!c->used || c->round != r->memory.round)
        return;
    refresh_cell(r, c);
    c->saved = SAVED_NOT;
}

static void forget_listed(struct values *r, uint32_t low, uint32_t end)
{
    struct values_memory_state *m = &r->memory;
    size_t kept = 0;
    for (size_t i = 0; i < m->listed_count; i++) {
        struct values_cell *c = &m->cells[slot_of(m, m->listed[i])];
        if (c->address >= low && c->address < end)
            forget_saved(r, c);
        c->listed = c->saved != SAVED_NOT;
        if (c->listed)
            m->listed[kept++] = c->address;
    }
    m->listed_count = kept;
}

/* SP has risen, to nobody knows where, or from there: it may be above all that lies behind it. */
static void raise_stack(struct values *r, const struct values_access *a)
{
    const struct values_value *values = r->rules.values;
    struct values_memory_state *m = &r->memory;
    bool known = rules_known(&r->rules, a->base), from = rules_known(&r->rules, a->data);
    uint32_t sp = values[a->base].number, before = values[a->data].number;
    if (!m->listed_count || (a->fixed && !known && !from))
        return;
    if (!known || !from) {
        forget_listed(r, from ? before & ~3u : 0, known ? sp : UINT32_MAX);
    } else if (sp - before - 1 >= RAISE_NEAR) {
        if (sp > before)
            forget_listed(r, before & ~3u, sp);
    } else {
        for (uint32_t at = before & ~3u; at < sp; at += 4)
            forget_saved(r, &m->cells[slot_of(m, at)]);
    }
}

/* User and System mode have one. */
static uint32_t stack_of(uint32_t mode)
{
    return mode == 0x10 ? 0x1f : mode;
}

static bool other_stack(const struct values *r, const struct values_cell *c, uint32_t mode)
{
    const struct values_rules *rules = &r->rules;
    return rules_known(rules, c->mode) && rules_known(rules, mode) &&
           stack_of(rules->values[c->mode].number) != stack_of(rules->values[mode].number);
}

/* Registers are given back from an unknown place, or perhaps: it may be any that is saved there, or
 * on this stack. */
static void give_back_any(struct values *r, const struct values_access *a)
{
    struct values_memory_state *m = &r->memory;
    uint32_t address = (r->rules.values[a->base].number + a->offset) & ~3u;
    if (!m->listed_count)
        return;
    if (rules_known(&r->rules, a->base)) {
        forget_listed(r, address, address + 4);
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < m->listed_count; i++) {
        struct values_cell *c = &m->cells[slot_of(m, m->listed[i])];
        c->listed = other_stack(r, c, a->mode);
        if (c->listed)
            m->listed[kept++] = c->address;
        else
            forget_saved(r, c);
    }
    m->listed_count = kept;
}

/* An exception returns to another one's frame. Where it was stacked in the window what is saved
 * above it is that stack's, unless it was made up there again. */
static void switch_stack(struct values *r, const struct values_access *a)
{
    const struct values_value *values = r->rules.values;
    uint32_t address = values[a->base].number + a->offset;
    if (!r->memory.listed_count)
        return;
    if (!rules_known(&r->rules, a->base) || !rules_known(&r->rules, a->word)) {
        forget_listed(r, 0, UINT32_MAX);
        return;
    }
    const struct values_cell *c = cell_at(r, address & ~3u);
    bool stacked = c && c->saved && rules_known(&r->rules, c->version) &&
                   values[c->version].number == values[a->data].number;
    if (!stacked)
        forget_listed(r, address - a->offset, UINT32_MAX);
}

static uint32_t word_value(struct values *r, uint32_t *value)
{
    if (!*value)
        *value = rules_value(&r->rules);
    return *value;
}

static void replace_word(struct values *r, struct values_cell *c, uint32_t version, uint32_t when)
{
    record_word(r, c, when);
    c->version = version;
    c->from = c->since = when;
    c->saved = SAVED_NOT;
    c->doubtful = 0;
}

static uint32_t field_of(const struct values *r, const struct values_access *a, uint32_t address)
{
    uint32_t byte = address & 3;
    uint32_t lsb = 8 * (r->big_endian ? 4u - a->width - byte : byte);
    return lsb | a->width * 8u << 8 | (a->sign ? 1u << 16 : 0);
}

static void tie_word(struct values *r, struct values_access *a, const struct values_rule *rule,
                     uint32_t version)
{
    if (a->linked == version)
        return;
    a->linked = version;
    rules_add(&r->rules, rule);
}

static void memory_load(struct values *r, struct values_access *a, struct values_cell *c,
                        uint32_t address)
{
    bool whole = a->width == 4;
    enum values_how how = c->kind == VALUES_MEMORY_CONST ? VALUES_CODE : VALUES_FORWARDED;
    if (!a->data && a->saved) { /* given back, though nobody knows what */
        c->saved = SAVED_NOT;
        c->since = a->when;
    }
    if (!is_trusted((enum values_memory)c->kind) || !a->data || is_others(c))
        return;
    if (c->kind == VALUES_MEMORY_CONST) {
        uint32_t word = whole ? a->data : word_value(r, &a->word);
        c->version = 0; /* the same at any time: needs no record */
        if (!a->linked)
            rules_learn_at(&r->rules, word, c->present, how, a->step);
        if (whole)
            a->linked = word;
        else
            tie_word(r, a,
                     &(struct values_rule){.op = RULE_FIELD,
                                           .slot = {a->data, word},
                                           .how = (uint8_t)how,
                                           .k = field_of(r, a, address),
                                           .step = a->step},
                     word);
        return;
    }
    if (c->doubtful && !a->stack) { /* read as something else than what was saved */
        record_word(r, c, c->doubtful);
        c->version = c->doubtful = 0;
        c->saved = SAVED_NOT;
        c->from = r->memory.clobbers[r->memory.clobber_count - 1];
    }
    if (!c->version) {
        c->version = whole ? a->data : word_value(r, &a->word);
        uint32_t since = c->since > a->floor ? c->since : a->floor;
        if (a->saved == SAVED && a->stack && since < c->from) /* it was there since it was saved */
            c->from = since;
    }
    if (a->saved) {
        if (c->kind == VALUES_MEMORY_SAVED)
            record_word(r, c, a->when);
        c->saved = SAVED_NOT;
        c->since = a->when;
    }
    if (whole) {
        if (c->version != a->data && a->linked != c->version)
            rules_equal(&r->rules, a->data, c->version, a->step, how);
        a->linked = c->version;
    } else {
        tie_word(r, a,
                 &(struct values_rule){.op = RULE_FIELD,
                                       .slot = {a->data, c->version},
                                       .how = (uint8_t)how,
                                       .k = field_of(r, a, address),
                                       .step = a->step},
                 c->version);
    }
}

static void memory_store(struct values *r, struct values_access *a, struct values_cell *c,
                         uint32_t address)
{
    uint32_t old = c->version;
    if (a->width == 4) {
        replace_word(r, c, a->data ? a->data : word_value(r, &a->word), a->when);
        if (!a->saved || !r->keep_saved)
            return;
        c->saved = a->saved;
        c->mode = a->mode;
        struct values_memory_state *m = &r->memory;
        if (!c->listed && values_room(r, (void **)&m->listed, &m->listed_max, m->listed_count,
                                      sizeof *m->listed)) {
            m->listed[m->listed_count++] = c->address;
            c->listed = true;
        }
        return;
    }
    word_value(r, &a->word);
    if (old && a->data)
        tie_word(r, a,
                 &(struct values_rule){.op = RULE_INSERT,
                                       .slot = {a->word, old, a->data},
                                       .k = field_of(r, a, address) & 0xffff,
                                       .step = a->step},
                 old);
    replace_word(r, c, a->word, a->when);
}

static void kill_word(struct values *r, struct values_access *a, uint32_t address)
{
    struct values_cell *c = cell_at(r, address & ~3u);
    if (c)
        replace_word(r, c, word_value(r, &a->word), a->when);
    if ((address & 3) + a->width <= 4)
        return;
    c = cell_at(r, (address & ~3u) + 4);
    if (c)
        replace_word(r, c, word_value(r, &a->second), a->when);
}

/* Where RAM may be (DDI 0403E.e B3.1): what is no RAM of this program there may be another address
 * of it. */
static bool may_be_alias(const struct values *r, uint32_t address)
{
    return r->second && (address < 0x40000000u || address - 0x60000000u < 0x40000000u);
}

/* The word that the access changes or reads is another one: true. */
static bool visit_bit(struct values *r, struct values_access *a, uint32_t address, bool certain)
{
    uint32_t in = address - BIT_BAND, at = BIT_BAND_OF + (in >> 5 & ~3u);
    uint32_t field = (in >> 2 & 31) | 1u << 8;
    bool exact = certain && a->width == 4 && !(in & 3) && !r->big_endian && a->data;
    if (r->second != SECOND_BIT_BAND || in >= BIT_BAND_SIZE)
        return false;
    struct values_cell *c = cell_at(r, at);
    if (!c || (a->kind == ACCESS_LOAD && (!exact || c->kind != VALUES_MEMORY_RAM)))
        return true;
    if (a->kind == ACCESS_LOAD) {
        if (!c->version)
            c->version = word_value(r, &a->word);
        tie_word(r, a,
                 &(struct values_rule){.op = RULE_FIELD,
                                       .slot = {a->data, c->version},
                                       .how = VALUES_FORWARDED,
                                       .k = field,
                                       .step = a->step},
                 c->version);
        return true;
    }
    uint32_t old = c->version;
    word_value(r, &a->word);
    if (exact && a->kind == ACCESS_STORE && old)
        tie_word(
            r, a,
            &(struct values_rule){
                .op = RULE_INSERT, .slot = {a->word, old, a->data}, .k = field, .step = a->step},
            old);
    replace_word(r, c, a->word, a->when);
    return true;
}

/* A store to known places: true if it may have hit others as well. */
static bool hits_others(struct values *r, const struct values_access *a, uint32_t address)
{
    const struct values_cell *c = a->kind == ACCESS_LOAD ? NULL : cell_at(r, address & ~3u);
    bool none = c && (c->kind == VALUES_MEMORY_OTHER || c->kind == VALUES_MEMORY_CONST);
    return none && may_be_alias(r, address);
}

/* The value of that word behind a store to one of several: the same one in each pass. */
static uint32_t word_among(struct values *r, struct values_access *a, uint32_t address,
                           uint32_t words)
{
    if (!a->among) {
        for (a->among_count = 1; a->among_count < words;)
            a->among_count *= 2;
        a->among = rules_value(&r->rules);
        for (uint32_t i = 1; i < a->among_count; i++)
            rules_value(&r->rules);
    }
    return a->among + (address >> 2 & (a->among_count - 1));
}

/* The address is not known, but that it is one of a few: false if it is not. */
static bool store_among(struct values *r, struct values_access *a)
{
    struct values_range range;
    if (!rules_range(&r->rules, a->base, &range))
        return false;
    uint32_t first = (range.from + a->offset) & ~3u;
    uint32_t last = range.from + a->offset + range.span + a->width - 1;
    uint32_t words = ((last & ~3u) - first) / 4 + 1;
    if (last < first || (a->among && words > a->among_count))
        return false;
    for (uint32_t i = 0; i < words; i++) {
        const struct values_cell *c = cell_at(r, first + 4 * i);
        if (!c || (c->kind != VALUES_MEMORY_RAM && c->kind != VALUES_MEMORY_UNREAD))
            return false;
    }
    for (uint32_t at = first; at - first < 4 * words; at += 4)
        replace_word(r, cell_at(r, at), word_among(r, a, at, words), a->when);
    return true;
}

static void visit_access(struct values *r, struct values_access *a)
{
    const struct values_value *values = r->rules.values;
    bool certain = !a->cond || values[a->cond].how;
    if (a->cond && values[a->cond].how && !values[a->cond].number)
        return;
    if (a->kind == ACCESS_RAISE || a->kind == ACCESS_SWITCH) {
        (a->kind == ACCESS_RAISE ? raise_stack : switch_stack)(r, a);
        return;
    }
    if (a->kind == ACCESS_LOAD && a->saved && a->stack &&
        !(certain && rules_known(&r->rules, a->base)))
        give_back_any(r, a);
    if (a->kind == ACCESS_CLOBBER || !rules_known(&r->rules, a->base)) {
        if (a->kind != ACCESS_LOAD && (a->kind == ACCESS_CLOBBER || !store_among(r, a)))
            memory_clobber(r, a->when, a, a->kind == ACCESS_CLOBBER || !r->keep_saved);
        return;
    }
    uint32_t address = values[a->base].number + a->offset;
    bool crosses = (address & 3) + a->width > 4;
    if (visit_bit(r, a, address, certain))
        return;
    if (hits_others(r, a, address)) {
        memory_clobber(r, a->when, a, true);
        return;
    }
    if (a->kind == ACCESS_LOAD) {
        struct values_cell *c = crosses || !certain ? NULL : cell_at(r, address & ~3u);
        if (c)
            memory_load(r, a, c, address);
    } else if (a->kind == ACCESS_KILL || crosses || !certain) {
        kill_word(r, a, address);
    } else {
        struct values_cell *c = cell_at(r, address & ~3u);
        if (c)
            memory_store(r, a, c, address);
    }
}

void values_memory_begin(struct values *r)
{
    struct values_memory_state *m = &r->memory;
    r->news_before = r->rules.news;
    m->round++;
    m->record_count = 0;
    m->clobber_count = 0;
    m->hard_epoch = m->stack_epoch = m->kernel_epoch = 0;
    m->stack_other = false;
    m->listed_count = 0;
}

bool values_memory_accesses(struct values *r, size_t *at, size_t *budget)
{
    struct values_memory_state *m = &r->memory;
    for (; *at < m->access_count && *budget && !r->rules.nomem; ++*at, --*budget)
        visit_access(r, &m->accesses[*at]);
    return *at == m->access_count;
}

bool values_memory_cells(struct values *r, size_t *at, size_t *budget)
{
    struct values_memory_state *m = &r->memory;
    for (; *at < m->cell_max && *budget && !r->rules.nomem; ++*at, --*budget) {
        struct values_cell *c = &m->cells[*at];
        if (!c->used || c->round != m->round)
            continue;
        refresh_cell(r, c);
        record_word(r, c, (uint32_t)r->count + 1);
        if (c->kind == VALUES_MEMORY_RAM && c->version)
            rules_learn(&r->rules, c->version, c->present, VALUES_PRESENT);
    }
    return *at == m->cell_max;
}

void values_memory_keep(struct values *r)
{
    r->proved = (struct values_memory_state){.records = r->memory.records,
                                             .record_count = r->memory.record_count,
                                             .record_max = r->memory.record_max,
                                             .clobbers = r->memory.clobbers,
                                             .clobber_count = r->memory.clobber_count,
                                             .clobber_max = r->memory.clobber_max};
    r->memory.records = NULL;
    r->memory.clobbers = NULL;
    r->memory.record_count = r->memory.record_max = 0;
    r->memory.clobber_count = r->memory.clobber_max = 0;
}

/*
 * The value of the word at that state, or (value 0) its present contents. Without a record the
 * word was not written by a known store from there to the end, nor by one that may write
 * anywhere, if no clobber follows.
 */
bool values_memory_find(const struct values *r, const struct values_memory_state *m,
                        uint32_t position, uint32_t address, uint32_t *value, uint32_t *present)
{
    uint32_t word;
    enum values_memory kind = look_up_word(r, address, &word);
    size_t low = 0, high = m->record_count;
    *value = 0;
    if (!is_trusted(kind))
        return false;
    *present = word;
    if (kind == VALUES_MEMORY_CONST)
        return true;
    while (low < high) { /* first record behind (address, position) */
        size_t mid = (low + high) / 2;
        const struct values_record *x = &m->records[mid];
        if (x->address < address || (x->address == address && x->from <= position))
            low = mid + 1;
        else
            high = mid;
    }
    if (low && m->records[low - 1].address == address && m->records[low - 1].to >= position) {
        *value = m->records[low - 1].value;
        return true;
    }
    if (low < m->record_count && m->records[low].address == address)
        return false;
    if (m->clobber_count && m->clobbers[m->clobber_count - 1] > position)
        return false;
    return kind == VALUES_MEMORY_RAM;
}

size_t values_touches(const struct values *r)
{
    return r->memory.access_count;
}

/* Where the access goes besides, or instead. */
static void place_touch(const struct values *r, struct values_touch *t)
{
    uint32_t in = t->address - BIT_BAND, word;
    if (r->second == SECOND_BIT_BAND && in < BIT_BAND_SIZE) {
        t->address = BIT_BAND_OF + (in >> 5);
        t->size = t->size > 4 ? t->size / 4 : 1;
        t->value_known = false;
        return;
    }
    enum values_memory kind = look_up_word(r, t->address & ~3u, &word);
    if (t->store && (kind == VALUES_MEMORY_OTHER || kind == VALUES_MEMORY_CONST))
        t->known = !may_be_alias(r, t->address);
}

bool values_touch(const struct values *r, size_t i, struct values_touch *t)
{
    const struct values_value *values = r->rules.values;
    const struct values_access *a = &r->memory.accesses[i];
    const struct values_value *cond = a->cond ? &values[a->cond] : NULL;
    bool any = a->kind == ACCESS_CLOBBER;
    *t = (struct values_touch){.step = a->when ? a->when - 1 : 0,
                               .size = a->width,
                               .load = any || a->kind == ACCESS_LOAD,
                               .store = a->kind != ACCESS_LOAD,
                               .perhaps = a->kind == ACCESS_KILL || (cond && !cond->how)};
    if (a->kind == ACCESS_RAISE || a->kind == ACCESS_SWITCH || (cond && cond->how && !cond->number))
        return false;
    if (any || !rules_known(&r->rules, a->base))
        return true;
    t->known = true;
    t->inferred = values[a->base].inferred || (cond && cond->inferred);
    t->address = values[a->base].number + a->offset;
    t->value_known = a->kind == ACCESS_STORE && a->data && rules_known(&r->rules, a->data);
    t->value = t->value_known ? values[a->data].number : 0;
    place_touch(r, t);
    return true;
}
