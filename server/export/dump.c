/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/dump.h"

#include "decoder/disasm/disasm.h"
#include "decoder/history/gap_ledger.h"
#include "server/export/export_names.h"
#include "server/history/parallel.h"
#include "server/protocols/source_device.h"
#include "vcd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OUT_BLOCKS 1024
#define OUT_EVENTS 256
#define HELD_MAX   256 /* events of one place that are put in order */

/* A unit may put off its synchronisation, and headers come first: bytes to allow for that. */
#define SYNC_SLACK 256

#define HEX_MAX 64 /* bytes shown of one packet; " ..." marks that there are more */

/* A column: its name in header and JSON; numbers are not quoted in JSON; width in text. */
struct listing_column {
    const char *name;
    bool number;
    int width; /* text: minimum width, negative: left-aligned, 0: as it comes */
};

struct listing {
    FILE *out;
    enum listing_format format;
    const struct listing_column *columns;
    unsigned count;
    bool header_done;
};

/* Bytes are not kept by the decoder: the last ones fed are, for the packets' hex column. */
#define KEEP 8192

struct kept {
    uint8_t bytes[KEEP];
    uint64_t end; /* offset behind the newest */
};

struct dump {
    struct dump_options options;
    struct kept kept;
    struct listing packets, instructions, blocks, events, summary;
    struct vcd vcd;
    const struct recording_source *source;
    const struct source_protocol *protocol;
    struct disasm *disasm;
    struct it_track it;
    struct stream stream;
    struct stream_sink sink;
    struct parallel *parallel; /* NULL: one thread */
    struct code_cache code;    /* of the decoder */
    struct code_cache lookup;  /* of the listing: opcodes for what was decoded */
    struct code_view *view;
    struct code_key key;
    uint64_t number;        /* of the next instruction to be listed */
    struct gap_ledger gaps; /* its totals: no entry is kept */
    uint64_t exceptions;
    uint64_t total; /* cycles up to here */
    struct bt_block out_blocks[OUT_BLOCKS];
    uint64_t out_cycles[OUT_BLOCKS];
    struct bt_event out_events[OUT_EVENTS];
    struct bt_event held[HELD_MAX]; /* of one position, by offset */
    size_t held_count;
};

static const struct listing_column packet_columns[] = {
    {"source", false, 0},   {"offset", true, 8},  {"bytes", false, -30},
    {"packet", false, -16}, {"detail", false, 0},
};
static const struct listing_column instruction_columns[] = {
    {"core", false, 0}, {"index", true, 8},  {"address", false, 0}, {"opcode", false, -8},
    {"size", true, 0},  {"isa", false, 0},   {"cycles", true, 4},   {"condition", false, -4},
    {"text", false, 0}, {"total", true, 10}, /* with --cycles alone: left out otherwise */
};
static const struct listing_column block_columns[] = {
    {"core", false, 0}, {"index", true, 8}, {"first", false, 0},      {"last", false, 0},
    {"count", true, 6}, {"isa", false, 0},  {"condition", false, -4}, {"cycles", true, 0},
};
static const struct listing_column event_columns[] = {
    {"core", false, 0},    {"index", true, 8},   {"offset", true, 8},
    {"event", false, -16}, {"detail", false, 0},
};
static const struct listing_column summary_columns[] = {
    {"source", false, 0},
    {"key", false, -20},
    {"value", true, 12},
};

static void listing_init(struct listing *l, FILE *out, enum listing_format format,
                         const struct listing_column *columns, unsigned count)
{
    l->out = out;
    l->format = format;
    l->columns = columns;
    l->count = count;
    l->header_done = false;
}

static void listing_header(struct listing *l)
{
    if (l->header_done)
        return;
    l->header_done = true;
    if (l->format != LISTING_TSV)
        return;
    for (unsigned i = 0; i < l->count; i++)
        fprintf(l->out, "%s%s", i ? "\t" : "", l->columns[i].name);
    fputc('\n', l->out);
}

static void json_row(const struct listing *l, const char *const *values)
{
    bool first = true;
    fputc('{', l->out);
    for (unsigned i = 0; i < l->count; i++) {
        if (!*values[i])
            continue;
        fprintf(l->out, "%s\"%s\":", first ? "" : ",", l->columns[i].name);
        first = false;
        if (l->columns[i].number)
            fputs(values[i], l->out);
        else
            export_json_text(values[i], strlen(values[i]), l->out);
    }
    fputs("}\n", l->out);
}

/* A tab or line end inside a value (a device's name, say) must not look like a column or a row. */
static void tsv_value(FILE *out, const char *s)
{
    for (; *s; s++)
        fputc((unsigned char)*s < 0x20 ? ' ' : *s, out);
}

static void text_row(const struct listing *l, const char *const *values)
{
    char line[1024];
    size_t n = 0;
    line[0] = 0;
    for (unsigned i = 0; i < l->count && n < sizeof line; i++) {
        int written = snprintf(line + n, sizeof line - n, "%s%*s", i ? "  " : "",
                               l->columns[i].width, values[i]);
        n += written > 0 ? (size_t)written : 0;
    }
    size_t end = strlen(line);
    while (end > 0 && line[end - 1] == ' ')
        line[--end] = 0;
    fprintf(l->out, "%s\n", line);
}

static void listing_row(struct listing *l, const char *const *values)
{
    listing_header(l);
    if (l->format == LISTING_JSON) {
        json_row(l, values);
        return;
    }
    if (l->format == LISTING_TEXT) {
        text_row(l, values);
        return;
    }
    for (unsigned i = 0; i < l->count; i++) {
        if (i)
            fputc('\t', l->out);
        tsv_value(l->out, values[i]);
    }
    fputc('\n', l->out);
}

#define COLUMNS(array) array, sizeof array / sizeof *array

static const char *number_text(char *buffer, size_t size, uint64_t value)
{
    snprintf(buffer, size, "%" PRIu64, value);
    return buffer;
}

static const char *address_text(char *buffer, size_t size, uint64_t value)
{
    snprintf(buffer, size, "0x%08" PRIx64, value);
    return buffer;
}

static const char *cond_text(enum bt_cond cond)
{
    return cond == BT_COND_PASS ? "pass" : cond == BT_COND_FAIL ? "fail" : "";
}

static void list_event(struct dump *l, const struct bt_event *e)
{
    char index[24], offset[24], detail[DETAIL_MAX];
    detail_event(e, detail);
    const char *row[] = {
        l->source->core_name,
        number_text(index, sizeof index, e->position + 1),
        number_text(offset, sizeof offset, e->offset),
        bt_event_name((enum bt_event_kind)e->kind),
        detail,
    };
    listing_row(&l->events, row);
}

static void list_block(struct dump *l, const struct bt_block *b, uint64_t cycles)
{
    char index[24], first[24], last[24], count[24], cyc[24] = "";
    if (cycles != FLOW_NO_CYCLES)
        number_text(cyc, sizeof cyc, cycles);
    const char *row[] = {
        l->source->core_name,
        number_text(index, sizeof index, l->number + 1),
        address_text(first, sizeof first, b->first),
        address_text(last, sizeof last, bt_block_last(b)),
        number_text(count, sizeof count, bt_block_count(b)),
        bt_isa_name(bt_block_isa(b)),
        cond_text(bt_block_cond(b)),
        cyc,
    };
    listing_row(&l->blocks, row);
}

static void list_instruction(struct dump *l, uint64_t number, uint64_t address, enum bt_isa isa,
                             unsigned size, uint32_t opcode, enum bt_cond cond, uint64_t cycles)
{
    char index[24], addr[24], op[24], bytes[8], total[24], cyc[24] = "";
    uint8_t it = it_track_step(&l->it, address, isa, opcode, size);
    snprintf(op, sizeof op, size == 2 ? "%04x" : "%08x", opcode);
    snprintf(bytes, sizeof bytes, "%u", size);
    if (cycles != FLOW_NO_CYCLES) {
        number_text(cyc, sizeof cyc, cycles);
        l->total += cycles;
    }
    const char *row[] = {
        l->source->core_name,
        number_text(index, sizeof index, number + 1),
        address_text(addr, sizeof addr, address),
        op,
        bytes,
        bt_isa_name(isa),
        cyc,
        cond_text(cond),
        disasm_text(l->disasm, address, isa, opcode, size, it),
        l->options.cycles ? number_text(total, sizeof total, l->total) : "",
    };
    listing_row(&l->instructions, row);
}

static void list_block_instructions(struct dump *l, const struct bt_block *b, uint64_t cycles)
{
    uint64_t address = b->first, last = bt_block_last(b);
    enum bt_isa isa = bt_block_isa(b);
    if (!l->view)
        l->view = code_select(&l->lookup, &l->key);
    for (uint32_t i = 0; i < bt_block_count(b) && l->view; i++) {
        struct insn insn;
        uint32_t opcode;
        if (code_insn(&l->lookup, l->view, address, isa, &insn, &opcode) != BT_OK)
            break;
        bool end = address == last;
        list_instruction(l, l->number + i, address, isa, insn.size, opcode,
                         end ? bt_block_cond(b) : BT_COND_UNKNOWN, end ? cycles : FLOW_NO_CYCLES);
        address += insn.size;
    }
}

static void list_held_events(struct dump *l)
{
    for (size_t i = 0; i < l->held_count; i++)
        list_event(l, &l->held[i]);
    l->held_count = 0;
}

/* Between two instructions events are listed as their packets came: an exception waits for its
 * vector, and what comes meanwhile goes out before it. */
static void hold_event(struct dump *l, const struct bt_event *e)
{
    if (l->held_count == HELD_MAX || (l->held_count && l->held[0].position != e->position))
        list_held_events(l);
    size_t at = l->held_count++;
    for (; at > 0 && l->held[at - 1].offset > e->offset; at--)
        l->held[at] = l->held[at - 1];
    l->held[at] = *e;
}

/* A write of several bytes has its first character in the lowest ones. */
static void put_out_text(struct dump *l, const struct bt_event *e)
{
    const struct dump_text *t = &l->options.text;
    const struct bt_stimulus *s = &e->u.stimulus;
    if (e->kind != BT_EVENT_STIMULUS || s->channel != t->channel ||
        (s->stm && !t->any_master && s->master != t->master))
        return;
    for (unsigned bit = 0; bit + 8 <= s->bits; bit += 8)
        fputc((int)(s->value >> bit & 0xff), l->events.out);
}

static void list_decoded_event(struct dump *l, const struct bt_event *e)
{
    flow_track_key(&l->key, e);
    l->view = NULL;
    gap_ledger_take(&l->gaps, e);
    if (e->kind == BT_EVENT_EXCEPTION)
        l->exceptions++;
    if (l->options.text.wanted)
        put_out_text(l, e);
    if (l->options.format == LISTING_VCD)
        vcd_event(&l->vcd, e);
    if (e->has_cycles)
        l->total += e->cycles;
    bool off = l->options.cycles && l->options.format == LISTING_TEXT;
    if (l->options.events || (off && e->kind == BT_EVENT_TRACE_ON))
        hold_event(l, e);
}

static void list_decoded_block(struct dump *l, const struct bt_block *b, uint64_t cycles)
{
    list_held_events(l);
    if (l->options.blocks)
        list_block(l, b, cycles);
    if (l->options.instructions)
        list_block_instructions(l, b, cycles);
    l->number += bt_block_count(b);
}

/* Blocks and events in stream order: an event stands before the instruction of its position. */
static void list_output(void *ctx, struct flow_out *out)
{
    struct dump *l = ctx;
    size_t e = 0;
    bool blocks = l->options.blocks || l->options.instructions;
    for (size_t b = 0; blocks && b < out->block_count; b++) {
        while (e < out->event_count && out->events[e].position <= l->number)
            list_decoded_event(l, &out->events[e++]);
        list_decoded_block(l, &out->blocks[b], out->cycles[b]);
    }
    while (e < out->event_count)
        list_decoded_event(l, &out->events[e++]);
    out->block_count = 0;
    out->event_count = 0;
}

static void keep_bytes(struct kept *k, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++, k->end++)
        k->bytes[k->end % KEEP] = data[i];
}

static void hex_bytes(const struct kept *k, const struct stream_packet *p, char *out, size_t max)
{
    size_t n = 0;
    out[0] = 0;
    if (p->skipped || (!p->zeros && p->offset + KEEP < k->end))
        return;
    for (uint64_t i = 0; i < p->size && i < HEX_MAX && n + 8 < max; i++)
        n += (size_t)snprintf(out + n, max - n, "%s%02X", i ? " " : "",
                              p->zeros && i + 1 < p->size ? 0 : k->bytes[(p->offset + i) % KEEP]);
    if (p->size > HEX_MAX)
        snprintf(out + n, max - n, " ...");
}

static void list_packet(void *ctx, const struct stream_packet *p)
{
    struct dump *l = ctx;
    char offset[24], bytes[400], text[DETAIL_MAX] = "";
    struct detail detail = {text, 0};
    hex_bytes(&l->kept, p, bytes, sizeof bytes);
    const char *name = l->protocol->describe(&l->source->config, p->packet, &detail);
    const char *row[] = {
        l->source->name, number_text(offset, sizeof offset, p->offset), bytes, name, text,
    };
    listing_row(&l->packets, row);
}

static int dump_data(void *ctx, const uint8_t *data, size_t len)
{
    struct dump *l = ctx;
    if (ferror(l->summary.out))
        return BT_ERR_IO; /* nobody takes it: the rest need not be decoded */
    if (l->parallel)
        return parallel_feed(l->parallel, data, len);
    while (len > 0) {
        size_t piece = l->options.packets && len > KEEP / 2 ? KEEP / 2 : len;
        if (l->options.packets)
            keep_bytes(&l->kept, data, piece);
        stream_feed(&l->stream, data, piece, &l->sink);
        data += piece;
        len -= piece;
    }
    return BT_OK;
}

static int dump_gap(void *ctx, enum bt_gap_cause cause)
{
    struct dump *l = ctx;
    int error = l->parallel ? parallel_drain(l->parallel) : BT_OK;
    if (!error)
        stream_gap(&l->stream, cause, 0, &l->sink);
    return error;
}

static void summary_row(struct dump *l, const char *key, uint64_t value)
{
    char text[24];
    const char *row[] = {l->source->name, key, number_text(text, sizeof text, value)};
    listing_row(&l->summary, row);
}

/* A stream that never synchronises is a stream of something else: say so, once. */
static void judge_source(struct dump *l, struct message *warning)
{
    uint64_t bytes = stream_offset(&l->stream);
    uint64_t patience = SYNC_SLACK;
    if (l->protocol->sync_period)
        patience += 2 * (uint64_t)l->protocol->sync_period(&l->source->config);
    const char *what = l->stream.skipped == bytes ? "A-sync" : "I-sync";
    if (patience == SYNC_SLACK || bytes < patience || stream_started(&l->stream))
        return;
    message_set(warning,
                "%s: no %s in %" PRIu64 " bytes: check %s in '%s', and that the trace ID is 0x%02x",
                l->source->name, what, bytes, l->protocol->registers, l->source->device->path,
                l->source->trace_id);
}

static void list_summary(struct dump *l, const struct recording_pass *pass)
{
    summary_row(l, "raw-bytes", pass->raw_bytes);
    summary_row(l, "bytes", stream_offset(&l->stream));
    summary_row(l, "bytes-skipped", l->stream.skipped);
    if (pass->formatted) {
        summary_row(l, "frames", pass->formatter.frames);
        summary_row(l, "frame-losses", pass->formatter.losses);
    }
    summary_row(l, "packets", l->stream.packets);
    summary_row(l, "blocks", stream_blocks(&l->stream));
    summary_row(l, "instructions", stream_instructions(&l->stream));
    summary_row(l, "exceptions", l->exceptions);
    summary_row(l, "cycles", stream_cycles(&l->stream));
    summary_row(l, "atoms-dropped", stream_atoms_dropped(&l->stream));
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        char key[40];
        snprintf(key, sizeof key, "gaps-%s", bt_gap_name((enum bt_gap_cause)cause));
        if (l->gaps.totals[cause])
            summary_row(l, key, l->gaps.totals[cause]);
    }
}

/* What decoding cost: each instruction is classified, and asked of the disassembler, once. */
static void list_stats(struct dump *l)
{
    summary_row(l, "code-ranges", l->code.range_count);
    summary_row(l, "code-restarts", l->code.epoch);
    uint64_t calls, texts;
    disasm_counts(l->disasm, &calls, &texts);
    summary_row(l, "disassembler-calls", calls);
    summary_row(l, "disassembler-texts", texts);
}

struct dump *dump_new(FILE *out, const struct dump_options *options)
{
    struct dump *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->options = *options;
    listing_init(&l->packets, out, options->format, COLUMNS(packet_columns));
    listing_init(&l->instructions, out, options->format, COLUMNS(instruction_columns));
    l->instructions.count -= !options->cycles;
    listing_init(&l->blocks, out, options->format, COLUMNS(block_columns));
    listing_init(&l->events, out, options->format, COLUMNS(event_columns));
    listing_init(&l->summary, out, options->format, COLUMNS(summary_columns));
    return l;
}

void dump_free(struct dump *l)
{
    free(l);
}

static void set_up_source(struct dump *l, const struct recording_source *source)
{
    struct code_options code;
    l->source = source;
    l->protocol = source_protocol(source->config.protocol);
    stream_code_options(&source->config, &code);
    code_cache_init(&l->code, source->image, &code);
    code_cache_init(&l->lookup, source->image, &code);
    stream_init(&l->stream, &source->config, &l->code);
    stream_code_key(&l->stream, &l->key);
    l->view = NULL;
    l->number = 0;
    l->held_count = 0;
    l->exceptions = 0;
    l->total = 0;
    gap_ledger_init(&l->gaps, 0);
    memset(&l->it, 0, sizeof l->it);
    l->kept.end = 0;
    l->sink = (struct stream_sink){
        .out = {.blocks = l->out_blocks,
                .cycles = l->options.blocks || l->options.instructions ? l->out_cycles : NULL,
                .events = l->out_events,
                .block_max = OUT_BLOCKS,
                .event_max = OUT_EVENTS},
        .flush = list_output,
        .packet = l->options.packets ? list_packet : NULL,
        .ctx = l,
    };
}

void dump_headers(struct dump *l, bool summary)
{
    if (l->options.packets)
        listing_header(&l->packets);
    if (l->options.instructions)
        listing_header(&l->instructions);
    if (l->options.blocks)
        listing_header(&l->blocks);
    if (l->options.events)
        listing_header(&l->events);
    if (summary || l->options.stats)
        listing_header(&l->summary);
}

int dump_source(struct dump *l, struct recording *r, const struct recording_source *source,
                bool summary, struct message *warning)
{
    struct recording_sink sink = {.data = dump_data, .gap = dump_gap, .ctx = l};
    struct recording_pass pass;
    warning->text[0] = '\0';
    bool m_profile = source->core && strncmp(source->core->type, "Cortex-M", 8) == 0;
    l->disasm = disasm_new(m_profile);
    if (!l->disasm)
        return BT_ERR_NOMEM;
    set_up_source(l, source);
    dump_headers(l, summary);
    if (l->options.format == LISTING_VCD)
        vcd_begin(&l->vcd, l->events.out, source->name);
    /* A packet listing needs the bytes at hand, and what cannot be joined goes on one thread. */
    struct parallel_options jobs = {.threads = l->options.jobs,
                                    .want_blocks = l->options.blocks || l->options.instructions};
    if (jobs.threads > 1 && !l->options.packets)
        l->parallel = parallel_new(&jobs, &source->config, source->image, &l->stream, &l->sink);
    int error = recording_feed(r, source, &sink, &pass);
    if (!error && l->parallel)
        error = parallel_drain(l->parallel);
    parallel_free(l->parallel);
    l->parallel = NULL;
    if (!error) {
        stream_finish(&l->stream, &l->sink);
        list_output(l, &l->sink.out);
        list_held_events(l);
        judge_source(l, warning);
        size_t untimed = l->options.format == LISTING_VCD ? vcd_end(&l->vcd) : 0;
        if (untimed)
            message_set(warning, "%s: %zu changes behind the last timestamp have no time: left out",
                        source->name, untimed);
        if (summary || l->options.stats)
            list_summary(l, &pass);
        if (l->options.stats)
            list_stats(l);
    }
    code_cache_release(&l->code);
    code_cache_release(&l->lookup);
    disasm_free(l->disasm);
    return error;
}
