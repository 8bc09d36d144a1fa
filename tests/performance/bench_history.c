/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording of any length as a history: time to decode, memory, time to reach any position.
 * Prints a line a size for report.py: fields are NAME=VALUE.
 *
 * usage: bench_history --write FOLDER MEGABYTES [ptm|etmv4]   makes a recording, prints nothing
 *        bench_history --read FOLDER              measures it; a process of its own, since the
 *                                                 peak of memory is the process's
 *        bench_history MEGABYTES...               both, for each size,
 * in a temporary folder */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/virtual/encoder/etmv4_encoder.h"
#include "drivers/virtual/encoder/ptm_encoder.h"
#include "server/recording/recording_history.h"
#include "tests/support/bench_clock.h"
#include "tests/support/bench_stream.h"

#define UNIT          500000u
#define VISITS        400 /* random positions */
#define PATH_MAX_SIZE 512

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "bench_history: %s: %s\n", what, bt_strerror(error));
    exit(1);
}

/* Making a recording. */

static void write_recording(const char *folder, double megabytes, bool etmv4)
{
    static struct bench_stream s;
    const struct bench_recipe recipe = {"history",
                                        {.name = "mixed",
                                         .isa = etmv4 ? BT_ISA_A64 : BT_ISA_T32,
                                         .code_bytes = 64u << 10,
                                         .loops = 20,
                                         .calls = 30,
                                         .indirect = 10,
                                         .straight = 8,
                                         .interrupts = 5},
                                        etmv4 ? STREAM_ETMV4 : STREAM_PTM,
                                        etmv4 ? ETMV4_CONFIG_RETURN_STACK : PTM_CR_RETURN_STACK,
                                        UNIT,
                                        0};
    check(bench_stream_generate(&s, &recipe, UNIT), "generated stream");
    check(bench_stream_record(&s, folder, (uint64_t)(megabytes * 1e6)), folder);
    bench_stream_release(&s);
}

/* Kilobytes of a line of /proc/self/status. */
static unsigned long status(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long value = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            value = strtoul(line + strlen(name) + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of CPU to get the window of an instruction. */
static double visit(struct history *h, uint64_t number)
{
    struct history_window w;
    struct bench_time start = bench_now();
    check(history_window(h, number, &w), "window");
    double taken = bench_now().cpu - start.cpu;
    if (number < w.first || number >= w.end || history_block_index(&w, number) >= w.block_count) {
        fprintf(stderr, "bench_history: window without instruction %" PRIu64 "\n", number);
        exit(1);
    }
    return taken;
}

static void print_visits(struct history *h)
{
    static double times[VISITS];
    struct trace_random random = {3};
    uint64_t first = history_first(h), end = history_end(h);
    double newest = visit(h, end - 1); /* a halt asks for it first */
    for (size_t i = 0; i < VISITS; i++)
        times[i] = visit(h, first + trace_random_next(&random) % (end - first));
    qsort(times, VISITS, sizeof *times, compare);
    printf("\tvisit_us=%.1f\tvisit_p99_us=%.1f\tnewest_us=%.1f", times[VISITS / 2] * 1e6,
           times[VISITS * 99 / 100] * 1e6, newest * 1e6);
}

static void read_recording(const char *folder)
{
    static struct recording r;
    static struct recording_history rh;
    struct message why;
    if (recording_open(&r, folder, NULL, 0, &why)) {
        fprintf(stderr, "bench_history: %s\n", why.text);
        exit(1);
    }
    unsigned long before = status("VmRSS");
    struct bench_time start = bench_now();
    check(recording_history_init(&rh, &r, &r.sources[0], NULL, NULL), folder);
    struct bench_time end = bench_now();
    struct history *h = rh.history;
    struct history_totals totals;
    history_totals(h, &totals);
    printf("history\tmegabytes=%.1f\tinsns=%" PRIu64 "\tcpu=%.4f\twall=%.4f\tkept_kb=%zu"
           "\tbefore_kb=%lu\tdecoded_kb=%lu",
           (double)totals.bytes / 1e6, history_end(h) - history_first(h), end.cpu - start.cpu,
           end.wall - start.wall, history_memory(h) / 1024, before, status("VmHWM"));
    print_visits(h);
    /* Pages of the recording count in the peak, but belong to the system's file cache. */
    printf("\tpeak_kb=%lu\towned_kb=%lu\n", status("VmHWM"), status("RssAnon"));
    recording_history_release(&rh);
    recording_close(&r);
}

/* Runs this program again: a process of its own for each part. */
static void again(const char *mode, const char *folder, const char *size)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "bench_history", mode, folder, size, (char *)NULL);
        _exit(127);
    }
    int code;
    if (child < 0 || waitpid(child, &code, 0) < 0 || code != 0) {
        fprintf(stderr, "bench_history: %s %s failed\n", mode, folder);
        exit(1);
    }
}

static void remove_folder(const char *folder)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void measure_size(const char *size)
{
    const char *tmp = getenv("TMPDIR");
    char folder[PATH_MAX_SIZE], inner[PATH_MAX_SIZE + 16];
    snprintf(folder, sizeof folder, "%s/btraced-bench.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        perror("bench_history: temporary folder");
        exit(1);
    }
    snprintf(inner, sizeof inner, "%s/recording", folder);
    again("--write", inner, size);
    again("--read", inner, NULL);
    remove_folder(folder);
}

int main(int argc, char **argv)
{
    bool with_protocol = argc == 5 && (!strcmp(argv[4], "ptm") || !strcmp(argv[4], "etmv4"));
    if ((argc == 4 || with_protocol) && strcmp(argv[1], "--write") == 0) {
        write_recording(argv[2], strtod(argv[3], NULL), argc == 5 && argv[4][0] == 'e');
    } else if (argc == 3 && strcmp(argv[1], "--read") == 0) {
        read_recording(argv[2]);
    } else if (argc > 1 && argv[1][0] != '-') {
        for (int i = 1; i < argc; i++)
            measure_size(argv[i]);
    } else {
        fputs("usage: bench_history MEGABYTES...\n", stderr);
        return 2;
    }
    return 0;
}
