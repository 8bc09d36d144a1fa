/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was known of a recorded core at its halts: the values of the past begin there. For replay.c
 * and replay_client.c.
 */
#ifndef SERVER_REPLAY_KNOWN_H
#define SERVER_REPLAY_KNOWN_H

#include "server/replay/replay.h"
#include "server/reverse/reverse_recorded.h"

/* The states of one core, on their way from the recording to the history. */
struct replay_known {
    struct recording *recording;
    const struct recording_source *source;
    enum execute_profile profile;
    struct replay_known_state {
        struct reverse_snapshot state;
        struct reverse_recorded_way way;
        bool placed;
    } * states;
    uint64_t *bytes; /* of the trace that leads to each */
    size_t count;
};

/* Those of the source's core, if there are any. BT_OK or a bt_error; release in all cases. */
int replay_known_read(struct replay_known *known, struct recording *r,
                      const struct recording_source *source);
void replay_known_release(struct replay_known *known);

/* Where the states' positions are found, while the history is made. */
void replay_known_marks(struct replay_known *known, struct recording_marks *marks);

/* The core has them from now on; those of `known` are taken. BT_OK or BT_ERR_NOMEM. */
int replay_known_give(struct replay_known *known, struct replay_core *c);

/* RAM as it was at the core's end: how many bytes from `address` on are known. */
size_t replay_known_memory(const struct replay_core *c, uint64_t address, uint8_t *bytes,
                           size_t len);

/* RAM that the board file names of the recorded core, or what others write. */
void replay_known_ranges(const struct snapshot_device *core, const char *what,
                         struct config_ranges *ranges);

#endif
