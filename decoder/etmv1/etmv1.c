/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv1/etmv1.h"

#include <string.h>

#define ETMCR_CPRT           (1u << 1)
#define ETMCR_DATA_VALUE     (1u << 2)
#define ETMCR_DATA_ADDRESS   (1u << 3)
#define ETMCR_CYCLE_ACCURATE (1u << 12)
#define ETMCCR_HAS_ID        (1u << 31) /* an ID register: ETMv2 or later */
#define CONTEXT_SINCE        2          /* minor version that has context IDs */

int etmv1_config_from_regs(struct etmv1_config *config, uint32_t etmcr, unsigned minor)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    static const uint8_t port_bits[8] = {4, 8, 16};
    memset(config, 0, sizeof *config);
    config->port.bits = port_bits[etmcr >> 4 & 7];
    if (minor > 3 || config->port.bits == 0)
        return BT_ERR_INVAL;
    config->version_minor = (uint8_t)minor;
    if (minor >= CONTEXT_SINCE)
        config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->data_value = etmcr & ETMCR_DATA_VALUE;
    config->data_address = etmcr & ETMCR_DATA_ADDRESS;
    config->monitor_cprt = etmcr & ETMCR_CPRT;
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    config->low_vectors = true;
    config->high_vectors = true;
    return BT_OK;
}

int etmv1_minor_of_ccr(uint32_t etmccr)
{
    static const int8_t minors[8] = {0, 1, 2, 3, 2, 3, -1, 3};
    int minor = minors[etmccr >> 28 & 7];
    return (etmccr & ETMCCR_HAS_ID) || minor < 0 ? BT_ERR_INVAL : minor;
}

uint64_t etmv1_packet_size(const struct etmv1_config *config, const struct etmv1_packet *k)
{
    switch (k->kind) {
    case ETMV1_CYCLE:
        return port_cycle_size(&config->port);
    case ETMV1_INCOMPLETE:
        return k->value;
    default:
        return 0;
    }
}

#define MORE          0x80 /* another address byte follows; in the fifth: Jazelle state */
#define JAZELLE_SINCE 3    /* minor version that traces it */

struct sink {
    struct etmv1_packet *packets;
    size_t count;
};

int etmv1_init(struct etmv1 *p, const struct etmv1_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
    return port_reader_init(&p->in, &config->port);
}

static void drop_address(struct etmv1 *p)
{
    p->in_address = false;
    p->spares = 0;
    p->nibble_valid = false;
    p->raw_len = 0;
}

/* Addresses are relative to the last one, which is not known now. */
static void lose_base(struct etmv1 *p)
{
    drop_address(p);
    p->apo_left = 0;
    p->due = 0;
    p->pushed = false;
    p->known = false;
    p->jazelle = false;
    p->base = 0;
}

void etmv1_discontinuity(struct etmv1 *p)
{
    lose_base(p);
    port_reader_restart(&p->in);
}

static struct etmv1_packet *etmv1_emit(struct etmv1 *p, struct sink *out, enum etmv1_kind kind,
                                       uint64_t cycle)
{
    struct etmv1_packet *k = &out->packets[out->count++];
    memset(k, 0, sizeof *k);
    k->kind = (uint8_t)kind;
    k->cycle = cycle;
    k->offset = p->in.base + port_cycle_offset(&p->in.format, cycle);
    return k;
}

static void etmv1_malformed(struct etmv1 *p, struct sink *out, uint64_t cycle, uint64_t value)
{
    etmv1_emit(p, out, ETMV1_MALFORMED, cycle)->value = value;
    lose_base(p);
}

/* IHI 0014Q chapter 5, context ID: behind a full address whose reason is not 0. */
static unsigned etmv1_context_bytes(const struct etmv1 *p)
{
    return (p->raw[4] >> 4 & 7) ? p->config.context_bytes : 0;
}

static bool address_complete(const struct etmv1 *p)
{
    unsigned n = p->raw_len;
    if (n <= 4)
        return !(p->raw[n - 1] & MORE);
    return n == 5 + etmv1_context_bytes(p);
}

static void etmv1_merge(struct etmv1 *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t mask = i == 4 ? 0xf : 0x7f;
        p->base = (p->base & ~(mask << 7 * i)) | (p->raw[i] & mask) << 7 * i;
    }
    if (n == 5) {
        p->known = true;
        p->jazelle = p->raw[4] & MORE;
    }
}

static void etmv1_address(struct etmv1 *p, struct sink *out)
{
    unsigned n = p->raw_len < 5 ? p->raw_len : 5;
    unsigned reason = n == 5 ? p->raw[4] >> 4 & 7 : 0;
    bool jazelle = n == 5 && (p->raw[4] & MORE);
    if (reason > ETMV1_PERIODIC || (jazelle && p->config.version_minor < JAZELLE_SINCE)) {
        etmv1_malformed(p, out, p->raw_cycle, p->raw[4]);
        return;
    }
    etmv1_merge(p, n);
    struct etmv1_packet *k = etmv1_emit(p, out, ETMV1_ADDRESS, p->raw_cycle);
    k->isa = p->jazelle ? BT_ISA_JAZELLE : p->base & 1 ? BT_ISA_T32 : BT_ISA_A32;
    k->value = p->jazelle ? p->base : p->base & ~1u;
    k->reason = (uint8_t)reason;
    k->flags = p->known ? 0 : ETMV1_PARTIAL;
    for (unsigned i = 5; i < p->raw_len; i++)
        k->context |= (uint32_t)p->raw[i] << 8 * (i - 5);
    if (p->raw_len > 5)
        k->flags |= ETMV1_HAS_CONTEXT;
    memcpy(k->raw, p->raw, p->raw_len);
    k->raw_len = p->raw_len;
    if (p->due)
        p->due--;
    drop_address(p);
}

static void etmv1_take_byte(struct etmv1 *p, struct sink *out, uint8_t byte)
{
    p->raw[p->raw_len++] = byte;
    if (address_complete(p))
        etmv1_address(p, out);
}

/* The bytes of the cycle, as far as they are an address's. Returns which: ETMV1_LOW, HIGH. */
static uint16_t etmv1_take_bytes(struct etmv1 *p, struct sink *out, uint16_t pkt)
{
    uint16_t taken = ETMV1_LOW;
    if (p->config.port.bits == 4) {
        p->nibble_valid = !p->nibble_valid;
        if (p->nibble_valid)
            p->nibble = (uint8_t)pkt;
        else
            etmv1_take_byte(p, out, (uint8_t)(p->nibble | pkt << 4));
        return taken;
    }
    etmv1_take_byte(p, out, pkt & 0xff);
    if (p->config.port.bits == 16 && p->in_address) {
        etmv1_take_byte(p, out, pkt >> 8);
        taken |= ETMV1_HIGH;
    }
    return taken;
}

/* What the cycle's status puts into the FIFO, and whether it has bits of an offset (IHI 0014Q
 * chapter 5, TRACESYNC). */
static bool follow_status(struct etmv1 *p, uint8_t status)
{
    bool branch = status == ETMV1_BE || status == ETMV1_BD;
    bool apo = p->apo_left && !branch;
    if (branch) {
        p->apo_left = 2;
        p->due += p->due < UINT8_MAX;
        p->pushed = false;
    } else if (apo) {
        p->apo_left--;
    } else if (status == ETMV1_ID) {
        p->pushed = true;
    }
    return apo;
}

/* Would `byte` end the address? */
static bool is_last(const struct etmv1 *p, uint8_t byte)
{
    unsigned n = p->raw_len + 1u;
    if (n < 5)
        return !(byte & MORE);
    if (n == 5)
        return p->config.context_bytes == 0 || (byte >> 4 & 7) == 0;
    return n == 5 + etmv1_context_bytes(p);
}

/*
 * IHI 0014Q chapter 5, 16-bit ports, the choice in which a byte waits for another: is the address's
 * last byte still in the FIFO, so that this cycle has none? A WT always has one. In other cycles
 * TRACEPKT may mean nothing: that is so if it would end the address and nothing is queued behind
 * that. But where the FIFO was emptied, before a restart, it was that byte: the next address shows
 * it, if it is clear which.
 */
static bool held_back(struct etmv1 *p, uint8_t status, bool apo, uint16_t pkt)
{
    bool certain = (status == ETMV1_WT && !apo) || p->due > 1 || p->pushed;
    bool held = etmv1_holds(&p->config) && p->raw_len && !certain && is_last(p, pkt & 0xff);
    if (held && p->spares == 0)
        p->spare = pkt & 0xff;
    if (held && (p->spares == 0 || p->spare != (pkt & 0xff)))
        p->spares += p->spares < 2;
    return held;
}

static void etmv1_cycle(struct etmv1 *p, struct sink *out, const struct port_cycle *raw)
{
    uint64_t number = p->in.cycles;
    uint8_t status = raw->status;
    bool trigger = status == ETMV1_TR;
    if (trigger)
        status = raw->pkt & 7;
    bool bytes = !trigger && status != ETMV1_TD;
    bool sync = bytes && raw->high;
    bool apo = follow_status(p, status);
    bool gap = status == ETMV1_TD && !trigger && !etmv1_holds(&p->config);
    if (sync && p->spares == 1)
        etmv1_take_byte(p, out, p->spare);
    /* A trigger replaces no trigger; an address ends before the next begins, and has no gaps. */
    if (status == ETMV1_TR)
        etmv1_malformed(p, out, number, raw->pkt);
    else if (p->in_address && (sync || gap))
        etmv1_malformed(p, out, p->raw_cycle, p->raw_len ? p->raw[0] : 0);
    struct etmv1_packet *k = etmv1_emit(p, out, ETMV1_CYCLE, number);
    k->status = status == ETMV1_TR ? ETMV1_WT : status;
    k->pkt = raw->pkt;
    k->flags = (uint16_t)((trigger ? ETMV1_TRIGGER : 0) | (sync ? ETMV1_SYNC : 0));
    if (status == ETMV1_TD && (raw->pkt & 1) != p->config.idle_high)
        k->flags |= ETMV1_COUNTED;
    if (sync) {
        p->in_address = true;
        p->raw_cycle = number;
    }
    if (bytes && p->in_address && !held_back(p, status, apo, raw->pkt))
        k->flags |= etmv1_take_bytes(p, out, raw->pkt);
}

size_t etmv1_parse(struct etmv1 *p, const uint8_t *data, size_t len, struct etmv1_packet *packets,
                   size_t max, size_t *count)
{
    struct sink out = {packets, 0};
    size_t i = 0;
    while (i < len && out.count + 4 <= max) {
        struct port_cycle raw;
        if (port_peek(&p->in, data[i], &raw))
            etmv1_cycle(p, &out, &raw);
        port_take(&p->in, data[i++]);
    }
    *count = out.count;
    return i;
}

size_t etmv1_finish(struct etmv1 *p, struct etmv1_packet *packets)
{
    struct sink out = {packets, 0};
    if (p->in_address) {
        struct etmv1_packet *k = etmv1_emit(p, &out, ETMV1_INCOMPLETE, p->raw_cycle);
        k->value = p->in.offset - k->offset;
    }
    etmv1_emit(p, &out, ETMV1_END, p->in.cycles)->offset = p->in.offset;
    lose_base(p);
    return out.count;
}
