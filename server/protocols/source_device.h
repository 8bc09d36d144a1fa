/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace source's decoder configured from the registers of a recording or a board file. */
#ifndef SERVER_PROTOCOLS_SOURCE_DEVICE_H
#define SERVER_PROTOCOLS_SOURCE_DEVICE_H

#include "decoder/source/source.h"
#include "drivers/base/message.h"
#include "drivers/snapshot/snapshot.h"

/*
 * As source_protocol.configure(): of `core`, which may be NULL, the type and SCTLR count. *why
 * names the device's file.
 */
int source_device_configure(const struct source_protocol *protocol,
                            const struct snapshot_device *device,
                            const struct snapshot_device *core, struct stream_config *config,
                            unsigned *trace_id, struct message *why);

#endif
