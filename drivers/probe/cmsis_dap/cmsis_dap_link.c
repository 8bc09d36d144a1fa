/* SPDX-License-Identifier: BSD-3-Clause */
/* The small commands of a debug link; accesses are in cmsis_dap_transfer.c. */
#include <string.h>

#include "cmsis_dap_internal.h"

#define SEQUENCE_MAX_BITS 256u /* of one command; its count byte is 0 then */
#define MATCH_RETRIES     0u
#define PIN_WAIT_MAX_US   3000000u
#define CHAIN_MAX         16u

#define PORT_SWD  1u
#define PORT_JTAG 2u

static int dap_connect(void *self, enum debug_wire wire)
{
    struct cmsis_dap *dap = self;
    uint32_t need = wire == DEBUG_WIRE_SWD ? CMSIS_DAP_CAP_SWD : CMSIS_DAP_CAP_JTAG;
    uint8_t port = wire == DEBUG_WIRE_SWD ? PORT_SWD : PORT_JTAG;
    if ((dap->caps & need) == 0)
        return BT_ERR_UNSUPPORTED;
    const uint8_t command[] = {DAP_CONNECT, port};
    const uint8_t *answer;
    size_t length;
    int rc = cmsis_dap_command(dap, command, sizeof command, &answer, &length);
    if (rc != 0)
        return rc;
    if (length < 2)
        return BT_ERR_FORMAT;
    if (answer[1] != port)
        return BT_ERR_UNSUPPORTED;
    /* One turnaround clock, no data phase after WAIT and FAULT. */
    const uint8_t configure[] = {DAP_SWD_CONFIGURE, 0};
    if (wire == DEBUG_WIRE_SWD)
        rc = cmsis_dap_status(dap, configure, sizeof configure);
    if (rc != 0)
        return rc;
    /* A light that does not burn is no reason to fail. */
    const uint8_t light[] = {DAP_HOST_STATUS, 0, 1};
    rc = cmsis_dap_status(dap, light, sizeof light);
    return rc == BT_ERR_IO ? rc : 0;
}

static int dap_disconnect(void *self)
{
    const uint8_t light[] = {DAP_HOST_STATUS, 0, 0};
    const uint8_t command[] = {DAP_DISCONNECT};
    (void)cmsis_dap_status(self, light, sizeof light);
    return cmsis_dap_status(self, command, sizeof command);
}

static int dap_set_clock(void *self, uint32_t hz)
{
    struct cmsis_dap *dap = self;
    uint8_t command[5] = {DAP_SWJ_CLOCK};
    if (hz == 0)
        return BT_ERR_INVAL;
    dap_put32(command + 1, hz);
    dap->clock_hz = hz;
    return cmsis_dap_status(dap, command, sizeof command);
}

static int dap_configure(void *self, uint8_t idle_clocks, uint16_t wait_retries)
{
    struct cmsis_dap *dap = self;
    uint8_t command[6] = {DAP_TRANSFER_CONFIGURE, idle_clocks};
    dap->retries = wait_retries;
    dap_put16(command + 2, wait_retries);
    dap_put16(command + 4, MATCH_RETRIES);
    return cmsis_dap_status(dap, command, sizeof command);
}

/* Any number of bits: all but the last command have whole bytes. */
static int dap_sequence(void *self, unsigned bits, const uint8_t *bytes)
{
    struct cmsis_dap *dap = self;
    uint8_t command[2 + SEQUENCE_MAX_BITS / 8] = {DAP_SWJ_SEQUENCE};
    size_t room = cmsis_dap_command_limit(dap) - 2;
    unsigned most = room < SEQUENCE_MAX_BITS / 8 ? (unsigned)room * 8 : SEQUENCE_MAX_BITS;
    while (bits > 0) {
        unsigned now = bits < most ? bits : most;
        size_t size = (now + 7) / 8;
        command[1] = (uint8_t)now;
        memcpy(command + 2, bytes, size);
        int rc = cmsis_dap_status(dap, command, 2 + size);
        if (rc != 0)
            return rc;
        bits -= now;
        bytes += size;
    }
    return 0;
}

static int dap_pins(void *self, uint8_t output, uint8_t select, uint32_t wait_us, uint8_t *input)
{
    uint8_t command[7] = {DAP_SWJ_PINS, output, select};
    const uint8_t *answer;
    size_t length;
    if (wait_us > PIN_WAIT_MAX_US)
        wait_us = PIN_WAIT_MAX_US;
    dap_put32(command + 3, wait_us);
    int rc =
        cmsis_dap_command_slow(self, command, sizeof command, &answer, &length, wait_us / 1000);
    if (rc != 0)
        return rc;
    if (length < 2)
        return BT_ERR_FORMAT;
    *input = answer[1];
    return 0;
}

static int dap_jtag_chain(void *self, const uint8_t *ir_lengths, unsigned count, unsigned index)
{
    struct cmsis_dap *dap = self;
    uint8_t command[2 + CHAIN_MAX] = {DAP_JTAG_CONFIGURE, (uint8_t)count};
    if (count == 0 || count > CHAIN_MAX || index >= count)
        return BT_ERR_INVAL;
    memcpy(command + 2, ir_lengths, count);
    int rc = cmsis_dap_status(dap, command, 2 + count);
    if (rc == 0)
        dap->dap_index = (uint8_t)index;
    return rc;
}

static const struct debug_link_ops LINK_OPS = {
    .connect = dap_connect,
    .disconnect = dap_disconnect,
    .set_clock = dap_set_clock,
    .configure = dap_configure,
    .sequence = dap_sequence,
    .pins = dap_pins,
    .jtag_chain = dap_jtag_chain,
    .transfer = cmsis_dap_link_transfer,
    .block = cmsis_dap_link_block,
};

struct debug_link cmsis_dap_link(struct cmsis_dap *dap)
{
    struct debug_link link = {.ops = &LINK_OPS, .self = dap};
    if ((dap->caps & CMSIS_DAP_CAP_SWD) != 0)
        link.caps |= DEBUG_LINK_SWD;
    if ((dap->caps & CMSIS_DAP_CAP_JTAG) != 0)
        link.caps |= DEBUG_LINK_JTAG;
    return link;
}
