/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/library/decoder.c, formatter.c, text.c and decoder/base/types.c. */
/* The library: each error that its headers name, output equal to the decoder's, parts of a history.
 */
#include "btrace/btrace.h"
#include "decoder/flow/flow.h"
#include "tests/support/decoded.h"
#include "tests/support/random_flow.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define MAX 200000

/* What a sink was given. */
struct taken {
    struct bt_block blocks[MAX];
    uint64_t cycles[MAX];
    uint64_t numbers[MAX];
    struct bt_event events[MAX];
    size_t block_count, event_count, instruction_count, packet_count;
    struct bt_instruction first, last;
    uint64_t packet_bytes;
    bool ordered; /* instructions have numbers without holes */
};

struct fixture {
    struct random_flow flow;
    struct code_image code;
    struct stream_config config;
    struct decoded straight;
    struct bt_register registers[4];
    struct bt_source source;
    struct bt_image *image;
    struct taken taken, all;
};

static struct fixture x;

static void set_up(uint64_t seed, unsigned instructions)
{
    struct random_flow_options o;
    memset(&x, 0, sizeof x);
    random_flow_default_options(&o);
    o.instructions = instructions;
    o.encoder.etmcr |= PTM_CR_RETURN_STACK | PTM_CR_CONTEXT_ID(2) | PTM_CR_TIMESTAMP |
                       (seed & 1 ? PTM_CR_CYCLE_ACCURATE : 0);
    ck_assert_int_eq(random_flow_init(&x.flow, seed, &o), 0);
    code_image_init(&x.code);
    ck_assert_int_eq(bt_image_new(&x.image), 0);
    for (size_t i = 0; i < x.flow.region_count; i++) {
        const struct code_region code = {.address = x.flow.regions[i].address,
                                         .size = x.flow.regions[i].size,
                                         .bytes = x.flow.regions[i].bytes};
        const struct bt_region region = {
            .address = code.address, .size = code.size, .bytes = code.bytes};
        code_image_add(&x.code, &code);
        ck_assert_int_eq(bt_image_add(x.image, &region), 0);
    }
    const struct bt_register registers[] = {{"etmcr", o.encoder.etmcr},
                                            {"ETMIDR", o.encoder.etmidr},
                                            {"ETMCCER", o.encoder.etmccer},
                                            {"ETMTRACEIDR", 0x10}};
    memcpy(x.registers, registers, sizeof registers);
    x.source = (struct bt_source){
        .type = "PTM1.1", .core = "Cortex-A15", .registers = x.registers, .register_count = 4};
    x.config.protocol = STREAM_PTM;
    ck_assert_int_eq(ptm_config_from_regs(&x.config.ptm, o.encoder.etmcr, o.encoder.etmidr,
                                          o.encoder.etmccer, 0x10),
                     0);
}

static void tear_down(void)
{
    code_image_release(&x.code);
    bt_image_free(x.image);
    random_flow_release(&x.flow);
}

static void take_block(void *ctx, uint64_t number, const struct bt_block *block, uint64_t cycles)
{
    struct taken *t = ctx;
    ck_assert_uint_lt(t->block_count, MAX);
    t->blocks[t->block_count] = *block;
    t->numbers[t->block_count] = number;
    t->cycles[t->block_count++] = cycles;
}

static void take_event(void *ctx, const struct bt_event *event)
{
    struct taken *t = ctx;
    ck_assert_uint_lt(t->event_count, MAX);
    t->events[t->event_count++] = *event;
}

static void take_instruction(void *ctx, const struct bt_instruction *instruction)
{
    struct taken *t = ctx;
    if (t->instruction_count++ == 0)
        t->first = *instruction;
    else if (instruction->number != t->last.number + 1)
        t->ordered = false;
    t->last = *instruction;
}

static void take_packet(void *ctx, const struct bt_packet *packet)
{
    struct taken *t = ctx;
    ck_assert_ptr_nonnull(packet->name);
    ck_assert_ptr_nonnull(packet->detail);
    ck_assert_uint_eq(packet->offset, t->packet_bytes);
    t->packet_bytes += packet->size;
    t->packet_count++;
}

static struct bt_sink sink_of(struct taken *t)
{
    memset(t, 0, sizeof *t);
    t->ordered = true;
    return (struct bt_sink){
        .block = take_block, .instruction = take_instruction, .event = take_event, .ctx = t};
}

static struct bt_decoder *decode(const struct bt_sink *sink, const struct bt_limits *limits,
                                 size_t piece)
{
    struct bt_decoder *d;
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, sink, limits, &d), 0);
    for (size_t at = 0; at < x.flow.trace.size; at += piece) {
        size_t size = x.flow.trace.size - at < piece ? x.flow.trace.size - at : piece;
        ck_assert_int_eq(bt_decoder_feed(d, x.flow.trace.data + at, size), 0);
    }
    ck_assert_int_eq(bt_decoder_finish(d), 0);
    return d;
}

static void decode_straight(void)
{
    decoded_init(&x.straight, &x.config, &x.code);
    decoded_feed(&x.straight, x.flow.trace.data, x.flow.trace.size, 0);
    stream_finish(&x.straight.stream, &x.straight.sink);
    decoded_take(&x.straight);
}

static void check_all(const struct taken *t)
{
    const struct decoded *s = &x.straight;
    ck_assert_uint_eq(t->block_count, s->block_count);
    ck_assert_uint_eq(t->event_count, s->event_count);
    ck_assert_int_eq(memcmp(t->blocks, s->blocks, s->block_count * sizeof *s->blocks), 0);
    ck_assert_int_eq(memcmp(t->cycles, s->cycles, s->block_count * sizeof *s->cycles), 0);
    ck_assert_int_eq(memcmp(t->events, s->events, s->event_count * sizeof *s->events), 0);
    ck_assert_uint_eq(t->instruction_count, stream_instructions(&s->stream));
    ck_assert(t->ordered);
}

START_TEST(a_sink_gets_what_the_decoder_puts_out)
{
    set_up((uint64_t)_i + 1, 20000);
    decode_straight();
    struct bt_sink sink = sink_of(&x.taken);
    if (_i == 2)
        sink.packet = take_packet;
    struct bt_decoder *d = decode(&sink, NULL, 1 + 333 * (size_t)_i);
    check_all(&x.taken);
    struct bt_status s;
    ck_assert_int_eq(bt_decoder_status(d, &s), 0);
    ck_assert_uint_eq(s.bytes, x.flow.trace.size);
    ck_assert_uint_eq(s.end, x.taken.instruction_count);
    ck_assert_uint_eq(s.blocks, x.taken.block_count);
    ck_assert_uint_eq(s.first, 0);
    ck_assert(_i != 2 || x.taken.packet_bytes == s.bytes);
    ck_assert(_i != 2 || x.taken.packet_count == s.packets);
    bt_decoder_free(d);
    decoded_release(&x.straight);
    tear_down();
}
END_TEST

START_TEST(a_history_gives_all_of_it)
{
    set_up((uint64_t)_i + 1, 20000);
    decode_straight();
    const struct bt_limits limits = {.window_bytes = 100 + 500 * (size_t)_i};
    struct bt_decoder *d = decode(NULL, &limits, 1000);
    struct bt_status s;
    ck_assert_int_eq(bt_decoder_status(d, &s), 0);
    struct bt_sink sink = sink_of(&x.taken);
    ck_assert_int_eq(bt_decoder_read(d, s.first, s.end, &sink), 0);
    check_all(&x.taken);
    bt_decoder_free(d);
    decoded_release(&x.straight);
    tear_down();
}
END_TEST

/* Parts read backwards, put together: each instruction and each event once. */
START_TEST(a_history_is_read_backwards)
{
    set_up((uint64_t)_i + 1, 8000);
    const struct bt_limits limits = {.window_bytes = 90};
    struct bt_decoder *d = decode(NULL, &limits, 1000);
    struct bt_status s;
    ck_assert_int_eq(bt_decoder_status(d, &s), 0);
    struct bt_sink sink = sink_of(&x.all);
    ck_assert_int_eq(bt_decoder_read(d, 0, s.end, &sink), 0);
    size_t events = x.all.event_count;
    uint64_t step = 1 + 37 * (uint64_t)_i;
    for (uint64_t end = s.end; end > 0;) {
        uint64_t first = end > step ? end - step : 0;
        sink = sink_of(&x.taken);
        ck_assert_int_eq(bt_decoder_read(d, first, end, &sink), 0);
        ck_assert_uint_eq(x.taken.instruction_count, end - first);
        ck_assert_uint_eq(x.taken.first.number, first);
        ck_assert_uint_eq(x.taken.last.number, end - 1);
        ck_assert(x.taken.ordered);
        ck_assert_uint_ge(events, x.taken.event_count);
        events -= x.taken.event_count;
        ck_assert_int_eq(memcmp(x.taken.events, x.all.events + events,
                                x.taken.event_count * sizeof *x.taken.events),
                         0);
        ck_assert_uint_le(x.taken.numbers[0], first);
        end = first;
    }
    ck_assert_uint_eq(events, 0);
    bt_decoder_free(d);
    tear_down();
}
END_TEST

START_TEST(dropped_instructions_are_out_of_range)
{
    set_up(1, 300000);
    struct bt_sink sink = sink_of(&x.taken);
    const struct bt_limits limits = {.trace_bytes = 64 << 10, .window_bytes = 1000};
    struct bt_decoder *d = decode(NULL, &limits, 1000);
    struct bt_status s;
    ck_assert_int_eq(bt_decoder_status(d, &s), 0);
    ck_assert_uint_gt(s.first, 0);
    ck_assert_int_eq(bt_decoder_read(d, 0, s.end, &sink), BT_ERR_RANGE);
    ck_assert_int_eq(bt_decoder_read(d, s.first, s.end + 1, &sink), BT_ERR_RANGE);
    ck_assert_int_eq(bt_decoder_read(d, s.first, s.first + 10, &sink), 0);
    ck_assert_uint_eq(x.taken.instruction_count, 10);
    ck_assert_int_eq(bt_decoder_read(d, s.end, s.end, &sink), 0);
    bt_decoder_free(d);
    tear_down();
}
END_TEST

/* The trace is kept by the caller; `broken` makes its reading fail. */
static bool broken;

static int read_back(void *ctx, uint64_t offset, uint8_t *out, size_t size)
{
    const struct fixture *f = ctx;
    if (broken)
        return BT_ERR_IO;
    memcpy(out, f->flow.trace.data + offset, size);
    return 0;
}

START_TEST(a_trace_kept_elsewhere)
{
    set_up(2, 20000);
    decode_straight();
    const struct bt_limits limits = {.window_bytes = 500, .read = read_back, .ctx = &x};
    struct bt_decoder *d = decode(NULL, &limits, 1000);
    struct bt_status s;
    ck_assert_int_eq(bt_decoder_status(d, &s), 0);
    struct bt_sink sink = sink_of(&x.taken);
    broken = true;
    ck_assert_int_eq(bt_decoder_read(d, 0, s.end, &sink), BT_ERR_IO);
    broken = false;
    sink = sink_of(&x.taken);
    ck_assert_int_eq(bt_decoder_read(d, 0, s.end, &sink), 0);
    check_all(&x.taken);
    bt_decoder_free(d);
    decoded_release(&x.straight);
    tear_down();
}
END_TEST

START_TEST(gaps_are_events)
{
    set_up(1, 20000);
    struct bt_sink sink = sink_of(&x.taken);
    struct bt_decoder *d;
    size_t half = x.flow.trace.size / 2;
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, &sink, NULL, &d), 0);
    ck_assert_int_eq(bt_decoder_feed(d, x.flow.trace.data, half), 0);
    ck_assert_int_eq(bt_decoder_gap(d, BT_GAP_LOST_BYTES, 77), 0);
    ck_assert_int_eq(bt_decoder_feed(d, x.flow.trace.data + half, x.flow.trace.size - half), 0);
    ck_assert_int_eq(bt_decoder_finish(d), 0);
    unsigned found = 0;
    for (size_t i = 0; i < x.taken.event_count; i++)
        found += x.taken.events[i].kind == BT_EVENT_GAP &&
                 x.taken.events[i].cause == BT_GAP_LOST_BYTES &&
                 x.taken.events[i].u.gap.bytes == 77;
    ck_assert_uint_eq(found, 1);
    bt_decoder_free(d);
    tear_down();
}
END_TEST

START_TEST(errors_of_a_decoder)
{
    set_up(1, 1000);
    struct bt_sink sink = sink_of(&x.taken);
    const struct bt_limits small = {.trace_bytes = 1000};
    const struct bt_limits coarse = {.trace_bytes = 1 << 20, .window_bytes = 1 << 20};
    struct bt_status s;
    struct bt_decoder *d = NULL;
    ck_assert_int_eq(bt_decoder_new(NULL, x.image, &sink, NULL, &d), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_new(&x.source, NULL, &sink, NULL, &d), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, &sink, NULL, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, NULL, &small, &d), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, NULL, &coarse, &d), BT_ERR_INVAL);
    x.source.type = "HTM";
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, &sink, NULL, &d), BT_ERR_UNSUPPORTED);
    x.source.type = "PTM1.1";
    x.source.register_count = 2;
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, &sink, NULL, &d), BT_ERR_FORMAT);
    ck_assert_ptr_null(d);
    x.source.register_count = 4;
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, &sink, NULL, &d), 0);

    ck_assert_int_eq(bt_decoder_feed(NULL, x.flow.trace.data, 1), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_feed(d, NULL, 1), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_feed(d, NULL, 0), 0);
    ck_assert_int_eq(bt_decoder_gap(NULL, BT_GAP_WIRE, 0), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_gap(d, BT_GAP_NONE, 0), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_gap(d, BT_GAP_NO_CODE, 0), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_status(NULL, &s), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_status(d, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_read(d, 0, 0, &sink), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(bt_decoder_finish(NULL), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_finish(d), 0);
    ck_assert_int_eq(bt_decoder_finish(d), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_feed(d, x.flow.trace.data, 1), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_gap(d, BT_GAP_WIRE, 0), BT_ERR_INVAL);
    bt_decoder_free(d);
    bt_decoder_free(NULL);

    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, NULL, NULL, &d), 0);
    ck_assert_int_eq(bt_decoder_read(NULL, 0, 0, &sink), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_read(d, 0, 0, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_read(d, 1, 0, &sink), BT_ERR_INVAL);
    ck_assert_int_eq(bt_decoder_read(d, 0, 1, &sink), BT_ERR_RANGE);
    ck_assert_int_eq(bt_decoder_read(d, 0, 0, &sink), 0); /* nothing has come yet */
    bt_decoder_free(d);
    tear_down();
}
END_TEST

START_TEST(errors_of_a_source)
{
    set_up(1, 100);
    unsigned id = 99;
    char why[200], few[8];
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), 0);
    ck_assert_uint_eq(id, 0x10);
    ck_assert_str_eq(why, "");
    ck_assert_int_eq(bt_source_check(&x.source, NULL, NULL, 0), 0);
    ck_assert_int_eq(bt_source_check(NULL, &id, why, sizeof why), BT_ERR_INVAL);
    x.registers[1].name = NULL;
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), BT_ERR_INVAL);
    x.registers[1].name = "ETMCCR";
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), BT_ERR_FORMAT);
    ck_assert_str_eq(why, "register ETMIDR is missing: the trace of 'PTM1.1' cannot be decoded "
                          "without it");
    ck_assert_int_eq(bt_source_check(&x.source, &id, few, sizeof few), BT_ERR_FORMAT);
    ck_assert_str_eq(few, "registe");
    x.registers[1] = (struct bt_register){"ETMIDR", 0x4114f250}; /* an ETMv3 */
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), BT_ERR_INVAL);
    x.source.type = "HTM";
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), BT_ERR_UNSUPPORTED);
    ck_assert_str_eq(why, "protocol 'HTM' is not supported");
    x.source.type = NULL;
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), BT_ERR_INVAL);
    x.source.type = "ETM1.1";
    x.registers[0].value = 7u << 4; /* no port size */
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), BT_ERR_INVAL);
    x.registers[0].value = 0;
    x.registers[2] = (struct bt_register){"PORT_LAYOUT", 7};
    ck_assert_int_eq(bt_source_check(&x.source, &id, why, sizeof why), BT_ERR_FORMAT);
    ck_assert_uint_eq(id, 0x10);
    tear_down();
}
END_TEST

START_TEST(errors_of_an_image)
{
    struct bt_image *image;
    struct bt_decoder *d;
    set_up(1, 100);
    const uint8_t bytes[4] = {0};
    const struct bt_region good = {.address = 0x1000, .size = 4, .bytes = bytes};
    struct bt_region bad[] = {good, good, good, good, good};
    bad[0].bytes = NULL;
    bad[1].size = 0;
    bad[2].by = 1;
    bad[3].security = 3;
    bad[4].address = UINT64_MAX - 2;
    ck_assert_int_eq(bt_image_new(NULL), BT_ERR_INVAL);
    ck_assert_int_eq(bt_image_new(&image), 0);
    ck_assert_int_eq(bt_image_add(NULL, &good), BT_ERR_INVAL);
    ck_assert_int_eq(bt_image_add(image, NULL), BT_ERR_INVAL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(bt_image_add(image, &bad[i]), BT_ERR_INVAL);
    ck_assert_int_eq(bt_image_add(image, &good), 0);
    ck_assert_int_eq(bt_decoder_new(&x.source, image, NULL, NULL, &d), 0);
    ck_assert_int_eq(bt_image_add(image, &good), BT_ERR_UNSUPPORTED);
    bt_decoder_free(d);
    bt_image_free(image);
    bt_image_free(NULL);
    tear_down();
}
END_TEST

START_TEST(regions_by_context)
{
    const uint8_t bytes[4] = {0};
    struct bt_image *image;
    ck_assert_int_eq(bt_image_new(&image), 0);
    const struct bt_region region = {.address = 0x1000,
                                     .size = 4,
                                     .bytes = bytes,
                                     .by = BT_BY_SECURITY | BT_BY_VMID | BT_BY_CONTEXT,
                                     .security = BT_SEC_NONSECURE,
                                     .vmid = 3,
                                     .context = 5};
    ck_assert_int_eq(bt_image_add(image, &region), 0);
    bt_image_free(image);
}
END_TEST

struct runs {
    size_t data, losses;
    uint8_t bytes[32];
};

static void take_run(void *ctx, const struct bt_run *run)
{
    struct runs *r = ctx;
    r->losses += run->kind == BT_RUN_LOSS;
    for (size_t i = 0; run->kind == BT_RUN_DATA && run->id == 0x10 && i < run->size; i++)
        r->bytes[r->data++] = run->data[i];
}

START_TEST(frames_are_taken_apart)
{
    /* ID 0x10 at once, 14 bytes; the auxiliary byte has the lowest bits of bytes 2, 4 ... 14 */
    const uint8_t frame[16] = {0x21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0};
    struct runs runs = {0};
    struct bt_formatter *f;
    ck_assert_int_eq(bt_formatter_new(BT_FRAMING_ALIGNED, take_run, &runs, &f), 0);
    for (size_t i = 0; i < sizeof frame; i++)
        ck_assert_int_eq(bt_formatter_feed(f, frame + i, 1), 0);
    ck_assert_uint_eq(runs.data, 14);
    for (size_t i = 0; i < runs.data; i++)
        ck_assert_uint_eq(runs.bytes[i], i + 1);
    ck_assert_uint_eq(runs.losses, 0);
    bt_formatter_free(f);
}
END_TEST

START_TEST(errors_of_a_formatter)
{
    struct runs runs;
    struct bt_formatter *f;
    ck_assert_int_eq(bt_formatter_new(BT_FRAMING_SYNC, NULL, &runs, &f), BT_ERR_INVAL);
    ck_assert_int_eq(bt_formatter_new(BT_FRAMING_SYNC, take_run, &runs, NULL), BT_ERR_INVAL);
    ck_assert_int_eq(bt_formatter_new((enum bt_framing)3, take_run, &runs, &f), BT_ERR_INVAL);
    ck_assert_int_eq(bt_formatter_new(BT_FRAMING_SYNC, take_run, &runs, &f), 0);
    ck_assert_int_eq(bt_formatter_feed(NULL, NULL, 0), BT_ERR_INVAL);
    ck_assert_int_eq(bt_formatter_feed(f, NULL, 1), BT_ERR_INVAL);
    ck_assert_int_eq(bt_formatter_feed(f, NULL, 0), 0);
    bt_formatter_free(f);
    bt_formatter_free(NULL);
}
END_TEST

START_TEST(text_of_instructions)
{
    set_up(1, 100);
    struct bt_decoder *d;
    const struct bt_instruction it = {
        .address = 0x1000, .opcode = 0xbf08, .size = 2, .isa = BT_ISA_T32};
    const struct bt_instruction mov = {
        .address = 0x1002, .opcode = 0x2001, .size = 2, .isa = BT_ISA_T32};
    const struct bt_instruction none = {.opcode = 0xffffffff, .size = 4, .isa = BT_ISA_A64};
    ck_assert_int_eq(bt_decoder_new(&x.source, x.image, NULL, NULL, &d), 0);
    ck_assert_ptr_null(bt_instruction_text(NULL, &it));
    ck_assert_ptr_null(bt_instruction_text(d, NULL));
    ck_assert_str_eq(bt_instruction_text(d, &it), "it eq");
    ck_assert_str_eq(bt_instruction_text(d, &mov), "moveq r0, #1");
    ck_assert_str_eq(bt_instruction_text(d, &none), ".inst 0xffffffff");
    bt_decoder_free(d);
    tear_down();
}
END_TEST

START_TEST(names_and_version)
{
    ck_assert_uint_eq(bt_version(), BT_VERSION);
    ck_assert_str_eq(bt_isa_name(BT_ISA_A64), "A64");
    ck_assert_str_eq(bt_isa_name((enum bt_isa)99), "?");
    ck_assert_str_eq(bt_gap_name(BT_GAP_OVERFLOW), "overflow");
    ck_assert_str_eq(bt_gap_name(BT_GAP_CAUSES), "?");
    ck_assert_str_eq(bt_event_name(BT_EVENT_EXCEPTION), "exception");
    ck_assert_str_eq(bt_event_name(BT_EVENT_KINDS), "?");
    ck_assert_str_eq(bt_strerror(BT_OK), "no error");
    ck_assert_str_eq(bt_strerror(1), "unknown error");
    for (int error = BT_ERR_UNSUPPORTED; error < 0; error++)
        ck_assert_str_ne(bt_strerror(error), "unknown error");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("library");
    unit_cases(s, "library: a sink gets what the decoder puts out",
               a_sink_gets_what_the_decoder_puts_out, 0, 4);
    unit_cases(s, "library: a history gives all of it", a_history_gives_all_of_it, 0, 4);
    unit_cases(s, "library: a history is read backwards", a_history_is_read_backwards, 0, 3);
    unit_case(s, "library: dropped instructions are out of range",
              dropped_instructions_are_out_of_range);
    unit_case(s, "library: a trace kept elsewhere", a_trace_kept_elsewhere);
    unit_case(s, "library: gaps are events", gaps_are_events);
    unit_case(s, "library: errors of a decoder", errors_of_a_decoder);
    unit_case(s, "library: errors of a source", errors_of_a_source);
    unit_case(s, "library: errors of an image", errors_of_an_image);
    unit_case(s, "library: regions by context", regions_by_context);
    unit_case(s, "library: frames are taken apart", frames_are_taken_apart);
    unit_case(s, "library: errors of a formatter", errors_of_a_formatter);
    unit_case(s, "library: text of instructions", text_of_instructions);
    unit_case(s, "library: names and version", names_and_version);
    return s;
}
