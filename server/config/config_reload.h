/* SPDX-License-Identifier: BSD-3-Clause */
/* A board file that is read again while the daemon runs. */
#ifndef SERVER_CONFIG_RELOAD_H
#define SERVER_CONFIG_RELOAD_H

#include "server/base/console.h"
#include "server/config/config.h"

/*
 * Compares two readings of a board file, and sets what has changed and may change at run time in
 * `running`, too. Says of each key that has changed when it holds. Those of [tls] and `allow` are
 * the caller's: access_control_reload() comes first.
 */
void config_reload(const struct config *before, const struct config *now, struct config *running,
                   const struct console *c);

#endif
