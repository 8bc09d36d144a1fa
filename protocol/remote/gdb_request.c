/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "protocol/remote/gdb_remote_internal.h"

struct gdb_request *gdb_request_new(const char *payload, size_t len, gdb_remote_reply_fn reply,
                                    void *ctx)
{
    struct gdb_request *r = malloc(sizeof(*r) + len);
    if (r == NULL)
        return NULL;
    *r = (struct gdb_request){.reply = reply, .ctx = ctx, .len = len};
    memcpy(r->payload, payload, len);
    r->packet = gdb_packet_read(r->payload, len);
    return r;
}

void gdb_request_finish(struct gdb_request *r, const char *reply, size_t len)
{
    if (r->reply != NULL)
        r->reply(r->ctx, reply, reply != NULL ? len : 0);
    free(r);
}
