/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_qemu.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "qemu_plugin_api.h"

int qemu_plugin_version = QEMU_PLUGIN_API_OLD;

/* Runs as QEMU loads the plugin, before it looks for which interface that was made. */
__attribute__((constructor)) static void choose_interface(void)
{
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_scoreboard_new")) /* came with version 2 */
        qemu_plugin_version = QEMU_PLUGIN_API_NEW;
}

/* First members of GLib's GByteArray. */
struct byte_array {
    uint8_t *data;
    unsigned size;
};

/* Beginning of QEMU's VMStateField and all of its VMStateDescription, as of versions 7.2 to 10. */
struct saved_field {
    const char *name;
    const char *hint;
    size_t offset;
    size_t size;
    size_t start;
    int count;
    size_t count_offset;
    size_t size_offset;
    const void *info;
    int flags;
    const void *description;
    int version;
    int struct_version;
    const void *exists;
};

struct saved_description {
    const char *name;
    int unmigratable;
    int version;
    int minimum_version;
    int priority;
    const void *hooks[6];
    const struct saved_field *fields;
    const struct saved_description *const *parts;
};

/* GDB's numbers of AArch64. */
#define A64_PC     32
#define A64_PSTATE 33

static void *look_up(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* Reads memory that may not exist: the layouts above are those of one version of QEMU only. */
static bool peek(void *to, const void *from, size_t size)
{
    struct iovec local = {.iov_base = to, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool peek_name(const char *from, const char *wanted)
{
    char name[32];
    size_t size = strlen(wanted) + 1;

    return size <= sizeof name && peek(name, from, size) && memcmp(name, wanted, size) == 0;
}

/* Where a description says that the member `name` is; its first one must be `first`. */
size_t board_qemu_saved_offset(const struct saved_description *description, const char *first,
                               const char *name)
{
    struct saved_description d;
    struct saved_field f;

    if (!description || !peek(&d, description, sizeof d))
        return 0;
    for (unsigned i = 0; i < 64; i++) {
        if (!peek(&f, d.fields + i, sizeof f) || !f.name)
            return 0;
        if (i == 0 && !peek_name(f.name, first))
            return 0;
        if (peek_name(f.name, name))
            return f.offset;
    }
    return 0;
}

/* The part `name` of a description, or NULL. */
const struct saved_description *board_qemu_saved_part(const struct saved_description *description,
                                                      const char *name)
{
    const struct saved_description *part;
    struct saved_description d, p;

    if (!description || !peek(&d, description, sizeof d) || !d.parts)
        return NULL;
    for (unsigned i = 0; i < 32; i++) {
        if (!peek(&part, d.parts + i, sizeof part) || !part || !peek(&p, part, sizeof p))
            return NULL;
        if (peek_name(p.name, name))
            return part;
    }
    return NULL;
}

/* Where the M profile keeps its special registers. */
static void find_masks(struct board_qemu *q, const struct saved_description *m)
{
    const struct saved_description *masks = board_qemu_saved_part(m, "cpu/m/faultmask-primask");

    q->masks[0] =
        board_qemu_saved_offset(masks, "env.v7m.faultmask[M_REG_NS]", "env.v7m.primask[M_REG_NS]");
    q->masks[1] =
        board_qemu_saved_offset(m, "env.v7m.vecbase[M_REG_NS]", "env.v7m.basepri[M_REG_NS]");
    q->masks[2] = board_qemu_saved_offset(masks, "env.v7m.faultmask[M_REG_NS]",
                                          "env.v7m.faultmask[M_REG_NS]");
    q->masks[3] =
        board_qemu_saved_offset(m, "env.v7m.vecbase[M_REG_NS]", "env.v7m.control[M_REG_NS]");
}

/* What the M profile has twice. */
static void find_security(struct board_qemu *q, const struct saved_description *arm)
{
    const struct saved_description *m = board_qemu_saved_part(arm, "cpu/m-security");
    const struct saved_description *v8m =
        board_qemu_saved_part(board_qemu_saved_part(arm, "cpu/m"), "cpu/m/v8m");

    q->secure = board_qemu_saved_offset(m, "env.v7m.secure", "env.v7m.secure");
    q->other_stacks[0] = board_qemu_saved_offset(m, "env.v7m.secure", "env.v7m.other_ss_msp");
    q->other_stacks[1] = board_qemu_saved_offset(m, "env.v7m.secure", "env.v7m.other_ss_psp");
    q->limits[0] = board_qemu_saved_offset(v8m, "env.v7m.msplim", "env.v7m.msplim");
    q->limits[1] = board_qemu_saved_offset(v8m, "env.v7m.msplim", "env.v7m.psplim");
}

static void find_debug(struct board_qemu *q)
{
    *(void **)&q->kick = look_up("qemu_cpu_kick");
    *(void **)&q->write_register = look_up("arm_cpu_gdb_write_register");
    *(void **)&q->get_space = look_up("cpu_get_address_space");
    *(void **)&q->access_space = look_up("address_space_rw");
    *(void **)&q->insert_breakpoint = look_up("cpu_breakpoint_insert");
    *(void **)&q->remove_breakpoint = look_up("cpu_breakpoint_remove");
    *(void **)&q->insert_watchpoint = look_up("cpu_watchpoint_insert");
    *(void **)&q->remove_watchpoint = look_up("cpu_watchpoint_remove");
    *(void **)&q->leave_block = look_up("cpu_loop_exit_restore");
    *(void **)&q->refresh = look_up("arm_rebuild_hflags");
}

void board_qemu_init(struct board_qemu *q)
{
    const struct saved_description *arm = look_up("vmstate_arm_cpu");

    *(void **)&q->get_cpu = look_up("qemu_get_cpu");
    *(void **)&q->read_register = look_up("arm_cpu_gdb_read_register");
    *(void **)&q->new_array = look_up("g_byte_array_new");
    *(void **)&q->resize_array = look_up("g_byte_array_set_size");
    *(void **)&q->run_on_cpu = look_up("async_run_on_cpu");
    *(void **)&q->watch_run_state = look_up("qemu_add_vm_change_state_handler");
    *(void **)&q->get_typename = look_up("object_get_typename");
    *(void **)&q->read_memory = look_up("cpu_memory_rw_debug");
    q->spsr = board_qemu_saved_offset(arm, "env.regs", "env.spsr");
    q->banked_spsr = board_qemu_saved_offset(arm, "env.regs", "env.banked_spsr");
    q->banked_lr = board_qemu_saved_offset(arm, "env.regs", "env.banked_r14");
    q->other_sp = board_qemu_saved_offset(
        board_qemu_saved_part(board_qemu_saved_part(arm, "cpu/m"), "cpu/m/other-sp"),
        "env.v7m.other_sp", "env.v7m.other_sp");
    q->regs = board_qemu_saved_offset(arm, "env.regs", "env.regs");
    find_masks(q, board_qemu_saved_part(arm, "cpu/m"));
    find_security(q, arm);
    find_debug(q);
    board_qemu_a_init(q, arm, look_up);
    *(void **)&q->read_register_a64 = look_up("aarch64_cpu_gdb_read_register");
    if (!q->get_cpu || !q->new_array || !q->resize_array || (q->a64 && !q->read_register_a64))
        q->read_register = NULL;
}

/* One array a thread: made once, never freed, as vCPU threads live as long as the machine. */
static bool read_from(const struct board_qemu *q, struct CPUState *cpu, int number, uint64_t *value)
{
    static _Thread_local struct byte_array *array;
    int size;

    if (!q->read_register || !cpu)
        return false;
    if (!array)
        array = q->new_array();
    q->resize_array(array, 0);
    size = q->a64 ? q->read_register_a64(cpu, array, number) : q->read_register(cpu, array, number);
    if ((size != 4 && size != 8) || array->size < (unsigned)size)
        return false;
    *value = 0;
    memcpy(value, array->data, (size_t)size); /* little-endian, as the host */
    return true;
}

static bool read_small(const struct board_qemu *q, struct CPUState *cpu, int number,
                       uint32_t *value)
{
    uint64_t wide;

    if (q->a64 && number != BOARD_REG_CPSR)
        return false;
    if (!read_from(q, cpu, q->a64 ? A64_PSTATE : number, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

bool board_qemu_register(const struct board_qemu *q, unsigned vcpu, int number, uint32_t *value)
{
    return q->read_register && read_small(q, q->get_cpu((int)vcpu), number, value);
}

bool board_qemu_pc(const struct board_qemu *q, unsigned vcpu, uint64_t *value)
{
    return q->read_register &&
           read_from(q, q->get_cpu((int)vcpu), q->a64 ? A64_PC : BOARD_REG_PC, value);
}

bool board_qemu_x(const struct board_qemu *q, unsigned vcpu, unsigned number, uint64_t *value)
{
    return q->read_register && q->a64 && read_from(q, q->get_cpu((int)vcpu), (int)number, value);
}

struct CPUState *board_qemu_handle(const struct board_qemu *q, unsigned vcpu)
{
    return q->get_cpu ? q->get_cpu((int)vcpu) : NULL;
}

struct CPUState **board_qemu_current(void)
{
    /* A thread-local variable of QEMU: the address that is found is that of this thread's. */
    return look_up("current_cpu");
}

bool board_qemu_own_register(const struct board_qemu *q, int number, uint32_t *value)
{
    struct CPUState **current = board_qemu_current();

    return current && read_small(q, *current, number, value);
}

static bool read_member(const struct board_qemu *q, unsigned vcpu, size_t offset, uint32_t *value)
{
    const struct CPUState *cpu = q->get_cpu ? q->get_cpu((int)vcpu) : NULL;

    if (!cpu || !offset)
        return false;
    memcpy(value, (const char *)cpu + offset, sizeof *value);
    return true;
}

bool board_qemu_spsr(const struct board_qemu *q, unsigned vcpu, uint32_t *value)
{
    return read_member(q, vcpu, q->spsr, value);
}

/* Order in which QEMU keeps the banks; -1: the mode has none of its own. */
static int bank_of(uint32_t mode)
{
    switch (mode) {
    case 0x13:
        return 1; /* Supervisor */
    case 0x17:
        return 2; /* Abort */
    case 0x1b:
        return 3; /* Undefined */
    case 0x12:
        return 4; /* IRQ */
    case 0x11:
        return 5; /* FIQ */
    case 0x16:
        return 7; /* Monitor */
    default:
        return -1;
    }
}

bool board_qemu_banked(const struct board_qemu *q, unsigned vcpu, uint32_t mode, uint32_t *spsr,
                       uint32_t *lr)
{
    int bank = bank_of(mode);

    if (bank < 0 || !q->banked_spsr || !q->banked_lr)
        return false;
    return read_member(q, vcpu, q->banked_lr + 4 * (size_t)bank, lr) &&
           /* The SPSRs of Arm cores with 64-bit modes are 8 bytes wide. */
           read_member(q, vcpu, q->banked_spsr + 8 * (size_t)bank, spsr);
}

bool board_qemu_other_sp(const struct board_qemu *q, unsigned vcpu, uint32_t *value)
{
    return read_member(q, vcpu, q->other_sp, value);
}

bool board_qemu_word(const struct board_qemu *q, unsigned vcpu, uint32_t address, uint32_t *value)
{
    struct CPUState *cpu = q->get_cpu ? q->get_cpu((int)vcpu) : NULL;
    uint8_t bytes[4];

    if (!cpu || !q->read_memory || q->read_memory(cpu, address, bytes, sizeof bytes, false) != 0)
        return false;
    *value = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
             (uint32_t)bytes[3] << 24;
    return true;
}

bool board_qemu_is_m(const struct board_qemu *q, unsigned vcpu, bool *known)
{
    struct CPUState *cpu = q->get_cpu ? q->get_cpu((int)vcpu) : NULL;
    const char *name = cpu && q->get_typename ? q->get_typename(cpu) : NULL;

    *known = name != NULL;
    return name && strncmp(name, "cortex-m", 8) == 0;
}

bool board_qemu_run_on(const struct board_qemu *q, unsigned vcpu, board_work work, void *context)
{
    struct CPUState *cpu = q->get_cpu ? q->get_cpu((int)vcpu) : NULL;

    if (!cpu || !q->run_on_cpu)
        return false;
    q->run_on_cpu(cpu, work, (union board_work_data){.pointer = context});
    return true;
}

void board_qemu_kick(const struct board_qemu *q, unsigned vcpu)
{
    struct CPUState *cpu = q->get_cpu ? q->get_cpu((int)vcpu) : NULL;

    if (cpu && q->kick)
        q->kick(cpu);
}

bool board_qemu_watch(const struct board_qemu *q, board_run_state handler, void *context)
{
    return q->watch_run_state && q->watch_run_state(handler, context);
}
