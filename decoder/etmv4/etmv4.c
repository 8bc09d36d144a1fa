/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv4/etmv4.h"
#include "etmv4_internal.h"

#include <string.h>

/* Registers of the trace unit that shape the stream: IHI 0064H.b chapter 7. */

#define CONFIGR_INSTP0 (3u << 1)
#define CONFIGR_CID    (1u << 6)
#define CONFIGR_VMID   (1u << 7)
#define CONFIGR_COND   (7u << 8)
#define CONFIGR_RS     (1u << 12)
#define CONFIGR_DATA   (3u << 16)

#define IDR0_CCI       (1u << 7)
#define IDR0_QSUPP     (3u << 15)
#define IDR0_TSMARK    (1u << 23)
#define IDR0_COMMOPT   (1u << 29)
#define IDR0_COMMTRANS (1u << 30)

#define IDR2_WFXMODE (1u << 31)

#define DEVARCH_PRESENT (1u << 20)
#define DEVARCH_PART    0xa13u
#define DEVARCH_ETMV4   4
#define DEVARCH_ETE     5

/* Version from TRCDEVARCH, or where that is absent from TRCIDR1. */
static int set_version(struct etmv4_config *config, const struct etmv4_registers *r)
{
    if (!(r->devarch & DEVARCH_PRESENT)) {
        config->version_minor = r->idr[1] >> 4 & 0xf;
        return (r->idr[1] >> 8 & 0xf) == 4 ? BT_OK : BT_ERR_INVAL;
    }
    unsigned architecture = r->devarch >> 12 & 0xf;
    config->version_minor = r->devarch >> 16 & 0xf;
    config->ete = architecture == DEVARCH_ETE;
    if ((r->devarch & 0xfff) != DEVARCH_PART ||
        (architecture != DEVARCH_ETMV4 && architecture != DEVARCH_ETE))
        return BT_ERR_INVAL;
    return BT_OK;
}

static void set_sizes(struct etmv4_config *config, uint32_t idr2)
{
    unsigned counter = 12 + (idr2 >> 25 & 0xf), vmid = idr2 >> 10 & 0x1f;
    config->context_bytes = (idr2 >> 5 & 0x1f) == 4 ? 4 : 0;
    config->vmid_bytes = vmid == 1 || vmid == 2 || vmid == 4 ? (uint8_t)vmid : 0;
    config->cycle_mask = (1u << counter) - 1;
}

int etmv4_config_from_regs(struct etmv4_config *config, const struct etmv4_registers *r,
                           bool m_profile)
{
    memset(config, 0, sizeof *config);
    int error = set_version(config, r);
    if (error)
        return error;
    if ((r->configr & CONFIGR_INSTP0) || r->idr[8] > ETMV4_SPECULATED_MAX)
        return BT_ERR_UNSUPPORTED;
    set_sizes(config, r->idr[2]);
    config->m_profile = m_profile;
    config->trace_id = r->traceidr & 0x7f;
    config->max_speculated = (uint16_t)r->idr[8];
    config->traces_context = config->context_bytes && (r->configr & CONFIGR_CID);
    config->traces_vmid = config->vmid_bytes && (r->configr & CONFIGR_VMID);
    config->counts_commit = (r->idr[0] & IDR0_CCI) && !(r->idr[0] & IDR0_COMMOPT);
    config->return_stack = r->configr & CONFIGR_RS;
    config->conditional = (r->configr & CONFIGR_COND) && !config->ete;
    config->data_trace = (r->configr & CONFIGR_DATA) && !config->ete;
    config->q_packets = r->idr[0] & IDR0_QSUPP;
    config->wait_waypoints =
        (r->idr[2] & IDR2_WFXMODE) && (config->ete || config->version_minor >= 3);
    config->marked_times = (r->idr[0] & IDR0_TSMARK) && (config->ete || config->version_minor >= 6);
    config->transactions_p0 = config->ete && !(r->idr[0] & IDR0_COMMTRANS);
    return BT_OK;
}

/* ETMv4 packets that carry counts: times, cycles, commits, conditions: IHI 0064H.b chapter 6. */

/* Times and counts. */

static int etmv4_parse_timestamp(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    uint64_t value;
    unsigned bits;
    c->p++;
    int result = etmv4_varint(c, 9, 9, &value, &bits);
    if (result != 1)
        return result;
    if (k->header & 1) {
        result = etmv4_number32(c, 3, &k->cycles);
        if (result != 1)
            return result;
        k->cycles &= p->config.cycle_mask;
        k->flags |= ETMV4_COUNTED;
    }
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    k->kind = ETMV4_TIMESTAMP;
    k->value = p->timestamp = (p->timestamp & ~mask) | value;
    return 1;
}

static int etmv4_parse_cycles1(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    uint32_t commit = 0, count = 0;
    bool unknown = k->header & 1;
    c->p++;
    int result = p->config.counts_commit ? etmv4_number32(c, 5, &commit) : 1;
    if (result == 1 && !unknown)
        result = etmv4_number32(c, 3, &count);
    if (result != 1)
        return result;
    etmv4_set_count(p, k, commit, count);
    if (unknown) {
        k->flags &= (uint8_t)~ETMV4_COUNTED;
        k->cycles = 0;
    }
    return 1;
}

static int etmv4_parse_cycles2(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    c->p++;
    if (!packet_has(c, 1))
        return PACKET_NEED_MORE;
    uint32_t a = *c->p >> 4, b = *c->p & 0xf, max = p->config.max_speculated;
    bool from_the_end = k->header & 1;
    c->p++;
    if (p->config.counts_commit && from_the_end && max + a < 15)
        return PACKET_BAD;
    etmv4_set_count(p, k, from_the_end ? max + a - 15 : a + 1, b);
    return 1;
}

static int etmv4_parse_cycles3(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    etmv4_set_count(p, k, (k->header >> 2 & 3u) + 1, k->header & 3);
    c->p++;
    return 1;
}

/* Speculation. */

static int etmv4_parse_commit(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    (void)p;
    c->p++;
    k->kind = k->header == 0x2d ? ETMV4_COMMIT : ETMV4_CANCEL;
    k->flags |= k->header == 0x2f ? ETMV4_MISPREDICTS : 0;
    return etmv4_number32(c, 5, &k->commit);
}

static int etmv4_parse_mispredict(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    const struct etmv4_packet *known = &etmv4_packets[k->header];
    (void)p;
    c->p++;
    k->kind = known->kind;
    k->flags |= known->flags;
    k->commit = known->commit;
    k->value = known->value;
    k->n = known->n;
    return 1;
}

/* Conditional tracing: lengths only; it never changes the flow. */

static int etmv4_parse_condition(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    uint8_t h = k->header;
    uint64_t value;
    unsigned bits, payloads = h >= 0x68 && h <= 0x6b ? 2 : h >= 0x6e ? 1 : 0;
    bool reserved = h == 0x47 || h == 0x4b || h == 0x4f || (h >= 0x60 && h <= 0x67);
    if (!p->config.conditional || reserved)
        return PACKET_BAD;
    k->kind = ETMV4_CONDITION;
    c->p++;
    if (h == 0x6c)
        return etmv4_varint(c, 5, 0, &value, &bits);
    if (h == 0x6d || (h >= 0x50 && h <= 0x5f)) {
        if (!packet_has(c, 1))
            return PACKET_NEED_MORE;
        c->p++;
    }
    while (payloads-- > 0) {
        int result = etmv4_varint(c, 6, 0, &value, &bits);
        if (result != 1)
            return result;
    }
    return 1;
}

/* ETMv4 and ETE packets byte by byte: IHI 0064H.b chapter 6, DDI 0487L.a chapter D5. */

/* Trace Info. */

#define PLCTL_INFO 0x01u
#define PLCTL_KEY  0x02u
#define PLCTL_SPEC 0x04u
#define PLCTL_CYCT 0x08u
#define PLCTL_WNDW 0x10u

static int parse_trace_info(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    static const uint8_t sections[] = {PLCTL_INFO, PLCTL_KEY, PLCTL_SPEC, PLCTL_CYCT, PLCTL_WNDW};
    uint32_t values[sizeof sections] = {0};
    c->p++;
    if (!packet_has(c, 1))
        return PACKET_NEED_MORE;
    uint8_t control = *c->p++;
    for (unsigned i = 0, more = control & 0x80; more; i++) {
        if (!packet_has(c, 1))
            return PACKET_NEED_MORE;
        more = *c->p++ & 0x80;
        if (more && i == 2)
            return PACKET_BAD;
    }
    for (unsigned i = 0; i < sizeof sections; i++) {
        int result = control & sections[i] ? etmv4_number32(c, 5, &values[i]) : 1;
        if (result != 1)
            return result;
    }
    k->kind = ETMV4_TRACE_INFO;
    k->value = values[0];
    k->commit = values[2];
    k->cycles = values[3];
    p->threshold = values[3] & 0xfff;
    p->timestamp = 0;
    p->numbers_due = p->config.traces_context || p->config.traces_vmid;
    memset(p->last, 0, sizeof p->last);
    return 1;
}

/* Addresses and context. */

static void push_address(struct etmv4 *p, struct etmv4_packet *k, uint64_t value, uint8_t isa_bit)
{
    etmv4_push_address(p->last, value, isa_bit);
    k->value = value;
    k->isa_bit = isa_bit;
}

struct target {
    uint64_t value;
    uint8_t isa_bit;
};

/* One or two bytes over the low bits of the latest address. */
static bool short_address(const struct etmv4 *p, struct packet_cursor *c, struct target *t)
{
    unsigned shift = t->isa_bit ? 1 : 2;
    if (!packet_has(c, 1))
        return false;
    uint8_t byte = *c->p++;
    uint64_t mask = ((uint64_t)1 << (7 + shift)) - 1, value = (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) {
        if (!packet_has(c, 1))
            return false;
        mask = ((uint64_t)1 << (15 + shift)) - 1;
        value |= (uint64_t)*c->p++ << (7 + shift);
    }
    t->value = (p->last[0].value & ~mask) | value;
    return true;
}

static bool long_address(const struct etmv4 *p, struct packet_cursor *c, unsigned bytes,
                         struct target *t)
{
    if (!packet_has(c, bytes))
        return false;
    const uint8_t *b = c->p;
    uint64_t v = t->isa_bit ? (uint64_t)(b[0] & 0x7f) << 1 | (uint64_t)b[1] << 8
                            : (uint64_t)(b[0] & 0x7f) << 2 | (uint64_t)(b[1] & 0x7f) << 9;
    for (unsigned i = 2; i < bytes; i++)
        v |= (uint64_t)b[i] << 8 * i;
    t->value = bytes == 4 ? (p->last[0].value & ~(uint64_t)UINT32_MAX) | v : v;
    c->p += bytes;
    return true;
}

/* Headers of one group, from its first: exact matches, short, 32 and 64 bits. */
enum address_form { FORM_EXACT, FORM_SHORT, FORM_32, FORM_64 };

static bool etmv4_address_bytes(const struct etmv4 *p, struct packet_cursor *c,
                                enum address_form form, unsigned which, struct target *t)
{
    t->isa_bit = (uint8_t)which;
    switch (form) {
    case FORM_EXACT:
        t->value = p->last[which].value;
        t->isa_bit = p->last[which].isa_bit;
        return true;
    case FORM_SHORT:
        return short_address(p, c, t);
    case FORM_32:
        return long_address(p, c, 4, t);
    case FORM_64:
        return long_address(p, c, 8, t);
    }
    return false;
}

/* Information byte and what it announces. Changes the parser only when the packet is complete. */
static bool etmv4_context_bytes(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    if (!packet_has(c, 1))
        return false;
    k->info = *c->p++;
    k->flags |= ETMV4_HAS_CONTEXT;
    if ((k->info & ETMV4_INFO_VMID) && !packet_number(c, p->config.vmid_bytes, &k->vmid))
        return false;
    if ((k->info & ETMV4_INFO_CONTEXT) && !packet_number(c, p->config.context_bytes, &k->context))
        return false;
    if (p->numbers_due)
        k->n = (uint8_t)(~k->info & ((p->config.traces_vmid ? ETMV4_INFO_VMID : 0) |
                                     (p->config.traces_context ? ETMV4_INFO_CONTEXT : 0)));
    p->numbers_due = false;
    return true;
}

static int etmv4_parse_context(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    k->kind = ETMV4_CONTEXT;
    c->p++;
    return !(k->header & 1) || etmv4_context_bytes(p, c, k) ? 1 : PACKET_NEED_MORE;
}

/* 82, 83, 85, 86: an address, and the context behind it. */
static int parse_address_context(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    struct target t;
    bool wide = k->header >= 0x85;
    unsigned isa_bit = wide ? k->header - 0x85u : k->header - 0x82u;
    c->p++;
    if (!etmv4_address_bytes(p, c, wide ? FORM_64 : FORM_32, isa_bit, &t) ||
        !etmv4_context_bytes(p, c, k))
        return PACKET_NEED_MORE;
    k->kind = ETMV4_ADDRESS;
    push_address(p, k, t.value, t.isa_bit);
    return 1;
}

/* An address group that begins with header `base`: +0..2 exact, +5,6 short, +10,11 and +13,14. */
static int plain_address(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k,
                         const uint8_t base[4])
{
    struct target t;
    unsigned form = FORM_64;
    while (form > FORM_EXACT && k->header < base[form])
        form--;
    c->p++;
    if (!etmv4_address_bytes(p, c, (enum address_form)form, (unsigned)(k->header - base[form]), &t))
        return PACKET_NEED_MORE;
    push_address(p, k, t.value, t.isa_bit);
    return 1;
}

static int etmv4_parse_address(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    static const uint8_t base[] = {0x90, 0x95, 0x9a, 0x9d};
    k->kind = ETMV4_ADDRESS;
    return plain_address(p, c, k, base);
}

static int parse_source(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    static const uint8_t base[] = {0xb0, 0xb4, 0xb6, 0xb8};
    if (!p->config.ete)
        return PACKET_BAD;
    k->kind = ETMV4_SOURCE;
    return plain_address(p, c, k, base);
}

/* Q packets (IHI 0064H.b chapter 6): address, then count, either of which may be missing. */
static int parse_q(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    struct target t = {0, 0};
    uint8_t h = k->header;
    if (!p->config.q_packets)
        return PACKET_BAD;
    c->p++;
    bool addressed = h < 0xac;
    enum address_form form = h < 0xa5 ? FORM_EXACT : h < 0xaa ? FORM_SHORT : FORM_32;
    unsigned which = h < 0xa5 ? h - 0xa0u : h < 0xaa ? h - 0xa5u : h - 0xaau;
    if (addressed && !etmv4_address_bytes(p, c, form, which, &t))
        return PACKET_NEED_MORE;
    int result = h == 0xaf ? 1 : etmv4_number32(c, 5, &k->commit);
    if (result != 1)
        return result;
    k->kind = ETMV4_Q;
    k->flags |= (uint8_t)((addressed ? ETMV4_ADDRESSED : 0) | (h == 0xaf ? 0 : ETMV4_COUNTED));
    if (addressed)
        push_address(p, k, t.value, t.isa_bit);
    return 1;
}

/* Exceptions. */

#define ETE_RESET              0x00
#define ETE_FAILED_TRANSACTION 0x18

static int parse_exception(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    c->p++;
    if (!packet_has(c, 1))
        return PACKET_NEED_MORE;
    uint8_t b1 = *c->p++, b2 = 0;
    k->kind = ETMV4_EXCEPTION;
    k->number = b1 >> 1 & 0x1f;
    k->n = (uint8_t)((b1 >> 5 & 2) | (b1 & 1));
    bool silent = p->config.ete && !(b1 & 0x80) &&
                  (k->number == ETE_RESET || k->number == ETE_FAILED_TRANSACTION);
    if (silent) {
        if (!packet_has(c, 1))
            return PACKET_NEED_MORE;
        c->p++;
        k->n = ETMV4_NO_ADDRESS;
        push_address(p, k, 0, 0);
        return 1;
    }
    if (k->n != ETMV4_RETURN && k->n != ETMV4_TARGET)
        return PACKET_BAD;
    if (b1 & 0x80) {
        if (!packet_has(c, 1))
            return PACKET_NEED_MORE;
        b2 = *c->p++;
        k->number |= (uint16_t)((b2 & 0x1f) << 5);
        k->flags |= b2 & 0x20 ? ETMV4_PENDING : 0;
    }
    return 1;
}

static int one_byte(struct packet_cursor *c, struct etmv4_packet *k, enum etmv4_kind kind,
                    bool legal)
{
    if (!legal)
        return PACKET_BAD;
    c->p++;
    k->kind = (uint8_t)kind;
    return 1;
}

static int parse_instrumentation(struct packet_cursor *c, struct etmv4_packet *k, bool legal)
{
    if (!legal)
        return PACKET_BAD;
    if (!packet_has(c, 10))
        return PACKET_NEED_MORE;
    k->kind = ETMV4_INSTRUMENTATION;
    k->number = c->p[1] & 3;
    for (unsigned i = 0; i < 8; i++)
        k->value |= (uint64_t)c->p[2 + i] << 8 * i;
    c->p += 10;
    return 1;
}

static int parse_low(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    bool ete = p->config.ete;
    switch (k->header) {
    case 0x01:
        return parse_trace_info(p, c, k);
    case 0x02:
    case 0x03:
        return etmv4_parse_timestamp(p, c, k);
    case 0x04:
        return one_byte(c, k, ETMV4_TRACE_ON, true);
    case 0x05:
        return one_byte(c, k, ETMV4_FUNC_RETURN, p->config.m_profile);
    case 0x06:
        return parse_exception(p, c, k);
    case 0x07:
        return one_byte(c, k, ETMV4_EXC_RETURN, !ete);
    case 0x08: /* only OpenCSD 1.8.0 knows it; either choice looks for an A-sync */
        return one_byte(c, k, ETMV4_RESYNC, !ete);
    case 0x09:
        return parse_instrumentation(c, k, ete);
    case 0x0a:
    case 0x0b:
        k->number = k->header == 0x0a;
        return one_byte(c, k, ETMV4_TRANSACTION, ete);
    case 0x0c:
    case 0x0d:
        return etmv4_parse_cycles2(p, c, k);
    case 0x0e:
    case 0x0f:
        return etmv4_parse_cycles1(p, c, k);
    default:
        return etmv4_parse_cycles3(p, c, k);
    }
}

static int parse_middle(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    uint8_t h = k->header;
    if (h <= 0x2c)
        return one_byte(c, k, ETMV4_DATA_SYNC, p->config.data_trace && !p->config.ete);
    if (h <= 0x2f)
        return etmv4_parse_commit(p, c, k);
    if (h <= 0x3f)
        return etmv4_parse_mispredict(p, c, k);
    if (h <= 0x6f)
        return etmv4_parse_condition(p, c, k);
    if (h == 0x70)
        return one_byte(c, k, ETMV4_IGNORE, p->config.ete || p->config.version_minor >= 3);
    k->number = h & 0xf;
    return one_byte(c, k, ETMV4_EVENT, true);
}

static int parse_high(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    uint8_t h = k->header;
    if (h <= 0x81)
        return etmv4_parse_context(p, c, k);
    if (h <= 0x86 && h != 0x84)
        return parse_address_context(p, c, k);
    if (h == 0x88)
        return one_byte(c, k, ETMV4_MARKER, p->config.ete || p->config.version_minor >= 6);
    if (h <= 0x9e && h >= 0x90 && h != 0x93 && h != 0x94 && (h < 0x97 || h > 0x99) && h != 0x9c)
        return etmv4_parse_address(p, c, k);
    if (h >= 0xa0 && h <= 0xaf && h != 0xa3 && h != 0xa4 && (h < 0xa7 || h > 0xa9) && h != 0xad &&
        h != 0xae)
        return parse_q(p, c, k);
    if (h >= 0xb0 && h <= 0xb9 && h != 0xb3)
        return parse_source(p, c, k);
    return PACKET_BAD;
}

static int etmv4_parse_packet(struct etmv4 *p, struct packet_cursor *c, struct etmv4_packet *k)
{
    uint8_t h = k->header;
    if (h >= ETMV4_HDR_ATOM) {
        k->kind = ETMV4_ATOM;
        k->value = etmv4_packets[h].value;
        k->n = etmv4_packets[h].n;
        c->p++;
        return 1;
    }
    if (h < 0x20)
        return parse_low(p, c, k);
    return h < 0x80 ? parse_middle(p, c, k) : parse_high(p, c, k);
}

#define ASYNC_ZEROS 11
#define ASYNC_END   0x80

#define EXT_DISCARD      0x03
#define EXT_OVERFLOW     0x05
#define EXT_FUTURE_FLUSH 0x07

void etmv4_init(struct etmv4 *p, const struct etmv4_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
    p->lost = true;
}

static void etmv4_lose_sync(struct etmv4 *p, uint64_t from)
{
    packet_scan_lose(&p->scan, from);
    p->lost = true;
}

void etmv4_discontinuity(struct etmv4 *p)
{
    packet_scan_skip(&p->scan);
    etmv4_lose_sync(p, p->scan.offset);
}

static const struct packet_format format;

static struct etmv4_packet *etmv4_clear_packet(struct etmv4_packet *k, uint64_t offset)
{
    memset(k, 0, sizeof *k);
    k->offset = offset;
    return k;
}

static void etmv4_report_bytes(void *out, uint8_t kind, uint64_t from, uint64_t count)
{
    struct etmv4_packet *k = etmv4_clear_packet(out, from);
    k->kind = kind;
    k->value = count;
    k->size = packet_size16(count);
}

static void etmv4_emit_bad(struct etmv4_packet *k, uint64_t offset, uint8_t header, bool reserved)
{
    etmv4_clear_packet(k, offset);
    k->kind = reserved ? ETMV4_RESERVED : ETMV4_MALFORMED;
    k->header = header;
    k->value = header;
    k->size = 1;
}

/* A zero byte and another one behind it, in a synchronised stream: p->scan.offset is behind both.
 */
static void emit_extension(struct etmv4 *p, uint8_t code, struct etmv4_packet *k)
{
    uint64_t start = p->scan.offset - 2;
    bool flush = code == EXT_FUTURE_FLUSH && p->config.m_profile;
    p->scan.in_zeros = false;
    p->scan.zeros = 0;
    etmv4_clear_packet(k, start);
    k->size = 2;
    if (code != EXT_DISCARD && code != EXT_OVERFLOW && !flush) {
        etmv4_emit_bad(k, start, 0, false);
        etmv4_lose_sync(p, start + 1);
        return;
    }
    k->kind = flush ? ETMV4_FUTURE_FLUSH : code == EXT_DISCARD ? ETMV4_DISCARD : ETMV4_OVERFLOW;
    if (!flush)
        etmv4_lose_sync(p, p->scan.offset);
}

/* A run of zeros that can be no A-sync: one too many, or it ends with another byte. */
static void emit_bad_zeros(struct etmv4 *p, uint64_t start, uint64_t zeros_left,
                           struct etmv4_packet *k)
{
    etmv4_emit_bad(k, start, 0, false);
    etmv4_lose_sync(p, start + 1);
    p->scan.zeros = zeros_left;
}

static size_t etmv4_scan_zeros(void *parser, const uint8_t *data, size_t len, void *out,
                               size_t *count)
{
    struct etmv4 *p = parser;
    struct etmv4_packet *packets = out;
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = data[i];
        uint64_t start = p->scan.offset - p->scan.zeros;
        p->scan.offset++;
        if (byte == 0) {
            p->scan.zeros++;
            if (!p->scan.synced || p->scan.zeros <= ASYNC_ZEROS)
                continue;
            emit_bad_zeros(p, start, ASYNC_ZEROS, &packets[(*count)++]);
            return i + 1;
        }
        if (byte == ASYNC_END && p->scan.zeros >= ASYNC_ZEROS) {
            *count += packet_scan_async(&p->scan, &format, packets + *count);
            return i + 1;
        }
        if (p->scan.synced && p->scan.zeros == 1) {
            emit_extension(p, byte, &packets[(*count)++]);
            return i + 1;
        }
        if (p->scan.synced) {
            emit_bad_zeros(p, start, 0, &packets[(*count)++]);
            return i + 1;
        }
        p->scan.zeros = 0;
    }
    return len;
}

static void etmv4_lose_at(void *parser, void *out, uint8_t header, bool reserved)
{
    struct etmv4 *p = parser;
    struct etmv4_packet *k = out;
    uint64_t offset = k->offset;
    etmv4_emit_bad(k, offset, header, reserved);
    etmv4_lose_sync(p, offset + 1);
    p->scan.offset = offset + 1;
}

/*
 * IHI 0064H.b chapter 6 has nothing but events between A-sync and Trace Info, but a Cortex-A53 was
 * seen to put an atom there: so all packets are taken, and the flow is told which Trace Info is the
 * first. */
static enum packet_result etmv4_scan_packet(void *parser, struct packet_cursor *c, void *out)
{
    struct etmv4 *p = parser;
    struct etmv4_packet *k = etmv4_clear_packet(out, p->scan.offset);
    const uint8_t *start = c->p;
    k->header = *start;
    int result = etmv4_parse_packet(p, c, k);
    if (result != PACKET_DONE)
        return (enum packet_result)result;
    k->size = (uint16_t)(c->p - start);
    if (k->kind == ETMV4_TRACE_INFO) {
        k->flags |= p->lost ? ETMV4_STARTING : 0;
        p->lost = false;
    } else if (k->kind == ETMV4_RESYNC) {
        etmv4_lose_sync(p, p->scan.offset + k->size);
    }
    return PACKET_DONE;
}

static size_t scan_frequent(void *parser, const uint8_t *data, size_t len, void *out, size_t max,
                            size_t *count)
{
    return etmv4_parse_frequent(parser, data, len, out, max, count);
}

static const struct packet_format format = {.size = sizeof(struct etmv4_packet),
                                            .async = ETMV4_ASYNC,
                                            .unsynced = ETMV4_UNSYNCED,
                                            .incomplete = ETMV4_INCOMPLETE,
                                            .report = etmv4_report_bytes,
                                            .zeros = etmv4_scan_zeros,
                                            .frequent = scan_frequent,
                                            .packet = etmv4_scan_packet,
                                            .bad = etmv4_lose_at};

size_t etmv4_parse(struct etmv4 *p, const uint8_t *data, size_t len, struct etmv4_packet *out,
                   size_t max, size_t *count)
{
    return packet_scan_parse(p, &p->scan, &format, data, len, out, max, count);
}

size_t etmv4_finish(struct etmv4 *p, struct etmv4_packet *out)
{
    return packet_scan_finish(&p->scan, &format, out);
}
