/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What software and the core tell by an ITM, while they run: text of port 0 in GDB's console, and
 * the packets to whoever connects to a port of this machine. On the event loop, but where said
 * otherwise.
 */
#ifndef SERVER_LIVE_ITM_H
#define SERVER_LIVE_ITM_H

#include "server/base/console.h"
#include "server/capture/itm_tap.h"
#include "server/capture/pipeline.h"
#include "server/net/listener.h"

struct live;
struct live_itm_reader;

struct live_itm {
    bool open; /* the board file wants an ITM */
    bool listens;
    unsigned port; /* that it listens at */
    struct itm_tap tap;
    uv_async_t wake;
    struct listener listener;
    struct live_itm_reader *readers;
};

/* Takes the address, if there is one to listen at. 0, or a bt_error with *why filled; stop and
 * release in all cases. */
int live_itm_open(struct live *l, struct message *why);

/* Closes connections and handles; then, when the loop has ended and no thread has bytes. */
void live_itm_stop(struct live *l);
void live_itm_release(struct live *l);

/* Where the pipeline hands its bytes to; all zero if there is no ITM. */
struct pipeline_passed live_itm_passed(struct live *l);

/* Text that has come is shown, before a halt is told. */
void live_itm_flush(struct live *l);

/* Text in the console of those who wait for the target. */
void live_itm_console(struct live *l, bool on);

/* A line of `monitor trace status`; nothing without an ITM. */
void live_itm_report(struct live *l, const struct console *c);

#endif
