/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way to a target through a probe of ours, from the USB device to the target's memory: opened
 * as the board file's [probe] says, and opened again after the probe was pulled.
 *
 * A link belongs to one thread at a time. Do not copy it: its parts point to each other.
 */
#ifndef SERVER_PROBE_LINK_H
#define SERVER_PROBE_LINK_H

#include "drivers/adi/mem_ap.h"
#include "drivers/coresight/coresight.h"
#include "drivers/probe/trace_stream.h"
#include "server/config/config.h"
#include "server/probe/probe_table.h"

#define PROBE_LINK_TEXT 160

struct probe_link {
    /* To be used; dp, ap and bus keep their address when the link is opened again. */
    struct adiv5_dp dp;
    struct mem_ap ap;
    struct coresight_bus bus;
    struct trace_stream swo; /* stopped; ops NULL: the trace does not come through the probe */
    struct adiv5_connect_options connect; /* for those who must wake the port up again */
    uint64_t rom;                         /* ROM table as the AP tells it; 0: none */
    bool is_open;
    unsigned generation; /* changes whenever the link is opened: the target may be another one */
    uint32_t swo_actual; /* bits a second that the probe samples SWO with */
    /* For the summary and `monitor`. */
    char name[PROBE_LINK_TEXT];     /* "Model CMSIS-DAP" */
    char serial[PROBE_LINK_TEXT];   /* "" if it has none */
    char firmware[PROBE_LINK_TEXT]; /* "" if it does not tell */
    char wire[PROBE_LINK_TEXT];     /* "SWD at 1 MHz" */
    /* Private: of the driver. */
    const struct config *config;
    const struct probe_driver *driver;
    struct debug_link link;
    void *probe;
};

/*
 * Opens the probe by `driver`, NULL if the board file names none; wakes the debug port, finds the
 * MEM-AP. With connect_under_reset nRESET is held meanwhile and the core then stands at its first
 * instruction; without it nothing is halted or reset. `config` must outlive the link. Returns 0, or
 * with *why filled BT_ERR_RANGE (no such probe), BT_ERR_IO (it cannot be opened, or the target does
 * not answer: p->dp.failure, as adiv5.h says), BT_ERR_UNSUPPORTED, BT_ERR_FORMAT, BT_ERR_NOMEM.
 * Nothing is left open after an error.
 */
int probe_link_open(struct probe_link *p, const struct probe_driver *driver,
                    const struct config *config, struct message *why);

/* Lets the wire and the probe go; the target goes on with what it does. May be called twice, and
 * for a link that is all zero. */
void probe_link_close(struct probe_link *p);

/*
 * After a failure with DEBUG_FAIL_PROBE: looks whether the probe is there again and opens it, never
 * with a reset. Costs a look at the USB devices when it is not there: once a second is fine.
 * Returns as probe_link_open(). p->generation has changed when it succeeded: halts, breakpoints
 * and trace units of the target are as they were or not, nothing is known of them.
 */
int probe_link_reopen(struct probe_link *p, struct message *why);

/* Does this failure mean that the probe is gone? */
static inline bool probe_link_is_gone(const struct probe_link *p)
{
    return !p->is_open || p->dp.failure == DEBUG_FAIL_PROBE;
}

#endif
