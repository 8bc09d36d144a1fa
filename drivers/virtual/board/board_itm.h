/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second trace source beside the first core's: the ITM with what software writes to its ports,
 * all of which are on, and with the packets that its DWT makes by itself (ARMv7-M, appendix D4):
 * exception trace, PC samples, watched data, synchronisation. Exceptions and ports are those of the
 * M profile; for other cores there are PC samples and data only.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_ITM_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_ITM_H

#include <stdbool.h>
#include <stdint.h>

#include "board_port.h"

/* Functions of an exception trace packet. */
enum board_itm_function {
    BOARD_ITM_ENTERED = 1,
    BOARD_ITM_EXITED,
    BOARD_ITM_RETURNED, /* to this one */
};

/* Private. */
struct board_itm {
    struct board_port *port;
    uint8_t id;       /* 0: there is none */
    bool lost;        /* the FIFO was full */
    unsigned packets; /* since the last synchronisation */
    uint64_t next;    /* instruction of the next PC sample */
    uint64_t period;  /* instructions */
};

/* `id`: trace ID, 0 for none: nothing is sent then. `period`: instructions between PC samples. */
void board_itm_init(struct board_itm *i, struct board_port *port, unsigned id, unsigned period);

/* Exception `number` (IPSR; 0 is Thread mode) was entered, exited or returned to. */
void board_itm_exception(struct board_itm *i, unsigned number, enum board_itm_function function);

/* Software has written to a port: `size` bytes, 1, 2 or 4. */
void board_itm_stimulus(struct board_itm *i, unsigned port, unsigned size, uint32_t value);

/* The port at this address, or -1. */
int board_itm_port(uint64_t address);

/* An access that comparator `comparator` watches, of the instruction at `pc`. */
void board_itm_access(struct board_itm *i, unsigned comparator, bool store, unsigned size,
                      uint32_t value, uint32_t pc);

/* `count` instructions have run and `address` is next: a sample if it is time for one. */
void board_itm_pc(struct board_itm *i, uint64_t count, uint32_t address);

#endif
