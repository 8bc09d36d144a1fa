/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/coresight/coresight.h"

#include "drivers/adi/mem_ap.h"

#define POLL_LIMIT_US 100000u
#define POLL_SLEEP_US 100u
#define POLL_LOOKS    10u /* at least: one may take long on a slow bus or a busy machine */
#define LAR           0xfb0u
#define LAR_KEY       0xc5acce55u

static int coresight_note(struct coresight_bus *bus, const struct mem_ap *ap, int rc)
{
    if (rc != 0) {
        bus->failure = ap->dp->failure;
        bus->fault_address = ap->fault_address;
    }
    return rc;
}

bool coresight_again(const struct coresight_bus *bus, int rc, unsigned *tries)
{
    return debug_link_again(rc, bus->failure, tries);
}

static int ap_read(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    struct mem_ap *ap = bus->self;
    unsigned tries = 0;
    int rc;
    do {
        rc = coresight_note(bus, ap, mem_ap_read_words(ap, address, words, count));
    } while (coresight_again(bus, rc, &tries));
    return rc;
}

static int ap_write(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                    size_t count)
{
    struct mem_ap *ap = bus->self;
    unsigned tries = 0;
    int rc;
    do {
        rc = coresight_note(bus, ap, mem_ap_write_words(ap, address, words, count));
    } while (coresight_again(bus, rc, &tries));
    return rc;
}

static int ap_read_fifo(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    struct mem_ap *ap = bus->self;
    return coresight_note(bus, ap, mem_ap_read_fifo(ap, address, words, count));
}

static const struct coresight_bus_ops MEM_AP_OPS = {
    .read = ap_read,
    .write = ap_write,
    .read_fifo = ap_read_fifo,
};

void coresight_bus_on_mem_ap(struct coresight_bus *bus, struct mem_ap *ap)
{
    *bus = (struct coresight_bus){.ops = &MEM_AP_OPS, .self = ap, .clock = ap->dp->clock};
}

/* Single registers. */

int coresight_read(struct coresight_bus *bus, uint64_t address, uint32_t *value)
{
    *value = 0;
    return bus->ops->read(bus, address, value, 1);
}

int coresight_write(struct coresight_bus *bus, uint64_t address, uint32_t value)
{
    return bus->ops->write(bus, address, &value, 1);
}

int coresight_modify(struct coresight_bus *bus, uint64_t address, uint32_t mask, uint32_t value)
{
    uint32_t now;
    int rc = coresight_read(bus, address, &now);
    return rc != 0 ? rc : coresight_write(bus, address, (now & ~mask) | (value & mask));
}

int coresight_poll(struct coresight_bus *bus, uint64_t address, uint32_t mask, uint32_t value)
{
    uint64_t begin = bus->clock.now_us(bus->clock.user);
    for (unsigned looks = 1;; looks++) {
        /* The time is taken first: a pause between reading and looking at the clock is no loss. */
        bool late = bus->clock.now_us(bus->clock.user) - begin > POLL_LIMIT_US;
        uint32_t now;
        int rc = coresight_read(bus, address, &now);
        if (rc != 0 || (now & mask) == value)
            return rc;
        if (late && looks >= POLL_LOOKS) {
            bus->failure = DEBUG_FAIL_TIMEOUT;
            bus->fault_address = address;
            return BT_ERR_IO;
        }
        bus->clock.sleep_us(bus->clock.user, POLL_SLEEP_US);
    }
}

int coresight_unlock(struct coresight_bus *bus, uint64_t base)
{
    return coresight_write(bus, base + LAR, LAR_KEY);
}

/* Kinds. */

#define ARCH_PRESENT 0x00100000u
#define ARCH_ROM     0x0af7u
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
    {0x962, CORESIGHT_STM},    {0x9a0, CORESIGHT_PMU},
};

/* By type alone, for parts that are not in the table or not ARM's. */
static enum coresight_kind kind_of_type(uint8_t type)
{
    switch (type) {
    case 0x11:
        return CORESIGHT_TPIU;
    case 0x12:
        return CORESIGHT_FUNNEL;
    case 0x22:
        return CORESIGHT_REPLICATOR;
    case 0x43:
        return CORESIGHT_ITM;
    case 0x63:
        return CORESIGHT_STM;
    case 0x14:
        return CORESIGHT_CTI;
    case 0x15:
        return CORESIGHT_CORE_DEBUG;
    case 0x16:
        return CORESIGHT_PMU;
    default:
        return CORESIGHT_OTHER;
    }
}

enum coresight_kind coresight_kind_of(const struct coresight_component *c)
{
    bool arch = (c->arch & ARCH_PRESENT) != 0 && c->arch >> 21 == CORESIGHT_ARM;
    if (c->component_class == CORESIGHT_CLASS_ROM || (arch && (c->arch & 0xffff) == ARCH_ROM))
        return CORESIGHT_ROM_TABLE;
    if (arch && ((c->arch & 0xffff) == ARCH_ETM4 || (c->arch & 0xffff) == ARCH_ETE))
        return CORESIGHT_ETM4;
    for (size_t k = 0; c->designer == CORESIGHT_ARM && k < sizeof PARTS / sizeof *PARTS; k++) {
        if (PARTS[k].part == c->part)
            return (enum coresight_kind)PARTS[k].kind;
    }
    return kind_of_type(c->type);
}

const char *coresight_kind_name(enum coresight_kind kind)
{
    static const char *const NAMES[] = {
        [CORESIGHT_OTHER] = "other",
        [CORESIGHT_ROM_TABLE] = "ROM table",
        [CORESIGHT_CORE_DEBUG] = "core debug",
        [CORESIGHT_SCS] = "SCS",
        [CORESIGHT_DWT] = "DWT",
        [CORESIGHT_FPB] = "FPB",
        [CORESIGHT_ITM] = "ITM",
        [CORESIGHT_ETM] = "ETMv3",
        [CORESIGHT_PTM] = "PTM",
        [CORESIGHT_ETM4] = "ETMv4",
        [CORESIGHT_ETB] = "ETB",
        [CORESIGHT_TMC] = "TMC",
        [CORESIGHT_TPIU] = "TPIU",
        [CORESIGHT_SWO] = "SWO",
        [CORESIGHT_FUNNEL] = "funnel",
        [CORESIGHT_REPLICATOR] = "replicator",
        [CORESIGHT_CTI] = "CTI",
        [CORESIGHT_PMU] = "PMU",
        [CORESIGHT_STM] = "STM",
    };
    return (size_t)kind < sizeof NAMES / sizeof *NAMES ? NAMES[kind] : "other";
}
