/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of halted cores, for GDB sessions. The memory that their kernels' structures are in is
 * asked for piece by piece, and the walk through them begun again with each piece, until it needs
 * no more: all of it is of one halt. Everything here belongs to the event loop.
 */
#ifndef SERVER_TASKS_H
#define SERVER_TASKS_H

#include "drivers/rtos/rtos.h"
#include "protocol/session/gdb_host.h"
#include "server/base/console.h"

struct elf_image;
struct tasks;

/* `known` is called for each TARGET_PENDING that tasks_at() has returned. NULL: out of memory. */
struct tasks *tasks_new(void (*known)(void *ctx), void *ctx);
/* The target's questions must be answered before. NULL is allowed. */
void tasks_free(struct tasks *t);

/* The core, by its number at the target and its name, has the kernel of its program, if there is
 * one; where that cannot be used, users are told why. 0 or BT_ERR_NOMEM. */
int tasks_add(struct tasks *t, int core, const char *name, enum rtos_kind kind,
              const struct elf_image *image);

/* Some core has a kernel. */
bool tasks_has(const struct tasks *t);

/* Those of the target as it has halted now. As gdb_host.tasks(). */
int tasks_at(struct tasks *t, struct target *target, struct gdb_tasks *out);

/* When tasks_at() returns BT_OK: address of the word that names the core's current task, and what
 * it holds. False: there is none. */
bool tasks_current(const struct tasks *t, int core, uint32_t *pointer, uint32_t *task);
/* Name of the task with this control block, which is there now; "" if there is none. */
const char *tasks_name(const struct tasks *t, int core, uint32_t task);

/* `monitor tasks`, when tasks_at() returns BT_OK. */
void tasks_report(const struct tasks *t, const struct console *c);

#endif
