/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/tasks/tasks.h"

#include "decoder/base/array.h"
#include "drivers/elf/elf_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of memory: of BLOCK bytes, where not all of those can be read of one word. */
#define BLOCK      128u
#define WORD       4u
#define PIECES_MAX 4096u
#define SLOTS      (2 * PIECES_MAX) /* of the table that finds them */

/* Tasks that have a thread's number. */
#define NUMBERS_MAX 1024u

struct tasks_piece {
    uint32_t address, size, length; /* length: bytes that could be read, from the start on */
    int core;
    uint8_t bytes[BLOCK];
};

struct tasks_kernel {
    int core;
    char name[64];
    struct rtos *rtos; /* NULL: it cannot be used, and the note says why */
    struct rtos_tasks walk;
};

struct tasks_number {
    int core;
    uint32_t address;
};

struct tasks {
    void (*known)(void *ctx);
    void *ctx;
    struct tasks_kernel *kernels[TARGET_CORES_MAX];
    size_t kernel_count;
    struct target *target;
    uint64_t epoch; /* of the target, that is being looked at or known */
    bool looking, is_known;
    bool asked, answered; /* for a piece; from within */
    struct tasks_piece *pieces, want;
    size_t piece_count, piece_capacity;
    uint16_t slots[SLOTS]; /* index + 1; 0: free */
    struct tasks_number numbers[NUMBERS_MAX];
    size_t number_count;
    int number_first;
    struct gdb_task *list;
    size_t count;
    char notes[TARGET_CORES_MAX][RTOS_NOTE_MAX];
};

struct tasks *tasks_new(void (*known)(void *ctx), void *ctx)
{
    struct tasks *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->known = known;
    t->ctx = ctx;
    t->number_first = GDB_TASK_FIRST;
    return t;
}

void tasks_free(struct tasks *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->kernel_count; i++) {
        rtos_close(t->kernels[i]->rtos);
        free(t->kernels[i]);
    }
    free(t->pieces);
    free(t->list);
    free(t);
}

int tasks_add(struct tasks *t, int core, const char *name, enum rtos_kind kind,
              const struct elf_image *image)
{
    struct message why = {.text = ""};
    struct rtos *rtos = NULL;
    if (core < 0 || core >= TARGET_CORES_MAX || t->kernel_count == TARGET_CORES_MAX || !image)
        return BT_OK;
    int error = rtos_open(&rtos, kind, image, &why);
    if (!rtos && error != BT_ERR_UNSUPPORTED)
        return error;
    struct tasks_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        rtos_close(rtos);
        return BT_ERR_NOMEM;
    }
    k->core = core;
    k->rtos = rtos;
    snprintf(k->name, sizeof k->name, "%s", name);
    snprintf(k->walk.note, sizeof k->walk.note, "%.*s", RTOS_NOTE_MAX - 1, why.text);
    t->kernels[t->kernel_count++] = k;
    return BT_OK;
}

bool tasks_has(const struct tasks *t)
{
    return t && t->kernel_count > 0;
}

/* Memory of this halt. */

static size_t piece_slot(const struct tasks *t, int core, uint32_t address, uint32_t size)
{
    size_t at = (address / WORD * 2654435761u + (uint32_t)core + size) % SLOTS;
    for (; t->slots[at]; at = (at + 1) % SLOTS) {
        const struct tasks_piece *p = &t->pieces[t->slots[at] - 1];
        if (p->address == address && p->size == size && p->core == core)
            break;
    }
    return at;
}

static const struct tasks_piece *piece_of(const struct tasks *t, int core, uint32_t address,
                                          uint32_t size)
{
    size_t at = piece_slot(t, core, address, size);
    return t->slots[at] ? &t->pieces[t->slots[at] - 1] : NULL;
}

static int piece_keep(struct tasks *t)
{
    if (!array_room(&t->pieces, t->piece_count, &t->piece_capacity, sizeof *t->pieces))
        return BT_ERR_NOMEM;
    size_t slot = piece_slot(t, t->want.core, t->want.address, t->want.size);
    t->pieces[t->piece_count++] = t->want;
    t->slots[slot] = (uint16_t)t->piece_count;
    return BT_OK;
}

struct tasks_reader {
    struct tasks *tasks;
    int core;
};

static int piece_want(struct tasks *t, int core, uint32_t address, uint32_t size)
{
    if (t->piece_count == PIECES_MAX)
        return BT_ERR_RANGE;
    t->want = (struct tasks_piece){.address = address, .size = size, .core = core};
    return TARGET_PENDING;
}

/* Bytes of one word. */
static int piece_read(const struct tasks_reader *r, uint32_t address, void *bytes, size_t size)
{
    const uint32_t sizes[] = {BLOCK, WORD};
    for (size_t i = 0; i < 2; i++) {
        uint32_t start = address - address % sizes[i];
        const struct tasks_piece *p = piece_of(r->tasks, r->core, start, sizes[i]);
        if (!p)
            return piece_want(r->tasks, r->core, start, sizes[i]);
        if (p->length < address - start + size)
            continue;
        memcpy(bytes, p->bytes + (address - start), size);
        return BT_OK;
    }
    return BT_ERR_IO;
}

static int tasks_read(void *ctx, uint32_t address, void *bytes, size_t size)
{
    uint8_t *to = bytes;
    int error = BT_OK;
    while (!error && size > 0) {
        size_t n = WORD - address % WORD;
        n = n < size ? n : size;
        error = piece_read(ctx, address, to, n);
        to += n;
        address += (uint32_t)n;
        size -= n;
    }
    return error;
}

/* For sessions. */

/* The same at every halt, as long as there are not too many. */
static int tasks_number_of(struct tasks *t, int core, uint32_t address)
{
    size_t i = 0;
    while (i < t->number_count && (t->numbers[i].core != core || t->numbers[i].address != address))
        i++;
    if (i == NUMBERS_MAX) {
        t->number_first += (int)NUMBERS_MAX;
        t->number_count = i = 0;
    }
    if (i == t->number_count)
        t->numbers[t->number_count++] = (struct tasks_number){core, address};
    return t->number_first + (int)i;
}

/* A floating-point register of this name; false: none, or it is not known. */
static bool tasks_float(const struct rtos_regs *from, const char *name, uint64_t *value)
{
    unsigned n;
    char kind, end;
    if (strcmp(name, "fpscr") == 0) {
        *value = from->fpscr;
        return from->s_known & 1;
    }
    if (sscanf(name, "%c%2u%c", &kind, &n, &end) != 2 || n >= (kind == 'd' ? 16 : 32))
        return false;
    if (kind == 's') {
        *value = from->s[n];
        return from->s_known >> n & 1;
    }
    if (kind != 'd' || (from->s_known >> 2 * n & 3) != 3)
        return false;
    *value = from->s[2 * n] | (uint64_t)from->s[2 * n + 1] << 32;
    return true;
}

/* MSP is no task's: what the core has. */
static bool tasks_stack(const struct tasks *t, int core, const struct rtos_regs *from, int stack,
                        uint64_t *value)
{
    const struct target_regs *last = target_last_regs(t->target, core);
    if (stack == TARGET_STACK_PSP) {
        *value = from->value[TARGET_REG_SP];
        return from->known >> TARGET_REG_SP & 1;
    }
    if (stack != TARGET_STACK_MSP || !last || !(last->stack_known >> stack & 1))
        return false;
    *value = last->stack[stack];
    return true;
}

static void tasks_registers(const struct tasks *t, int core, const struct rtos_regs *from,
                            struct target_regs *to)
{
    const struct target_register *list = NULL;
    unsigned count = t->target->ops->registers(t->target, core, &list);
    for (unsigned i = 0; i < count; i++) {
        int reg = target_register_reg(&list[i]), stack = target_register_stack(&list[i]);
        uint64_t value;
        if (reg >= 0 && reg < RTOS_REGS && (from->known >> reg & 1))
            target_regs_set(to, list, i, from->value[reg]);
        else if (reg < 0 && stack >= 0 && tasks_stack(t, core, from, stack, &value))
            target_regs_set(to, list, i, value);
        else if (reg < 0 && stack < 0 && tasks_float(from, list[i].name, &value))
            target_regs_set(to, list, i, value);
    }
}

static void tasks_show(struct tasks *t, const struct tasks_kernel *k, const struct rtos_task *from)
{
    struct gdb_task *to = &t->list[t->count++];
    memset(to, 0, sizeof *to);
    to->thread = tasks_number_of(t, k->core, from->address);
    to->core = k->core;
    to->running = from->current;
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->state, sizeof to->state, "%s, priority %d%s", from->state,
             (int)(int32_t)from->priority,
             from->damaged                       ? ", saved registers damaged"
             : from->current || from->regs.known ? ""
                                                 : ", saved registers not known");
    if (!from->current)
        tasks_registers(t, k->core, &from->regs, &to->regs);
}

static void tasks_publish(struct tasks *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->kernel_count; i++)
        count += t->kernels[i]->walk.count;
    free(t->list);
    t->count = 0;
    t->list = calloc(count ? count : 1, sizeof *t->list);
    memset(t->notes, 0, sizeof t->notes);
    for (size_t i = 0; i < t->kernel_count; i++) {
        const struct tasks_kernel *k = t->kernels[i];
        for (size_t j = 0; t->list && j < k->walk.count; j++)
            tasks_show(t, k, &k->walk.task[j]);
        snprintf(t->notes[k->core], RTOS_NOTE_MAX, "%s", t->list ? k->walk.note : "out of memory");
    }
}

/* Looking. */

static void tasks_answered(void *ctx, const struct target_answer *a);

/* TARGET_PENDING: the piece that is wanted comes later. */
static int tasks_ask(struct tasks *t)
{
    const struct target_request r = {.kind = TARGET_READ_MEMORY,
                                     .core = t->want.core,
                                     .address = t->want.address,
                                     .length = t->want.size};
    t->asked = true;
    t->answered = false;
    int error = target_ask(t->target, NULL, &r, tasks_answered, t);
    if (error) {
        t->asked = false;
        return error;
    }
    if (t->answered)
        return BT_OK;
    t->asked = false;
    return TARGET_PENDING;
}

static int tasks_walk(struct tasks *t, struct tasks_kernel *k)
{
    struct tasks_reader reader = {t, k->core};
    int error = BT_OK;
    while (k->rtos) {
        error = rtos_walk(k->rtos, tasks_read, &reader, &k->walk);
        if (error == TARGET_PENDING)
            error = tasks_ask(t);
        else
            break;
        if (error)
            break;
    }
    if (error == BT_ERR_INVAL || (error < 0 && t->target->epoch != t->epoch))
        snprintf(k->walk.note, sizeof k->walk.note, "the cores ran on meanwhile");
    if (error == BT_ERR_RANGE)
        snprintf(k->walk.note, sizeof k->walk.note, "they are in more memory than is looked at");
    return error;
}

static int tasks_look(struct tasks *t)
{
    for (size_t i = 0; i < t->kernel_count; i++)
        if (tasks_walk(t, t->kernels[i]) == TARGET_PENDING)
            return TARGET_PENDING;
    tasks_publish(t);
    t->looking = false;
    t->is_known = true;
    return BT_OK;
}

static void tasks_answered(void *ctx, const struct target_answer *a)
{
    struct tasks *t = ctx;
    bool within = t->asked;
    size_t n = a->error || !a->bytes ? 0 : a->length;
    t->want.length = (uint32_t)(n < t->want.size ? n : t->want.size);
    if (t->want.length > 0)
        memcpy(t->want.bytes, a->bytes, t->want.length);
    if (piece_keep(t) != BT_OK)
        t->want.length = 0; /* it is asked for again */
    t->answered = true;
    if (!within && tasks_look(t) == BT_OK)
        t->known(t->ctx);
}

static void tasks_forget(struct tasks *t, struct target *target)
{
    t->target = target;
    t->epoch = target->epoch;
    t->piece_count = 0;
    t->is_known = false;
    memset(t->slots, 0, sizeof t->slots);
}

int tasks_at(struct tasks *t, struct target *target, struct gdb_tasks *out)
{
    if (!tasks_has(t))
        return BT_ERR_UNSUPPORTED;
    if (t->looking)
        return TARGET_PENDING;
    if (!t->is_known || t->target != target || t->epoch != target->epoch) {
        tasks_forget(t, target);
        t->looking = true;
        if (tasks_look(t) == TARGET_PENDING)
            return TARGET_PENDING;
    }
    *out = (struct gdb_tasks){.task = t->list, .count = t->list ? t->count : 0, .notes = t->notes};
    return BT_OK;
}

static const struct tasks_kernel *tasks_kernel_of(const struct tasks *t, int core)
{
    for (size_t i = 0; i < t->kernel_count; i++)
        if (t->kernels[i]->core == core && t->kernels[i]->rtos)
            return t->kernels[i];
    return NULL;
}

bool tasks_current(const struct tasks *t, int core, uint32_t *pointer, uint32_t *task)
{
    const struct tasks_kernel *k = tasks_kernel_of(t, core);
    *pointer = k ? rtos_current(k->rtos) : 0;
    for (size_t i = 0; *pointer && i < k->walk.count; i++)
        if (k->walk.task[i].current) {
            *task = k->walk.task[i].address;
            return true;
        }
    return false;
}

const char *tasks_name(const struct tasks *t, int core, uint32_t task)
{
    const struct tasks_kernel *k = tasks_kernel_of(t, core);
    for (size_t i = 0; k && i < k->walk.count; i++)
        if (k->walk.task[i].address == task)
            return k->walk.task[i].name;
    return "";
}

void tasks_report(const struct tasks *t, const struct console *c)
{
    for (size_t i = 0; i < t->kernel_count; i++) {
        const struct tasks_kernel *k = t->kernels[i];
        console_print(c, "%s: %s%s%s\n", k->name, k->rtos ? rtos_name(k->rtos) : "no tasks",
                      k->walk.note[0] ? ": " : "", k->walk.note);
        for (size_t j = 0; j < t->count; j++)
            if (t->list[j].core == k->core)
                console_print(c, "  thread %d  %-16s %s\n", t->list[j].thread, t->list[j].name,
                              t->list[j].state);
    }
}
