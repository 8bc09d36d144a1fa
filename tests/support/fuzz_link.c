/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/fuzz_link.h"

static int block(void *self, uint8_t request, uint32_t *words, size_t count, struct debug_result *r)
{
    const struct fuzz_link *f = self;
    size_t done = 0;
    int rc = 0;
    r->done = 0;
    r->ack = DEBUG_ACK_OK;
    for (; rc == 0 && r->ack == DEBUG_ACK_OK && done < count; done++) {
        struct debug_transfer t = {.request = request, .value = words[done]};
        struct debug_result one;
        rc = f->transfer(self, &t, 1, &one);
        r->ack = one.ack;
        if (one.done)
            words[done] = t.value;
        r->done += one.done;
    }
    return rc;
}

static int transfer(void *self, struct debug_transfer *list, size_t count, struct debug_result *r)
{
    const struct fuzz_link *f = self;
    return f->transfer(self, list, count, r);
}

static int wire(void *self, enum debug_wire kind)
{
    (void)self, (void)kind;
    return 0;
}

static int disconnect(void *self)
{
    (void)self;
    return 0;
}

static int set_clock(void *self, uint32_t hz)
{
    (void)self, (void)hz;
    return 0;
}

static int configure(void *self, uint8_t idle, uint16_t retries)
{
    (void)self, (void)idle, (void)retries;
    return 0;
}

static int sequence(void *self, unsigned bits, const uint8_t *bytes)
{
    (void)self, (void)bytes;
    return bits == 0 ? BT_ERR_INVAL : 0;
}

static int chain(void *self, const uint8_t *lengths, unsigned count, unsigned dap)
{
    (void)self, (void)lengths;
    return dap < count ? 0 : BT_ERR_INVAL;
}

struct debug_link fuzz_link(struct fuzz_link *f, uint32_t caps)
{
    static const struct debug_link_ops OPS = {.connect = wire,
                                              .disconnect = disconnect,
                                              .set_clock = set_clock,
                                              .configure = configure,
                                              .sequence = sequence,
                                              .jtag_chain = chain,
                                              .transfer = transfer,
                                              .block = block};
    return (struct debug_link){
        .ops = &OPS, .self = f, .caps = DEBUG_LINK_SWD | DEBUG_LINK_JTAG | caps};
}

static uint64_t now_us(void *user)
{
    struct fuzz_link *f = user;
    return f->now += f->tick;
}

static void sleep_us(void *user, uint32_t time)
{
    struct fuzz_link *f = user;
    f->now += time;
}

struct debug_clock fuzz_clock(struct fuzz_link *f)
{
    return (struct debug_clock){.now_us = now_us, .sleep_us = sleep_us, .user = f};
}
