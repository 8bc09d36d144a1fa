/* SPDX-License-Identifier: BSD-3-Clause */
/* FTDI adapters on USB as a row of the probe table. */
#ifndef SERVER_PROBE_FTDI_H
#define SERVER_PROBE_FTDI_H

#include "server/probe/probe_table.h"

extern const struct probe_driver probe_ftdi;

#endif
