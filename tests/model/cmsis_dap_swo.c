/* SPDX-License-Identifier: BSD-3-Clause */
/* SWO capture (CMSIS-DAP manual, "SWO Commands"). */
#include <string.h>

#include "cmsis_dap_model.h"

#define STATUS_OK    0x00
#define STATUS_ERROR 0xff

#define ID_TRANSPORT 0x17
#define ID_MODE      0x18
#define ID_BAUDRATE  0x19
#define ID_CONTROL   0x1a
#define ID_STATUS    0x1b
#define ID_DATA      0x1c
#define ID_EXTENDED  0x1e

#define TRACE_ACTIVE  0x01
#define TRACE_PAUSED  0x02
#define TRACE_OVERRUN 0x80

#define FIELD_STATUS 1
#define FIELD_COUNT  2
#define FIELD_INDEX  4 /* and time */

#define TRANSPORT_COMMAND 1
#define TRANSPORT_STREAM  2
#define BAUD_MAX          10000000u

/* Nothing is received from here on: what the target sends is not even seen to be missing. */
static void pause_capture(struct cmsis_dap_model *c)
{
    uint8_t lost[64];
    c->swo.paused = true;
    while (c->options.swo(c->options.ctx, lost, sizeof lost))
        ;
}

/*
 * What the target sent since the last look. A full buffer pauses, if the host has to ask for data;
 * the streaming endpoint has taken it in time.
 */
static void fetch(struct cmsis_dap_model *c)
{
    struct cmsis_dap_model_swo *s = &c->swo;
    size_t n, before = s->size;
    if (!s->active || !c->options.swo)
        return;
    if (s->paused) {
        pause_capture(c);
        return;
    }
    while ((n = c->options.swo(c->options.ctx, s->buffer + s->size, sizeof s->buffer - s->size))) {
        size_t drop = n < s->drop ? n : s->drop;
        s->drop -= (unsigned)drop;
        s->overrun |= drop > 0;
        s->size += n - drop;
        s->index += (uint32_t)n;
    }
    bool full = s->size == sizeof s->buffer && s->transport == TRANSPORT_COMMAND;
    if (s->pause > 0 && s->size > before) {
        s->pause--;
        full = true;
    }
    if (full)
        pause_capture(c);
    if (before == 0 && s->size > 0)
        s->since = c->options.now(c->options.ctx);
}

static size_t take(struct cmsis_dap_model_swo *s, uint8_t *bytes, size_t size)
{
    if (size > s->size)
        size = s->size;
    memcpy(bytes, s->buffer, size);
    memmove(s->buffer, s->buffer + size, s->size - size);
    s->size -= size;
    s->paused &= size == 0;
    return size;
}

static uint8_t set_transport(struct cmsis_dap_model *c, uint8_t transport)
{
    bool stream = c->options.capabilities & CMSIS_DAP_CAP_SWO_STREAM;
    if (c->swo.active || transport > TRANSPORT_STREAM || (transport == TRANSPORT_STREAM && !stream))
        return STATUS_ERROR;
    c->swo.transport = transport;
    return STATUS_OK;
}

static uint8_t set_mode(struct cmsis_dap_model *c, uint8_t mode)
{
    unsigned have = c->options.capabilities >> 2 & 3;
    /* It ends a capture that goes on; one that is not there leaves none. */
    bool known = mode <= 2 && (!mode || have >> (mode - 1) & 1);
    c->swo.active = c->swo.paused = false;
    c->swo.mode = known ? mode : 0;
    return known ? STATUS_OK : STATUS_ERROR;
}

static uint8_t control(struct cmsis_dap_model *c, uint8_t on)
{
    struct cmsis_dap_model_swo *s = &c->swo;
    if (on > 1 || (on && (!s->mode || !s->baud)))
        return STATUS_ERROR;
    if (on && !s->active) {
        s->active = true;
        do { /* what was on the pin before is not captured */
            s->size = 0;
            fetch(c);
        } while (s->size > 0 && c->options.swo);
        s->index = 0;
        s->overrun = s->paused = false;
    } else if (!on) {
        fetch(c);
    }
    s->active = on;
    return STATUS_OK;
}

static uint8_t trace_status(struct cmsis_dap_model *c)
{
    uint8_t status =
        (uint8_t)((c->swo.active ? TRACE_ACTIVE : 0) | (c->swo.paused ? TRACE_PAUSED : 0) |
                  (c->swo.overrun ? TRACE_OVERRUN : 0));
    c->swo.overrun = false;
    return status;
}

static void data(struct cmsis_dap_model *c, unsigned wanted, struct cmsis_dap_writer *w)
{
    uint8_t bytes[CMSIS_DAP_PACKET_MAX];
    cmsis_dap_put(w, trace_status(c), 1);
    size_t room = w->limit - w->size < 2 ? 0 : w->limit - w->size - 2;
    size_t n = c->swo.transport == TRANSPORT_COMMAND
                   ? take(&c->swo, bytes, wanted < room ? wanted : room)
                   : 0;
    cmsis_dap_put(w, (uint32_t)n, 2);
    for (size_t i = 0; i < n; i++)
        cmsis_dap_put(w, bytes[i], 1);
}

static void extended(struct cmsis_dap_model *c, unsigned fields, struct cmsis_dap_writer *w)
{
    if (fields & FIELD_STATUS)
        cmsis_dap_put(w, trace_status(c), 1);
    if (fields & FIELD_COUNT)
        cmsis_dap_put(w, (uint32_t)c->swo.size, 4);
    if (fields & FIELD_INDEX) {
        cmsis_dap_put(w, c->swo.index, 4);
        cmsis_dap_put(w, c->timer, 4);
    }
}

void cmsis_dap_swo_command(struct cmsis_dap_model *c, uint8_t id, struct cmsis_dap_reader *r,
                           struct cmsis_dap_writer *w)
{
    fetch(c);
    switch (id) {
    case ID_TRANSPORT:
        cmsis_dap_put(w, set_transport(c, cmsis_dap_u8(r)), 1);
        break;
    case ID_MODE:
        cmsis_dap_put(w, set_mode(c, cmsis_dap_u8(r)), 1);
        break;
    case ID_BAUDRATE:
        c->swo.baud = cmsis_dap_u32(r);
        if (c->swo.baud > BAUD_MAX)
            c->swo.baud = 0;
        cmsis_dap_put(w, c->swo.baud, 4);
        break;
    case ID_CONTROL:
        cmsis_dap_put(w, control(c, cmsis_dap_u8(r)), 1);
        break;
    case ID_STATUS:
        cmsis_dap_put(w, trace_status(c), 1);
        cmsis_dap_put(w, (uint32_t)c->swo.size, 4);
        break;
    case ID_EXTENDED:
        extended(c, cmsis_dap_u8(r), w);
        break;
    default: /* ID_DATA */
        data(c, cmsis_dap_u16(r), w);
        break;
    }
}

/*
 * Firmware sends a partial block after about 50 ms; since when is not documented. Here: since the
 * first byte of it came, or since the block before it was sent, whichever was later; and these are
 * 50 ms to the microsecond.
 */
size_t cmsis_dap_stream(struct cmsis_dap_model *c, uint8_t bytes[CMSIS_DAP_SWO_BLOCK])
{
    struct cmsis_dap_model_swo *s = &c->swo;
    if (s->transport != TRANSPORT_STREAM)
        return 0;
    fetch(c);
    uint64_t now = c->options.now(c->options.ctx);
    if (s->active && s->size < CMSIS_DAP_SWO_BLOCK && now - s->since < CMSIS_DAP_BLOCK_US)
        return 0;
    s->since = now;
    return take(s, bytes, CMSIS_DAP_SWO_BLOCK);
}
