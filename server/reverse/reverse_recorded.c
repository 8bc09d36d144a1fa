/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_recorded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLES 32u

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
        [EXECUTE_SCTLR] = "SCTLR",     [EXECUTE_TTBR0] = "TTBR0",
        [EXECUTE_TTBCR] = "TTBCR",     [EXECUTE_MPIDR] = "MPIDR",
        [EXECUTE_SCR] = "SCR",         [EXECUTE_MPU_CTRL] = "MPU_CTRL",
    };
    /* Those of several levels, from that one on. */
    static const struct {
        char name[10];
        uint8_t from, level, count;
    } wide[] = {
        {"X", 0, 0, A64_SP0},          {"SP_EL", A64_SP0, 0, 4},     {"ELR_EL", A64_ELR1, 1, 3},
        {"SPSR_EL", A64_SPSR1, 1, 3},  {"VBAR_EL", A64_VBAR1, 1, 3}, {"SCTLR_EL", A64_SCTLR1, 1, 3},
        {"TTBR0_EL", A64_TTBR1, 1, 3}, {"TCR_EL", A64_TCR1, 1, 3},   {"TTBR1_EL", A64_UPPER, 1, 1},
        {"HCR_EL", A64_HCR, 2, 1},
    };
    for (size_t i = 0; profile == EXECUTE_PROFILE_A64 && i < sizeof wide / sizeof *wide; i++)
        if (reg - wide[i].from < wide[i].count) {
            snprintf(name, size, "%s%u", wide[i].name, reg - wide[i].from + wide[i].level);
            return true;
        }
    if (profile == EXECUTE_PROFILE_A64 && reg != EXECUTE_MPIDR)
        return false;
    if (reg < EXECUTE_SP)
        snprintf(name, size, "R%u", reg);
    else if (reg < sizeof names / sizeof *names && names[reg])
        snprintf(name, size, "%s", names[reg]);
    else
        return false;
    return true;
}

/* In bits 63 to 32 of its entry which of the others are known: at a halt all are. */
static uint64_t status_of(enum execute_profile profile, unsigned reg)
{
    bool status = profile == EXECUTE_PROFILE_A64 && reg - A64_SPSR1 < 3;
    return status ? UINT64_MAX << 32 : 0;
}

/* D0 to D31, or halves of V0 to V31. */
static unsigned vector_name(enum execute_profile profile, unsigned n, char *name, size_t size)
{
    if (profile == EXECUTE_PROFILE_A64)
        snprintf(name, size, "V%u_%u", n / 2, n % 2);
    else
        snprintf(name, size, "D%u", n);
    return profile == EXECUTE_PROFILE_A64 ? 2 * DOUBLES : DOUBLES;
}

static bool knows_vector(enum execute_profile profile, const struct execute_regs *r, unsigned n)
{
    if (profile == EXECUTE_PROFILE_A64)
        return r->vector_known64 >> n & 1;
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
            add_reg(regs, &count, name, r->value[i] & ~status_of(profile, i));
    for (unsigned i = 0; i < vector_name(profile, i, name, sizeof name); i++)
        if (knows_vector(profile, r, i))
            add_reg(regs, &count, name, r->vector[i]);
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

/* What there is of a piece: nothing that counts, its bytes, or that nobody knows what is there. */
enum piece_kind {
    PIECE_COVERED,
    PIECE_KNOWN,
    PIECE_VOID,
};

/* From the latest on. A piece in part of which something was written that nobody has read back is
 * given up as a whole, and hides what lay there before. */
static void judge_pieces(const struct reverse_snapshot *s, uint8_t *kinds)
{
    for (size_t i = s->piece_count; i-- > 0;) {
        const struct reverse_piece *p = &s->pieces[i];
        bool covered = p->length == 0, hidden = false;
        for (size_t k = i + 1; k < s->piece_count; k++) {
            covered |= kinds[k] == PIECE_KNOWN && covers(&s->pieces[k], p);
            hidden |= kinds[k] == PIECE_VOID && overlaps(&s->pieces[k], p);
        }
        kinds[i] = covered ? PIECE_COVERED : p->bytes && !hidden ? PIECE_KNOWN : PIECE_VOID;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct recorder_known_ram *p = a, *q = b;
    return p->address < q->address ? -1 : p->address > q->address;
}

/* Neighbours, and pieces that overlap, are one. */
static size_t list_ram(const struct reverse_snapshot *s, const uint8_t *kinds,
                       struct recorder_known_ram *ram)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < s->piece_count; i++)
        if (kinds[i] == PIECE_KNOWN)
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
static uint8_t *copy_ram(const struct reverse_snapshot *s, const uint8_t *kinds,
                         struct recorder_known_ram *ram, size_t count)
{
    uint8_t *bytes = malloc((size_t)s->bytes + 1), *to = bytes;
    for (size_t i = 0; i < count && bytes; i++) {
        ram[i].bytes = to;
        for (size_t k = 0; k < s->piece_count; k++) {
            const struct reverse_piece *p = &s->pieces[k];
            if (kinds[k] == PIECE_KNOWN && p->address - ram[i].address < ram[i].length)
                memcpy(to + (p->address - ram[i].address), p->bytes, p->length);
        }
        to += ram[i].length;
    }
    return bytes;
}

static uint64_t state_bits(const struct reverse_snapshot *s, const struct reverse_recorded_way *way,
                           const uint8_t *kinds)
{
    struct reverse_snapshot about = *s;
    struct reverse_recorded_way how = *way;
    bool *bits[RECORDED_BITS];
    uint64_t state = 0;
    for (size_t i = 0; i < s->piece_count; i++)
        about.carries = about.carries && kinds[i] != PIECE_VOID;
    get_bits(&about, &how, bits);
    for (unsigned i = 0; i < RECORDED_BITS; i++)
        state |= (uint64_t)*bits[i] << i;
    return state;
}

int reverse_recorded_put(const struct reverse_snapshot *s, enum execute_profile profile,
                         const struct reverse_recorded_way *way, struct recorder *r, unsigned core)
{
    struct recorder_known_reg regs[EXECUTE_REGS + 2 * DOUBLES + 5];
    struct recorder_known_ram *ram = calloc(s->piece_count + 1, sizeof *ram);
    struct recorder_known k = {.regs = regs, .ram = ram};
    uint8_t *kinds = calloc(s->piece_count + 1, 1), *bytes = NULL;
    if (ram && kinds) {
        judge_pieces(s, kinds);
        k.reg_count = list_regs(s, profile, regs);
        add_reg(regs, &k.reg_count, "STATE", state_bits(s, way, kinds));
        if (s->halt)
            add_reg(regs, &k.reg_count, "HALT", s->halt);
        k.ram_count = list_ram(s, kinds, ram);
        bytes = copy_ram(s, kinds, ram, k.ram_count);
    }
    int error = bytes ? recorder_add_known(r, core, &k) : BT_ERR_NOMEM;
    free(bytes);
    free(kinds);
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
            r->value[i] |= status_of(profile, i);
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
    for (unsigned i = 0; i < vector_name(profile, i, name, sizeof name); i++) {
        if (snapshot_reg(device, name, &value) != BT_OK)
            continue;
        r->vector[i] = value;
        if (profile == EXECUTE_PROFILE_A64)
            r->vector_known64 |= UINT64_C(1) << i;
        else if (i < 16)
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
    uint64_t state, halt;
    int error = BT_OK;
    memset(s, 0, sizeof *s);
    memset(way, 0, sizeof *way);
    if (snapshot_reg(device, "STATE", &state) != BT_OK ||
        snapshot_reg(device, "PC", &s->pc) != BT_OK ||
        snapshot_reg(device, RECORDER_BYTES, bytes) != BT_OK)
        return BT_ERR_FORMAT;
    s->complete = true;
    if (snapshot_reg(device, "HALT", &halt) == BT_OK)
        s->halt = (uint32_t)halt;
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
