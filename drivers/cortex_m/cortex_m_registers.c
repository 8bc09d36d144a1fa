/* SPDX-License-Identifier: BSD-3-Clause */
/* Core registers by DCRSR and DCRDR. */
#include <string.h>

#include "cortex_m_internal.h"

#define READY_LIMIT_US 100000u
#define READY_SLEEP_US 100u
#define MAX_READY      4u /* reads of DHCSR in one list */

#define SELECT_SPECIAL 20u /* CONTROL, FAULTMASK, BASEPRI, PRIMASK, a byte each */
#define SELECT_FPSCR   0x21u
#define SELECT_S0      0x40u

/* DCRSR selectors from CORTEX_M_XPSR to CORTEX_M_FPSCR; below and above they count on. */
static const struct {
    const char *name;
    uint8_t selector;
    uint8_t shift; /* of its byte, for those of SELECT_SPECIAL */
} SPECIAL[] = {
    {"xpsr", 16, 0},
    {"msp", 17, 0},
    {"psp", 18, 0},
    {"primask", SELECT_SPECIAL, 0},
    {"basepri", SELECT_SPECIAL, 8},
    {"faultmask", SELECT_SPECIAL, 16},
    {"control", SELECT_SPECIAL, 24},
    {"msp_ns", 0x18, 0},
    {"psp_ns", 0x19, 0},
    {"msp_s", 0x1a, 0},
    {"psp_s", 0x1b, 0},
    {"msplim_s", 0x1c, 0},
    {"psplim_s", 0x1d, 0},
    {"msplim_ns", 0x1e, 0},
    {"psplim_ns", 0x1f, 0},
    {"fpscr", SELECT_FPSCR, 0},
};

_Static_assert(CORTEX_M_XPSR + sizeof SPECIAL / sizeof *SPECIAL == CORTEX_M_S0,
               "one line for each register between r15 and s0");

static unsigned cortex_m_selector(unsigned reg)
{
    if (reg < CORTEX_M_XPSR)
        return reg;
    return reg < CORTEX_M_S0 ? SPECIAL[reg - CORTEX_M_XPSR].selector
                             : SELECT_S0 + (reg - CORTEX_M_S0);
}

bool cortex_m_has_register(const struct cortex_m *core, unsigned reg)
{
    if (reg >= CORTEX_M_REGISTERS)
        return false;
    if (reg >= CORTEX_M_FPSCR)
        return core->fpu;
    if (reg == CORTEX_M_MSPLIM_NS || reg == CORTEX_M_PSPLIM_NS)
        return core->arch == CORTEX_M_V8M_MAIN;
    if (reg >= CORTEX_M_MSP_S)
        return core->secure_debug; /* they would read as 0 */
    if (reg >= CORTEX_M_MSP_NS)
        return core->security;
    if (reg == CORTEX_M_BASEPRI || reg == CORTEX_M_FAULTMASK)
        return cortex_m_mainline(core);
    return true;
}

const char *cortex_m_register_name(unsigned reg)
{
    static const char *const CORE[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                       "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};
    static const char SINGLE[32][4] = {"s0",  "s1",  "s2",  "s3",  "s4",  "s5",  "s6",  "s7",
                                       "s8",  "s9",  "s10", "s11", "s12", "s13", "s14", "s15",
                                       "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23",
                                       "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31"};
    if (reg < CORTEX_M_XPSR)
        return CORE[reg];
    if (reg < CORTEX_M_S0)
        return SPECIAL[reg - CORTEX_M_XPSR].name;
    return reg < CORTEX_M_REGISTERS ? SINGLE[reg - CORTEX_M_S0] : "?";
}

static int wait_ready(struct cortex_m *core, uint32_t dhcsr)
{
    uint64_t begin = cortex_m_now(core);
    while ((dhcsr & S_REGRDY) == 0) {
        bool late = cortex_m_now(core) - begin > READY_LIMIT_US;
        int rc = cortex_m_read_dhcsr(core, &dhcsr);
        if (rc != 0)
            return rc;
        if ((dhcsr & S_HALT) == 0) {
            core->halted = false;
            return cortex_m_need_halt(core);
        }
        if ((dhcsr & S_REGRDY) == 0 && late)
            return cortex_m_fail(core, CORTEX_M_FAIL_REGISTER, 0, BT_ERR_IO);
        if ((dhcsr & S_REGRDY) == 0)
            cortex_m_sleep(core, READY_SLEEP_US);
    }
    return 0;
}

static void note_reset(struct cortex_m *core, uint32_t dhcsr)
{
    if ((dhcsr & S_RESET_ST) != 0)
        core->reset_seen = true;
}

static int read_selector(struct cortex_m *core, unsigned select, uint32_t *value)
{
    struct mem_ap_banked list[] = {{.offset = BANK_DCRSR, .write = true, .value = select},
                                   {.offset = BANK_DHCSR}};
    int rc = cortex_m_bank(core, list, 2, true);
    if (rc != 0)
        return rc;
    note_reset(core, list[1].value);
    rc = wait_ready(core, list[1].value);
    struct mem_ap_banked data = {.offset = BANK_DCRDR};
    if (rc == 0)
        rc = cortex_m_bank(core, &data, 1, true);
    *value = data.value;
    return rc;
}

static int write_selector(struct cortex_m *core, unsigned select, uint32_t value)
{
    struct mem_ap_banked list[] = {
        {.offset = BANK_DCRDR, .write = true, .value = value},
        {.offset = BANK_DCRSR, .write = true, .value = select | DCRSR_WRITE},
        {.offset = BANK_DHCSR}};
    int rc = cortex_m_bank(core, list, 3, true);
    if (rc != 0)
        return rc;
    note_reset(core, list[2].value);
    return wait_ready(core, list[2].value);
}

static bool in_special(unsigned reg)
{
    return reg >= CORTEX_M_PRIMASK && reg <= CORTEX_M_CONTROL;
}

int cortex_m_read_register(struct cortex_m *core, unsigned reg, uint32_t *value)
{
    *value = 0;
    if (!cortex_m_has_register(core, reg))
        return BT_ERR_UNSUPPORTED;
    int rc = cortex_m_need_halt(core);
    if (rc == 0)
        rc = read_selector(core, cortex_m_selector(reg), value);
    if (in_special(reg))
        *value = *value >> SPECIAL[reg - CORTEX_M_XPSR].shift & 0xff;
    return rc;
}

int cortex_m_write_register(struct cortex_m *core, unsigned reg, uint32_t value)
{
    if (!cortex_m_has_register(core, reg))
        return BT_ERR_UNSUPPORTED;
    int rc = cortex_m_need_halt(core);
    if (rc == 0 && in_special(reg)) {
        unsigned shift = SPECIAL[reg - CORTEX_M_XPSR].shift;
        uint32_t all;
        rc = read_selector(core, SELECT_SPECIAL, &all);
        value = (all & ~(0xffu << shift)) | (value & 0xff) << shift;
    }
    if (reg == CORTEX_M_PC)
        value &= ~1u;
    return rc == 0 ? write_selector(core, cortex_m_selector(reg), value) : rc;
}

/* The selectors in one list, each with some looks at DHCSR; *ready: the last look was good. */
static int read_list(struct cortex_m *core, const uint8_t *selectors, size_t count, uint32_t *data,
                     bool *ready)
{
    struct adiv5_access list[ADIV5_MAX_LIST];
    size_t n = 0;
    for (size_t k = 0; k < count; k++) {
        list[n++] = (struct adiv5_access){
            .address = ADIV5_AP_BD0 + BANK_DCRSR, .write = true, .value = selectors[k]};
        for (unsigned look = 0; look < core->ready_reads; look++)
            list[n++] = (struct adiv5_access){.address = ADIV5_AP_BD0 + BANK_DHCSR};
        list[n++] = (struct adiv5_access){.address = ADIV5_AP_BD0 + BANK_DCRDR};
    }
    int rc = adiv5_ap_list(core->ap->dp, core->ap->ap, list, n);
    if (rc != 0 && core->ap->dp->failed_at < n)
        core->ap->fault_address = SCS_DHCSR + list[core->ap->dp->failed_at].address - ADIV5_AP_BD0;
    *ready = true;
    for (size_t k = 0; rc == 0 && k < count; k++) {
        const struct adiv5_access *last = &list[(k + 1) * (core->ready_reads + 2) - 1];
        *ready = *ready && (last[-1].value & S_REGRDY) != 0;
        for (unsigned look = 1; look <= core->ready_reads; look++)
            note_reset(core, last[-(int)look].value);
        data[k] = last->value;
    }
    return rc;
}

/* TAR points at the debug registers and stays there, as long as nothing else is accessed. */
static int cortex_m_aim(struct cortex_m *core)
{
    uint32_t dhcsr;
    int rc = cortex_m_read_dhcsr(core, &dhcsr);
    if (rc == 0 && (dhcsr & S_HALT) == 0) {
        core->halted = false;
        return cortex_m_need_halt(core);
    }
    return rc;
}

static int read_selectors(struct cortex_m *core, const uint8_t *selectors, size_t count,
                          uint32_t *data)
{
    unsigned tries = 0;
    int rc = cortex_m_aim(core);
    while (rc == 0 && count > 0) {
        size_t most = ADIV5_MAX_LIST / (core->ready_reads + 2);
        size_t n = count < most ? count : most;
        bool ready = false;
        rc = read_list(core, selectors, n, data, &ready);
        if (cortex_m_again(core, rc, &tries)) {
            rc = cortex_m_aim(core);
            continue;
        }
        if (rc == 0 && !ready && core->ready_reads < MAX_READY) {
            core->ready_reads++;
            continue;
        }
        (void)cortex_m_port(core, rc);
        for (size_t k = 0; rc == 0 && !ready && k < n; k++)
            rc = read_selector(core, selectors[k], &data[k]);
        selectors += n;
        data += n;
        count -= n;
    }
    return rc;
}

int cortex_m_read_all(struct cortex_m *core, uint32_t values[CORTEX_M_REGISTERS])
{
    uint8_t selectors[CORTEX_M_REGISTERS];
    uint8_t owners[CORTEX_M_REGISTERS];
    uint32_t data[CORTEX_M_REGISTERS];
    size_t n = 0;
    memset(values, 0, CORTEX_M_REGISTERS * sizeof *values);
    for (unsigned reg = 0; reg < CORTEX_M_REGISTERS; reg++) {
        if (!cortex_m_has_register(core, reg) || (in_special(reg) && reg != CORTEX_M_PRIMASK))
            continue;
        owners[n] = (uint8_t)reg;
        selectors[n++] = (uint8_t)cortex_m_selector(reg);
    }
    int rc = cortex_m_need_halt(core);
    if (rc == 0)
        rc = read_selectors(core, selectors, n, data);
    if (rc != 0)
        return rc;
    for (size_t k = 0; k < n; k++)
        values[owners[k]] = data[k];
    uint32_t special = values[CORTEX_M_PRIMASK];
    for (unsigned reg = CORTEX_M_PRIMASK; reg <= CORTEX_M_CONTROL; reg++) {
        if (cortex_m_has_register(core, reg))
            values[reg] = special >> SPECIAL[reg - CORTEX_M_XPSR].shift & 0xff;
    }
    return 0;
}
