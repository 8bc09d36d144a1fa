/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access control: the listening sockets of [gdb] listen, and what a connection must show before a
 * session sees it.
 *
 *   from this machine (loopback, Unix socket): nothing, but TLS where the address begins with tls:
 *   from others, with a [tls]: a certificate that is allowed
 *   from others, with [gdb] allow: an address of these networks; with both, both
 *   with [access]: to be granted something there, whatever the address; the role is the
 * connection's
 *
 * Nothing is sent to those who do not pass, but what TLS itself has to say. Handshakes are limited
 * in time and number: when there are too many, the oldest goes, so that whoever floods the port
 * keeps nobody out who answers at once.
 */
#ifndef SERVER_ACCESS_CONTROL_H
#define SERVER_ACCESS_CONTROL_H

#include "server/config/config.h"
#include "server/net/connection.h"
#include "server/net/listener.h"
#include "server/net/tls.h"

#define ACCESS_CONTROL_MAX_LISTENERS 32 /* with those that systemd hands over */
#define ACCESS_CONTROL_MAX_PENDING   64 /* handshakes, and refusals on their way */

struct access_connection;

struct access_control {
    uv_loop_t *loop;
    const char *command; /* "btraced serve": lines of the log begin with it */
    struct listener listeners[ACCESS_CONTROL_MAX_LISTENERS];
    unsigned count;
    bool tls[ACCESS_CONTROL_MAX_LISTENERS]; /* asked for by the address itself */
    struct network allow[CONFIG_MAX_NETWORKS];
    unsigned allow_count;
    struct access_rules roles[ACCESS_ROLES];
    struct tls_context *context; /* NULL: no [tls] */
    unsigned handshake_ms, vanished_s;
    struct access_connection *first, *last; /* handshakes, the oldest first */
    unsigned pending;
    uv_timer_t deadline; /* of the first */
    bool started;
    /* Refusals are logged, but not without end. */
    uint64_t log_since; /* ms */
    unsigned logged, not_logged;
    /* Gets a connection that is not started, and owns it. */
    void (*admitted)(void *ctx, struct connection *c);
    void *ctx;
};

/*
 * Takes all addresses and reads the certificates, so that what is wrong shows before anything is
 * started. Nobody can connect yet. `path` is the board file, for messages. Warns on standard error
 * where addresses alone give access. 0, BT_ERR_IO when an address cannot be listened on, or
 * BT_ERR_FORMAT when the configuration is wrong, with *why filled; nothing is left to stop.
 */
int access_control_open(struct access_control *e, const struct config_access *config,
                        const char *path, const char *command, struct message *why);

/* Accepts from now on. The structure must stay until the loop has ended. As
 * access_control_open(). */
int access_control_start(struct access_control *e, uv_loop_t *loop,
                         void (*admitted)(void *ctx, struct connection *c), void *ctx,
                         struct message *why);

/*
 * Certificates, names, networks and roles anew, for those who come from now on and whoever is asked
 * about with access_control_holds(); the addresses stay. On an
 * error (*why filled) what was there before holds on. 0, BT_ERR_FORMAT.
 */
int access_control_reload(struct access_control *e, const struct config_access *config,
                          const char *path, struct message *why);

/*
 * Whether an admitted connection would be admitted now; its role becomes what it is now. False: why
 * not, for the other side and the log.
 */
bool access_control_holds(const struct access_control *e, struct connection *c, char *why,
                          size_t size);

/* Closes the listening sockets and the handshakes; who was admitted stays. */
void access_control_stop(struct access_control *e);

/* A line for each address, first what to type in GDB: `extended` or not. The port lines are what
 * front ends that start a server look for. */
void access_control_announce(const struct access_control *e, bool extended);

#endif
