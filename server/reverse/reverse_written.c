/* SPDX-License-Identifier: BSD-3-Clause */
/* `monitor written` and `monitor read`: the last accesses to a place, newest first, in slices. */
#include "server/base/console.h"
#include "server/reverse/reverse_motion.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET       30000u /* units of values_work() of a slice, */
#define SLICES       1200u  /* and slices of an answer: less than a second */
#define LINES        10u
#define LINES_MOST   1000u
#define NAME_LONGEST 100u

struct access_question {
    struct reverse_question base;
    struct console c;
    int core;
    struct target_breakpoint w;
    struct reverse_search gap; /* where the trace before is missing: as far as it goes */
    bool bounded;
    struct reverse_scan scan;
    struct reverse_possible possible; /* since the last line */
    uint64_t last;                    /* instruction and address of that */
    uint64_t last_address;
    unsigned left;   /* lines */
    unsigned slices; /* in which values were worked out */
    struct reverse_motion *motion;
};

static bool find_variable(struct reverse_motion *m, int core, const char *name, uint64_t *address,
                          uint32_t *size)
{
    struct elf_image *const *elf;
    size_t count = m->host->programs(m->ctx, core, &elf);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes;
        if (!elf_image_variable(elf[i], name, address, &bytes) || !bytes)
            continue;
        *size = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
        return true;
    }
    return false;
}

bool reverse_place(struct reverse_motion *m, int core, const char *text, uint64_t *address,
                   uint32_t *size)
{
    char *end;
    if (find_variable(m, core, text, address, size))
        return true;
    const char *digits = *text == '*' ? text + 1 : text;
    *address = strtoull(digits, &end, 0);
    *size = 4;
    return isdigit((unsigned char)*digits) && !*end;
}

/* "NAME [N]". */
static bool parse_question(struct access_question *q, const char *what)
{
    char name[NAME_LONGEST];
    unsigned lines = LINES;
    size_t n = strcspn(what, " ");
    if (!n || n >= sizeof name)
        return false;
    memcpy(name, what, n);
    name[n] = '\0';
    what += n + strspn(what + n, " ");
    if (*what) {
        char *end;
        unsigned long given = strtoul(what, &end, 10);
        if (*end || !given || given > LINES_MOST)
            return false;
        lines = (unsigned)given;
    }
    bool wide = q->motion->cores[q->core].machine.profile == EXECUTE_PROFILE_A64;
    if (!reverse_place(q->motion, q->core, name, &q->w.address, &q->w.kind) ||
        (!wide && q->w.address > UINT32_MAX))
        return false;
    q->left = lines;
    return true;
}

static void print_place(struct access_question *q, uint64_t position)
{
    struct elf_image *const *elf;
    struct reverse_motion *m = q->motion;
    size_t count = m->host->programs(m->ctx, q->core, &elf);
    uint64_t pc, offset;
    enum bt_isa isa;
    console_print(&q->c, "instruction %" PRIu64, position + 1);
    if (reverse_pc(&m->cores[q->core].reverse, position, &pc, &isa) != BT_OK)
        return;
    console_print(&q->c, ", 0x%08" PRIx64, pc);
    for (size_t i = 0; i < count; i++) {
        const struct elf_symbol *s = elf_image_symbol(elf[i], pc, &offset);
        if (s) {
            console_print(&q->c, " in %s", s->name);
            return;
        }
    }
}

static void print_possible(struct access_question *q)
{
    if (!q->possible.count)
        return;
    console_print(&q->c, "possibly one of %" PRIu64 " whose addresses are not known, the latest: ",
                  q->possible.count);
    print_place(q, q->possible.at[0]);
    console_print(&q->c, "\n");
    q->possible.count = 0;
}

/* A reverse_take_fn. */
static bool take_access(void *context, uint64_t position, const struct values_touch *t,
                        const struct target_breakpoint *w)
{
    struct access_question *q = context;
    if (!w) {
        reverse_possible_add(&q->possible, position);
        return false;
    }
    if (position == q->last && t->address == q->last_address)
        return false;
    q->last = position;
    q->last_address = t->address;
    print_possible(q);
    print_place(q, position);
    console_print(&q->c, ": %s%u byte%s at 0x%08" PRIx64, t->perhaps ? "perhaps, " : "", t->size,
                  t->size == 1 ? "" : "s", t->address);
    if (t->value_known)
        console_print(&q->c, ", 0x%" PRIx64,
                      t->size < 8 ? t->value & ((UINT64_C(1) << 8 * t->size) - 1) : t->value);
    console_print(&q->c, "%s\n", t->inferred ? " (assumed)" : "");
    return --q->left == 0;
}

static void print_end(struct access_question *q, bool enough)
{
    print_possible(q);
    if (q->motion->ctrl_c)
        console_print(&q->c, "interrupted at instruction %" PRIu64 "\n", q->scan.next + 1);
    else if (!enough && q->scan.next > q->scan.bound)
        console_print(&q->c,
                      "not looked for before instruction %" PRIu64
                      ": ask again there, behind 'monitor goto %" PRIu64 "' and 'stepi'\n",
                      q->scan.next + 1, q->scan.next + 1);
    else if (!enough && q->gap.cause == BT_GAP_NONE)
        console_print(&q->c, "the history begins at instruction %" PRIu64 "\n", q->scan.bound + 1);
    else if (!enough)
        console_print(&q->c, "trace is missing before instruction %" PRIu64 " (%s)\n",
                      q->scan.bound + 1, bt_gap_name(q->gap.cause));
}

/* As far back as nothing is missing. True: it is known. */
static bool find_bound(struct access_question *q, struct reverse *p)
{
    int found = q->gap.from ? BT_OK : reverse_search_open(p, &q->gap);
    if (!found)
        found = reverse_search_some(p, &q->gap);
    if (found == REVERSE_FOUND_MORE)
        return false;
    q->bounded = true;
    q->scan = (struct reverse_scan){.back = true,
                                    .next = p->position,
                                    .bound = found < 0 ? p->position : q->gap.found,
                                    .watches = &q->w,
                                    .count = 1};
    return true;
}

/* A slice; true: it is answered. */
static bool work_on_question(struct reverse_motion *m)
{
    struct access_question *q = (struct access_question *)m->question;
    struct reverse_core *c = &m->cores[q->core];
    int error = reverse_motion_prepare(m, q->core);
    if (error == TARGET_PENDING || (!error && !q->bounded && !find_bound(q, &c->reverse)))
        return false;
    if (!error && q->scan.next > q->scan.bound && !m->ctrl_c && q->slices < SLICES) {
        error = reverse_accesses_reach(&c->watching.accesses, &c->reverse, &c->machine,
                                       c->values.infer, &q->scan, BUDGET);
        if (error == TARGET_PENDING) {
            q->slices += !c->watching.accesses.foresight.waits;
            reverse_motion_lacks(m, q->core);
            return false;
        }
        if (!error && !reverse_accesses_scan(&c->watching.accesses, &q->scan, take_access, q))
            return false;
    }
    if (error)
        console_print(&q->c, "the history cannot be read: %s\n", bt_strerror(error));
    else
        print_end(q, q->left == 0);
    return true;
}

int reverse_question_begin(struct reverse_motion *m, int core, const char *what, bool read,
                           target_print_fn print, void *to)
{
    struct target_error why = {""};
    struct access_question *q = calloc(1, sizeof *q);
    if (!q)
        return BT_ERR_NOMEM;
    *q = (struct access_question){
        .base.work = work_on_question, .c = {print, to}, .core = core, .motion = m};
    q->w.type = read ? TARGET_WATCHPOINT_READ : TARGET_WATCHPOINT_WRITE;
    int error = reverse_motion_open(m, core, &why);
    if (error)
        console_print(&q->c, "%s\n", why.text[0] ? why.text : bt_strerror(error));
    else if (!parse_question(q, what))
        console_print(&q->c,
                      "monitor %s VARIABLE|ADDRESS [LINES], not '%s': a variable of the program "
                      "by its name, a local one by the address that 'print &NAME' shows; LINES "
                      "up to %u\n",
                      read ? "read" : "written", what, LINES_MOST);
    else if (m->cores[core].reverse.position == m->cores[core].reverse.first)
        console_print(&q->c, "the history begins here\n");
    else
        m->question = &q->base;
    if (!m->question) {
        free(q);
        return BT_OK;
    }
    m->ctrl_c = false;
    q->last = UINT64_MAX;
    m->cores[core].watching.rounds = 0;
    m->cores[core].watching.accesses.foresight.of = NULL;
    q->gap.back = q->gap.all_gaps = true;
    m->host->later(m->ctx);
    return TARGET_PENDING;
}
