/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets by their names: what they are about, and the handlers of those that are answered here. */

#include "gdb_internal.h"

static const struct gdb_command *const command_tables[] = {
    gdb_data_commands, gdb_run_commands, gdb_query_commands, gdb_thread_commands, gdb_xfer_commands,
};

static const struct gdb_command *command_of_packet(const char *payload, size_t len)
{
    for (size_t t = 0; t < sizeof(command_tables) / sizeof(*command_tables); t++) {
        for (const struct gdb_command *c = command_tables[t]; c->name; c++) {
            if (c->match == GDB_EXACT ? gdb_packet_is(payload, len, c->name)
                                      : gdb_packet_starts(payload, len, c->name))
                return c;
        }
    }
    return NULL;
}

int gdb_run_packet(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_args packet = {payload, payload + len};
    const struct gdb_command *c = command_of_packet(payload, len);
    if (!c)
        return BT_OK;
    if (s->run != GDB_HALTED && !c->while_running)
        return gdb_reply(s, "E.the target is running");
    gdb_args_text(&packet, c->name);
    if (c->match == GDB_BARE && !gdb_args_empty(&packet))
        return BT_ERR_INVAL;
    return c->run(s, &packet);
}

bool gdb_is_btrace(const struct gdb_session *s, const char *payload, size_t len)
{
    return gdb_has_btrace(s) &&
           gdb_packet_starts_any(payload, len,
                                 "Qbtrace: Qbtrace-conf: qXfer:btrace: qXfer:btrace-conf:");
}

bool gdb_reverse_wants(const struct gdb_session *s, const char *payload, size_t len)
{
    return s->host->reverse && (gdb_packet_is_back(payload, len) || gdb_is_replaying(s, -1));
}
