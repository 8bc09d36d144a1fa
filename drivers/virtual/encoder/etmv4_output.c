/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4 model, lower half: compression against what was sent, packets to the buffer. */
#include "etmv4_encoder_state.h"
#include "etmv4_packets.h"

#define EXACT     0x90
#define IGNORE    0x70
#define MARKER    0x88
#define TRACE_ON  0x04
#define UNCHANGED 0x80

#define INFO_CYCLES 1u

#define CONTEXT_NSE  0x08u
#define CONTEXT_SF   0x10u
#define CONTEXT_NS   0x20u
#define CONTEXT_VMID 0x40u
#define CONTEXT_ID   0x80u

#define TIME_BYTES 9

static bool chance(struct etmv4_encoder *e, unsigned percent)
{
    return trace_random_percent(&e->random, percent);
}

static uint32_t below(struct etmv4_encoder *e, uint32_t limit)
{
    return trace_random_below(&e->random, limit);
}

static int etmv4_output_append(struct etmv4_encoder *e, enum etmv4_packet_kind kind,
                               const uint8_t *bytes, size_t size)
{
    static const uint8_t ignore = IGNORE;

    /* Nothing is told where nobody listens: between an overflow and its A-sync. */
    if (e->can_ignore && !e->lost && kind != ETMV4_SENT_TRACE_INFO && kind != ETMV4_SENT_IGNORE &&
        chance(e, e->options.ignore_percent)) {
        int error = etmv4_output_append(e, ETMV4_SENT_IGNORE, &ignore, 1);
        if (error)
            return error;
    }
    e->bytes_since_async += size;
    e->packets[kind]++;
    return trace_bytes_append(e->out, bytes, size);
}

int etmv4_out_bytes(struct etmv4_encoder *e, enum etmv4_packet_kind kind, const uint8_t *bytes,
                    size_t size)
{
    int error = etmv4_out_flush(e);

    return error ? error : etmv4_output_append(e, kind, bytes, size);
}

/* Synchronisation and atoms. */

int etmv4_out_sync(struct etmv4_encoder *e)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    struct etmv4_info_fields info = {.empty_section = chance(e, 50),
                                     .info = e->counts ? INFO_CYCLES : 0,
                                     .threshold = e->counts ? e->options.ccctlr : 0};
    int error = etmv4_out_flush(e);

    info.speculation = e->depth;
    if (!error)
        error = etmv4_output_append(e, ETMV4_SENT_ASYNC, bytes, etmv4_put_async(bytes));
    if (!error)
        error = etmv4_output_append(e, ETMV4_SENT_TRACE_INFO, bytes,
                                    etmv4_put_trace_info(bytes, &info));
    e->bytes_since_async = 0;
    e->sent = (struct etmv4_sent){.time = 0};
    e->stack_count = 0;
    e->lost = false;
    e->sync_due = false;
    e->address_due = e->no_pop = e->context_due = true;
    return error;
}

int etmv4_out_flush(struct etmv4_encoder *e)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    unsigned taken;
    int error = 0;

    while (!error && e->atom_count > 0) {
        size_t size = etmv4_put_atoms(bytes, e->atoms, e->atom_count, &taken);
        e->atoms >>= taken;
        e->atom_count -= taken;
        error = etmv4_output_append(e, ETMV4_SENT_ATOM, bytes, size);
    }
    e->straight = 0;
    return error;
}

/* When too many are held back, the oldest leave in one packet: it is as full as can be. */
int etmv4_out_atom(struct etmv4_encoder *e, bool taken)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    unsigned gone;

    e->atoms |= (uint32_t)taken << e->atom_count;
    e->atom_count++;
    e->straight = taken ? 0 : e->straight + 1;
    etmv4_spec_count(e);
    if (chance(e, e->options.flush_percent))
        return etmv4_out_flush(e);
    if (e->atom_count < e->options.atoms_max)
        return 0;
    size_t size = etmv4_put_atoms(bytes, e->atoms, e->atom_count, &gone);
    e->atoms >>= gone;
    e->atom_count -= gone;
    if (e->straight > e->atom_count)
        e->straight = e->atom_count;
    return etmv4_output_append(e, ETMV4_SENT_ATOM, bytes, size);
}

static bool is_is1(enum bt_isa isa)
{
    return isa == BT_ISA_T32;
}

static void remember(struct etmv4_encoder *e, uint64_t address, bool is1)
{
    struct etmv4_place *r = e->sent.addresses;

    r[2] = r[1];
    r[1] = r[0];
    r[0] = (struct etmv4_place){address, is1 ? BT_ISA_T32 : BT_ISA_A32};
}

/* The register that holds the address, or -1. */
static int find_exact(struct etmv4_encoder *e, uint64_t address, bool is1)
{
    for (int i = 0; i < 3; i++) {
        const struct etmv4_place *r = &e->sent.addresses[i];
        if (r->address == address && is_is1(r->isa) == is1 && !chance(e, e->options.longer_percent))
            return i;
    }
    return -1;
}

/* The shortest form not below `least` that reaches the address, or by chance a longer one. */
static enum etmv4_reach choose_reach(struct etmv4_encoder *e, uint64_t address, bool is1,
                                     enum etmv4_reach least)
{
    uint64_t changed = address ^ e->sent.addresses[0].address;
    enum etmv4_reach reach = least;

    while (changed & etmv4_address_kept(reach, is1))
        reach++;
    if (reach < ETMV4_LONG_64 && chance(e, e->options.longer_percent))
        reach += 1 + below(e, ETMV4_LONG_64 - reach);
    /* AArch32 and M profile know no 64-bit form, but to take off upper bits. */
    if (reach == ETMV4_LONG_64 && address >> 32 == 0 && changed >> 32 == 0)
        reach = ETMV4_LONG_32;
    return reach;
}

int etmv4_out_address(struct etmv4_encoder *e, const struct etmv4_place *place)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    bool is1 = is_is1(place->isa);
    int exact = find_exact(e, place->address, is1);
    int error;

    if (exact >= 0) {
        bytes[0] = (uint8_t)(EXACT + exact);
        error = etmv4_out_bytes(e, ETMV4_SENT_EXACT, bytes, 1);
    } else {
        enum etmv4_reach reach = choose_reach(e, place->address, is1, ETMV4_SHORT_1);
        error = etmv4_out_bytes(e, ETMV4_SENT_ADDRESS, bytes,
                                etmv4_put_address(bytes, place->address, is1, reach));
    }
    remember(e, place->address, is1);
    return error;
}

int etmv4_out_source(struct etmv4_encoder *e, const struct etmv4_place *place)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    bool is1 = is_is1(place->isa);
    int exact = find_exact(e, place->address, is1);
    size_t size = 1;

    if (exact >= 0)
        bytes[0] = (uint8_t)(0xb0 + exact);
    else
        size = etmv4_put_source_address(bytes, place->address, is1,
                                        choose_reach(e, place->address, is1, ETMV4_SHORT_1));
    int error = etmv4_out_bytes(e, ETMV4_SENT_SOURCE, bytes, size);
    remember(e, place->address, is1);
    etmv4_spec_count(e);
    return error;
}

static bool traces_context_id(const struct etmv4_encoder *e)
{
    return (e->options.configr & ETMV4_CONFIG_CONTEXT_ID) && e->context_bytes;
}

static bool traces_vmid(const struct etmv4_encoder *e)
{
    return (e->options.configr & ETMV4_CONFIG_VMID) && e->vmid_bytes;
}

bool etmv4_out_context_sent(const struct etmv4_encoder *e, bool aarch64)
{
    const struct etmv4_context *a = &e->context, *b = &e->sent.context;

    return !e->context_due && a->level == b->level && a->ns == b->ns && a->nse == b->nse &&
           aarch64 == e->sent.aarch64 &&
           (!traces_context_id(e) || a->context_id == b->context_id) &&
           (!traces_vmid(e) || a->vmid == b->vmid);
}

/* Fields of a context packet; what they say becomes what was told. */
static struct etmv4_context_fields report_context(struct etmv4_encoder *e, bool aarch64)
{
    const struct etmv4_context *c = &e->context;
    struct etmv4_context_fields f = {.vmid = c->vmid,
                                     .context_id = c->context_id,
                                     .vmid_bytes = e->vmid_bytes,
                                     .context_bytes = e->context_bytes};
    bool again = chance(e, e->options.repeat_percent) ||
                 (e->context_due && !chance(e, e->options.zero_percent));

    f.info = (uint8_t)(c->level | (c->ns ? CONTEXT_NS : 0) | (aarch64 ? CONTEXT_SF : 0) |
                       (e->ete && c->nse ? CONTEXT_NSE : 0));
    if (traces_vmid(e) && (again || c->vmid != e->sent.context.vmid))
        f.info |= CONTEXT_VMID;
    if (traces_context_id(e) && (again || c->context_id != e->sent.context.context_id))
        f.info |= CONTEXT_ID;
    e->sent.context = *c;
    e->sent.aarch64 = aarch64;
    e->context_due = false;
    return f;
}

int etmv4_out_context(struct etmv4_encoder *e, bool aarch64)
{
    static const uint8_t unchanged = UNCHANGED;
    uint8_t bytes[ETMV4_PUT_MAX];

    if (etmv4_out_context_sent(e, aarch64)) {
        if (!chance(e, e->options.repeat_percent))
            return 0;
        return etmv4_out_bytes(e, ETMV4_SENT_CONTEXT, &unchanged, 1);
    }
    struct etmv4_context_fields f = report_context(e, aarch64);
    return etmv4_out_bytes(e, ETMV4_SENT_CONTEXT, bytes, etmv4_put_context(bytes, &f));
}

static int put_both(struct etmv4_encoder *e, const struct etmv4_place *place, bool aarch64)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    bool is1 = is_is1(place->isa);
    enum etmv4_reach reach = choose_reach(e, place->address, is1, ETMV4_LONG_32);
    struct etmv4_context_fields f = report_context(e, aarch64);
    int error = etmv4_out_bytes(e, ETMV4_SENT_ADDRESS_CONTEXT, bytes,
                                etmv4_put_address_context(bytes, place->address, is1, reach, &f));

    remember(e, place->address, is1);
    return error;
}

int etmv4_out_place(struct etmv4_encoder *e, const struct etmv4_place *place)
{
    bool aarch64 = place->isa == BT_ISA_A64;
    bool as_reported = etmv4_out_context_sent(e, aarch64);
    int error;

    if (as_reported && !chance(e, e->options.repeat_percent))
        return etmv4_out_address(e, place);
    if (chance(e, as_reported ? 50 : 80))
        return put_both(e, place, aarch64);
    error = etmv4_out_context(e, aarch64);
    return error ? error : etmv4_out_address(e, place);
}

int etmv4_out_reset(struct etmv4_encoder *e, unsigned type)
{
    /* Two bytes, and a third that is an Ignore packet for those who do not know it. */
    uint8_t bytes[3] = {0x06, (uint8_t)(type << 1 | 1), IGNORE};
    int error = etmv4_out_bytes(e, ETMV4_SENT_EXCEPTION, bytes, sizeof bytes);

    remember(e, 0, false);
    etmv4_spec_count(e);
    return error;
}

int etmv4_out_exception(struct etmv4_encoder *e, const struct etmv4_exception *x, bool target)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    bool wide = e->options.m_profile && chance(e, e->options.longer_percent);
    size_t size = etmv4_put_exception(bytes, x->type, target, x->pending, wide);
    static const struct etmv4_place none = {0xfffffffe, BT_ISA_T32};
    int error = etmv4_out_bytes(e, ETMV4_SENT_EXCEPTION, bytes, size);

    if (!error && x->no_return)
        error = etmv4_out_address(e, &none);
    else if (!error)
        error = etmv4_out_place(e, &x->preferred);
    etmv4_spec_count(e);
    return error;
}

/* In a packet that commits elements, too: how many. */
static size_t put_committing_count(struct etmv4_encoder *e, uint8_t *bytes, uint64_t value)
{
    uint32_t commit = e->depth ? below(e, e->depth + 1) : 0;
    uint32_t f_base = e->options.idr8 - 15;
    unsigned way = below(e, 3);

    e->depth -= commit;
    if (way == 0 && value < 4 && commit >= 1 && commit <= 4)
        return etmv4_put_cycles_3(bytes, commit - 1, (unsigned)value);
    if (way < 2 && value < 16 && commit >= 1 && commit <= 16)
        return etmv4_put_cycles_2(bytes, false, commit - 1, (unsigned)value);
    if (way < 2 && value < 16 && e->options.idr8 >= 15 && commit >= f_base && commit > 0)
        return etmv4_put_cycles_2(bytes, true, commit - f_base, (unsigned)value);
    return etmv4_put_cycles_1(bytes, commit, (int64_t)value);
}

static size_t etmv4_output_put_count(struct etmv4_encoder *e, uint8_t *bytes, uint64_t value)
{
    if (value < 4 && !chance(e, e->options.longer_percent))
        return etmv4_put_cycles_3(bytes, below(e, 4), (unsigned)value);
    if (value < 16 && !chance(e, e->options.longer_percent))
        return etmv4_put_cycles_2(bytes, below(e, 2), below(e, 16), (unsigned)value);
    return etmv4_put_cycles_1(bytes, -1, (int64_t)value);
}

int etmv4_out_cycles(struct etmv4_encoder *e)
{
    uint8_t bytes[ETMV4_PUT_MAX];
    size_t size;

    if (!e->counts || e->cycles < e->options.ccctlr)
        return 0;
    int error = etmv4_out_flush(e);
    if (e->cycles > e->cycle_max || e->cycles_unknown)
        size = etmv4_put_cycles_1(bytes, e->count_commits ? 0 : -1, -1);
    else if (e->count_commits)
        size = put_committing_count(e, bytes, e->cycles - e->options.ccctlr);
    else
        size = etmv4_output_put_count(e, bytes, e->cycles - e->options.ccctlr);
    if (e->cycles <= e->cycle_max && !e->cycles_unknown)
        e->cycle_sum += e->cycles;
    e->cycles = 0;
    e->cycles_unknown = false;
    return error ? error : etmv4_out_bytes(e, ETMV4_SENT_CYCLES, bytes, size);
}

int etmv4_out_timestamp(struct etmv4_encoder *e)
{
    static const uint8_t marker = MARKER;
    uint8_t bytes[ETMV4_PUT_MAX];
    uint64_t changed = e->time ^ e->sent.time;
    unsigned n = etmv4_varint_bytes(changed, TIME_BYTES);
    uint64_t count = e->cycles > e->cycle_max ? e->cycle_max : e->cycles;
    bool counted = e->counts && !chance(e, e->options.longer_percent);
    int error = 0;

    if (n < TIME_BYTES && chance(e, e->options.longer_percent))
        n += 1 + below(e, TIME_BYTES - n);
    if (e->markers)
        error = etmv4_out_bytes(e, ETMV4_SENT_MARKER, &marker, 1);
    if (error)
        return error;
    e->sent.time = e->time;
    return etmv4_out_bytes(e, ETMV4_SENT_TIMESTAMP, bytes,
                           etmv4_put_timestamp(bytes, e->time, n, counted ? (int64_t)count : -1));
}

int etmv4_out_instrumentation(struct etmv4_encoder *e, unsigned level, uint64_t value)
{
    uint8_t bytes[ETMV4_PUT_MAX];

    return etmv4_out_bytes(e, ETMV4_SENT_INSTRUMENTATION, bytes,
                           etmv4_put_instrumentation(bytes, level, value));
}
