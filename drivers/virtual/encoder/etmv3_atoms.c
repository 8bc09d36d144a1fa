/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 model: atoms into P-headers, any legal way (IHI 0014Q 7.3.1). */
#include "etmv3_encoder_state.h"

#include <string.h>

#define CANDIDATES_MAX 48

/* A header that fits what is pending: it takes so many W and so many atoms. */
struct candidate {
    uint8_t header;
    uint8_t idle;
    uint8_t atoms;
};

struct candidates {
    struct candidate all[CANDIDATES_MAX];
    unsigned count;
};

/* Where packing is: the atom, and the W in front of it that are not out yet. */
struct cursor {
    const struct etmv3_encoder *e;
    unsigned atom;
    uint64_t idle;
};

static void etmv3_atoms_add(struct candidates *c, unsigned header, unsigned idle, unsigned atoms)
{
    c->all[c->count++] = (struct candidate){(uint8_t)header, (uint8_t)idle, (uint8_t)atoms};
}

/* E atoms in a row from `first`, each with `idle` W in front; at most `limit`. */
static unsigned run_of_e(const struct cursor *at, unsigned limit, uint64_t idle)
{
    const struct etmv3_encoder *e = at->e;
    unsigned n = 0;

    while (n < limit && at->atom + n < e->atom_count && !e->atoms[at->atom + n].n &&
           (n == 0 ? at->idle : e->atoms[at->atom + n].idle) == idle)
        n++;
    return n;
}

static void find_plain(const struct cursor *at, struct candidates *c)
{
    const struct etmv3_atom *a = &at->e->atoms[at->atom];
    unsigned left = at->e->atom_count - at->atom;
    unsigned run = run_of_e(at, 15, 0);

    if (left >= 2)
        etmv3_atoms_add(c, 0x82u | (unsigned)a[0].n << 3 | (unsigned)a[1].n << 2, 0, 2);
    for (unsigned k = 1; k <= run; k++)
        etmv3_atoms_add(c, 0x80 | k << 2, 0, k);
    if (run < left && a[run].n)
        etmv3_atoms_add(c, 0xc0 | run << 2, 0, run + 1);
}

/* Format 1 and 2: each atom, or the first of two, has exactly one W. */
static void find_cycle_atoms(const struct cursor *at, struct candidates *c)
{
    const struct etmv3_atom *a = &at->e->atoms[at->atom];
    unsigned left = at->e->atom_count - at->atom;
    unsigned run = run_of_e(at, 7, 1);
    uint64_t idle = run == 0 ? at->idle : run < left ? a[run].idle : 0;

    for (unsigned k = 1; k <= run; k++)
        etmv3_atoms_add(c, 0x80 | k << 2, k, k);
    if (run < left && a[run].n && idle == 1)
        etmv3_atoms_add(c, 0xc0 | run << 2, run + 1, run + 1);
    if (left >= 2 && at->idle == 1 && a[1].idle == 0)
        etmv3_atoms_add(c, 0x82u | (unsigned)a[0].n << 3 | (unsigned)a[1].n << 2, 1, 2);
}

static void find_cycle_accurate(const struct cursor *at, struct candidates *c)
{
    const struct etmv3_encoder *e = at->e;
    bool atom = at->atom < e->atom_count;
    unsigned idle = at->idle < 8 ? (unsigned)at->idle : 8;

    for (unsigned k = 1; k <= idle; k++)
        etmv3_atoms_add(c, 0xa0 | (k - 1) << 2, k, 0);
    if (at->idle > 0 && e->minor == 0)
        etmv3_atoms_add(c, 0x80, 1, 0);
    if (!atom)
        return;
    if (at->idle > 0 && at->idle <= 8 && !e->atoms[at->atom].n)
        etmv3_atoms_add(c, 0xe0 | (idle - 1) << 2, idle, 1);
    if (at->idle == 0)
        etmv3_atoms_add(c, 0x92u | (unsigned)e->atoms[at->atom].n << 2, 0, 1);
    else
        find_cycle_atoms(at, c);
}

static struct cursor behind(struct cursor at, const struct candidate *c)
{
    const struct etmv3_encoder *e = at.e;

    if (c->atoms == 0) {
        at.idle -= c->idle;
        return at;
    }
    at.atom += c->atoms;
    at.idle = at.atom < e->atom_count ? e->atoms[at.atom].idle : e->idle;
    return at;
}

/* Without format 4 no header may leave an atom that has no W. */
static bool allowed(const struct cursor *at, const struct candidate *c)
{
    const struct etmv3_encoder *e = at->e;

    if (e->options.packing == ETMV3_PACK_SINGLE &&
        (c->idle > 1 || (c->atoms > 1 && (!e->cycle_accurate || c->idle + 1 != c->atoms))))
        return false;
    if (!e->cycle_accurate || e->has_format4)
        return true;
    struct cursor next = behind(*at, c);
    return next.atom >= e->atom_count || next.idle > 0;
}

static const struct candidate *choose(struct etmv3_encoder *e, const struct cursor *at,
                                      struct candidates *c)
{
    const struct candidate *best = NULL;
    unsigned kept = 0;

    for (unsigned i = 0; i < c->count; i++)
        if (allowed(at, &c->all[i]))
            c->all[kept++] = c->all[i];
    if (kept == 0)
        return NULL;
    if (e->options.packing == ETMV3_PACK_RANDOM)
        return &c->all[trace_random_below(&e->random, kept)];
    /* Of equal ones format 1, which comes last. */
    for (unsigned i = 0; i < kept; i++)
        if (!best || c->all[i].idle + c->all[i].atoms >= best->idle + best->atoms)
            best = &c->all[i];
    return best;
}

/* Puts out all atoms and `tail` of the W behind them. */
static int pack(struct etmv3_encoder *e, uint64_t tail)
{
    uint64_t kept = e->idle - tail;
    struct cursor at = {.e = e, .idle = tail};
    int error = 0;

    e->idle = tail;
    if (e->atom_count)
        at.idle = e->atoms[0].idle;
    while (!error && (at.atom < e->atom_count || at.idle > 0)) {
        struct candidates c = {.count = 0};
        if (e->cycle_accurate)
            find_cycle_accurate(&at, &c);
        else
            find_plain(&at, &c);
        const struct candidate *best = choose(e, &at, &c);
        if (!best) {
            error = BT_ERR_FORMAT;
            break;
        }
        error = etmv3_out_emit(e, ETMV3_PACKET_PHEADER, &best->header, 1, 0);
        at = behind(at, best);
    }
    e->idle = kept;
    e->atom_count = 0;
    return error;
}

int etmv3_atoms_flush(struct etmv3_encoder *e, bool all)
{
    /* The last W waits for its atom where no header could hold that alone. */
    uint64_t tail = !all ? 0 : e->has_format4 || e->idle == 0 ? e->idle : e->idle - 1;

    return e->atom_count || tail ? pack(e, tail) : 0;
}

int etmv3_atom_add(struct etmv3_encoder *e, bool n)
{
    unsigned count = e->atom_count;

    /* Before v3.3 only the second atom of a header goes without a W of its own. */
    if (e->cycle_accurate && !e->has_format4 && e->idle == 0 &&
        (count == 0 || e->atoms[count - 1].idle == 0)) {
        e->idle = 1;
        e->cycles++;
    }
    if (count == 0) {
        static const unsigned limits[] = {ETMV3_ATOMS_MAX, 1, 0};
        e->atom_limit = limits[e->options.packing];
        if (e->atom_limit == 0)
            e->atom_limit = 1 + trace_random_below(&e->random, ETMV3_ATOMS_MAX);
    }
    e->atoms[e->atom_count++] = (struct etmv3_atom){.idle = e->idle, .n = n};
    e->idle = 0;
    return e->atom_count >= e->atom_limit ? etmv3_atoms_flush(e, false) : 0;
}

void etmv3_atoms_drop(struct etmv3_encoder *e)
{
    for (unsigned i = 0; i < e->atom_count; i++)
        e->gap += e->atoms[i].idle;
    e->gap += e->idle;
    e->idle = 0;
    e->atom_count = 0;
}
