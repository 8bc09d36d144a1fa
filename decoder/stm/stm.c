/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/stm/stm.h"

#include <string.h>

#define ASYNC_ONES 21 /* nibbles of a synchronisation, before a 0 */
#define BYTE_ROOM  5  /* packets that two nibbles may end: what was cut, and a synchronisation */

/* What an opcode is: MIPI STP 2.2 table of opcodes. */
struct stm_form {
    uint8_t kind;
    uint8_t data; /* nibbles behind the opcode, before the timestamp */
    uint8_t flags;
};

#define MTS (STM_MARKED | STM_TIMED)

/* One nibble; F begins a longer one. */
static const struct stm_form short_forms[15] = {
    {STM_NULL, 0, 0},   {STM_MASTER, 2, 0}, {STM_MASTER_ERROR, 2, 0}, {STM_CHANNEL, 2, 0},
    {STM_DATA, 2, 0},   {STM_DATA, 4, 0},   {STM_DATA, 8, 0},         {STM_DATA, 16, 0},
    {STM_DATA, 2, MTS}, {STM_DATA, 4, MTS}, {STM_DATA, 8, MTS},       {STM_DATA, 16, MTS},
    {STM_DATA, 1, 0},   {STM_DATA, 1, MTS}, {STM_FLAG, 0, STM_TIMED},
};

/* Behind F; F 0 and F F are apart. */
static const struct stm_form long_forms[15] = {
    [0x1] = {STM_MASTER, 4, 0},         [0x2] = {STM_GLOBAL_ERROR, 2, 0},
    [0x3] = {STM_CHANNEL, 4, 0},        [0x4] = {STM_DATA, 2, STM_TIMED},
    [0x5] = {STM_DATA, 4, STM_TIMED},   [0x6] = {STM_DATA, 8, STM_TIMED},
    [0x7] = {STM_DATA, 16, STM_TIMED},  [0x8] = {STM_DATA, 2, STM_MARKED},
    [0x9] = {STM_DATA, 4, STM_MARKED},  [0xa] = {STM_DATA, 8, STM_MARKED},
    [0xb] = {STM_DATA, 16, STM_MARKED}, [0xc] = {STM_DATA, 1, STM_TIMED},
    [0xd] = {STM_DATA, 1, STM_MARKED},  [0xe] = {STM_FLAG, 0, 0},
};

/* Behind F 0. */
static const struct stm_form rare_forms[16] = {
    [0x0] = {STM_VERSION, 1, 0},   [0x1] = {STM_NULL, 0, STM_TIMED},
    [0x2] = {STM_USER, 1, 0},      [0x3] = {STM_USER, 1, STM_TIMED},
    [0x4] = {STM_RESERVED, 0, 0},  [0x5] = {STM_RESERVED, 0, 0},
    [0x6] = {STM_TRIGGER, 2, 0},   [0x7] = {STM_TRIGGER, 2, STM_TIMED},
    [0x8] = {STM_FREQUENCY, 8, 0}, [0x9] = {STM_FREQUENCY, 8, STM_TIMED},
    [0xa] = {STM_RESERVED, 0, 0},  [0xb] = {STM_RESERVED, 0, 0},
    [0xc] = {STM_RESERVED, 0, 0},  [0xd] = {STM_RESERVED, 0, 0},
    [0xe] = {STM_RESERVED, 0, 0},
};

/* Behind F 0 F. */
static const struct stm_form rarest_forms[16] = {
    [0x0] = {STM_FREQUENCY, 10, 0},
    [0x1] = {STM_FREQUENCY, 10, STM_TIMED},
};

enum stm_progress {
    STM_BAD,
    STM_MORE,
    STM_WHOLE,
};

/* Where the parts of a packet are, as far as its nibbles tell. */
struct stm_layout {
    struct stm_form form;
    unsigned data_at, data;
    unsigned stamp_at, stamp;
};

void stm_config_from_regs(struct stm_config *config, uint32_t stmtcsr)
{
    config->trace_id = stmtcsr >> 16 & 0x7f;
}

static void stm_lose(struct stm *p, uint64_t from)
{
    p->resync_start = from;
    p->synced = p->time_known = false;
    p->version = STM_NO_VERSION;
    p->count = 0;
    p->ones = 0;
}

void stm_init(struct stm *p, const struct stm_config *config)
{
    (void)config;
    memset(p, 0, sizeof *p);
    stm_lose(p, 0);
}

void stm_discontinuity(struct stm *p)
{
    stm_lose(p, p->at / 2);
}

static void stm_begin_packet(struct stm_packet *k, uint64_t start, uint64_t end)
{
    memset(k, 0, sizeof *k);
    k->offset = start / 2;
    k->phase = start & 1;
    k->size = (end + 1) / 2 - k->offset;
}

/* A record of what was received of a packet. */
static void stm_report(const struct stm *p, enum stm_kind kind, struct stm_packet *k)
{
    stm_begin_packet(k, p->start, p->start + p->count);
    k->kind = (uint8_t)kind;
    k->nibbles = p->count;
    for (unsigned i = 0; i < p->count; i++)
        k->raw[i / 2] |= (uint8_t)(p->nibbles[i] << 4 * (i & 1));
}

static enum stm_progress stm_opcode(const struct stm *p, struct stm_layout *l)
{
    const uint8_t *n = p->nibbles;
    l->data_at = n[0] != 0xf                   ? 1
                 : p->count > 1 && n[1] != 0   ? 2
                 : p->count > 2 && n[2] == 0xf ? 4
                                               : 3;
    if (p->count < l->data_at)
        return STM_MORE;
    if (l->data_at == 1)
        l->form = short_forms[n[0]];
    else if (l->data_at == 2)
        l->form = long_forms[n[1]];
    else if (l->data_at == 3)
        l->form = rare_forms[n[2]];
    else
        l->form = n[3] < 2 ? rarest_forms[n[3]] : (struct stm_form){.kind = STM_RESERVED};
    return l->form.kind == STM_RESERVED ? STM_BAD : STM_WHOLE;
}

/* Nibbles of the data: of some packets the first one says. */
static bool stm_data_length(const struct stm *p, struct stm_layout *l)
{
    bool told = l->form.kind == STM_VERSION || l->form.kind == STM_USER;
    l->data = l->form.data;
    if (!told)
        return true;
    if (p->count <= l->data_at)
        return false;
    uint8_t first = p->nibbles[l->data_at];
    l->data += l->form.kind == STM_USER ? first : first & 8 ? 2 : 0;
    return true;
}

static enum stm_progress stm_stamp_length(const struct stm *p, struct stm_layout *l)
{
    l->stamp_at = l->data_at + l->data;
    l->stamp = 0;
    if (!(l->form.flags & STM_TIMED))
        return STM_WHOLE;
    if (p->version == STM_NO_VERSION)
        return STM_BAD;
    if (p->version < 2) { /* of STPv1, no length */
        l->stamp = 2;
        return STM_WHOLE;
    }
    if (p->count <= l->stamp_at)
        return STM_MORE;
    uint8_t length = p->nibbles[l->stamp_at++];
    l->stamp = length < 0xd ? length : length == 0xd ? 14 : 16;
    return length == 0xf ? STM_BAD : STM_WHOLE;
}

static enum stm_progress stm_progress(const struct stm *p, struct stm_layout *l)
{
    enum stm_progress result = stm_opcode(p, l);
    if (result != STM_WHOLE)
        return result;
    if (!stm_data_length(p, l) || p->count < l->data_at + l->data)
        return STM_MORE;
    result = stm_stamp_length(p, l);
    if (result == STM_WHOLE && p->count < l->stamp_at + l->stamp)
        return STM_MORE;
    return result;
}

static uint64_t stm_number(const struct stm *p, unsigned at, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value = value << 4 | p->nibbles[at + i];
    return value;
}

/* Of Gray code the bits that were sent replace those of the code before, not those of the number.
 */
static void stm_take_time(struct stm *p, const struct stm_layout *l, struct stm_packet *k)
{
    unsigned bits = 4 * l->stamp;
    uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    k->stamp = stm_number(p, l->stamp_at, l->stamp);
    k->stamp_bits = (uint8_t)bits;
    if (p->version == 2) {
        p->time += k->stamp;
    } else {
        p->sent = (p->sent & ~mask) | k->stamp;
        p->time = p->sent;
        for (unsigned shift = 1; p->version == 4 && shift < 64; shift *= 2)
            p->time ^= p->time >> shift;
    }
    p->time_known |= bits == 64;
    k->time = p->time;
    k->flags |= p->time_known ? STM_TIME_KNOWN : 0;
}

/* What a packet changes for those behind it. */
static void stm_apply(struct stm *p, const struct stm_layout *l, uint64_t value)
{
    switch (l->form.kind) {
    case STM_VERSION:
        p->version = l->data > 1 ? p->nibbles[l->data_at] & 7 : value & 7;
        p->master = p->channel = 0;
        break;
    case STM_MASTER:
        p->master = (uint16_t)value;
        p->channel = 0;
        break;
    case STM_CHANNEL:
        p->channel = (uint16_t)(l->data == 2 ? (p->channel & 0xff00) | value : value);
        break;
    case STM_GLOBAL_ERROR:
        p->master = p->channel = 0;
        break;
    case STM_MASTER_ERROR:
        p->channel = 0;
        break;
    default:
        break;
    }
}

static void stm_take(struct stm *p, const struct stm_layout *l, struct stm_packet *k)
{
    unsigned skip = l->form.kind == STM_USER; /* the length */
    stm_report(p, (enum stm_kind)l->form.kind, k);
    k->flags = l->form.flags;
    k->value = stm_number(p, l->data_at + skip, l->data - skip);
    k->bits = (uint8_t)(4 * (l->data - skip));
    if (l->form.kind == STM_MASTER_ERROR)
        k->master = p->master; /* whose writes were lost */
    stm_apply(p, l, k->value);
    if (l->form.flags & STM_TIMED)
        stm_take_time(p, l, k);
    if (l->form.kind != STM_MASTER_ERROR)
        k->master = p->master;
    k->channel = p->channel;
}

/* Complete with the nibble before `at`; what was being received when it came was cut. */
static size_t stm_async(struct stm *p, struct stm_packet *out)
{
    uint64_t begin = p->at - 1 - p->ones, from = p->at - 1 - ASYNC_ONES;
    size_t n = 0;
    if (p->synced && p->count && p->start < begin) {
        stm_report(p, STM_MALFORMED, &out[n++]);
        p->time_known = false;
    }
    if (!p->synced && begin < 2 * p->resync_start)
        begin = 2 * p->resync_start; /* the ones before are another packet's */
    if (!p->synced) {
        uint64_t bytes = begin / 2 - p->resync_start;
        stm_begin_packet(&out[n], 2 * p->resync_start, 2 * p->resync_start + 2 * bytes);
        out[n].kind = STM_UNSYNCED;
        out[n].value = bytes;
        n += bytes != 0;
    }
    if (!p->synced)
        p->start = begin;
    else if (p->count == 0 || p->start < begin)
        p->start = from;
    stm_begin_packet(&out[n], p->start, p->at);
    out[n].kind = STM_ASYNC;
    p->synced = true;
    p->count = 0;
    p->ones = 0;
    return n + 1;
}

/* Returns the number of packets that the nibble ended: at most 3. */
static size_t stm_nibble(struct stm *p, uint8_t nibble, struct stm_packet *out)
{
    uint64_t ones = p->ones;
    struct stm_layout layout = {0};
    p->at++;
    if (nibble == 0 && ones >= ASYNC_ONES)
        return stm_async(p, out);
    p->ones = nibble == 0xf ? ones + 1 : 0;
    if (!p->synced)
        return 0;
    if (p->count == 0)
        p->start = p->at - 1;
    if (p->count < STM_NIBBLES)
        p->nibbles[p->count++] = nibble;
    if (p->count > 1 && p->nibbles[0] == 0xf && p->nibbles[1] == 0xf) {
        if (nibble == 0xf)
            return 0;
        stm_report(p, STM_MALFORMED, out);
        stm_lose(p, (p->at + 1) / 2);
        return 1;
    }
    enum stm_progress progress = stm_progress(p, &layout);
    if (progress == STM_MORE)
        return 0;
    if (progress == STM_BAD) {
        stm_report(p, layout.form.kind == STM_RESERVED ? STM_RESERVED : STM_MALFORMED, out);
        ones = p->ones;
        stm_lose(p, (p->at + 1) / 2);
        p->ones = ones; /* they may be of a synchronisation */
        return 1;
    }
    stm_take(p, &layout, out);
    p->count = 0;
    return 1;
}

size_t stm_parse(struct stm *p, const uint8_t *data, size_t len, struct stm_packet *out, size_t max,
                 size_t *count)
{
    size_t i = 0, n = 0;
    for (; i < len && n + BYTE_ROOM <= max; i++) {
        n += stm_nibble(p, data[i] & 0xf, out + n);
        n += stm_nibble(p, data[i] >> 4, out + n);
    }
    *count = n;
    return i;
}

size_t stm_finish(struct stm *p, struct stm_packet *out)
{
    if (p->synced && p->count) {
        stm_report(p, STM_INCOMPLETE, out);
        return 1;
    }
    uint64_t bytes = p->at / 2 - p->resync_start;
    if (p->synced || p->at / 2 <= p->resync_start)
        return 0;
    stm_begin_packet(out, 2 * p->resync_start, p->at);
    out->kind = STM_UNSYNCED;
    out->value = bytes;
    return 1;
}
