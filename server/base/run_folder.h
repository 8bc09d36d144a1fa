/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The private folder that $RUN in a board file stands for: sockets, while the daemon runs. It is
 * below XDG_RUNTIME_DIR, TMPDIR or /tmp. A daemon that is killed outright leaves it; the next one
 * that makes a folder there removes it.
 */
#ifndef SERVER_RUN_FOLDER_H
#define SERVER_RUN_FOLDER_H

#include "btrace/types.h"
#include "drivers/base/message.h"

struct run_folder {
    char path[128]; /* "": none */
    int lock;       /* file descriptor, held while the daemon lives */
};

/*
 * Makes it, and removes those of this user whose daemons have died. 0 or BT_ERR_IO with *why
 * filled; then there is nothing to remove.
 */
int run_folder_make(struct run_folder *f, struct message *why);

/* Removes it with the files that it holds; folders in it stay, and so does it then. */
void run_folder_remove(struct run_folder *f);

#endif
