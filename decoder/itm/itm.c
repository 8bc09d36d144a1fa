/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/itm/itm.h"

#define SYNC_ZEROS 5 /* 47 zero bits and a one */
#define SYNC_END   0x80
#define TIME_MAX   4 /* bytes behind the header of a timestamp or an extension */
#define HIGH_SHORT 4 /* GTS2 of a 48-bit counter */
#define HIGH_LONG  6 /* of a 64-bit one */

static const struct packet_format format;

void itm_config_from_regs(struct itm_config *config, uint32_t itm_tcr, unsigned *trace_id)
{
    config->prescaler = (uint8_t)(1u << 2 * (itm_tcr >> 8 & 3));
    *trace_id = itm_tcr >> 16 & 0x7f;
}

void itm_init(struct itm *p, const struct itm_config *config)
{
    memset(p, 0, sizeof *p);
    p->wait_sync = config->wait_sync;
    p->scan.synced = !config->wait_sync;
}

/* The search begins at `from`, if there is anything to look for. */
static void itm_lose(struct itm *p, uint64_t from)
{
    p->page = 0;
    packet_scan_lose(&p->scan, from);
    p->scan.synced = !p->wait_sync;
}

void itm_discontinuity(struct itm *p)
{
    packet_scan_skip(&p->scan);
    itm_lose(p, p->scan.offset);
}

static void itm_clear_packet(struct itm_packet *k, uint64_t offset)
{
    memset(k, 0, sizeof *k);
    k->offset = offset;
}

static void itm_report(void *out, uint8_t kind, uint64_t from, uint64_t count)
{
    struct itm_packet *k = out;
    itm_clear_packet(k, from);
    k->kind = kind;
    k->value = count;
    k->size = packet_size16(count);
}

static size_t itm_zeros(void *parser, const uint8_t *data, size_t len, void *out, size_t *count)
{
    struct itm *p = parser;
    struct packet_scan *s = &p->scan;
    struct itm_packet *packets = out;
    for (size_t i = 0; i < len; i++) {
        if (data[i] == 0) {
            s->offset++;
            s->zeros++;
            continue;
        }
        if (data[i] == SYNC_END && s->zeros >= SYNC_ZEROS) {
            s->offset++;
            *count += packet_scan_async(s, &format, packets + *count);
            p->wait_sync = true;
            return i + 1;
        }
        if (s->synced) { /* this byte may begin a packet */
            itm_report(&packets[(*count)++], ITM_MALFORMED, s->offset - s->zeros, s->zeros);
            itm_lose(p, s->offset);
            return i;
        }
        s->offset++;
        s->zeros = 0;
    }
    return len;
}

/* Groups of seven bits, least significant first: at most `max`. DONE with more than that: *n is
 * max + 1. */
static enum packet_result itm_groups(struct packet_cursor *c, unsigned max, uint64_t *value,
                                     unsigned *n)
{
    uint8_t byte = 0x80;
    *value = 0;
    for (*n = 0; byte & 0x80; ++*n) {
        if (*n == max) {
            ++*n;
            return PACKET_DONE;
        }
        if (!packet_byte(c, &byte))
            return PACKET_NEED_MORE;
        *value |= (uint64_t)(byte & 0x7f) << 7 * *n;
    }
    return PACKET_DONE;
}

static enum packet_result itm_take_time(struct packet_cursor *c, uint8_t header,
                                        struct itm_packet *k)
{
    unsigned n;
    enum packet_result result = itm_groups(c, TIME_MAX, &k->value, &n);
    k->kind = n > TIME_MAX ? ITM_MALFORMED : ITM_LOCAL_TIME;
    k->relation = header >> 4 & 3;
    return result;
}

/* GTS1: in the fourth byte two flags stand above five bits. */
static enum packet_result itm_take_low(struct packet_cursor *c, struct itm_packet *k)
{
    unsigned n;
    enum packet_result result = itm_groups(c, TIME_MAX, &k->value, &n);
    k->kind = n > TIME_MAX ? ITM_MALFORMED : ITM_GLOBAL_LOW;
    k->bits = (uint8_t)(n < 4 ? 7 * n : 26);
    if (n == 4) {
        k->flags =
            (k->value >> 26 & 1 ? ITM_CLOCK_CHANGE : 0) | (k->value >> 27 & 1 ? ITM_WRAP : 0);
        k->value &= 0x3ffffff;
    }
    return result;
}

static enum packet_result itm_take_high(struct packet_cursor *c, struct itm_packet *k)
{
    unsigned n;
    enum packet_result result = itm_groups(c, HIGH_LONG, &k->value, &n);
    k->kind = n == HIGH_SHORT || n == HIGH_LONG ? ITM_GLOBAL_HIGH : ITM_MALFORMED;
    k->bits = n == HIGH_SHORT ? 22 : 38;
    k->value &= ((uint64_t)1 << k->bits) - 1;
    return result;
}

/* Three bits of its value are in the header. */
static enum packet_result itm_take_extension(struct itm *p, struct packet_cursor *c, uint8_t header,
                                             struct itm_packet *k)
{
    unsigned n = 0;
    uint64_t groups = 0;
    enum packet_result result = PACKET_DONE;
    if (header & 0x80)
        result = itm_groups(c, TIME_MAX, &groups, &n);
    if (result != PACKET_DONE)
        return result;
    k->value = groups << 3 | (header >> 4 & 7);
    k->bits = (uint8_t)(3 + 7 * n);
    k->flags = header & 4 ? ITM_WRITE : 0;
    k->kind = n > TIME_MAX ? ITM_MALFORMED : ITM_EXTENSION;
    if (n == 0 && !(header & 4)) {
        k->kind = ITM_PAGE;
        p->page = (uint8_t)k->value;
    }
    return PACKET_DONE;
}

/* What has neither a source nor a form: one byte, or as many as say that they go on. */
static enum packet_result itm_take_reserved(struct packet_cursor *c, uint8_t header,
                                            struct itm_packet *k)
{
    uint64_t groups;
    unsigned n;
    k->kind = ITM_RESERVED;
    if (header & 0x80 && itm_groups(c, TIME_MAX, &groups, &n) != PACKET_DONE)
        return PACKET_NEED_MORE;
    k->value = header;
    return PACKET_DONE;
}

static bool itm_is_exception(const struct itm_packet *k)
{
    return k->bytes == 2 && (k->value >> 12 & 3);
}

/* Discriminators 8 to 23: PC or address (01), value (10); comparator; the lowest bit tells which.
 */
static void itm_data_trace(struct itm_packet *k, unsigned id)
{
    k->number = id >> 1 & 3;
    if (id >= 16) {
        k->kind = ITM_DATA_VALUE;
        k->flags = id & 1 ? ITM_WRITE : 0;
    } else if (id & 1) {
        k->kind = ITM_DATA_ADDRESS;
    } else if (k->bytes == 4) {
        k->kind = ITM_DATA_PC;
    } else if (k->bytes == 1) {
        k->kind = ITM_DATA_MATCH;
    }
}

/* A hardware source by its discriminator (DDI 0403E.e D4.3, DDI 0553B.v F1.2). */
static void itm_hardware(struct itm_packet *k, unsigned id)
{
    k->kind = ITM_HARDWARE;
    if (id == 0 && k->bytes == 1 && k->value < 0x40) {
        k->kind = ITM_COUNTERS;
    } else if (id == 1 && itm_is_exception(k)) {
        k->kind = ITM_EXCEPTION;
        k->relation = k->value >> 12 & 3;
        k->number = k->value & 0x1ff;
    } else if (id == 2 &&
               (k->bytes == 4 || (k->bytes == 1 && (k->value == 0 || k->value == 0xff)))) {
        k->kind = ITM_SAMPLE;
    } else if (id == 3 && k->bytes == 1) {
        k->kind = ITM_PMU;
    } else if (id >= 8 && id < 24) {
        itm_data_trace(k, id);
    }
    if (k->kind == ITM_HARDWARE)
        k->number = (uint16_t)id;
}

static enum packet_result itm_take_source(struct itm *p, struct packet_cursor *c, uint8_t header,
                                          struct itm_packet *k)
{
    uint32_t value;
    k->bytes = (uint8_t)(1u << ((header & 3) - 1));
    if (!packet_number(c, k->bytes, &value))
        return PACKET_NEED_MORE;
    k->value = value;
    if (header & 4) {
        itm_hardware(k, header >> 3);
        return PACKET_DONE;
    }
    k->kind = ITM_SOFTWARE;
    k->number = (uint16_t)(p->page * 32u + (header >> 3));
    return PACKET_DONE;
}

static enum packet_result itm_take_packet(struct itm *p, struct packet_cursor *c, uint8_t header,
                                          struct itm_packet *k)
{
    if (header & 3)
        return itm_take_source(p, c, header, k);
    if ((header & 0x0b) == 0x08)
        return itm_take_extension(p, c, header, k);
    if ((header & 0xcf) == 0xc0)
        return itm_take_time(c, header, k);
    if (header == 0x94)
        return itm_take_low(c, k);
    if (header == 0xb4)
        return itm_take_high(c, k);
    if (header & 0x8f)
        return itm_take_reserved(c, header, k);
    k->kind = header == 0x70 ? ITM_OVERFLOW : ITM_LOCAL_TIME;
    k->value = header == 0x70 ? 0 : header >> 4;
    return PACKET_DONE;
}

static enum packet_result itm_packet(void *parser, struct packet_cursor *c, void *out)
{
    struct itm *p = parser;
    struct itm_packet *k = out;
    const uint8_t *start = c->p;
    uint8_t header = 0;
    itm_clear_packet(k, p->scan.offset);
    packet_byte(c, &header);
    enum packet_result result = itm_take_packet(p, c, header, k);
    if (result != PACKET_DONE)
        return result;
    k->size = (uint16_t)(c->p - start);
    if (k->kind == ITM_MALFORMED) {
        k->value = k->size;
        k->number = header;
        itm_lose(p, p->scan.offset + k->size);
    }
    return result;
}

/* No packet is ever bad in the scanner's sense: what is malformed has a length, too. */
static void itm_bad(void *parser, void *out, uint8_t header, bool reserved)
{
    (void)parser, (void)out, (void)header, (void)reserved;
}

static const struct packet_format format = {.size = sizeof(struct itm_packet),
                                            .async = ITM_ASYNC,
                                            .unsynced = ITM_UNSYNCED,
                                            .incomplete = ITM_INCOMPLETE,
                                            .report = itm_report,
                                            .zeros = itm_zeros,
                                            .packet = itm_packet,
                                            .bad = itm_bad};

size_t itm_parse(struct itm *p, const uint8_t *data, size_t len, struct itm_packet *out, size_t max,
                 size_t *count)
{
    return packet_scan_parse(p, &p->scan, &format, data, len, out, max, count);
}

size_t itm_finish(struct itm *p, struct itm_packet *out)
{
    return packet_scan_finish(&p->scan, &format, out);
}
