/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels share: variables of a program, memory that is read, tasks that are found. */
#include "decoder/base/bytes.h"
#include "rtos_internal.h"

#include "drivers/elf/elf_image.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rtos_variable rtos_find(const struct elf_image *image, const char *name)
{
    uint64_t address = 0, size = 0;
    if (!elf_image_variable(image, name, &address, &size) || address > UINT32_MAX || size == 0 ||
        size > UINT32_MAX)
        return (struct rtos_variable){0, 0};
    return (struct rtos_variable){(uint32_t)address, (uint32_t)size};
}

int rtos_damaged(const struct rtos_walk *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->out->note, sizeof w->out->note, format, args);
    va_end(args);
    return BT_ERR_FORMAT;
}

/* Code, SRAM and external RAM of the architecture's memory map (DDI 0403E.e, B3.1): elsewhere are
 * devices, which a read may change. */
static bool rtos_is_memory(uint32_t address, size_t size)
{
    uint32_t last = address + (uint32_t)size - 1;
    return last >= address &&
           (last < 0x40000000u || (address >= 0x60000000u && last < 0xa0000000u));
}

int rtos_read(const struct rtos_walk *w, uint32_t address, void *bytes, size_t size)
{
    if (!rtos_is_memory(address, size))
        return rtos_damaged(w, "0x%08x is no address of memory", address);
    int error = w->read(w->ctx, address, bytes, size);
    if (error < 0)
        snprintf(w->out->note, sizeof w->out->note, "memory at 0x%08x cannot be read", address);
    return error;
}

int rtos_read_word(const struct rtos_walk *w, uint32_t address, uint32_t *value)
{
    uint8_t b[4];
    *value = 0;
    int error = rtos_read(w, address, b, sizeof b);
    if (!error)
        *value = bytes_word(b);
    return error;
}

int rtos_read_pointer(const struct rtos_walk *w, uint32_t address, const char *what,
                      uint32_t *value)
{
    int error = rtos_read_word(w, address, value);
    if (!error && (*value == 0 || *value % 4 != 0))
        return rtos_damaged(w, "%s at 0x%08x is 0x%08x, which is no pointer", what, address,
                            *value);
    return error;
}

int rtos_read_name(const struct rtos_walk *w, uint32_t address, size_t size, struct rtos_task *t)
{
    size_t n = 0, most = size < RTOS_NAME_MAX ? size : RTOS_NAME_MAX - 1;
    int error = BT_OK;
    while (address != 0 && n < most) {
        error = rtos_read(w, address + (uint32_t)n, &t->name[n], 1);
        if (error || t->name[n] == '\0')
            break;
        if (t->name[n] < ' ' || t->name[n] > '~')
            t->name[n] = '?';
        n++;
    }
    t->name[n] = '\0';
    return error;
}

struct rtos_task *rtos_task_of(const struct rtos_walk *w, uint32_t address)
{
    for (size_t i = 0; i < w->out->count; i++)
        if (w->out->task[i].address == address)
            return &w->out->task[i];
    return NULL;
}

struct rtos_task *rtos_task_add(const struct rtos_walk *w, uint32_t address)
{
    if (rtos_task_of(w, address)) {
        rtos_damaged(w, "the task at 0x%08x is listed twice", address);
        return NULL;
    }
    if (w->out->count == RTOS_TASKS_MAX) {
        rtos_damaged(w, "there are more than %d tasks", RTOS_TASKS_MAX);
        return NULL;
    }
    struct rtos_task *t = &w->out->task[w->out->count++];
    memset(t, 0, sizeof *t);
    t->address = address;
    t->state = "";
    return t;
}
