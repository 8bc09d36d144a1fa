/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reverse step costs the server: GDB's packets bs and g from the end of a recording
 * on, through the session, and a slice of what is worked out ahead after each. The same walk is
 * done several times and each answer counts as in its best run, so that other programs do not: CPU
 * time of the thread. Prints lines for report.py.
 *
 * usage: bench_reverse NAME RECORDING [ELF]...
 */
#include "server/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS   15000
#define RUNS    3
#define NO_ACKS "$QStartNoAckMode#b0+"
#define BACK    "$bs#d5"
#define ASK     "$g#67"
#define THROUGH "$Z0,fffffff0,4#86$bc#c5"

struct bench {
    struct replay replay;
    struct replay_client *client;
    struct gdb_session session;
    char last[64]; /* the end of what was sent last */
    bool later;
};

struct times {
    double answer[STEPS], slice[STEPS];
    size_t count;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void on_send(void *ctx, const void *bytes, size_t len)
{
    struct bench *b = ctx;
    size_t n = len < sizeof b->last - 1 ? len : sizeof b->last - 1;
    if (len < 4)
        return; /* an acknowledgement */
    memcpy(b->last, (const char *)bytes + len - n, n);
    b->last[n] = '\0';
}

static void on_later(void *ctx)
{
    ((struct bench *)ctx)->later = true;
}

static void ask(struct bench *b, const char *packet)
{
    gdb_session_input(&b->session, packet, strlen(packet));
}

static bool slice(struct bench *b)
{
    bool wanted = b->later;
    b->later = false;
    if (wanted)
        replay_go_on(&b->replay);
    return wanted;
}

static int open_recording(struct bench *b, char **argv, int argc)
{
    struct message why = {.text = "out of memory"};
    memset(b, 0, sizeof *b);
    int error = replay_init(&b->replay, argv[2], NULL, (const char *const *)argv + 3,
                            (size_t)argc - 3, false, &why);
    if (!error) {
        b->replay.no_record = true;
        b->replay.io.later = on_later;
        b->replay.io.ctx = b;
        b->client = replay_client_new(&b->replay, &b->session);
        error = b->client ? gdb_session_init(&b->session, &b->client->target, &replay_host,
                                             b->client, GDB_CONTROLS, "", on_send, b)
                          : BT_ERR_NOMEM;
    }
    if (error) {
        fprintf(stderr, "bench_reverse: %s: %s\n", argv[2], why.text);
        return error;
    }
    ask(b, NO_ACKS);
    return 0;
}

static void close_recording(struct bench *b)
{
    replay_client_leave(b->client);
    if (b->client)
        gdb_session_release(&b->session);
    replay_client_free(b->client);
    replay_release(&b->replay);
}

static double lesser(double best, double now, bool first)
{
    return first || now < best ? now : best;
}

static void walk(struct bench *b, struct times *t, bool first)
{
    for (t->count = 0; t->count < STEPS; t->count++) {
        double begin = now_ms();
        ask(b, BACK);
        bool over = strstr(b->last, "replaylog") != NULL;
        ask(b, ASK);
        double answered = now_ms();
        if (over)
            break;
        slice(b);
        t->answer[t->count] = lesser(t->answer[t->count], answered - begin, first);
        t->slice[t->count] = lesser(t->slice[t->count], now_ms() - answered, first);
    }
}

/* To the begin of all, past a breakpoint that is never met. */
static double search(struct bench *b)
{
    double begin = now_ms();
    ask(b, THROUGH);
    while (slice(b))
        ;
    return now_ms() - begin;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void print(const char *name, const char *what, double *times, size_t count)
{
    double first = times[0];
    qsort(times, count, sizeof *times, by_size);
    printf("reverse\tname=%s\twhat=%s\tcount=%zu\tfirst=%.3f\tp50=%.3f\tp99=%.3f\tmax=%.3f\n", name,
           what, count, first, times[count / 2], times[count * 99 / 100], times[count - 1]);
}

int main(int argc, char **argv)
{
    static struct bench b;
    static struct times t;
    double through = 0;
    uint64_t insns = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_reverse NAME RECORDING [ELF]...\n");
        return 2;
    }
    for (int run = 0; run < RUNS; run++) {
        int error = open_recording(&b, argv, argc);
        if (!error) {
            walk(&b, &t, run == 0);
            through = lesser(through, search(&b), run == 0);
            insns = b.client->reverse.cores[0].reverse.end;
        }
        bool begin = strstr(b.last, "replaylog:begin") != NULL;
        close_recording(&b);
        if (error || !begin || !t.count) {
            fprintf(stderr, "bench_reverse: %s: no history: '%s'\n", argv[2], b.last);
            return 1;
        }
    }
    char what[60];
    snprintf(what, sizeof what, "bc over %.3g million", (double)insns / 1e6);
    print(argv[1], "reverse-stepi", t.answer, t.count);
    print(argv[1], "a slice ahead", t.slice, t.count);
    print(argv[1], what, &through, 1);
    return 0;
}
