/* SPDX-License-Identifier: BSD-3-Clause */
/* ThreadX 5 and 6 (tx_api.h): all threads are in one circle of those that were created. */
#include "rtos_internal.h"

#include <stdio.h>

#define THREAD_ID 0x54485244u /* TX_THREAD_ID, the first word of each */

/* Without extensions of a port in the middle of TX_THREAD. */
static const struct threadx_layout plain = {8, 40, 44, 48, 136};

static const char *const handlers[] = {"PendSV_Handler", "__tx_PendSVHandler", NULL};

static const char *const states[] = {
    "ready",
    "completed",
    "terminated",
    "suspended",
    "sleeping",
    "waits, queue",
    "waits, semaphore",
    "waits, event flags",
    "waits, block pool",
    "waits, byte pool",
    "waits, input or output",
    "waits, file",
    "waits, network",
    "waits, mutex",
    "priority changes",
};

static int threadx_open(struct rtos *r, const struct elf_image *image, struct message *why)
{
    r->threadx.layout = plain;
    r->threadx.created = rtos_find(image, "_tx_thread_created_ptr");
    r->current = rtos_find(image, "_tx_thread_current_ptr");
    r->count = rtos_find(image, "_tx_thread_created_count");
    if (r->current.size == 0 || r->count.size == 0)
        return message_fail(why, BT_ERR_UNSUPPORTED, "ThreadX, but the program has no symbol '%s'",
                            r->current.size == 0 ? "_tx_thread_current_ptr"
                                                 : "_tx_thread_created_count");
    r->port = rtos_port_of(image, handlers);
    return BT_OK;
}

static int threadx_thread(const struct rtos_walk *w, struct rtos_task *t)
{
    const struct threadx_layout *l = &w->rtos->threadx.layout;
    uint32_t id, name, state, stack;
    int error = rtos_read_word(w, t->address, &id);
    if (!error && id != THREAD_ID)
        return rtos_damaged(w, "there is no thread at 0x%08x: it begins with 0x%08x", t->address,
                            id);
    if (!error)
        error = rtos_read_word(w, t->address + l->priority, &t->priority);
    if (!error)
        error = rtos_read_word(w, t->address + l->state, &state);
    if (!error)
        error = rtos_read_word(w, t->address + l->name, &name);
    if (!error)
        error = rtos_read_name(w, name, RTOS_NAME_MAX - 1, t);
    if (error)
        return error;
    t->state = t->current                               ? "running"
               : state < sizeof states / sizeof *states ? states[state]
                                                        : "state unknown";
    if (t->current)
        return BT_OK;
    error = rtos_read_word(w, t->address + l->stack, &stack);
    return error ? error : rtos_frame_read(w, stack, t);
}

static int threadx_walk(const struct rtos_walk *w)
{
    const struct rtos *r = w->rtos;
    uint32_t first, at, current, count;
    int error = rtos_read_word(w, r->threadx.created.address, &first);
    if (!error)
        error = rtos_read_word(w, r->current.address, &current);
    if (!error)
        error = rtos_read_word(w, r->count.address, &count);
    if (!error && first == 0)
        snprintf(w->out->note, sizeof w->out->note, "no thread was created yet");
    if (error || first == 0)
        return error;
    at = first;
    do {
        struct rtos_task *t = rtos_task_add(w, at);
        if (!t)
            return BT_ERR_FORMAT;
        t->current = at == current;
        error = threadx_thread(w, t);
        if (!error)
            error = rtos_read_pointer(w, at + r->threadx.layout.next, "the next thread", &at);
    } while (!error && at != first);
    if (!error && current != 0 && !rtos_task_of(w, current))
        return rtos_damaged(w, "the current thread at 0x%08x is none of those that were created",
                            current);
    if (!error && w->out->count != count)
        snprintf(w->out->note, sizeof w->out->note,
                 "%zu threads were found, and the kernel says %u", w->out->count, count);
    return error;
}

const struct rtos_ops rtos_threadx = {"ThreadX", RTOS_THREADX, "_tx_thread_created_ptr",
                                      threadx_open, threadx_walk};
