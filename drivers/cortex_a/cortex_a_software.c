/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/cortex_a/cortex_a_software.h"

#include <string.h>

#include "cortex_a_internal.h"

/* BKPT #0, in the order of addresses: instructions are little-endian whatever the data is. */
static const uint8_t BKPT_A32[4] = {0x70, 0x00, 0x20, 0xe1};
static const uint8_t BKPT_T16[2] = {0x00, 0xbe};

static const uint8_t *bkpt_of(unsigned length)
{
    return length == 2 ? BKPT_T16 : BKPT_A32;
}

static int cortex_a_find(const struct cortex_a_software *s, uint32_t address)
{
    for (unsigned k = 0; k < s->count; k++) {
        if (s->list[k].address == address)
            return (int)k;
    }
    return -1;
}

bool cortex_a_software_at(const struct cortex_a *core, uint32_t address)
{
    return cortex_a_find(core->software, address) >= 0;
}

void cortex_a_show_original(const struct cortex_a_software *s, uint32_t address, uint8_t *bytes,
                            size_t length)
{
    for (unsigned k = 0; k < s->count; k++) {
        for (unsigned b = 0; b < s->list[k].length; b++) {
            uint32_t at = s->list[k].address + b - address;
            if (at < length)
                bytes[at] = s->list[k].original[b];
        }
    }
}

int cortex_a_put_back(struct cortex_a *core, uint32_t address, const uint8_t *bytes, size_t length)
{
    struct cortex_a_software *s = core->software;
    int rc = 0;
    for (unsigned k = 0; k < s->count && rc == 0; k++) {
        bool hit = false;
        for (unsigned b = 0; b < s->list[k].length; b++) {
            uint32_t at = s->list[k].address + b - address;
            if (at >= length)
                continue;
            s->list[k].original[b] = bytes[at];
            hit = true;
        }
        if (hit)
            rc = cortex_a_write_plain(core, s->list[k].address, bkpt_of(s->list[k].length),
                                      s->list[k].length);
    }
    return rc;
}

int cortex_a_insert_software(struct cortex_a *core, uint32_t address, unsigned length)
{
    struct cortex_a_software *s = core->software;
    uint8_t original[4] = {0}, now[4] = {0};
    if (cortex_a_find(s, address) >= 0)
        return 0;
    if (s->count == CORTEX_A_SOFTWARE)
        return cortex_a_fail(core, CORTEX_A_FAIL_FULL, address, BT_ERR_RANGE);
    int rc = cortex_a_read_plain(core, address, original, length);
    if (rc != 0)
        return rc;
    rc = cortex_a_write_plain(core, address, bkpt_of(length), length);
    if (rc == 0)
        rc = cortex_a_read_plain(core, address, now, length);
    bool refused = rc == BT_ERR_IO && core->failure == CORTEX_A_FAIL_ABORT;
    if (refused || (rc == 0 && memcmp(now, bkpt_of(length), length) != 0))
        return cortex_a_fail(core, CORTEX_A_FAIL_NOT_RAM, address, BT_ERR_UNSUPPORTED);
    /* Where it is not known whether the write got through, the list keeps the original. */
    s->list[s->count].address = address;
    s->list[s->count].length = (uint8_t)length;
    memcpy(s->list[s->count].original, original, sizeof original);
    s->count++;
    return rc;
}

int cortex_a_remove_software(struct cortex_a *core, uint32_t address)
{
    struct cortex_a_software *s = core->software;
    uint8_t now[4];
    int k = cortex_a_find(s, address);
    if (k < 0)
        return BT_ERR_RANGE;
    unsigned length = s->list[k].length;
    int rc = cortex_a_read_plain(core, address, now, length);
    /* A program that was loaded anew is not damaged. */
    if (rc == 0 && memcmp(now, bkpt_of(length), length) == 0)
        rc = cortex_a_write_plain(core, address, s->list[k].original, length);
    if (rc == 0)
        s->list[k] = s->list[--s->count];
    return rc;
}

int cortex_a_lift_software(struct cortex_a *core, uint32_t address, bool away)
{
    const struct cortex_a_software *s = core->software;
    int k = cortex_a_find(s, address);
    if (k < 0)
        return 0;
    return cortex_a_write_plain(
        core, address, away ? s->list[k].original : bkpt_of(s->list[k].length), s->list[k].length);
}
