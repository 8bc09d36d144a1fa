/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/entrance.h"

#include "server/stream_connection.h"

#include <stdio.h>
#include <string.h>

/* ---- addresses --------------------------------------------------------------------------------
 */

static int adopt_all(struct entrance *e, struct message *why)
{
    unsigned count = listener_handed_over();
    if (count == 0) {
        message_set(why, "'listen = systemd', but no sockets were handed over (LISTEN_FDS): is it "
                         "started by a .socket unit?");
        return BT_ERR_IO;
    }
    for (unsigned i = 0; i < count; i++) {
        if (e->count == ENTRANCE_MAX_LISTENERS) {
            message_set(why, "more than %d sockets to listen on", ENTRANCE_MAX_LISTENERS);
            return BT_ERR_IO;
        }
        int error = listener_adopt(&e->listeners[e->count], LISTENER_FIRST_FD + (int)i, why);
        if (error)
            return error;
        e->count++;
    }
    return BT_OK;
}

int entrance_open(struct entrance *e, const struct config_access *config, struct message *why)
{
    const struct listener_file file = {config->unix_mode, config->unix_owner.uid,
                                       config->unix_owner.gid};
    int error = BT_OK;
    memset(e, 0, sizeof *e);
    for (unsigned i = 0; i < config->listen_count && !error; i++) {
        if (config->listen[i].systemd) {
            error = adopt_all(e, why);
            continue;
        }
        error = listener_bind(&e->listeners[e->count], &config->listen[i].address, &file, why);
        e->count += !error;
    }
    if (error)
        entrance_stop(e);
    return error;
}

/* ---- connections ------------------------------------------------------------------------------
 */

static void on_arrived(void *ctx, struct listener *l, int fd)
{
    struct entrance *e = ctx;
    (void)l;
    struct connection *c = stream_connection_new(e->loop, fd);
    if (c)
        e->admitted(e->ctx, c);
}

int entrance_start(struct entrance *e, uv_loop_t *loop,
                   void (*admitted)(void *ctx, struct connection *c), void *ctx,
                   struct message *why)
{
    e->loop = loop;
    e->admitted = admitted;
    e->ctx = ctx;
    for (unsigned i = 0; i < e->count; i++) {
        int error = listener_start(&e->listeners[i], loop, on_arrived, e, why);
        if (error) {
            entrance_stop(e);
            return error;
        }
    }
    return BT_OK;
}

void entrance_stop(struct entrance *e)
{
    for (unsigned i = 0; i < e->count; i++)
        listener_stop(&e->listeners[i]);
    e->count = 0;
}

/* ---- what is ready ----------------------------------------------------------------------------
 */

void entrance_announce(const struct entrance *e, bool extended)
{
    const char *target = extended ? "target extended-remote" : "target remote";
    char where[300];
    for (unsigned i = 0; i < e->count; i++) {
        const struct config_address *at = &e->listeners[i].address;
        config_format_address(at, where, sizeof where);
        if (at->kind == CONFIG_UNIX)
            fprintf(stderr, "in GDB, type: %s %s\n", target, at->host);
        else if (strcmp(at->host, "127.0.0.1") == 0)
            fprintf(stderr, "in GDB, type: %s :%u\n", target, at->port);
        else
            fprintf(stderr, "in GDB, type: %s %s\n", target, where);
    }
    for (unsigned i = 0; i < e->count; i++) {
        const struct config_address *at = &e->listeners[i].address;
        config_format_address(at, where, sizeof where);
        if (at->kind == CONFIG_UNIX) {
            fprintf(stderr, "Listening on %s\n", where);
            continue;
        }
        fprintf(stderr, "Info : Listening on port %u for gdb connections\n", at->port);
        fprintf(stderr, "Listening on port %u\n", at->port);
    }
    fflush(stderr);
}
