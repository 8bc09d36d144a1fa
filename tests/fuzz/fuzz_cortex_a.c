/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ARMv7-A core that lies. Debug port and access port answer as they should; the core's debug
 * registers do so, too, as long as the input says nothing else. First byte: how many calls, then
 * two bytes for each of them, then one byte of control for each access to a debug register, with
 * the values that it asks for. What is in its system registers and its VFP is the
 * input's as well. */
#include <stdlib.h>
#include <string.h>

#include "drivers/cortex_a/cortex_a.h"
#include "tests/support/fuzz_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE          0x80090000u
#define CTI           0x80098000u
#define MOST_CALLS    24u
#define MOST_BYTES    4200u   /* beyond the words that go in the channel's fast mode */
#define MOST_ACCESSES 200000u /* of one call: it has to end */
#define DSCR_READY    0x01000000u
#define DSCR_FAST     0x00200000u
#define DSCR_MODES    0x0030fc3cu /* what can be written */
#define DSCR_TX       0x20000000u
#define DSCR_RX       0x40000000u
#define GIVE          0xee100e15u
#define TAKE          0xee000e15u
#define LOAD          0x00100000u
#define RN            0xffff0fffu /* an instruction without the number of its register */
#define LOOKS         3u          /* at a core that runs, until it comes to a breakpoint */

struct input {
    struct fuzz_link link;
    const uint8_t *next;
    const uint8_t *end;
    unsigned accesses;
    uint32_t select, csw, tar;
    uint32_t dscr, didr, rx, tx;
    uint32_t r[16];
    uint8_t memory[64]; /* at each address the one with the same end */
    unsigned looks;
    unsigned armed; /* comparators that are on: one bit each, watchpoints from 16 on */
};

static uint8_t take(struct input *in)
{
    return in->next < in->end ? *in->next++ : 0;
}

/* Values that let a driver get on: modes, addresses, instructions. */
static uint32_t take_value(struct input *in)
{
    static const uint32_t likely[16] = {0x60000000, 0x600001d3, 0x600001f3, 0x60000010,
                                        0x40000000, 0x10110222, 0x00001004, 0x83338003,
                                        0xe1200070, 0xe4901004, 0x0000be00, 0xf8512b04,
                                        0x00f00000, 0xffffffff, 0,          0xe5910000};
    uint8_t control = take(in);
    uint32_t value = 0;
    if (control < 0xc0)
        return likely[control & 15];
    for (unsigned k = 0; k < 4; k++)
        value = value << 8 | take(in);
    return value;
}

/* Debug registers, as they should be. */

static void run(struct input *in, uint32_t value)
{
    if ((value & 4) != 0)
        in->dscr &= ~0x1c0u;
    if ((value & 1) != 0)
        in->dscr |= 1;
    if ((value & 2) != 0) {
        in->dscr = (in->dscr & ~1u) | 2;
        in->looks = LOOKS;
    }
}

/* A core that runs comes to a breakpoint or watchpoint, if there is one. */
static uint32_t state(struct input *in)
{
    uint32_t reason = (in->armed & 0xffff) != 0 ? 1 : 10;
    if ((in->dscr & 1) == 0 && in->armed != 0 && in->looks > 0 && --in->looks == 0)
        in->dscr = (in->dscr & ~0x3cu) | 1 | reason << 2;
    return in->dscr | DSCR_READY;
}

/* LDR, LDRH, LDRB and their stores, of r1 at r0, which goes on behind it. */
static bool is_access(struct input *in, uint32_t opcode)
{
    static const struct {
        uint32_t load;
        unsigned size;
    } forms[] = {{0xe4901004, 4}, {0xe0d010b2, 2}, {0xe4d01001, 1}};
    for (unsigned k = 0; k < 3; k++) {
        if ((opcode | LOAD) != forms[k].load)
            continue;
        uint32_t value = 0;
        for (unsigned i = 0; i < forms[k].size; i++) {
            uint8_t *byte = &in->memory[(in->r[0] + i) % sizeof in->memory];
            if ((opcode & LOAD) != 0)
                value |= (uint32_t)*byte << 8 * i;
            else
                *byte = (uint8_t)(in->r[1] >> 8 * i);
        }
        in->r[1] = (opcode & LOAD) != 0 ? value : in->r[1];
        in->r[0] += forms[k].size;
        return true;
    }
    return false;
}

static void execute(struct input *in, uint32_t opcode)
{
    unsigned n = opcode >> 12 & 15;
    if ((opcode & RN) == GIVE) {
        in->dscr &= ~DSCR_RX;
        in->r[n] = in->rx;
    } else if ((opcode & RN) == TAKE) {
        in->dscr |= DSCR_TX;
        in->tx = in->r[n];
    } else if (!is_access(in, opcode)) {
        in->r[0] = take_value(in);
    }
}

static void note_armed(struct input *in, unsigned bit, uint32_t control)
{
    in->armed = (in->armed & ~(1u << bit)) | (control & 1) << bit;
}

static void write_register(struct input *in, uint32_t offset, uint32_t value)
{
    if (offset == 0x80) {
        in->rx = value;
        in->dscr |= (in->dscr & DSCR_FAST) == 0 ? DSCR_RX : 0;
    } else if (offset == 0x84) {
        execute(in, value);
    } else if (offset == 0x88) {
        in->dscr = (in->dscr & ~DSCR_MODES) | (value & DSCR_MODES);
    } else if (offset == 0x90) {
        run(in, value);
    } else if (offset >= 0x140 && offset < 0x180) {
        note_armed(in, offset >> 2 & 15, value);
    } else if (offset >= 0x1c0 && offset < 0x200) {
        note_armed(in, 16 + (offset >> 2 & 15), value);
    }
}

static uint32_t read_register(struct input *in, uint32_t offset)
{
    switch (offset) {
    case 0x000:
        return in->didr;
    case 0x084:
        return 0x60000108;
    case 0x088:
        return state(in);
    case 0x08c:
        if ((in->dscr & DSCR_FAST) == 0)
            in->dscr &= ~DSCR_TX;
        return in->tx;
    case 0x314:
        return 1;
    case 0xd00:
        return 0x413fc090;
    default:
        return 0;
    }
}

static enum debug_ack refusal(uint8_t control)
{
    static const enum debug_ack acks[] = {DEBUG_ACK_WAIT, DEBUG_ACK_FAULT, DEBUG_ACK_NONE,
                                          DEBUG_ACK_PROTOCOL};
    return acks[control & 3];
}

/* One access to the debug bus; BT_ERR_IO: the probe is gone. */
static int bus(struct input *in, bool write, uint32_t *value, enum debug_ack *ack)
{
    uint8_t control = take(in);
    uint32_t offset = in->tar - BASE;
    if (control == 0xff)
        return BT_ERR_IO;
    if (control >= 0xf0)
        *ack = refusal(control);
    if (*ack != DEBUG_ACK_OK)
        return 0;
    if (write && offset < 0x1000)
        write_register(in, offset, *value);
    else if (!write)
        *value = offset < 0x1000 ? read_register(in, offset) : 0;
    if (!write && control >= 0xe0)
        *value ^= 1u << (take(in) & 31);
    else if (!write && control >= 0xd8)
        *value = take_value(in);
    else if (control >= 0xd0) /* it stops, runs, aborts by itself */
        in->dscr ^= (control & 3) == 3 ? 0x40u : 1u << (control & 1);
    return 0;
}

static int access_port(struct input *in, struct debug_transfer *t, enum debug_ack *ack)
{
    bool write = (t->request & DEBUG_READ) == 0;
    unsigned reg = (in->select & 0xf0) | (t->request & DEBUG_REG_MASK);
    uint32_t base = in->tar;
    int rc = 0;
    if (reg == ADIV5_AP_DRW || (reg >= 0x10 && reg < 0x20)) {
        in->tar = reg == ADIV5_AP_DRW ? base : (base & ~0xfu) | (reg & 0xc);
        rc = bus(in, write, &t->value, ack);
        in->tar = base + (reg == ADIV5_AP_DRW && (in->csw & 0x10) != 0 ? 4 : 0);
    } else if (reg == ADIV5_AP_CSW) {
        in->csw = write ? (t->value & ~7u) | 0x42 : in->csw;
        t->value = in->csw;
    } else if (reg == ADIV5_AP_TAR) {
        in->tar = write ? t->value : in->tar;
        t->value = in->tar;
    } else if (!write) {
        t->value = reg == ADIV5_AP_IDR ? 0x44770002 : 0;
    }
    return rc;
}

static int transfer(void *self, struct debug_transfer *list, size_t count, struct debug_result *r)
{
    struct input *in = self;
    *r = (struct debug_result){.ack = DEBUG_ACK_OK};
    for (size_t k = 0; k < count; k++) {
        bool read = (list[k].request & DEBUG_READ) != 0;
        unsigned reg = list[k].request & DEBUG_REG_MASK;
        int rc = 0;
        if (++in->accesses > MOST_ACCESSES)
            abort();
        if ((list[k].request & DEBUG_AP) != 0)
            rc = access_port(in, &list[k], &r->ack);
        else if (read)
            list[k].value = reg == 0 ? 0x2ba01477 : reg == 4 ? 0xf0000000 : 0;
        else if (reg == 8)
            in->select = list[k].value;
        if (rc != 0 || r->ack != DEBUG_ACK_OK)
            return rc;
        r->done++;
    }
    return 0;
}

static void check(const struct cortex_a *core, int rc)
{
    char text[256] = "";
    bool known = rc == 0 || rc == BT_ERR_IO || rc == BT_ERR_INVAL || rc == BT_ERR_RANGE ||
                 rc == BT_ERR_UNSUPPORTED || rc == BT_ERR_FORMAT;
    if (!known || strlen(cortex_a_describe(core, text, sizeof text)) == 0)
        abort();
    if (rc == BT_ERR_IO && core->failure == CORTEX_A_FAIL_NONE)
        abort();
    if (core->breakpoint_count > CORTEX_A_BREAKPOINTS ||
        core->watchpoint_count > CORTEX_A_WATCHPOINTS || core->software->count > CORTEX_A_SOFTWARE)
        abort();
}

static int look(struct cortex_a *core)
{
    struct target_core_status s;
    char text[80];
    int rc = cortex_a_status(core, &s);
    if (rc == 0 && (s.state > TARGET_CORE_HALTED || s.reason > TARGET_HALT_EXTERNAL ||
                    (s.state == TARGET_CORE_HALTED) != core->halted))
        abort();
    (void)cortex_a_mode_text(core->values[CORTEX_A_CPSR], text, sizeof text);
    return rc;
}

static int use_memory(struct cortex_a *core, unsigned how, uint8_t choice)
{
    uint32_t address = 0x40000000u + (choice & 7u);
    size_t length = (choice & 0x80) != 0 ? MOST_BYTES : choice;
    uint8_t *bytes = calloc(1, MOST_BYTES); /* on the heap: its ends are watched */
    unsigned size = 1u << (choice & 3);
    int rc;
    if (!bytes)
        abort();
    if (how == 0)
        rc = cortex_a_read_memory(core, address, bytes, length);
    else if (how == 1)
        rc = cortex_a_write_memory(core, address, bytes, length);
    else if (how == 2)
        rc = cortex_a_read_sized(core, address & ~7u, size, bytes, choice >> 4);
    else
        rc = cortex_a_write_sized(core, address & ~7u, size, bytes, choice >> 4);
    free(bytes);
    return rc;
}

static int use_vfp(struct cortex_a *core, uint8_t choice)
{
    check(core, cortex_a_load_vfp(core, choice & 0x20 ? 32 : choice & 0x1f));
    check(core, cortex_a_write_double(core, choice & 0x3f, core->vfp[0]));
    return cortex_a_write_fpscr(core, (uint32_t)core->vfp[32]);
}

static int use_breakpoints(struct cortex_a *core, bool insert, uint8_t choice)
{
    static const uint32_t lengths[4] = {4, 2, 20, 3};
    enum target_breakpoint_type kind =
        (enum target_breakpoint_type)(choice % 6); /* one that there is not */
    uint32_t address = 0x60000000u + (choice >> 4) * 2u;
    return insert ? cortex_a_insert(core, kind, address, lengths[choice >> 2 & 3])
                  : cortex_a_remove(core, kind, address, lengths[choice >> 2 & 3]);
}

static int use_registers(struct cortex_a *core, bool write, uint8_t choice)
{
    uint32_t value = 0;
    int rc = cortex_a_read_register(core, choice % (CORTEX_A_REGISTERS + 1), &value);
    if (rc == 0 && write)
        rc = cortex_a_write_register(core, choice % (CORTEX_A_REGISTERS + 1), value ^ choice);
    return rc;
}

static int use_system(struct cortex_a *core, bool write, uint8_t choice)
{
    uint32_t value = choice;
    return write ? cortex_a_write_system(core, 0xee010f10, value)
                 : cortex_a_read_system(core, 0xee110f10, &value);
}

static int control(struct cortex_a *core, uint8_t choice)
{
    switch (choice & 7) {
    case 0:
        return cortex_a_detach(core);
    case 1:
        return cortex_a_warm_reset(core);
    case 2:
        return cortex_a_catch_reset(core, (choice & 8) != 0);
    case 3:
        return cortex_a_join(core, choice >> 4);
    case 4:
        return cortex_a_leave(core);
    case 6:
        cortex_a_code_changed(core);
        return 0;
    default:
        return cortex_a_attach(core);
    }
}

static int call(struct cortex_a *core, uint8_t what, uint8_t choice)
{
    switch (what & 15) {
    case 0:
    case 1:
        return cortex_a_halt(core);
    case 2:
        return cortex_a_resume(core);
    case 3:
        return cortex_a_step(core, (choice & 1) != 0);
    case 4:
        return look(core);
    case 5:
    case 6:
        return use_breakpoints(core, (what & 1) != 0, choice);
    case 7:
    case 8:
        return use_registers(core, (what & 1) != 0, choice);
    case 9:
    case 10:
        return use_system(core, (what & 1) != 0, choice);
    case 11:
        return use_vfp(core, choice);
    case 12:
        return control(core, choice);
    default:
        return use_memory(core, what >> 4 & 3, choice);
    }
}

static void debug(struct input *in, struct mem_ap *ap, const uint8_t *calls, unsigned count)
{
    struct cortex_a_software software = {.count = 0};
    struct cortex_a core;
    cortex_a_init(&core, ap, BASE, &software);
    core.cti = CTI;
    int rc = cortex_a_attach(&core);
    check(&core, rc);
    for (unsigned k = 0; k < count; k++) {
        in->accesses = 0;
        check(&core, call(&core, calls[2 * k], calls[2 * k + 1]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct adiv5_connect_options options = {.wire = DEBUG_WIRE_SWD};
    struct adiv5_dp dp;
    struct mem_ap ap;
    unsigned count = size > 0 ? data[0] % (MOST_CALLS + 1) : 0;
    if (size < 1 + 2 * (size_t)count)
        return 0;
    struct input in = {.link = {.transfer = transfer, .tick = 100},
                       .next = data + 1 + 2 * (size_t)count,
                       .end = data + size,
                       .csw = 0x42,
                       .dscr = 0x2,
                       .didr = (data[0] & 0x80) != 0 ? 0x35137000 : 0xf5047000};
    const struct debug_link link = fuzz_link(&in.link, 0);
    const struct debug_clock clock = fuzz_clock(&in.link);
    adiv5_init(&dp, &link, &clock);
    if (adiv5_connect(&dp, &options) != 0 || mem_ap_init(&ap, &dp, 1) != 0)
        abort(); /* nobody has lied yet */
    for (size_t k = 0; k < sizeof in.memory; k++)
        in.memory[k] = data[size - 1 - k % (size < 4 ? 1 : 4)]; /* an instruction */
    debug(&in, &ap, data + 1, count);
    return 0;
}
