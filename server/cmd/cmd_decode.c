/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced decode: listings of a recording. */
#include "commands.h"
#include "decoder/source/source.h"
#include "server/base/command_line.h"
#include "server/base/exit_codes.h"
#include "server/export/dump.h"
#include "server/recording/perf_args.h"
#include "server/recording/recording.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct decode_args {
    struct dump_options list;
    bool summary;
    const char *source;
    unsigned id; /* 0: not asked for */
    const char *elf[RECORDING_MAX_ELF];
    size_t elf_count;
    const char *path;
    struct perf_args perf;
};

static const char decode_help[] =
    "usage: btraced decode [OPTION]... RECORDING\n"
    "Lists what a recorded trace says. RECORDING is a CoreSight snapshot folder.\n"
    "\n"
    "  --packets          packets of the trace protocol\n"
    "  --instructions     executed instructions\n"
    "  --cycles           instructions with a running total of cycles, and where trace was off\n"
    "  --blocks           runs of instructions, each up to a waypoint\n"
    "  --events           exceptions, gaps, context, timestamps\n"
    "  --text CHANNEL     what software wrote to a port of an ITM or a channel of an STM\n"
    "                     (MASTER:CHANNEL: of one master), byte by byte and nothing else\n"
    "  --vcd              watched data, handlers and PC samples of one ITM over time, as a\n"
    "                     value change dump for waveform viewers, and nothing else\n"
    "  --summary          counts (the default)\n"
    "  --format FORMAT    text, tsv or json; tsv and json take one listing at a time\n"
    "  --source NAME      one trace source, by device name\n"
    "  --id N             one trace source, by CoreSight trace ID\n"
    "  --elf FILE         program file that completes the recording's memory dumps\n"
    "  --stats            with the summary: what decoding cost\n"
    "  -j, --jobs N       decode with N threads; the output is the same (one thread for\n"
    "                     ETMv1, ETMv2, traced data accesses and --packets)\n" PERF_HELP "\n"
    "examples:\n"
    "  btraced decode recording\n"
    "  btraced decode --instructions --events recording\n"
    "  btraced decode --perf --blocks perf.data\n"
    "  btraced decode --instructions --format tsv --source PTM_0 recording\n";

static bool wants_vcd(const struct decode_args *args)
{
    return args->list.format == LISTING_VCD;
}

static const char *take_listing_format(void *ctx, const char *value)
{
    static const char *const names[] = {"text", "tsv", "json"};
    struct decode_args *args = ctx;
    for (unsigned i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            args->list.format = (enum listing_format)i;
            return NULL;
        }
    }
    return "format must be text, tsv or json, not";
}

/* A number from 0 to 0xffff, up to `stop`. */
static bool parse_channel_number(const char *text, char stop, const char **end, uint16_t *out)
{
    char *behind;
    errno = 0;
    long value = strtol(text, &behind, 0);
    *end = behind + 1;
    *out = (uint16_t)value;
    return *text != '-' && behind != text && *behind == stop && !errno && value <= 0xffff;
}

/* "CHANNEL" or "MASTER:CHANNEL". */
static const char *take_text_channel(void *ctx, const char *value)
{
    struct dump_text *out = &((struct decode_args *)ctx)->list.text;
    const char *p = value;
    *out = (struct dump_text){.wanted = true, .any_master = !strchr(value, ':')};
    bool good = out->any_master || parse_channel_number(p, ':', &p, &out->master);
    return good && parse_channel_number(p, '\0', &p, &out->channel)
               ? NULL
               : "a channel is a number from 0 to 0xffff, or MASTER:CHANNEL, not";
}

static int parse_decode_args(int argc, char **argv, struct decode_args *args)
{
    memset(args, 0, sizeof *args);
    struct dump_options *list = &args->list;
    bool vcd = false;
    const struct command_option options[] = {
        {.name = "packets", .flag = &list->packets},
        {.name = "instructions", .flag = &list->instructions},
        {.name = "blocks", .flag = &list->blocks},
        {.name = "events", .flag = &list->events},
        {.name = "summary", .flag = &args->summary},
        {.name = "format", .take = take_listing_format},
        {.name = "source", .text = &args->source},
        {.name = "id",
         .number = {&args->id, 1, FORMATTER_ID_MAX, "a trace ID is a number from 1 to 0x6f, not"}},
        {.name = "elf", .list = {args->elf, &args->elf_count, RECORDING_MAX_ELF}},
        {.name = "cycles", .flag = &list->cycles},
        {.name = "text", .take = take_text_channel},
        {.name = "vcd", .flag = &vcd},
        PERF_OPTIONS(&args->perf),
        {.name = "stats", .flag = &list->stats},
        {.name = "jobs",
         .letter = 'j',
         .number = {&list->jobs, 1, 64, "the number of threads is from 1 to 64, not"}},
        {.name = NULL},
    };
    const struct command_line line = {
        .name = "decode", .help = decode_help, .options = options, .ctx = args};
    int code = command_line_parse(&line, argc, argv);
    if (!code)
        code = command_line_argument(&line, argc, "recording");
    if (code)
        return code;
    args->path = argv[optind];
    const char *wrong = perf_args_complete(&args->perf);
    if (wrong)
        return usage_error("decode", wrong, NULL);
    list->format = vcd ? LISTING_VCD : list->format;
    list->instructions |= list->cycles;
    args->summary |= list->stats;
    int listings = list->packets + list->instructions + list->blocks + list->events;
    if ((args->list.text.wanted || wants_vcd(args)) &&
        listings + args->summary + (args->list.text.wanted && wants_vcd(args)) > 0)
        return usage_error("decode", "--text and --vcd go without listings, and not together",
                           NULL);
    if (listings == 0 && !args->list.text.wanted && !wants_vcd(args))
        args->summary = true;
    if (args->list.format != LISTING_TEXT && listings + args->summary > 1)
        return usage_error("decode", "tsv and json take one listing at a time", NULL);
    return 0;
}

/* perf may have written no trace, or none that can be decoded: the warnings say which. */
static int decode_nothing(const struct recording *r, const struct decode_args *args)
{
    struct dump *dump = dump_new(stdout, &args->list);
    if (!dump)
        return EXIT_INTERNAL;
    if (r->warning_count == 0)
        fprintf(stderr, "btraced decode: warning: %s: no trace that can be decoded\n", args->path);
    dump_headers(dump, args->summary);
    dump_free(dump);
    return EXIT_OK;
}

/* The sources that were asked for: one, or all. */
static int choose_sources(const struct recording *r, const struct decode_args *args, size_t *first,
                          size_t *end)
{
    *first = 0;
    *end = r->source_count;
    const struct recording_source *s = NULL;
    if (args->source || args->id)
        s = recording_find(r, args->source, args->id);
    if (s) {
        *first = (size_t)(s - r->sources);
        *end = *first + 1;
    } else if (args->source || args->id || r->source_count == 0) {
        fprintf(stderr, "btraced decode: no such trace source in '%s' that can be decoded; it has:",
                args->path);
        for (size_t i = 0; i < r->source_count; i++)
            fprintf(stderr, " %s (0x%02x)", r->sources[i].name, r->sources[i].trace_id);
        fputs(r->source_count ? "\n" : " none\n", stderr);
        return EXIT_INPUT;
    }
    return 0;
}

/* What was asked for can be told of it. */
static bool is_listed(const struct recording_source *s, const struct decode_args *args)
{
    if (wants_vcd(args))
        return s->config.protocol == STREAM_ITM;
    return !args->list.text.wanted || source_protocol(s->config.protocol)->no_instructions;
}

/* A value change dump is of one ITM. */
static int check_vcd_sources(const struct recording *r, const struct decode_args *args,
                             size_t first, size_t end)
{
    unsigned itms = 0;
    for (size_t i = first; i < end; i++)
        itms += is_listed(&r->sources[i], args);
    if (!wants_vcd(args) || itms == 1)
        return 0;
    fprintf(stderr, "btraced decode: %s: %s\n", args->path,
            itms ? "--vcd takes one ITM at a time: --source NAME"
                 : "--vcd shows what an ITM told, and none was asked for that has");
    return EXIT_INPUT;
}

/* A listing on a terminal shows itself how far it is. */
static void begin_progress(struct progress *p, struct recording *r, const struct decode_args *args,
                           size_t first, size_t end)
{
    const struct dump_options *list = &args->list;
    bool lists = list->packets || list->instructions || list->blocks || list->events ||
                 list->text.wanted || list->format == LISTING_VCD;
    uint64_t bytes = 0;
    for (size_t i = first; i < end; i++)
        bytes += is_listed(&r->sources[i], args) ? recording_bytes(&r->sources[i]) : 0;
    progress_begin(p, "btraced decode", bytes, !lists || !isatty(STDOUT_FILENO));
    r->progress = p;
}

static int decode_recording(struct recording *r, const struct decode_args *args)
{
    size_t first, end;
    if (args->perf.on && r->source_count == 0 && !args->source && !args->id)
        return decode_nothing(r, args);
    int code = choose_sources(r, args, &first, &end);
    if (!code)
        code = check_vcd_sources(r, args, first, end);
    if (code)
        return code;
    struct dump *dump = dump_new(stdout, &args->list);
    if (!dump)
        return EXIT_INTERNAL;
    struct progress progress;
    begin_progress(&progress, r, args, first, end);
    int error = 0;
    bool several = !args->list.text.wanted && !wants_vcd(args) && end - first > 1 &&
                   args->list.format == LISTING_TEXT;
    for (size_t i = first; i < end && !error; i++) {
        if (!is_listed(&r->sources[i], args))
            continue;
        if (several)
            printf("source %s (core %s)\n", r->sources[i].name, r->sources[i].core_name);
        struct message warning;
        error = dump_source(dump, r, &r->sources[i], args->summary, &warning);
        if (!error && warning.text[0])
            fprintf(stderr, "btraced decode: warning: %s\n", warning.text);
    }
    dump_free(dump);
    progress_end(&progress);
    if (error && !ferror(stdout)) {
        fprintf(stderr, "btraced decode: %s: %s\n", args->path, recording_strerror(error));
        return error == BT_ERR_FORMAT ? EXIT_INPUT : EXIT_INTERNAL;
    }
    return EXIT_OK;
}

/* Whoever closes the listing early, as `head` does, has seen enough of it. */
static int flush_listing(void)
{
    bool failed = ferror(stdout) != 0;
    if (fflush(stdout) == 0 && !failed)
        return EXIT_OK;
    if (errno != EPIPE)
        fprintf(stderr, "btraced decode: cannot write the listing: %s\n", strerror(errno));
    return EXIT_INTERNAL;
}

int cmd_decode(int argc, char **argv)
{
    struct decode_args args;
    struct recording r;
    struct message why;
    int code = parse_decode_args(argc, argv, &args);
    if (code)
        return code < 0 ? EXIT_OK : code;
    int error = args.perf.on ? recording_open_perf(&r, args.path, &args.perf.places, args.elf,
                                                   args.elf_count, &why)
                             : recording_open(&r, args.path, args.elf, args.elf_count, &why);
    for (size_t i = 0; i < r.warning_count; i++)
        fprintf(stderr, "btraced decode: warning: %s\n", r.warnings[i]);
    if (error) {
        fprintf(stderr, "btraced decode: %s\n", why.text);
        code = EXIT_INPUT;
    } else {
        code = decode_recording(&r, &args);
    }
    recording_close(&r);
    return code ? code : flush_listing();
}
