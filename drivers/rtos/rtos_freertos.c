/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FreeRTOS 7 to 11 (tasks.c, list.h, list.c): every task is on one list by its state, and on the
 * list of those that become ready when the scheduler goes on by its other item. Each item names its
 * task, and lies in it: that is checked of every one.
 */
#include "rtos_internal.h"

#include <stdio.h>

#define INTEGRITY 0x5a5a5a5au /* configUSE_LIST_DATA_INTEGRITY_CHECK_BYTES */

#define NAME_SIZE 16 /* configMAX_TASK_NAME_LEN, where it is not known: the name ends by itself */

/*
 * The layouts that differ by the size of a list: ticks of 32 (and 16) or 64 bits, a whole item at
 * its end (configUSE_MINI_LIST_ITEM 0), words that guard it. In the control block there are the
 * stack pointer, the items, the priority, the stack, the name.
 */
static const struct freertos_layout layouts[] = {
    {20, 0, 8, 4, 12, 16, 4, 24, 44, 52, NAME_SIZE},
    {28, 0, 8, 4, 12, 16, 4, 24, 44, 52, NAME_SIZE},
    {24, 0, 8, 8, 16, 20, 8, 32, 56, 64, NAME_SIZE},
    {32, 4, 12, 8, 16, 20, 4, 32, 60, 68, NAME_SIZE},
    {44, 4, 12, 8, 16, 20, 4, 32, 60, 68, NAME_SIZE},
};

static const struct {
    const char *name, *state;
    bool needed;
} lists[FREERTOS_LISTS] = {
    [FREERTOS_PENDING] = {"xPendingReadyList", "ready", true},
    [FREERTOS_DELAYED_1] = {"xDelayedTaskList1", "blocked, for a time", true},
    [FREERTOS_DELAYED_2] = {"xDelayedTaskList2", "blocked, for a time", true},
    [FREERTOS_SUSPENDED] = {"xSuspendedTaskList", "suspended, or waits for a notification", false},
    [FREERTOS_TERMINATED] = {"xTasksWaitingTermination", "deleted", false},
};

static const char *const handlers[] = {"xPortPendSVHandler", "PendSV_Handler", NULL};

static int freertos_symbol(const struct elf_image *image, const char *name,
                           struct rtos_variable *out, struct message *why)
{
    *out = rtos_find(image, name);
    return out->size > 0 ? BT_OK
                         : message_fail(why, BT_ERR_UNSUPPORTED,
                                        "FreeRTOS, but the program has no symbol '%s'", name);
}

static int freertos_open(struct rtos *r, const struct elf_image *image, struct message *why)
{
    struct rtos_variable *list = r->freertos.lists;
    int error = freertos_symbol(image, "pxCurrentTCB", &r->current, why);
    if (!error)
        error = freertos_symbol(image, "uxCurrentNumberOfTasks", &r->count, why);
    if (!error)
        error = freertos_symbol(image, "xSchedulerRunning", &r->freertos.running, why);
    if (!error)
        error = freertos_symbol(image, "pxReadyTasksLists", &r->freertos.ready, why);
    for (size_t i = 0; !error && i < FREERTOS_LISTS; i++) {
        list[i] = rtos_find(image, lists[i].name);
        if (list[i].size == 0 && lists[i].needed)
            error = freertos_symbol(image, lists[i].name, &list[i], why);
    }
    if (error)
        return error;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].list_size == list[FREERTOS_DELAYED_1].size)
            r->freertos.layout = layouts[i];
    if (r->freertos.layout.list_size == 0 ||
        r->freertos.ready.size % r->freertos.layout.list_size != 0)
        return message_fail(why, BT_ERR_UNSUPPORTED,
                            "FreeRTOS, but with lists of %u bytes, whose layout is not known",
                            list[FREERTOS_DELAYED_1].size);
    /* With a secure side more is saved, in ways that differ. */
    if (rtos_find(image, "xSecureContext").size == 0)
        r->port = rtos_port_of(image, handlers);
    return BT_OK;
}

/* The rest of a task whose control block was found. */
static int freertos_task(const struct rtos_walk *w, struct rtos_task *t, const char *state)
{
    const struct freertos_layout *l = &w->rtos->freertos.layout;
    uint32_t stack;
    t->state = t->current ? "running" : state;
    t->read = true;
    int error = rtos_read_word(w, t->address + l->tcb_priority, &t->priority);
    if (!error)
        error = rtos_read_name(w, t->address + l->tcb_name, l->tcb_name_size, t);
    if (error || t->current)
        return error;
    error = rtos_read_word(w, t->address, &stack);
    return error ? error : rtos_frame_read(w, stack, t);
}

/* One without a time waits on the list of the suspended, and on that of what it waits for. */
static int freertos_waits(const struct rtos_walk *w, uint32_t tcb, const char **state)
{
    const struct freertos_layout *l = &w->rtos->freertos.layout;
    uint32_t container;
    int error = rtos_read_word(w, tcb + l->tcb_event_item + l->item_container, &container);
    if (!error && container != 0)
        *state = "blocked";
    return error;
}

static int freertos_item(const struct rtos_walk *w, uint32_t item, size_t list, const char *state,
                         uint32_t current)
{
    const struct freertos_layout *l = &w->rtos->freertos.layout;
    uint32_t tcb, offset = list == FREERTOS_PENDING ? l->tcb_event_item : l->tcb_state_item;
    int error = rtos_read_pointer(w, item + l->item_owner, "the task of a list item", &tcb);
    if (error)
        return error;
    if (tcb + offset != item)
        return rtos_damaged(w, "the list item at 0x%08x names a task at 0x%08x, where it is not",
                            item, tcb);
    /* Ready as soon as the scheduler goes on, and on the list of before until then. */
    struct rtos_task *t = list == FREERTOS_PENDING ? NULL : rtos_task_of(w, tcb);
    if (t && !t->read)
        return freertos_task(w, t, t->state);
    t = rtos_task_add(w, tcb);
    if (!t)
        return BT_ERR_FORMAT;
    t->current = tcb == current;
    t->state = state;
    if (list == FREERTOS_PENDING)
        return BT_OK;
    if (list == FREERTOS_SUSPENDED)
        error = freertos_waits(w, tcb, &state);
    return error ? error : freertos_task(w, t, state);
}

static int freertos_guard(const struct rtos_walk *w, uint32_t list)
{
    uint32_t word;
    if (w->rtos->freertos.layout.list_count == 0)
        return BT_OK;
    int error = rtos_read_word(w, list, &word);
    return error || word == INTEGRITY
               ? error
               : rtos_damaged(w, "the list at 0x%08x begins with 0x%08x", list, word);
}

/* The count is changed behind the pointers: it may be one off. */
static int freertos_list(const struct rtos_walk *w, uint32_t list, size_t which, const char *state,
                         uint32_t current)
{
    const struct freertos_layout *l = &w->rtos->freertos.layout;
    uint32_t count = 0, item = 0, end = list + l->list_end, found = 0;
    int error = freertos_guard(w, list);
    if (!error)
        error = rtos_read_word(w, list + l->list_count, &count);
    if (!error)
        error = rtos_read_pointer(w, end + l->item_next, "the list", &item);
    for (; !error && item != end; found++) {
        error = freertos_item(w, item, which, state, current);
        if (!error)
            error = rtos_read_pointer(w, item + l->item_next, "the next of a list", &item);
    }
    if (!error && found + 1 != count && found != count && found != count + 1)
        return rtos_damaged(w, "the list at 0x%08x has %u items, and says %u", list, found, count);
    return error;
}

static int freertos_lists(const struct rtos_walk *w, uint32_t current)
{
    const struct rtos *r = w->rtos;
    uint32_t size = r->freertos.layout.list_size;
    int error = BT_OK;
    for (size_t i = 0; !error && i < FREERTOS_LISTS; i++)
        if (r->freertos.lists[i].size > 0)
            error = freertos_list(w, r->freertos.lists[i].address, i, lists[i].state, current);
    for (uint32_t at = 0; !error && at < r->freertos.ready.size; at += size)
        error = freertos_list(w, r->freertos.ready.address + at, FREERTOS_LISTS, "ready", current);
    return error;
}

/* On no list for a moment: what the kernel is about to move. */
static int freertos_moving(const struct rtos_walk *w, uint32_t current, uint32_t count)
{
    int error = BT_OK;
    for (size_t i = 0; !error && i < w->out->count; i++)
        if (!w->out->task[i].read)
            error = freertos_task(w, &w->out->task[i], w->out->task[i].state);
    if (!error && !rtos_task_of(w, current)) {
        struct rtos_task *t = rtos_task_add(w, current);
        if (!t)
            return BT_ERR_FORMAT;
        t->current = true;
        error = freertos_task(w, t, "running");
    }
    if (!error && w->out->count != count)
        snprintf(w->out->note, sizeof w->out->note, "%zu of %u tasks are on lists at this moment",
                 w->out->count, count);
    return error;
}

static int freertos_walk(const struct rtos_walk *w)
{
    const struct rtos *r = w->rtos;
    uint32_t running, current = 0, count = 0;
    int error = rtos_read_word(w, r->freertos.running.address, &running);
    if (!error && running != 1) {
        snprintf(w->out->note, sizeof w->out->note, "the scheduler does not run yet");
        return BT_OK;
    }
    if (!error)
        error = rtos_read_pointer(w, r->current.address, "pxCurrentTCB", &current);
    if (!error)
        error = rtos_read_word(w, r->count.address, &count);
    if (!error)
        error = freertos_lists(w, current);
    return error ? error : freertos_moving(w, current, count);
}

const struct rtos_ops rtos_freertos = {"FreeRTOS", RTOS_FREERTOS, "pxReadyTasksLists",
                                       freertos_open, freertos_walk};
