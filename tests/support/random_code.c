/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_code.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/random_forms.h"

#define CODE_LAST 64u /* ends its chunk: execution never runs past it */

#define COND_ALWAYS  0xe0000000u
#define REGION_COUNT 5
#define VECTOR_BYTES 0x20
#define REGION_TAIL  64 /* bytes of data behind the last instruction */

struct region_plan {
    uint32_t address;
    unsigned chunks;
    int vectors; /* index of the vector table, or -1 */
};

struct generator {
    struct random_code *code;
    const struct random_flow_options *options;
    struct trace_random *random;
    uint32_t address; /* where the next instruction goes */
    uint32_t room;    /* of code->insns */
};

static uint32_t below(struct generator *g, uint32_t limit)
{
    return trace_random_below(g->random, limit);
}

static struct code_insn *add_insn(struct generator *g)
{
    struct random_code *c = g->code;

    if (c->insn_count == g->room) {
        uint32_t room = g->room ? 2 * g->room : 256;
        struct code_insn *insns = realloc(c->insns, room * sizeof *insns);
        if (!insns)
            return NULL;
        c->insns = insns;
        g->room = room;
    }
    struct code_insn *insn = &c->insns[c->insn_count++];
    *insn = (struct code_insn){.address = g->address};
    return insn;
}

/* Random bits where the form lets them be. */
static uint32_t fill_form(struct generator *g, const struct code_form *f)
{
    static const struct {
        uint8_t fill;
        uint8_t shift;
    } registers[] = {{REG16, 16}, {REG12, 12}, {REG8, 8}, {REG0, 0}};
    uint32_t opcode = f->value | ((uint32_t)trace_random_next(g->random) & f->free);

    for (unsigned i = 0; i < 4; i++)
        if (f->fill & registers[i].fill)
            opcode |= below(g, 13) << registers[i].shift;
    if (f->fill & LIST13)
        opcode |= 3u << below(g, 12) | below(g, 1u << 13);
    if (f->fill & LIST8)
        opcode |= 1u << below(g, 8) | below(g, 1u << 8);
    return opcode;
}

/* System instructions that end in an exception; NULL if the options want none of the kind drawn. */
static const struct code_form *special_form(struct generator *g, unsigned state)
{
    static const struct code_form forms[2][5] = {
        {{0x0f000000, 0x00ffffff, 0, CODE_SVC, 0, 0},
         {0xe7f000f0, 0x000fff0f, ALWAYS, CODE_UDF, 0, 0},
         {0x01600070, 0x0000000f, 0, CODE_SMC, 0, 0},
         {0xe1400070, 0x000fff0f, ALWAYS, CODE_HVC, 0, 0},
         {0xe1200070, 0x000fff0f, ALWAYS, CODE_BKPT, 0, 0}},
        {{0xdf00, 0x00ff, 0, CODE_SVC, 0, 0},
         {0xde00, 0x00ff, ALWAYS, CODE_UDF, 0, 0},
         {0xf7f08000, 0x000f0000, LAST_ONLY, CODE_SMC, 0, 0},
         {0xf7e08000, 0x000f0fff, ALWAYS, CODE_HVC, 0, 0},
         {0xbe00, 0x00ff, ALWAYS, CODE_BKPT, 0, 0}},
    };
    unsigned pick = below(g, 5);
    bool wanted = pick == 2   ? g->options->smc_insns
                  : pick == 3 ? g->options->hvc_insns
                              : g->options->svc_insns;

    return wanted ? &forms[state][pick] : NULL;
}

/* A32 ERET is apart, since not every decoder knows it. */
static const struct code_form a32_eret = {0x0160006e, 0, 0, CODE_INDIRECT, CODE_RETURN, 0};

/* Where an instruction stands decides what it may be. */
struct place {
    bool plain_only;
    bool in_it;
    bool it_last;
    bool narrow; /* 16 bits only */
};

static bool form_allowed(const struct generator *g, const struct code_form *f,
                         const struct place *p)
{
    if (p->in_it && g->options->no_it_blx && f->field == FIELD_T32_BLX)
        return false;
    if (p->in_it && (f->fill & ALWAYS))
        return false;
    if (p->in_it && !p->it_last && (f->fill & LAST_ONLY))
        return false;
    return !(p->narrow && f->value > 0xffff);
}

static const struct code_form *choose_form(struct generator *g, unsigned state,
                                           const struct place *p)
{
    bool waypoint = !p->plain_only && below(g, 100) < g->options->waypoints;
    struct form_table t = code_forms(state, waypoint ? FORMS_WAYPOINT : FORMS_PLAIN);
    const struct code_form *f = NULL;

    if (!p->plain_only && below(g, 100) < 4)
        f = special_form(g, state);
    if (waypoint && state == 0 && g->options->eret_a32 && below(g, 100) < 5)
        f = &a32_eret;
    while (!f || !form_allowed(g, f, p))
        f = &t.forms[below(g, t.count)];
    return f;
}

static int add_form(struct generator *g, unsigned state, const struct code_form *f,
                    const struct place *p)
{
    struct code_insn *insn = add_insn(g);

    if (!insn)
        return BT_ERR_NOMEM;
    insn->opcode = fill_form(g, f);
    insn->isa = state ? BT_ISA_T32 : BT_ISA_A32;
    insn->size = state && insn->opcode <= 0xffff ? 2 : 4;
    insn->kind = f->kind;
    insn->flags = f->flags;
    insn->form = f->field;
    if (f->field == FIELD_T16_BCOND)
        insn->opcode |= below(g, 14) << 8;
    if (f->field == FIELD_T32_BCOND)
        insn->opcode |= below(g, 14) << 22;
    if (p->in_it)
        insn->flags |= CODE_CONDITIONAL | CODE_NO_TARGET;
    if (state == 0 && !(f->fill & ALWAYS)) {
        bool conditional = below(g, 100) < 45;
        insn->opcode |= conditional ? below(g, 14) << 28 : COND_ALWAYS;
        insn->flags |= conditional ? CODE_CONDITIONAL : 0;
    }
    g->address += insn->size;
    return 0;
}

static int add_it_block(struct generator *g)
{
    unsigned count = 1 + below(g, 4);
    uint32_t mask = (below(g, 16) << (5 - count) | 1u << (4 - count)) & 0xf;
    const struct code_form it = {0xbf00 | below(g, 14) << 4 | mask, 0, 0, CODE_PLAIN, 0, 0};
    struct place p = {.in_it = false};
    int error = add_form(g, 1, &it, &p);

    p.in_it = true;
    for (unsigned i = 0; !error && i < count; i++) {
        p.it_last = i == count - 1;
        error = add_form(g, 1, choose_form(g, 1, &p), &p);
    }
    return error;
}

/* The last instruction of a chunk leaves it whatever happens. */
static int add_terminator(struct generator *g, unsigned state)
{
    struct form_table t = code_forms(state, FORMS_WAYPOINT);
    const struct code_form *f;
    const struct place p = {.in_it = false};
    int error;

    do {
        f = &t.forms[below(g, t.count)];
    } while ((f->kind != CODE_DIRECT && f->kind != CODE_INDIRECT) || f->flags & CODE_LINK ||
             f->flags & CODE_CONDITIONAL);
    error = add_form(g, state, f, &p);
    if (error)
        return error;
    struct code_insn *insn = &g->code->insns[g->code->insn_count - 1];
    if (state == 0 && !(f->fill & ALWAYS))
        insn->opcode = (insn->opcode & 0x0fffffff) | COND_ALWAYS;
    insn->flags &= (uint8_t)~CODE_CONDITIONAL;
    insn->flags |= CODE_LAST;
    return 0;
}

/* `count` instructions of one state, then data. In a vector chunk each vector is an instruction. */
static int add_chunk(struct generator *g, unsigned state, unsigned count, bool vectors, bool large)
{
    uint32_t start = g->address;
    int error = 0;

    for (unsigned i = 0; !error && i < count; i++) {
        bool in_vectors = vectors && g->address - start < VECTOR_BYTES;
        struct place p = {.plain_only = large, .narrow = in_vectors && g->address % 4 == 2};
        if (state == 1 && g->options->it_blocks && !in_vectors && !large && below(g, 100) < 6)
            error = add_it_block(g);
        else
            error = add_form(g, state, choose_form(g, state, &p), &p);
    }
    if (!error)
        error = add_terminator(g, state);
    g->address = (g->address + 3 + below(g, 40)) & ~3u;
    return error;
}

static unsigned choose_state(struct generator *g)
{
    const struct random_flow_options *o = g->options;

    return o->a32 && o->t32 ? below(g, 2) : o->t32;
}

static int add_vectors(struct generator *g, int table)
{
    const struct random_flow_options *o = g->options;
    uint32_t first = g->code->insn_count;
    uint32_t base = g->address;
    int error = add_chunk(g, o->t32 && (o->t32_vectors || !o->a32), 24, true, false);

    for (uint32_t i = first; !error && i < g->code->insn_count; i++) {
        uint32_t offset = g->code->insns[i].address - base;
        if (offset < VECTOR_BYTES && offset % 4 == 0)
            g->code->vectors[table][offset / 4] = i;
    }
    return error;
}

static int add_region(struct generator *g, const struct region_plan *plan)
{
    struct random_flow_region *r = &g->code->regions[g->code->region_count];
    int error = 0;

    g->address = plan->address;
    if (plan->vectors >= 0)
        error = add_vectors(g, plan->vectors);
    for (unsigned i = 0; !error && i < plan->chunks; i++) {
        bool large = g->options->large_blocks && plan->vectors < 0 && i % 4 == 3;
        unsigned count = large ? 1000 + below(g, 2600) : 4 + below(g, 36);
        error = add_chunk(g, choose_state(g), count, false, large);
    }
    if (error)
        return error;
    r->address = plan->address;
    r->size = g->address - plan->address + REGION_TAIL;
    r->bytes = malloc(r->size);
    if (!r->bytes)
        return BT_ERR_NOMEM;
    g->code->region_count++;
    for (size_t i = 0; i < r->size; i++)
        r->bytes[i] = (uint8_t)trace_random_next(g->random);
    return 0;
}

static int list_targets(struct random_code *c)
{
    for (unsigned state = 0; state < 2; state++) {
        c->targets[state] = malloc((c->insn_count + 1) * sizeof *c->targets[state]);
        if (!c->targets[state])
            return BT_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < c->insn_count; i++) {
        unsigned state = c->insns[i].isa == BT_ISA_T32;
        if (!(c->insns[i].flags & CODE_NO_TARGET))
            c->targets[state][c->target_count[state]++] = i;
    }
    return 0;
}

/* Place in the list of the first target at or behind instruction `index`. */
static uint32_t find_target(const struct random_code *c, unsigned state, uint32_t index)
{
    uint32_t low = 0, high = c->target_count[state];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (c->targets[state][middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An instruction that a direct branch can reach, mostly near. False if none was found. */
static bool aim(struct generator *g, uint32_t index)
{
    struct random_code *c = g->code;
    struct code_insn *insn = &c->insns[index];
    unsigned state = (insn->isa == BT_ISA_T32) ^ !!(insn->flags & CODE_FAR_ISA);
    uint32_t count = c->target_count[state];

    if (count == 0)
        return false;
    uint32_t here = find_target(c, state, index);
    for (unsigned tries = 0; tries < 24; tries++) {
        uint32_t place = below(g, count);
        if (tries % 4 != 0) {
            place = here + below(g, 60);
            place = place < 30 ? 0 : place - 30;
            if (place >= count)
                continue;
        }
        uint32_t target = c->targets[state][place];
        uint32_t opcode = insn->opcode;
        if (!code_set_target(&opcode, insn->form, insn->address, c->insns[target].address))
            continue;
        insn->opcode = opcode;
        insn->target = target;
        return true;
    }
    return false;
}

/* A direct branch without a target becomes a NOP, at the end of a chunk a return. */
static void disarm(struct code_insn *insn)
{
    bool last = insn->flags & CODE_LAST;

    insn->flags &= CODE_CONDITIONAL | CODE_NO_TARGET | CODE_LAST;
    insn->kind = last ? CODE_INDIRECT : CODE_PLAIN;
    if (insn->isa == BT_ISA_A32) {
        uint32_t cond = insn->opcode >= 0xf0000000 ? COND_ALWAYS : insn->opcode & 0xf0000000;
        insn->opcode = cond | (last ? 0x012fff1e : 0x0320f000);
    } else if (insn->size == 2) {
        insn->opcode = last ? 0x4770 : 0xbf00;
    } else {
        insn->opcode = last ? 0xf85dfb04 : 0xf3af8000;
    }
}

static void store(uint8_t *p, uint32_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

static void write_code(struct random_code *c)
{
    for (uint32_t i = 0; i < c->insn_count; i++) {
        const struct code_insn *insn = &c->insns[i];
        struct random_flow_region *r = c->regions;
        while (insn->address - r->address >= r->size)
            r++;
        uint8_t *p = r->bytes + (insn->address - r->address);
        if (insn->isa == BT_ISA_T32 && insn->size == 4) {
            store(p, insn->opcode >> 16, 2);
            store(p + 2, insn->opcode & 0xffff, 2);
        } else {
            store(p, insn->opcode, insn->size);
        }
    }
}

int random_code_init(struct random_code *c, const struct random_flow_options *o,
                     struct trace_random *random)
{
    struct generator g = {.code = c, .options = o, .random = random};
    int error = 0;

    *c = (struct random_code){0};
    if (!o->a32 && !o->t32)
        return BT_ERR_INVAL;
    const struct region_plan plans[REGION_COUNT] = {
        {0, 2, 0},
        {0x8000, 10, -1},
        {0x00200000 + (below(&g, 0x4000) << 6), 10, -1},
        {0x20000000 + (below(&g, 0x9000000) << 4), 8, -1},
        {0xffff0000, 2, 1},
    };
    c->regions = calloc(REGION_COUNT, sizeof *c->regions);
    if (!c->regions)
        return BT_ERR_NOMEM;
    for (unsigned i = 0; !error && i < REGION_COUNT; i++)
        error = add_region(&g, &plans[i]);
    if (!error)
        error = list_targets(c);
    if (error)
        return error;
    for (uint32_t i = 0; i < c->insn_count; i++)
        if (c->insns[i].kind == CODE_DIRECT && !aim(&g, i))
            disarm(&c->insns[i]);
    write_code(c);
    return 0;
}

void random_code_release(struct random_code *c)
{
    for (size_t i = 0; i < c->region_count; i++)
        free(c->regions[i].bytes);
    free(c->regions);
    free(c->insns);
    free(c->targets[0]);
    free(c->targets[1]);
    *c = (struct random_code){0};
}
