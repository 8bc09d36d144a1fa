/* SPDX-License-Identifier: BSD-3-Clause */
#include "gdb_proxy.h"

#include "protocol/rsp/gdb_args.h"

/*
 * What the other side says of these does not count: they are answered here, GDB dies of non-stop
 * with two cores, and it would prefer the Intel format (found with GDB 13.1).
 */
static const char *const ours[] = {
    "QStartNoAckMode", "qXfer:btrace:read", "qXfer:btrace-conf:read", "QNonStop", "Qbtrace",
    "Qbtrace-conf",    "ReverseStep",       "ReverseContinue",
};

/* The name is followed by '+', '-', '?', '=' or, for the families of Qbtrace, by ':'. */
static bool is_ours(const struct gdb_args *word)
{
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        struct gdb_args a = *word;
        if (gdb_args_text(&a, ours[i]) && !gdb_args_empty(&a) &&
            (gdb_args_char(&a, '+') || gdb_args_char(&a, '-') || gdb_args_char(&a, '?') ||
             gdb_args_char(&a, '=') || gdb_args_char(&a, ':')))
            return true;
    }
    return false;
}

static void add_packet_size(struct text_buf *out, struct gdb_args *number, size_t limit)
{
    uint64_t size;
    if (!gdb_args_hex(number, &size) || size > limit)
        size = limit;
    text_buf_printf(out, "PacketSize=%llx;", (unsigned long long)size);
}

/*
 * A server that does not tell its PacketSize gets what GDB takes for safe then:
 * nothing is added. */
void gdb_features_merge(struct text_buf *out, const char *reply, size_t len, size_t limit,
                        bool btrace, bool reverse)
{
    struct gdb_args a = {reply, reply + len};
    struct gdb_args word;
    while (gdb_args_until(&a, ';', &word)) {
        if (gdb_args_empty(&word) || is_ours(&word))
            continue;
        if (gdb_args_text(&word, "PacketSize=")) {
            add_packet_size(out, &word, limit);
        } else {
            text_buf_add(out, word.at, gdb_args_left(&word));
            text_buf_putc(out, ';');
        }
    }
    text_buf_puts(out, "QStartNoAckMode+");
    if (btrace)
        text_buf_puts(out, ";Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;"
                           "qXfer:btrace:read+;qXfer:btrace-conf:read+");
    if (reverse)
        text_buf_puts(out, ";ReverseStep+;ReverseContinue+");
}
