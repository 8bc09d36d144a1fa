/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Execution forwards along a known path, beside an emulator that finds the path by itself: the same
 * instructions of the same program, whose state at the beginning is known. What both have at the
 * end is compared. A line for report.py.
 *
 * usage: bench_execute NAME PROGRAM.elf m|a
 */
#include "decoder/execute/execute.h"
#include "decoder/program/insn.h"
#include "tests/support/bench_clock.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#define CODE  0x00010000u
#define RAM   0x20000000u
#define SIZE  0x10000u
#define END   (CODE + SIZE - 16) /* where the program returns to */
#define STACK (RAM + SIZE - 64)
#define INSNS 20000000u

static const int ids[16] = {UC_ARM_REG_R0,  UC_ARM_REG_R1, UC_ARM_REG_R2,  UC_ARM_REG_R3,
                            UC_ARM_REG_R4,  UC_ARM_REG_R5, UC_ARM_REG_R6,  UC_ARM_REG_R7,
                            UC_ARM_REG_R8,  UC_ARM_REG_R9, UC_ARM_REG_R10, UC_ARM_REG_R11,
                            UC_ARM_REG_R12, UC_ARM_REG_SP, UC_ARM_REG_LR,  UC_ARM_REG_PC};

struct bench {
    uc_engine *uc;
    uint32_t entry;
    bool thumb, m_profile;
    unsigned in_block;                          /* instructions that are left of an IT block */
    uint8_t code[SIZE], ram[SIZE], first[SIZE]; /* RAM as it is, and at the beginning */
    struct execute_insn *path;
    size_t count;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_execute: %s\n", what);
    exit(1);
}

static void load_program(struct bench *b, const char *path)
{
    static uint8_t file[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(file, 1, sizeof file, f) : 0;
    const Elf32_Ehdr *head = (const void *)file;
    if (!f || size < sizeof *head || head->e_phoff + head->e_phnum * sizeof(Elf32_Phdr) > size)
        fail("no program");
    fclose(f);
    b->entry = head->e_entry;
    b->thumb = head->e_entry & 1;
    for (unsigned n = 0; n < head->e_phnum; n++) {
        const Elf32_Phdr *p = (const void *)(file + head->e_phoff + n * sizeof *p);
        uint8_t *to = p->p_vaddr >= RAM ? b->first : b->code;
        uint32_t at = p->p_vaddr - (p->p_vaddr >= RAM ? RAM : CODE);
        if (p->p_type != PT_LOAD || p->p_offset + p->p_filesz > size)
            continue;
        if (p->p_vaddr < CODE && p->p_filesz) { /* headers in front of the code */
            memcpy(b->code, file + p->p_offset + (CODE - p->p_vaddr),
                   p->p_filesz - (CODE - p->p_vaddr));
            continue;
        }
        if (at > SIZE || p->p_filesz > SIZE - at)
            fail("the program has another place");
        memcpy(to + at, file + p->p_offset, p->p_filesz);
    }
}

/* The instruction there runs, and the program went to it. */
static void add_insn(struct bench *b, uint64_t address)
{
    const uint8_t *p = b->code + (address - CODE);
    struct execute_insn i = {
        .address = address, .isa = b->thumb ? BT_ISA_T32 : BT_ISA_A32, .cond = BT_COND_UNKNOWN};
    uint16_t low = (uint16_t)(p[0] | p[1] << 8), high = (uint16_t)(p[2] | p[3] << 8);
    if (b->count == INSNS)
        fail("too many instructions");
    i.size = b->thumb ? (uint8_t)insn_t32_size(low) : 4;
    i.opcode = i.size == 2 ? low
               : b->thumb  ? (uint32_t)low << 16 | high
                           : (uint32_t)high << 16 | low;
    i.has_next = true;
    i.next = END;
    if (b->count)
        b->path[b->count - 1].next = address;
    b->path[b->count++] = i;
    if (i.size == 2 && (low & 0xff00) == 0xbf00 && low & 15)
        b->in_block = 4 - (unsigned)__builtin_ctz(low);
    else if (b->in_block)
        b->in_block--;
}

/* Of instructions whose condition fails in an IT block the emulator does not tell. */
static void on_code(uc_engine *uc, uint64_t address, uint32_t size, void *context)
{
    struct bench *b = context;
    (void)uc;
    (void)size;
    while (b->in_block) {
        const struct execute_insn *last = &b->path[b->count - 1];
        uint64_t behind = last->address + last->size;
        if (behind >= address || address - behind > 16)
            break;
        add_insn(b, behind);
    }
    add_insn(b, address);
}

static void begin_emulator(struct bench *b)
{
    uint32_t sp = STACK, lr = END | b->thumb, zero = 0;
    memcpy(b->ram, b->first, SIZE);
    for (unsigned n = 0; n < 13; n++)
        uc_reg_write(b->uc, ids[n], &zero);
    uc_reg_write(b->uc, UC_ARM_REG_SP, &sp);
    uc_reg_write(b->uc, UC_ARM_REG_LR, &lr);
}

static void emulate(struct bench *b)
{
    if (uc_emu_start(b->uc, b->entry, END, 0, 0))
        fail("the emulator refuses");
}

static void open_emulator(struct bench *b)
{
    uint32_t access = 0xf00000, enabled = 1u << 30;
    uc_hook hook;
    if (uc_open(UC_ARCH_ARM, b->m_profile ? UC_MODE_THUMB | UC_MODE_MCLASS : UC_MODE_ARM, &b->uc))
        fail("no emulator");
    uc_ctl_set_cpu_model(b->uc, b->m_profile ? UC_CPU_ARM_CORTEX_M7 : UC_CPU_ARM_MAX);
    uc_mem_map_ptr(b->uc, CODE, SIZE, UC_PROT_READ | UC_PROT_EXEC, b->code);
    uc_mem_map_ptr(b->uc, RAM, SIZE, UC_PROT_READ | UC_PROT_WRITE, b->ram);
    if (!b->m_profile)
        uc_reg_write(b->uc, UC_ARM_REG_C1_C0_2, &access);
    uc_reg_write(b->uc, UC_ARM_REG_FPEXC, &enabled);
    uc_hook_add(b->uc, &hook, UC_HOOK_CODE, (void *)(uintptr_t)on_code, b, 1, 0);
    begin_emulator(b);
    emulate(b);
    uc_hook_del(b->uc, hook);
    uc_ctl_remove_cache(b->uc, CODE, CODE + SIZE);
}

static enum execute_memory_kind kind(void *context, uint64_t address, uint64_t *from, uint64_t *to,
                                     const uint8_t **bytes)
{
    struct bench *b = context;
    bool ram = address - RAM < SIZE;
    *from = ram ? RAM : CODE;
    *to = *from + SIZE;
    *bytes = b->code;
    return ram                     ? EXECUTE_MEMORY_RAM
           : address - CODE < SIZE ? EXECUTE_MEMORY_CONST
                                   : EXECUTE_MEMORY_OTHER;
}

static void begin_executor(struct bench *b, struct execute *x, struct execute_budget *budget)
{
    execute_memory_init(&x->memory, budget, kind, b);
    execute_memory_write(&x->memory, RAM, b->first, SIZE);
    x->core = (struct execute_core){
        .profile = b->m_profile ? EXECUTE_PROFILE_M : EXECUTE_PROFILE_AR, .fpu = true};
    memset(&x->regs, 0, sizeof x->regs);
    x->regs.value[13] = STACK;
    x->regs.value[14] = END | b->thumb;
    x->regs.known = UINT64_MAX;
    x->regs.psr = b->m_profile ? 1u << 24 : 0x10u | (unsigned)b->thumb << 5;
    x->regs.value[EXECUTE_FPCCR] = 0xc0000000u; /* ASPEN, LSPEN */
    x->regs.psr_known = UINT32_MAX;
    x->regs.vector_known = UINT64_MAX;
    x->regs.vector_known64 = UINT32_MAX;
    x->regs.fpscr_known = UINT32_MAX;
    x->regs.float_settled = true;
}

static void execute_path(struct bench *b, struct execute *x)
{
    for (size_t n = 0; n < b->count; n++)
        if (execute_step(x, &b->path[n]))
            fail("the path is another one");
}

/* How many of the registers and words of RAM are known; what is is right. */
static unsigned compare(struct bench *b, struct execute *x)
{
    unsigned known = 0;
    for (unsigned n = 0; n < 15; n++) {
        uint32_t is = 0;
        uc_reg_read(b->uc, ids[n], &is);
        known += x->regs.known >> n & 1;
        if (x->regs.known >> n & 1 && (uint32_t)x->regs.value[n] != is)
            fail("a register is wrong");
    }
    for (unsigned n = 0; n < SIZE; n += 4) {
        uint32_t word;
        if (!execute_memory_read(&x->memory, RAM + n, &word, 4))
            continue;
        known++;
        if (memcmp(&word, b->ram + n, 4) != 0)
            fail("a word of memory is wrong");
    }
    return known;
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct bench_runs emulator = {0}, ours = {0};
    unsigned known = 0;
    if (argc < 4)
        fail("usage: bench_execute NAME PROGRAM.elf m|a");
    b.m_profile = argv[3][0] == 'm';
    b.path = malloc(INSNS * sizeof *b.path);
    load_program(&b, argv[2]);
    open_emulator(&b);
    for (size_t n = 0; n < bench_wanted_runs(); n++) {
        struct execute_budget budget = {.limit = 1 << 24};
        struct execute x = {.code = execute_code_new()};
        begin_emulator(&b);
        struct bench_time start = bench_now();
        emulate(&b);
        bench_add_run(&emulator, start);
        begin_executor(&b, &x, &budget);
        start = bench_now();
        execute_path(&b, &x);
        bench_add_run(&ours, start);
        known = compare(&b, &x);
        execute_memory_release(&x.memory);
        execute_code_free(x.code);
    }
    printf("execute\tname=%s\tinsns=%zu\trate=%.2f\temulator=%.2f\tknown=%.2f\n", argv[1], b.count,
           (double)b.count / bench_median(&ours).cpu / 1e6,
           (double)b.count / bench_median(&emulator).cpu / 1e6, 100.0 * known / (15 + SIZE / 4));
    uc_close(b.uc);
    free(b.path);
    return 0;
}
