/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branches to computed addresses: a small machine whose instructions are functions in a table, the
 * same machine as a switch, and a scanner whose states are functions. All must find what plain C
 * finds.
 */
#include "tests/performance/programs/work.h"

#define REGISTERS 5
#define TEXT_SIZE 1000
#define NUMBERS   12

enum op { MOVE, ADD, MULTIPLY, HALVE, ODD, JUMP, JUMP_IF_ZERO, STOP, OPS };

struct insn {
    unsigned char op, to, from;
    signed char value;
};

struct machine {
    const struct insn *next;
    unsigned r[REGISTERS];
    bool running;
};

/*
 * How many times each of r1 numbers from r0 on is halved, or made three times itself and one, until
 * it is 1: the sum goes to r2.
 */
static const struct insn program[] = {
    {JUMP_IF_ZERO, 0, 1, 15},                  /* 0: the next number, in r3 */
    {MOVE, 3, 0, 0},          {ADD, 4, 3, -1}, /* 2: the next step */
    {JUMP_IF_ZERO, 0, 4, 12}, {ADD, 2, 2, 1},  {ODD, 4, 3, 0},  {JUMP_IF_ZERO, 0, 4, 10},
    {MULTIPLY, 3, 3, 3},      {ADD, 3, 3, 1},  {JUMP, 0, 0, 2}, {HALVE, 3, 3, 0}, /* 10 */
    {JUMP, 0, 0, 2},          {ADD, 0, 0, 1},                                     /* 12 */
    {ADD, 1, 1, -1},          {JUMP, 0, 0, 0}, {STOP, 0, 0, 0},                   /* 15 */
};

/* Instructions as functions. */

static void op_move(struct machine *m, const struct insn *i)
{
    m->r[i->to] = m->r[i->from];
}

static void op_add(struct machine *m, const struct insn *i)
{
    m->r[i->to] = m->r[i->from] + (unsigned)i->value;
}

static void op_multiply(struct machine *m, const struct insn *i)
{
    m->r[i->to] = m->r[i->from] * (unsigned)i->value;
}

static void op_halve(struct machine *m, const struct insn *i)
{
    m->r[i->to] = m->r[i->from] / 2;
}

static void op_odd(struct machine *m, const struct insn *i)
{
    m->r[i->to] = m->r[i->from] & 1;
}

static void op_jump(struct machine *m, const struct insn *i)
{
    m->next = program + i->value;
}

static void op_jump_if_zero(struct machine *m, const struct insn *i)
{
    if (!m->r[i->from])
        m->next = program + i->value;
}

static void op_stop(struct machine *m, const struct insn *i)
{
    (void)i;
    m->running = false;
}

static void (*const ops[OPS])(struct machine *m, const struct insn *i) = {
    [MOVE] = op_move, [ADD] = op_add,   [MULTIPLY] = op_multiply,         [HALVE] = op_halve,
    [ODD] = op_odd,   [JUMP] = op_jump, [JUMP_IF_ZERO] = op_jump_if_zero, [STOP] = op_stop,
};

static void run_table(struct machine *m)
{
    while (m->running) {
        const struct insn *i = m->next++;
        ops[i->op](m, i);
    }
}

static void run_switch(struct machine *m)
{
    while (m->running) {
        const struct insn *i = m->next++;
        unsigned from = m->r[i->from], *to = &m->r[i->to];
        switch ((enum op)i->op) {
        case MOVE:
            *to = from;
            break;
        case ADD:
            *to = from + (unsigned)i->value;
            break;
        case MULTIPLY:
            *to = from * (unsigned)i->value;
            break;
        case HALVE:
            *to = from / 2;
            break;
        case ODD:
            *to = from & 1;
            break;
        case JUMP_IF_ZERO:
            if (from)
                break;
            /* fall through */
        case JUMP:
            m->next = program + i->value;
            break;
        case STOP:
        case OPS:
            m->running = false;
        }
    }
}

static unsigned run(void (*how)(struct machine *m), unsigned first)
{
    struct machine m = {program, {first, NUMBERS, 0, 0, 0}, true};

    how(&m);
    return m.r[2];
}

static unsigned plain_steps(unsigned first)
{
    unsigned sum = 0;

    for (unsigned n = first; n < first + NUMBERS; n++)
        for (unsigned x = n; x != 1; sum++)
            x = x % 2 ? 3 * x + 1 : x / 2;
    return sum;
}

/* States as functions. */

struct found {
    unsigned words, numbers, quoted, digits;
};

struct scanner;
typedef void (*state_fn)(struct scanner *s, char c);

struct scanner {
    state_fn state;
    struct found found;
};

static void between(struct scanner *s, char c);

static void in_word(struct scanner *s, char c)
{
    if (c == ' ' || c == '"')
        between(s, c);
}

static void in_number(struct scanner *s, char c)
{
    if (c >= '0' && c <= '9')
        s->found.digits++;
    else
        between(s, c);
}

static void in_quotes(struct scanner *s, char c)
{
    if (c == '"')
        s->state = between;
}

static void between(struct scanner *s, char c)
{
    if (c == ' ') {
        s->state = between;
    } else if (c == '"') {
        s->found.quoted++;
        s->state = in_quotes;
    } else if (c >= '0' && c <= '9') {
        s->found.numbers++;
        s->found.digits++;
        s->state = in_number;
    } else {
        s->found.words++;
        s->state = in_word;
    }
}

/* Pieces that no other one grows into; how many of each is counted as they are made. */
static struct found make_text(char *text, unsigned seed)
{
    struct found made = {0, 0, 0, 0};
    unsigned at = 0;

    while (at < TEXT_SIZE - 12) {
        unsigned chance = next_random(&seed) >> 5, size = 1 + chance / 4 % 8;
        char quote = chance % 4 == 0 ? '"' : ' ';
        text[at++] = quote;
        for (unsigned i = 0; i < size; i++)
            text[at++] = (char)((chance % 4 == 1 ? '0' : 'b') + (chance >> i) % 10);
        text[at++] = quote;
        made.quoted += chance % 4 == 0;
        made.numbers += chance % 4 == 1;
        made.digits += chance % 4 == 1 ? size : 0;
        made.words += chance % 4 > 1;
    }
    while (at < TEXT_SIZE)
        text[at++] = ' ';
    return made;
}

static bool scan(unsigned seed)
{
    static char text[TEXT_SIZE];
    struct found made = make_text(text, seed);
    struct scanner s = {between, {0, 0, 0, 0}};

    for (unsigned i = 0; i < TEXT_SIZE; i++)
        s.state(&s, text[i]);
    return s.found.words == made.words && s.found.numbers == made.numbers &&
           s.found.quoted == made.quoted && s.found.digits == made.digits;
}

bool work(unsigned seed)
{
    unsigned first = 2 + seed * 37 % 5000, steps = plain_steps(first);

    return run(run_table, first) == steps && run(run_switch, first) == steps &&
           scan(seed * 2654435761u | 1);
}
