/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/access/access_control.h"

#include "access_control_internal.h"
#include "server/base/log.h"

#include <stdio.h>
#include <string.h>

static int adopt_all(struct access_control *e, const struct config_access *config,
                     struct message *why)
{
    unsigned count = listener_handed_over();
    if (count == 0) {
        message_set(why, "'listen = systemd', but no sockets were handed over (LISTEN_FDS): is it "
                         "started by a .socket unit?");
        return BT_ERR_IO;
    }
    for (unsigned i = 0; i < count; i++) {
        struct config_listen as = {.systemd = true};
        if (e->count == ACCESS_CONTROL_MAX_LISTENERS) {
            message_set(why, "more than %d sockets to listen on", ACCESS_CONTROL_MAX_LISTENERS);
            return BT_ERR_IO;
        }
        int error = listener_adopt(&e->listeners[e->count], LISTENER_FIRST_FD + (int)i, why);
        if (error)
            return error;
        as.address = e->listeners[e->count++].address;
        error = config_access_guarded(config, &as, why);
        if (error)
            return error;
    }
    return BT_OK;
}

static int open_listeners(struct access_control *e, const struct config_access *config,
                          struct message *why)
{
    const struct listener_file file = {config->unix_mode, config->unix_owner.uid,
                                       config->unix_owner.gid};
    int error = BT_OK;
    for (unsigned i = 0; i < config->listen_count && !error; i++) {
        if (config->listen[i].systemd) {
            error = adopt_all(e, config, why);
            continue;
        }
        error = listener_bind(&e->listeners[e->count], &config->listen[i].address, &file, why);
        if (!error)
            e->tls[e->count++] = config->listen[i].tls;
    }
    return error;
}

static void warn(const struct access_control *e)
{
    char where[300];
    for (unsigned i = 0; i < e->count; i++) {
        if (e->listeners[i].loopback || access_control_wants_tls(e, i))
            continue;
        address_format(&e->listeners[i].address, where, sizeof where);
        log_write(LOG_AT_WARNING,
                  "%s: warning: whoever has an address of the networks in 'allow' controls the "
                  "target through %s: an address proves nothing, and nothing is encrypted; a "
                  "section [tls] would do both\n",
                  e->command, where);
    }
}

/* What holds for those who come. */

int access_control_reload(struct access_control *e, const struct config_access *config,
                          const char *path, struct message *why)
{
    struct tls_context *fresh = NULL;
    if (config_has_tls(config)) {
        fresh = tls_context_server(&config->tls, path, why);
        if (!fresh)
            return BT_ERR_FORMAT;
    }
    for (unsigned i = 0; i < e->count; i++) {
        const struct config_listen as = {.tls = e->tls[i], .address = e->listeners[i].address};
        if (config_access_guarded(config, &as, why) != BT_OK) {
            tls_context_drop(fresh);
            return BT_ERR_FORMAT;
        }
    }
    tls_context_drop(e->context);
    e->context = fresh;
    e->handshake_ms = config->tls.handshake * 1000;
    memcpy(e->allow, config->allow, sizeof e->allow);
    e->allow_count = config->allow_count;
    return BT_OK;
}

int access_control_open(struct access_control *e, const struct config_access *config,
                        const char *path, const char *command, struct message *why)
{
    memset(e, 0, sizeof *e);
    e->command = command;
    int error = access_control_reload(e, config, path, why);
    if (!error)
        error = open_listeners(e, config, why);
    if (error)
        access_control_stop(e);
    else
        warn(e);
    return error;
}

static void on_arrived(void *ctx, struct listener *l, int fd)
{
    struct access_control *e = ctx;
    access_control_receive(e, (unsigned)(l - e->listeners), fd);
}

int access_control_start(struct access_control *e, uv_loop_t *loop,
                         void (*admitted)(void *ctx, struct connection *c), void *ctx,
                         struct message *why)
{
    e->loop = loop;
    e->admitted = admitted;
    e->ctx = ctx;
    e->started = true;
    uv_timer_init(loop, &e->deadline);
    e->deadline.data = e;
    for (unsigned i = 0; i < e->count; i++) {
        int error = listener_start(&e->listeners[i], loop, on_arrived, e, why);
        if (error) {
            access_control_stop(e);
            return error;
        }
    }
    return BT_OK;
}

void access_control_stop(struct access_control *e)
{
    for (unsigned i = 0; i < e->count; i++)
        listener_stop(&e->listeners[i]);
    e->count = 0;
    if (e->started) {
        access_control_clear(e);
        uv_close((uv_handle_t *)&e->deadline, NULL);
    }
    e->started = false;
    tls_context_drop(e->context);
    e->context = NULL;
}

/* What is ready. */

/* An address that stands for all is none that can be connected to. */
static bool is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void report_what_to_type(const struct access_control *e, unsigned i, const char *target)
{
    struct address at = e->listeners[i].address;
    char where[300];
    if (is_any(at.host))
        snprintf(at.host, sizeof at.host, "HOST");
    address_format(&at, where, sizeof where);
    if (access_control_wants_tls(e, i))
        log_write(LOG_AT_INFO,
                  "in GDB, type: %s | btraced connect %s --ca CA --cert CERT --key KEY\n", target,
                  where);
    else if (at.kind == ADDRESS_UNIX)
        log_write(LOG_AT_INFO, "in GDB, type: %s %s\n", target, at.host);
    else if (strcmp(at.host, "127.0.0.1") == 0)
        log_write(LOG_AT_INFO, "in GDB, type: %s :%u\n", target, at.port);
    else
        log_write(LOG_AT_INFO, "in GDB, type: %s %s\n", target, where);
}

void access_control_announce(const struct access_control *e, bool extended)
{
    char where[300];
    for (unsigned i = 0; i < e->count; i++)
        report_what_to_type(e, i, extended ? "target extended-remote" : "target remote");
    for (unsigned i = 0; i < e->count; i++) {
        const struct address *at = &e->listeners[i].address;
        address_format(at, where, sizeof where);
        if (at->kind == ADDRESS_UNIX) {
            fprintf(stderr, "Listening on %s\n", where);
            continue;
        }
        fprintf(stderr, "Info : Listening on port %u for gdb connections\n", at->port);
        fprintf(stderr, "Listening on port %u\n", at->port);
    }
    fflush(stderr);
}
