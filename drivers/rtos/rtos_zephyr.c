/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zephyr 2 to 4: with CONFIG_DEBUG_THREAD_INFO the program has a table of the offsets that a
 * debugger needs (subsys/debug/thread_info.c). The list is that of CONFIG_THREAD_MONITOR.
 */
#include "decoder/base/bytes.h"
#include "rtos_internal.h"

#include <stdio.h>

#define NOT_THERE   0xffffffffu
#define OFFSET_MOST 0x10000u
#define SAVED_BYTES 32 /* v1-v8, r4-r11, in front of the stack pointer in struct _callee_saved */

enum zephyr_offset {
    ZEPHYR_VERSION,
    ZEPHYR_CURRENT,
    ZEPHYR_THREADS,
    ZEPHYR_ENTRY,
    ZEPHYR_NEXT,
    ZEPHYR_STATE,
    ZEPHYR_OPTIONS,
    ZEPHYR_PRIORITY,
    ZEPHYR_STACK,
    ZEPHYR_NAME,
    ZEPHYR_ARCH,
    ZEPHYR_PREEMPT_FLOAT,
    ZEPHYR_COOP_FLOAT,
    ZEPHYR_RETURN,
    ZEPHYR_OFFSETS,
};

/* The table is constant: what the program file has. Of the first processor. */
static void zephyr_find_current(struct rtos *r, const struct elf_image *image)
{
    size_t size = 0;
    const uint8_t *b =
        rtos_image_bytes(image, r->zephyr.offsets.address + 4 * ZEPHYR_CURRENT, &size);
    uint32_t offset = b && size >= 4 ? bytes_word(b) : NOT_THERE;
    if (offset <= OFFSET_MOST)
        r->current = (struct rtos_variable){r->zephyr.kernel.address + offset, 4};
}

static int zephyr_open(struct rtos *r, const struct elf_image *image, struct message *why)
{
    r->zephyr.kernel = rtos_find(image, "_kernel");
    r->zephyr.offsets = rtos_find(image, "_kernel_thread_info_offsets");
    if (r->zephyr.offsets.size == 0)
        return message_fail(why, BT_ERR_UNSUPPORTED,
                            "Zephyr, but built without CONFIG_DEBUG_THREAD_INFO");
    if (r->zephyr.kernel.size == 0)
        return message_fail(why, BT_ERR_UNSUPPORTED,
                            "Zephyr, but the program has no symbol '_kernel'");
    zephyr_find_current(r, image);
    return BT_OK;
}

static int zephyr_offsets(const struct rtos_walk *w, uint32_t offset[ZEPHYR_OFFSETS])
{
    const struct rtos *r = w->rtos;
    uint32_t number = r->zephyr.offsets.size / 4;
    int error = BT_OK;
    for (uint32_t i = 0; i < ZEPHYR_OFFSETS; i++) {
        offset[i] = NOT_THERE;
        if (!error && i < number)
            error = rtos_read_word(w, r->zephyr.offsets.address + 4 * i, &offset[i]);
        if (!error && i > ZEPHYR_VERSION && offset[i] != NOT_THERE && offset[i] > OFFSET_MOST)
            error = rtos_damaged(w, "offset %u of the kernel's table is 0x%08x", i, offset[i]);
    }
    if (!error && (offset[ZEPHYR_CURRENT] == NOT_THERE || offset[ZEPHYR_THREADS] == NOT_THERE ||
                   offset[ZEPHYR_NEXT] == NOT_THERE || offset[ZEPHYR_STATE] == NOT_THERE))
        return rtos_damaged(w, "the kernel's table has no offset of its list of threads");
    return error;
}

/* kernel_structs.h; bit 2 means two things by version. */
static const char *zephyr_state(uint8_t bits)
{
    static const struct {
        uint8_t bit;
        const char *state;
    } states[] = {
        {1u << 3, "dead"},      {1u << 5, "aborting"},
        {1u << 4, "suspended"}, {1u << 2, "sleeping, or not started"},
        {1u << 1, "pending"},   {1u << 0, "dummy"},
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (bits & states[i].bit)
            return states[i].state;
    return "ready";
}

static int zephyr_registers(const struct rtos_walk *w, const uint32_t *offset, struct rtos_task *t)
{
    uint32_t stack = 0, at = t->address + offset[ZEPHYR_STACK];
    uint8_t low = 0xfd;
    bool known = offset[ZEPHYR_PREEMPT_FLOAT] == NOT_THERE;
    int error = BT_OK;
    if (offset[ZEPHYR_STACK] == NOT_THERE || offset[ZEPHYR_STACK] < SAVED_BYTES)
        return BT_OK;
    for (unsigned i = 0; !error && i < 8; i++) {
        error = rtos_read_word(w, at - SAVED_BYTES + 4 * i, &t->regs.value[4 + i]);
        t->regs.known |= 1u << (4 + i);
    }
    if (!error)
        error = rtos_read_word(w, at, &stack);
    if (!error && offset[ZEPHYR_RETURN] != NOT_THERE) {
        error = rtos_read(w, t->address + offset[ZEPHYR_RETURN], &low, 1);
        known = true;
    }
    for (unsigned i = 0;
         !error && i < 16 && known && !(low & 0x10) && offset[ZEPHYR_PREEMPT_FLOAT] != NOT_THERE;
         i++) {
        error = rtos_read_word(w, t->address + offset[ZEPHYR_PREEMPT_FLOAT] + 4 * i,
                               &t->regs.s[16 + i]);
        t->regs.s_known |= 1u << (16 + i);
    }
    return error ? error : rtos_frame_exception(w, stack, known, low, t);
}

static int zephyr_thread(const struct rtos_walk *w, const uint32_t *offset, struct rtos_task *t)
{
    uint8_t state, priority = 0;
    int error = rtos_read(w, t->address + offset[ZEPHYR_STATE], &state, 1);
    if (!error && offset[ZEPHYR_PRIORITY] != NOT_THERE)
        error = rtos_read(w, t->address + offset[ZEPHYR_PRIORITY], &priority, 1);
    if (!error && offset[ZEPHYR_NAME] != NOT_THERE)
        error = rtos_read_name(w, t->address + offset[ZEPHYR_NAME], RTOS_NAME_MAX - 1, t);
    if (error)
        return error;
    t->priority = (uint32_t)(int32_t)(int8_t)priority;
    t->state = t->current ? "running" : zephyr_state(state);
    return t->current ? BT_OK : zephyr_registers(w, offset, t);
}

static int zephyr_walk(const struct rtos_walk *w)
{
    uint32_t offset[ZEPHYR_OFFSETS], kernel = w->rtos->zephyr.kernel.address, current, at;
    int error = zephyr_offsets(w, offset);
    if (!error)
        error = rtos_read_word(w, kernel + offset[ZEPHYR_CURRENT], &current);
    if (!error && current == 0) {
        snprintf(w->out->note, sizeof w->out->note, "no thread runs yet");
        return BT_OK;
    }
    if (!error)
        error = rtos_read_word(w, kernel + offset[ZEPHYR_THREADS], &at);
    while (!error && at != 0) {
        struct rtos_task *t = at % 4 == 0 ? rtos_task_add(w, at) : NULL;
        if (!t)
            return at % 4 == 0 ? BT_ERR_FORMAT
                               : rtos_damaged(w, "0x%08x in the list of threads is no pointer", at);
        t->current = at == current;
        error = zephyr_thread(w, offset, t);
        if (!error)
            error = rtos_read_word(w, at + offset[ZEPHYR_NEXT], &at);
    }
    if (!error && !rtos_task_of(w, current))
        snprintf(w->out->note, sizeof w->out->note, "the current thread at 0x%08x is on no list",
                 current);
    return error;
}

const struct rtos_ops rtos_zephyr = {"Zephyr", RTOS_ZEPHYR, "_kernel_thread_info_offsets",
                                     zephyr_open, zephyr_walk};
