/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Laid out as Zephyr: kernel/thread.h, arch/arm/thread.h, swap_helper.S and
 * subsys/debug/thread_info.c. OLD: v2.6, without EXC_RETURN, whose table ends there; else as v3.7.
 */
#include "kernel.h"

struct _callee_saved {
    u32 v1, v2, v3, v4, v5, v6, v7, v8, psp;
};

struct _thread_arch {
    u32 basepri, swap_return_value;
#ifdef HAS_FPU
    u32 preempt_float[16];
#endif
    signed char mode_bits;
    u8 mode_exc_return;
    unsigned short mode_reserved2;
};

struct k_thread {
    struct {
        void *qnode[2], *pended_on;
        u8 user_options, thread_state;
        signed char prio;
        u8 sched_locked;
        u32 order_key;
        void *timeout[4];
    } base;
    struct _callee_saved callee_saved;
    void *init_data, *join_queue[2];
    struct {
        void (*pEntry)(void *, void *, void *);
        void *parameter1, *parameter2, *parameter3;
    } entry;
    struct k_thread *next_thread;
    char name[32];
    void *custom_data;
    struct _thread_arch arch;
};

struct z_kernel {
    struct {
        u32 nested;
        char *irq_stack;
        struct k_thread *current, *idle_thread;
        u8 id;
    } cpus[1];
    struct {
        struct k_thread *cache;
        void *runq[2];
    } ready_q;
    struct k_thread *threads;
};

volatile struct z_kernel _kernel;
static struct k_thread all[TASKS];

#define NONE ((u32)-1)

extern const u32 _kernel_thread_info_offsets[];
extern const u32 _kernel_thread_info_num_offsets;
extern const u8 _kernel_thread_info_size_t_size;
const u32 _kernel_thread_info_offsets[] = {
    1,
    offsetof_(struct z_kernel, cpus[0].current),
    offsetof_(struct z_kernel, threads),
    offsetof_(struct k_thread, entry),
    offsetof_(struct k_thread, next_thread),
    offsetof_(struct k_thread, base.thread_state),
    offsetof_(struct k_thread, base.user_options),
    offsetof_(struct k_thread, base.prio),
    offsetof_(struct k_thread, callee_saved.psp),
    offsetof_(struct k_thread, name),
    offsetof_(struct k_thread, arch),
#ifdef HAS_FPU
    offsetof_(struct k_thread, arch.preempt_float),
    0,
#else
    NONE,
    NONE,
#endif
#ifndef OLD
    offsetof_(struct k_thread, arch.mode_exc_return),
#endif
};
const u32 _kernel_thread_info_num_offsets = sizeof _kernel_thread_info_offsets / 4;
const u8 _kernel_thread_info_size_t_size = 4;

void kernel_create(u32 number, const char *name, u32 *top)
{
    struct k_thread *t = &all[number];

    t->callee_saved.psp = (u32)top;
    t->arch.mode_exc_return = (u8)FIRST_RETURN;
    t->base.prio = (signed char)(number % 5 - 2);
    t->base.thread_state = 1u << 7;
    for (u32 i = 0; i < 31 && name[i]; i++)
        t->name[i] = name[i];
    t->next_thread = _kernel.threads;
    _kernel.threads = t;
    truth_control[number] = (u32)t;
}

/* _THREAD_QUEUED, _THREAD_SUSPENDED, _THREAD_PENDING */
void kernel_move(u32 number, u32 state)
{
    static const u8 states[] = {1u << 7, 1u << 4, 1u << 1, 1u << 4};

    all[number].base.thread_state = states[state];
}

void kernel_choose(u32 number)
{
    _kernel.cpus[0].current = &all[number];
}

const u32 current_at = offsetof_(struct z_kernel, cpus[0].current);
const u32 saved_at = offsetof_(struct k_thread, callee_saved);
const u32 return_at = offsetof_(struct k_thread, arch.mode_exc_return);
#ifdef HAS_FPU
const u32 float_at = offsetof_(struct k_thread, arch.preempt_float);
#endif

__attribute__((naked)) void z_arm_pendsv(void);
__attribute__((naked)) void z_arm_pendsv(void)
{
    __asm__("ldr r1, =_kernel\n"
            "    ldr r0, =current_at\n"
            "    ldr r0, [r0]\n"
            "    add r1, r1, r0\n"
            "    ldr r2, [r1]\n"
            "    cbz r2, 1f\n"
            "    ldr r0, =return_at\n"
            "    ldr r0, [r0]\n"
            "    strb lr, [r2, r0]\n"
            "    ldr r0, =saved_at\n"
            "    ldr r0, [r0]\n"
            "    add r0, r2, r0\n"
            "    mrs ip, psp\n"
            "    stmia r0, {r4-r11, ip}\n"
#ifdef HAS_FPU
            "    tst lr, #0x10\n"
            "    bne 1f\n"
            "    ldr r0, =float_at\n"
            "    ldr r0, [r0]\n"
            "    add r0, r2, r0\n"
            "    vstmia r0, {s16-s31}\n"
#endif
            "1:  push {r1, lr}\n"
            "    bl choose\n"
            "    pop {r1, lr}\n"
            "    ldr r2, [r1]\n"
            "    ldr r0, =return_at\n"
            "    ldr r0, [r0]\n"
            "    ldrb r0, [r2, r0]\n"
            "    mvn lr, #0xff\n"
            "    orr lr, lr, r0\n"
#ifdef HAS_FPU
            "    tst lr, #0x10\n"
            "    bne 2f\n"
            "    ldr r0, =float_at\n"
            "    ldr r0, [r0]\n"
            "    add r0, r2, r0\n"
            "    vldmia r0, {s16-s31}\n"
            "2:\n"
#endif
            "    ldr r0, =saved_at\n"
            "    ldr r0, [r0]\n"
            "    add r0, r2, r0\n"
            "    ldmia r0, {r4-r11, ip}\n"
            "    msr psp, ip\n"
            "    bx lr\n"
            "    .ltorg\n");
}

void PendSV_Handler(void) __attribute__((alias("z_arm_pendsv")));

void kernel_start(void)
{
    *(volatile u32 *)0xe000ed04u = 1u << 28;
    __asm__ volatile("dsb\n    isb");
}
