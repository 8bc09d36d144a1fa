/* SPDX-License-Identifier: BSD-3-Clause */
/* A serial device that trace is read from: raw bytes, 8N1, no flow control, at any rate that its
 * driver can make. */
#ifndef DRIVERS_SERIAL_PORT_H
#define DRIVERS_SERIAL_PORT_H

#include "btrace/types.h"
#include "drivers/base/message.h"

/*
 * Opens it for reading without waiting. Returns a file descriptor, or BT_ERR_IO (absent, no
 * permission, in use), BT_ERR_INVAL (no serial device), BT_ERR_UNSUPPORTED (the rate is more than
 * 3 % off), with *why telling why.
 */
int serial_port_open(const char *path, uint32_t baud, struct message *why);

#endif
