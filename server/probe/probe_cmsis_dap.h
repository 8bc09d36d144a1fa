/* SPDX-License-Identifier: BSD-3-Clause */
/* CMSIS-DAP probes on USB as a row of the probe table. */
#ifndef SERVER_PROBE_CMSIS_DAP_H
#define SERVER_PROBE_CMSIS_DAP_H

#include "server/probe/probe_table.h"

extern const struct probe_driver probe_cmsis_dap;

#endif
