/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control socket of the board: text lines from clients, one line of reply each. A thread of its own
 * reads them; what concerns a core is done by that core's thread between two instructions.
 *
 *   flush     pending trace goes out, the frame is completed, an ETB is read out
 *   on, off   trace enable
 *   overflow  FIFO overflow now
 *   status    counters
 *   include FIRST-LAST, exclude FIRST-LAST
 *             one more address range of the trace filter
 *   include none, exclude none
 *             no such range any more
 *
 * `core N COMMAND` concerns that core alone. For a model of debug hardware around a core, numbers
 * in hexadecimal:
 *
 *   read ADDRESS SIZE, write ADDRESS BYTES
 *             memory and devices, at most 512 bytes, two digits a byte
 *   register N, register N VALUE
 *             number as in DCRSR: 0 to 16, 17 MSP, 18 PSP, 20 PRIMASK to CONTROL, and those of both
 *             security states, see board_qemu_get(); 100 which of them it is in; of the A profile
 *             0 to 15 of the current mode, 16 CPSR, 17 SPSR, 18 FPSCR, 19 FPEXC, 40 to 7f the
 *             halves of D0 to D31
 *   load ADDRESS SIZE, store ADDRESS BYTES
 *             A profile: the same through the core's MMU, within a page. "error unmapped" when that
 *             has no address for it
 *   translate ADDRESS
 *             A profile: the physical address
 *   cp15 REGISTER, cp15 REGISTER VALUE
 *             A profile: CRn<<11 | CRm<<7 | opc1<<3 | opc2; only some of them
 *   debug on, debug off
 *             the core is in Debug state, or leaves it, for its trace unit
 *   breakpoint x|r|w|a ADDRESS SIZE on|off
 *             breakpoint; watchpoint for reads, writes or both
 *   halting on, halting off
 *             whether a BKPT instruction stops the machine
 *   catch MASK
 *             bit n: the entry of exception n stops the machine, at its handler
 *   caught    number of the exception that did since the last time; 0: none
 *   etmcr VALUE
 *             the trace unit begins anew with this main control register; trace must be off
 *   etmv4 CONFIGR THRESHOLD SYNCPR
 *             the same of an ETMv4: TRCCONFIGR, TRCCCCTLR and TRCSYNCPR
 *   pace RATE, pace RATE stall
 *             bytes a second of the port (decimal); what does not fit overflows, or waits.
 *             0: no limit
 *
 * Replies: "ok BYTES" (written to the output so far), for status "ok BYTES NAME=VALUE...", for
 * what was read "ok BYTES VALUE", or "error REASON".
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_CONTROL_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_CONTROL_H

#include <stddef.h>

#define BOARD_CONTROL_CLIENTS 8
#define BOARD_CONTROL_LINE    1152

/* Answers one line, without its line end, by a line in `reply`, without one too. */
typedef void (*board_command)(void *context, const char *line, char *reply, size_t size);

struct board_control;

/* Listens at `where` (unix:PATH, made anew) and starts the thread. NULL: errno. */
struct board_control *board_control_start(const char *where, board_command command, void *context);

/* Removes the socket. The thread ends with the process. */
void board_control_stop(struct board_control *control);

#endif
