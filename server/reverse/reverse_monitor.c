/* SPDX-License-Identifier: BSD-3-Clause */
/* `monitor` commands about the position in the history. */
#include "decoder/base/bytes.h"
#include "server/base/console.h"
#include "server/reverse/reverse_motion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXPLAINED_WORDS 8

static bool open_reverse(struct reverse_motion *m, int core, const struct console *c)
{
    struct target_error why = {""};
    int error = reverse_motion_open(m, core, &why);
    if (error)
        console_print(c, "%s\n", why.text[0] ? why.text : bt_strerror(error));
    return !error;
}

static bool parse_position(const struct reverse *p, const char *text, uint64_t *position)
{
    char *end;
    if (strcmp(text, "begin") == 0 || strcmp(text, "start") == 0) {
        *position = p->first;
        return true;
    }
    if (strcmp(text, "end") == 0) {
        *position = p->end;
        return true;
    }
    bool back = *text == '-', on = *text == '+';
    const char *digits = text + (back || on);
    uint64_t n = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end)
        return false;
    if (back)
        *position = p->position - (n < p->position - p->first ? n : p->position - p->first);
    else if (on)
        *position = p->position + (n < p->end - p->position ? n : p->end - p->position);
    else
        *position = n - 1;
    return true;
}

static void cmd_goto(struct reverse_motion *m, int core, const char *rest, const struct console *c)
{
    struct reverse_core *k = &m->cores[core];
    uint64_t position, pc = 0;
    enum bt_isa isa;
    if (!open_reverse(m, core, c))
        return;
    if (!parse_position(&k->reverse, rest, &position)) {
        console_print(c, "monitor goto N|begin|end|-N|+N, not '%s'\n", rest);
        return;
    }
    if (position < k->reverse.first || position > k->reverse.end) {
        console_print(c, "not in the history: instructions %" PRIu64 " to %" PRIu64 "\n",
                      k->reverse.first + 1, k->reverse.end + 1);
        return;
    }
    reverse_motion_lock(m);
    int error = reverse_pc(&k->reverse, position, &pc, &isa);
    reverse_motion_unlock(m);
    k->goto_wanted = true;
    k->goto_position = position;
    if (error)
        console_print(c, "the history cannot be read: %s\n", bt_strerror(error));
    console_print(
        c, "the next stepi or reverse-stepi goes to instruction %" PRIu64 ", 0x%08" PRIx64 "%s\n",
        position + 1, pc, position == k->reverse.end ? ", where the core is halted" : "");
}

/* Where, explain. */

static void cmd_where(struct reverse_motion *m, int core, const char *rest, const struct console *c)
{
    const struct reverse_core *k = &m->cores[core];
    (void)rest;
    if (!open_reverse(m, core, c))
        return;
    const struct reverse *p = &k->reverse;
    if (reverse_active(p))
        console_print(c, "instruction %" PRIu64 ", %" PRIu64 " before the halt\n", p->position + 1,
                      p->end - p->position);
    else
        console_print(c, "at the halt, not replaying\n");
    console_print(c, "history       instructions %" PRIu64 " to %" PRIu64 "\n", p->first + 1,
                  p->end);
    if (!k->values.now.built)
        return;
    console_print(c, "values from   instructions %" PRIu64 " to %" PRIu64 "%s\n",
                  k->values.now.from + 1, k->values.now.to,
                  k->values.now.conflict ? ": they contradict each other and are not shown" : "");
}

static const char *const names[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                    "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};

static unsigned register_named(const char *name)
{
    unsigned n = sizeof names / sizeof *names;
    for (unsigned i = 0; i < n; i++)
        if (strcasecmp(names[i], name) == 0)
            return i;
    if (strcasecmp(name, "cpsr") == 0 || strcasecmp(name, "xpsr") == 0)
        return TARGET_REG_PSR;
    if (strcasecmp(name, "fp") == 0)
        return TARGET_REG_R11;
    if (strcasecmp(name, "r13") == 0 || strcasecmp(name, "r14") == 0)
        return name[2] == '3' ? TARGET_REG_SP : TARGET_REG_LR;
    return TARGET_REG_COUNT;
}

static void report_step(struct reverse_motion *m, struct reverse_core *k, uint64_t step,
                        const struct console *c)
{
    uint64_t pc;
    enum bt_isa isa;
    reverse_motion_lock(m);
    int error = reverse_pc(&k->reverse, step, &pc, &isa);
    reverse_motion_unlock(m);
    if (!error && step < k->reverse.end)
        console_print(c, ", by instruction %" PRIu64 " at 0x%08" PRIx64, step + 1, pc);
}

static bool knows_forward(const struct reverse_core *k, unsigned reg, uint32_t *value)
{
    const struct execute_regs *r =
        k->machine.forward ? reverse_forward_regs(k->machine.forward, k->reverse.position) : NULL;
    *value = r ? (uint32_t)r->value[reg] : 0;
    return r && r->known >> reg & 1;
}

/* Of two that differ neither is shown. */
static void explain_conflict(const struct console *c, uint32_t back, uint32_t forward)
{
    console_print(c,
                  ": NOT shown: 0x%08" PRIx32 " from the halt back, 0x%08" PRIx32
                  " from an earlier one on\n",
                  back, forward);
}

/* `reported`: registers that GDB knows here. */
static void explain_register(struct reverse_motion *m, struct reverse_core *k, unsigned reg,
                             uint32_t reported, const struct target_regs *regs,
                             const struct console *c)
{
    const struct reverse *p = &k->reverse;
    struct values_answer a;
    uint32_t ahead;
    bool forward = knows_forward(k, reg, &ahead);
    bool back = reverse_values_explain(&k->values, p->position, reg, &a);
    if (reg == TARGET_REG_PC) {
        console_print(c, "pc = 0x%08" PRIx64 ": known, it is the traced path\n", regs->value[reg]);
    } else if (reg == TARGET_REG_PSR) {
        console_print(c,
                      "psr = 0x%08" PRIx64
                      ": the instruction set is traced, flags are known in part,"
                      " the rest is an estimate\n",
                      regs->value[reg]);
    } else if (back && forward && ahead != a.value) {
        console_print(c, "%s", names[reg]);
        explain_conflict(c, a.value, ahead);
    } else if (back) {
        console_print(c, "%s = 0x%08" PRIx32 ": known%s, %s", names[reg], a.value,
                      a.inferred ? " if calls keep to the procedure call standard" : "",
                      values_how_name((enum values_how)a.how));
        if (a.step != UINT32_MAX)
            report_step(m, k, k->values.now.from + a.step, c);
        console_print(c, reported >> reg & 1 ? "\n"
                                             : "\nGDB has asked before that was known: "
                                               "`maint flush register-cache` shows it\n");
    } else if (forward) {
        console_print(c, "%s = 0x%08" PRIx64 ": known, executed from an earlier halt on\n",
                      names[reg], regs->value[reg]);
    } else if (regs->known >> reg & 1) {
        console_print(c,
                      "%s = 0x%08" PRIx64 ": NOT known; GDB cannot do without a number, and "
                      "backtraces end there\n",
                      names[reg], regs->value[reg]);
    } else {
        console_print(c, "%s: not known at this place\n", names[reg]);
    }
}

/* What is known forwards of those of a word's bytes that were asked for. */
static bool explain_forward(const struct reverse_core *k, uint64_t address, unsigned size,
                            const struct values_answer *back, const struct console *c)
{
    const struct reverse_machine *m = &k->machine;
    uint8_t bytes[4];
    if (!m->forward ||
        !reverse_forward_memory(m->forward, k->reverse.position, address, bytes, size))
        return false;
    uint32_t value = (uint32_t)bytes_number(bytes, size, m->big_endian);
    bool differs = back && size == 4 && value != back->value;
    if (!back || differs)
        console_print(c, "0x%08" PRIx64, address);
    if (!back)
        console_print(c, " = 0x%0*" PRIx32 ": known, executed from an earlier halt on\n",
                      (int)(2 * size), value);
    if (differs)
        explain_conflict(c, back->value, value);
    return !back || differs;
}

/* `size` bytes of one word of memory: what a search has come to know counts, too, as it does for
 * GDB. */
static void explain_word(struct reverse_motion *m, struct reverse_core *k, uint64_t address,
                         unsigned size, const struct console *c)
{
    uint64_t position = k->reverse.position;
    uint32_t word = (uint32_t)address & ~3u;
    struct values_answer a;
    bool wide = reverse_machine_is_a64(&k->machine);
    bool told = !wide && reverse_values_word(&k->values, position, word, &a);
    const struct reverse_known *in = told ? &k->values.now : &k->watching.accesses.now;
    told = told || (!wide && reverse_accesses_word(&k->watching.accesses, position, word, &a));
    if (explain_forward(k, told ? word : address, told ? 4 : size, told ? &a : NULL, c))
        return;
    if (!told) {
        bool present = !wide && !reverse_values_may_be_stale(&k->values, &k->machine, word);
        console_print(c, "0x%08" PRIx64 ": not known at this place%s\n", address,
                      present ? "; nobody says that it is RAM: shown as it is now" : "");
        return;
    }
    console_print(c, "0x%08" PRIx32 " = 0x%08" PRIx32 ": known%s, %s", word, a.value,
                  a.inferred ? " if calls keep to the procedure call standard" : "",
                  values_how_name((enum values_how)a.how));
    if (a.step != UINT32_MAX)
        report_step(m, k, in->from + a.step, c);
    console_print(c, "\n");
}

static void explain_memory(struct reverse_motion *m, int core, uint64_t address, uint32_t size,
                           const struct console *c)
{
    uint64_t at = address, end = at + size;
    for (unsigned i = 0; i < EXPLAINED_WORDS && at < end; i++) {
        uint64_t next = (at & ~UINT64_C(3)) + 4;
        next = next < end ? next : end;
        explain_word(m, &m->cores[core], at, (unsigned)(next - at), c);
        at = next;
    }
    if (at < end)
        console_print(c, "and %" PRIu64 " bytes more: 'monitor explain *ADDRESS'\n", end - at);
}

/* AArch64: nothing is known backwards. `name` "": those of the core, without SIMD. False: there is
 * no such register. */
static bool explain_a64(const struct reverse_machine *m, const char *name,
                        const struct target_regs *regs, const struct console *c)
{
    bool found = false;
    for (unsigned i = 0; i < (*name ? m->list_count : TARGET_A64_COUNT) && i < m->list_count; i++) {
        uint64_t value;
        if (*name && strcasecmp(m->list[i].name, name) != 0)
            continue;
        found = true;
        bool pc = target_register_reg(&m->list[i]) == TARGET_REG_PC;
        if (target_regs_get(regs, m->list, i, &value))
            console_print(c, "%s = 0x%08" PRIx64 ": known, %s\n", m->list[i].name, value,
                          pc ? "it is the traced path" : "executed from an earlier halt on");
        else
            console_print(c, "%s: not known at this place\n", m->list[i].name);
    }
    return found;
}

static void cmd_explain(struct reverse_motion *m, int core, const char *rest,
                        const struct console *c)
{
    struct reverse_core *k = &m->cores[core];
    uint64_t address = 0;
    uint32_t size;
    unsigned reg = register_named(rest);
    uint32_t reported = k->reported;
    struct target_regs regs;
    bool active = reverse_motion_active(m, core);
    bool wide = active && reverse_machine_is_a64(&k->machine);
    bool named = !*rest || (reg < TARGET_REG_COUNT && !wide);
    bool place =
        !named && reverse_place(m, core, rest, &address, &size) && (wide || address <= UINT32_MAX);
    int error = active ? reverse_motion_regs(m, core, &regs) : BT_OK;
    if (error)
        console_print(c, "the history cannot be read\n");
    else if (!(wide && explain_a64(&k->machine, rest, &regs, c)) && !named && !place)
        console_print(c,
                      "monitor explain REGISTER|VARIABLE|*ADDRESS: r0 to r12, sp, lr, pc, cpsr or "
                      "xpsr (AArch64: x0 to x30), a variable of the program, or a word of memory, "
                      "not '%s'\n",
                      rest);
    else if (!active)
        console_print(c, "the core is shown as it is, all its registers are read\n");
    else if (place)
        explain_memory(m, core, address, size, c);
    else if (!wide && *rest)
        explain_register(m, k, reg, reported, &regs, c);
    else
        for (reg = 0; reg <= TARGET_REG_PSR && !wide; reg++)
            if (reg <= TARGET_REG_PC || reg == TARGET_REG_PSR)
                explain_register(m, k, reg, reported, &regs, c);
    k->reported = reported; /* the question was not GDB's */
}

/* Accesses that the last motion passed. */
static void cmd_possible(struct reverse_motion *m, int core, const char *rest,
                         const struct console *c)
{
    struct reverse_core *k = &m->cores[core];
    const struct reverse_possible *b = &k->watching.possible;
    size_t listed = b->count < REVERSE_POSSIBLE_MAX ? (size_t)b->count : REVERSE_POSSIBLE_MAX;
    (void)rest;
    console_print(c,
                  "%" PRIu64 " instructions that the last motion with watchpoints passed may "
                  "have hit one: their addresses are not known\n",
                  b->count);
    for (size_t i = 0; i < listed && k->state != REVERSE_CORE_CLOSED; i++) {
        console_print(c, "possibly");
        report_step(m, k, b->at[i], c);
        console_print(c, "\n");
    }
    if (b->count > listed)
        console_print(c, "and %" PRIu64 " more\n", b->count - listed);
}

static void cmd_memory(struct reverse_motion *m, int core, const char *rest,
                       const struct console *c)
{
    (void)core;
    if (strcmp(rest, "known") == 0)
        m->memory = REVERSE_MEMORY_ERROR;
    else if (strcmp(rest, "present") == 0)
        m->memory = REVERSE_MEMORY_PRESENT;
    else if (*rest)
        console_print(c, "monitor past memory known|present, not '%s'\n", rest);
    for (int i = 0; i < m->core_count; i++)
        m->cores[i].values.memory = m->memory;
    console_print(c, m->memory == REVERSE_MEMORY_ERROR
                         ? "memory that is not known is an error\n"
                         : "memory that is not known is shown with its present contents\n");
}

static void cmd_window(struct reverse_motion *m, int core, const char *rest,
                       const struct console *c)
{
    char *end;
    unsigned long n = strtoul(rest, &end, 10);
    (void)core;
    if (*rest && (*end || n < REVERSE_FIRST_WINDOW || n > VALUES_MAX_INSNS)) {
        console_print(c, "monitor past window N: %u to %u instructions, not '%s'\n",
                      REVERSE_FIRST_WINDOW, VALUES_MAX_INSNS, rest);
        return;
    }
    if (*rest) {
        m->limit = n;
        for (int i = 0; i < m->core_count; i++)
            m->cores[i].values.limit = n;
    }
    console_print(c, "values are worked out for the last %zu instructions\n", m->limit);
}

static void report_withdrawn(const struct reverse_known *k, const struct console *c)
{
    if (!k->built || !k->counts.inferred_conflicts)
        return;
    console_print(c,
                  "instructions %" PRIu64 " to %" PRIu64 ": %zu values that rest on this are "
                  "contradicted, first at instruction %" PRIu64 ": none that does is shown\n",
                  k->from + 1, k->to, k->counts.inferred_conflicts,
                  k->from + k->counts.inferred_at + 1);
}

static void cmd_assume(struct reverse_motion *m, int core, const char *rest,
                       const struct console *c)
{
    if (strcmp(rest, "on") == 0 || strcmp(rest, "off") == 0) {
        m->infer = rest[1] == 'n' ? VALUES_INFER_ALL : 0;
        for (int i = 0; i < m->core_count; i++) {
            m->cores[i].values.infer = m->infer;
            reverse_values_forget(&m->cores[i].values);
        }
    } else if (*rest) {
        console_print(c, "monitor past assume on|off, not '%s'\n", rest);
    }
    console_print(c, m->infer ? "calls are taken to keep SP and r4 to r11, handlers all registers\n"
                              : "only what is proved is shown\n");
    report_withdrawn(&m->cores[core].values.now, c);
}

/* How all of them stand. */
static void cmd_reverse(struct reverse_motion *m, int core, const char *rest,
                        const struct console *c)
{
    if (*rest) {
        console_print(c, "monitor past memory|window|assume, not '%s'\n", rest);
        return;
    }
    cmd_memory(m, core, "", c);
    cmd_window(m, core, "", c);
    cmd_assume(m, core, "", c);
    struct reverse_machine machine = {.forward = NULL};
    if (m->host->machine(m->ctx, core, &machine) == BT_OK && machine.forward)
        reverse_forward_report(machine.forward, c);
}

static const struct {
    const char *name;
    void (*run)(struct reverse_motion *m, int core, const char *rest, const struct console *c);
    const char *help;
} commands[] = {
    {"goto", cmd_goto, "N|begin|end|-N|+N: the next stepi goes to that instruction"},
    {"where", cmd_where, "the position in the history"},
    {"explain", cmd_explain,
     "[REGISTER|VARIABLE|*ADDRESS]: whether it is known here, and from what"},
    {"possible", cmd_possible, "accesses that may have hit a watchpoint on the way here"},
    {"past memory", cmd_memory, "known|present: what memory shows that is not known"},
    {"past window", cmd_window, "N: instructions before the halt whose values are worked out"},
    {"past assume", cmd_assume, "on|off: calls keep the registers that the standard says"},
    {"past", cmd_reverse, "how these three stand"},
};

int reverse_monitor(struct reverse_motion *m, int core, const char *text, target_print_fn print,
                    void *to)
{
    const struct console c = {print, to};
    char rest[100];
    bool read = console_rest(text, "read", rest, sizeof rest);
    if (core >= 0 && core < m->core_count &&
        (read || console_rest(text, "written", rest, sizeof rest)))
        return reverse_question_begin(m, core, rest, read, print, to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!console_rest(text, commands[i].name, rest, sizeof rest))
            continue;
        if (core < 0 || core >= m->core_count)
            console_print(&c, "this thread is no core with a history\n");
        else
            commands[i].run(m, core, rest, &c);
        return BT_OK;
    }
    return BT_ERR_UNSUPPORTED;
}

void reverse_monitor_help(target_print_fn print, void *to)
{
    const struct console c = {print, to};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        console_print(&c, "monitor %-14s %s\n", commands[i].name, commands[i].help);
    console_print(&c, "monitor %-14s %s\n", "written",
                  "VARIABLE|ADDRESS [LINES]: who wrote it last before here");
    console_print(&c, "monitor %-14s %s\n", "read", "VARIABLE|ADDRESS [LINES]: who read it last");
}
