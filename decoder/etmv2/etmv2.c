/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv2/etmv2.h"
#include "etmv2_internal.h"

#include <string.h>

/* Cycles, the queue of statuses, synchronisation: IHI 0014Q chapter 6. */

#define ETMCR_CPRT           (1u << 1)
#define ETMCR_DATA_VALUE     (1u << 2)
#define ETMCR_DATA_ADDRESS   (1u << 3)
#define ETMCR_CYCLE_ACCURATE (1u << 12)

int etmv2_config_from_regs(struct etmv2_config *config, uint32_t etmcr, uint32_t etmidr)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    static const uint8_t port_bits[8] = {4, 8, 16};
    memset(config, 0, sizeof *config);
    config->port.bits = port_bits[etmcr >> 4 & 7];
    if ((etmidr >> 8 & 0xf) != 1 || config->port.bits == 0)
        return BT_ERR_INVAL;
    config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->data_value = etmcr & ETMCR_DATA_VALUE;
    config->data_address = etmcr & ETMCR_DATA_ADDRESS;
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    config->monitor_cprt = etmcr & ETMCR_CPRT;
    config->low_vectors = true;
    config->high_vectors = true;
    return BT_OK;
}

bool etmv2_status_codes_valid(uint64_t codes)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < 16; i++)
        seen |= 1u << (codes >> 4 * i & 0xf);
    return seen == 0xffff && (codes >> 4 * ETMV2_TR & 0xff) == (ETMV2_TD << 4 | ETMV2_TR);
}

bool etmv2_tfo_header_valid(unsigned header)
{
    unsigned lsip = header >> 4, reason = header & 0xf;
    return lsip <= 7 && reason <= 6 && lsip != reason && lsip != reason + 1;
}

uint64_t etmv2_packet_size(const struct etmv2_config *config, const struct etmv2_packet *k)
{
    switch (k->kind) {
    case ETMV2_STATUS:
        return port_cycle_size(&config->port);
    case ETMV2_UNSYNCED:
    case ETMV2_INCOMPLETE:
        return k->value;
    default:
        return 0;
    }
}

#define TFO_BIAS 16 /* hypothesis H2, see etmv2_tfo_number() */

/* PIPESTAT and TRACEPKT out of the bits that are captured of a cycle (IHI 0014Q chapter 6). */
static void etmv2_read_pins(const struct etmv2_config *config, const struct port_cycle *raw,
                            struct etmv2_cycle *c)
{
    unsigned bits = config->port.bits;
    uint32_t word = raw->status | (uint32_t)raw->pkt << 3 | (uint32_t)raw->high << (bits + 3);
    unsigned pins = (unsigned)raw->status | (unsigned)raw->high << 3;
    c->pkt = raw->pkt;
    if (config->status_together) {
        pins = word & 0xf;
        c->pkt = (uint16_t)(word >> 4);
    }
    c->status = config->status_codes >> 4 * pins & 0xf;
    c->trigger = c->status == ETMV2_TR;
    if (c->trigger)
        c->status = config->status_codes >> 4 * (c->pkt & 0xf) & 0xf;
}

/* Is it a TFO? A TD that is none is idle, or a wait cycle (IHI 0014Q 6.5). */
static bool etmv2_is_tfo(const struct etmv2_config *config, const struct etmv2_cycle *c)
{
    if (c->status != ETMV2_TD)
        return false;
    if (c->trigger)
        return true;
    /* Cycle-accurate: one code of TRACEPKT[3:1] is a plain wait (IHI 0014Q 6.5). */
    unsigned wait = config->wait_zeros ? 0 : 7;
    return (c->pkt & 1) && !(config->cycle_accurate && (c->pkt >> 1 & 7) == wait);
}

/* IHI 0014Q 6.5, TFO values: from TRACEPKT[3:1], and from TRACEPKT[7:4] or the next nibble of a
 * 4-bit port. What the text leaves open has two hypotheses. H1: a cycle-accurate wait has 111 in
 * TRACEPKT[3:1]. H2: it has 000 there, and TFO values are 16 too large. */
static uint8_t etmv2_tfo_number(const struct etmv2_config *c, unsigned three, unsigned four)
{
    unsigned n = c->tfo_straight ? four << 3 | three : three << 4 | four;
    unsigned bias = c->cycle_accurate && c->wait_zeros ? TFO_BIAS : 0;
    return (uint8_t)(n >= bias ? n - bias : 0);
}

/* An entry of the queue: the status, and these. */
#define Q_STATUS  0x0f
#define Q_TRIGGER 0x10
#define Q_TFO     0x20
#define Q_WAITING 0x40

#define Q_AT(p, i) ((p)->queue[((p)->queue_head + (i)) % ETMV2_QUEUE])

#define TFO_HEADER_BITS 0x75 /* LSiP in bit 7, reason in [6:5] */

/* TFO value parts that later cycles bring (IHI 0014Q 6.5). */
enum tfo_wait {
    TFO_COMPLETE,
    TFO_LOW,   /* 4-bit port: the lower four bits */
    TFO_VALUE, /* the trigger took the cycle's TRACEPKT: all of it */
};

/* Packets given out by one call. */
struct sink {
    struct etmv2_packet *packets;
    size_t count, max;
};

int etmv2_init(struct etmv2 *p, const struct etmv2_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
    if (p->config.tfo4_extra == 0)
        p->config.tfo4_extra = 1;
    if (p->config.status_codes == 0)
        p->config.status_codes = ETMV2_STATUS_CODES;
    if (p->config.tfo_header == 0)
        p->config.tfo_header = TFO_HEADER_BITS;
    return port_reader_init(&p->in, &config->port);
}

static uint64_t cycle_offset(const struct etmv2 *p, uint64_t cycle)
{
    return p->in.base + port_cycle_offset(&p->in.format, cycle);
}

static struct etmv2_packet *etmv2_emit(struct sink *out, enum etmv2_kind kind, uint64_t offset)
{
    struct etmv2_packet *k = &out->packets[out->count++];
    memset(k, 0, sizeof *k);
    k->kind = (uint8_t)kind;
    k->offset = offset;
    return k;
}

static void drop_queue(struct etmv2 *p)
{
    p->queue_len = 0;
    p->groups = 0;
    p->head_out = false;
    p->raw_len = 0;
}

/* The first remembered TFO is no use. */
static void drop_tfo(struct etmv2 *p)
{
    p->tfo_count--;
    memmove(p->tfo, p->tfo + 1, p->tfo_count * sizeof *p->tfo);
}

static uint64_t tfo_header(const struct etmv2_tfo *t)
{
    return t->fifo + t->half + t->n;
}

static bool has_group(uint8_t entry)
{
    uint8_t status = entry & Q_STATUS;
    if (entry & Q_TFO)
        return true;
    return (status & 1) && status != ETMV2_TD;
}

static void pop_status(struct etmv2 *p)
{
    p->queue_head = (p->queue_head + 1) % ETMV2_QUEUE;
    p->queue_len--;
    p->queue_cycle++;
    p->head_out = false;
}

static void begin_queue_at(struct etmv2 *p, uint64_t cycle)
{
    while (p->queue_cycle < cycle) {
        p->groups -= has_group(Q_AT(p, 0));
        pop_status(p);
    }
}

/*
 * Not synchronised any more. A TFO that has been seen already, and whose packet is still to come,
 * is the next place to synchronise at (IHI 0014Q 6.5); statuses before it are lost.
 */
static void etmv2_lose_sync(struct etmv2 *p)
{
    if (p->sync == ETMV2_SYNC_FOLLOWS)
        p->resync_start = cycle_offset(p, p->queue_cycle + (p->head_out ? 1 : 0));
    p->sync = ETMV2_SYNC_SEARCH;
    p->shifted = false;
    p->raw_len = 0;
    while (p->tfo_count && !p->tfo_wait && p->fifo > tfo_header(&p->tfo[0]))
        drop_tfo(p);
    p->head_out = p->head_out && p->tfo_count && p->queue_cycle == p->tfo[0].cycle;
    if (p->tfo_count == 0) {
        drop_queue(p);
        p->nibble_valid = false;
        return;
    }
    begin_queue_at(p, p->tfo[0].cycle);
    p->sync = ETMV2_SYNC_CANDIDATE;
}

/* TFO number `i` of those seen is none, or damaged. */
static void etmv2_reject(struct etmv2 *p, unsigned i)
{
    uint8_t *entry = &Q_AT(p, p->tfo[i].cycle - p->queue_cycle);
    *entry &= (uint8_t)~Q_TFO;
    p->groups--;
    p->tfo_count--;
    memmove(p->tfo + i, p->tfo + i + 1, (p->tfo_count - i) * sizeof *p->tfo);
    if (i == 0)
        etmv2_lose_sync(p);
}

static void etmv2_desync(struct etmv2 *p, struct sink *out, uint64_t cycle)
{
    if (p->sync == ETMV2_SYNC_FOLLOWS)
        etmv2_emit(out, ETMV2_DESYNC, cycle_offset(p, cycle));
    etmv2_lose_sync(p);
}

void etmv2_discontinuity(struct etmv2 *p)
{
    p->tfo_count = 0;
    p->tfo_wait = TFO_COMPLETE;
    p->tfo_idle = 0;
    p->sync = ETMV2_SYNC_SEARCH;
    etmv2_lose_sync(p);
    port_reader_restart(&p->in);
    p->busy = false;
    p->data_known = false;
    p->resync_start = p->in.offset;
    p->skipped_to = 0;
}

static void emit_status(struct etmv2 *p, struct sink *out)
{
    uint8_t entry = Q_AT(p, 0);
    struct etmv2_packet *k = etmv2_emit(out, ETMV2_STATUS, cycle_offset(p, p->queue_cycle));
    k->status = entry & Q_STATUS;
    k->flags =
        (uint16_t)((entry & Q_TRIGGER ? ETMV2_TRIGGER : 0) | (entry & Q_TFO ? ETMV2_TFO_CYCLE : 0) |
                   (entry & Q_WAITING ? ETMV2_WAITING : 0));
    if (entry & Q_TFO)
        k->value = p->tfo[0].n;
}

/* Gives out statuses up to one whose group has not come yet. False: no room. */
static bool etmv2_drain(struct etmv2 *p, struct sink *out)
{
    while (p->sync == ETMV2_SYNC_FOLLOWS && p->queue_len) {
        if (out->count + 4 > out->max)
            return false;
        if (p->skipped_to) {
            struct etmv2_packet *k = etmv2_emit(out, ETMV2_UNSYNCED, p->resync_start);
            k->value = p->skipped_to - p->resync_start;
            p->skipped_to = 0;
        }
        uint8_t entry = Q_AT(p, 0);
        /* The value of a TFO may still be on its way. */
        if ((entry & Q_TFO) && p->tfo_wait && p->tfo_count == 1)
            return true;
        if (!p->head_out)
            emit_status(p, out);
        p->head_out = true;
        if (has_group(entry))
            return true;
        pop_status(p);
    }
    return true;
}

/* Synchronisation succeeds: `byte` is the header of the TFO packet at the front. */
static void accept_candidate(struct etmv2 *p)
{
    uint64_t start = cycle_offset(p, p->queue_cycle);
    p->sync = ETMV2_SYNC_FOLLOWS;
    p->data_known = false;
    p->skipped_to = start > p->resync_start ? start : 0;
}

/* A byte while not synchronised: is it the header that a TFO announced? */
static bool etmv2_resync(struct etmv2 *p, uint8_t byte)
{
    struct etmv2_tfo_header parts;
    bool header = etmv2_read_tfo_header(&p->config, byte, &parts);
    unsigned i = 0;
    /* The newest TFO may still wait for its value. */
    while (i + (p->tfo_wait ? 1 : 0) < p->tfo_count) {
        if (p->fifo - 1 != tfo_header(&p->tfo[i])) {
            i++;
        } else if (header) {
            while (i-- > 0)
                drop_tfo(p);
            begin_queue_at(p, p->tfo[0].cycle);
            accept_candidate(p);
            return true;
        } else if (p->config.port.bits == 4 && !p->shifted) {
            /* The TFO may have come in the middle of a byte: then all is half a byte later. */
            p->shifted = true;
            p->byte_cycle = p->in.cycles;
            p->nibble = byte >> 4;
            p->nibble_valid = true;
            p->fifo--;
            return false;
        } else {
            etmv2_reject(p, i);
        }
    }
    while (p->tfo_count && !p->tfo_wait && p->fifo > tfo_header(&p->tfo[0]))
        etmv2_reject(p, 0);
    return false;
}

/* IHI 0014Q 6.5: the bytes up to the header must be as many as the TFO value says. */
static bool tfo_in_place(const struct etmv2 *p)
{
    const struct etmv2_tfo *t = &p->tfo[0];
    uint64_t at = p->fifo - 1;
    return at == tfo_header(t) || (t->half && at + 1 == tfo_header(t));
}

static void group_byte(struct etmv2 *p, struct sink *out, uint8_t byte)
{
    bool tfo = Q_AT(p, 0) & Q_TFO;
    if (p->raw_len == 0) {
        p->raw_cycle = p->byte_cycle;
        if (tfo && !tfo_in_place(p)) {
            /* This byte may be one that the TFO value still counts. */
            etmv2_emit(out, ETMV2_DESYNC, cycle_offset(p, p->byte_cycle));
            p->fifo--;
            etmv2_lose_sync(p);
            p->fifo++;
            if (p->sync != ETMV2_SYNC_CANDIDATE || !etmv2_resync(p, byte))
                return;
            etmv2_drain(p, out);
        }
    }
    p->raw[p->raw_len++] = byte;
    struct etmv2_packet k;
    switch (etmv2_parse_packet(p, tfo, &k)) {
    case ETMV2_NEED_MORE:
        return;
    case ETMV2_BAD:
        etmv2_emit(out, ETMV2_RESERVED, cycle_offset(p, p->raw_cycle))->value = byte;
        if (tfo)
            drop_tfo(p);
        etmv2_lose_sync(p);
        return;
    case ETMV2_DONE:
        break;
    }
    k.offset = cycle_offset(p, p->raw_cycle);
    out->packets[out->count++] = k;
    p->raw_len = 0;
    if (k.flags & ETMV2_MORE)
        return;
    if (tfo)
        drop_tfo(p);
    p->groups--;
    pop_status(p);
}

static void etmv2_take_byte(struct etmv2 *p, struct sink *out, uint8_t byte)
{
    p->fifo++;
    p->cycle.used = true;
    if (p->sync != ETMV2_SYNC_FOLLOWS) {
        if (!etmv2_resync(p, byte))
            return;
        etmv2_drain(p, out);
    }
    group_byte(p, out, byte);
}

/* One unit of the cycle's TRACEPKT: a nibble of a 4-bit port, else a byte. */
static void etmv2_take_unit(struct etmv2 *p, struct sink *out)
{
    struct etmv2_cycle *c = &p->cycle;
    uint8_t unit = c->pkt & 0xff;
    c->pkt >>= 8;
    c->slots--;
    if (!p->nibble_valid)
        p->byte_cycle = p->in.cycles;
    if (p->config.port.bits != 4) {
        etmv2_take_byte(p, out, unit);
        return;
    }
    c->used = true;
    p->nibble_valid = !p->nibble_valid;
    if (p->nibble_valid)
        p->nibble = unit;
    else
        etmv2_take_byte(p, out, (uint8_t)(p->nibble | unit << 4));
}

/* The cycle has a value's first nibble, or all of it. */
static void begin_tfo_value(struct etmv2 *p, struct etmv2_tfo *t, uint16_t pkt)
{
    t->n = pkt >> 1 & 7;
    p->tfo_wait = TFO_LOW;
    if (p->config.port.bits == 4)
        return;
    t->n = etmv2_tfo_number(&p->config, t->n, pkt >> 4 & 0xf);
    p->tfo_wait = TFO_COMPLETE;
}

static void remember_tfo(struct etmv2 *p, bool trigger, uint16_t pkt)
{
    struct etmv2_tfo *t = &p->tfo[p->tfo_count++];
    *t = (struct etmv2_tfo){.cycle = p->in.cycles, .fifo = p->fifo, .half = p->nibble_valid};
    bool narrow = p->config.port.bits == 4;
    if (!trigger)
        begin_tfo_value(p, t, pkt);
    else if (p->config.tfo_in_trigger && !narrow)
        t->n = pkt >> 4 & 0xf;
    else
        p->tfo_wait = TFO_VALUE;
    p->tfo_idle = narrow ? p->config.tfo4_extra : 0;
}

/* A cycle behind a TFO brings (part of) its value instead of a byte. False: it cannot. */
static bool tfo_value(struct etmv2 *p, uint16_t pkt)
{
    struct etmv2_tfo *t = &p->tfo[p->tfo_count - 1];
    if (p->tfo_wait == TFO_LOW) {
        t->n = etmv2_tfo_number(&p->config, t->n, pkt & 0xf);
        p->tfo_wait = TFO_COMPLETE;
        return true;
    }
    begin_tfo_value(p, t, pkt);
    p->tfo_idle = p->config.port.bits == 4 ? p->config.tfo4_extra + 1 : 1;
    return pkt & 1;
}

/* Queues the cycle's status. False: it must not be there now. */
static bool queue_status(struct etmv2 *p, bool tfo)
{
    const struct etmv2_cycle *c = &p->cycle;
    if (p->queue_len == ETMV2_QUEUE || (tfo && p->tfo_count == ETMV2_TFOS))
        return false;
    uint8_t entry = (uint8_t)(c->status | (c->trigger ? Q_TRIGGER : 0) | (tfo ? Q_TFO : 0) |
                              (c->status == ETMV2_TD && (c->pkt & 1) ? Q_WAITING : 0));
    if (p->queue_len == 0) {
        p->queue_head = 0;
        p->queue_cycle = p->in.cycles;
    }
    if (tfo)
        remember_tfo(p, c->trigger, c->pkt);
    p->queue[(p->queue_head + p->queue_len++) % ETMV2_QUEUE] = entry;
    p->groups += has_group(entry);
    return true;
}

/* TFO value cycles, and the gap of a 4-bit TFO: no byte. False: no TFO after all. */
static bool idle_cycle(struct etmv2 *p)
{
    struct etmv2_cycle *c = &p->cycle;
    if (c->trigger) /* delays all of it by a cycle */
        return true;
    bool good = !p->tfo_wait || tfo_value(p, c->pkt);
    if (p->tfo_idle)
        p->tfo_idle--;
    c->slots = 0;
    c->excused = true;
    return good;
}

static void begin_cycle(struct etmv2 *p, struct sink *out, const struct port_cycle *raw)
{
    static const uint8_t slots[3] = {[0] = 1, [1] = 1, [2] = 2};
    struct etmv2_cycle *c = &p->cycle;
    *c = (struct etmv2_cycle){.slots = 0};
    etmv2_read_pins(&p->config, raw, c);
    p->busy = true;
    bool good = c->status != ETMV2_TR;
    bool tfo = etmv2_is_tfo(&p->config, c);
    if (!c->trigger && c->status != ETMV2_TD)
        c->slots = slots[p->config.port.bits / 8];
    if (p->tfo_wait || p->tfo_idle)
        good &= idle_cycle(p) && !tfo;
    else if (c->status == ETMV2_TD && !tfo && p->groups) /* says that the FIFO is empty */
        good = false;
    if (good && (p->sync != ETMV2_SYNC_SEARCH || tfo))
        good = queue_status(p, tfo);
    if (!good) {
        p->tfo_count = 0; /* what was to come behind earlier ones is not there, either */
        p->tfo_wait = TFO_COMPLETE;
        p->tfo_idle = 0;
        c->slots = 0;
        etmv2_desync(p, out, p->in.cycles);
        c->excused = true;
        return;
    }
    if (tfo && p->sync == ETMV2_SYNC_SEARCH)
        p->sync = ETMV2_SYNC_CANDIDATE;
    c->own = p->config.late_group && !tfo && has_group((uint8_t)c->status);
}

/* The cycle's own group does not count while `late_group` holds it back. */
static bool bytes_wait(const struct etmv2 *p)
{
    if (p->sync == ETMV2_SYNC_CANDIDATE)
        return true;
    return p->sync == ETMV2_SYNC_FOLLOWS && p->groups > (p->cycle.own ? 1 : 0);
}

static void end_cycle(struct etmv2 *p, struct sink *out)
{
    const struct etmv2_cycle *c = &p->cycle;
    if (p->sync == ETMV2_SYNC_FOLLOWS && c->status == ETMV2_WT && !c->trigger && !c->used &&
        !c->excused)
        etmv2_desync(p, out, p->in.cycles);
    p->busy = false;
}

size_t etmv2_parse(struct etmv2 *p, const uint8_t *data, size_t len, struct etmv2_packet *packets,
                   size_t max, size_t *count)
{
    struct sink out = {packets, 0, max};
    size_t i = 0;
    while (i < len) {
        struct port_cycle raw;
        if (!p->busy && port_peek(&p->in, data[i], &raw))
            begin_cycle(p, &out, &raw);
        bool room = etmv2_drain(p, &out);
        while (room && p->busy && p->cycle.slots && bytes_wait(p) && out.count + 4 <= max) {
            etmv2_take_unit(p, &out);
            room = etmv2_drain(p, &out);
        }
        if (!room || out.count + 4 > max)
            break; /* the cycle's last byte stays until it is done */
        if (p->busy)
            end_cycle(p, &out);
        port_take(&p->in, data[i++]);
    }
    *count = out.count;
    return i;
}

size_t etmv2_finish(struct etmv2 *p, struct etmv2_packet *packets)
{
    struct sink out = {packets, 0, 3};
    uint64_t from = p->resync_start;
    bool waits = p->sync == ETMV2_SYNC_FOLLOWS && p->queue_len;
    if (waits)
        from = cycle_offset(p, p->queue_cycle);
    if ((p->sync != ETMV2_SYNC_FOLLOWS || waits) && p->in.offset > from)
        etmv2_emit(&out, waits ? ETMV2_INCOMPLETE : ETMV2_UNSYNCED, from)->value =
            p->in.offset - from;
    etmv2_emit(&out, ETMV2_END, p->in.offset);
    p->sync = ETMV2_SYNC_SEARCH;
    p->tfo_count = 0;
    etmv2_lose_sync(p);
    p->resync_start = p->in.offset;
    return out.count;
}
