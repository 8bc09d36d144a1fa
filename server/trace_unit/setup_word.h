/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * [setup] of a board file through a bus of ours: what clocks and pins need before the debug and
 * trace registers of some chips answer. Behind another GDB server live_setup() does it.
 */
#ifndef SERVER_SETUP_WORD_H
#define SERVER_SETUP_WORD_H

#include "drivers/coresight/coresight.h"
#include "server/config/config.h"

/* One line: writes the word, or reads it and changes bits. Returns as coresight.h says. */
int setup_word_write(struct coresight_bus *bus, const struct config_setup *line);

/* All lines, in their order; those that are refused are passed over: the same words are written
 * again, and complained of, when GDB comes. */
void setup_words_try(struct coresight_bus *bus, const struct config *config);

#endif
