/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of btraced is not the end of the target: how another GDB server's is left behind. */
#include "live_internal.h"
#include "server/base/log.h"

#define LOOK_MS     5
#define PATIENCE_MS 3000 /* less than a service manager has */

static void finish(struct live *l)
{
    uv_timer_stop(&l->farewell.timer);
    l->farewell.done(l->farewell.ctx);
}

static void on_look(uv_timer_t *timer)
{
    struct live *l = timer->data;
    bool over = !gdb_remote_is_ready(l->remote) || gdb_remote_is_idle(l->remote);
    bool late = uv_now(l->loop) - l->farewell.begun > PATIENCE_MS;
    if (late && !over)
        log_say(LOG_AT_WARNING, "btraced: the target's GDB server does not answer: the target is "
                                "left as it is, maybe with breakpoints\n");
    if (over || late)
        finish(l);
}

/* A probe's cores are left by the native server, a board's program ends with us. */
static bool is_kept(const struct live *l)
{
    return l->loop && l->remote && !l->native && !l->config->command &&
           gdb_remote_is_ready(l->remote);
}

void live_farewell(struct live *l, void (*done)(void *ctx), void *ctx)
{
    l->farewell.done = done;
    l->farewell.ctx = ctx;
    if (!is_kept(l)) {
        done(ctx);
        return;
    }
    bool run = gdb_remote_will_run(l->remote) || l->run_after;
    if (l->config->at_exit != CONFIG_EXIT_LEAVE)
        run = l->config->at_exit == CONFIG_EXIT_RUN;
    l->run_after = false;
    l->farewell.begun = uv_now(l->loop);
    uv_timer_start(&l->farewell.timer, on_look, LOOK_MS, LOOK_MS);
    gdb_remote_let_go(l->remote, run);
}
