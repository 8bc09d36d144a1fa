/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Laid out as FreeRTOS: list.h and tasks.c of V10.4.3 and V11.1.0, port.c of GCC/ARM_CM3, ARM_CM4F
 * and ARM_CM33_NTZ. FULL_END: configUSE_MINI_LIST_ITEM 0. GUARDS:
 * configUSE_LIST_DATA_INTEGRITY_CHECK_BYTES. TICK64: configTICK_TYPE_WIDTH_IN_BITS. LIMIT: port
 * with PSPLIM.
 */
#include "kernel.h"

#ifdef TICK64
typedef unsigned long long TickType_t;
#else
typedef u32 TickType_t;
#endif

#ifdef GUARDS
#define GUARD(name) TickType_t name;
#define SET(word)   ((word) = 0x5a5a5a5au)
#else
#define GUARD(name)
#define SET(word) ((void)0)
#endif

typedef struct xLIST_ITEM {
    GUARD(xListItemIntegrityValue1)
    TickType_t xItemValue;
    struct xLIST_ITEM *pxNext;
    struct xLIST_ITEM *pxPrevious;
    void *pvOwner;
    struct xLIST *pxContainer;
    GUARD(xListItemIntegrityValue2)
} ListItem_t;

#ifdef FULL_END
typedef ListItem_t MiniListItem_t;
#else
typedef struct xMINI_LIST_ITEM {
    GUARD(xListItemIntegrityValue)
    TickType_t xItemValue;
    struct xLIST_ITEM *pxNext;
    struct xLIST_ITEM *pxPrevious;
} MiniListItem_t;
#endif

typedef struct xLIST {
    GUARD(xListIntegrityValue1)
    volatile u32 uxNumberOfItems;
    ListItem_t *pxIndex;
    MiniListItem_t xListEnd;
    GUARD(xListIntegrityValue2)
} List_t;

typedef struct tskTaskControlBlock {
    volatile u32 *pxTopOfStack;
    ListItem_t xStateListItem;
    ListItem_t xEventListItem;
    u32 uxPriority;
    u32 *pxStack;
    char pcTaskName[16];
    u32 uxTCBNumber;
} TCB_t;

#define PRIORITIES 5u

TCB_t *volatile pxCurrentTCB;
List_t pxReadyTasksLists[PRIORITIES];
List_t xDelayedTaskList1, xDelayedTaskList2, xPendingReadyList, xTasksWaitingTermination,
    xSuspendedTaskList;
volatile u32 uxCurrentNumberOfTasks;
volatile int xSchedulerRunning;
static List_t queue;
static TCB_t blocks[TASKS];

static void list_init(List_t *list)
{
    SET(list->xListIntegrityValue1);
    SET(list->xListIntegrityValue2);
    list->pxIndex = (ListItem_t *)&list->xListEnd;
    list->xListEnd.xItemValue = (TickType_t)-1;
    list->xListEnd.pxNext = (ListItem_t *)&list->xListEnd;
    list->xListEnd.pxPrevious = (ListItem_t *)&list->xListEnd;
    list->uxNumberOfItems = 0;
}

static void list_insert_end(List_t *list, ListItem_t *item)
{
    ListItem_t *index = list->pxIndex;

    item->pxNext = index;
    item->pxPrevious = index->pxPrevious;
    index->pxPrevious->pxNext = item;
    index->pxPrevious = item;
    item->pxContainer = list;
    list->uxNumberOfItems++;
}

static void list_remove(ListItem_t *item)
{
    List_t *list = item->pxContainer;

    if (!list)
        return;
    item->pxNext->pxPrevious = item->pxPrevious;
    item->pxPrevious->pxNext = item->pxNext;
    if (list->pxIndex == item)
        list->pxIndex = item->pxPrevious;
    item->pxContainer = 0;
    list->uxNumberOfItems--;
}

void kernel_create(u32 number, const char *name, u32 *top)
{
    TCB_t *t = &blocks[number];

    if (number == 0) {
        for (u32 i = 0; i < PRIORITIES; i++)
            list_init(&pxReadyTasksLists[i]);
        list_init(&xDelayedTaskList1);
        list_init(&xDelayedTaskList2);
        list_init(&xPendingReadyList);
        list_init(&xTasksWaitingTermination);
        list_init(&xSuspendedTaskList);
        list_init(&queue);
    }
#ifdef LIMIT
    top -= 8;
    *--top = FIRST_RETURN;
    *--top = 0;
#elif defined HAS_FPU
    *--top = FIRST_RETURN;
    top -= 8;
#else
    top -= 8;
#endif
    t->pxTopOfStack = top;
    t->uxPriority = number % PRIORITIES;
    for (u32 i = 0; i < 15 && name[i]; i++)
        t->pcTaskName[i] = name[i];
    t->xStateListItem.pvOwner = t;
    t->xEventListItem.pvOwner = t;
    truth_control[number] = (u32)t;
    uxCurrentNumberOfTasks++;
    list_insert_end(&pxReadyTasksLists[t->uxPriority], &t->xStateListItem);
}

/* What waits for a queue without a time is suspended, and on the list of the queue. */
void kernel_move(u32 number, u32 state)
{
    TCB_t *t = &blocks[number];

    list_remove(&t->xStateListItem);
    list_remove(&t->xEventListItem);
    list_insert_end(state == READY     ? &pxReadyTasksLists[t->uxPriority]
                    : state == DELAYED ? number & 1 ? &xDelayedTaskList1 : &xDelayedTaskList2
                                       : &xSuspendedTaskList,
                    &t->xStateListItem);
    if (state == BLOCKED)
        list_insert_end(&queue, &t->xEventListItem);
}

void kernel_choose(u32 number)
{
    pxCurrentTCB = &blocks[number];
}

__attribute__((naked)) void PendSV_Handler(void);
__attribute__((naked)) void PendSV_Handler(void)
{
    __asm__("mrs r0, psp\n"
            "    ldr r3, =pxCurrentTCB\n"
            "    ldr r1, [r3]\n"
#ifdef HAS_FPU
            "    tst lr, #0x10\n"
            "    it eq\n"
            "    vstmdbeq r0!, {s16-s31}\n"
#endif
#ifdef LIMIT
            "    mrs r2, psplim\n"
            "    mov r3, lr\n"
            "    stmdb r0!, {r2-r11}\n"
#elif defined HAS_FPU
            "    stmdb r0!, {r4-r11, lr}\n"
#else
            "    stmdb r0!, {r4-r11}\n"
#endif
            "    str r0, [r1]\n"
            "    push {r3, lr}\n"
            "    bl choose\n"
            "    pop {r3, lr}\n"
            "    .global first_task\n"
            "first_task:\n"
            "    ldr r3, =pxCurrentTCB\n"
            "    ldr r1, [r3]\n"
            "    ldr r0, [r1]\n"
#ifdef LIMIT
            "    ldmia r0!, {r2-r11}\n"
            "    msr psplim, r2\n"
            "    mov lr, r3\n"
#elif defined HAS_FPU
            "    ldmia r0!, {r4-r11, lr}\n"
#else
            "    ldmia r0!, {r4-r11}\n"
            "    mvn lr, #2\n"
#endif
#ifdef HAS_FPU
            "    tst lr, #0x10\n"
            "    it eq\n"
            "    vldmiaeq r0!, {s16-s31}\n"
#endif
            "    msr psp, r0\n"
            "    isb\n"
            "    bx lr\n"
            "    .ltorg\n");
}

/* From thread mode: the first switch saves what is lost. */
void kernel_start(void)
{
    static u32 nowhere[64] __attribute__((aligned(8)));
    static TCB_t none;

    pxCurrentTCB = &none;
    __asm__ volatile("msr psp, %0\n    cpsid i" ::"r"(nowhere + 60));
    *(volatile u32 *)0xe000ed04u = 1u << 28;
    xSchedulerRunning = 1;
    __asm__ volatile("cpsie i\n    dsb\n    isb");
}
