/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of corners.py: what their parts share. */
#ifndef TESTS_REVERSE_TARGET_CORNERS_H
#define TESTS_REVERSE_TARGET_CORNERS_H

typedef unsigned int u32;

#define NOINLINE __attribute__((noinline))

#define REGISTER(address) (*(volatile u32 *)(address))
#define SYST_CSR          REGISTER(0xe000e010u)
#define SYST_RVR          REGISTER(0xe000e014u)
#define SYST_CVR          REGISTER(0xe000e018u)
#define NVIC_ISER         REGISTER(0xe000e100u)
#define NVIC_ISPR         REGISTER(0xe000e200u)
#define NVIC_IPR          REGISTER(0xe000e400u)
#define NVIC_IPR4         REGISTER(0xe000e404u)
#define ICSR              REGISTER(0xe000ed04u)
#define CCR               REGISTER(0xe000ed14u)
#define SHPR1             REGISTER(0xe000ed18u)
#define SHPR2             REGISTER(0xe000ed1cu)
#define SHPR3             REGISTER(0xe000ed20u)
#define SHCSR             REGISTER(0xe000ed24u)
#define CFSR              REGISTER(0xe000ed28u)
#define HFSR              REGISTER(0xe000ed2cu)
#define FPCCR             REGISTER(0xe000ef34u)
#define CPACR             REGISTER(0xe000ed88u)
#define MPU_CTRL          REGISTER(0xe000ed94u)
#define MPU_RNR           REGISTER(0xe000ed98u)
#define MPU_RBAR          REGISTER(0xe000ed9cu)
#define MPU_RASR          REGISTER(0xe000eda0u) /* v8-M: MPU_RLAR */

#define ICSR_PENDSVSET (1u << 28)
#define CFSR_FETCH     0x00020101u /* INVSTATE, IBUSERR, IACCVIOL */

#define CFSR_MSTKERR 0x10u
#define CFSR_STKERR  0x1000u
#define CFSR_STKOF   0x100000u

#define PLAN_SKIP         0
#define PLAN_SKIP_SAME_IT 1
#define PLAN_AGAIN        2
#define PLAN_LAND         3
#define PLAN_BACK         4

#define PROCESS_WORDS 256

struct arena {
    u32 words[64];
    u32 guard[64]; /* 256 bytes at a multiple of that */
    u32 behind[64];
};

extern struct arena arena;
extern u32 process_stack[PROCESS_WORDS];

void finished(void);
void guard_on(void);
void guard_off(void);
void run_blocks(void);

#endif
