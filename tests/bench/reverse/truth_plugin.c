/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that a core did, as a TCG plugin of qemu-system-arm and -aarch64 7.2, for the tests of
 * reconstructed values. QEMU must run with -singlestep: only then every register is exact before
 * every instruction.
 *
 *     -plugin
 * reverse-truth.so,states=FILE,accesses=FILE,ram=FILE,base=HEX,size=HEX,halt=HEX[,twostates=1]
 *     [,whole=1]
 *
 * whole: all of the RAM is compared before each instruction: it has second addresses, or there are
 * frames on more stacks than one.
 *
 * states: for each instruction that begins, r0 to r15 and the PSR before it, 17 words; of AArch64
 * x0 to x30, SP, PC and PSTATE, 34 words of 64 bits. system: for each of them what truth_system.h
 * has.
 * accesses: struct truth_access; of AArch64 the lower halves of addresses. ram: `size` bytes from
 * `base` on, when the instruction at `halt` is about to run; nothing is written after that.
 *
 * QEMU does not tell of what the core itself stacks at an exception. There, and while room for
 * floating-point registers waits to be filled, the words of the frame are
 * compared with before. */
#include "drivers/virtual/board/board_qemu.h"
#include "drivers/virtual/board/qemu_plugin_api.h"
#include "tests/bench/reverse/truth_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_WORDS 17
#define WIDE_WORDS  34
#define WIDE_SP     31
/* QEMU's key of a system register. */
#define A64_KEY(op1, crn, crm, op2)                                                                \
    (1u << 28 | 0x13u << 16 | 3u << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
#define FRAME_WORDS 27u /* r0-r3, r12, LR, PC, PSR, s0-s15, FPSCR, one kept free, alignment */
#define FRAMES      16u
#define FRAME_SIZE  0x20u
/* of as many words: exceptions in a row, with r4-r11 of another state */
#define SEVERAL_FRAMES 72u

#define WHOLE_MAX 0x10000u
#define PIECE     0x100u

#define SECURE_ALIAS             0x10000000u /* address bit of mps2-an505 */
#define SECURE_GATE              0xe97fe97fu /* SG */
#define NUMBER_MSP               0x11u       /* of board_qemu_get() */
#define NUMBER_PSP               0x12u
#define NUMBER_SPECIAL           0x14u
#define NUMBER_MSPLIM            0x1cu
#define NUMBER_PSPLIM            0x1du
#define NUMBER_STACK             0x18u /* of board_qemu_get(): MSP and PSP of either state */
#define NUMBER_NONSECURE_CONTROL 0x23u
#define CONTROL_SPSEL            (2u << 24)

#define ACCESS_STORE 1u
#define ACCESS_FRAME 2u /* by the core itself, before instruction `index` */

/* The value after the access; of 8 bytes or fewer. */
struct truth_access {
    uint32_t index; /* of the instruction in `states` */
    uint32_t address;
    uint16_t size;
    uint16_t flags;
    uint32_t value[2];
};

static struct {
    struct board_qemu qemu;
    FILE *states, *accesses;
    const char *ram;
    uint32_t base, size, halt;
    uint32_t count; /* instructions begun */
    uint32_t ipsr;
    uint32_t frames[FRAMES]; /* addresses of extended frames that may still be written */
    unsigned frame_count;
    uint8_t *shadow; /* RAM as it was last seen, where frames are */
    bool m_profile, done;
    bool whole;
    bool two_states;    /* a Cortex-M33, */
    bool nonsecure;     /* which is in Non-secure state */
    uint32_t stacks[4]; /* its stack pointers */
    FILE *system_file;
} truth;

static uint32_t word_at(uint32_t address)
{
    uint32_t value = 0;
    if (truth.two_states)
        board_qemu_word_of(&truth.qemu, 0, address & SECURE_ALIAS, address, &value);
    else
        board_qemu_word(&truth.qemu, 0, address, &value);
    return value;
}

static void note(uint32_t index, uint64_t address, unsigned size, unsigned flags)
{
    struct truth_access access = {
        .index = index, .address = (uint32_t)address, .flags = (uint16_t)flags};
    uint8_t bytes[8] = {0};
    struct CPUState *cpu = truth.qemu.get_cpu(0);

    access.size = (uint16_t)size;
    if (size > sizeof bytes || truth.qemu.read_memory(cpu, address, bytes, size, false) != 0)
        return;
    memcpy(access.value, bytes, sizeof access.value);
    fwrite(&access, sizeof access, 1, truth.accesses);
    if (flags & ACCESS_STORE && access.address - truth.base <= truth.size - size)
        memcpy(truth.shadow + (access.address - truth.base), bytes, size);
}

/* Words of a frame that are not as they were. */
static void note_frame(uint32_t address)
{
    uint32_t words = truth.two_states ? SEVERAL_FRAMES : FRAME_WORDS;
    for (uint32_t at = address & ~3u; at < address + 4 * words; at += 4) {
        uint32_t now, before;
        if (at - truth.base > truth.size - 4)
            continue;
        now = word_at(at);
        memcpy(&before, truth.shadow + (at - truth.base), 4);
        if (now != before)
            note(truth.count, at, 4, ACCESS_STORE | ACCESS_FRAME);
    }
}

static void note_whole(void)
{
    static uint8_t now[WHOLE_MAX];
    if (truth.size > sizeof now ||
        truth.qemu.read_memory(truth.qemu.get_cpu(0), truth.base, now, truth.size, false) != 0)
        return;
    for (uint32_t at = 0; at < truth.size; at += PIECE) {
        if (memcmp(now + at, truth.shadow + at, PIECE) == 0)
            continue;
        for (uint32_t word = at; word < at + PIECE; word += 4)
            if (memcmp(now + word, truth.shadow + word, 4) != 0)
                note(truth.count, truth.base + word, 4, ACCESS_STORE | ACCESS_FRAME);
    }
}

/* That of a thread always has eight words, also where they are as they were. */
static void note_basic_frame(const uint32_t *state)
{
    uint32_t other = 0;
    bool has_other = board_qemu_other_sp(&truth.qemu, 0, &other);
    uint32_t frame = state[14] & 4 && has_other ? other : state[13];

    if (truth.ipsr || !(state[16] & 0x1ff) || state[14] >> 8 != 0xffffff)
        return;
    for (uint32_t at = frame; at < frame + FRAME_SIZE; at += 4)
        note(truth.count, at, 4, ACCESS_STORE | ACCESS_FRAME);
}

static void note_exception(const uint32_t *state)
{
    uint32_t other = 0;

    note_frame(state[13]);
    if (board_qemu_other_sp(&truth.qemu, 0, &other))
        note_frame(other);
    if (state[14] >> 8 != 0xffffffu || state[14] & 0x10 || truth.frame_count == FRAMES)
        return;
    truth.frames[truth.frame_count++] = state[14] & 4 ? other : state[13];
}

/*
 * With two states frames are on four stacks, and calls of the other one's functions leave words,
 * too: looked for where a stack pointer has moved as far.
 */
static void note_stacks(bool changes, bool popped[2])
{
    uint32_t sp[4];
    popped[0] = popped[1] = false;

    for (uint32_t i = 0; i < 4; i++) {
        if (!board_qemu_get(&truth.qemu, 0, NUMBER_STACK + i, &sp[i]))
            return;
        changes |= truth.stacks[i] - sp[i] >= FRAME_SIZE && truth.stacks[i] != sp[i];
        popped[i / 2] |= sp[i] - truth.stacks[i] - FRAME_SIZE < SEVERAL_FRAMES;
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (changes)
            note_frame(sp[i]);
        truth.stacks[i] = sp[i];
    }
}

/* QEMU does not tell of an SG: the state in front of it, which is that behind it but for
 * SP and LR. */
static void note_gate(const uint32_t *after)
{
    uint32_t state[STATE_WORDS], control = 0;
    bool process;

    memcpy(state, after, sizeof state);
    board_qemu_get(&truth.qemu, 0, NUMBER_NONSECURE_CONTROL, &control);
    process = control & CONTROL_SPSEL && !(after[16] & 0x1ff);
    board_qemu_get(&truth.qemu, 0, NUMBER_STACK + process, &state[13]);
    state[14] |= 1;
    state[15] -= 4;
    fwrite(state, sizeof state, 1, truth.states);
    truth.count++;
}

static void look_at_states(const uint32_t *state)
{
    uint32_t secure = 1;
    bool popped[2];

    board_qemu_get(&truth.qemu, 0, BOARD_QEMU_SECURE, &secure);
    note_stacks(secure == truth.nonsecure || (state[16] & 0x1ff) != truth.ipsr, popped);
    /* A return may lead to in front of it or behind it: the frame was on that state's stack. */
    if (secure && (truth.nonsecure ? !popped[1] : popped[0]) &&
        word_at(state[15] - 4) == SECURE_GATE)
        note_gate(state);
    truth.nonsecure = !secure;
}

static void save_ram(void)
{
    FILE *file = fopen(truth.ram, "wb");
    if (!file)
        return;
    for (uint32_t at = 0; at < truth.size; at += 4) {
        uint32_t word = word_at(truth.base + at);
        fwrite(&word, 4, 1, file);
    }
    fclose(file);
}

/* As enum truth_system has them. */
static void save_system(void)
{
    static const uint32_t numbers[] = {NUMBER_MSP, NUMBER_PSP, NUMBER_SPECIAL, NUMBER_MSPLIM,
                                       NUMBER_PSPLIM};
    static const uint32_t addresses[] = {0xe000ed14, 0xe000ef34, 0xe000ef38, 0xe000ef3c,
                                         0xe000ed94};
    uint32_t words[TRUTH_SYSTEM_WORDS] = {0}, n = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        board_qemu_get(&truth.qemu, 0, numbers[i], &words[n++]);
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        board_qemu_bus(&truth.qemu, 0, addresses[i], &words[n++], 4, false); /* privileged */
    fwrite(words, sizeof words, 1, truth.system_file);
}

static void end_here(uint32_t pc)
{
    truth.count++;
    if (pc != truth.halt)
        return;
    truth.done = true;
    save_ram();
    fflush(truth.states);
    if (truth.system_file)
        fflush(truth.system_file);
    fflush(truth.accesses);
}

/* op1, CRn, CRm, op2 of what enum truth_wide has behind FPCR; SP_EL3 has no number. */
static const uint8_t wide_registers[][4] = {
    {0, 4, 1, 0},  {4, 4, 1, 0},  {6, 4, 1, 0},  {7, 7, 7, 7},  {0, 4, 0, 1},  {4, 4, 0, 1},
    {6, 4, 0, 1},  {0, 4, 0, 0},  {4, 4, 0, 0},  {6, 4, 0, 0},  {0, 12, 0, 0}, {4, 12, 0, 0},
    {6, 12, 0, 0}, {3, 13, 0, 2}, {0, 13, 0, 4}, {4, 13, 0, 2}, {6, 13, 0, 2}, {3, 13, 0, 3},
    {0, 1, 0, 0},  {4, 1, 0, 0},  {6, 1, 0, 0},  {0, 2, 0, 0},  {4, 2, 0, 0},  {6, 2, 0, 0},
    {0, 2, 0, 2},  {4, 2, 0, 2},  {6, 2, 0, 2},  {0, 2, 0, 1},  {4, 1, 1, 0}};

static void save_wide_system(const uint64_t *state)
{
    static uint64_t sp_el3;
    uint64_t words[TRUTH_WIDE_WORDS] = {0};
    char *cpu = (char *)board_qemu_handle(&truth.qemu, 0);
    void **table = (void **)(cpu + truth.qemu.cp_table);

    for (unsigned i = 0; i < 32; i++)
        memcpy(&words[2 * i], cpu + truth.qemu.fp + i * (truth.qemu.fp_next - truth.qemu.fp), 16);
    words[TRUTH_FPCR] = truth.qemu.read_fpscr(cpu + truth.qemu.regs);
    for (unsigned i = 0; i < sizeof wide_registers / sizeof *wide_registers; i++) {
        const uint8_t *r = wide_registers[i];
        const void *found = truth.qemu.find_cp(*table, A64_KEY(r[0], r[1], r[2], r[3]));
        if (found)
            words[TRUTH_SP0 + i] = truth.qemu.read_cp(cpu + truth.qemu.regs, found);
    }
    if ((state[WIDE_WORDS - 1] & 15) == 13)
        sp_el3 = state[WIDE_SP];
    words[TRUTH_SP0 + 3] = sp_el3;
    fwrite(words, sizeof words, 1, truth.system_file);
}

static void on_wide_insn(void)
{
    uint64_t state[WIDE_WORDS] = {0};

    for (unsigned i = 0; i < WIDE_WORDS; i++)
        board_qemu_x(&truth.qemu, 0, i, &state[i]);
    if (truth.whole)
        note_whole();
    fwrite(state, sizeof state, 1, truth.states);
    if (truth.system_file)
        save_wide_system(state);
    end_here((uint32_t)state[WIDE_WORDS - 2]);
}

static void on_insn(unsigned vcpu, void *data)
{
    uint32_t state[STATE_WORDS];

    (void)data;
    if (vcpu || truth.done)
        return;
    if (truth.qemu.a64) {
        on_wide_insn();
        return;
    }
    for (int i = 0; i < 16; i++)
        board_qemu_register(&truth.qemu, 0, i, &state[i]);
    board_qemu_register(&truth.qemu, 0, BOARD_REG_CPSR, &state[16]);
    if (truth.m_profile && !truth.two_states)
        note_basic_frame(state);
    if (truth.whole) {
        note_whole();
        truth.ipsr = state[16] & 0x1ff;
    } else if (truth.two_states) {
        look_at_states(state);
        truth.ipsr = state[16] & 0x1ff;
    } else if (truth.m_profile) {
        if ((state[16] & 0x1ff) != truth.ipsr)
            note_exception(state);
        truth.ipsr = state[16] & 0x1ff;
        while (truth.frame_count && truth.frames[truth.frame_count - 1] < state[13])
            truth.frame_count--;
        for (unsigned i = 0; i < truth.frame_count; i++)
            note_frame(truth.frames[i]);
    }
    fwrite(state, sizeof state, 1, truth.states);
    if (truth.system_file)
        save_system();
    end_here(state[15]);
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    unsigned size = 1u << qemu_plugin_mem_size_shift(info);
    bool store = qemu_plugin_mem_is_store(info);
    (void)data;
    if ((vcpu && !truth.qemu.a64) || truth.done || !truth.count)
        return;
    for (unsigned at = 0; at < size; at += 8) /* QEMU 10: a pair of X registers is one access */
        note(truth.count - 1, address + at, size < 8 ? size : 8, store ? ACCESS_STORE : 0);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_MEM_RW,
                                         NULL);
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_insn, QEMU_PLUGIN_CB_R_REGS, NULL);
    }
}

/* What the program loader put there. */
static void on_vcpu(qemu_plugin_id_t id, unsigned vcpu)
{
    bool known;
    (void)id;
    if (vcpu == 0)
        truth.m_profile = board_qemu_is_m(&truth.qemu, 0, &known);
}

static bool option(const char *text)
{
    const char *value = strchr(text, '=');
    if (!value++)
        return false;
    if (strncmp(text, "states=", 7) == 0)
        return (truth.states = fopen(value, "wb")) != NULL;
    if (strncmp(text, "system=", 7) == 0)
        return (truth.system_file = fopen(value, "wb")) != NULL;
    if (strncmp(text, "accesses=", 9) == 0)
        return (truth.accesses = fopen(value, "wb")) != NULL;
    uint32_t number = (uint32_t)strtoul(value, NULL, 16);
    if (strncmp(text, "ram=", 4) == 0)
        truth.ram = value;
    else if (strncmp(text, "base=", 5) == 0)
        truth.base = number;
    else if (strncmp(text, "size=", 5) == 0)
        truth.size = number;
    else if (strncmp(text, "halt=", 5) == 0)
        truth.halt = number;
    else if (strncmp(text, "twostates=", 10) == 0)
        truth.two_states = number;
    else if (strncmp(text, "whole=", 6) == 0)
        truth.whole = number;
    else
        return false;
    return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    truth.qemu.a64 = strcmp(info->target_name, "aarch64") == 0;
    board_qemu_init(&truth.qemu);
    for (int i = 0; i < argc; i++)
        if (!option(argv[i])) {
            fprintf(stderr, "reverse-truth: bad argument '%s'\n", argv[i]);
            return -1;
        }
    truth.shadow = truth.size ? calloc(1, truth.size) : NULL;
    if (!truth.states || !truth.accesses || !truth.ram || !truth.shadow ||
        !truth.qemu.read_register || !truth.qemu.read_memory) {
        fprintf(stderr, "reverse-truth: an argument is missing, or this QEMU shows no registers\n");
        return -1;
    }
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
