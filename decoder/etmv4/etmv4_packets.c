/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4 and ETE packets byte by byte: IHI 0064H.b chapter 6, DDI 0487L.a chapter D5. */
#include "etmv4_forms.h"

#include <string.h>

/* Trace Info. */

#define PLCTL_INFO 0x01u
#define PLCTL_KEY  0x02u
#define PLCTL_SPEC 0x04u
#define PLCTL_CYCT 0x08u
#define PLCTL_WNDW 0x10u

static int parse_trace_info(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    static const uint8_t sections[] = {PLCTL_INFO, PLCTL_KEY, PLCTL_SPEC, PLCTL_CYCT, PLCTL_WNDW};
    uint32_t values[sizeof sections] = {0};
    c->p++;
    if (!etmv4_has(c, 1))
        return ETMV4_NEED_MORE;
    uint8_t control = *c->p++;
    for (unsigned i = 0, more = control & 0x80; more; i++) {
        if (!etmv4_has(c, 1))
            return ETMV4_NEED_MORE;
        more = *c->p++ & 0x80;
        if (more && i == 2)
            return ETMV4_BAD;
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
static bool short_address(const struct etmv4 *p, struct etmv4_cursor *c, struct target *t)
{
    unsigned shift = t->isa_bit ? 1 : 2;
    if (!etmv4_has(c, 1))
        return false;
    uint8_t byte = *c->p++;
    uint64_t mask = ((uint64_t)1 << (7 + shift)) - 1, value = (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) {
        if (!etmv4_has(c, 1))
            return false;
        mask = ((uint64_t)1 << (15 + shift)) - 1;
        value |= (uint64_t)*c->p++ << (7 + shift);
    }
    t->value = (p->last[0].value & ~mask) | value;
    return true;
}

static bool long_address(const struct etmv4 *p, struct etmv4_cursor *c, unsigned bytes,
                         struct target *t)
{
    if (!etmv4_has(c, bytes))
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

static bool address_bytes(const struct etmv4 *p, struct etmv4_cursor *c, enum address_form form,
                          unsigned which, struct target *t)
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

static bool number_bytes(struct etmv4_cursor *c, unsigned n, uint32_t *value)
{
    if (!etmv4_has(c, n))
        return false;
    *value = 0;
    for (unsigned i = 0; i < n; i++)
        *value |= (uint32_t)*c->p++ << 8 * i;
    return true;
}

/* Information byte and what it announces. Changes the parser only when the packet is complete. */
static bool context_bytes(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    if (!etmv4_has(c, 1))
        return false;
    k->info = *c->p++;
    k->flags |= ETMV4_HAS_CONTEXT;
    if ((k->info & ETMV4_INFO_VMID) && !number_bytes(c, p->config.vmid_bytes, &k->vmid))
        return false;
    if ((k->info & ETMV4_INFO_CONTEXT) && !number_bytes(c, p->config.context_bytes, &k->context))
        return false;
    if (p->numbers_due)
        k->n = (uint8_t)(~k->info & ((p->config.traces_vmid ? ETMV4_INFO_VMID : 0) |
                                     (p->config.traces_context ? ETMV4_INFO_CONTEXT : 0)));
    p->numbers_due = false;
    return true;
}

static int parse_context(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    k->kind = ETMV4_CONTEXT;
    c->p++;
    return !(k->header & 1) || context_bytes(p, c, k) ? 1 : ETMV4_NEED_MORE;
}

/* 82, 83, 85, 86: an address, and the context behind it. */
static int parse_address_context(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    struct target t;
    bool wide = k->header >= 0x85;
    unsigned isa_bit = wide ? k->header - 0x85u : k->header - 0x82u;
    c->p++;
    if (!address_bytes(p, c, wide ? FORM_64 : FORM_32, isa_bit, &t) || !context_bytes(p, c, k))
        return ETMV4_NEED_MORE;
    k->kind = ETMV4_ADDRESS;
    push_address(p, k, t.value, t.isa_bit);
    return 1;
}

/* An address group that begins with header `base`: +0..2 exact, +5,6 short, +10,11 and +13,14. */
static int plain_address(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k,
                         const uint8_t base[4])
{
    struct target t;
    unsigned form = FORM_64;
    while (form > FORM_EXACT && k->header < base[form])
        form--;
    c->p++;
    if (!address_bytes(p, c, (enum address_form)form, (unsigned)(k->header - base[form]), &t))
        return ETMV4_NEED_MORE;
    push_address(p, k, t.value, t.isa_bit);
    return 1;
}

static int parse_address(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    static const uint8_t base[] = {0x90, 0x95, 0x9a, 0x9d};
    k->kind = ETMV4_ADDRESS;
    return plain_address(p, c, k, base);
}

static int parse_source(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    static const uint8_t base[] = {0xb0, 0xb4, 0xb6, 0xb8};
    if (!p->config.ete)
        return ETMV4_BAD;
    k->kind = ETMV4_SOURCE;
    return plain_address(p, c, k, base);
}

/* Q packets (IHI 0064H.b chapter 6): address, then count, either of which may be missing. */
static int parse_q(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    struct target t = {0, 0};
    uint8_t h = k->header;
    if (!p->config.q_packets)
        return ETMV4_BAD;
    c->p++;
    bool addressed = h < 0xac;
    enum address_form form = h < 0xa5 ? FORM_EXACT : h < 0xaa ? FORM_SHORT : FORM_32;
    unsigned which = h < 0xa5 ? h - 0xa0u : h < 0xaa ? h - 0xa5u : h - 0xaau;
    if (addressed && !address_bytes(p, c, form, which, &t))
        return ETMV4_NEED_MORE;
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

static int parse_exception(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    c->p++;
    if (!etmv4_has(c, 1))
        return ETMV4_NEED_MORE;
    uint8_t b1 = *c->p++, b2 = 0;
    k->kind = ETMV4_EXCEPTION;
    k->number = b1 >> 1 & 0x1f;
    k->n = (uint8_t)((b1 >> 5 & 2) | (b1 & 1));
    bool silent = p->config.ete && !(b1 & 0x80) &&
                  (k->number == ETE_RESET || k->number == ETE_FAILED_TRANSACTION);
    if (silent) {
        if (!etmv4_has(c, 1))
            return ETMV4_NEED_MORE;
        c->p++;
        k->n = ETMV4_NO_ADDRESS;
        push_address(p, k, 0, 0);
        return 1;
    }
    if (k->n != ETMV4_RETURN && k->n != ETMV4_TARGET)
        return ETMV4_BAD;
    if (b1 & 0x80) {
        if (!etmv4_has(c, 1))
            return ETMV4_NEED_MORE;
        b2 = *c->p++;
        k->number |= (uint16_t)((b2 & 0x1f) << 5);
        k->flags |= b2 & 0x20 ? ETMV4_PENDING : 0;
    }
    return 1;
}

static int one_byte(struct etmv4_cursor *c, struct etmv4_packet *k, enum etmv4_kind kind,
                    bool legal)
{
    if (!legal)
        return ETMV4_BAD;
    c->p++;
    k->kind = (uint8_t)kind;
    return 1;
}

static int parse_instrumentation(struct etmv4_cursor *c, struct etmv4_packet *k, bool legal)
{
    if (!legal)
        return ETMV4_BAD;
    if (!etmv4_has(c, 10))
        return ETMV4_NEED_MORE;
    k->kind = ETMV4_INSTRUMENTATION;
    k->number = c->p[1] & 3;
    for (unsigned i = 0; i < 8; i++)
        k->value |= (uint64_t)c->p[2 + i] << 8 * i;
    c->p += 10;
    return 1;
}

static int parse_low(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
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

static int parse_middle(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
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

static int parse_high(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    uint8_t h = k->header;
    if (h <= 0x81)
        return parse_context(p, c, k);
    if (h <= 0x86 && h != 0x84)
        return parse_address_context(p, c, k);
    if (h == 0x88)
        return one_byte(c, k, ETMV4_MARKER, p->config.ete || p->config.version_minor >= 6);
    if (h <= 0x9e && h >= 0x90 && h != 0x93 && h != 0x94 && (h < 0x97 || h > 0x99) && h != 0x9c)
        return parse_address(p, c, k);
    if (h >= 0xa0 && h <= 0xaf && h != 0xa3 && h != 0xa4 && (h < 0xa7 || h > 0xa9) && h != 0xad &&
        h != 0xae)
        return parse_q(p, c, k);
    if (h >= 0xb0 && h <= 0xb9 && h != 0xb3)
        return parse_source(p, c, k);
    return ETMV4_BAD;
}

int etmv4_parse_packet(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
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
