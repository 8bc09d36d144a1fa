/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/coresight/coresight.h"

#define POLL_LIMIT_US 100000u
#define POLL_SLEEP_US 100u
#define POLL_LOOKS    10u /* at least: one may take long on a slow bus or a busy machine */

static int coresight_note(struct coresight_bus *bus, const struct mem_ap *ap, int error)
{
    if (error != 0) {
        bus->failure = ap->dp->failure;
        bus->fault_address = ap->fault_address;
    }
    return error;
}

static int ap_read(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    struct mem_ap *ap = bus->self;
    unsigned tries = 0;
    int error;
    do {
        error = coresight_note(bus, ap, mem_ap_read_words(ap, address, words, count));
    } while (debug_link_again(error, bus->failure, &tries));
    return error;
}

static int ap_write(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                    size_t count)
{
    struct mem_ap *ap = bus->self;
    unsigned tries = 0;
    int error;
    do {
        error = coresight_note(bus, ap, mem_ap_write_words(ap, address, words, count));
    } while (debug_link_again(error, bus->failure, &tries));
    return error;
}

static int ap_read_fifo(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    struct mem_ap *ap = bus->self;
    return coresight_note(bus, ap, mem_ap_read_fifo(ap, address, words, count));
}

static int ap_list(struct coresight_bus *bus, struct mem_ap_access *list, size_t count)
{
    struct mem_ap *ap = bus->self;
    unsigned tries = 0;
    int error;
    do {
        error = coresight_note(bus, ap, mem_ap_list(ap, list, count));
    } while (debug_link_again(error, bus->failure, &tries));
    return error;
}

static const struct coresight_bus_ops MEM_AP_OPS = {
    .read = ap_read,
    .write = ap_write,
    .read_fifo = ap_read_fifo,
    .list = ap_list,
};

void coresight_bus_on_mem_ap(struct coresight_bus *bus, struct mem_ap *ap)
{
    *bus = (struct coresight_bus){.ops = &MEM_AP_OPS, .self = ap, .clock = ap->dp->clock};
}

/* Single registers. */

int coresight_modify(struct coresight_bus *bus, uint64_t address, uint32_t mask, uint32_t value)
{
    uint32_t now;
    int error = coresight_read(bus, address, &now);
    return error != 0 ? error : coresight_write(bus, address, (now & ~mask) | (value & mask));
}

int coresight_access(struct coresight_bus *bus, struct mem_ap_access *list, size_t count)
{
    int error = 0;
    if (bus->ops->list)
        return count > 0 ? bus->ops->list(bus, list, count) : 0;
    for (size_t k = 0; error == 0 && k < count; k++)
        error = list[k].write ? coresight_write(bus, list[k].address, list[k].value)
                              : coresight_read(bus, list[k].address, &list[k].value);
    return error;
}

int coresight_write_list(struct coresight_bus *bus, uint64_t base,
                         const struct coresight_setting *list, size_t count)
{
    struct mem_ap_access part[MEM_AP_LISTED];
    size_t used = 0;
    int error = 0;
    for (size_t k = 0; k < count; k++)
        for (unsigned n = 0; error == 0 && n < list[k].count; n++) {
            part[used++] =
                (struct mem_ap_access){base + list[k].offset + 4 * n, true, list[k].value};
            if (used == MEM_AP_LISTED) {
                error = coresight_access(bus, part, used);
                used = 0;
            }
        }
    return error == 0 ? coresight_access(bus, part, used) : error;
}

int coresight_read_list(struct coresight_bus *bus, uint64_t base,
                        const struct coresight_reading *list, size_t count)
{
    struct mem_ap_access part[MEM_AP_LISTED];
    int error = 0;
    for (size_t done = 0, n; error == 0 && done < count; done += n) {
        n = count - done < MEM_AP_LISTED ? count - done : MEM_AP_LISTED;
        for (size_t k = 0; k < n; k++)
            part[k] = (struct mem_ap_access){.address = base + list[done + k].offset};
        error = coresight_access(bus, part, n);
        for (size_t k = 0; k < n; k++)
            *list[done + k].value = part[k].value;
    }
    return error;
}

int coresight_poll(struct coresight_bus *bus, uint64_t address, uint32_t mask, uint32_t value)
{
    uint64_t begin = debug_now(&bus->clock);
    for (unsigned looks = 1;; looks++) {
        /* The time is taken first: a pause between reading and looking at the clock is no loss. */
        bool late = debug_now(&bus->clock) - begin > POLL_LIMIT_US;
        uint32_t now;
        int error = coresight_read(bus, address, &now);
        if (error != 0 || (now & mask) == value)
            return error;
        if (late && looks >= POLL_LOOKS) {
            bus->failure = DEBUG_FAIL_TIMEOUT;
            bus->fault_address = address;
            return BT_ERR_IO;
        }
        debug_sleep(&bus->clock, POLL_SLEEP_US);
    }
}

/* Kinds. */

#define ARCH_PRESENT 0x00100000u
#define ARCH_ROM     0x0af7u
#define ARCH_MTB     0x0a31u
#define ARCH_ETM4    0x4a13u
#define ARCH_ETE     0x5a13u

static const struct {
    uint16_t part;
    uint8_t kind;
} PARTS[] = {
    {0x000, CORESIGHT_SCS},    {0x00c, CORESIGHT_SCS},        {0x008, CORESIGHT_SCS},
    {0x001, CORESIGHT_ITM},    {0x913, CORESIGHT_ITM},        {0x002, CORESIGHT_DWT},
    {0x00a, CORESIGHT_DWT},    {0x003, CORESIGHT_FPB},        {0x00e, CORESIGHT_FPB},
    {0x00b, CORESIGHT_FPB},    {0x907, CORESIGHT_ETB},        {0x908, CORESIGHT_FUNNEL},
    {0x9eb, CORESIGHT_FUNNEL}, {0x909, CORESIGHT_REPLICATOR}, {0x9ec, CORESIGHT_REPLICATOR},
    {0x906, CORESIGHT_CTI},    {0x922, CORESIGHT_CTI},        {0x9ed, CORESIGHT_CTI},
    {0x912, CORESIGHT_TPIU},   {0x923, CORESIGHT_TPIU},       {0x9a1, CORESIGHT_TPIU},
    {0x9a9, CORESIGHT_TPIU},   {0x9e7, CORESIGHT_TPIU},       {0x914, CORESIGHT_SWO},
    {0x921, CORESIGHT_ETM},    {0x924, CORESIGHT_ETM},        {0x925, CORESIGHT_ETM},
    {0x930, CORESIGHT_ETM},    {0x931, CORESIGHT_ETM},        {0x955, CORESIGHT_ETM},
    {0x956, CORESIGHT_ETM},    {0x950, CORESIGHT_PTM},        {0x95b, CORESIGHT_PTM},
    {0x95f, CORESIGHT_PTM},    {0x95a, CORESIGHT_ETM4},       {0x95d, CORESIGHT_ETM4},
    {0x95e, CORESIGHT_ETM4},   {0x975, CORESIGHT_ETM4},       {0x961, CORESIGHT_TMC},
    {0x9e8, CORESIGHT_TMC},    {0x9e9, CORESIGHT_TMC},        {0x9ea, CORESIGHT_TMC},
    {0x962, CORESIGHT_STM},    {0x9a0, CORESIGHT_PMU},        {0x932, CORESIGHT_MTB},
};

/* By type alone, for parts that are not in the table or not ARM's. */
static enum coresight_kind kind_of_type(uint8_t type)
{
    static const uint8_t kinds[] = {
        [0x11] = CORESIGHT_TPIU,       [0x12] = CORESIGHT_FUNNEL, [0x22] = CORESIGHT_REPLICATOR,
        [0x43] = CORESIGHT_ITM,        [0x63] = CORESIGHT_STM,    [0x14] = CORESIGHT_CTI,
        [0x15] = CORESIGHT_CORE_DEBUG, [0x16] = CORESIGHT_PMU,
    };
    return type < sizeof kinds ? kinds[type] : CORESIGHT_OTHER;
}

enum coresight_kind coresight_kind_of(const struct coresight_component *c)
{
    bool arch = (c->arch & ARCH_PRESENT) != 0 && c->arch >> 21 == CORESIGHT_ARM;
    if (c->component_class == CORESIGHT_CLASS_ROM || (arch && (c->arch & 0xffff) == ARCH_ROM))
        return CORESIGHT_ROM_TABLE;
    if (arch && ((c->arch & 0xffff) == ARCH_ETM4 || (c->arch & 0xffff) == ARCH_ETE))
        return CORESIGHT_ETM4;
    if (arch && (c->arch & 0xffff) == ARCH_MTB)
        return CORESIGHT_MTB;
    for (size_t k = 0; c->designer == CORESIGHT_ARM && k < sizeof PARTS / sizeof *PARTS; k++) {
        if (PARTS[k].part == c->part)
            return (enum coresight_kind)PARTS[k].kind;
    }
    return kind_of_type(c->type);
}

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
    int error = bus->ops->read(bus, page + ID_FIRST, id, ID_WORDS);
    if (error != 0)
        return error;
    if (!id_valid(id))
        return BT_ERR_FORMAT;
    decode_ids(id, c);
    uint64_t extra = ((uint64_t)1 << (id[0] >> 4 & 0xf)) - 1;
    if (extra * PAGE <= page)
        c->base = page - extra * PAGE;
    if (c->component_class != CORESIGHT_CLASS_CORESIGHT)
        return 0;
    uint32_t type = 0;
    error = coresight_read(bus, page + DEVARCH, &c->arch);
    if (error == 0)
        error = coresight_read(bus, page + DEVID, &c->devid);
    if (error == 0)
        error = coresight_read(bus, page + DEVTYPE, &type);
    c->type = (uint8_t)type;
    return error;
}

/* May the walk go on after this? A component that answers with an error is only skipped. */
static bool coresight_tolerable(const struct walk *w, int error)
{
    return error == 0 || error == BT_ERR_FORMAT || error == BT_ERR_RANGE ||
           (error == BT_ERR_IO &&
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
    int error = coresight_identify(w->bus, page, &c);
    if (error != 0)
        return coresight_tolerable(w, error) ? 0 : error;
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
    int error = w->bus->ops->read(w->bus, table->base + (uint64_t)index * (wide ? 8 : 4), entry,
                                  wide ? 2 : 1);
    if (error != 0) {
        *more = false;
        return coresight_tolerable(w, error) ? 0 : error;
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
    int error = 0;
    for (unsigned k = 0; error == 0 && more && k < limit && w->entries < MAX_ENTRIES; k++)
        error = walk_entry(w, table, k, depth, &more);
    return error;
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
    int error = coresight_identify(bus, first, &table);
    if (error == 0)
        error = coresight_visit(&w, first, 0);
    return error != 0 ? error : (int)w.count;
}
