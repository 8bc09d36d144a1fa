/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A board with a trace port, as a TCG plugin of qemu-system-arm (or qemu-system-aarch64) 7.2 to 10:
 * each Arm core of the machine gets a PTM, an ETMv3 or an ETMv4, all feed one formatter. Run with
 * -plugin build/virtual-board.so,out=unix:PATH,...; the arguments are
 * those of board_options.h. */
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "board_data.h"
#include "drivers/virtual/encoder/etmv3_encoder.h"
#include "qemu_plugin_api.h"

/* QEMU gives most callbacks no context of ours, and one process is one board. */
static struct board board;

static bool insn_data_copies;

/* The longest instruction, and what QEMU looks at behind it. */
#define INSN_BYTES 8

/*
 * The core whose thread calls. Where all cores share a thread, as with -icount, QEMU 10 tells
 * instead which one has translated the block.
 */
static struct board_cpu *core_that_runs(unsigned vcpu)
{
    static _Thread_local struct CPUState **current;

    if (board.cpu_count == 1)
        return &board.cpus[0];
    if (!current)
        current = board_qemu_current();
    if (!current || board.cpus[vcpu].handle == *current)
        return &board.cpus[vcpu];
    for (unsigned i = 0; i < board.cpu_count; i++)
        if (board.cpus[i].handle == *current)
            return &board.cpus[i];
    return &board.cpus[vcpu];
}

static void on_insn(unsigned vcpu, void *insn)
{
    struct board_cpu *c = core_that_runs(vcpu);

    board_cpu_starts(c, insn);
    if (c->entered)
        board_debug_entered(&board, c, ((struct board_insn *)insn)->address,
                            (uintptr_t)__builtin_return_address(0));
}

static void on_bkpt(unsigned vcpu, void *insn)
{
    board_debug_bkpt(&board, core_that_runs(vcpu)->index, ((struct board_insn *)insn)->address,
                     (uintptr_t)__builtin_return_address(0));
}

/*
 * A BKPT is seen by the block's first instruction: only there are all registers where a debugger
 * finds them.
 */
static void look_for_bkpt(struct qemu_plugin_tb *tb, struct board_insn *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t mask = records[i].isa == BT_ISA_A32 ? 0xfff000f0 : 0xff00;
        uint32_t bkpt = records[i].isa == BT_ISA_A32 ? 0xe1200070 : 0xbe00;
        bool whole = records[i].size == (records[i].isa == BT_ISA_A32 ? 4 : 2);
        if (whole && (records[i].opcode & mask) == bkpt) {
            qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, 0), on_bkpt,
                                                   QEMU_PLUGIN_CB_R_REGS, &records[i]);
            return;
        }
    }
}

static bool traces_data(void)
{
    return board.options.protocol == BOARD_PROTOCOL_ETMV3 &&
           board.options.etmcr & ETMV3_CR_DATA_ADDRESS;
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *insn)
{
    struct board_cpu *c = core_that_runs(vcpu);
    unsigned size = 1u << qemu_plugin_mem_size_shift(info);

    if (traces_data())
        board_cpu_access(c, insn, (uint32_t)address, size);
    if (c->itm)
        board_data_access(
            c, &board.options.watch, insn,
            &(struct board_data){(uint32_t)address, size, qemu_plugin_mem_is_store(info)});
}

/*
 * State of the core that translates. Without access to the PSR the sizes of the instructions must
 * do: one of two bytes shows T32, four bytes at an odd halfword too,
 * and all else passes as A32. */
static struct board_code_state state_of(const struct qemu_plugin_tb *tb, size_t count)
{
    bool m_profile = board.options.profile == BOARD_PROFILE_M;

    if (board.options.profile == BOARD_PROFILE_A64)
        return (struct board_code_state){.isa = BT_ISA_A64};
    struct board_code_state state = {.isa = m_profile ? BT_ISA_T32 : BT_ISA_A32};
    uint32_t psr;

    if (board_qemu_own_register(&board.qemu, BOARD_REG_CPSR, &psr))
        return board_code_state(psr, m_profile);
    for (size_t i = 0; i < count; i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_plugin_insn_size(insn) == 2 || qemu_plugin_insn_vaddr(insn) & 2)
            state.isa = BT_ISA_T32;
    }
    return state;
}

static void read_insn(const struct qemu_plugin_insn *insn, uint8_t bytes[INSN_BYTES])
{
    size_t size = qemu_plugin_insn_size(insn);
    uintptr_t data = qemu_plugin_insn_data(insn, bytes, INSN_BYTES);

    if (!insn_data_copies)
        memcpy(bytes, (const void *)data, size < INSN_BYTES ? size : INSN_BYTES);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct board_code_state state = state_of(tb, count);
    struct board_insn *records = board_code_new(&board.code, count);
    bool accesses = traces_data() || board.options.itm;

    (void)id;
    if (!records)
        return;
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint8_t bytes[INSN_BYTES] = {0};
        read_insn(insn, bytes);
        board_code_describe(&records[i], qemu_plugin_insn_vaddr(insn), bytes,
                            qemu_plugin_insn_size(insn), &state, i > 0 ? &records[i - 1] : NULL);
    }
    look_for_bkpt(tb, records, count);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (accesses)
            qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_R_REGS,
                                             QEMU_PLUGIN_MEM_RW, &records[i]);
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_insn, QEMU_PLUGIN_CB_R_REGS, &records[i]);
    }
}

/* All translated code is gone; every core stands still. */
static void on_code_flush(qemu_plugin_id_t id)
{
    (void)id;
    for (unsigned i = 0; i < board.cpu_count; i++)
        board_cpu_keep(&board.cpus[i]);
    board_code_clear(&board.code);
}

static void board_plugin_resume(struct board_cpu *c)
{
    if (!(board.debug.held >> c->index & 1))
        board_cpu_resume(c);
}

static void on_run_state(void *context, bool running, int state)
{
    (void)context;
    (void)state;
    for (unsigned i = 0; i < board.cpu_count; i++) {
        if (running)
            board_plugin_resume(&board.cpus[i]);
        else
            board_cpu_halt(&board.cpus[i], board.options.debug);
    }
    if (!running) {
        board_debug_stopped(&board);
        board_port_push(&board.port);
    }
}

static void on_vcpu(qemu_plugin_id_t id, unsigned vcpu)
{
    bool known;
    bool m_profile = board_qemu_is_m(&board.qemu, vcpu, &known);

    (void)id;
    if (known && m_profile != (board.options.profile == BOARD_PROFILE_M))
        fprintf(stderr, "virtual-board: core %u is not what argument 'profile' says\n", vcpu);
    if (vcpu < board.cpu_count)
        board.cpus[vcpu].handle = board_qemu_handle(&board.qemu, vcpu);
    atomic_fetch_add(&board.cpus_made, 1);
}

static void on_exit(qemu_plugin_id_t id, void *context)
{
    (void)id;
    (void)context;
    board_finish(&board);
}

static int board_plugin_refuse(const char *message)
{
    fprintf(stderr, "virtual-board: %s\n", message);
    return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    char message[256];
    bool wide = strcmp(info->target_name, "aarch64") == 0;

    insn_data_copies = info->version.cur >= QEMU_PLUGIN_API_COPIES;
    if (!info->system_emulation || (strcmp(info->target_name, "arm") != 0 && !wide))
        return board_plugin_refuse("needs qemu-system-arm or qemu-system-aarch64");
    if (board_options_parse(&board.options, argc, argv, message, sizeof message) != 0 ||
        board_init(&board, (unsigned)info->system.max_vcpus, message, sizeof message) != 0)
        return board_plugin_refuse(message);
    if (wide != (board.options.profile == BOARD_PROFILE_A64))
        return board_plugin_refuse(wide ? "qemu-system-aarch64 needs argument 'profile=a64'"
                                        : "argument 'profile=a64' needs qemu-system-aarch64");
    if (!board.qemu.read_register || !board.qemu.spsr)
        fprintf(stderr, "virtual-board: this QEMU does not show %s: exceptions are %s\n",
                board.qemu.read_register ? "SPSR" : "registers",
                board.qemu.read_register ? "sometimes wrong" : "traced as gaps");
    if (board.options.control) {
        board.control = board_control_start(board.options.control, board_command_line, &board);
        if (!board.control)
            return board_plugin_refuse("cannot listen at the control socket");
    }
    board_qemu_watch(&board.qemu, on_run_state, NULL);
    qemu_plugin_register_vcpu_init_cb(id, on_vcpu);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_flush_cb(id, on_code_flush);
    qemu_plugin_register_atexit_cb(id, on_exit, NULL);
    return 0;
}
