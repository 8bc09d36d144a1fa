/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this process gives up for good while it serves strangers: system calls that no debug server
 * needs (seccomp), writing outside of its own folders (Landlock), starting programs, and the rights
 * of root. What the kernel does not have is left out: a service manager may have done it, or not.
 */
#ifndef SERVER_SANDBOX_H
#define SERVER_SANDBOX_H

#include "btrace/types.h"
#include "drivers/base/message.h"

#include <uv.h>

#define SANDBOX_MAX_FOLDERS 16

/* Folders to write in, beside /dev, /tmp and the working directory; NULL and "" are skipped. */
struct sandbox_folders {
    const char *path[SANDBOX_MAX_FOLDERS];
    unsigned count;
};

/* Adds a folder, or the one that a file is in. False: no room. `path` is borrowed. */
bool sandbox_add_folder(struct sandbox_folders *f, const char *path);

/*
 * The loop of a process that will enter the sandbox. libuv 1.50 and newer batch the changes of an
 * epoll set through io_uring, and abort when the kernel refuses what it has granted before. 0, or
 * BT_ERR_NOMEM.
 */
int sandbox_loop_init(uv_loop_t *loop);

/*
 * Of all threads: system calls. Of the calling thread, and those that it makes later: writing. So
 * it is best called before there are others. 0, or BT_ERR_IO with *why filled: the kernel has it
 * and refuses.
 */
int sandbox_enter(const struct sandbox_folders *folders, struct message *why);

/* Of all threads: no program is started from here on. As sandbox_enter(). Builds with a sanitizer
 * start theirs still. */
int sandbox_end_exec(struct message *why);

/* Becomes a user, with the user's groups, who gets `folder`; nothing that root may is left.
 * BT_ERR_IO with *why. */
int sandbox_become(const char *user, const char *folder, struct message *why);

#endif
