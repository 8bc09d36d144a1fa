/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/gdb_link.h"

/* More damaged frames than this, one after the other, will not get better. */
#define DAMAGED_MAX 16

int gdb_link_init(struct gdb_link *l, size_t limit, const struct gdb_link_events *events, void *ctx,
                  rsp_write_fn write, void *write_ctx)
{
    *l = (struct gdb_link){.events = events, .ctx = ctx};
    if (rsp_receiver_init(&l->receiver, limit) < 0)
        return BT_ERR_NOMEM;
    l->receiver.expand = true;
    rsp_sender_init(&l->sender, write, write_ctx);
    return BT_OK;
}

void gdb_link_release(struct gdb_link *l)
{
    rsp_receiver_release(&l->receiver);
    rsp_sender_release(&l->sender);
}

void gdb_link_open(struct gdb_link *l)
{
    rsp_receiver_reset(&l->receiver);
    rsp_sender_reset(&l->sender);
    l->open = true;
    l->greeted = false;
    l->damaged = 0;
    l->epoch++;
}

/* The queue stays until the next connection: this may be called from within a write. */
void gdb_link_close(struct gdb_link *l)
{
    l->open = false;
}

static void give_up(struct gdb_link *l, int error)
{
    gdb_link_close(l);
    l->events->broken(l->ctx, error);
}

/*
 * In ack mode a frame that comes before the '+' of the last request is not its reply but
 * something older: acknowledged and dropped, as GDB does (a server that was running when the
 * connection came tells of the stop).
 */
static bool is_stale(const struct gdb_link *l)
{
    return !l->sender.no_ack && l->sender.queue.len > 0;
}

static void take_packet(struct gdb_link *l, bool oversize)
{
    bool stale = is_stale(l);
    l->damaged = 0;
    rsp_send_ack(&l->sender, true);
    if (!l->open || stale)
        return;
    l->events->packet(l->ctx, oversize ? NULL : l->receiver.payload, l->receiver.payload_len);
}

/* Without acknowledgements nothing brings the frame again: what follows would not fit. */
static void take_damaged(struct gdb_link *l)
{
    if (l->sender.no_ack || ++l->damaged > DAMAGED_MAX)
        give_up(l, BT_ERR_IO);
    else
        rsp_send_ack(&l->sender, false);
}

static void take_event(struct gdb_link *l, enum rsp_event event)
{
    switch (event) {
    case RSP_PACKET:
    case RSP_OVERSIZE:
        take_packet(l, event == RSP_OVERSIZE);
        break;
    case RSP_BAD:
        take_damaged(l);
        break;
    case RSP_ACK:
        rsp_sender_acked(&l->sender);
        break;
    case RSP_NAK:
        if (rsp_sender_nacked(&l->sender) < 0)
            give_up(l, BT_ERR_IO);
        break;
    case RSP_BREAK:
    case RSP_NONE:
        break;
    }
}

/* A web server or a shell begins with neither a frame nor an acknowledgement. */
static bool is_greeting(uint8_t byte)
{
    return byte == '+' || byte == '-' || byte == '$';
}

void gdb_link_input(struct gdb_link *l, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    unsigned epoch = l->epoch;
    if (l->open && !l->greeted && len > 0) {
        l->greeted = true;
        if (!is_greeting(*at))
            give_up(l, BT_ERR_FORMAT);
    }
    while (len > 0 && l->open && l->epoch == epoch)
        take_event(l, rsp_receive(&l->receiver, &at, &len));
}

int gdb_link_send(struct gdb_link *l, const void *payload, size_t len)
{
    if (!l->open)
        return BT_ERR_IO;
    return rsp_send(&l->sender, payload, len);
}

void gdb_link_interrupt(struct gdb_link *l)
{
    static const char interrupt[] = {RSP_INTERRUPT};
    if (l->open)
        l->sender.write(l->sender.write_ctx, interrupt, sizeof(interrupt));
}
