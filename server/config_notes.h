/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_CONFIG_NOTES_H
#define SERVER_CONFIG_NOTES_H

#include "server/config.h"

/* For --check-config: a line on standard output for each program and file that is not there. It may
 * still come: the board file is good without it. */
void config_notes(const struct config *c);

#endif
