/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CoreSight components through any bus that reaches their registers: a MEM-AP, or another debug
 * server. Identification: IHI 0029E, IHI 0031F part D.
 *
 * Functions return 0 or
 *   BT_ERR_IO           the access was refused, or a state was not reached in its time;
 *                       bus->failure and bus->fault_address tell
 *   BT_ERR_UNSUPPORTED  the component cannot do this
 *   BT_ERR_INVAL        argument out of range
 *   or what the back-end says.
 */
#ifndef DRIVERS_CORESIGHT_H
#define DRIVERS_CORESIGHT_H

#include "drivers/adi/mem_ap.h"

/* All addresses are aligned to 4. On failure failure and fault_address of the bus are set. */
struct coresight_bus;
struct coresight_bus_ops {
    int (*read)(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count);
    int (*write)(struct coresight_bus *bus, uint64_t address, const uint32_t *words, size_t count);
    /* The same register `count` times. */
    int (*read_fifo)(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count);
    /* Words anywhere, in order, in one round trip; NULL: each costs its own. */
    int (*list)(struct coresight_bus *bus, struct mem_ap_access *list, size_t count);
};

struct coresight_bus {
    const struct coresight_bus_ops *ops;
    void *self;
    struct debug_clock clock;
    enum debug_failure failure;
    uint64_t fault_address;
};

/* A bus on a MEM-AP; valid as long as the AP is. */
void coresight_bus_on_mem_ap(struct coresight_bus *bus, struct mem_ap *ap);

static inline int coresight_read(struct coresight_bus *bus, uint64_t address, uint32_t *value)
{
    *value = 0;
    return bus->ops->read(bus, address, value, 1);
}

static inline int coresight_write(struct coresight_bus *bus, uint64_t address, uint32_t value)
{
    return bus->ops->write(bus, address, &value, 1);
}

/* `count` registers in a row, from the one at `offset` on, get the same value; 0: there are none.
 */
struct coresight_setting {
    uint16_t offset;
    uint32_t value;
    unsigned count;
};

struct coresight_reading {
    uint16_t offset;
    uint32_t *value;
};

/* In the order of the list; no access behind one that fails is done. At most MEM_AP_LISTED are told
 * in one go, and told again as a whole when the line fails: values that may be written twice. */
int coresight_access(struct coresight_bus *bus, struct mem_ap_access *list, size_t count);
int coresight_write_list(struct coresight_bus *bus, uint64_t base,
                         const struct coresight_setting *list, size_t count);
int coresight_read_list(struct coresight_bus *bus, uint64_t base,
                        const struct coresight_reading *list, size_t count);
#define CORESIGHT_WRITE_ALL(bus, base, list)                                                       \
    coresight_write_list(bus, base, list, sizeof(list) / sizeof *(list))
#define CORESIGHT_READ_ALL(bus, base, list)                                                        \
    coresight_read_list(bus, base, list, sizeof(list) / sizeof *(list))

/* Read, replace the bits of `mask` by those of `value`, write. */
int coresight_modify(struct coresight_bus *bus, uint64_t address, uint32_t mask, uint32_t value);

/* Wait until (register & mask) == value, at most 100 ms, or 10 looks on a slow bus;
 * DEBUG_FAIL_TIMEOUT otherwise. */
int coresight_poll(struct coresight_bus *bus, uint64_t address, uint32_t mask, uint32_t value);

#define CORESIGHT_LAR     0xfb0u
#define CORESIGHT_LAR_KEY 0xc5acce55u

/* Open the software lock of the component. */
static inline int coresight_unlock(struct coresight_bus *bus, uint64_t base)
{
    return coresight_write(bus, base + CORESIGHT_LAR, CORESIGHT_LAR_KEY);
}

/* What is there. */

#define CORESIGHT_ARM 0x23bu /* designer */

enum coresight_class {
    CORESIGHT_CLASS_ROM = 0x1,
    CORESIGHT_CLASS_CORESIGHT = 0x9,
    CORESIGHT_CLASS_GENERIC = 0xe,
    CORESIGHT_CLASS_PRIMECELL = 0xf,
};

struct coresight_component {
    uint64_t base;     /* of its first page */
    uint16_t designer; /* JEP106: continuation << 7 | identity */
    uint16_t part;
    uint8_t component_class; /* enum coresight_class */
    uint8_t type;            /* DEVTYPE, sub << 4 | major; 0: none */
    uint32_t arch;           /* DEVARCH; 0: none */
    uint32_t devid;
};

enum coresight_kind {
    CORESIGHT_OTHER,
    CORESIGHT_ROM_TABLE,
    CORESIGHT_CORE_DEBUG,
    CORESIGHT_SCS,
    CORESIGHT_DWT,
    CORESIGHT_FPB,
    CORESIGHT_ITM,
    CORESIGHT_ETM, /* ETMv3 */
    CORESIGHT_PTM,
    CORESIGHT_ETM4, /* and ETE */
    CORESIGHT_ETB,
    CORESIGHT_TMC,
    CORESIGHT_MTB,
    CORESIGHT_TPIU,
    CORESIGHT_SWO,
    CORESIGHT_FUNNEL,
    CORESIGHT_REPLICATOR,
    CORESIGHT_CTI,
    CORESIGHT_PMU,
    CORESIGHT_STM,
};

enum coresight_kind coresight_kind_of(const struct coresight_component *component);

/* Read the identification of the component at `base`. BT_ERR_FORMAT: there is none. */
int coresight_identify(struct coresight_bus *bus, uint64_t base, struct coresight_component *c);

/*
 * Walk the ROM tables from BASE of an AP (`base_register` as read). Tables that lie, point to
 * themselves or cannot be read are passed over; the walk ends after 4096 entries.
 * Returns how many components were stored (at most `max`; ROM tables are among them), or an error
 * if nothing at all can be read. BT_ERR_FORMAT: the AP says that it has no table.
 */
int coresight_scan(struct coresight_bus *bus, uint64_t base_register,
                   struct coresight_component *list, unsigned max);

#endif
