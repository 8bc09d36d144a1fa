/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The init sequence, [setup] of a board file, on a bus of ours: register writes for clocks and
 * pins that some chips need before their debug and trace registers answer. Behind another GDB
 * server live_setup() does it.
 */
#ifndef SERVER_INIT_SEQUENCE_H
#define SERVER_INIT_SEQUENCE_H

#include "drivers/coresight/coresight.h"
#include "server/config/config.h"

/* One register write, or a read-modify-write. Returns as coresight.h says. */
int init_sequence_write(struct coresight_bus *bus, const struct config_setup *line);

/* The whole sequence, in order. Writes that fail are ignored: the sequence runs again, with
 * warnings, when GDB connects. */
void init_sequence_try(struct coresight_bus *bus, const struct config *config);

#endif
