/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the bytes of the trace port go: file, FIFO, Unix or TCP socket; at a given speed or not. */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_LINK_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private. */
struct board_link {
    int fd;
    bool socket;
    uint64_t rate;    /* bytes a second, 0: unlimited */
    bool patient;     /* a reader that is late is waited for: the pace alone holds bytes back */
    uint64_t started; /* ns */
    uint64_t written; /* bytes */
    bool broken;      /* the reader has gone */
};

/*
 * Opens file:PATH (made or emptied; a FIFO waits for its reader), or connects to unix:PATH or
 * tcp:HOST:PORT, waiting up to 10 s for a listener. `rate`: bytes a second, 0 unlimited.
 * 0 or -1 (errno).
 */
int board_link_open(struct board_link *link, const char *where, uint64_t rate);

/* Writes all of it; waits for the reader and for the pace. Bytes of a broken link are dropped. */
void board_link_write(struct board_link *link, const uint8_t *bytes, size_t size);

/* Writes what reader and pace take now. Returns bytes; all of them if the link is broken. */
size_t board_link_try(struct board_link *link, const uint8_t *bytes, size_t size);

/* Another rate from now on, which is that of a port: the reader is a model of it, and no part. */
void board_link_pace(struct board_link *link, uint64_t rate);

void board_link_close(struct board_link *link);

#endif
