/* SPDX-License-Identifier: BSD-3-Clause */
/* Detach: the target of another GDB server goes on, or stays halted, when btraced ends. */
#include "live_internal.h"
#include "server/base/log.h"

#define LOOK_MS     5
#define PATIENCE_MS 3000 /* less than a service manager has */

static void finish(struct live *l)
{
    uv_timer_stop(&l->detach.timer);
    l->detach.done(l->detach.ctx);
}

static void on_look(uv_timer_t *timer)
{
    struct live *l = timer->data;
    bool over = !gdb_remote_is_ready(l->remote) || gdb_remote_is_idle(l->remote);
    bool late = uv_now(l->loop) - l->detach.begun > PATIENCE_MS;
    if (late && !over)
        log_write(LOG_AT_WARNING, "btraced: the target's GDB server does not answer: the target is "
                                  "left as it is, maybe with breakpoints\n");
    if (over || late)
        finish(l);
}

/* A probe's cores are left by the probe server, a board's program ends with us. */
static bool is_kept(const struct live *l)
{
    return l->loop && l->remote && !l->probe && !l->config->command &&
           gdb_remote_is_ready(l->remote);
}

void live_detach(struct live *l, void (*done)(void *ctx), void *ctx)
{
    l->detach.done = done;
    l->detach.ctx = ctx;
    if (!is_kept(l)) {
        done(ctx);
        return;
    }
    bool run = gdb_remote_will_run(l->remote) || l->run_after;
    if (l->config->at_exit != CONFIG_EXIT_LEAVE)
        run = l->config->at_exit == CONFIG_EXIT_RUN;
    l->run_after = false;
    l->detach.begun = uv_now(l->loop);
    uv_timer_start(&l->detach.timer, on_look, LOOK_MS, LOOK_MS);
    gdb_remote_let_go(l->remote, run);
}
