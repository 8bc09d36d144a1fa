/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target behind a debug link, for the tests of what uses one: a Debug Port that keeps the rules
 * of the wire (deaf until woken, DPIDR first, sticky errors, power before AP accesses) and MEM-APs
 * on one memory. Faults are put in by number of access.
 */
#ifndef TESTS_UNIT_TEST_ADIV5_MODEL_H
#define TESTS_UNIT_TEST_ADIV5_MODEL_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/adi/adiv5.h"

#define MODEL_BASE  0x20000000u
#define MODEL_SIZE  0x4000u
#define MODEL_DPIDR 0x2ba01477u

struct model_ap {
    uint32_t idr;
    uint32_t base;
    uint32_t cfg;
    uint32_t csw;
    uint32_t tar;
    uint32_t tar_hi;
    bool words_only;
    bool no_packed;
    bool disabled;
};

struct model {
    uint8_t memory[MODEL_SIZE];
    struct model_ap aps[3];
    /* State of the port. */
    bool awake;      /* listens to SWD */
    bool reset_done; /* waits for the read of DPIDR */
    uint32_t dpidr;
    uint32_t select;
    uint32_t ctrl_stat;
    uint32_t rdbuff;
    bool dormant;    /* needs the alert sequence */
    bool no_power;   /* never acknowledges */
    bool debug_only; /* acknowledges debug power only */
    bool unplugged;
    /* Faults: at access number `at` (from 1), `times` in a row. */
    unsigned accesses;
    unsigned fault_at;
    unsigned fault_times;
    enum debug_ack fault;
    int probe_error; /* returned by every transfer */
    unsigned calls;
    unsigned sequences;
    /* Memory-mapped registers with a life of their own; return true if handled. */
    bool (*device)(struct model *m, uint32_t address, bool write, uint32_t *value, bool *bad);
    void *device_state;
    uint64_t now;
    /* What was accessed by DRW, for tests of sizes. */
    unsigned byte_accesses;
    unsigned half_accesses;
    unsigned word_accesses;
    uint32_t last_addresses[8];
};

static inline uint8_t *model_at(struct model *m, uint32_t address)
{
    if (address < MODEL_BASE || address >= MODEL_BASE + MODEL_SIZE)
        return NULL;
    return &m->memory[address - MODEL_BASE];
}

/* One access on the bus, in its lanes. Returns false for a bus error. */
static inline bool model_bus(struct model *m, uint32_t address, unsigned size, bool write,
                             uint32_t *lanes)
{
    bool bad = false;
    if (size == 1)
        m->byte_accesses++;
    else if (size == 2)
        m->half_accesses++;
    else
        m->word_accesses++;
    if (m->device && size == 4 && m->device(m, address, write, lanes, &bad))
        return !bad;
    for (unsigned k = 0; k < size; k++) {
        uint8_t *byte = model_at(m, address + k);
        unsigned shift = 8 * ((address + k) & 3);
        if (!byte)
            return false;
        if (write)
            *byte = (uint8_t)(*lanes >> shift);
        else
            *lanes = (*lanes & ~(0xffu << shift)) | (uint32_t)*byte << shift;
    }
    return true;
}

static inline void model_advance(struct model_ap *ap, unsigned size)
{
    ap->tar = (ap->tar & ~0x3ffu) | ((ap->tar + size) & 0x3ffu);
}

static inline bool model_drw(struct model *m, struct model_ap *ap, bool write, uint32_t *value)
{
    unsigned size = 1u << (ap->csw & 3);
    unsigned mode = ap->csw >> 4 & 3;
    uint32_t lanes = write ? *value : 0xa5a5a5a5u;
    ck_assert_uint_eq(ap->tar % size, 0);
    ck_assert_uint_eq(ap->tar_hi, 0);
    unsigned bytes = mode == 2 ? 4 - (ap->tar & 3) : size;
    for (unsigned k = 0; k < bytes; k += size) {
        if (!model_bus(m, ap->tar, size, write, &lanes))
            return false;
        if (mode != 0)
            model_advance(ap, size);
    }
    *value = lanes;
    return true;
}

static inline void model_write_csw(struct model_ap *ap, uint32_t value)
{
    if (ap->words_only)
        value = (value & ~7u) | 2;
    if (ap->no_packed && (value >> 4 & 3) == 2)
        value = (value & ~0x30u) | 0x10;
    ap->csw = (value & ~0x40u) | (ap->disabled ? 0 : 0x40u);
}

static inline bool model_ap_access(struct model *m, uint8_t request, uint32_t *value)
{
    unsigned index = m->select >> 24;
    unsigned address = (m->select & 0xf0) | (request & 0xc);
    bool write = (request & DEBUG_READ) == 0;
    uint32_t dummy = 0;
    if (index >= 3 || m->aps[index].idr == 0) {
        if (!write)
            *value = 0;
        return true;
    }
    struct model_ap *ap = &m->aps[index];
    uint32_t *reg = &dummy;
    switch (address) {
    case 0x00:
        if (write)
            model_write_csw(ap, *value);
        else
            *value = ap->csw;
        return true;
    case 0x04:
        reg = &ap->tar;
        break;
    case 0x08:
        reg = &ap->tar_hi;
        break;
    case 0x0c:
        return !ap->disabled && model_drw(m, ap, write, value);
    case 0x10:
    case 0x14:
    case 0x18:
    case 0x1c:
        return model_bus(m, (ap->tar & ~0xfu) + (address & 0xc), 4, write, value);
    case 0xf4:
        dummy = ap->cfg;
        break;
    case 0xf8:
        dummy = ap->base;
        break;
    case 0xfc:
        dummy = ap->idr;
        break;
    default:
        break;
    }
    if (write)
        *reg = *value;
    else
        *value = *reg;
    return true;
}

static inline void model_dp_write(struct model *m, uint8_t reg, uint32_t value)
{
    if (reg == 0 && (value & 0x04) != 0)
        m->ctrl_stat &= ~ADIV5_STICKYERR;
    if (reg == 8)
        m->select = value;
    if (reg == 4 && (m->select & 0xf) == 0) {
        m->ctrl_stat = (m->ctrl_stat & ADIV5_STICKYERR) | (value & 0x50000000u);
        if (!m->no_power && (value & ADIV5_CDBGPWRUPREQ) != 0)
            m->ctrl_stat |= ADIV5_CDBGPWRUPACK;
        if (!m->no_power && !m->debug_only && (value & ADIV5_CSYSPWRUPREQ) != 0)
            m->ctrl_stat |= ADIV5_CSYSPWRUPACK;
    }
}

static inline bool model_injected(struct model *m, enum debug_ack *ack)
{
    m->accesses++;
    if (m->fault_times == 0 || m->accesses < m->fault_at)
        return false;
    m->fault_times--;
    *ack = m->fault;
    if (m->fault == DEBUG_ACK_FAULT)
        m->ctrl_stat |= ADIV5_STICKYERR;
    if (m->fault == DEBUG_ACK_NONE || m->fault == DEBUG_ACK_PROTOCOL)
        m->awake = false; /* lost step: deaf until a line reset */
    return true;
}

/* One access as the wire sees it; AP reads are posted. */
static inline enum debug_ack model_access(struct model *m, uint8_t request, uint32_t *value)
{
    enum debug_ack ack = DEBUG_ACK_OK;
    bool dp = (request & DEBUG_AP) == 0;
    bool read = (request & DEBUG_READ) != 0;
    uint8_t reg = request & DEBUG_REG_MASK;
    if (m->unplugged || !m->awake)
        return DEBUG_ACK_NONE;
    if (m->reset_done && !(dp && read && reg == 0))
        return DEBUG_ACK_NONE;
    if (model_injected(m, &ack))
        return ack;
    if (dp && read) {
        m->reset_done = false;
        *value = reg == 0 ? m->dpidr : reg == 4 ? m->ctrl_stat : m->rdbuff;
        return reg == 0xc && (m->ctrl_stat & ADIV5_STICKYERR) ? DEBUG_ACK_FAULT : DEBUG_ACK_OK;
    }
    if (dp) {
        model_dp_write(m, reg, *value);
        return DEBUG_ACK_OK;
    }
    if ((m->ctrl_stat & ADIV5_STICKYERR) != 0)
        return DEBUG_ACK_FAULT;
    bool powered = (m->ctrl_stat & ADIV5_CDBGPWRUPACK) != 0;
    uint32_t result = *value;
    uint32_t before = m->rdbuff;
    if (!powered || !model_ap_access(m, request, &result)) {
        m->ctrl_stat |= ADIV5_STICKYERR; /* told with the next access */
        result = 0xdeadbeefu;
    }
    if (read) {
        m->rdbuff = result;
        *value = before;
    }
    return DEBUG_ACK_OK;
}

static inline int model_connect(void *self, enum debug_wire wire)
{
    (void)self;
    return wire == DEBUG_WIRE_SWD ? 0 : BT_ERR_UNSUPPORTED;
}

static inline int model_disconnect(void *self)
{
    (void)self;
    return 0;
}

static inline int model_clock(void *self, uint32_t hz)
{
    (void)self;
    return hz > 0 ? 0 : BT_ERR_INVAL;
}

static inline int model_configure(void *self, uint8_t idle, uint16_t retries)
{
    (void)self;
    (void)idle;
    return retries > 0 ? 0 : BT_ERR_INVAL;
}

static inline int model_sequence(void *self, unsigned bits, const uint8_t *bytes)
{
    struct model *m = self;
    m->sequences++;
    if (m->dormant && bits == 224 && bytes[1] == 0x92 && bytes[16] == 0x19 && bytes[17] == 0xa0)
        m->dormant = false;
    else if (m->dormant)
        return 0;
    /* 50 clocks high and 2 low at the end, whatever came before. */
    unsigned n = bits / 8;
    bool reset = n >= 8 && bytes[n - 1] == 0x00;
    for (unsigned k = 2; k <= 8 && reset; k++)
        reset = bytes[n - k] == 0xff;
    if (reset) {
        m->awake = true;
        m->reset_done = true;
        m->select = 0xff0000ffu; /* unknown */
    }
    return 0;
}

/* As a probe does it: posted reads are completed inside. */
static inline int model_transfer(void *self, struct debug_transfer *list, size_t count,
                                 struct debug_result *result)
{
    struct model *m = self;
    m->calls++;
    *result = (struct debug_result){.ack = DEBUG_ACK_OK};
    if (m->probe_error != 0)
        return m->probe_error;
    for (size_t k = 0; k < count; k++) {
        bool ap = (list[k].request & DEBUG_AP) != 0;
        result->ack = model_access(m, list[k].request, &list[k].value);
        if (result->ack == DEBUG_ACK_OK && ap) {
            uint32_t value = 0;
            result->ack = model_access(m, DEBUG_DP | DEBUG_READ | 0xc, &value);
            if ((list[k].request & DEBUG_READ) != 0)
                list[k].value = value;
        }
        if (result->ack != DEBUG_ACK_OK)
            return 0;
        result->done++;
    }
    return 0;
}

/* As the wire is: the caller has to know about posted reads. */
static inline int model_transfer_posted(void *self, struct debug_transfer *list, size_t count,
                                        struct debug_result *result)
{
    struct model *m = self;
    m->calls++;
    *result = (struct debug_result){.ack = DEBUG_ACK_OK};
    for (size_t k = 0; k < count; k++) {
        result->ack = model_access(m, list[k].request, &list[k].value);
        if (result->ack != DEBUG_ACK_OK)
            return 0;
        result->done++;
    }
    return 0;
}

static inline int model_block_of(struct model *m, uint8_t request, uint32_t *words, size_t count,
                                 struct debug_result *result,
                                 int (*transfer)(void *, struct debug_transfer *, size_t,
                                                 struct debug_result *))
{
    size_t done = 0;
    *result = (struct debug_result){.ack = DEBUG_ACK_OK};
    for (; done < count; done++) {
        struct debug_transfer t = {.request = request, .value = words[done]};
        struct debug_result one;
        int rc = transfer(m, &t, 1, &one);
        m->calls--;
        result->ack = one.ack;
        if (rc != 0 || one.ack != DEBUG_ACK_OK)
            return rc;
        words[done] = t.value;
        result->done = done + 1;
    }
    m->calls++;
    return 0;
}

static inline int model_block(void *self, uint8_t request, uint32_t *words, size_t count,
                              struct debug_result *result)
{
    return model_block_of(self, request, words, count, result, model_transfer);
}

static inline int model_block_posted(void *self, uint8_t request, uint32_t *words, size_t count,
                                     struct debug_result *result)
{
    return model_block_of(self, request, words, count, result, model_transfer_posted);
}

static inline uint64_t model_now(void *user)
{
    struct model *m = user;
    return m->now += 10;
}

static inline void model_sleep(void *user, uint32_t time)
{
    struct model *m = user;
    m->now += time;
}

/* A Cortex-M like target: AP 0 AHB with packed transfers, AP 2 an APB of words only. */
static inline struct model *model_new(void)
{
    struct model *m = calloc(1, sizeof *m);
    ck_assert_ptr_nonnull(m);
    m->dpidr = MODEL_DPIDR;
    m->aps[0] = (struct model_ap){.idr = 0x24770011, .base = 0xe00ff003, .csw = 0x40};
    m->aps[2] =
        (struct model_ap){.idr = 0x44770002, .base = 0x80000003, .csw = 0x42, .words_only = true};
    for (unsigned k = 0; k < MODEL_SIZE; k++)
        m->memory[k] = (uint8_t)(k * 7 + (k >> 8));
    return m;
}

static inline struct adiv5_dp model_dp(struct model *m, bool posted)
{
    static const struct debug_link_ops OPS = {.connect = model_connect,
                                              .disconnect = model_disconnect,
                                              .set_clock = model_clock,
                                              .configure = model_configure,
                                              .sequence = model_sequence,
                                              .transfer = model_transfer,
                                              .block = model_block};
    static const struct debug_link_ops POSTED = {.connect = model_connect,
                                                 .disconnect = model_disconnect,
                                                 .set_clock = model_clock,
                                                 .configure = model_configure,
                                                 .sequence = model_sequence,
                                                 .transfer = model_transfer_posted,
                                                 .block = model_block_posted};
    const struct debug_link link = {.ops = posted ? &POSTED : &OPS,
                                    .self = m,
                                    .caps = DEBUG_LINK_SWD | (posted ? DEBUG_LINK_POSTED : 0)};
    const struct debug_clock clock = {.now_us = model_now, .sleep_us = model_sleep, .user = m};
    struct adiv5_dp dp;
    adiv5_init(&dp, &link, &clock);
    return dp;
}

static inline struct adiv5_dp model_connected(struct model *m, bool posted)
{
    struct adiv5_dp dp = model_dp(m, posted);
    const struct adiv5_connect_options options = {.wire = DEBUG_WIRE_SWD};
    ck_assert_int_eq(adiv5_connect(&dp, &options), 0);
    return dp;
}

/* From the next access on, `skip` accesses later. */
static inline void model_inject(struct model *m, enum debug_ack ack, unsigned skip, unsigned times)
{
    m->fault = ack;
    m->fault_at = m->accesses + 1 + skip;
    m->fault_times = times;
}

#endif
