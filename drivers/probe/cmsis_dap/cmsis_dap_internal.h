/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the CMSIS-DAP driver. Commands: CMSIS-DAP manual. */
#ifndef DRIVERS_CMSIS_DAP_INTERNAL_H
#define DRIVERS_CMSIS_DAP_INTERNAL_H

#include "decoder/base/bytes.h"
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

#endif
