/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLES 32u
#define A64_SP  31u /* of EL0; those of the others behind it */

/* Bits of the register STATE. */
enum recorded_bit {
    RECORDED_ENDS,
    RECORDED_BEGINS,
    RECORDED_CARRIES,
    RECORDED_WHOLE,
    RECORDED_FLOAT_SETTLED,
    RECORDED_UNTRACED,
    RECORDED_FIRST,
    RECORDED_BITS
};

static void get_bits(struct reverse_snapshot *s, struct reverse_recorded_way *way,
                     bool *bits[RECORDED_BITS])
{
    bits[RECORDED_ENDS] = &s->ends;
    bits[RECORDED_BEGINS] = &s->begins;
    bits[RECORDED_CARRIES] = &s->carries;
    bits[RECORDED_WHOLE] = &s->whole;
    bits[RECORDED_FLOAT_SETTLED] = &s->regs.float_settled;
    bits[RECORDED_UNTRACED] = &way->untraced;
    bits[RECORDED_FIRST] = &way->first;
}

/* Name of a register of struct execute_regs; false: a halt does not tell it. */
static bool name_of(enum execute_profile profile, unsigned reg, char *name, size_t size)
{
    static const char *const names[] = {
        [EXECUTE_SP] = "SP",           [EXECUTE_LR] = "LR",
        [EXECUTE_MSP] = "MSP",         [EXECUTE_PSP] = "PSP",
        [EXECUTE_CONTROL] = "CONTROL", [EXECUTE_PRIMASK] = "PRIMASK",
        [EXECUTE_BASEPRI] = "BASEPRI", [EXECUTE_FAULTMASK] = "FAULTMASK",
        [EXECUTE_MSPLIM] = "MSPLIM",   [EXECUTE_PSPLIM] = "PSPLIM",
        [EXECUTE_CCR] = "CCR",         [EXECUTE_FPCCR] = "FPCCR",
        [EXECUTE_FPCAR] = "FPCAR",     [EXECUTE_FPDSCR] = "FPDSCR",
    };
    if (profile == EXECUTE_PROFILE_A64 && reg < A64_SP)
        snprintf(name, size, "X%u", reg);
    else if (profile == EXECUTE_PROFILE_A64 && reg < A64_SP + 4)
        snprintf(name, size, "SP_EL%u", reg - A64_SP);
    else if (profile == EXECUTE_PROFILE_A64)
        return false;
    else if (reg < EXECUTE_SP)
        snprintf(name, size, "R%u", reg);
    else if (reg < sizeof names / sizeof *names && names[reg])
        snprintf(name, size, "%s", names[reg]);
    else
        return false;
    return true;
}

static bool knows_double(const struct execute_regs *r, unsigned n)
{
    return n < 16 ? (r->vector_known >> 2 * n & 3) == 3 : r->vector_known64 >> (n - 16) & 1;
}

static void add_reg(struct recorder_known_reg *regs, size_t *count, const char *name,
                    uint64_t value)
{
    struct recorder_known_reg *reg = &regs[(*count)++];
    snprintf(reg->name, sizeof reg->name, "%s", name);
    reg->value = value;
}

static size_t list_regs(const struct reverse_snapshot *s, enum execute_profile profile,
                        struct recorder_known_reg *regs)
{
    const struct execute_regs *r = &s->regs;
    size_t count = 0;
    char name[16];
    add_reg(regs, &count, "PC", s->pc);
    if (r->psr_known == UINT32_MAX)
        add_reg(regs, &count, "PSR", r->psr);
    if (r->fpscr_known == UINT32_MAX)
        add_reg(regs, &count, "FPSCR", r->fpscr);
    for (unsigned i = 0; i < EXECUTE_REGS; i++)
        if ((r->known >> i & 1) && name_of(profile, i, name, sizeof name))
            add_reg(regs, &count, name, r->value[i]);
    for (unsigned i = 0; i < DOUBLES; i++)
        if (profile != EXECUTE_PROFILE_A64 && knows_double(r, i)) {
            snprintf(name, sizeof name, "D%u", i);
            add_reg(regs, &count, name, r->vector[i]);
        }
    return count;
}

static bool covers(const struct reverse_piece *p, const struct reverse_piece *q)
{
    return p->address <= q->address && q->address + q->length <= p->address + p->length;
}

static bool overlaps(const struct reverse_piece *p, const struct reverse_piece *q)
{
    return p->address < q->address + q->length && q->address < p->address + p->length;
}

/* Piece `i` was written with what nobody has read back. */
static bool is_void(const struct reverse_snapshot *s, size_t i)
{
    for (size_t k = i + 1; k < s->piece_count; k++)
        if (s->pieces[k].bytes && covers(&s->pieces[k], &s->pieces[i]))
            return false;
    return !s->pieces[i].bytes;
}

/* Piece `i` is known: nothing was written there later that nobody has read back. */
static bool is_known(const struct reverse_snapshot *s, size_t i)
{
    const struct reverse_piece *p = &s->pieces[i];
    for (size_t k = i + 1; k < s->piece_count; k++)
        if (overlaps(p, &s->pieces[k]) && is_void(s, k))
            return false;
    return p->bytes && p->length;
}

static int by_address(const void *a, const void *b)
{
    const struct recorder_known_ram *p = a, *q = b;
    return p->address < q->address ? -1 : p->address > q->address;
}

/* Neighbours, and pieces that overlap, are one. */
static size_t list_ram(const struct reverse_snapshot *s, struct recorder_known_ram *ram)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < s->piece_count; i++)
        if (is_known(s, i))
            ram[count++] = (struct recorder_known_ram){.address = s->pieces[i].address,
                                                       .length = s->pieces[i].length};
    qsort(ram, count, sizeof *ram, by_address);
    for (size_t i = 0; i < count; i++) {
        struct recorder_known_ram *last = &ram[kept - 1];
        uint64_t end = ram[i].address + ram[i].length;
        if (kept == 0 || ram[i].address > last->address + last->length)
            ram[kept++] = ram[i];
        else if (end > last->address + last->length)
            last->length = (size_t)(end - last->address);
    }
    return kept;
}

/* Later pieces over earlier ones. What is returned has the bytes; NULL: no memory. */
static uint8_t *copy_ram(const struct reverse_snapshot *s, struct recorder_known_ram *ram,
                         size_t count)
{
    uint8_t *bytes = malloc((size_t)s->bytes + 1), *to = bytes;
    for (size_t i = 0; i < count && bytes; i++) {
        ram[i].bytes = to;
        for (size_t k = 0; k < s->piece_count; k++) {
            const struct reverse_piece *p = &s->pieces[k];
            if (p->address - ram[i].address < ram[i].length && is_known(s, k))
                memcpy(to + (p->address - ram[i].address), p->bytes, p->length);
        }
        to += ram[i].length;
    }
    return bytes;
}

int reverse_recorded_put(const struct reverse_snapshot *s, enum execute_profile profile,
                         const struct reverse_recorded_way *way, struct recorder *r,
                         unsigned core)
{
    struct reverse_snapshot about = *s;
    struct reverse_recorded_way how = *way;
    struct recorder_known_reg regs[EXECUTE_REGS + DOUBLES + 4];
    struct recorder_known k = {.regs = regs};
    struct recorder_known_ram *ram = calloc(s->piece_count + 1, sizeof *ram);
    bool *bits[RECORDED_BITS];
    uint64_t state = 0;
    int error = BT_ERR_NOMEM;
    for (size_t i = 0; i < s->piece_count; i++)
        about.carries = about.carries && !is_void(s, i);
    get_bits(&about, &how, bits);
    for (unsigned i = 0; i < RECORDED_BITS; i++)
        state |= (uint64_t)*bits[i] << i;
    k.reg_count = list_regs(s, profile, regs);
    add_reg(regs, &k.reg_count, "STATE", state);
    k.ram_count = ram ? list_ram(s, ram) : 0;
    uint8_t *bytes = ram ? copy_ram(s, ram, k.ram_count) : NULL;
    k.ram = ram;
    if (bytes)
        error = recorder_add_known(r, core, &k);
    free(bytes);
    free(ram);
    return error;
}

static void get_regs(const struct snapshot_device *device, enum execute_profile profile,
                     struct execute_regs *r)
{
    uint64_t value;
    char name[16];
    for (unsigned i = 0; i < EXECUTE_REGS; i++)
        if (name_of(profile, i, name, sizeof name) && snapshot_reg(device, name, &value) == BT_OK) {
            r->value[i] = profile == EXECUTE_PROFILE_A64 ? value : (uint32_t)value;
            r->known |= UINT64_C(1) << i;
        }
    if (snapshot_reg(device, "PSR", &value) == BT_OK) {
        r->psr = (uint32_t)value;
        r->psr_known = UINT32_MAX;
    }
    if (snapshot_reg(device, "FPSCR", &value) == BT_OK) {
        r->fpscr = (uint32_t)value;
        r->fpscr_known = UINT32_MAX;
    }
    for (unsigned i = 0; i < DOUBLES; i++) {
        snprintf(name, sizeof name, "D%u", i);
        if (snapshot_reg(device, name, &value) != BT_OK)
            continue;
        r->vector[i] = value;
        if (i < 16)
            r->vector_known |= UINT64_C(3) << 2 * i;
        else
            r->vector_known64 |= UINT64_C(1) << (i - 16);
    }
}

int reverse_recorded_get(struct snapshot *snapshot, const struct snapshot_device *device,
                         enum execute_profile profile, struct reverse_snapshot *s,
                         struct reverse_recorded_way *way, uint64_t *bytes)
{
    bool *bits[RECORDED_BITS];
    uint64_t state;
    int error = BT_OK;
    memset(s, 0, sizeof *s);
    memset(way, 0, sizeof *way);
    if (snapshot_reg(device, "STATE", &state) != BT_OK ||
        snapshot_reg(device, "PC", &s->pc) != BT_OK ||
        snapshot_reg(device, RECORDER_BYTES, bytes) != BT_OK)
        return BT_ERR_FORMAT;
    s->complete = true;
    get_regs(device, profile, &s->regs);
    get_bits(s, way, bits);
    for (unsigned i = 0; i < RECORDED_BITS; i++)
        *bits[i] = state >> i & 1;
    for (size_t i = device->dump_count; i-- > 0 && !error;) {
        const struct snapshot_dump *d = &device->dumps[i];
        const uint8_t *data;
        error = snapshot_map_dump(snapshot, d, &data);
        if (!error && d->length)
            error = reverse_snapshot_add(s, d->address, data, (size_t)d->length);
    }
    return error;
}
