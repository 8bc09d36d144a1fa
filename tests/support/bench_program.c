/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/bench_program.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS       4  /* functions call those of the next level only: no recursion */
#define STACK_MAX    32 /* LEVELS, main and the handler need less */
#define SPREAD_MAX   4
#define LOOP_ROUNDS  40
#define HANDLER_BODY 12

enum kind {
    PLAIN,
    SKIP,     /* conditional branch forward */
    LOOP,     /* conditional branch back */
    CALL,     /* BL */
    INDIRECT, /* BLX R3 */
    RETURN,   /* BX LR */
    AGAIN,    /* B to the start of main */
    IRQ_END,  /* SUBS PC, LR, #4; BENCH_M_RETURN; ERET */
};

/* Making the code. */

static unsigned below(struct bench_program *p, unsigned limit)
{
    return trace_random_below(&p->random, limit);
}

static int grow(void *array, size_t count, size_t *max, size_t item)
{
    void **at = array;
    if (count < *max)
        return BT_OK;
    size_t wanted = *max ? *max * 2 : 256;
    void *grown = realloc(*at, wanted * item);
    if (!grown)
        return BT_ERR_NOMEM;
    *at = grown;
    *max = wanted;
    return BT_OK;
}

static unsigned size_of(const struct bench_program *p, enum kind kind)
{
    bool narrow =
        kind == PLAIN || kind == SKIP || kind == LOOP || kind == INDIRECT || kind == RETURN;
    narrow = narrow || (kind == IRQ_END && p->mix.m_profile);
    return p->mix.isa == BT_ISA_T32 && narrow ? 2 : 4;
}

static int add(struct bench_program *p, enum kind kind, struct bench_insn insn)
{
    int error = grow(&p->insns, p->insn_count, &p->insn_max, sizeof *p->insns);
    if (error)
        return error;
    insn.kind = (uint8_t)kind;
    insn.size = (uint8_t)size_of(p, kind);
    insn.offset = (uint32_t)p->code_size;
    p->code_size += insn.size;
    p->insns[p->insn_count++] = insn;
    return BT_OK;
}

static int add_plain(struct bench_program *p, unsigned count)
{
    int error = BT_OK;
    while (count-- && !error)
        error = add(p, PLAIN, (struct bench_insn){0});
    return error;
}

static int begin_function(struct bench_program *p)
{
    int error = grow(&p->functions, p->function_count, &p->function_max, sizeof *p->functions);
    if (!error)
        p->functions[p->function_count++] = (uint32_t)p->insn_count;
    return error;
}

/* Most branches of real code nearly always go one way. */
static int add_skip(struct bench_program *p)
{
    static const uint8_t chances[] = {3, 10, 50, 90, 97};
    unsigned over = 1 + below(p, 4);
    struct bench_insn skip = {.target = (uint32_t)p->insn_count + 1 + over,
                              .chance = chances[below(p, sizeof chances)]};
    int error = add(p, SKIP, skip);
    return error ? error : add_plain(p, over);
}

static int add_loop(struct bench_program *p)
{
    struct bench_insn loop = {.target = (uint32_t)p->insn_count};
    unsigned body = 1 + below(p, p->mix.straight < 20 ? p->mix.straight : 20);
    int error = add_plain(p, body);
    if (!error && below(p, 2))
        error = add_skip(p);
    return error ? error : add(p, LOOP, loop);
}

/* Targets are numbers of functions, relative to the next level; resolved when all are known. */
static int add_call(struct bench_program *p, enum kind kind)
{
    struct bench_insn call = {.target = (uint32_t)trace_random_next(&p->random),
                              .spread = (uint8_t)(1 + below(p, SPREAD_MAX))};
    return add(p, kind, call);
}

static int add_function(struct bench_program *p)
{
    int error = begin_function(p);
    unsigned sequences = 2 + below(p, 4);
    while (!error && sequences--) {
        unsigned dice = below(p, 100);
        const struct bench_mix *m = &p->mix;
        error = add_plain(p, 1 + below(p, m->straight));
        if (error)
            return error;
        if (dice < m->loops)
            error = add_loop(p);
        else if (dice < m->loops + m->calls)
            error = add_call(p, CALL);
        else if (dice < m->loops + m->calls + m->indirect)
            error = add_call(p, INDIRECT);
        else
            error = add_skip(p);
    }
    return error ? error : add(p, RETURN, (struct bench_insn){0});
}

/* Function 0 calls functions of the first level for ever. */
static int add_main(struct bench_program *p)
{
    int error = begin_function(p);
    if (!error)
        error = add_plain(p, 2);
    if (!error)
        error = add_call(p, INDIRECT);
    return error ? error : add(p, AGAIN, (struct bench_insn){0});
}

static int add_handler(struct bench_program *p)
{
    p->handler = (uint32_t)p->insn_count;
    int error = add_plain(p, HANDLER_BODY);
    if (!error)
        error = add(p, IRQ_END, (struct bench_insn){0});
    return error ? error : add_plain(p, 1); /* OpenCSD reads four bytes for two */
}

/* Functions of level `level` are [*first, *first + *count). */
static void level_of(const struct bench_program *p, size_t level, size_t *first, size_t *count)
{
    size_t all = p->function_count - 1;
    *first = 1 + all * level / LEVELS;
    *count = 1 + all * (level + 1) / LEVELS - *first;
}

/* Calls of the last level become plain instructions of the same size, so nothing moves. */
static void resolve_calls(struct bench_program *p)
{
    size_t function = 0;
    for (size_t i = 0; i < p->insn_count; i++) {
        struct bench_insn *insn = &p->insns[i];
        if (function + 1 < p->function_count && p->functions[function + 1] == i)
            function++;
        if (insn->kind != CALL && insn->kind != INDIRECT)
            continue;
        size_t first, count, level = 0;
        if (function)
            level = (function - 1) * LEVELS / (p->function_count - 1) + 1;
        if (level >= LEVELS) {
            insn->kind = PLAIN;
            continue;
        }
        level_of(p, level, &first, &count);
        if (function == 0) { /* main reaches the whole first level */
            insn->target = (uint32_t)first;
            insn->chance = 1;
            continue;
        }
        if (insn->spread > count)
            insn->spread = (uint8_t)count;
        insn->target = (uint32_t)(first + insn->target % (count - insn->spread + 1));
        if (insn->kind == CALL)
            insn->target = p->functions[insn->target];
    }
}

static uint32_t t32_long_branch(uint32_t base, int32_t offset)
{
    uint32_t o = (uint32_t)offset;
    uint32_t s = o >> 24 & 1, i1 = o >> 23 & 1, i2 = o >> 22 & 1;
    uint32_t first = 0xf000u | s << 10 | (o >> 12 & 0x3ff);
    uint32_t second = base | (!(i1 ^ s)) << 13 | (!(i2 ^ s)) << 11 | (o >> 1 & 0x7ff);
    return first << 16 | second;
}

static uint32_t opcode_t32(const struct bench_insn *insn, int32_t offset)
{
    switch ((enum kind)insn->kind) {
    case PLAIN: /* MOV R8, R8; or ADD.W R0, R0, R0 */
        return insn->size == 2 ? 0x46c0u : 0xeb000000u;
    case SKIP:
    case LOOP: /* BEQ */
        return 0xd000u | ((uint32_t)offset >> 1 & 0xff);
    case CALL:
        return t32_long_branch(0xd000u, offset);
    case AGAIN:
        return t32_long_branch(0x9000u, offset);
    case INDIRECT:
        return 0x4798u;
    case RETURN:
        return 0x4770u;
    case IRQ_END:
        return insn->size == 2 ? BENCH_M_RETURN : 0xf3de8f04u;
    }
    return 0;
}

static uint32_t opcode_a32(const struct bench_insn *insn, int32_t offset)
{
    uint32_t words = (uint32_t)offset >> 2 & 0xffffff;
    switch ((enum kind)insn->kind) {
    case PLAIN: /* ADD R0, R0, R0 */
        return 0xe0800000u;
    case SKIP:
    case LOOP:
        return 0x0a000000u | words;
    case CALL:
        return 0xeb000000u | words;
    case AGAIN:
        return 0xea000000u | words;
    case INDIRECT:
        return 0xe12fff33u;
    case RETURN:
        return 0xe12fff1eu;
    case IRQ_END:
        return 0xe25ef004u;
    }
    return 0;
}

static uint32_t opcode_a64(const struct bench_insn *insn, int32_t offset)
{
    uint32_t words = (uint32_t)offset >> 2;
    switch ((enum kind)insn->kind) {
    case PLAIN: /* ADD X0, X0, X0 */
        return 0x8b000000u;
    case SKIP:
    case LOOP: /* B.EQ */
        return 0x54000000u | (words & 0x7ffff) << 5;
    case CALL:
        return 0x94000000u | (words & 0x3ffffff);
    case AGAIN:
        return 0x14000000u | (words & 0x3ffffff);
    case INDIRECT:
        return 0xd63f0060u;
    case RETURN:
        return 0xd65f03c0u;
    case IRQ_END:
        return BENCH_A64_ERET;
    }
    return 0;
}

/* `ahead`: what the PC reads as, from the instruction's address. */
static const struct {
    enum bt_isa isa;
    int32_t ahead;
    uint32_t (*opcode)(const struct bench_insn *insn, int32_t offset);
} assemblers[] = {
    {BT_ISA_A32, 8, opcode_a32}, {BT_ISA_T32, 4, opcode_t32}, {BT_ISA_A64, 0, opcode_a64}};

static void assemble(struct bench_program *p)
{
    size_t a = 0;
    while (assemblers[a].isa != p->mix.isa)
        a++;
    for (size_t i = 0; i < p->insn_count; i++) {
        struct bench_insn *insn = &p->insns[i];
        bool direct =
            insn->kind == SKIP || insn->kind == LOOP || insn->kind == CALL || insn->kind == AGAIN;
        int32_t offset = 0;
        if (direct)
            offset = (int32_t)(p->insns[insn->target].offset - insn->offset) - assemblers[a].ahead;
        uint32_t op = assemblers[a].opcode(insn, offset);
        insn->opcode = op;
        if (p->mix.isa == BT_ISA_T32 && insn->size == 4)
            op = op >> 16 | op << 16; /* first halfword first */
        for (unsigned k = 0; k < insn->size; k++)
            p->code[insn->offset + k] = (uint8_t)(op >> 8 * k);
    }
}

int bench_program_init(struct bench_program *p, const struct bench_mix *mix, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->mix = *mix;
    p->random.state = seed;
    p->address = mix->isa == BT_ISA_A64 ? BENCH_A64_ADDRESS : BENCH_CODE_ADDRESS;
    int error = add_main(p);
    while (!error && p->code_size < mix->code_bytes)
        error = add_function(p);
    /* Levels of equal size: a function's level follows from its number. */
    while (!error && (p->function_count <= LEVELS * SPREAD_MAX || (p->function_count - 1) % LEVELS))
        error = add_function(p);
    if (!error)
        error = add_handler(p);
    if (error)
        return error;
    p->code = calloc(1, p->code_size + 4);
    if (!p->code)
        return BT_ERR_NOMEM;
    resolve_calls(p);
    assemble(p);
    return BT_OK;
}

void bench_program_release(struct bench_program *p)
{
    free(p->insns);
    free(p->functions);
    free(p->code);
    memset(p, 0, sizeof *p);
}

struct run {
    struct bench_program *p;
    uint32_t pc; /* index */
    uint32_t stack[STACK_MAX];
    size_t depth;
    bool in_handler;
    uint32_t resume; /* where the interrupt came */
};

static uint32_t indirect_target(struct bench_program *p, const struct bench_insn *insn)
{
    size_t first, count;
    if (!insn->chance) /* sites mostly go where they went before */
        return p->functions[insn->target + (below(p, 100) < 80 ? 0 : below(p, insn->spread))];
    level_of(p, 0, &first, &count);
    return p->functions[first + below(p, (unsigned)count)];
}

/* Index of what follows; *pass: whether the condition was true. */
static uint32_t next_of(struct run *r, struct bench_insn *insn, bool *pass)
{
    struct bench_program *p = r->p;
    uint32_t onward = r->pc + 1;
    *pass = true;
    switch ((enum kind)insn->kind) {
    case PLAIN:
        return onward;
    case SKIP:
        *pass = below(p, 100) < insn->chance;
        return *pass ? insn->target : onward;
    case LOOP:
        if (insn->rounds == 0)
            insn->rounds = 3 + below(p, LOOP_ROUNDS - 2);
        *pass = --insn->rounds > 0;
        return *pass ? insn->target : onward;
    case CALL:
        r->stack[r->depth++] = onward;
        return insn->target;
    case INDIRECT:
        r->stack[r->depth++] = onward;
        return indirect_target(p, insn);
    case RETURN:
        return r->stack[--r->depth];
    case AGAIN:
        return 0;
    case IRQ_END:
        r->in_handler = false;
        return r->resume;
    }
    return onward;
}

static uint64_t address_of(const struct bench_program *p, uint32_t index)
{
    return p->address + p->insns[index].offset;
}

static int step(struct run *r, const struct bench_encoder *e)
{
    struct bench_program *p = r->p;
    enum bt_isa isa = p->mix.isa;
    struct bench_insn *insn = &p->insns[r->pc];
    bool pass;
    uint32_t next = next_of(r, insn, &pass);
    unsigned cycles = 1 + (below(p, 8) == 0 ? below(p, 12) : 0);
    int result = e->insn(e->encoder, address_of(p, r->pc), isa, insn->opcode, pass,
                         address_of(p, next), cycles);
    r->pc = next;
    if (result < 0 || r->in_handler || !p->mix.interrupts || below(p, 10000) >= p->mix.interrupts)
        return result;
    r->in_handler = true;
    r->resume = r->pc;
    r->pc = p->handler;
    return e->interrupt(e->encoder, address_of(p, r->resume), address_of(p, r->pc), isa);
}

int bench_program_run(struct bench_program *p, const struct bench_encoder *e,
                      const struct trace_bytes *out, size_t bytes, uint64_t *instructions)
{
    struct run r = {.p = p};
    for (size_t i = 0; i < p->insn_count; i++)
        p->insns[i].rounds = 0;
    int result = e->trace_on(e->encoder, address_of(p, 0), p->mix.isa);
    while (result >= 0 && out->size < bytes) {
        result = step(&r, e);
        ++*instructions;
    }
    if (result >= 0)
        result = e->flush(e->encoder);
    return result < 0 ? result : BT_OK;
}
