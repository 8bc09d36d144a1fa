/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that a core did, as a TCG plugin of qemu-system-arm 7.2, for the tests of recovered values.
 * QEMU must run with -singlestep: only then every register is exact before every instruction.
 *
 *     -plugin reverse-truth.so,states=FILE,accesses=FILE,ram=FILE,base=HEX,size=HEX,halt=HEX
 *
 * states: for each instruction that begins, r0 to r15 and the PSR before it, 17 words.
 * accesses: struct truth_access. ram: `size` bytes from `base` on, when the instruction at `halt`
 * is about to run; nothing is written after that.
 *
 * QEMU does not tell of what the core itself stacks at an exception. There, and while room for
 * floating-point registers waits to be filled, the words of the frame are compared with before.
 */
#include "drivers/virtual/board/board_qemu.h"
#include "drivers/virtual/board/qemu_plugin_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATE_WORDS 17
#define FRAME_WORDS 27u /* r0-r3, r12, LR, PC, PSR, s0-s15, FPSCR, one kept free, alignment */
#define FRAMES      16u

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

int qemu_plugin_version = QEMU_PLUGIN_API_VERSION;

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
} truth;

static uint32_t word_at(uint32_t address)
{
    uint32_t value = 0;
    board_qemu_word(&truth.qemu, 0, address, &value);
    return value;
}

static void note(uint32_t index, uint32_t address, unsigned size, unsigned flags)
{
    struct truth_access access = {.index = index, .address = address, .flags = (uint16_t)flags};
    uint8_t bytes[8] = {0};
    struct CPUState *cpu = truth.qemu.get_cpu(0);

    access.size = (uint16_t)size;
    if (size > sizeof bytes || truth.qemu.read_memory(cpu, address, bytes, size, false) != 0)
        return;
    memcpy(access.value, bytes, sizeof access.value);
    fwrite(&access, sizeof access, 1, truth.accesses);
    if (flags & ACCESS_STORE && address - truth.base <= truth.size - size)
        memcpy(truth.shadow + (address - truth.base), bytes, size);
}

/* Words of a frame that are not as they were. */
static void note_frame(uint32_t address)
{
    for (uint32_t at = address & ~3u; at < address + 4 * FRAME_WORDS; at += 4) {
        uint32_t now, before;
        if (at - truth.base > truth.size - 4)
            continue;
        now = word_at(at);
        memcpy(&before, truth.shadow + (at - truth.base), 4);
        if (now != before)
            note(truth.count, at, 4, ACCESS_STORE | ACCESS_FRAME);
    }
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

static void on_insn(unsigned vcpu, void *data)
{
    uint32_t state[STATE_WORDS];

    (void)data;
    if (vcpu || truth.done)
        return;
    for (int i = 0; i < 16; i++)
        board_qemu_register(&truth.qemu, 0, i, &state[i]);
    board_qemu_register(&truth.qemu, 0, BOARD_REG_CPSR, &state[16]);
    if (truth.m_profile) {
        if ((state[16] & 0x1ff) != truth.ipsr)
            note_exception(state);
        truth.ipsr = state[16] & 0x1ff;
        while (truth.frame_count && truth.frames[truth.frame_count - 1] < state[13])
            truth.frame_count--;
        for (unsigned i = 0; i < truth.frame_count; i++)
            note_frame(truth.frames[i]);
    }
    fwrite(state, sizeof state, 1, truth.states);
    truth.count++;
    if (state[15] != truth.halt)
        return;
    truth.done = true;
    save_ram();
    fflush(truth.states);
    fflush(truth.accesses);
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)data;
    if (vcpu || truth.done)
        return;
    note(truth.count - 1, (uint32_t)address, 1u << qemu_plugin_mem_size_shift(info),
         qemu_plugin_mem_is_store(info) ? ACCESS_STORE : 0);
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
    else
        return false;
    return true;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
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
