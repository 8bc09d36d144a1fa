/* SPDX-License-Identifier: BSD-3-Clause */
#include "recorder_board.h"

#include "drivers/snapshot/snapshot_writer.h"
#include "server/recording/record_place.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define PIECES     4096u /* that wait: neighbours in a buffer are one */
#define FRAME      16u
#define COMMIT_MS  1000       /* at least, between two commits for halts */
#define LOOK_BYTES (4u << 20) /* written between two looks at the room on the disk */

/* Bytes in order: the end of those before, which was held back, and `data` in a buffer that is
 * held. */
struct recorder_piece {
    struct trace_buffer *buffer; /* NULL: no data */
    const uint8_t *data;
    size_t len;
    bool lost; /* bytes are missing before the first one */
    uint8_t tail_len;
    uint8_t tail[FRAME];
};

struct recorder_halt {
    bool changed;
    uint64_t pc;
    uint32_t psr;
    uint64_t bytes;               /* of the trace up to it, as they are on disk in the end */
    struct recorder_state *state; /* NULL: nothing more is known */
};

/* A state that waits to be written: what `known` points to lies behind. */
struct recorder_job {
    struct recorder_job *next;
    unsigned core;
    uint64_t bytes;
    struct recorder_known known;
};

/* What the comparators watch, as far as it is known and stays: 0: not known. */
struct recorder_watches {
    const struct config_itm *itm;
    uint64_t address[CONFIG_MAX_WATCHES];
};

/* Who may touch what, between recorder_start()'s end and recorder_stop()'s join. */
struct recorder {
    pthread_mutex_t mutex; /* guards these: */
    pthread_cond_t wake;
    struct recorder_piece *pieces; /* a ring of PIECES */
    uint64_t put, taken;           /* pieces of it; those between them wait */
    struct recorder_halt halts[CONFIG_MAX_CORES];
    struct recorder_watches watches; /* but for `itm`: the event loop's */
    struct recorder_job *jobs;       /* oldest first */
    uint64_t queued;                 /* bytes and marks that are on disk in the end */
    size_t held;                     /* tail_len, for the others */
    bool halted, stop;
    struct recorder_stats stats;

    bool lost;              /* the capture thread: bytes are missing before the next ones */
    uint64_t offset;        /* bytes of the stream so far, dropped ones included */
    struct formatter phase; /* where in a frame the stream is: port */
    uint8_t tail[FRAME];    /* end of the stream that would harm if a loss followed it */
    size_t tail_len;

    struct {
        unsigned count;
        size_t bytes;
        uint64_t at[CONFIG_MAX_CORES]; /* length of the trace at the core's latest halt */
    } known;                           /* the event loop's */

    struct recorder_board board; /* the recorder's own thread; its numbers are constant */
    uint64_t unlooked; /* its own, too: bytes written since the room on the disk was looked at */
    struct {
        uint64_t max_size, keep_free; /* bytes; constant */
    } limits;
    pthread_t thread;
    bool formatted; /* constant */
    enum formatter_mode mode;
};

/* Of the first error only. Called with the mutex held. */
static void recorder_set_error(struct recorder *r, int error, const char *reason)
{
    if (r->stats.error)
        return;
    r->stats.error = error;
    snprintf(r->stats.why, sizeof r->stats.why, "recording to '%.120s' has ended: %.80s",
             r->board.folder, reason);
}

/* Why so many more bytes are not to be written; NULL: they are. */
static const char *recorder_limit(struct recorder *r, uint64_t more)
{
    uint64_t size = snapshot_writer_size(r->board.writer, r->board.buffer) + r->board.known_size;
    if (r->limits.max_size && size + more > r->limits.max_size)
        return "it is as long as [record] max_size allows";
    r->unlooked += more;
    if (r->unlooked < LOOK_BYTES)
        return NULL;
    r->unlooked = 0;
    return record_place_room(r->limits.keep_free, r->board.folder) < LOOK_BYTES
               ? "the disk is as full as [record] keep_free allows"
               : NULL;
}

/*
 * Where bytes are missing. Frames from memory: the frame that Linux writes for a discontinuity, of
 * the impossible ID 0x7F. Port: FF until any reader with alignment has lost it, and 00 so that
 * no 7F behind them makes a frame sync.
 */
static const uint8_t barrier_mark[FRAME] = {0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f,
                                            0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f};
static const uint8_t no_sync_mark[9] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};

static size_t mark_size(const struct recorder *r)
{
    if (!r->formatted)
        return 0;
    return r->mode == FORMATTER_ALIGNED ? sizeof barrier_mark : sizeof no_sync_mark;
}

static int recorder_write_mark(struct recorder *r)
{
    const uint8_t *mark = r->mode == FORMATTER_ALIGNED ? barrier_mark : no_sync_mark;
    if (!r->formatted)
        return BT_OK;
    return snapshot_writer_append(r->board.writer, r->board.buffer, mark, mark_size(r));
}

static int recorder_write_piece(struct recorder *r, const struct recorder_piece *p)
{
    int error = p->lost ? recorder_write_mark(r) : BT_OK;
    if (!error && p->tail_len)
        error = snapshot_writer_append(r->board.writer, r->board.buffer, p->tail, p->tail_len);
    if (!error && p->len)
        error = snapshot_writer_append(r->board.writer, r->board.buffer, p->data, p->len);
    return error;
}

static int board_add_watches(struct recorder_board *b, const struct recorder_watches *w)
{
    int error = BT_OK;
    for (unsigned i = 0; i < CONFIG_MAX_WATCHES && b->itm_device >= 0 && !error; i++) {
        char name[16];
        snprintf(name, sizeof name, RECORDER_COMPARATOR "%u", i);
        if (w->address[i])
            error = snapshot_writer_set_reg(b->writer, b->itm_device, name,
                                            SNAPSHOT_WRITER_NO_INDEX, 32, w->address[i]);
    }
    return error;
}

/* A comparator that had something else before names nothing. */
static void recorder_note_watches(struct recorder_watches *w)
{
    uint64_t now[CONFIG_MAX_WATCHES] = {0};
    for (unsigned i = 0; i < w->itm->watch_count; i++) {
        const struct config_watch *c = &w->itm->watches[i];
        if (c->found && c->comparator >= 0 && c->comparator < CONFIG_MAX_WATCHES)
            now[c->comparator] = c->address;
    }
    for (unsigned i = 0; i < CONFIG_MAX_WATCHES; i++)
        if (w->address[i] && w->address[i] != now[i])
            w->address[i] = RECORDER_NO_ADDRESS;
        else
            w->address[i] = now[i];
}

static int recorder_write_halts(struct recorder *r, const struct recorder_halt *halts,
                                const struct recorder_watches *watches,
                                const struct recorder_job *jobs)
{
    int error = board_add_watches(&r->board, watches);
    for (unsigned i = 0; i < r->board.core_count && !error; i++) {
        const struct recorder_halt *h = &halts[i];
        if (h->state)
            error = recorder_board_add_state(&r->board, i, h->state, h->bytes);
        if (h->changed && !error)
            error = recorder_board_add_halt(&r->board, i, h->pc, h->psr, h->bytes);
    }
    for (; jobs && !error; jobs = jobs->next)
        error = recorder_board_add_known(&r->board, jobs->core, jobs->bytes, &jobs->known);
    return error ? error : snapshot_writer_commit(r->board.writer);
}

static void free_jobs(struct recorder_job *jobs)
{
    while (jobs) {
        struct recorder_job *next = jobs->next;
        free(jobs);
        jobs = next;
    }
}

static void free_states(struct recorder_halt *halts)
{
    for (unsigned i = 0; i < CONFIG_MAX_CORES; i++) {
        free(halts[i].state);
        halts[i].state = NULL;
    }
}

static int64_t monotonic_ms(void)
{
    return (int64_t)(uv_hrtime() / 1000000);
}

/* Until there is something to do. Called with the mutex held. */
static void recorder_wait(struct recorder *r, int64_t commit_at)
{
    while (r->taken == r->put && !r->stop) {
        if (!r->halted) {
            pthread_cond_wait(&r->wake, &r->mutex);
            continue;
        }
        if (monotonic_ms() >= commit_at)
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
        recorder_wait(r, commit_at);
        struct recorder_piece piece;
        bool more = r->taken != r->put;
        struct recorder_halt halts[CONFIG_MAX_CORES];
        struct recorder_watches watches = r->watches;
        bool commit =
            r->halted && !r->stats.error && (monotonic_ms() >= commit_at || (r->stop && !more));
        if (!more && !commit && r->stop)
            break;
        if (more)
            piece = r->pieces[r->taken++ % PIECES];
        memcpy(halts, r->halts, sizeof halts);
        bool taken = commit || r->stats.error;
        struct recorder_job *jobs = taken ? r->jobs : NULL;
        if (taken) {
            r->halted = false;
            r->jobs = NULL;
            memset(r->halts, 0, sizeof r->halts);
        }
        bool failed = r->stats.error != 0;
        pthread_mutex_unlock(&r->mutex);

        const char *reason = more && !failed ? recorder_limit(r, piece.tail_len + piece.len) : NULL;
        int error = reason ? BT_ERR_RANGE : BT_OK;
        if (more && !failed && !error)
            error = recorder_write_piece(r, &piece);
        if (commit && !error) {
            error = recorder_write_halts(r, halts, &watches, jobs);
            commit_at = monotonic_ms() + COMMIT_MS;
        }
        if (!reason)
            reason = error == BT_ERR_IO ? strerror(errno) : bt_strerror(error);
        if (taken)
            free_states(halts);
        free_jobs(jobs);
        if (more)
            trace_buffer_release(piece.buffer);
        uint64_t size = snapshot_writer_size(r->board.writer, r->board.buffer);

        pthread_mutex_lock(&r->mutex);
        if (error)
            recorder_set_error(r, error, reason);
        r->stats.bytes = size;
        if (more) {
            r->stats.waiting -= piece.tail_len + piece.len;
            r->stats.dropped += failed ? piece.tail_len + piece.len : 0;
        }
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* The tail and these bytes behind it, with the mutex held. */
static void recorder_append(struct recorder *r, struct trace_buffer *buffer, const uint8_t *data,
                            size_t len)
{
    struct recorder_piece *last = &r->pieces[(r->put - 1) % PIECES];
    bool joins = r->put != r->taken && !r->lost && buffer && last->buffer == buffer &&
                 last->data + last->len + r->tail_len == data;
    r->stats.waiting += r->tail_len + len;
    r->stats.drops += r->lost;
    r->queued += r->tail_len + len + (r->lost ? mark_size(r) : 0);
    if (joins) {
        last->len += r->tail_len + len;
        return;
    }
    if (buffer)
        trace_buffer_hold(buffer);
    last = &r->pieces[r->put++ % PIECES];
    *last = (struct recorder_piece){.buffer = buffer,
                                    .data = data,
                                    .len = len,
                                    .lost = r->lost,
                                    .tail_len = (uint8_t)r->tail_len};
    memcpy(last->tail, r->tail, r->tail_len);
    r->lost = false;
}

/* All of them, or none and false. */
static bool recorder_put(struct recorder *r, struct trace_buffer *buffer, const uint8_t *data,
                         size_t len)
{
    pthread_mutex_lock(&r->mutex);
    bool room = !r->stats.error && r->put - r->taken < PIECES &&
                r->tail_len + len <= RECORDER_MEMORY - r->stats.waiting;
    if (room) {
        recorder_append(r, buffer, data, len);
        r->tail_len = r->held = 0;
    }
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    return room;
}

static void recorder_count_dropped(struct recorder *r, size_t bytes)
{
    pthread_mutex_lock(&r->mutex);
    r->stats.dropped += bytes;
    pthread_mutex_unlock(&r->mutex);
}

static void recorder_set_tail(struct recorder *r, size_t len)
{
    pthread_mutex_lock(&r->mutex);
    r->tail_len = r->held = len;
    pthread_mutex_unlock(&r->mutex);
}

void recorder_lost(struct recorder *r)
{
    recorder_count_dropped(r, r->tail_len);
    recorder_set_tail(r, 0);
    r->lost = true;
    if (r->formatted && r->mode != FORMATTER_ALIGNED)
        formatter_discontinuity(&r->phase, formatter_ignore_run, NULL);
}

/*
 * How many of the last bytes must not be on disk when a loss follows: with the mark behind them
 * they would read as a frame that never was. Frames from memory: those of the last frame, unless it
 * is whole. Port: the last byte, if all that is missing of its frame is the byte of the low bits;
 * a frame that lacks more is thrown away at the mark by itself.
 */
static size_t bytes_to_hold(struct recorder *r, const uint8_t *data, size_t len)
{
    if (!r->formatted)
        return 0;
    if (r->mode == FORMATTER_ALIGNED)
        return (size_t)(r->offset % FRAME);
    formatter_feed(&r->phase, data, len, formatter_ignore_run, NULL);
    return r->phase.aligned && r->phase.half && r->phase.fill == FRAME - 2;
}

/* Frames from memory stay frames: after a loss bytes are taken from the next frame on. */
static size_t bytes_to_skip(const struct recorder *r, size_t len)
{
    if (!r->lost || !r->formatted || r->mode != FORMATTER_ALIGNED)
        return 0;
    size_t skip = (size_t)(-r->offset % FRAME);
    return skip < len ? skip : len;
}

void recorder_bytes(struct recorder *r, struct trace_buffer *buffer, const uint8_t *data,
                    size_t len)
{
    size_t skip = bytes_to_skip(r, len);
    r->offset += len;
    data += skip;
    len -= skip;
    if (skip)
        recorder_count_dropped(r, skip);
    if (len == 0)
        return;
    size_t hold = bytes_to_hold(r, data, len);
    if (hold >= r->tail_len + len) {
        memcpy(r->tail + r->tail_len, data, len);
        recorder_set_tail(r, r->tail_len + len);
        return;
    }
    if (!recorder_put(r, buffer, data, len - hold)) {
        recorder_count_dropped(r, len);
        recorder_lost(r);
        return;
    }
    memcpy(r->tail, data + len - hold, hold);
    if (hold)
        recorder_set_tail(r, hold);
}

/* Takes `state`. */
static void recorder_note_halt(struct recorder *r, unsigned core,
                               const struct recorder_halt *recorder_halt)
{
    struct recorder_state *old = recorder_halt->state;
    pthread_mutex_lock(&r->mutex);
    if (core < r->board.core_count) {
        old = r->halts[core].state;
        r->halts[core] = *recorder_halt;
        r->halts[core].changed = true;
        r->halts[core].bytes = r->known.at[core] = r->queued + r->held;
        recorder_note_watches(&r->watches);
        r->halted = true;
    }
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    free(old);
}

void recorder_halted(struct recorder *r, unsigned core, uint64_t pc, uint32_t psr,
                     const struct recorder_state *state)
{
    struct recorder_state *copy = state ? malloc(sizeof *copy) : NULL;
    if (copy)
        *copy = *state;
    recorder_note_halt(r, core, &(struct recorder_halt){.pc = pc, .psr = psr, .state = copy});
}

static struct recorder_job *recorder_new_job(const struct recorder_known *k)
{
    size_t ram = 0;
    for (size_t i = 0; i < k->ram_count; i++)
        ram += k->ram[i].length;
    struct recorder_job *job =
        malloc(sizeof *job + k->reg_count * sizeof *k->regs + k->ram_count * sizeof *k->ram + ram);
    if (!job)
        return NULL;
    struct recorder_known_reg *regs = (void *)(job + 1);
    struct recorder_known_ram *pieces = (void *)(regs + k->reg_count);
    uint8_t *bytes = (uint8_t *)(pieces + k->ram_count);
    memcpy(regs, k->regs, k->reg_count * sizeof *regs);
    for (size_t i = 0; i < k->ram_count; i++) {
        pieces[i] = k->ram[i];
        pieces[i].bytes = memcpy(bytes, k->ram[i].bytes, k->ram[i].length);
        bytes += k->ram[i].length;
    }
    job->next = NULL;
    job->known = (struct recorder_known){regs, k->reg_count, pieces, k->ram_count};
    return job;
}

int recorder_add_known(struct recorder *r, unsigned core, const struct recorder_known *k)
{
    size_t ram = 0;
    for (size_t i = 0; i < k->ram_count; i++)
        ram += k->ram[i].length;
    if (core >= r->board.core_count || r->known.count == RECORDER_KNOWN_MAX ||
        ram > RECORDER_KNOWN_BYTES - r->known.bytes)
        return BT_ERR_RANGE;
    struct recorder_job *job = recorder_new_job(k);
    if (!job)
        return BT_ERR_NOMEM;
    job->core = core;
    job->bytes = r->known.at[core];
    r->known.count++;
    r->known.bytes += ram;
    pthread_mutex_lock(&r->mutex);
    struct recorder_job **last = &r->jobs;
    while (*last)
        last = &(*last)->next;
    *last = job;
    r->halted = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    return BT_OK;
}

void recorder_stats(struct recorder *r, struct recorder_stats *stats)
{
    pthread_mutex_lock(&r->mutex);
    *stats = r->stats;
    memcpy(stats->folder, r->board.folder, sizeof stats->folder);
    pthread_mutex_unlock(&r->mutex);
}

/* Start, stop. */

static int recorder_start_thread(struct recorder *r)
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
    if (!r)
        return message_fail(why, BT_ERR_NOMEM, "cannot record to '%s': out of memory", path);
    r->formatted = config->formatted;
    r->limits.max_size = config->record_max_size;
    r->limits.keep_free = config->record_keep_free;
    r->mode = config->mode;
    r->watches.itm = &config->itm;
    formatter_init(&r->phase, config->mode);
    int error = recorder_board_create(&r->board, config, path, images, why);
    if (!error)
        error = (r->pieces = calloc(PIECES, sizeof *r->pieces)) ? recorder_start_thread(r)
                                                                : BT_ERR_NOMEM;
    if (error) {
        if (r->board.writer)
            message_set(why, "cannot record to '%s': no thread for it", r->board.folder);
        snapshot_writer_close(r->board.writer);
        free(r->pieces);
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
        recorder_put(r, NULL, NULL, 0);
    pthread_mutex_lock(&r->mutex);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->mutex);
    pthread_join(r->thread, NULL);
    int error = r->stats.error;
    int closed = snapshot_writer_close(r->board.writer);
    free_states(r->halts);
    free_jobs(r->jobs);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->mutex);
    free(r->pieces);
    free(r);
    return error ? error : closed;
}
