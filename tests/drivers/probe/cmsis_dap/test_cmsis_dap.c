/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/probe/cmsis_dap/cmsis_dap.c and cmsis_dap_swo.c. */
#include "drivers/probe/cmsis_dap/cmsis_dap.h"

#include "tests/drivers/probe/cmsis_dap/test_cmsis_dap_probe.h"
#include "tests/support/unit_main.h"

/* Kinds of probes: report, bulk at full speed, bulk at high speed, an odd packet size. */
static const struct {
    bool hid;
    uint16_t usb_packet;
    uint16_t packet_size;
    uint8_t count;
} KINDS[] = {{true, 64, 64, 1},    {true, 64, 64, 4},    {false, 64, 64, 4},  {false, 512, 512, 64},
             {false, 512, 508, 1}, {false, 64, 1024, 8}, {true, 512, 512, 2}, {false, 64, 200, 3}};
#define KIND_COUNT 8

struct bench {
    struct probe *p;
    struct cmsis_dap dap;
    struct debug_link link;
};

static void setup(struct bench *b, int kind)
{
    b->p = probe_new(KINDS[kind].hid, KINDS[kind].usb_packet, KINDS[kind].packet_size,
                     KINDS[kind].count);
    ck_assert_int_eq(probe_open(b->p, &b->dap), 0);
    b->link = cmsis_dap_link(&b->dap);
    b->p->most_waiting = 0;
}

START_TEST(test_open)
{
    struct bench b;
    setup(&b, _i);
    ck_assert_uint_eq(b.dap.packet_size, KINDS[_i].packet_size);
    ck_assert_uint_eq(b.dap.packet_count, KINDS[_i].count < 16 ? KINDS[_i].count : 16);
    ck_assert_str_eq(b.dap.vendor, "ACME");
    ck_assert_str_eq(b.dap.product, "Probe? CMSIS-DAP");
    ck_assert_str_eq(b.dap.serial, "");
    ck_assert_uint_eq(b.dap.swo_buffer, 4096);
    ck_assert_uint_eq(b.link.caps, DEBUG_LINK_SWD);
    free(b.p);
}
END_TEST

START_TEST(test_open_old_answers)
{
    struct bench b;
    b.p = probe_new(false, 512, 512, 20);
    for (unsigned k = 0; k < 20; k++)
        b.p->queue[k] = (struct answer){.bytes = {0x05, 0x01, 0x01}, .length = 7};
    b.p->waiting = 20;
    ck_assert_int_eq(probe_open(b.p, &b.dap), 0);
    ck_assert_uint_eq(b.dap.packet_size, 512);
    free(b.p);
}
END_TEST

/* Not one of them is taken for that to the next question, on whichever side of a timeout it comes.
 */
START_TEST(test_open_late_answers)
{
    for (unsigned ms = 0; ms < 400; ms += 5) {
        struct bench b;
        b.p = probe_new(_i, 64, 64, 4);
        b.p->late_ms = ms;
        ck_assert_int_eq(probe_open(b.p, &b.dap), 0);
        ck_assert_uint_eq(b.dap.packet_size, 64);
        ck_assert_uint_eq(b.dap.packet_count, 4);
        ck_assert_str_eq(b.dap.vendor, "ACME");
        ck_assert_str_eq(b.dap.firmware, "");
        ck_assert_uint_eq(b.p->waiting, 0);
        free(b.p);
    }
}
END_TEST

START_TEST(test_open_full_packets)
{
    struct bench b;
    b.p = probe_new(false, 64, 64, 1);
    b.p->full_packets_only = true;
    ck_assert_int_eq(probe_open(b.p, &b.dap), 0);
    ck_assert_str_eq(b.dap.vendor, "ACME");
    free(b.p);
}
END_TEST

static void no_sense(struct answer *a)
{
    a->bytes[1] = 200; /* more than the answer has */
}

static void tiny(struct answer *a)
{
    a->bytes[1] = 1;
    a->bytes[2] = 8;
    a->length = 3;
}

START_TEST(test_open_failures)
{
    struct bench b;
    b.p = probe_new(false, 64, 64, 1);
    b.p->silent = true;
    ck_assert_int_eq(probe_open(b.p, &b.dap), BT_ERR_IO);
    ck_assert_uint_le(b.p->waited_ms, 1500);
    b.p->silent = false;
    b.p->gone = true;
    ck_assert_int_eq(probe_open(b.p, &b.dap), BT_ERR_IO);
    b.p->gone = false;
    b.p->caps = 0;
    ck_assert_int_eq(probe_open(b.p, &b.dap), BT_ERR_UNSUPPORTED);
    b.p->commands = 0;
    b.p->spoil_at = 1;
    b.p->spoil = tiny;
    ck_assert_int_eq(probe_open(b.p, &b.dap), BT_ERR_FORMAT);
    b.p->commands = 0;
    b.p->spoil_at = 2;
    b.p->spoil = no_sense;
    ck_assert_int_eq(probe_open(b.p, &b.dap), BT_ERR_FORMAT);
    b.p->usb_packet = 4;
    ck_assert_int_eq(probe_open(b.p, &b.dap), BT_ERR_INVAL);
    free(b.p);
}
END_TEST

START_TEST(test_small_commands)
{
    struct bench b;
    uint8_t bits[80];
    uint8_t pins = 0;
    setup(&b, _i);
    memset(bits, 0x5a, sizeof bits);
    ck_assert_int_eq(b.link.ops->connect(b.link.self, DEBUG_WIRE_SWD), 0);
    ck_assert_int_eq(b.link.ops->connect(b.link.self, DEBUG_WIRE_JTAG), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(b.link.ops->set_clock(b.link.self, 4000000), 0);
    ck_assert_uint_eq(probe_get32(b.p->clock), 4000000);
    ck_assert_int_eq(b.link.ops->set_clock(b.link.self, 0), BT_ERR_INVAL);
    ck_assert_int_eq(b.link.ops->configure(b.link.self, 8, 0x1234), 0);
    ck_assert_int_eq(memcmp(b.p->last, "\x04\x08\x34\x12\x00\x00", 6), 0);
    ck_assert_int_eq(b.link.ops->sequence(b.link.self, 136, bits), 0);
    ck_assert_uint_eq(b.p->sequence_bits, 136);
    ck_assert_int_eq(b.link.ops->sequence(b.link.self, 513, bits), 0);
    ck_assert_uint_eq(b.p->sequence_bits, 136 + 513);
    ck_assert_int_eq(b.link.ops->pins(b.link.self, 0x80, 0x80, &pins), 0);
    ck_assert_uint_eq(pins, 0x8f);
    ck_assert_int_eq(memcmp(b.p->last, "\x10\x80\x80\x00\x00\x00\x00", 7), 0);
    const uint8_t chain[] = {4, 5};
    ck_assert_int_eq(b.link.ops->jtag_chain(b.link.self, chain, 2, 1), 0);
    ck_assert_int_eq(b.link.ops->jtag_chain(b.link.self, chain, 2, 2), BT_ERR_INVAL);
    b.p->no_connect = true;
    ck_assert_int_eq(b.link.ops->connect(b.link.self, DEBUG_WIRE_SWD), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(b.link.ops->disconnect(b.link.self), 0);
    free(b.p);
}
END_TEST

START_TEST(test_read_blocks)
{
    struct bench b;
    struct debug_result r;
    uint32_t words[1000];
    setup(&b, _i);
    ck_assert_int_eq(b.link.ops->block(b.link.self, DEBUG_AP | DEBUG_READ | 0xc, words, 1000, &r),
                     0);
    ck_assert_uint_eq(r.done, 1000);
    ck_assert_int_eq(r.ack, DEBUG_ACK_OK);
    for (unsigned k = 0; k < 1000; k++)
        ck_assert_uint_eq(words[k], k);
    /* As many packets in flight as the probe can take. */
    unsigned packets = (1000 * 4 + KINDS[_i].packet_size - 5) / (KINDS[_i].packet_size - 4u);
    unsigned most = b.dap.packet_count < packets ? b.dap.packet_count : packets;
    ck_assert_uint_ge(b.p->most_waiting, most > 3 ? 3 : most);
    ck_assert_uint_le(b.p->most_waiting, b.dap.packet_count);
    free(b.p);
}
END_TEST

START_TEST(test_write_blocks)
{
    struct bench b;
    struct debug_result r;
    uint32_t words[700];
    setup(&b, _i);
    for (unsigned k = 0; k < 700; k++)
        words[k] = 1;
    ck_assert_int_eq(b.link.ops->block(b.link.self, DEBUG_AP | 0xc, words, 700, &r), 0);
    ck_assert_uint_eq(r.done, 700);
    ck_assert_uint_eq(b.p->counter, 700);
    ck_assert_uint_eq(b.p->most_waiting, 1); /* a write waits for what is before it */
    free(b.p);
}
END_TEST

/* Mixed lists of all lengths around the limits of a packet. */
START_TEST(test_lists)
{
    struct bench b;
    struct debug_transfer list[600];
    struct debug_result r;
    unsigned seed = 7;
    setup(&b, _i);
    for (unsigned round = 0; round < 60; round++) {
        uint32_t regs[8];
        uint32_t expect[600];
        size_t n = (size_t)rand_r(&seed) % 600;
        memcpy(regs, b.p->regs, sizeof regs);
        for (size_t k = 0; k < n; k++) {
            unsigned reg = (unsigned)rand_r(&seed) % 7;
            bool write = (unsigned)rand_r(&seed) % 10 < round % 10;
            uint8_t request = (uint8_t)(reg / 4 | (reg % 4) << 2 | (write ? 0u : 2u));
            list[k] = (struct debug_transfer){.request = request, .value = (uint32_t)rand_r(&seed)};
            if (write)
                regs[reg] = list[k].value;
            expect[k] = write ? list[k].value : regs[reg];
        }
        ck_assert_int_eq(b.link.ops->transfer(b.link.self, list, n, &r), 0);
        ck_assert_uint_eq(r.done, n);
        ck_assert_int_eq(r.ack, DEBUG_ACK_OK);
        for (size_t k = 0; k < n; k++)
            ck_assert_uint_eq(list[k].value, expect[k]);
    }
    free(b.p);
}
END_TEST

/* Refused at any access: the ones before are good, no write behind it is done. */
START_TEST(test_refused)
{
    static const uint8_t acks[] = {2, 4, 7, 8, 0};
    static const enum debug_ack expect[] = {DEBUG_ACK_WAIT, DEBUG_ACK_FAULT, DEBUG_ACK_NONE,
                                            DEBUG_ACK_PROTOCOL, DEBUG_ACK_NONE};
    struct bench b;
    struct debug_result r;
    uint32_t words[300];
    setup(&b, _i);
    for (unsigned k = 0; k < 60; k++) {
        unsigned at = 1 + k * 5;
        b.p->fail_at = b.p->accesses + at;
        b.p->fail_ack = acks[k % 5];
        b.p->sticky = k % 2 != 0;
        b.p->short_posted = k % 3 == 0;
        b.p->counter = 0;
        ck_assert_int_eq(
            b.link.ops->block(b.link.self, DEBUG_AP | DEBUG_READ | 0xc, words, 300, &r), 0);
        ck_assert_int_eq(r.ack, expect[k % 5]);
        /* One less where the value of the last read may be missing. */
        ck_assert_uint_le(r.done, at - 1);
        ck_assert_uint_ge(r.done + 1, at - 1);
        for (unsigned w = 0; w < r.done; w++)
            ck_assert_uint_eq(words[w], w);
        b.p->writes = 0;
        b.p->short_posted = false;
        b.p->fail_at = b.p->accesses + at;
        ck_assert_int_eq(b.link.ops->block(b.link.self, DEBUG_AP | 0xc, words, 300, &r), 0);
        ck_assert_int_eq(r.ack, expect[k % 5]);
        ck_assert_uint_eq(r.done, at - 1);
        ck_assert_uint_eq(b.p->writes, at - 1);
        b.p->fail_at = 0;
    }
    free(b.p);
}
END_TEST

static void other_command(struct answer *a)
{
    a->bytes[0] = 0x10;
}

static void too_many(struct answer *a)
{
    a->bytes[1] = 255;
    a->bytes[2] = 255;
}

static void too_few(struct answer *a)
{
    a->bytes[1]--;
}

static void cut(struct answer *a)
{
    a->length = 2;
}

static void empty(struct answer *a)
{
    a->length = 0;
}

static void not_known(struct answer *a)
{
    a->bytes[0] = 0xff;
    a->length = 1;
}

/* Answers without sense are errors; the next batch works, with its own answers. */
START_TEST(test_spoiled)
{
    static void (*const spoils[])(struct answer *) = {other_command, too_many, too_few,
                                                      cut,           empty,    not_known};
    struct bench b;
    struct debug_result r;
    uint32_t words[400];
    setup(&b, 3);
    for (unsigned at = 1; at <= 3; at++) {
        b.p->spoil = spoils[_i];
        b.p->spoil_at = b.p->commands + at;
        int rc = b.link.ops->block(b.link.self, DEBUG_AP | DEBUG_READ | 0xc, words, 400, &r);
        ck_assert_int_eq(rc, spoils[_i] == not_known ? BT_ERR_UNSUPPORTED : BT_ERR_FORMAT);
        b.p->spoil = NULL;
        b.p->counter = 100;
        ck_assert_int_eq(
            b.link.ops->block(b.link.self, DEBUG_AP | DEBUG_READ | 0xc, words, 400, &r), 0);
        ck_assert_uint_eq(r.done, 400);
        ck_assert_uint_eq(words[399], 499);
    }
    b.p->silent = true;
    ck_assert_int_eq(b.link.ops->block(b.link.self, DEBUG_AP | DEBUG_READ | 0xc, words, 4, &r),
                     BT_ERR_IO);
    b.p->gone = true;
    ck_assert_int_eq(b.link.ops->block(b.link.self, DEBUG_AP | DEBUG_READ | 0xc, words, 4, &r),
                     BT_ERR_IO);
    free(b.p);
}
END_TEST

struct heard {
    uint8_t bytes[8192];
    size_t length;
    unsigned losses;
    size_t lost_at;
};

static void hear_bytes(void *user, const uint8_t *data, size_t length)
{
    struct heard *h = user;
    ck_assert_uint_gt(length, 0);
    ck_assert_uint_le(h->length + length, sizeof h->bytes);
    memcpy(h->bytes + h->length, data, length);
    h->length += length;
}

static void hear_loss(void *user, enum bt_gap_cause cause)
{
    struct heard *h = user;
    ck_assert_int_eq(cause, BT_GAP_LOST_BYTES);
    h->losses++;
    h->lost_at = h->length;
}

static void fill_swo(struct probe *p, size_t length)
{
    p->swo_length = length;
    p->swo_next = 0;
    for (size_t k = 0; k < length; k++)
        p->swo[k] = (uint8_t)(k * 3);
}

START_TEST(test_swo_by_command)
{
    struct bench b;
    struct cmsis_dap_swo swo;
    uint32_t actual;
    struct heard *h = calloc(1, sizeof *h);
    const struct trace_sink sink = {.user = h, .bytes = hear_bytes, .lost = hear_loss};
    setup(&b, _i);
    b.p->swo_baud = 2010000;
    ck_assert_int_eq(cmsis_dap_swo_init(&swo, &b.dap, NULL, 2000000, &actual), 0);
    ck_assert_uint_eq(actual, 2010000);
    ck_assert_uint_eq(b.p->swo_transport, 1);
    struct trace_stream t = cmsis_dap_swo_stream(&swo);
    ck_assert_int_eq(t.ops->poll(t.self, 0), BT_ERR_INVAL);
    ck_assert_int_eq(t.ops->start(t.self, &sink), 0);
    ck_assert(b.p->swo_on);
    fill_swo(b.p, 3000);
    ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
    ck_assert_uint_eq(h->length, 3000);
    ck_assert_int_eq(memcmp(h->bytes, b.p->swo, 3000), 0);
    fill_swo(b.p, 10);
    b.p->swo_status = 0xc1;
    ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
    ck_assert_uint_eq(h->losses, 1);
    fill_swo(b.p, 17);
    ck_assert_int_eq(t.ops->stop(t.self), 0);
    ck_assert_uint_eq(h->length, 3027);
    ck_assert(!b.p->swo_on);
    ck_assert_uint_eq(b.p->swo_transport, 0);
    ck_assert_int_eq(t.ops->stop(t.self), 0);
    free(h);
    free(b.p);
}
END_TEST

struct fake_stream {
    struct trace_sink sink;
    bool gap;
    unsigned started, stopped;
};

static int fake_start(void *self, const struct trace_sink *sink)
{
    struct fake_stream *s = self;
    s->sink = *sink;
    s->started++;
    return 0;
}

static int fake_poll(void *self, unsigned timeout_ms)
{
    struct fake_stream *s = self;
    (void)timeout_ms;
    if (s->gap)
        s->sink.lost(s->sink.user, BT_GAP_LOST_BYTES);
    s->sink.bytes(s->sink.user, (const uint8_t *)"abc", 3);
    return 0;
}

static int fake_stop(void *self)
{
    struct fake_stream *s = self;
    s->stopped++;
    return 0;
}

START_TEST(test_swo_stream)
{
    static const struct trace_stream_ops OPS = {
        .start = fake_start, .poll = fake_poll, .stop = fake_stop};
    struct fake_stream fake = {0};
    const struct trace_stream stream = {.ops = &OPS, .self = &fake};
    struct bench b;
    struct cmsis_dap_swo swo;
    struct heard *h = calloc(1, sizeof *h);
    const struct trace_sink sink = {.user = h, .bytes = hear_bytes, .lost = hear_loss};
    setup(&b, 3);
    b.p->swo_baud = 4000000;
    ck_assert_int_eq(cmsis_dap_swo_init(&swo, &b.dap, &stream, 4000000, NULL), 0);
    ck_assert_uint_eq(b.p->swo_transport, 2);
    struct trace_stream t = cmsis_dap_swo_stream(&swo);
    ck_assert_int_eq(t.ops->start(t.self, &sink), 0);
    ck_assert_int_eq(t.ops->start(t.self, &sink), BT_ERR_INVAL);
    ck_assert_int_eq(t.ops->poll(t.self, 1), 0);
    uint64_t came, due;
    t.ops->progress(t.self, &came, &due);
    ck_assert_uint_eq(came, 3);
    ck_assert_uint_eq(due, 3);
    b.p->swo_length = 5; /* in its buffer, for a block that is not full */
    fake.gap = true;
    ck_assert_int_eq(t.ops->poll(t.self, 1), 0);
    ck_assert_uint_eq(h->length, 6);
    ck_assert_uint_eq(h->losses, 1);
    ck_assert_uint_eq(h->lost_at, 3);
    t.ops->progress(t.self, &came, &due);
    ck_assert_uint_eq(came, 6);
    ck_assert_uint_eq(due, 11);
    b.p->swo_length = 0;
    fake.gap = false;
    b.p->swo_status = 0x81;
    ck_assert_int_eq(t.ops->poll(t.self, 1), 0);
    ck_assert_uint_eq(h->losses, 2);
    ck_assert_int_eq(t.ops->stop(t.self), 0);
    ck_assert_uint_eq(fake.started, 1);
    ck_assert_uint_eq(fake.stopped, 1);
    free(h);
    free(b.p);
}
END_TEST

START_TEST(test_swo_refused)
{
    struct bench b;
    struct cmsis_dap_swo swo;
    uint32_t actual;
    setup(&b, 3);
    b.p->swo_baud = 2100000; /* 5 % off */
    ck_assert_int_eq(cmsis_dap_swo_init(&swo, &b.dap, NULL, 2000000, &actual), BT_ERR_RANGE);
    ck_assert_uint_eq(actual, 2100000);
    b.p->swo_baud = 0;
    ck_assert_int_eq(cmsis_dap_swo_init(&swo, &b.dap, NULL, 2000000, &actual), BT_ERR_RANGE);
    free(b.p);
}
END_TEST

/* GDB gives up after two seconds. */
START_TEST(test_silence)
{
    struct bench b;
    struct debug_result r;
    struct debug_transfer list[100];
    setup(&b, _i);
    memset(list, 0, sizeof list);
    ck_assert_int_eq(b.link.ops->set_clock(b.link.self, 1000000), 0);
    ck_assert_int_eq(b.link.ops->configure(b.link.self, 8, 1000), 0);
    b.p->silent = true;
    b.p->waited_ms = 0;
    ck_assert_int_eq(b.link.ops->transfer(b.link.self, list, 100, &r), BT_ERR_IO);
    ck_assert_uint_le(b.p->waited_ms, 1500);
    b.p->silent = false;
    /* What takes its time by itself gets it: a slow wire. */
    b.p->waiting = 0;
    ck_assert_int_eq(b.link.ops->set_clock(b.link.self, 10000), 0);
    ck_assert_int_eq(b.link.ops->configure(b.link.self, 8, 100), 0);
    b.p->silent = true;
    b.p->waited_ms = 0;
    ck_assert_int_eq(b.link.ops->transfer(b.link.self, list, 1, &r), BT_ERR_IO);
    ck_assert_uint_ge(b.p->waited_ms, 1900);
    free(b.p);
}
END_TEST

/* What is in a buffer that was full is in one piece; behind it something is missing. */
START_TEST(test_swo_overrun)
{
    static const uint8_t statuses[] = {0x81, 0x03, 0x83};
    struct bench b;
    struct cmsis_dap_swo swo;
    struct heard *h = calloc(1, sizeof *h);
    const struct trace_sink sink = {.user = h, .bytes = hear_bytes, .lost = hear_loss};
    setup(&b, _i);
    b.p->swo_baud = 2000000;
    ck_assert_int_eq(cmsis_dap_swo_init(&swo, &b.dap, NULL, 2000000, NULL), 0);
    struct trace_stream t = cmsis_dap_swo_stream(&swo);
    ck_assert_int_eq(t.ops->start(t.self, &sink), 0);
    size_t room = b.dap.packet_size - 4;
    ck_assert_uint_gt(4000, room);
    for (unsigned k = 0; k < 3; k++) {
        h->length = h->losses = 0;
        fill_swo(b.p, 4000);
        b.p->swo_status = statuses[k];
        ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
        ck_assert_uint_eq(h->length, 4000);
        ck_assert_int_eq(memcmp(h->bytes, b.p->swo, 4000), 0);
        ck_assert_uint_eq(h->losses, 1);
        ck_assert_uint_eq(h->lost_at, 4000);
        ck_assert(b.p->swo_on);
        fill_swo(b.p, 20);
        ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
        ck_assert_uint_eq(h->length, 4020);
        ck_assert_uint_eq(h->losses, 1);
    }
    free(h);
    free(b.p);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cmsis_dap");
    unit_cases(s, "cmsis_dap: open each kind of probe", test_open, 0, KIND_COUNT);
    unit_case(s, "cmsis_dap: answers to a client that died are thrown away", test_open_old_answers);
    unit_cases(s, "cmsis_dap: opened, with a first answer that is late", test_open_late_answers, 0,
               2);
    unit_case(s, "cmsis_dap: a probe that hears full packets only", test_open_full_packets);
    unit_case(s, "cmsis_dap: ways opening fails", test_open_failures);
    unit_cases(s, "cmsis_dap: small commands", test_small_commands, 0, KIND_COUNT);
    unit_cases(s, "cmsis_dap: blocks of reads, packets in flight", test_read_blocks, 0, KIND_COUNT);
    unit_cases(s, "cmsis_dap: blocks of writes, one by one", test_write_blocks, 0, KIND_COUNT);
    unit_cases(s, "cmsis_dap: random lists", test_lists, 0, KIND_COUNT);
    unit_cases(s, "cmsis_dap: refused accesses", test_refused, 0, KIND_COUNT);
    unit_cases(s, "cmsis_dap: answers without sense", test_spoiled, 0, 6);
    unit_cases(s, "cmsis_dap: SWO by command", test_swo_by_command, 0, KIND_COUNT);
    unit_case(s, "cmsis_dap: SWO by endpoint", test_swo_stream);
    unit_cases(s, "cmsis_dap: SWO of a buffer that was full", test_swo_overrun, 0, KIND_COUNT);
    unit_cases(s, "cmsis_dap: a silent probe is told in time", test_silence, 0, KIND_COUNT);
    unit_case(s, "cmsis_dap: SWO that the probe cannot do", test_swo_refused);
    return s;
}
