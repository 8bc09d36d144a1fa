/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The virtual board as a whole: cores with trace units, one trace port, control. */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_H

#include "board_code.h"
#include "board_control.h"
#include "board_cpu.h"
#include "board_debug.h"
#include "board_options.h"
#include "board_port.h"

enum board_request {
    BOARD_REQUEST_FLUSH,
    BOARD_REQUEST_ON,
    BOARD_REQUEST_OFF,
    BOARD_REQUEST_OVERFLOW,
    BOARD_REQUEST_STATUS,
    BOARD_REQUEST_FILTER,
    BOARD_REQUEST_DEBUG,
    BOARD_REQUESTS
};

#define BOARD_ALL_CORES UINT32_MAX

/* A command on its way through the cores' threads; all under `lock`. */
struct board_desk {
    pthread_mutex_t lock;
    pthread_cond_t served;
    enum board_request request;
    uint64_t ticket;       /* of the request; a late core finds that it is not its own any more */
    unsigned outstanding;  /* cores */
    unsigned only;         /* the core that is meant; BOARD_ALL_CORES */
    uint64_t instructions; /* sums of a status request */
    uint64_t overflows;
    uint64_t anomalies;
    struct board_debug_order order; /* with its answer */
};

struct board {
    struct board_options options;
    struct board_qemu qemu;
    struct board_code code;
    struct board_port port;
    struct board_itm itm;
    atomic_uint_fast64_t clock;
    struct board_cpu *cpus;
    unsigned cpu_count;
    atomic_uint cpus_made;      /* vCPUs that exist */
    struct board_filter filter; /* as the control thread has set it */
    struct board_desk desk;
    struct board_debug debug;
    struct board_control *control;
};

/* Everything but the control socket. 0, or -1 with the reason in `message`. */
int board_init(struct board *b, unsigned cpu_count, char *message, size_t size);

/* The machine ends: last bytes, files closed. */
void board_finish(struct board *b);

/* See board_control.h; `context` is a struct board. */
void board_command_line(void *context, const char *line, char *reply, size_t size);

#endif
