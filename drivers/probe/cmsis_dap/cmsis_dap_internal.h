/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the CMSIS-DAP driver. Commands: CMSIS-DAP manual. */
#ifndef DRIVERS_CMSIS_DAP_INTERNAL_H
#define DRIVERS_CMSIS_DAP_INTERNAL_H

#include "drivers/probe/cmsis_dap/cmsis_dap.h"

enum {
    DAP_INFO = 0x00,
    DAP_HOST_STATUS = 0x01,
    DAP_CONNECT = 0x02,
    DAP_DISCONNECT = 0x03,
    DAP_TRANSFER_CONFIGURE = 0x04,
    DAP_TRANSFER = 0x05,
    DAP_TRANSFER_BLOCK = 0x06,
    DAP_SWJ_PINS = 0x10,
    DAP_SWJ_CLOCK = 0x11,
    DAP_SWJ_SEQUENCE = 0x12,
    DAP_SWD_CONFIGURE = 0x13,
    DAP_JTAG_CONFIGURE = 0x15,
    DAP_SWO_TRANSPORT = 0x17,
    DAP_SWO_MODE = 0x18,
    DAP_SWO_BAUDRATE = 0x19,
    DAP_SWO_CONTROL = 0x1a,
    DAP_SWO_STATUS = 0x1b,
    DAP_SWO_DATA = 0x1c,
    DAP_UNKNOWN = 0xff, /* first byte of the answer to a command that is not known */
};

static inline void dap_put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static inline void dap_put32(uint8_t *p, uint32_t value)
{
    dap_put16(p, value);
    dap_put16(p + 2, value >> 16);
}

static inline uint32_t dap_get16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t dap_get32(const uint8_t *p)
{
    return dap_get16(p) | dap_get16(p + 2) << 16;
}

#endif
