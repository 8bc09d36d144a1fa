/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_CONFIG_NOTES_H
#define SERVER_CONFIG_NOTES_H

#include "server/config/config.h"

/* For --check-config: a line on standard output for each program and file that is not there. It may
 * still come: the board file is good without it. */
void config_notes(const struct config *c);

/* Opens the core's program file. A bt_error, with the reason in `why` and *elf NULL. */
struct elf_image;
int config_open_program(const struct config_core *core, struct elf_image **elf, char *why,
                        size_t size);

#endif
