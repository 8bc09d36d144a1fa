/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/recorder.h"

#include "server/recording/recorder_board.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK     ((size_t)256 << 10) /* of memory, holds bytes in order */
#define FRAME     16u
#define COMMIT_MS 1000 /* at least, between two commits for halts */

struct block {
    struct block *next;
    size_t len;
    bool lost; /* bytes are missing before the first one */
    uint8_t bytes[BLOCK];
};

struct halt {
    bool changed;
    uint64_t pc;
    uint32_t psr;
    uint64_t bytes;               /* of the trace up to it, as they are on disk in the end */
    struct recorder_state *state; /* NULL: nothing more is known */
};

/* Who may touch what, between recorder_start()'s end and recorder_stop()'s join. */
struct recorder {
    pthread_mutex_t mutex; /* guards these: */
    pthread_cond_t wake;
    struct block *first, *last; /* waiting */
    struct block *fill;         /* takes the next bytes, during put() */
    size_t memory;              /* of the blocks */
    struct halt halts[CONFIG_MAX_CORES];
    uint64_t queued; /* bytes and marks that are on disk in the end */
    size_t held;     /* tail_len, for the others */
    bool halted, stop;
    struct recorder_stats stats;

    bool lost;              /* the capture thread: bytes are missing before the next ones */
    uint64_t offset;        /* bytes of the stream so far, dropped ones included */
    struct formatter phase; /* where in a frame the stream is: port */
    uint8_t tail[FRAME];    /* end of the stream that would harm if a loss followed it */
    size_t tail_len;

    struct recorder_board board; /* the recorder's own thread; its numbers are constant */
    pthread_t thread;
    bool formatted; /* constant */
    enum formatter_mode mode;
};

/* Of the first error only. Called with the mutex held. */
static void set_error(struct recorder *r, int error, int reason)
{
    if (r->stats.error)
        return;
    r->stats.error = error;
    snprintf(r->stats.why, sizeof r->stats.why, "recording to '%.120s' has ended: %.80s",
             r->board.folder, error == BT_ERR_IO ? strerror(reason) : bt_strerror(error));
}

/*
 * Where bytes are missing. Frames from memory: the frame that Linux writes for a discontinuity, of
 * the impossible ID 0x7F. Port: FF until any reader with alignment has lost it, and 00 so that
 * no 7F behind them makes a frame sync.
 */
static const uint8_t barrier[FRAME] = {0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f,
                                       0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f};
static const uint8_t no_sync[9] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};

static size_t mark_size(const struct recorder *r)
{
    if (!r->formatted)
        return 0;
    return r->mode == FORMATTER_ALIGNED ? sizeof barrier : sizeof no_sync;
}

static int write_mark(struct recorder *r)
{
    const uint8_t *mark = r->mode == FORMATTER_ALIGNED ? barrier : no_sync;
    if (!r->formatted)
        return BT_OK;
    return snapshot_writer_append(r->board.writer, r->board.buffer, mark, mark_size(r));
}

static int write_block(struct recorder *r, const struct block *b)
{
    int error = b->lost ? write_mark(r) : BT_OK;
    if (!error)
        error = snapshot_writer_append(r->board.writer, r->board.buffer, b->bytes, b->len);
    return error;
}

static int write_halts(struct recorder *r, const struct halt *halts)
{
    int error = BT_OK;
    for (unsigned i = 0; i < r->board.core_count && !error; i++) {
        const struct halt *h = &halts[i];
        if (h->state)
            error = recorder_board_state(&r->board, i, h->state, h->bytes);
        if (h->changed && !error)
            error = recorder_board_halted(&r->board, i, h->pc, h->psr, h->bytes);
    }
    return error ? error : snapshot_writer_commit(r->board.writer);
}

static void free_states(struct halt *halts)
{
    for (unsigned i = 0; i < CONFIG_MAX_CORES; i++) {
        free(halts[i].state);
        halts[i].state = NULL;
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until there is something to do. Called with the mutex held. */
static void wait_for_work(struct recorder *r, int64_t commit_at)
{
    while (!r->first && !r->stop) {
        if (!r->halted) {
            pthread_cond_wait(&r->wake, &r->mutex);
            continue;
        }
        if (now_ms() >= commit_at)
            return;
        struct timespec until = {.tv_sec = commit_at / 1000, .tv_nsec = commit_at % 1000 * 1000000};
        pthread_cond_timedwait(&r->wake, &r->mutex, &until);
    }
}

static void *recorder_thread(void *arg)
{
    struct recorder *r = arg;
    int64_t commit_at = 0;
    pthread_mutex_lock(&r->mutex);
    for (;;) {
        wait_for_work(r, commit_at);
        struct block *b = r->first;
        struct halt halts[CONFIG_MAX_CORES];
        bool commit = r->halted && !r->stats.error && (now_ms() >= commit_at || (r->stop && !b));
        if (!b && !commit && r->stop)
            break;
        if (b && !(r->first = b->next))
            r->last = NULL;
        memcpy(halts, r->halts, sizeof halts);
        bool taken = commit || r->stats.error;
        if (taken) {
            r->halted = false;
            memset(r->halts, 0, sizeof r->halts);
        }
        bool failed = r->stats.error != 0;
        pthread_mutex_unlock(&r->mutex);

        int error = b && !failed ? write_block(r, b) : BT_OK;
        if (commit && !error) {
            error = write_halts(r, halts);
            commit_at = now_ms() + COMMIT_MS;
        }
        int reason = errno;
        if (taken)
            free_states(halts);
        uint64_t size = snapshot_writer_size(r->board.writer, r->board.buffer);

        pthread_mutex_lock(&r->mutex);
        if (error)
            set_error(r, error, reason);
        r->stats.bytes = size;
        if (b) {
            r->stats.waiting -= b->len;
            r->stats.dropped += failed ? b->len : 0;
            r->memory -= BLOCK;
        }
        free(b);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* A chain of empty blocks; NULL if there is no memory, or none are needed. */
static struct block *new_blocks(size_t count)
{
    struct block *chain = NULL;
    while (count--) {
        struct block *b = malloc(sizeof *b);
        if (!b) {
            while (chain) {
                b = chain->next;
                free(chain);
                chain = b;
            }
            return NULL;
        }
        b->next = chain;
        b->len = 0;
        b->lost = false;
        chain = b;
    }
    return chain;
}

/* Room for `len` bytes at the end of what waits. Called with the mutex held. */
static bool make_room(struct recorder *r, size_t len)
{
    size_t begun = r->last && !r->lost ? BLOCK - r->last->len : 0;
    size_t count = len > begun ? (len - begun + BLOCK - 1) / BLOCK : 0;
    if (r->stats.error || count > (RECORDER_MEMORY - r->memory) / BLOCK)
        return false;
    if (count == 0)
        return true;
    struct block *chain = new_blocks(count);
    if (!chain)
        return false;
    chain->lost = r->lost;
    r->stats.drops += r->lost;
    r->queued += r->lost ? mark_size(r) : 0;
    r->fill = begun ? r->last : chain;
    *(r->last ? &r->last->next : &r->first) = chain;
    for (r->last = chain; r->last->next;)
        r->last = r->last->next;
    r->memory += count * BLOCK;
    r->lost = false;
    return true;
}

static void fill_blocks(struct recorder *r, const uint8_t *data, size_t len)
{
    while (len > 0) {
        struct block *b = r->fill;
        size_t n = BLOCK - b->len < len ? BLOCK - b->len : len;
        memcpy(b->bytes + b->len, data, n);
        b->len += n;
        r->stats.waiting += n;
        r->queued += n;
        data += n;
        len -= n;
        if (b->len == BLOCK)
            r->fill = b->next;
    }
}

/* The tail and these bytes behind it: all of them, or none and false. */
static bool put(struct recorder *r, const uint8_t *data, size_t len)
{
    pthread_mutex_lock(&r->mutex);
    r->fill = r->last;
    bool room = make_room(r, r->tail_len + len);
    if (room) {
        fill_blocks(r, r->tail, r->tail_len);
        fill_blocks(r, data, len);
        r->tail_len = r->held = 0;
    }
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    return room;
}

static void count_dropped(struct recorder *r, size_t bytes)
{
    pthread_mutex_lock(&r->mutex);
    r->stats.dropped += bytes;
    pthread_mutex_unlock(&r->mutex);
}

static void ignore_run(void *ctx, const struct formatter_run *run)
{
    (void)ctx, (void)run;
}

static void set_tail(struct recorder *r, size_t len)
{
    pthread_mutex_lock(&r->mutex);
    r->tail_len = r->held = len;
    pthread_mutex_unlock(&r->mutex);
}

void recorder_lost(struct recorder *r)
{
    count_dropped(r, r->tail_len);
    set_tail(r, 0);
    r->lost = true;
    if (r->formatted && r->mode != FORMATTER_ALIGNED)
        formatter_discontinuity(&r->phase, ignore_run, NULL);
}

/*
 * How many of the last bytes must not be on disk when a loss follows: with the mark behind them
 * they would read as a frame that never was. Frames from memory: those of the last frame, unless it
 * is whole. Port: the last byte, if all that is missing of its frame is the byte of the low bits;
 * a frame that lacks more is thrown away at the mark by itself.
 */
static size_t to_hold(struct recorder *r, const uint8_t *data, size_t len)
{
    if (!r->formatted)
        return 0;
    if (r->mode == FORMATTER_ALIGNED)
        return (size_t)(r->offset % FRAME);
    formatter_feed(&r->phase, data, len, ignore_run, NULL);
    return r->phase.aligned && r->phase.half && r->phase.fill == FRAME - 2;
}

/* Frames from memory stay frames: after a loss bytes are taken from the next frame on. */
static size_t to_skip(const struct recorder *r, size_t len)
{
    if (!r->lost || !r->formatted || r->mode != FORMATTER_ALIGNED)
        return 0;
    size_t skip = (size_t)(-r->offset % FRAME);
    return skip < len ? skip : len;
}

void recorder_bytes(struct recorder *r, const uint8_t *data, size_t len)
{
    size_t skip = to_skip(r, len);
    r->offset += len;
    data += skip;
    len -= skip;
    if (skip)
        count_dropped(r, skip);
    if (len == 0)
        return;
    size_t hold = to_hold(r, data, len);
    if (hold >= r->tail_len + len) {
        memcpy(r->tail + r->tail_len, data, len);
        set_tail(r, r->tail_len + len);
        return;
    }
    if (!put(r, data, len - hold)) {
        count_dropped(r, len);
        recorder_lost(r);
        return;
    }
    memcpy(r->tail, data + len - hold, hold);
    if (hold)
        set_tail(r, hold);
}

/* Takes `state`. */
static void note_halt(struct recorder *r, unsigned core, const struct halt *halt)
{
    struct recorder_state *old = halt->state;
    pthread_mutex_lock(&r->mutex);
    if (core < r->board.core_count) {
        old = r->halts[core].state;
        r->halts[core] = *halt;
        r->halts[core].changed = true;
        r->halts[core].bytes = r->queued + r->held;
        r->halted = true;
    }
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    free(old);
}

void recorder_halted(struct recorder *r, unsigned core, uint64_t pc, uint32_t psr)
{
    note_halt(r, core, &(struct halt){.pc = pc, .psr = psr});
}

void recorder_halted_state(struct recorder *r, unsigned core, uint64_t pc, uint32_t psr,
                           const struct recorder_state *state)
{
    struct recorder_state *copy = malloc(sizeof *copy);
    if (copy)
        *copy = *state;
    note_halt(r, core, &(struct halt){.pc = pc, .psr = psr, .state = copy});
}

void recorder_stats(struct recorder *r, struct recorder_stats *stats)
{
    pthread_mutex_lock(&r->mutex);
    *stats = r->stats;
    memcpy(stats->folder, r->board.folder, sizeof stats->folder);
    pthread_mutex_unlock(&r->mutex);
}

/* Start, stop. */

static int start_thread(struct recorder *r)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&r->mutex, NULL);
    if (pthread_create(&r->thread, NULL, recorder_thread, r) == 0)
        return BT_OK;
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->mutex);
    return BT_ERR_NOMEM;
}

int recorder_start(const struct config *config, const char *path,
                   const struct code_image *const *images, struct recorder **out,
                   struct message *why)
{
    *out = NULL;
    struct recorder *r = calloc(1, sizeof *r);
    if (!r) {
        message_set(why, "cannot record to '%s': out of memory", path);
        return BT_ERR_NOMEM;
    }
    r->formatted = config->formatted;
    r->mode = config->mode;
    formatter_init(&r->phase, config->mode);
    int error = recorder_board_create(&r->board, config, path, images, why);
    if (!error)
        error = start_thread(r);
    if (error) {
        if (r->board.writer)
            message_set(why, "cannot record to '%s': no thread for it", r->board.folder);
        snapshot_writer_close(r->board.writer);
        free(r);
        return error;
    }
    *out = r;
    return BT_OK;
}

int recorder_stop(struct recorder *r)
{
    if (!r)
        return BT_OK;
    if (r->tail_len)
        put(r, NULL, 0);
    pthread_mutex_lock(&r->mutex);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    pthread_join(r->thread, NULL);
    int error = r->stats.error;
    int closed = snapshot_writer_close(r->board.writer);
    free_states(r->halts);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->mutex);
    free(r);
    return error ? error : closed;
}
