/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/recorder.h"

#include "drivers/snapshot/snapshot_writer.h"
#include "server/recording/record_place.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NUMBER_MAX 9999u

/* A recording's folder, and what it says of the board. */
struct recorder_board {
    struct snapshot_writer *writer;
    int buffer; /* of the writer: takes the trace */
    unsigned core_count;
    int core_devices[CONFIG_MAX_CORES]; /* of the writer */
    int itm_device;                     /* -1: none */
    bool m_profile[CONFIG_MAX_CORES];
    bool has_stack[CONFIG_MAX_CORES]; /* its newest dump is one of the stack */
    char folder[600];
};

/* mkdir() is what claims a name: two programs never share one. */
static int recorder_make_numbered(const char *path, char *folder, size_t size, struct message *why)
{
    for (unsigned i = 1; i <= NUMBER_MAX; i++) {
        int n = snprintf(folder, size, "%s/%04u", path, i);
        if (n < 0 || (size_t)n >= size)
            break;
        if (mkdir(folder, 0777) == 0)
            return BT_OK;
        if (errno != EEXIST) {
            message_set(why, "cannot record to '%s': %s", folder, strerror(errno));
            return BT_ERR_IO;
        }
    }
    message_set(why, "cannot record to '%s': the name is too long, or %u recordings are there",
                path, NUMBER_MAX);
    return BT_ERR_RANGE;
}

static int recorder_make_folder(const char *path, char *folder, size_t size, struct message *why)
{
    struct stat st;
    if (strlen(path) + 6 > size) {
        message_set(why, "cannot record to '%.200s...': the name is too long", path);
        return BT_ERR_RANGE;
    }
    snprintf(folder, size, "%s", path);
    if (mkdir(folder, 0777) == 0)
        return BT_OK;
    if (errno != EEXIST) {
        message_set(why, "cannot record to '%s': %s", path, strerror(errno));
        return BT_ERR_IO;
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return recorder_make_numbered(path, folder, size, why);
    message_set(why, "cannot record to '%s': it exists and is not a folder", path);
    return BT_ERR_IO;
}

static int board_add_device(struct recorder_board *b, const struct snapshot_device *d)
{
    const struct snapshot_writer_device device = {
        .name = d->name, .class_name = d->class_name, .type = d->type};
    int number = snapshot_writer_add_device(b->writer, &device);
    for (size_t i = 0; i < d->reg_count && number >= 0; i++) {
        const struct snapshot_reg *reg = &d->regs[i];
        uint32_t index = reg->has_index ? reg->index : SNAPSHOT_WRITER_NO_INDEX;
        int error =
            snapshot_writer_set_reg(b->writer, number, reg->name, index, reg->size, reg->value);
        if (error)
            return error;
    }
    return number;
}

static bool board_core_sees(const struct code_region *region, unsigned core)
{
    if (region->by & (CODE_BY_VMID | CODE_BY_CONTEXT))
        return false;
    return !(region->by & CODE_BY_CORE) || region->core == core;
}

/* One dump for all cores that have the image and see the region. */
static int board_add_piece(struct recorder_board *b, const struct code_image *const *images,
                           const struct code_image *image, const struct code_region *region)
{
    static const char *const spaces[] = {
        [BT_SEC_SECURE] = "S", [BT_SEC_NONSECURE] = "N", [BT_SEC_HYP] = "H"};
    const char *space = region->by & CODE_BY_SECURITY ? spaces[region->security] : "";
    bool written = false;
    int error = BT_OK;
    for (unsigned i = 0; i < b->core_count && !error; i++) {
        if (images[i] != image || !board_core_sees(region, i))
            continue;
        if (written)
            error = snapshot_writer_share_dump(b->writer, b->core_devices[i]);
        else
            error = snapshot_writer_add_dump(b->writer, b->core_devices[i], region->address, space,
                                             region->bytes, (size_t)region->size);
        written = true;
    }
    return error;
}

/* OpenCSD refuses memory of an odd size: the last byte is a dump of its own, and all that it does
 * without. */
static int board_add_region(struct recorder_board *b, const struct code_image *const *images,
                            const struct code_image *image, const struct code_region *region)
{
    struct code_region even = *region, last = *region;
    last.size = region->size % 2;
    even.size -= last.size;
    last.address += even.size;
    last.bytes += even.size;
    int error = even.size ? board_add_piece(b, images, image, &even) : BT_OK;
    return !error && last.size ? board_add_piece(b, images, image, &last) : error;
}

/* Readers take the dump that was added last; an image the newest generation, and of that the first
 * region. */
static int board_add_image(struct recorder_board *b, const struct code_image *const *images,
                           const struct code_image *image)
{
    for (uint32_t generation = 0;; generation++) {
        for (size_t i = image->count; i-- > 0;) {
            if (image->regions[i].generation != generation)
                continue;
            int error = board_add_region(b, images, image, &image->regions[i]);
            if (error)
                return error;
        }
        if (generation == image->generation)
            return BT_OK;
    }
}

static int board_add_images(struct recorder_board *b, const struct code_image *const *images)
{
    for (unsigned i = 0; i < b->core_count; i++) {
        bool done = !images[i];
        for (unsigned k = 0; k < i; k++)
            done |= images[k] == images[i];
        int error = done ? BT_OK : board_add_image(b, images, images[i]);
        if (error)
            return error;
    }
    return BT_OK;
}

static int board_describe(struct recorder_board *b, const struct config *c,
                          const struct code_image *const *images)
{
    const char *format = !c->formatted                  ? "source_data"
                         : c->mode == FORMATTER_ALIGNED ? "coresight"
                                                        : "dstream_coresight";
    int error = b->buffer = snapshot_writer_add_buffer(b->writer, "trace", format);
    if (c->record.compress && error >= 0)
        error = snapshot_writer_compress(b->writer, b->buffer);
    for (unsigned i = 0; i < c->core_count && error >= 0; i++)
        error = b->core_devices[i] = board_add_device(b, &c->cores[i].core_device);
    for (unsigned i = 0; i < c->core_count && error >= 0; i++) {
        if (!c->cores[i].has_source)
            continue;
        error = board_add_device(b, &c->cores[i].source_device);
        if (error >= 0)
            error = snapshot_writer_add_source(b->writer, error, b->buffer, b->core_devices[i]);
    }
    b->itm_device = -1;
    if (c->itm.on && error >= 0) {
        error = b->itm_device = board_add_device(b, &c->itm.device);
        if (error >= 0)
            error = snapshot_writer_add_source(b->writer, error, b->buffer, b->core_devices[0]);
    }
    if (error >= 0)
        error = board_add_images(b, images);
    return error < 0 ? error : snapshot_writer_commit(b->writer);
}

/* Makes the folder, describes the board and commits; as recorder_start(). The caller closes
 * b->writer. */
static int board_create(struct recorder_board *b, const struct config *config, const char *path,
                        const struct code_image *const *images, struct message *why)
{
    memset(b, 0, sizeof *b);
    int error = recorder_make_folder(path, b->folder, sizeof b->folder, why);
    if (error)
        return error;
    if (record_place_room(config->record_keep_free, b->folder) == 0) {
        rmdir(b->folder);
        message_set(why, "cannot record to '%s': the disk is as full as [record] keep_free allows",
                    b->folder);
        return BT_ERR_RANGE;
    }
    b->core_count = config->core_count;
    for (unsigned i = 0; i < config->core_count; i++)
        b->m_profile[i] = strncasecmp(config->cores[i].type, "Cortex-M", 8) == 0 ||
                          strcasecmp(config->cores[i].type, "SC300") == 0;
    const char *about = *config->description ? config->description : config->name;
    error = snapshot_writer_create(b->folder, about, &b->writer);
    if (!error)
        error = board_describe(b, config, images);
    if (!error)
        return BT_OK;
    message_set(why, "cannot record to '%s': %s", b->folder,
                error == BT_ERR_IO ? strerror(errno) : bt_strerror(error));
    snapshot_writer_close(b->writer);
    b->writer = NULL;
    return error;
}

/* A core's registers at a halt, for the next commit. 0 or the writer's error. */
static int board_add_halt(struct recorder_board *b, unsigned core, uint64_t pc, uint32_t psr,
                          uint64_t bytes)
{
    const struct {
        const char *name;
        unsigned bits;
        uint64_t value;
    } regs[] = {
        {"PC", pc > UINT32_MAX ? 64 : 32, pc},
        {b->m_profile[core] ? "xPSR" : "CPSR", 32, psr},
        {RECORDER_BYTES, 64, bytes},
    };
    int error = BT_OK;
    for (size_t i = 0; i < sizeof regs / sizeof *regs && !error; i++)
        error = snapshot_writer_set_reg(b->writer, b->core_devices[core], regs[i].name,
                                        SNAPSHOT_WRITER_NO_INDEX, regs[i].bits, regs[i].value);
    return error;
}

static int board_add_stack(struct recorder_board *b, unsigned core, const struct recorder_state *s)
{
    int device = b->core_devices[core];
    if (!s->length)
        return BT_OK;
    if (b->has_stack[core])
        return snapshot_writer_replace_dump(b->writer, device, s->stack, s->memory, s->length);
    b->has_stack[core] = true;
    return snapshot_writer_add_dump(b->writer, device, s->stack, "", s->memory, s->length);
}

static int board_add_state(struct recorder_board *b, unsigned core, const struct recorder_state *s,
                           uint64_t bytes)
{
    static const char *const names[] = {"R0", "R1", "R2",  "R3",  "R4",  "R5", "R6", "R7",
                                        "R8", "R9", "R10", "R11", "R12", "SP", "LR"};
    const struct {
        const char *name;
        uint64_t value;
    } about[] = {{RECORDER_STATE_BYTES, bytes},
                 {RECORDER_STACK, s->stack},
                 {RECORDER_STACK_BYTES, s->length}};
    int device = b->core_devices[core], error = board_add_stack(b, core, s);
    for (size_t i = 0; i < sizeof names / sizeof *names && !error; i++)
        error = snapshot_writer_set_reg(b->writer, device, names[i], SNAPSHOT_WRITER_NO_INDEX, 32,
                                        s->regs[i]);
    for (size_t i = 0; i < sizeof about / sizeof *about && !error; i++)
        error = snapshot_writer_set_reg(b->writer, device, about[i].name, SNAPSHOT_WRITER_NO_INDEX,
                                        64, about[i].value);
    return error;
}

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
    uint64_t queued;                 /* bytes and marks that are on disk in the end */
    size_t held;                     /* tail_len, for the others */
    bool halted, stop;
    struct recorder_stats stats;

    bool lost;              /* the capture thread: bytes are missing before the next ones */
    uint64_t offset;        /* bytes of the stream so far, dropped ones included */
    struct formatter phase; /* where in a frame the stream is: port */
    uint8_t tail[FRAME];    /* end of the stream that would harm if a loss followed it */
    size_t tail_len;

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
    uint64_t size = snapshot_writer_size(r->board.writer, r->board.buffer);
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
                                const struct recorder_watches *watches)
{
    int error = board_add_watches(&r->board, watches);
    for (unsigned i = 0; i < r->board.core_count && !error; i++) {
        const struct recorder_halt *h = &halts[i];
        if (h->state)
            error = board_add_state(&r->board, i, h->state, h->bytes);
        if (h->changed && !error)
            error = board_add_halt(&r->board, i, h->pc, h->psr, h->bytes);
    }
    return error ? error : snapshot_writer_commit(r->board.writer);
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
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
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
        if (taken) {
            r->halted = false;
            memset(r->halts, 0, sizeof r->halts);
        }
        bool failed = r->stats.error != 0;
        pthread_mutex_unlock(&r->mutex);

        const char *reason = more && !failed ? recorder_limit(r, piece.tail_len + piece.len) : NULL;
        int error = reason ? BT_ERR_RANGE : BT_OK;
        if (more && !failed && !error)
            error = recorder_write_piece(r, &piece);
        if (commit && !error) {
            error = recorder_write_halts(r, halts, &watches);
            commit_at = monotonic_ms() + COMMIT_MS;
        }
        if (!reason)
            reason = error == BT_ERR_IO ? strerror(errno) : bt_strerror(error);
        if (taken)
            free_states(halts);
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

static void on_ignored_run(void *ctx, const struct formatter_run *run)
{
    (void)ctx, (void)run;
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
        formatter_discontinuity(&r->phase, on_ignored_run, NULL);
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
    formatter_feed(&r->phase, data, len, on_ignored_run, NULL);
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
        r->halts[core].bytes = r->queued + r->held;
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
    if (!r) {
        message_set(why, "cannot record to '%s': out of memory", path);
        return BT_ERR_NOMEM;
    }
    r->formatted = config->formatted;
    r->limits.max_size = config->record_max_size;
    r->limits.keep_free = config->record_keep_free;
    r->mode = config->mode;
    r->watches.itm = &config->itm;
    formatter_init(&r->phase, config->mode);
    int error = board_create(&r->board, config, path, images, why);
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
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->mutex);
    free(r->pieces);
    free(r);
    return error ? error : closed;
}
