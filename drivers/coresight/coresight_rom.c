/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding components. IHI 0031F part D, ROM tables. */
#include "drivers/coresight/coresight.h"

#define PAGE          0x1000u
#define ID_FIRST      0xfd0u /* PIDR4; the identification is 12 words from here */
#define ID_WORDS      12u
#define DEVARCH       0xfbcu
#define DEVID         0xfc8u
#define DEVTYPE       0xfccu
#define MAX_DEPTH     16u
#define MAX_TABLES    64u
#define MAX_ENTRIES   4096u
#define TABLE_ENTRIES 960u
#define SMALL_ENTRIES 512u /* of a class 9 table, in words */

#define BASE_NONE    0xffffffffu
#define BASE_FORMAT  0x2u
#define BASE_PRESENT 0x1u
#define LOW          0xffffffffull

struct walk {
    struct coresight_bus *bus;
    struct coresight_component *list;
    unsigned max;
    unsigned count;
    uint64_t tables[MAX_TABLES];
    unsigned table_count;
    unsigned entries;
    bool wide; /* addresses of 64 bits */
};

static void decode_ids(const uint32_t *id, struct coresight_component *c)
{
    /* PIDR4..7, PIDR0..3, CIDR0..3, a byte each. */
    uint32_t low =
        (id[4] & 0xff) | (id[5] & 0xff) << 8 | (id[6] & 0xff) << 16 | (id[7] & 0xff) << 24;
    c->part = low & 0xfff;
    c->designer = (uint16_t)((id[0] & 0xf) << 7 | (low >> 12 & 0x7f));
    c->revision = low >> 20 & 0xf;
    c->component_class = id[9] >> 4 & 0xf;
}

static bool id_valid(const uint32_t *id)
{
    return (id[8] & 0xff) == 0x0d && (id[9] & 0x0f) == 0 && (id[10] & 0xff) == 0x05 &&
           (id[11] & 0xff) == 0xb1;
}

/* Of the page at `page`; a component of several pages has its identification in the last one. */
int coresight_identify(struct coresight_bus *bus, uint64_t page, struct coresight_component *c)
{
    uint32_t id[ID_WORDS];
    *c = (struct coresight_component){.base = page};
    int rc = bus->ops->read(bus, page + ID_FIRST, id, ID_WORDS);
    if (rc != 0)
        return rc;
    if (!id_valid(id))
        return BT_ERR_FORMAT;
    decode_ids(id, c);
    uint64_t extra = ((uint64_t)1 << (id[0] >> 4 & 0xf)) - 1;
    if (extra * PAGE <= page)
        c->base = page - extra * PAGE;
    if (c->component_class != CORESIGHT_CLASS_CORESIGHT)
        return 0;
    uint32_t type = 0;
    rc = coresight_read(bus, page + DEVARCH, &c->arch);
    if (rc == 0)
        rc = coresight_read(bus, page + DEVID, &c->devid);
    if (rc == 0)
        rc = coresight_read(bus, page + DEVTYPE, &type);
    c->type = (uint8_t)type;
    return rc;
}

/* May the walk go on after this? A component that answers with an error is only skipped. */
static bool coresight_tolerable(const struct walk *w, int rc)
{
    return rc == 0 || rc == BT_ERR_FORMAT || rc == BT_ERR_RANGE ||
           (rc == BT_ERR_IO &&
            (w->bus->failure == DEBUG_FAIL_FAULT || w->bus->failure == DEBUG_FAIL_WAIT));
}

static bool coresight_known(const struct walk *w, uint64_t base)
{
    for (unsigned k = 0; k < w->count; k++) {
        if (w->list[k].base == base)
            return true;
    }
    return false;
}

static int walk_table(struct walk *w, const struct coresight_component *table, unsigned depth);

/* What an entry points to. */
static int coresight_visit(struct walk *w, uint64_t page, unsigned depth)
{
    struct coresight_component c;
    int rc = coresight_identify(w->bus, page, &c);
    if (rc != 0)
        return coresight_tolerable(w, rc) ? 0 : rc;
    if (coresight_known(w, c.base) || w->count == w->max)
        return 0;
    w->list[w->count++] = c;
    return coresight_kind_of(&c) == CORESIGHT_ROM_TABLE ? walk_table(w, &c, depth) : 0;
}

/* *more: not the end of the table yet. */
static int walk_entry(struct walk *w, const struct coresight_component *table, unsigned index,
                      unsigned depth, bool *more)
{
    bool class_9 = table->component_class != CORESIGHT_CLASS_ROM;
    bool wide = class_9 && (table->devid & 0xf) == 1;
    uint32_t entry[2] = {0, 0};
    *more = true;
    w->entries++;
    int rc = w->bus->ops->read(w->bus, table->base + (uint64_t)index * (wide ? 8 : 4), entry,
                               wide ? 2 : 1);
    if (rc != 0) {
        *more = false;
        return coresight_tolerable(w, rc) ? 0 : rc;
    }
    *more = class_9 ? (entry[0] & 3) != 0 : (entry[0] | entry[1]) != 0;
    bool present = class_9 ? (entry[0] & 3) == 3 : (entry[0] & 1) != 0;
    if (!*more || !present)
        return 0;
    uint64_t offset = (uint64_t)entry[1] << 32 | (entry[0] & ~(PAGE - 1));
    if (!wide && w->wide) /* the offset is signed */
        offset = (uint64_t)(int64_t)(int32_t)(entry[0] & ~(PAGE - 1));
    uint64_t page = table->base + offset;
    return coresight_visit(w, w->wide ? page : page & LOW, depth + 1);
}

static int walk_table(struct walk *w, const struct coresight_component *table, unsigned depth)
{
    unsigned limit = TABLE_ENTRIES;
    if (table->component_class != CORESIGHT_CLASS_ROM)
        limit = (table->devid & 0xf) == 1 ? SMALL_ENTRIES / 2 : SMALL_ENTRIES;
    if (depth >= MAX_DEPTH || w->table_count == MAX_TABLES)
        return 0;
    for (unsigned k = 0; k < w->table_count; k++) {
        if (w->tables[k] == table->base)
            return 0;
    }
    w->tables[w->table_count++] = table->base;
    bool more = true;
    int rc = 0;
    for (unsigned k = 0; rc == 0 && more && k < limit && w->entries < MAX_ENTRIES; k++)
        rc = walk_entry(w, table, k, depth, &more);
    return rc;
}

int coresight_scan(struct coresight_bus *bus, uint64_t base, struct coresight_component *list,
                   unsigned max)
{
    struct walk w = {.bus = bus, .list = list, .max = max, .wide = base >> 32 != 0};
    uint32_t low = (uint32_t)base;
    if (low == BASE_NONE || (low & (BASE_FORMAT | BASE_PRESENT)) == BASE_FORMAT)
        return BT_ERR_FORMAT;
    uint64_t first = base & ~(uint64_t)(PAGE - 1);
    struct coresight_component table;
    int rc = coresight_identify(bus, first, &table);
    if (rc == 0)
        rc = coresight_visit(&w, first, 0);
    return rc != 0 ? rc : (int)w.count;
}
