/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads and stores of the first core, as its ITM and DWT see them: writes to stimulus ports, and
 * data that a comparator watches. */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_DATA_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_DATA_H

#include "board_cpu.h"

struct board_data {
    uint32_t address;
    unsigned size; /* bytes; more than a word is more than one access */
    bool store;
};

/* `insn` has made it. What goes into the trace goes to the truth's log, too: "stimulus PORT SIZE
 * VALUE", "watch COMPARATOR load|store SIZE VALUE PC". */
void board_data_access(struct board_cpu *c, const struct board_ranges *watch,
                       const struct board_insn *insn, const struct board_data *access);

#endif
