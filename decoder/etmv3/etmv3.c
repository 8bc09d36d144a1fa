/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv3/etmv3.h"
#include "etmv3_internal.h"

#include <string.h>

/* Registers of the trace unit that shape the stream: IHI 0014Q chapter 3. */

#define ETMCR_DATA_VALUE       (1u << 2)
#define ETMCR_DATA_ADDRESS     (1u << 3)
#define ETMCR_CYCLE_ACCURATE   (1u << 12)
#define ETMCR_DATA_ONLY        (1u << 20)
#define ETMIDR_T32_ONE         (1u << 18)
#define ETMIDR_ALTERNATIVE     (1u << 20)
#define ETMCCER_VIRTUALIZATION (1u << 26)
#define ETMCCER_TS_BINARY      (1u << 28)
#define ETMCCER_TS64           (1u << 29)

int etmv3_config_from_regs(struct etmv3_config *config, uint32_t etmcr, uint32_t etmidr,
                           uint32_t etmccer, uint32_t etmtraceidr)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    if ((etmidr >> 8 & 0xf) != 2)
        return BT_ERR_INVAL;
    memset(config, 0, sizeof *config);
    config->sync_period = ETMV3_SYNC_PERIOD;
    config->trace_id = etmtraceidr & 0x7f;
    config->version_minor = etmidr >> 4 & 0xf;
    config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    config->data_value = etmcr & ETMCR_DATA_VALUE;
    config->data_address = etmcr & ETMCR_DATA_ADDRESS;
    config->data_only = (etmcr & ETMCR_DATA_ONLY) && config->version_minor >= 1;
    config->alternative = (etmidr & ETMIDR_ALTERNATIVE) && config->version_minor >= 4;
    config->t32_split = !(etmidr & ETMIDR_T32_ONE);
    if (config->version_minor >= 5) {
        config->virtualization = etmccer & ETMCCER_VIRTUALIZATION;
        config->timestamp64 = etmccer & ETMCCER_TS64;
        config->timestamp_gray = !(etmccer & ETMCCER_TS_BINARY);
    }
    return BT_OK;
}

#define ASYNC_ZEROS 5
#define ASYNC_END   0x80
#define PER_STEP    3 /* packets that one step may give */

void etmv3_init(struct etmv3 *p, const struct etmv3_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
}

static void etmv3_lose_sync(struct etmv3 *p, uint64_t from)
{
    packet_scan_lose(&p->scan, from);
    p->marker = false;
    p->ts_valid = false;
    p->ts_raw = 0;
    p->data_base = 0;
    p->data_bits = 0;
    memset(&p->base, 0, sizeof p->base);
}

void etmv3_discontinuity(struct etmv3 *p)
{
    packet_scan_skip(&p->scan);
    etmv3_lose_sync(p, p->scan.offset);
}

static inline void etmv3_clear_packet(struct etmv3_packet *k, uint64_t offset)
{
    memset(k, 0, sizeof *k);
    k->offset = offset;
}

/* A single bad byte: the search for an A-sync starts behind it. */
static void etmv3_emit_bad(struct etmv3 *p, struct etmv3_packet *k, uint64_t offset, uint8_t header,
                           enum etmv3_kind kind)
{
    etmv3_clear_packet(k, offset);
    k->kind = (uint8_t)kind;
    k->value = header;
    k->size = 1;
    etmv3_lose_sync(p, offset + 1);
}

/* Synced, at a header. Returns bytes consumed, one packet stored; 0: wait for more bytes. */
static inline size_t etmv3_parse_one(struct etmv3 *p, const uint8_t *data, size_t len,
                                     struct etmv3_packet *k)
{
    struct packet_cursor c = {data, data + len};
    etmv3_clear_packet(k, p->scan.offset);
    int result = etmv3_parse_packet(p, &c, k);
    if (result == PACKET_NEED_MORE)
        return 0;
    if (result == PACKET_BAD) {
        etmv3_emit_bad(p, k, p->scan.offset, *data, (enum etmv3_kind)k->kind);
        p->scan.offset++;
        return 1;
    }
    k->size = (uint16_t)(c.p - data);
    p->scan.offset += k->size;
    return k->size;
}

/* A-sync (IHI 0014Q 7.10). */

static void etmv3_report_bytes(void *out, uint8_t kind, uint64_t from, uint64_t count)
{
    struct etmv3_packet *k = out;
    etmv3_clear_packet(k, from);
    k->kind = kind;
    k->value = count;
    k->size = packet_size16(count);
}

/* Its packets are found by etmv3_step(): zeros may be the end of the capture, or what a branch is.
 */
static const struct packet_format format = {.size = sizeof(struct etmv3_packet),
                                            .async = ETMV3_ASYNC,
                                            .unsynced = ETMV3_UNSYNCED,
                                            .incomplete = ETMV3_INCOMPLETE,
                                            .report = etmv3_report_bytes};

/* The 0x01 before the zeros was a branch after all: they are not the end of the capture. */
static size_t emit_marker(struct etmv3 *p, struct etmv3_packet *out, uint64_t offset)
{
    static const uint8_t byte = ETMV3_END_MARKER;
    struct packet_cursor c = {&byte, &byte + 1};
    if (!p->marker)
        return 0;
    p->marker = false;
    etmv3_clear_packet(out, offset);
    etmv3_parse_branch(p, &c, out);
    out->size = 1;
    return 1;
}

/* `zeros` zeros and this byte end at p->scan.offset. */
static size_t end_zeros(struct etmv3 *p, uint8_t byte, struct etmv3_packet *out)
{
    uint64_t start = p->scan.offset - 1 - p->scan.zeros;
    size_t n = emit_marker(p, out, start - 1);
    if (byte == ASYNC_END && p->scan.zeros >= ASYNC_ZEROS) {
        n += packet_scan_async(&p->scan, &format, out + n);
    } else if (p->scan.synced) {
        etmv3_emit_bad(p, out + n++, start, 0, ETMV3_MALFORMED);
        /* What follows the first zero is looked at again: it has no A-sync, but may begin one. */
    }
    return n;
}

/* Looks for an A-sync, or goes through one. Returns bytes consumed, adds packets. */
static size_t etmv3_scan_zeros(struct etmv3 *p, const uint8_t *data, size_t len,
                               struct etmv3_packet *out, size_t *count)
{
    for (size_t i = 0; i < len; i++) {
        p->scan.offset++;
        if (data[i] == 0) {
            p->scan.zeros++;
            continue;
        }
        size_t n = end_zeros(p, data[i], out + *count);
        p->scan.zeros = 0;
        *count += n;
        if (n)
            return i + 1;
    }
    return len;
}

static size_t enter_zeros(struct etmv3 *p, bool marker)
{
    p->scan.in_zeros = true;
    p->marker = marker;
    p->scan.offset += marker;
    return marker;
}

/* Up to PER_STEP packets. Returns bytes consumed; 0: more bytes are needed to go on. */
static inline size_t etmv3_step(struct etmv3 *p, const uint8_t *data, size_t len,
                                struct etmv3_packet *out, size_t *count)
{
    size_t used = 0;
    if (p->scan.synced && !p->scan.in_zeros) {
        if (data[0] == ETMV3_END_MARKER) {
            if (len < 2)
                return 0;
            if (data[1] == 0 && !p->config.data_only)
                used = enter_zeros(p, true);
        } else if (data[0] == 0) {
            enter_zeros(p, false);
        }
    }
    if (!p->scan.synced || p->scan.in_zeros)
        return used + etmv3_scan_zeros(p, data + used, len - used, out, count);
    used = etmv3_parse_one(p, data, len, &out[*count]);
    *count += used != 0;
    return used;
}

/* Goes on with the bytes carried over. Returns bytes of `data` consumed. */
static size_t step_carried(struct etmv3 *p, const uint8_t *data, size_t len,
                           struct etmv3_packet *out, size_t *count)
{
    size_t had = p->scan.carry_len;
    size_t take = PACKET_CARRY - had < len ? PACKET_CARRY - had : len;
    memcpy(p->scan.carry + had, data, take);
    size_t used = etmv3_step(p, p->scan.carry, had + take, out, count);
    if (used == 0) {
        p->scan.carry_len = (uint8_t)(had + take);
        return take;
    }
    if (used >= had) {
        p->scan.carry_len = 0;
        return used - had;
    }
    memmove(p->scan.carry, p->scan.carry + used, had - used);
    p->scan.carry_len = (uint8_t)(had - used);
    return 0;
}

size_t etmv3_parse(struct etmv3 *p, const uint8_t *data, size_t len, struct etmv3_packet *out,
                   size_t max, size_t *count)
{
    size_t i = 0, n = 0;
    while (p->scan.carry_len && i < len && n + PER_STEP <= max)
        i += step_carried(p, data + i, len - i, out, &n);
    while (i < len && n + PER_STEP <= max) {
        if (p->scan.synced && !p->scan.in_zeros && data[i] && !p->config.data_only) {
            size_t got =
                etmv3_parse_frequent(p, data + i, len - i, out + n, max - n - (PER_STEP - 1), &n);
            i += got;
            if (got)
                continue;
        }
        size_t used = etmv3_step(p, data + i, len - i, out, &n);
        if (used == 0) { /* fewer than PACKET_CARRY bytes: every packet is shorter */
            p->scan.carry_len = (uint8_t)(len - i);
            memcpy(p->scan.carry, data + i, len - i);
            i = len;
            break;
        }
        i += used;
    }
    *count = n;
    return i;
}

size_t etmv3_finish(struct etmv3 *p, struct etmv3_packet *out)
{
    struct packet_scan *s = &p->scan;
    if (s->synced && p->marker)
        return packet_report(&format, out, ETMV3_END, s->offset - s->zeros - 1, s->zeros + 1);
    if (s->synced && !s->in_zeros && s->carry_len == 1 && s->carry[0] == ETMV3_END_MARKER) {
        p->marker = true;
        s->carry_len = 0;
        return emit_marker(p, out, s->offset++);
    }
    return packet_scan_finish(s, &format, out);
}
