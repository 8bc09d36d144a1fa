/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Cortex-M that lies. Debug port and access port answer as they should; the core's registers in
 * the system control space, breakpoint and watchpoint units do so, too, as long as the input says
 * nothing else. First byte: how many calls, and which part it is; then two bytes for each call,
 * then one byte of control for each access to the bus, with the values that it asks for. */
#include <stdlib.h>
#include <string.h>

#include "drivers/cortex_m/cortex_m.h"
#include "tests/support/fuzz_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_CALLS    24u
#define MOST_BYTES    4200u
#define MOST_ACCESSES 200000u /* of one call: it has to end */
#define LOOKS         3u      /* at a core that runs, until it comes to a breakpoint */
#define UNIT_WORDS    1024u
#define DWT           0xe0001000u
#define FPB           0xe0002000u
#define SCS           0xe000e000u
#define DHCSR         0xdf0u
#define DEBUG_KEY     0xa05f0000u
#define REGRDY        0x00010000u
#define HALTED        0x00020000u
#define WAS_RESET     0x02000000u

struct input {
    struct fuzz_link link;
    const uint8_t *next;
    const uint8_t *end;
    unsigned accesses;
    uint32_t select, csw, tar;
    uint32_t state; /* what DHCSR says */
    uint32_t r[128];
    uint32_t dwt[UNIT_WORDS], fpb[UNIT_WORDS], scs[UNIT_WORDS];
    uint32_t memory[16]; /* at each address the one with the same end */
    unsigned looks;
};

static uint8_t take(struct input *in)
{
    return in->next < in->end ? *in->next++ : 0;
}

/* Values that let a driver get on: states, parts, addresses, instructions. */
static uint32_t take_value(struct input *in)
{
    static const uint32_t likely[16] = {0x01000000, 0x20000100, 0x08000101, 0x00030003,
                                        0x02010001, 0x00090001, 0x410fc241, 0x411fd210,
                                        0x10000081, 0x40000001, 0x0000be00, 0xfffffffd,
                                        0x00100001, 0xffffffff, 0,          0x00040001};
    uint8_t control = take(in);
    uint32_t value = 0;
    if (control < 0xc0)
        return likely[control & 15];
    for (unsigned k = 0; k < 4; k++)
        value = value << 8 | take(in);
    return value;
}

/* Registers, as they should be. */

static uint32_t *scs_word(struct input *in, uint32_t offset)
{
    return &in->scs[offset / 4 % UNIT_WORDS];
}

static void halt_core(struct input *in, uint32_t reason)
{
    in->state |= HALTED;
    *scs_word(in, 0xd30) |= reason;
}

static void write_dhcsr(struct input *in, uint32_t value)
{
    if ((value & 0xffff0000) != DEBUG_KEY)
        return;
    bool step = (value & 4) != 0 && (value & 1) != 0;
    in->state = (in->state & ~0xfu) | (value & 0xf);
    if ((value & 3) == 3 || step) {
        halt_core(in, 1);
    } else {
        in->state &= ~HALTED;
        in->looks = LOOKS;
    }
}

static void reset_core(struct input *in)
{
    in->state = (in->state & ~HALTED) | WAS_RESET;
    in->fpb[0] &= ~1u;
    if ((*scs_word(in, 0xdfc) & 1) != 0)
        halt_core(in, 8);
}

static void write_scs(struct input *in, uint32_t offset, uint32_t value)
{
    if (offset == DHCSR)
        write_dhcsr(in, value);
    else if (offset == 0xdf4 && (value & 0x10000) != 0)
        in->r[value & 127] = *scs_word(in, 0xdf8);
    else if (offset == 0xdf4)
        *scs_word(in, 0xdf8) = in->r[value & 127];
    else if (offset == 0xd30)
        *scs_word(in, offset) &= ~value;
    else if (offset == 0xd0c && (value & 4) != 0)
        reset_core(in);
    else if (offset != 0xd00)
        *scs_word(in, offset) = value;
}

/* A core that runs comes to a breakpoint, if the unit is on. */
static uint32_t read_dhcsr(struct input *in)
{
    uint32_t value = in->state | REGRDY;
    if ((in->state & HALTED) == 0 && (in->fpb[0] & 1) != 0 && in->looks > 0 && --in->looks == 0)
        halt_core(in, 2);
    in->state &= ~WAS_RESET;
    return value;
}

static uint32_t *unit_word(struct input *in, uint32_t address)
{
    uint32_t base = address & ~0xfffu;
    if (base == DWT || base == FPB)
        return &(base == DWT ? in->dwt : in->fpb)[address / 4 % UNIT_WORDS];
    return &in->memory[address / 4 % (sizeof in->memory / sizeof *in->memory)];
}

static void write_word(struct input *in, uint32_t address, uint32_t value)
{
    uint32_t fixed = address == FPB ? 0x70f0u : address == DWT ? 0xfffffff0u : 0;
    uint32_t *word = unit_word(in, address);
    if ((address & ~0xfffu) == SCS)
        write_scs(in, address & 0xffc, value);
    else
        *word = (*word & fixed) | (value & ~fixed);
}

static uint32_t read_word(struct input *in, uint32_t address)
{
    if ((address & ~0xfffu) != SCS)
        return *unit_word(in, address);
    return (address & 0xffc) == DHCSR ? read_dhcsr(in) : *scs_word(in, address & 0xffc);
}

static enum debug_ack refusal(uint8_t control)
{
    static const enum debug_ack acks[] = {DEBUG_ACK_WAIT, DEBUG_ACK_FAULT, DEBUG_ACK_NONE,
                                          DEBUG_ACK_PROTOCOL};
    return acks[control & 3];
}

/* One access to the bus; BT_ERR_IO: the probe is gone. */
static int bus(struct input *in, bool write, uint32_t *value, enum debug_ack *ack)
{
    uint8_t control = take(in);
    if (control == 0xff)
        return BT_ERR_IO;
    if (control >= 0xf0)
        *ack = refusal(control);
    if (*ack != DEBUG_ACK_OK)
        return 0;
    if (write)
        write_word(in, in->tar, *value);
    else
        *value = read_word(in, in->tar);
    if (!write && control >= 0xe0)
        *value ^= 1u << (take(in) & 31);
    else if (!write && control >= 0xd8)
        *value = take_value(in);
    else if (control >= 0xd0) /* it halts, sleeps, locks up, is reset by itself */
        in->state ^= HALTED << (control & 3);
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
        in->tar = base + (reg == ADIV5_AP_DRW && (in->csw & 0x10) != 0 ? 1u << (in->csw & 3) : 0);
    } else if (reg == ADIV5_AP_CSW) {
        in->csw = write ? (t->value & ~4u) | 0x40 : in->csw;
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

static void check(const struct cortex_m *core, int rc)
{
    char text[256] = "";
    bool known = rc == 0 || rc == BT_ERR_IO || rc == BT_ERR_INVAL || rc == BT_ERR_RANGE ||
                 rc == BT_ERR_UNSUPPORTED || rc == BT_ERR_FORMAT;
    if (!known || strlen(cortex_m_describe(core, text, sizeof text)) == 0)
        abort();
    if (rc == BT_ERR_IO && core->failure == CORTEX_M_FAIL_NONE)
        abort();
    if (core->breakpoint_count > CORTEX_M_BREAKPOINTS ||
        core->watchpoint_count > CORTEX_M_WATCHPOINTS || core->software_count > CORTEX_M_SOFTWARE)
        abort();
}

static int look(struct cortex_m *core)
{
    struct target_core_status s;
    struct cortex_m_exception e;
    char text[600];
    bool secure;
    int rc = cortex_m_status(core, &s);
    if (rc == 0 && (s.state > TARGET_CORE_HALTED || s.reason > TARGET_HALT_EXTERNAL ||
                    (s.state == TARGET_CORE_HALTED) != core->halted))
        abort();
    if (rc == 0 && cortex_m_exception(core, &e) == 0)
        (void)cortex_m_exception_text(&e, text, sizeof text);
    return rc ? rc : cortex_m_is_secure(core, &secure);
}

static int use_memory(struct cortex_m *core, unsigned how, uint8_t choice)
{
    uint32_t address = 0x20000000u + (choice & 7u);
    size_t length = (choice & 0x80) != 0 ? MOST_BYTES : choice;
    uint8_t *bytes = calloc(1, MOST_BYTES); /* on the heap: its ends are watched */
    unsigned size = 1u << (choice & 3);
    int rc;
    if (!bytes)
        abort();
    if (how == 0)
        rc = cortex_m_read_memory(core, address, bytes, length);
    else if (how == 1)
        rc = cortex_m_write_memory(core, address, bytes, length);
    else if (how == 2)
        rc = cortex_m_read_sized(core, address & ~7u, size, bytes, choice >> 4);
    else
        rc = cortex_m_write_sized(core, address & ~7u, size, bytes, choice >> 4);
    free(bytes);
    return rc;
}

static int use_breakpoints(struct cortex_m *core, bool insert, uint8_t choice)
{
    static const uint32_t lengths[4] = {4, 2, 20, 3};
    enum target_breakpoint_type kind =
        (enum target_breakpoint_type)(choice % 6); /* one that there is not */
    uint32_t address = (choice & 0x80 ? 0x20000000u : 0x08000000u) + (choice >> 4) * 2u;
    return insert ? cortex_m_insert(core, kind, address, lengths[choice >> 2 & 3])
                  : cortex_m_remove(core, kind, address, lengths[choice >> 2 & 3]);
}

static int use_registers(struct cortex_m *core, bool write, uint8_t choice)
{
    uint32_t value = 0;
    int rc = cortex_m_read_register(core, choice % (CORTEX_M_REGISTERS + 1), &value);
    if (rc == 0 && write)
        rc = cortex_m_write_register(core, choice % (CORTEX_M_REGISTERS + 1), value ^ choice);
    return rc;
}

static int control(struct cortex_m *core, uint8_t choice)
{
    uint32_t values[CORTEX_M_REGISTERS];
    switch (choice & 7) {
    case 0:
        return cortex_m_detach(core, (choice & 8) != 0);
    case 1:
    case 2:
        return cortex_m_reset(core, (choice & 7) == 1 ? CORTEX_M_RESET_SYSTEM : CORTEX_M_RESET_PIN);
    case 3:
        return cortex_m_vector_catch(core, choice & 8 ? CORTEX_M_CATCH_FAULTS : choice);
    case 4:
        return cortex_m_read_all(core, values);
    default:
        return cortex_m_attach(core);
    }
}

static int call(struct cortex_m *core, uint8_t what, uint8_t choice)
{
    switch (what & 15) {
    case 0:
    case 1:
        return cortex_m_halt(core);
    case 2:
        return cortex_m_resume(core);
    case 3:
        return cortex_m_step(core, (choice & 1) != 0);
    case 4:
    case 9:
        return look(core);
    case 5:
    case 6:
        return use_breakpoints(core, (what & 1) != 0, choice);
    case 7:
    case 8:
        return use_registers(core, (what & 1) != 0, choice);
    case 10:
    case 11:
    case 12:
        return control(core, choice);
    default:
        return use_memory(core, what >> 4 & 3, choice);
    }
}

static void debug(struct input *in, struct mem_ap *ap, const uint8_t *calls, unsigned count)
{
    struct cortex_m core;
    cortex_m_init(&core, ap);
    check(&core, cortex_m_attach(&core));
    for (unsigned k = 0; k < count; k++) {
        in->accesses = 0;
        check(&core, call(&core, calls[2 * k], calls[2 * k + 1]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t parts[8] = {0x410cc200, 0x410cc601, 0x412fc231, 0x410fc241,
                                      0x411fc272, 0x411cd200, 0x411fd210, 0x410fd221};
    const struct adiv5_connect_options options = {.wire = DEBUG_WIRE_SWD};
    struct adiv5_dp dp;
    struct mem_ap ap;
    unsigned count = size > 0 ? (data[0] & 31) % (MOST_CALLS + 1) : 0;
    if (size < 1 + 2 * (size_t)count)
        return 0;
    struct input in = {.link = {.transfer = transfer, .tick = 100},
                       .next = data + 1 + 2 * (size_t)count,
                       .end = data + size,
                       .csw = 0x42,
                       .dwt = {[0] = 0x40000000},
                       .fpb = {[0] = 0x260 | ((data[0] & 0x80) != 0 ? 0x10000000u : 0)},
                       .scs = {[0xd00 / 4] = parts[data[0] >> 5], [0xf40 / 4] = 0x10110021}};
    const struct debug_link link = fuzz_link(&in.link, 0);
    const struct debug_clock clock = fuzz_clock(&in.link);
    adiv5_init(&dp, &link, &clock);
    if (adiv5_connect(&dp, &options) != 0 || mem_ap_init(&ap, &dp, 1) != 0)
        abort(); /* nobody has lied yet */
    debug(&in, &ap, data + 1, count);
    return 0;
}
