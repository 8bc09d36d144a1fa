/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the kernels. Private to drivers/rtos. */
#ifndef DRIVERS_RTOS_INTERNAL_H
#define DRIVERS_RTOS_INTERNAL_H

#include "drivers/rtos/rtos.h"

/* A variable of the kernel; size 0: it has none of that name. */
struct rtos_variable {
    uint32_t address, size;
};

/*
 * What a kernel's port for the core pushes below the frame of the exception, by rising addresses.
 * Found in the code of its PendSV handler.
 */
enum rtos_port {
    RTOS_PORT_UNKNOWN,
    RTOS_PORT_R4,        /* r4-r11 */
    RTOS_PORT_R4_LR,     /* r4-r11, EXC_RETURN; s16-s31 if that has an extended frame */
    RTOS_PORT_PSPLIM_LR, /* PSPLIM, EXC_RETURN, r4-r11; s16-s31 likewise */
    RTOS_PORT_LR,        /* EXC_RETURN, s16-s31 likewise, r4-r11 */
};

/* FreeRTOS: offsets into List_t, ListItem_t and the task control block. */
struct freertos_layout {
    uint32_t list_size, list_count, list_end;
    uint32_t item_next, item_owner, item_container;
    uint32_t tcb_state_item, tcb_event_item, tcb_priority, tcb_name, tcb_name_size;
};

/* ThreadX: offsets into TX_THREAD. */
struct threadx_layout {
    uint32_t stack, name, priority, state, next;
};

enum freertos_list {
    FREERTOS_PENDING, /* first: its tasks are on another list, too */
    FREERTOS_DELAYED_1,
    FREERTOS_DELAYED_2,
    FREERTOS_SUSPENDED,
    FREERTOS_TERMINATED,
    FREERTOS_LISTS,
};

struct rtos {
    const struct rtos_ops *ops;
    enum rtos_port port;
    struct rtos_variable current, count; /* `count` not of Zephyr */
    struct {
        struct freertos_layout layout;
        struct rtos_variable ready, running, lists[FREERTOS_LISTS];
    } freertos;
    struct {
        struct threadx_layout layout;
        struct rtos_variable created;
    } threadx;
    struct {
        struct rtos_variable kernel, offsets;
    } zephyr;
};

struct rtos_walk {
    const struct rtos *rtos;
    rtos_read_fn read;
    void *ctx;
    struct rtos_tasks *out;
};

struct rtos_ops {
    const char *name;
    enum rtos_kind kind;
    const char *symbol; /* that all programs with it have, and none without */
    int (*open)(struct rtos *r, const struct elf_image *image, struct message *why);
    int (*walk)(const struct rtos_walk *w);
};

extern const struct rtos_ops rtos_freertos;
extern const struct rtos_ops rtos_threadx;
extern const struct rtos_ops rtos_zephyr;

/* rtos_walk.c */

/* Size 0: there is none. */
struct rtos_variable rtos_find(const struct elf_image *image, const char *name);

/* BT_ERR_FORMAT, with the note of the tasks. */
__attribute__((format(printf, 2, 3))) int rtos_damaged(const struct rtos_walk *w,
                                                       const char *format, ...);
/* BT_OK, or what ends the walk. */
int rtos_read(const struct rtos_walk *w, uint32_t address, void *bytes, size_t size);
int rtos_read_word(const struct rtos_walk *w, uint32_t address, uint32_t *value);
/* A pointer that must be a multiple of 4, and not NULL; `what` is for the note. */
int rtos_read_pointer(const struct rtos_walk *w, uint32_t address, const char *what,
                      uint32_t *value);
/* Text of at most `size` bytes, "" if there is none at address 0. */
int rtos_read_name(const struct rtos_walk *w, uint32_t address, size_t size, struct rtos_task *t);

/* The task with this control block; NULL: not found yet. */
struct rtos_task *rtos_task_of(const struct rtos_walk *w, uint32_t address);
/* Another one; NULL, with the note: there are too many, or it was found already. */
struct rtos_task *rtos_task_add(const struct rtos_walk *w, uint32_t address);

/* rtos_frame.c */

/* By the code of the handler with the first of these names, up to NULL, that is there. */
enum rtos_port rtos_port_of(const struct elf_image *image, const char *const *handlers);
/* What the program has at the address, *size bytes of it; NULL: nothing. */
const uint8_t *rtos_image_bytes(const struct elf_image *image, uint64_t address, size_t *size);
/* Registers of a task whose saved stack pointer this is. */
int rtos_frame_read(const struct rtos_walk *w, uint32_t stack, struct rtos_task *t);
/* Only what the exception pushed; `known`: return, which is EXC_RETURN or the low byte of it, tells
 * how much. */
int rtos_frame_exception(const struct rtos_walk *w, uint32_t frame, bool known, uint32_t exc_return,
                         struct rtos_task *t);

#endif
