/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DAP_Transfer and DAP_TransferBlock (CMSIS-DAP manual, "Transfer Commands"). AP reads are
 * pipelined as the reference firmware does it: a failing read leaves one word less than reads were
 * counted. */
#include "cmsis_dap_model.h"

#define REQ_AP         0x01u
#define REQ_READ       0x02u
#define REQ_MATCH      0x10u
#define REQ_MATCH_MASK 0x20u
#define REQ_TIMESTAMP  0x80u
#define READ_RDBUFF    0x0eu /* DP, read, address 0xc */
#define ACK_MISMATCH   0x10u

/* A DAP_Transfer that is under way. */
struct transfer {
    struct cmsis_dap_model *c;
    struct cmsis_dap_reader *r;
    struct cmsis_dap_writer *w;
    unsigned ack;
    bool posted; /* a read whose data is still in the DP */
    unsigned posted_by;
    bool stamp;       /* ... and wants a timestamp */
    bool check_write; /* the latest access was a write */
};

static void put_word(struct transfer *t, bool stamp, uint32_t data)
{
    if (stamp && t->c->options.capabilities & CMSIS_DAP_CAP_TIMER)
        cmsis_dap_put(t->w, t->c->timer, 4);
    cmsis_dap_put(t->w, data, 4);
}

static bool access_ok(struct transfer *t, unsigned request, uint32_t *data)
{
    t->c->timer++;
    t->c->counters.transfers++;
    t->ack = cmsis_dap_access(t->c, request & 0xf, data);
    return t->ack == DAP_ACK_OK;
}

/* Fetches the word of the posted read, by the next AP read if that is one. */
static bool collect(struct transfer *t, unsigned next, bool chain)
{
    uint32_t data = 0;
    bool stamp = t->stamp;
    t->posted = false;
    if (!access_ok(t, chain ? next : READ_RDBUFF, &data))
        return false;
    put_word(t, stamp, data);
    t->posted = chain;
    t->stamp = next & REQ_TIMESTAMP;
    return true;
}

/* On JTAG every read is posted, and is completed by a read of the same kind of register. */
static bool read_posts(const struct transfer *t, unsigned request)
{
    return request & REQ_AP || t->c->port == CMSIS_DAP_PORT_JTAG;
}

/* Posted once, then read until it matches: the last one that was posted is nobody's. */
static bool match_read(struct transfer *t, unsigned request, uint32_t match)
{
    unsigned retries = t->c->match_retries;
    uint32_t data = 0;
    if (read_posts(t, request) && !access_ok(t, request, &data))
        return false;
    do {
        if (!access_ok(t, request, &data))
            return false;
        if ((data & t->c->match_mask) == match)
            return true;
    } while (retries--);
    t->ack |= ACK_MISMATCH;
    return false;
}

static bool one_read(struct transfer *t, unsigned request)
{
    uint32_t data = 0;
    bool match = request & REQ_MATCH;
    uint32_t value = match ? cmsis_dap_u32(t->r) : 0;
    t->check_write = false;
    if (t->posted) {
        bool same = ((request ^ t->posted_by) & REQ_AP) == 0;
        bool chain = !match && read_posts(t, request) && same;
        if (!collect(t, request, chain))
            return false;
        t->posted_by = request;
        if (chain)
            return true;
    }
    if (match)
        return match_read(t, request, value);
    if (read_posts(t, request)) {
        t->stamp = request & REQ_TIMESTAMP;
        t->posted_by = request;
        t->posted = access_ok(t, request, &data);
        return t->posted;
    }
    if (!access_ok(t, request, &data))
        return false;
    put_word(t, request & REQ_TIMESTAMP, data);
    return true;
}

static bool one_write(struct transfer *t, unsigned request)
{
    uint32_t data = cmsis_dap_u32(t->r);
    if (t->posted && !collect(t, 0, false))
        return false;
    if (request & REQ_MATCH_MASK) {
        t->c->match_mask = data;
        t->ack = DAP_ACK_OK;
        return true;
    }
    t->check_write = true;
    return access_ok(t, request, &data);
}

/* The rest of the requests must be read over: another command may follow in the packet. */
static void skip_request(struct cmsis_dap_reader *r)
{
    unsigned request = cmsis_dap_u8(r);
    if (!(request & REQ_READ) || request & REQ_MATCH)
        cmsis_dap_u32(r);
}

/* On SWD the index says nothing: there is one device. */
static bool reaches_device(struct cmsis_dap_model *c)
{
    if (c->port == CMSIS_DAP_PORT_OFF)
        c->counters.unconnected++;
    return c->port == CMSIS_DAP_PORT_SWD ||
           (c->port == CMSIS_DAP_PORT_JTAG && c->jtag_index < c->jtag_devices);
}

void cmsis_dap_transfer(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                        struct cmsis_dap_writer *w)
{
    struct transfer t = {.c = c, .r = r, .w = w};
    size_t head = w->size;
    unsigned done = 0;
    c->jtag_index = cmsis_dap_u8(r);
    unsigned count = cmsis_dap_u8(r);
    cmsis_dap_put(w, 0, 2);
    bool ok = reaches_device(c);
    unsigned i = 0;
    for (; i < count && ok && !r->bad; i++) {
        unsigned request = cmsis_dap_u8(r);
        if (r->bad)
            break;
        ok = request & REQ_READ ? one_read(&t, request) : one_write(&t, request);
        done += ok;
    }
    for (; i < count && !r->bad; i++)
        skip_request(r);
    if (ok && t.posted)
        collect(&t, 0, false);
    else if (ok && t.check_write) {
        uint32_t ignored = 0;
        access_ok(&t, READ_RDBUFF, &ignored);
    }
    if (w->size >= head + 2) {
        w->bytes[head] = (uint8_t)done;
        w->bytes[head + 1] = (uint8_t)t.ack;
    }
}

static unsigned block_read(struct transfer *t, unsigned request, unsigned count)
{
    unsigned done = 0;
    uint32_t data = 0;
    bool posts = read_posts(t, request);
    if (posts && !access_ok(t, request, &data))
        return 0;
    for (; done < count; done++) {
        bool last = done + 1 == count;
        if (!access_ok(t, last && posts ? READ_RDBUFF : request, &data))
            break;
        cmsis_dap_put(t->w, data, 4);
    }
    return done;
}

static unsigned block_write(struct transfer *t, unsigned request, unsigned count)
{
    unsigned done = 0;
    bool ok = true;
    for (unsigned i = 0; i < count && !t->r->bad; i++) {
        uint32_t data = cmsis_dap_u32(t->r);
        ok = ok && !t->r->bad && access_ok(t, request, &data);
        done += ok;
    }
    uint32_t ignored = 0;
    if (ok)
        access_ok(t, READ_RDBUFF, &ignored);
    return done;
}

void cmsis_dap_transfer_block(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                              struct cmsis_dap_writer *w)
{
    struct transfer t = {.c = c, .r = r, .w = w};
    size_t head = w->size;
    unsigned done = 0;
    c->jtag_index = cmsis_dap_u8(r);
    unsigned count = cmsis_dap_u16(r);
    unsigned request = cmsis_dap_u8(r);
    cmsis_dap_put(w, 0, 3);
    if (reaches_device(c) && count && !r->bad)
        done =
            request & REQ_READ ? block_read(&t, request, count) : block_write(&t, request, count);
    if (w->size >= head + 3) {
        w->bytes[head] = (uint8_t)done;
        w->bytes[head + 1] = (uint8_t)(done >> 8);
        w->bytes[head + 2] = (uint8_t)t.ack;
    }
}
