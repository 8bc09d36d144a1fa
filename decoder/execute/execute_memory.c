/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/execute/execute_memory.h"
#include "btrace/types.h"

#include <stdlib.h>
#include <string.h>

#define MIN_SLOTS 64u
#define OFFSET(a) ((unsigned)((a) & (EXECUTE_PAGE - 1)))
#define NOWHERE   SIZE_MAX

struct execute_page {
    uint64_t address;
    size_t holders;
    uint8_t bytes[EXECUTE_PAGE];
    uint8_t known[EXECUTE_PAGE / 8 + 4]; /* a bit a byte; more, so that any four can be loaded */
};

void execute_memory_init(struct execute_memory *m, struct execute_budget *budget,
                         execute_kind_fn *kind, void *context)
{
    *m = (struct execute_memory){
        .budget = budget, .kind = kind, .context = context, .last = NOWHERE};
}

static void let_go(struct execute_memory *m, struct execute_page *page)
{
    if (--page->holders)
        return;
    m->budget->used -= sizeof *page;
    free(page);
}

void execute_memory_forget(struct execute_memory *m)
{
    for (size_t i = 0; m->count && i < m->max; i++) {
        if (!m->pages[i])
            continue;
        let_go(m, m->pages[i]);
        m->pages[i] = NULL;
        m->count--;
    }
    m->last = NOWHERE;
    m->bound_count = m->bound_next = m->pair_count = m->pair_next = 0;
    m->bound_near = 0;
    memset(m->held, 0, sizeof m->held);
    memset(m->watched, 0, sizeof m->watched);
}

void execute_memory_release(struct execute_memory *m)
{
    if (!m->budget)
        return;
    execute_memory_forget(m);
    m->budget->used -= m->max * sizeof *m->pages;
    free(m->pages);
    m->pages = NULL;
    m->max = 0;
}

static bool take_bytes(struct execute_budget *budget, size_t size)
{
    if (budget->used > budget->limit || size > budget->limit - budget->used)
        return false;
    budget->used += size;
    return true;
}

static struct execute_page **new_slots(struct execute_memory *m, size_t max)
{
    struct execute_page **slots = NULL;
    if (!take_bytes(m->budget, max * sizeof *slots))
        return NULL;
    slots = calloc(max, sizeof *slots);
    if (!slots)
        m->budget->used -= max * sizeof *slots;
    return slots;
}

int execute_memory_share(struct execute_memory *to, const struct execute_memory *from)
{
    struct execute_memory copy = *from;
    copy.pages = from->max ? new_slots(&copy, from->max) : NULL;
    if (from->max && !copy.pages) {
        execute_memory_init(to, from->budget, from->kind, from->context);
        return BT_ERR_NOMEM;
    }
    for (size_t i = 0; i < from->max; i++) {
        copy.pages[i] = from->pages[i];
        if (copy.pages[i])
            copy.pages[i]->holders++;
    }
    *to = copy;
    return BT_OK;
}

/* The answer that holds `address`, put first. */
static const struct execute_range *ask_kind(struct execute_memory *m, uint64_t address)
{
    struct execute_range r = {0};
    unsigned i = 0;
    while (i < EXECUTE_RANGES &&
           (address < m->ranges[i].from ||
            address - m->ranges[i].from >= m->ranges[i].to - m->ranges[i].from))
        i++;
    if (i < EXECUTE_RANGES) {
        r = m->ranges[i];
    } else {
        i = EXECUTE_RANGES - 1;
        if (m->kind)
            r.kind = m->kind(m->context, address, &r.from, &r.to, &r.bytes);
        if (r.to <= address || r.from > address) { /* nothing is told: that byte alone */
            r.from = address;
            r.to = address + 1;
            r.kind = r.kind == EXECUTE_MEMORY_CONST ? EXECUTE_MEMORY_OTHER : r.kind;
        }
    }
    memmove(&m->ranges[1], &m->ranges[0], i * sizeof r);
    m->ranges[0] = r;
    return &m->ranges[0];
}

static inline const struct execute_range *range_of(struct execute_memory *m, uint64_t address)
{
    const struct execute_range *r = &m->ranges[0];
    if (address >= r->from && address < r->to)
        return r;
    return ask_kind(m, address);
}

enum execute_memory_kind execute_memory_kind(struct execute_memory *m, uint64_t address)
{
    return range_of(m, address)->kind;
}

/* Where the page is, or where it may be put. */
static size_t find_slot(struct execute_page *const *pages, size_t max, uint64_t page)
{
    size_t i = (size_t)(page / EXECUTE_PAGE * 0x9e3779b97f4a7c15u >> 20) & (max - 1);
    while (pages[i] && pages[i]->address != page)
        i = (i + 1) & (max - 1);
    return i;
}

static struct execute_page *find_page(struct execute_memory *m, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(EXECUTE_PAGE - 1);
    if (m->last != NOWHERE && m->pages[m->last]->address == page)
        return m->pages[m->last];
    if (!m->count)
        return NULL;
    size_t at = find_slot(m->pages, m->max, page);
    if (m->pages[at])
        m->last = at;
    return m->pages[at];
}

bool execute_memory_is_shared(struct execute_memory *a, struct execute_memory *b, uint64_t address,
                              uint64_t size)
{
    uint64_t last = address + size - 1;
    const struct execute_range *r = range_of(b, address);
    if (r->kind != EXECUTE_MEMORY_RAM || r->to - address < size)
        return false;
    for (uint64_t at = address; at <= last; at = (at | (EXECUTE_PAGE - 1)) + 1) {
        const struct execute_page *page = find_page(a, at);
        if (!page || page != find_page(b, at))
            return false;
        if ((last | (EXECUTE_PAGE - 1)) == (at | (EXECUTE_PAGE - 1)))
            break;
    }
    return true;
}

static bool make_room(struct execute_memory *m)
{
    if (m->count < m->max / 2)
        return true;
    size_t max = m->max ? m->max * 2 : MIN_SLOTS;
    struct execute_page **grown = new_slots(m, max);
    if (!grown)
        return false;
    for (size_t i = 0; i < m->max; i++)
        if (m->pages[i])
            grown[find_slot(grown, max, m->pages[i]->address)] = m->pages[i];
    free(m->pages);
    m->budget->used -= m->max * sizeof *grown;
    m->pages = grown;
    m->max = max;
    m->last = NOWHERE;
    return true;
}

static struct execute_page *new_page(struct execute_memory *m)
{
    if (!take_bytes(m->budget, sizeof(struct execute_page)))
        return NULL;
    struct execute_page *page = calloc(1, sizeof *page);
    if (!page)
        m->budget->used -= sizeof *page;
    else
        page->holders = 1;
    return page;
}

/* The page, made if it is lacking, and this state's alone. */
static struct execute_page *own_page(struct execute_memory *m, uint64_t address)
{
    struct execute_page *page = find_page(m, address), *copy;
    if (page && page->holders == 1)
        return page;
    if (!page && !make_room(m))
        return NULL;
    copy = new_page(m);
    if (!copy)
        return NULL;
    if (page) {
        memcpy(copy->bytes, page->bytes, sizeof copy->bytes);
        memcpy(copy->known, page->known, sizeof copy->known);
        let_go(m, page);
    }
    copy->address = address & ~(uint64_t)(EXECUTE_PAGE - 1);
    if (!page) {
        m->last = find_slot(m->pages, m->max, copy->address);
        m->count++;
    } else {
        copy->address = page->address;
    }
    m->pages[m->last] = copy;
    return copy;
}

/* Known bits of 16 bytes from `at`; those of the next page are 0. */
static inline uint32_t known_bits(const struct execute_page *page, unsigned at)
{
    uint32_t bits;
    memcpy(&bits, &page->known[at >> 3], sizeof bits);
    return bits >> (at & 7);
}

static bool read_byte(struct execute_memory *m, uint64_t address, uint8_t *byte)
{
    const struct execute_range *r = range_of(m, address);
    if (r->kind == EXECUTE_MEMORY_CONST) {
        *byte = r->bytes[address - r->from];
        return true;
    }
    const struct execute_page *page = r->kind == EXECUTE_MEMORY_RAM ? find_page(m, address) : NULL;
    if (!page)
        return false;
    *byte = page->bytes[OFFSET(address)];
    return known_bits(page, OFFSET(address)) & 1;
}

bool execute_memory_read(struct execute_memory *m, uint64_t address, void *bytes, unsigned size)
{
    const struct execute_range *r = range_of(m, address);
    unsigned at = OFFSET(address);
    bool whole = r->to - address >= size;
    if (whole && r->kind == EXECUTE_MEMORY_CONST) {
        memcpy(bytes, r->bytes + (address - r->from), size);
        return true;
    }
    if (whole && r->kind == EXECUTE_MEMORY_RAM && at + size <= EXECUTE_PAGE) {
        const struct execute_page *page = find_page(m, address);
        uint32_t mask = (1u << size) - 1;
        if (!page || (known_bits(page, at) & mask) != mask)
            return false;
        memcpy(bytes, &page->bytes[at], size);
        return true;
    }
    for (unsigned i = 0; i < size; i++)
        if (!read_byte(m, address + i, (uint8_t *)bytes + i))
            return false;
    return true;
}

/* `size` bytes of one page. */
static void set_bytes(struct execute_page *page, unsigned at, const uint8_t *bytes, unsigned size)
{
    if (bytes && size <= 16) {
        uint32_t bits;
        memcpy(page->bytes + at, bytes, size);
        memcpy(&bits, &page->known[at >> 3], sizeof bits);
        bits |= ((1u << size) - 1) << (at & 7);
        memcpy(&page->known[at >> 3], &bits, sizeof bits);
        return;
    }
    if (bytes)
        memcpy(page->bytes + at, bytes, size);
    for (unsigned i = at; i < at + size; i++)
        page->known[i >> 3] = (uint8_t)(bytes ? page->known[i >> 3] | 1u << (i & 7)
                                              : page->known[i >> 3] & ~(1u << (i & 7)));
}

static int write_part(struct execute_memory *m, const struct execute_range *r, uint64_t address,
                      const uint8_t *bytes, unsigned size)
{
    if (r->kind == EXECUTE_MEMORY_ALIAS)
        execute_memory_forget(m);
    if (r->kind != EXECUTE_MEMORY_RAM || (!bytes && !find_page(m, address)))
        return BT_OK;
    struct execute_page *page = own_page(m, address);
    if (!page)
        return BT_ERR_NOMEM;
    set_bytes(page, OFFSET(address), bytes, size);
    return BT_OK;
}

static uint64_t near_bit(uint64_t address)
{
    return UINT64_C(1) << (address >> 5 & 63);
}

/* One that is free, or else the oldest range: the status of a task lies on its stack for long, and
 * without it all is lost that the task goes on to do. */
static struct execute_bound *place_of_bound(struct execute_memory *m)
{
    for (unsigned i = 0; i < m->bound_count; i++)
        if (!m->bounds[i].range && !m->bounds[i].bits)
            return &m->bounds[i];
    if (m->bound_count < EXECUTE_BOUNDS)
        return &m->bounds[m->bound_count++];
    struct execute_bound *b = &m->bounds[m->bound_next++ % EXECUTE_BOUNDS];
    for (unsigned i = 1; i < EXECUTE_BOUNDS && b->bits; i++)
        b = &m->bounds[m->bound_next++ % EXECUTE_BOUNDS];
    return b;
}

static void add_bound(struct execute_memory *m, const struct execute_bound *b)
{
    if (range_of(m, b->address)->kind != EXECUTE_MEMORY_RAM)
        return;
    for (unsigned i = 0; i < m->bound_count; i++)
        if (m->bounds[i].address == b->address && m->bounds[i].width == b->width)
            m->bounds[i].range = m->bounds[i].bits = 0;
    *place_of_bound(m) = *b;
    m->bound_near |= near_bit(b->address) | near_bit(b->address + 3);
}

void execute_memory_bound(struct execute_memory *m, uint64_t address, unsigned width,
                          uint32_t number, uint32_t range)
{
    add_bound(m, &(struct execute_bound){address, number, range, 0, (uint8_t)width});
}

void execute_memory_set_bits(struct execute_memory *m, uint64_t address, uint32_t number,
                             uint32_t bits)
{
    add_bound(m, &(struct execute_bound){address, number, 0, bits, 4});
}

uint32_t execute_memory_range(const struct execute_memory *m, uint64_t address, unsigned width,
                              uint32_t *number)
{
    for (unsigned i = 0; m->bound_near & near_bit(address) && i < m->bound_count; i++) {
        *number = m->bounds[i].number;
        if (m->bounds[i].address == address && m->bounds[i].width == width && m->bounds[i].range)
            return m->bounds[i].range;
    }
    return 0;
}

uint32_t execute_memory_bits(const struct execute_memory *m, uint64_t address, uint32_t *number)
{
    *number = 0;
    for (unsigned i = 0; m->bound_near & near_bit(address) && i < m->bound_count; i++) {
        if (m->bounds[i].address != address || !m->bounds[i].bits)
            continue;
        *number = m->bounds[i].number;
        return m->bounds[i].bits;
    }
    return 0;
}

void execute_memory_set_pair(struct execute_memory *m, const struct execute_pair *pair)
{
    if (range_of(m, pair->address)->kind != EXECUTE_MEMORY_RAM)
        return;
    for (unsigned i = 0; i < m->pair_count; i++)
        if (m->pairs[i].address == pair->address)
            m->pairs[i].instance = 0;
    m->pairs[m->pair_next++ % EXECUTE_PAIRS] = *pair;
    m->pair_count += m->pair_count < EXECUTE_PAIRS;
    m->bound_near |= near_bit(pair->address) | near_bit(pair->address + 3);
}

const struct execute_pair *execute_memory_pair(const struct execute_memory *m, uint64_t address)
{
    for (unsigned i = 0; m->bound_near & near_bit(address) && i < m->pair_count; i++)
        if (m->pairs[i].address == address && m->pairs[i].instance)
            return &m->pairs[i];
    return NULL;
}

void execute_memory_hold(struct execute_memory *m, uint64_t address, uint32_t number, uint8_t what)
{
    struct execute_held *h = NULL;
    if (range_of(m, address)->kind != EXECUTE_MEMORY_RAM || !number)
        return;
    for (unsigned i = 0; i < EXECUTE_HELDS && !h; i++)
        h = m->held[i].number ? NULL : &m->held[i];
    if (!h)
        h = &m->held[m->held_next++ % EXECUTE_HELDS];
    *h = (struct execute_held){address, number, what};
    m->bound_near |= near_bit(address) | near_bit(address + 3);
}

uint32_t execute_memory_held(const struct execute_memory *m, uint64_t address, uint8_t what,
                             uint32_t number)
{
    for (unsigned i = 0; m->bound_near & near_bit(address) && i < EXECUTE_HELDS; i++)
        if (m->held[i].address == address && m->held[i].what == what && m->held[i].number &&
            (!number || m->held[i].number == number))
            return m->held[i].number;
    return 0;
}

void execute_memory_let_go(struct execute_memory *m, uint32_t number)
{
    for (unsigned i = 0; i < EXECUTE_HELDS; i++)
        if (m->held[i].number == number)
            m->held[i].number = 0;
}

static void forget_bounds(struct execute_memory *m, uint64_t address, size_t size)
{
    if (size <= 32 && !(m->bound_near & (near_bit(address) | near_bit(address + size - 1))))
        return;
    for (unsigned i = 0; i < m->bound_count; i++)
        if (m->bounds[i].address + m->bounds[i].width - 1 - address < size + m->bounds[i].width - 1)
            m->bounds[i].range = m->bounds[i].bits = 0;
    for (unsigned i = 0; i < m->pair_count; i++)
        if (m->pairs[i].address + 3 - address < size + 3)
            m->pairs[i].instance = 0;
    for (unsigned i = 0; i < EXECUTE_HELDS; i++)
        if (m->held[i].address + 3 - address < size + 3)
            m->held[i].number = 0;
}

void execute_memory_watch(struct execute_memory *m, enum execute_watch n, uint64_t address,
                          unsigned size)
{
    const struct execute_range *r = range_of(m, address);
    m->watched[n].address = address;
    m->watched[n].size = r->kind == EXECUTE_MEMORY_RAM && r->to - address >= size ? size : 0;
}

bool execute_memory_is_same(const struct execute_memory *m, enum execute_watch n, uint64_t *address)
{
    *address = m->watched[n].address;
    return m->watched[n].size;
}

int execute_memory_write(struct execute_memory *m, uint64_t address, const void *bytes, size_t size)
{
    int error = BT_OK;
    if (m->bound_near && size)
        forget_bounds(m, address, size);
    for (unsigned n = 0; n < EXECUTE_WATCHES; n++)
        if (address - m->watched[n].address < m->watched[n].size ||
            m->watched[n].address - address < size)
            m->watched[n].size = 0;
    for (size_t done = 0; done < size && !error;) {
        const struct execute_range *r = range_of(m, address + done);
        uint64_t part = r->to - (address + done), page = EXECUTE_PAGE - OFFSET(address + done);
        part = part < page ? part : page;
        part = part < size - done ? part : size - done;
        error = write_part(m, r, address + done, bytes ? (const uint8_t *)bytes + done : NULL,
                           (unsigned)part);
        done += (size_t)part;
    }
    return error;
}
