/* SPDX-License-Identifier: BSD-3-Clause */
/* A board file that is read again while the daemon runs. */
#ifndef SERVER_CONFIG_RELOAD_H
#define SERVER_CONFIG_RELOAD_H

#include "server/config.h"
#include "server/console.h"

/*
 * Compares two readings of a board file, and sets what has changed and may change at run time in
 * `running`, too. Says each key that has changed: that it holds from now on, or wants a restart.
 * The keys of [tls] and `allow` are left out: see entrance_reload().
 */
void config_reload(const struct config *before, const struct config *now, struct config *running,
                   const struct console *c);

#endif
