/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions, recognised by where the core is and in what state: QEMU does not tell a plugin. Those
 * of the A profile are explained by LR and SPSR (board_exception.c), of AArch64 by ELR and ESR
 * (board_exception_a64.c), those of the M profile by what they
 * have pushed (board_exception_m.c). */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_EXCEPTION_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_EXCEPTION_H

#include "board_cpu.h"

/*
 * If the core is at `to` because of an exception (or of several without an instruction in between):
 * finds out what became of `pending` (NULL: nothing was), traces the exception, and returns true.
 * For the M profile notes, too, that `pending` is an exception return to `to`,
 * and returns false. */
bool board_exception_take(struct board_cpu *c, const struct board_insn *pending,
                          struct board_place to);

/* AArch64's part of it, and the M profile's. */
bool board_exception_take_a64(struct board_cpu *c, const struct board_insn *pending,
                              struct board_place to);
bool board_exception_take_m(struct board_cpu *c, const struct board_insn *pending,
                            struct board_place to);

/*
 * For both: an exception to c->next goes to log and trace unit. `x`: without the vector; see
 * board_unit_exception() for `cancelled`.
 */
void board_exception_trace(struct board_cpu *c, const struct board_exception *x,
                           const struct board_insn *cancelled);

#endif
