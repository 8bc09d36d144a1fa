/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of a real-time kernel on a little-endian M-profile core, as its structures in memory say:
 * FreeRTOS, Zephyr, ThreadX, each found by its symbols. Memory is read through a function, and
 * nothing is believed that was not checked: lists may be damaged, go in circles, or be about to be
 * changed. A walk reads the same in the same order, so that one may be begun again when more of the
 * memory is known.
 */
#ifndef DRIVERS_RTOS_H
#define DRIVERS_RTOS_H

#include "btrace/types.h"
#include "drivers/base/message.h"

struct elf_image;

#define RTOS_TASKS_MAX 256
#define RTOS_NAME_MAX  32 /* with its NUL */
#define RTOS_NOTE_MAX  160

/* As a board file has them. */
enum rtos_kind {
    RTOS_UNSET,
    RTOS_NONE,
    RTOS_AUTO, /* whichever is found */
    RTOS_FREERTOS,
    RTOS_ZEPHYR,
    RTOS_THREADX,
};

#define RTOS_REGS 17 /* r0-r15, xPSR */

/* Of a task that is switched out: what it has when it goes on. */
struct rtos_regs {
    uint32_t value[RTOS_REGS];
    uint32_t known; /* bit i: value[i] is valid */
    uint32_t s[32]; /* floating point */
    uint32_t s_known;
    uint32_t fpscr; /* valid with s[0] */
};

struct rtos_task {
    uint32_t address; /* of its control block */
    bool current;     /* the core's registers are its, but for those of handlers */
    bool read;        /* its control block was */
    bool damaged;     /* its saved registers are not what the kernel leaves */
    const char *state;
    uint32_t priority;
    char name[RTOS_NAME_MAX]; /* printable characters */
    struct rtos_regs regs;
};

struct rtos_tasks {
    struct rtos_task task[RTOS_TASKS_MAX];
    size_t count;
    char note[RTOS_NOTE_MAX]; /* why there are none, or not all; "" */
};

/* Fills all of `bytes`: BT_OK. Anything else ends the walk. */
typedef int (*rtos_read_fn)(void *ctx, uint32_t address, void *bytes, size_t size);

struct rtos;

/*
 * The kernel that the program has, NULL where it has none of that kind. `image` is needed during
 * the call only. BT_OK, BT_ERR_UNSUPPORTED (one that is lacking, or whose layout is not known: *why
 * says what), BT_ERR_NOMEM.
 */
int rtos_open(struct rtos **out, enum rtos_kind kind, const struct elf_image *image,
              struct message *why);
void rtos_close(struct rtos *r);

/* "FreeRTOS" */
const char *rtos_name(const struct rtos *r);

/* Address of the word that holds the current task's address; 0: the program does not tell. */
uint32_t rtos_current(const struct rtos *r);

/*
 * What was not BT_OK of `read`, or BT_ERR_FORMAT for structures that do not hold together; then
 * there are no tasks, and the note of a negative error says what was found where.
 */
int rtos_walk(const struct rtos *r, rtos_read_fn read, void *ctx, struct rtos_tasks *out);

#endif
