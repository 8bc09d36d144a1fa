/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Laid out as ThreadX: tx_api.h of 6.2, tx_thread_schedule.S of ports/cortex_m3 and cortex_m4 for
 * GNU. Without a current thread while it switches.
 */
#include "kernel.h"

typedef struct TX_THREAD_STRUCT {
    u32 tx_thread_id, tx_thread_run_count;
    void *tx_thread_stack_ptr, *tx_thread_stack_start, *tx_thread_stack_end;
    u32 tx_thread_stack_size, tx_thread_time_slice, tx_thread_new_time_slice;
    struct TX_THREAD_STRUCT *tx_thread_ready_next, *tx_thread_ready_previous;
    const char *tx_thread_name;
    u32 tx_thread_priority, tx_thread_state, tx_thread_delayed_suspend, tx_thread_suspending,
        tx_thread_preempt_threshold;
    void (*tx_thread_schedule_hook)(struct TX_THREAD_STRUCT *, u32);
    void (*tx_thread_entry)(u32);
    u32 tx_thread_entry_parameter, tx_thread_timer[7];
    void (*tx_thread_suspend_cleanup)(struct TX_THREAD_STRUCT *, u32);
    void *tx_thread_suspend_control_block;
    struct TX_THREAD_STRUCT *tx_thread_suspended_next, *tx_thread_suspended_previous;
    u32 tx_thread_suspend_info;
    void *tx_thread_additional_suspend_info;
    u32 tx_thread_suspend_option, tx_thread_suspend_status;
    struct TX_THREAD_STRUCT *tx_thread_created_next, *tx_thread_created_previous;
} TX_THREAD;

TX_THREAD *volatile _tx_thread_current_ptr, *volatile _tx_thread_execute_ptr,
    *_tx_thread_created_ptr;
volatile u32 _tx_thread_created_count;
static TX_THREAD threads[TASKS];

void kernel_create(u32 number, const char *name, u32 *top)
{
    TX_THREAD *t = &threads[number], *first = _tx_thread_created_ptr;

    top -= 8;
    *--top = FIRST_RETURN;
    t->tx_thread_id = 0x54485244u;
    t->tx_thread_stack_ptr = top;
    t->tx_thread_name = name;
    t->tx_thread_priority = number % 5;
    if (!first) {
        _tx_thread_created_ptr = first = t;
        t->tx_thread_created_previous = t;
    }
    t->tx_thread_created_previous = first->tx_thread_created_previous;
    t->tx_thread_created_next = first;
    t->tx_thread_created_previous->tx_thread_created_next = t;
    first->tx_thread_created_previous = t;
    _tx_thread_created_count++;
    truth_control[number] = (u32)t;
}

void kernel_move(u32 number, u32 state)
{
    static const u8 states[] = {0, 4, 6,
                                3}; /* TX_READY, TX_SLEEP, TX_SEMAPHORE_SUSP, TX_SUSPENDED */

    threads[number].tx_thread_state = states[state];
}

void kernel_choose(u32 number)
{
    _tx_thread_execute_ptr = &threads[number];
    _tx_thread_current_ptr = _tx_thread_execute_ptr;
}

__attribute__((naked)) void PendSV_Handler(void);
__attribute__((naked)) void PendSV_Handler(void)
{
    __asm__("ldr r0, =_tx_thread_current_ptr\n"
            "    ldr r1, [r0]\n"
            "    cbz r1, 1f\n"
            "    mrs r12, psp\n"
            "    stmdb r12!, {r4-r11}\n"
#ifdef HAS_FPU
            "    tst lr, #0x10\n"
            "    it eq\n"
            "    vstmdbeq r12!, {s16-s31}\n"
#endif
            "    str lr, [r12, #-4]!\n"
            "    str r12, [r1, #8]\n"
            "1:  push {r0, lr}\n"
            "    bl choose\n"
            "    pop {r0, lr}\n"
            "    ldr r1, [r0]\n"
            "    ldr r12, [r1, #8]\n"
            "    ldr lr, [r12], #4\n"
#ifdef HAS_FPU
            "    tst lr, #0x10\n"
            "    it eq\n"
            "    vldmiaeq r12!, {s16-s31}\n"
#endif
            "    ldmia r12!, {r4-r11}\n"
            "    msr psp, r12\n"
            "    bx lr\n"
            "    .ltorg\n");
}

void kernel_start(void)
{
    *(volatile u32 *)0xe000ed04u = 1u << 28;
    __asm__ volatile("dsb\n    isb");
}
