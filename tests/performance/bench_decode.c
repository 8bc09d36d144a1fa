/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets alone and full decode to blocks, ours and OpenCSD's, on the same bytes in one run.
 * Prints a line a stream for report.py: fields are NAME=VALUE, rates per second of CPU time.
 *
 * usage: bench_decode [FOLDER]   FOLDER: real captures. BENCH_ONLY: part of a stream's name
 *        bench_decode --run NAME RECORDING INSTRUCTIONS   a program that ran so many: this row
 * alone
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/virtual/encoder/etmv3_encoder.h"
#include "drivers/virtual/encoder/etmv4_encoder.h"
#include "drivers/virtual/encoder/ptm_encoder.h"
#include "tests/support/bench_clock.h"
#include "tests/support/bench_opencsd.h"

#define SIZE            20e6 /* bytes for us: BENCH_MB */
#define OCSD_SIZE       500000u
#define PIECE           65536u /* bytes a call */
#define BATCH           256    /* packets a call */
#define ARRAY           1024   /* blocks, events */
#define SMALL_CODE      (64u << 10)
#define LARGE_CODE      (1u << 20)
#define SMALL_UNIT      300000u
#define LARGE_UNIT      1200000u
#define ETMV4_CONFIG_ON 1u   /* TRCCONFIGR: reads as one */
#define SPECULATED      128  /* TRCIDR8 */
#define MAX_TOLERATED   1e-3 /* of the number of instructions that ran, and of OpenCSD's */

static uint64_t ptm_packets(const struct bench_stream *s)
{
    static struct ptm_packet out[BATCH];
    struct ptm p;
    uint64_t packets = 0;
    ptm_init(&p, &s->config.ptm);
    for (size_t unit = 0; unit < s->size; unit += s->unit) {
        for (size_t at = 0, n; at < s->unit; packets += n)
            at += ptm_parse(&p, s->bytes + unit + at, s->unit - at, out, BATCH, &n);
        ptm_discontinuity(&p);
    }
    return packets;
}

static uint64_t etmv3_packets(const struct bench_stream *s)
{
    static struct etmv3_packet out[BATCH];
    struct etmv3 p;
    uint64_t packets = 0;
    etmv3_init(&p, &s->config.etmv3);
    for (size_t unit = 0; unit < s->size; unit += s->unit) {
        for (size_t at = 0, n; at < s->unit; packets += n)
            at += etmv3_parse(&p, s->bytes + unit + at, s->unit - at, out, BATCH, &n);
        etmv3_discontinuity(&p);
    }
    return packets;
}

static uint64_t etmv4_packets(const struct bench_stream *s)
{
    static struct etmv4_packet out[BATCH];
    struct etmv4 p;
    uint64_t packets = 0;
    etmv4_init(&p, &s->config.etmv4);
    for (size_t unit = 0; unit < s->size; unit += s->unit) {
        for (size_t at = 0, n; at < s->unit; packets += n)
            at += etmv4_parse(&p, s->bytes + unit + at, s->unit - at, out, BATCH, &n);
        etmv4_discontinuity(&p);
    }
    return packets;
}

/* One row a protocol. */
static const struct {
    enum stream_protocol protocol;
    const char *name;
    uint64_t (*packets)(const struct bench_stream *s);
} protocols[] = {
    {STREAM_PTM, "PTM", ptm_packets},
    {STREAM_ETMV3, "ETMv3", etmv3_packets},
    {STREAM_ETMV4, "ETMv4", etmv4_packets},
};

static size_t protocol_row(const struct bench_stream *s)
{
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (protocols[i].protocol == s->config.protocol)
            return i;
    fprintf(stderr, "bench_decode: %s: no such protocol in the table\n", s->name);
    exit(1);
}

static void drop(void *ctx, struct flow_out *out)
{
    (void)ctx;
    out->block_count = out->event_count = 0;
}

static void decode_all(const struct bench_stream *s, struct stream *stream)
{
    static struct bt_block blocks[ARRAY];
    static uint64_t cycles[ARRAY];
    static struct bt_event events[ARRAY];
    struct stream_sink sink = {.out = {.blocks = blocks,
                                       .cycles = stream_counts_blocks(&s->config) ? cycles : NULL,
                                       .events = events,
                                       .block_max = ARRAY,
                                       .event_max = ARRAY},
                               .flush = drop};
    for (size_t unit = 0; unit < s->size; unit += s->unit) {
        if (unit)
            stream_gap(stream, BT_GAP_WIRE, 0, &sink);
        for (size_t at = 0; at < s->unit; at += PIECE)
            stream_feed(stream, s->bytes + unit + at, s->unit - at < PIECE ? s->unit - at : PIECE,
                        &sink);
    }
    stream_finish(stream, &sink);
}

static void full_run(const struct bench_stream *s, struct bench_runs *runs,
                     struct bench_counts *counts)
{
    struct code_options options;
    struct code_cache code;
    static struct stream stream;
    stream_code_options(&s->config, &options);
    struct bench_time start = bench_now();
    if (code_cache_init(&code, s->image, &options)) {
        fputs("bench_decode: out of memory\n", stderr);
        exit(1);
    }
    stream_init(&stream, &s->config, &code);
    decode_all(s, &stream);
    bench_add_run(runs, start);
    counts->blocks = stream_blocks(&stream);
    counts->instructions = stream_instructions(&stream);
    code_cache_release(&code);
}

static size_t opencsd_size(const struct bench_stream *s)
{
    size_t units = (OCSD_SIZE + s->unit - 1) / s->unit;
    return units * s->unit < s->size ? units * s->unit : s->size;
}

static void opencsd_run(const struct bench_stream *s, bool full, struct bench_runs *runs,
                        struct bench_counts *counts)
{
    struct bench_opencsd *o = bench_opencsd_new(s, full);
    if (!o) {
        fprintf(stderr, "bench_decode: OpenCSD refuses %s\n", s->name);
        exit(1);
    }
    struct bench_time start = bench_now();
    if (!bench_opencsd_feed(o, s->bytes, opencsd_size(s), s->unit)) {
        fprintf(stderr, "bench_decode: OpenCSD gives up %s\n", s->name);
        exit(1);
    }
    bench_add_run(runs, start);
    *counts = *bench_opencsd_counts(o);
    bench_opencsd_free(o);
}

struct result {
    struct bench_runs packets, full, ocsd_packets, ocsd_full;
    struct bench_counts ours, theirs;
};

/* Both decoders must have done the same work, or the ratio says nothing. */
static bool same_work(const struct bench_stream *s, const struct result *r, double *theirs)
{
    double share = (double)opencsd_size(s) / (double)s->size;
    double ours = (double)r->ours.instructions * share;
    *theirs = ours > 0 ? (double)r->theirs.instructions / ours : 0;
    if (!s->instructions)
        return true; /* captures: what is shown at their gaps differs */
    double expected = (double)s->instructions * (double)(s->size / s->unit);
    double off = (double)r->ours.instructions / expected - 1;
    bool same = off < MAX_TOLERATED && off > -MAX_TOLERATED && *theirs - 1 < MAX_TOLERATED &&
                1 - *theirs < MAX_TOLERATED;
    if (!same)
        fprintf(stderr, "bench_decode: %s: %" PRIu64 " instructions, ran %.0f, OpenCSD %.4f x\n",
                s->name, r->ours.instructions, expected, *theirs);
    return same;
}

static double rate(double amount, double time)
{
    return time > 0 ? amount / time / 1e6 : 0;
}

static bool print(const struct bench_stream *s, const struct result *r)
{
    struct bench_time full = bench_median(&r->full), packets = bench_median(&r->packets);
    struct bench_time ocsd_full = bench_median(&r->ocsd_full);
    struct bench_time ocsd_packets = bench_median(&r->ocsd_packets);
    double size = (double)s->size, ocsd_size = (double)opencsd_size(s), theirs;
    bool same = same_work(s, r, &theirs);
    printf("decode\tname=%s\tprotocol=%s\tcode_bytes=%zu\tunit_bytes=%zu\tbytes=%zu\tocsd_bytes=%zu"
           "\tblocks_per_byte=%.3f\tinsns_per_byte=%.2f",
           s->name, protocols[protocol_row(s)].name, s->code_bytes, s->unit, s->size,
           opencsd_size(s), (double)r->ours.blocks / size, (double)r->ours.instructions / size);
    printf("\tfull=%.2f\tfull_wall=%.2f\tblocks=%.2f\tinsns=%.2f\tocsd_full=%.3f"
           "\tocsd_blocks=%.3f\tpackets=%.2f\tpackets_wall=%.2f\tocsd_packets=%.3f\tsame=%.4f\n",
           rate(size, full.cpu), rate(size, full.wall), rate((double)r->ours.blocks, full.cpu),
           rate((double)r->ours.instructions, full.cpu), rate(ocsd_size, ocsd_full.cpu),
           rate((double)r->theirs.blocks, ocsd_full.cpu), rate(size, packets.cpu),
           rate(size, packets.wall), rate(ocsd_size, ocsd_packets.cpu), theirs);
    fflush(stdout);
    return same;
}

/* Ours and theirs take turns: both see the same noise. */
static bool measure(const struct bench_stream *s)
{
    static struct result r;
    struct bench_counts ignored;
    size_t runs = bench_wanted_runs();
    size_t row = protocol_row(s);
    memset(&r, 0, sizeof r);
    for (size_t i = 0; i < runs; i++) {
        full_run(s, &r.full, &r.ours);
        struct bench_time start = bench_now();
        r.ours.packets = protocols[row].packets(s);
        bench_add_run(&r.packets, start);
        if (i >= (runs + 1) / 2) /* theirs take longer and vary less */
            continue;
        opencsd_run(s, true, &r.ocsd_full, &r.theirs);
        opencsd_run(s, false, &r.ocsd_packets, &ignored);
    }
    return print(s, &r);
}

static bool wanted(const char *name)
{
    const char *only = getenv("BENCH_ONLY");
    return !only || !*only || strstr(name, only);
}

/* Code of a protocol whose cores have but one instruction set is of that. */
static const struct bench_mix mixes[] = {
    {.name = "calls",
     .isa = BT_ISA_T32,
     .code_bytes = SMALL_CODE,
     .loops = 5,
     .calls = 55,
     .indirect = 5,
     .straight = 8},
    {.name = "loops",
     .isa = BT_ISA_A32,
     .code_bytes = SMALL_CODE,
     .loops = 55,
     .calls = 5,
     .straight = 6},
    {.name = "indirect",
     .isa = BT_ISA_T32,
     .code_bytes = SMALL_CODE,
     .loops = 5,
     .calls = 10,
     .indirect = 50,
     .straight = 8},
    {.name = "interrupts",
     .isa = BT_ISA_A32,
     .code_bytes = SMALL_CODE,
     .loops = 20,
     .calls = 25,
     .indirect = 10,
     .straight = 8,
     .interrupts = 200},
    {.name = "calls",
     .isa = BT_ISA_A32,
     .code_bytes = LARGE_CODE,
     .loops = 5,
     .calls = 55,
     .indirect = 5,
     .straight = 8},
    {.name = "loops",
     .isa = BT_ISA_T32,
     .code_bytes = LARGE_CODE,
     .loops = 55,
     .calls = 5,
     .straight = 6},
};

enum code { CODE_OF_MIX, CODE_CORTEX_M, CODE_A64 };

static const struct {
    const char *name;
    enum stream_protocol protocol;
    uint32_t control;
    enum code code;
    uint16_t max_speculated;
    bool calm; /* no interrupts: OpenCSD 1.3.3 ends with a fault in the return stack */
} modes[] = {
    {.name = "PTM", .protocol = STREAM_PTM},
    {.name = "PTM return stack", .protocol = STREAM_PTM, .control = PTM_CR_RETURN_STACK},
    {.name = "PTM cycles", .protocol = STREAM_PTM, .control = PTM_CR_CYCLE_ACCURATE},
    {.name = "ETMv3", .protocol = STREAM_ETMV3},
    {.name = "ETMv3 cycles", .protocol = STREAM_ETMV3, .control = ETMV3_CR_CYCLE_ACCURATE},
    {.name = "ETMv4 M",
     .protocol = STREAM_ETMV4,
     .control = ETMV4_CONFIG_ON,
     .code = CODE_CORTEX_M},
    {.name = "ETMv4 A64", .protocol = STREAM_ETMV4, .control = ETMV4_CONFIG_ON, .code = CODE_A64},
    {.name = "ETMv4 A64 return stack",
     .protocol = STREAM_ETMV4,
     .control = ETMV4_CONFIG_ON | ETMV4_CONFIG_RETURN_STACK,
     .code = CODE_A64,
     .calm = true},
    {.name = "ETMv4 A64 speculation",
     .protocol = STREAM_ETMV4,
     .control = ETMV4_CONFIG_ON,
     .code = CODE_A64,
     .max_speculated = SPECULATED},
};

static void set_code(struct bench_mix *mix, enum code code)
{
    if (code == CODE_OF_MIX)
        return;
    mix->isa = code == CODE_A64 ? BT_ISA_A64 : BT_ISA_T32;
    mix->m_profile = code == CODE_CORTEX_M;
}

static bool generate(size_t mode, size_t mix, size_t size)
{
    static struct bench_stream s;
    char name[64];
    bool large = mixes[mix].code_bytes >= LARGE_CODE;
    snprintf(name, sizeof name, "%s, %s, %s", modes[mode].name, mixes[mix].name,
             large ? "1 MB" : "64 kB");
    struct bench_recipe recipe = {name,
                                  mixes[mix],
                                  modes[mode].protocol,
                                  modes[mode].control,
                                  large ? LARGE_UNIT : SMALL_UNIT,
                                  modes[mode].max_speculated};
    set_code(&recipe.mix, modes[mode].code);
    if (!wanted(name) || (modes[mode].calm && mixes[mix].interrupts))
        return true;
    int error = bench_stream_generate(&s, &recipe, size);
    if (error)
        fprintf(stderr, "bench_decode: %s: %s\n", name, bt_strerror(error));
    bool ok = !error && measure(&s);
    bench_stream_release(&s);
    return ok;
}

static bool generated(size_t size)
{
    bool ok = true;
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++)
        for (size_t mix = 0; mix < sizeof mixes / sizeof *mixes; mix++)
            ok = generate(mode, mix, size) && ok;
    return ok;
}

static bool capture(const char *folder, const char *recording, const char *source, size_t size)
{
    static struct recording r;
    static struct bench_stream s;
    struct message why;
    char path[4096], name[sizeof s.name];
    snprintf(path, sizeof path, "%s/%s", folder, recording);
    snprintf(name, sizeof name, "capture %.20s %.20s", recording, source);
    if (!wanted(name))
        return true;
    if (recording_open(&r, path, NULL, 0, &why)) {
        fprintf(stderr, "SKIP %s: %s\n", name, why.text);
        recording_close(&r);
        return true;
    }
    int error = bench_stream_capture(&s, &r, source, size);
    if (error)
        fprintf(stderr, "bench_decode: %s: %s\n", name, bt_strerror(error));
    memcpy(s.name, name, sizeof name);
    bool ok = !error && measure(&s);
    bench_stream_release(&s);
    recording_close(&r);
    return ok;
}

static bool run(const char *name, const char *path, const char *instructions, size_t size)
{
    static struct recording r;
    static struct bench_stream s;
    struct message why;
    uint64_t count = strtoull(instructions, NULL, 10);
    if (!count) {
        fprintf(stderr, "bench_decode: %s: no instructions ran\n", name);
        return false;
    }
    if (recording_open(&r, path, NULL, 0, &why)) {
        fprintf(stderr, "bench_decode: %s: %s\n", name, why.text);
        recording_close(&r);
        return false;
    }
    int error = bench_stream_run(&s, &r, count, size);
    if (error)
        fprintf(stderr, "bench_decode: %s: %s\n", name, bt_strerror(error));
    snprintf(s.name, sizeof s.name, "%s", name);
    bool ok = !error && measure(&s);
    bench_stream_release(&s);
    recording_close(&r);
    return ok;
}

int main(int argc, char **argv)
{
    size_t size = (size_t)(bench_option("BENCH_MB", SIZE / 1e6) * 1e6);
    bool ok = true;
    if (argc == 5 && !strcmp(argv[1], "--run"))
        return run(argv[2], argv[3], argv[4], size) ? 0 : 1;
    printf("about\topencsd=%s\n", bench_opencsd_version());
    if (argc > 1) {
        ok = capture(argv[1], "a15-ptm-return-stack", "PTM_0_2", size) && ok;
        ok = capture(argv[1], "tc2-etmv3-ptm", "PTM_0", size) && ok;
        ok = capture(argv[1], "tc2-etmv3-ptm", "ETM_0", size) && ok;
        ok = capture(argv[1], "cc1-etmv4", "etm_1", size) && ok;
    }
    ok = generated(size) && ok;
    return ok ? 0 : 1;
}
