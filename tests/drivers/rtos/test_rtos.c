/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a kernel's structures may not be: rtos.c, rtos_walk.c, rtos_freertos.c, rtos_threadx.c,
 * rtos_zephyr.c and rtos_frame.c. That they are read right is compared with kernels that run:
 * tests/bench/gdb/test_tasks.py.
 */
#include <stdio.h>
#include <string.h>

#include "drivers/rtos/rtos_internal.h"
#include "tests/support/unit_main.h"

#define RAM     0x20000000u
#define WORDS   0x400u
#define CURRENT (RAM + 0x00)
#define COUNT   (RAM + 0x04)
#define FLAG    (RAM + 0x08)
#define LISTS   (RAM + 0x10) /* five, then one of ready tasks */
#define READY   (LISTS + 5 * 20)
#define BLOCKS  (RAM + 0x100) /* 0x80 bytes each */
#define STACK   (RAM + 0x800)

static uint32_t ram[WORDS];
static struct rtos_tasks out;
static size_t reads;

static uint32_t *word(uint32_t address)
{
    return &ram[(address - RAM) / 4];
}

static int ram_read(void *ctx, uint32_t address, void *bytes, size_t size)
{
    (void)ctx;
    ck_assert_uint_lt(++reads, 100000);
    if (address < RAM || address - RAM > sizeof ram || size > sizeof ram - (address - RAM))
        return BT_ERR_IO;
    memcpy(bytes, (const uint8_t *)ram + (address - RAM), size);
    return BT_OK;
}

static struct rtos freertos_rtos(void)
{
    struct rtos r = {.ops = &rtos_freertos,
                     .port = RTOS_PORT_R4_LR,
                     .current = {CURRENT, 4},
                     .count = {COUNT, 4}};
    r.freertos.layout = (struct freertos_layout){20, 0, 8, 4, 12, 16, 4, 24, 44, 52, 16};
    r.freertos.running = (struct rtos_variable){FLAG, 4};
    r.freertos.ready = (struct rtos_variable){READY, 20};
    for (size_t i = 0; i < FREERTOS_LISTS; i++)
        r.freertos.lists[i] = (struct rtos_variable){LISTS + 20 * (uint32_t)i, 20};
    return r;
}

static uint32_t block(unsigned n)
{
    return BLOCKS + 0x80 * n;
}

/* The list's items are those of these tasks, at this offset of their blocks. */
static void set_list(uint32_t list, uint32_t offset, unsigned count, const unsigned *tasks)
{
    uint32_t end = list + 8, *link = word(end + 4);
    for (unsigned i = 0; i < count; i++) {
        uint32_t item = block(tasks[i]) + offset;
        *link = item;
        *word(item + 12) = block(tasks[i]);
        link = word(item + 4);
    }
    *link = end;
    *word(list) = count;
}

/* Three tasks, of which the first runs and the third waits; all with a frame. */
static void set_freertos(void)
{
    static const unsigned ready[] = {0, 1}, waits[] = {2};
    memset(ram, 0, sizeof ram);
    *word(CURRENT) = block(0);
    *word(COUNT) = 3;
    *word(FLAG) = 1;
    for (uint32_t i = 0; i < 5; i++)
        set_list(LISTS + 20 * i, 4, 0, NULL);
    set_list(READY, 4, 2, ready);
    set_list(LISTS + 20, 4, 1, waits);
    for (unsigned i = 0; i < 3; i++) {
        uint32_t stack = STACK + 0x100 * i;
        *word(block(i)) = stack;
        *word(block(i) + 44) = i;
        snprintf((char *)word(block(i) + 52), 16, "task %u", i);
        for (unsigned k = 0; k < 8; k++)
            *word(stack + 4 * k) = 0x40 + k;
        *word(stack + 32) = 0xfffffffd;
        *word(stack + 36 + 24) = 0x1000;
        *word(stack + 36 + 28) = 0x01000000;
    }
}

static int walk(const struct rtos *r)
{
    reads = 0;
    return rtos_walk(r, ram_read, NULL, &out);
}

START_TEST(test_tasks_as_they_are)
{
    struct rtos r = freertos_rtos();
    set_freertos();
    ck_assert_int_eq(walk(&r), BT_OK);
    ck_assert_uint_eq(out.count, 3);
    ck_assert_str_eq(out.note, "");
    for (unsigned i = 0; i < 3; i++) {
        const struct rtos_task *t = rtos_task_of(&(struct rtos_walk){.out = &out}, block(i));
        ck_assert_ptr_nonnull(t);
        ck_assert_uint_eq(t->priority, i);
        ck_assert_str_eq(t->state, i == 0 ? "running" : i == 1 ? "ready" : "blocked, for a time");
        ck_assert_uint_eq(t->regs.known, i == 0 ? 0 : 0x1ffff);
        ck_assert_uint_eq(t->regs.value[13], i == 0 ? 0 : STACK + 0x100 * i + 68);
    }
}
END_TEST

START_TEST(test_pending_ready)
{
    static const unsigned pending[] = {2};
    struct rtos r = freertos_rtos();
    set_freertos();
    set_list(LISTS, 24, 1, pending); /* by its other item; the first stays where it was */
    ck_assert_int_eq(walk(&r), BT_OK);
    ck_assert_uint_eq(out.count, 3);
    const struct rtos_task *t = rtos_task_of(&(struct rtos_walk){.out = &out}, block(2));
    ck_assert_str_eq(t->state, "ready");
    ck_assert_str_eq(t->name, "task 2");
}
END_TEST

/* On no list for a moment: the others are shown, and how many there are. */
START_TEST(test_moving)
{
    struct rtos r = freertos_rtos();
    set_freertos();
    set_list(LISTS + 20, 4, 0, NULL);
    ck_assert_int_eq(walk(&r), BT_OK);
    ck_assert_uint_eq(out.count, 2);
    ck_assert_str_eq(out.note, "2 of 3 tasks are on lists at this moment");
}
END_TEST

/* Each word that is damaged so: the walk fails, with a note that has this in it. */
START_TEST(test_damage)
{
    const struct {
        uint32_t at, value;
        const char *note;
    } damage[] = {
        {CURRENT, 3, "no pointer"},
        {READY + 12, 0, "no pointer"},
        {READY + 12, 0x40000000, "no address of memory"},
        {READY + 12, 0x20100000, "cannot be read"},
        {READY, 9, "says 9"},
        {BLOCKS + 4 + 4, BLOCKS + 4, "listed twice"},
        {BLOCKS + 4 + 12, BLOCKS + 0x80, "where it is not"},
    };
    struct rtos r = freertos_rtos();
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        set_freertos();
        *word(damage[i].at) = damage[i].value;
        ck_assert_int_lt(walk(&r), 0);
        ck_assert_uint_eq(out.count, 0);
        ck_assert_msg(strstr(out.note, damage[i].note), "'%s' lacks '%s'", out.note,
                      damage[i].note);
    }
}
END_TEST

START_TEST(test_not_running)
{
    struct rtos r = freertos_rtos();
    set_freertos();
    *word(FLAG) = 0;
    ck_assert_int_eq(walk(&r), BT_OK);
    ck_assert_uint_eq(out.count, 0);
    ck_assert_str_eq(out.note, "the scheduler does not run yet");
}
END_TEST

/* A frame that no task can have: none of its registers is shown. */
START_TEST(test_frames)
{
    const struct {
        uint32_t at, value;
    } damage[] = {
        {BLOCKS + 0x80, 0x40000000},           /* of a device */
        {BLOCKS + 0x80, STACK + 1},            /* the stack pointer */
        {STACK + 0x100 + 32, 0x00000000},      /* EXC_RETURN */
        {STACK + 0x100 + 32, 0xfffffff9},      /* of the main stack */
        {STACK + 0x100 + 36 + 28, 0},          /* no Thumb state */
        {STACK + 0x100 + 36 + 28, 0x0100000e}, /* in a handler */
    };
    struct rtos r = freertos_rtos();
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        set_freertos();
        *word(damage[i].at) = damage[i].value;
        ck_assert_int_eq(walk(&r), BT_OK);
        const struct rtos_task *t = rtos_task_of(&(struct rtos_walk){.out = &out}, block(1));
        ck_assert(t->damaged);
        ck_assert_str_eq(out.note, "");
        ck_assert_uint_eq(t->regs.known, 0);
    }
}
END_TEST

START_TEST(test_padded_and_extended)
{
    struct rtos r = freertos_rtos();
    set_freertos();
    uint32_t stack = STACK + 0x100, frame = stack + 36 + 64;
    *word(stack + 32) = 0xffffffed;
    for (unsigned i = 0; i < 16; i++) {
        *word(stack + 36 + 4 * i) = 0x1600 + i;
        *word(frame + 32 + 4 * i) = 0x500 + i;
    }
    *word(frame + 96) = 0x03000000;
    *word(frame + 28) = 0x01000200;
    ck_assert_int_eq(walk(&r), BT_OK);
    const struct rtos_task *t = rtos_task_of(&(struct rtos_walk){.out = &out}, block(1));
    ck_assert_uint_eq(t->regs.s_known, UINT32_MAX);
    ck_assert_uint_eq(t->regs.s[16], 0x1600);
    ck_assert_uint_eq(t->regs.s[15], 0x50f);
    ck_assert_uint_eq(t->regs.fpscr, 0x03000000);
    ck_assert_uint_eq(t->regs.value[13], frame + 104 + 4);
    ck_assert_uint_eq(t->regs.value[16], 0x01000000);
}
END_TEST

/* A circle that does not lead back, and one that is none of threads. */
START_TEST(test_threadx_circle)
{
    struct rtos r = {.ops = &rtos_threadx, .current = {CURRENT, 4}, .count = {COUNT, 4}};
    r.threadx.layout = (struct threadx_layout){8, 40, 44, 48, 56};
    r.threadx.created = (struct rtos_variable){FLAG, 4};
    memset(ram, 0, sizeof ram);
    *word(FLAG) = block(0);
    *word(COUNT) = 3;
    for (unsigned i = 0; i < 3; i++) {
        *word(block(i)) = 0x54485244;
        *word(block(i) + 56) = block((i + 1) % 3);
    }
    ck_assert_int_eq(walk(&r), BT_OK);
    ck_assert_uint_eq(out.count, 3);
    *word(block(2) + 56) = block(1);
    ck_assert_int_eq(walk(&r), BT_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(out.note, "listed twice"));
    *word(block(2)) = 7;
    ck_assert_int_eq(walk(&r), BT_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(out.note, "there is no thread"));
}
END_TEST

START_TEST(test_zephyr_table)
{
    struct rtos r = {.ops = &rtos_zephyr};
    r.zephyr.kernel = (struct rtos_variable){CURRENT, 8};
    r.zephyr.offsets = (struct rtos_variable){LISTS, 13 * 4};
    const uint32_t offsets[13] = {1, 0, 4, 0, 4, 8, 9, 10, 60, ~0u, ~0u, ~0u, ~0u};
    memset(ram, 0, sizeof ram);
    memcpy(word(LISTS), offsets, sizeof offsets);
    *word(CURRENT) = block(0);
    *word(COUNT) = block(0);
    *word(block(0) + 4) = block(1);
    ck_assert_int_eq(walk(&r), BT_OK);
    ck_assert_uint_eq(out.count, 2);
    *word(block(1) + 4) = block(0);
    ck_assert_int_eq(walk(&r), BT_ERR_FORMAT);
    *word(LISTS + 8) = 0x7fffffff;
    ck_assert_int_eq(walk(&r), BT_ERR_FORMAT);
    *word(LISTS + 8) = ~0u;
    ck_assert_int_eq(walk(&r), BT_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(out.note, "no offset of its list"));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("rtos");
    unit_case(s, "rtos: tasks as they are", test_tasks_as_they_are);
    unit_case(s, "rtos: what becomes ready later is on two lists", test_pending_ready);
    unit_case(s, "rtos: a task on no list", test_moving);
    unit_case(s, "rtos: damaged lists", test_damage);
    unit_case(s, "rtos: before the scheduler runs", test_not_running);
    unit_case(s, "rtos: frames that no task has", test_frames);
    unit_case(s, "rtos: a padded frame with floating point", test_padded_and_extended);
    unit_case(s, "rtos: threads in a circle", test_threadx_circle);
    unit_case(s, "rtos: a table of offsets", test_zephyr_table);
    return s;
}
