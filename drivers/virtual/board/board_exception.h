/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions of the A profile, recognised by where the core is (vector and mode) and explained by
 * LR and SPSR: QEMU does not tell a plugin. The M profile stacks its state and would be another
 * file of this interface.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_EXCEPTION_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_EXCEPTION_H

#include "drivers/virtual/board/board_cpu.h"

/*
 * If the core is at `to` because of an exception (or of two without an instruction in between):
 * settles what became of `pending` (NULL: nothing was), traces the exception, and returns true.
 */
bool board_exception_take(struct board_cpu *c, const struct board_insn *pending,
                          struct board_place to);

#endif
