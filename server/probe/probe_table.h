/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probes that btraced drives itself. A new one is a row in probe_table.c, and what the row
 * names.
 */
#ifndef SERVER_PROBE_TABLE_H
#define SERVER_PROBE_TABLE_H

#include "btrace/types.h"
#include "drivers/base/message.h"

struct config;
struct probe_link;

/* A probe that is attached, as far as can be seen without disturbing it. */
struct probe_listing {
    const char *type; /* of the table */
    const char *vendor;
    const char *product;
    const char *serial;
    uint16_t usb_vendor, usb_product;
    const char *usb_path; /* bus and ports, "1-2.3"; "" if not known */
    const char *firmware; /* "": not asked or not told; so are the following */
    const char *wires;    /* "SWD JTAG" */
    const char *trace;    /* "SWO UART, streaming" */
    const char *capture;  /* types of [capture] that it can be, and how: "orbtrace (...)" */
    const char *speed;    /* "480 Mbit/s"; "" if not known */
    const char *problem;  /* NULL: it can be used; else why not and what to do */
};

typedef void (*probe_listing_fn)(void *ctx, const struct probe_listing *probe);

struct probe_driver {
    const char *type;
    /* Opens the probe that the board file names: sets up p->link and, if the trace is to come
     * through it, p->swo. 0, or an error with *why filled. */
    int (*open)(struct probe_link *p, const struct config *config, struct message *why);
    void (*close)(struct probe_link *p);
    /* Calls `found` for each that is attached, also for those that cannot be opened. 0, or
     * BT_ERR_IO (USB cannot be used; *why is filled). */
    int (*list)(probe_listing_fn found, void *ctx, struct message *why);
};

/* The driver of `type` in a board file, or NULL. */
const struct probe_driver *probe_driver_named(const char *type);

/* All of them. */
const struct probe_driver *const *probe_drivers(size_t *count);

#endif
