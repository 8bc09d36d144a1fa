/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/capture/trace_link.h"

#include "drivers/probe/ftdi/ftdi_capture.h"
#include "drivers/probe/orbtrace/orbflow_frames.h"
#include "drivers/probe/orbtrace/orbtrace.h"
#include "drivers/probe/serial_port.h"
#include "drivers/probe/trace_stream.h"
#include "server/config/config.h"
#include "server/net/stream_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uv.h>

/*
 * Which trace stream the board file means, and what trace_link.h has to know of it: a stream
 * socket, a serial device, a capture unit on USB. A new one is a trace_stream and a line in
 * trace_input_make().
 */

struct trace_input {
    struct trace_stream stream;     /* its start may be tried again after it has failed or ended */
    struct orbflow_frames *orbflow; /* NULL: its bytes are what the decoder wants */
    bool required;                  /* it must be there from the start */
    bool whole_frames;              /* bytes come cut anywhere, and are aligned frames */
    char absent[320];               /* what is said before it was started for the first time */
    const char *gone;               /* ... and when it has ended */
    unsigned retry_ms;              /* between two tries to start it */
    unsigned delay_ms;              /* trace may wait so long on its way when no more follows */
};

#define FD_RETRY_MS  200
#define USB_RETRY_MS 300 /* a look at all USB devices */
/* Frames of ORBTrace's first protocol wait for a keep-alive, ten a second. */
#define USB_UNITS_MS 130u
/* How long ORBFLOW holds back what is not a full packet. */
#define ORBFLOW_MS 110u

/* Trace from a file descriptor: a stream socket that the source connects to, or that we do, or a
 * serial device. */
struct fd_stream {
    const struct config *config;
    struct trace_sink sink;
    int listener;       /* -1 if we connect */
    int fd;             /* -1: closed */
    struct message why; /* the last start failed */
};

static bool fd_stream_is_tty(const struct fd_stream *s)
{
    return s->config->capture.type == CONFIG_CAPTURE_TTY;
}

static int fd_stream_open(struct fd_stream *s)
{
    const struct config_capture *c = &s->config->capture;
    char where[300];
    if (fd_stream_is_tty(s))
        return serial_port_open(c->device, c->baud, &s->why);
    int fd = s->listener >= 0 ? stream_socket_accept(s->listener)
                              : stream_socket_connect(&s->config->trace);
    if (fd >= 0)
        return fd;
    int reason = errno;
    address_format(&s->config->trace, where, sizeof where);
    return message_fail(&s->why, BT_ERR_IO, "no source at %s: %s", where, strerror(reason));
}

static int fd_stream_start(void *self, const struct trace_sink *sink)
{
    struct fd_stream *s = self;
    int fd = fd_stream_open(s);
    if (fd < 0)
        return fd;
    s->fd = fd;
    s->sink = *sink;
    return BT_OK;
}

static int fd_stream_wait_fd(void *self)
{
    const struct fd_stream *s = self;
    return s->fd >= 0 ? s->fd : s->listener;
}

static int fd_stream_poll(void *self, unsigned timeout_ms)
{
    const struct fd_stream *s = self;
    const struct trace_sink *sink = &s->sink;
    size_t size;
    uint8_t *room = sink->room(sink->user, TRACE_ROOM, &size);
    ssize_t n = read(s->fd, room, size);
    (void)timeout_ms; /* there is something to read */
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return BT_OK;
    if (n <= 0)
        return BT_ERR_IO;
    sink->bytes(sink->user, room, (size_t)n);
    return BT_OK;
}

static int fd_stream_stop(void *self)
{
    struct fd_stream *s = self;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    return BT_OK;
}

static void fd_stream_describe(void *self, char *text, size_t size)
{
    const struct fd_stream *s = self;
    if (s->fd < 0)
        snprintf(text, size, "%s", s->why.text);
    else if (fd_stream_is_tty(s))
        snprintf(text, size, "serial device %s at %u bits a second", s->config->capture.device,
                 s->config->capture.baud);
    else
        snprintf(text, size, "the source is connected");
}

static void fd_stream_release(void *self)
{
    struct fd_stream *s = self;
    if (s->listener >= 0)
        close(s->listener);
    free(s);
}

static int trace_input_fd(const struct config *config, struct trace_input *in, struct message *why)
{
    static const struct trace_stream_ops OPS = {
        .start = fd_stream_start,
        .wait_fd = fd_stream_wait_fd,
        .poll = fd_stream_poll,
        .stop = fd_stream_stop,
        .describe = fd_stream_describe,
        .release = fd_stream_release,
    };
    struct fd_stream *s = calloc(1, sizeof *s);
    char where[300];
    if (!s)
        return BT_ERR_NOMEM;
    s->config = config;
    s->listener = s->fd = -1;
    in->stream = (struct trace_stream){.ops = &OPS, .self = s};
    in->retry_ms = FD_RETRY_MS;
    in->required = fd_stream_is_tty(s);
    in->gone = in->required ? "the serial device is gone" : "the source has closed the connection";
    if (in->required)
        return BT_OK;
    address_format(&config->trace, where, sizeof where);
    snprintf(in->absent, sizeof in->absent, "no source yet at %s", where);
    if (!config->trace_listens || (s->listener = stream_socket_listen(&config->trace)) >= 0)
        return BT_OK;
    message_set(why, "cannot listen for trace on %s: %s", where, strerror(errno));
    return BT_ERR_IO;
}

static enum orbtrace_input orbtrace_pins(const struct config *c)
{
    if (config_captures_swo(c))
        return ORBTRACE_NRZ_FRAMES;
    return c->tpiu_width == 1   ? ORBTRACE_PARALLEL_1
           : c->tpiu_width == 2 ? ORBTRACE_PARALLEL_2
                                : ORBTRACE_PARALLEL_4;
}

static int trace_input_usb(const struct config *config, struct trace_input *in)
{
    const struct config_capture *c = &config->capture;
    const struct usb_probe_filter filter = {.serial = c->serial,
                                            .path = c->usb.path,
                                            .vendor = c->usb.vendor,
                                            .product = c->usb.product};
    bool uart = c->type == CONFIG_CAPTURE_FTDI_UART;
    const struct ftdi_capture_options options = {
        .mode = uart ? FTDI_CAPTURE_UART : FTDI_CAPTURE_FIFO,
        .channel = uart ? c->channel : 0,
        .baud = c->baud,
    };
    in->required = true;
    in->gone = "the capture unit does not answer any more";
    in->retry_ms = USB_RETRY_MS;
    if (c->type == CONFIG_CAPTURE_ORBTRACE)
        return orbtrace_stream(&filter, orbtrace_pins(config), config->swo_rate, &in->stream);
    return ftdi_capture_stream(&filter, &options, &in->stream);
}

/*
 * What the board file's [trace] and [capture] name; `config` must outlive it. 0, or a bt_error with
 * *why filled: a socket to listen on that cannot be had, memory.
 * Nothing else is opened yet. */
static int trace_input_make(const struct config *config, struct trace_input *in,
                            struct message *why)
{
    bool orbtrace = config->capture.type == CONFIG_CAPTURE_ORBTRACE;
    bool on_fd =
        config->capture.type == CONFIG_CAPTURE_NONE || config->capture.type == CONFIG_CAPTURE_TTY;
    bool orbflow = config->orbflow && !orbtrace; /* which makes frames of it itself */
    *in = (struct trace_input){
        .whole_frames =
            !orbtrace && !orbflow && config->formatted && config->mode == FORMATTER_ALIGNED,
        .delay_ms = orbtrace  ? USB_UNITS_MS
                    : orbflow ? ORBFLOW_MS
                              : 0,
    };
    int error = on_fd ? trace_input_fd(config, in, why) : trace_input_usb(config, in);
    if (!error && orbflow && !(in->orbflow = orbflow_frames_new()))
        error = BT_ERR_NOMEM;
    if (error == BT_ERR_NOMEM)
        message_set(why, "out of memory");
    return error;
}

/* The stream is stopped. Also after a make that failed. */
static void trace_input_release(struct trace_input *in)
{
    if (in->stream.ops)
        in->stream.ops->release(in->stream.self);
    orbflow_frames_free(in->orbflow);
}

#define FRAME   TRACE_ROOM_SPARE
#define POLL_MS 20u /* so long the end of the link may have to wait */

struct trace_link {
    struct trace_input input;
    struct trace_sink sink;
    struct trace_sink frames; /* of what ORBFLOW carries */
    int wake[2];              /* a byte in it ends the thread */
    atomic_bool ending;       /* the same, without a system call */
    uv_thread_t thread;
    bool running;
    /* Of the thread. */
    bool open;
    bool was_away; /* nothing has come since it was opened again */
    size_t came;   /* bytes of this poll */
    uint8_t part[FRAME];
    size_t part_len;  /* of a frame that is not whole yet */
    uint8_t *orbflow; /* TRACE_ROOM bytes, of which frames are made */
    uv_mutex_t lock;  /* guards the rest */
    uv_cond_t arrived;
    struct trace_link_stats stats;
    uint64_t last;        /* time of the last byte that is more than a sync, ns */
    struct message state; /* what is open, or why nothing is */
};

/* The thread: bytes. */

/* A trace port never rests: it sends syncs (7fff) while there is nothing to tell. */
static bool only_syncs(const uint8_t *data, size_t n)
{
    size_t i = 0;
    while (i < n && (data[i] == 0xff || data[i] == 0x7f))
        i++;
    return i == n;
}

static void link_loss(void *user, enum bt_gap_cause cause)
{
    struct trace_link *l = user;
    l->was_away = false;
    l->sink.lost(l->sink.user, cause);
}

static void link_bytes(void *user, const uint8_t *data, size_t n)
{
    struct trace_link *l = user;
    bool idle = only_syncs(data, n);
    if (l->was_away)
        link_loss(l, BT_GAP_LOST_BYTES);
    l->sink.bytes(l->sink.user, data, n);
    if (idle)
        return;
    uv_mutex_lock(&l->lock);
    l->last = uv_hrtime();
    l->stats.trace += n;
    uv_cond_broadcast(&l->arrived);
    uv_mutex_unlock(&l->lock);
}

static uint8_t *link_room(void *user, size_t least, size_t *size)
{
    struct trace_link *l = user;
    return l->sink.room(l->sink.user, least, size);
}

/* A piece may be dropped when the decoder is late: then whole frames are. What is left of the last
 * one goes in front of the next piece, which is always put at room(). */
static uint8_t *frames_room(void *user, size_t least, size_t *size)
{
    struct trace_link *l = user;
    uint8_t *room = link_room(l, least + TRACE_ROOM_SPARE, size);
    memcpy(room, l->part, l->part_len);
    *size -= l->part_len;
    return room + l->part_len;
}

static void frames_bytes(void *user, const uint8_t *data, size_t n)
{
    struct trace_link *l = user;
    const uint8_t *begin = data - l->part_len;
    size_t len = l->part_len + n;
    l->part_len = len % FRAME;
    memcpy(l->part, begin + len - l->part_len, l->part_len);
    if (len >= FRAME)
        link_bytes(l, begin, len - l->part_len);
}

/* What the stream calls. */

static void on_bytes(void *user, const uint8_t *data, size_t n)
{
    struct trace_link *l = user;
    if (l->input.orbflow)
        orbflow_frames_feed(l->input.orbflow, data, n, &l->frames);
    else if (l->input.whole_frames)
        frames_bytes(l, data, n);
    else
        link_bytes(l, data, n);
    l->came += n;
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    struct trace_link *l = user;
    if (l->input.orbflow)
        orbflow_frames_lost(l->input.orbflow, &l->frames);
    else
        link_loss(l, cause);
}

static uint8_t *on_room(void *user, size_t least, size_t *size)
{
    struct trace_link *l = user;
    if (l->orbflow) {
        *size = TRACE_ROOM;
        return l->orbflow;
    }
    return l->input.whole_frames ? frames_room(l, least, size) : link_room(l, least, size);
}

static void trace_link_count(struct trace_link *l)
{
    if (l->came == 0)
        return;
    uv_mutex_lock(&l->lock);
    l->stats.bytes += l->came;
    l->stats.connection += l->came;
    uv_cond_broadcast(&l->arrived);
    uv_mutex_unlock(&l->lock);
    l->came = 0;
}

/* False: the thread is to end. */
static bool trace_link_wait_for(struct trace_link *l, int fd, int timeout_ms)
{
    struct pollfd fds[2] = {{.fd = l->wake[0], .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int n;
    do
        n = poll(fds, 2, timeout_ms);
    while (n < 0 && errno == EINTR);
    return !fds[0].revents;
}

static void trace_link_mark(struct trace_link *l, bool connected, const char *state)
{
    uv_mutex_lock(&l->lock);
    if (connected) {
        l->stats.connection = 0;
        l->stats.connections++;
    }
    l->stats.connected = connected;
    message_set(&l->state, "%s", state);
    uv_cond_broadcast(&l->arrived);
    uv_mutex_unlock(&l->lock);
}

static int trace_link_open(struct trace_link *l)
{
    const struct trace_stream *in = &l->input.stream;
    const struct trace_sink sink = {.user = l, .bytes = on_bytes, .lost = on_lost, .room = on_room};
    char text[400];
    l->part_len = 0;
    if (l->input.orbflow)
        orbflow_frames_restart(l->input.orbflow);
    int error = in->ops->start(in->self, &sink);
    in->ops->describe(in->self, text, sizeof text);
    l->open = !error;
    trace_link_mark(l, l->open, text);
    trace_link_count(l);
    return error;
}

static int trace_link_wait_fd(const struct trace_link *l)
{
    const struct trace_stream *in = &l->input.stream;
    return in->ops->wait_fd ? in->ops->wait_fd(in->self) : -1;
}

/* False: the thread is to end. */
static bool trace_link_await(struct trace_link *l)
{
    while (!l->open) {
        int fd = trace_link_wait_fd(l);
        if (fd >= 0 && !trace_link_wait_for(l, fd, -1))
            return false;
        if (trace_link_open(l) && !trace_link_wait_for(l, -1, (int)l->input.retry_ms))
            return false;
    }
    return true;
}

static int trace_link_poll(struct trace_link *l)
{
    int error = l->input.stream.ops->poll(l->input.stream.self, POLL_MS);
    trace_link_count(l);
    return error;
}

/* What has come before the end: of a board that has ended, its last words. */
static void trace_link_read_rest(struct trace_link *l, int fd)
{
    int rest;
    if (ioctl(fd, FIONREAD, &rest) != 0 || rest < 0)
        return;
    struct pollfd there = {.fd = fd, .events = POLLIN};
    uint64_t all = l->stats.connection + (unsigned)rest; /* which only this thread writes */
    while (l->stats.connection < all && poll(&there, 1, 0) > 0 && !trace_link_poll(l))
        ;
}

/* False: the thread is to end. */
static bool trace_link_read(struct trace_link *l)
{
    int fd = trace_link_wait_fd(l), error = BT_OK;
    while (!error) {
        if (fd >= 0 ? !trace_link_wait_for(l, fd, -1) : atomic_load(&l->ending)) {
            if (fd >= 0)
                trace_link_read_rest(l, fd);
            return false;
        }
        error = trace_link_poll(l);
    }
    return true;
}

static void trace_link_close(struct trace_link *l)
{
    (void)l->input.stream.ops->stop(l->input.stream.self);
    trace_link_count(l);
    l->open = false;
}

static void capture_thread(void *arg)
{
    struct trace_link *l = arg;
    bool go_on = true;
    pthread_setname_np(pthread_self(), "capture"); /* for top and debuggers */
    while (go_on && trace_link_await(l)) {
        go_on = trace_link_read(l);
        trace_link_close(l);
        l->was_away = true;
        trace_link_mark(l, false, l->input.gone);
    }
}

void trace_link_stats(struct trace_link *l, struct trace_link_stats *stats)
{
    uv_mutex_lock(&l->lock);
    *stats = l->stats;
    uv_mutex_unlock(&l->lock);
}

void trace_link_describe(struct trace_link *l, char *text, size_t size)
{
    uv_mutex_lock(&l->lock);
    snprintf(text, size, "%s: %s", l->stats.connected ? "running" : "stopped", l->state.text);
    uv_mutex_unlock(&l->lock);
}

bool trace_link_wait(struct trace_link *l, uint64_t bytes, unsigned timeout_ms)
{
    uint64_t deadline = uv_hrtime() + (uint64_t)timeout_ms * 1000000;
    uv_mutex_lock(&l->lock);
    while (l->stats.connection < bytes) {
        uint64_t now = uv_hrtime();
        if (now >= deadline || uv_cond_timedwait(&l->arrived, &l->lock, deadline - now) != 0)
            break;
    }
    bool done = l->stats.connection >= bytes;
    uv_mutex_unlock(&l->lock);
    return done;
}

bool trace_link_wait_trace(struct trace_link *l, uint64_t trace, unsigned timeout_ms)
{
    uint64_t deadline = uv_hrtime() + (uint64_t)timeout_ms * 1000000;
    uv_mutex_lock(&l->lock);
    for (uint64_t now = uv_hrtime(); l->stats.trace <= trace && now < deadline; now = uv_hrtime())
        uv_cond_timedwait(&l->arrived, &l->lock, deadline - now);
    bool more = l->stats.trace > trace;
    uv_mutex_unlock(&l->lock);
    return more;
}

bool trace_link_wait_quiet(struct trace_link *l, unsigned quiet_ms, unsigned timeout_ms)
{
    uint64_t begin = uv_hrtime(), deadline = begin + (uint64_t)timeout_ms * 1000000;
    uint64_t quiet = (uint64_t)quiet_ms * 1000000, end;
    uint64_t sent = begin + (uint64_t)l->input.delay_ms * 1000000;
    uv_mutex_lock(&l->lock);
    for (;;) {
        uint64_t now = uv_hrtime(), since = l->last > begin ? l->last : begin;
        end = since + quiet > sent ? since + quiet : sent;
        if (now >= end || now >= deadline)
            break;
        uv_cond_timedwait(&l->arrived, &l->lock, (end < deadline ? end : deadline) - now);
    }
    uv_mutex_unlock(&l->lock);
    return end <= deadline;
}

static int trace_link_open_wake(struct trace_link *l, struct message *why)
{
    if (pipe2(l->wake, O_CLOEXEC) == 0)
        return BT_OK;
    message_set(why, "cannot make a pipe for the capture thread: %s", strerror(errno));
    return BT_ERR_IO;
}

static int trace_link_start_thread(struct trace_link *l, struct message *why)
{
    int error = uv_thread_create(&l->thread, capture_thread, l);
    if (!error)
        return BT_OK;
    message_set(why, "cannot start the capture thread: %s", uv_strerror(error));
    return BT_ERR_IO;
}

int trace_link_start(const struct config *config, const struct trace_sink *sink,
                     struct trace_link **out, struct message *why)
{
    *out = NULL;
    struct trace_link *l = calloc(1, sizeof *l);
    if (!l) {
        message_set(why, "out of memory");
        return BT_ERR_NOMEM;
    }
    l->sink = *sink;
    l->frames =
        (struct trace_sink){.user = l, .bytes = link_bytes, .lost = link_loss, .room = link_room};
    l->wake[0] = l->wake[1] = -1;
    uv_mutex_init(&l->lock);
    uv_cond_init(&l->arrived);
    int error = trace_link_open_wake(l, why);
    if (!error)
        error = trace_input_make(config, &l->input, why);
    if (!error && l->input.orbflow && !(l->orbflow = malloc(TRACE_ROOM))) {
        message_set(why, "out of memory");
        error = BT_ERR_NOMEM;
    }
    if (!error)
        trace_link_mark(l, false, l->input.absent);
    if (!error && l->input.required && (error = trace_link_open(l)) != 0)
        message_set(why, "%s", l->state.text);
    if (!error)
        error = trace_link_start_thread(l, why);
    l->running = !error;
    if (error)
        trace_link_stop(l);
    else
        *out = l;
    return error;
}

void trace_link_stop(struct trace_link *l)
{
    if (!l)
        return;
    if (l->running) {
        ssize_t n;
        atomic_store(&l->ending, true);
        do
            n = write(l->wake[1], "", 1);
        while (n < 0 && errno == EINTR);
        uv_thread_join(&l->thread);
    }
    for (int i = 0; i < 2; i++)
        if (l->wake[i] >= 0)
            close(l->wake[i]);
    if (l->open)
        trace_link_close(l);
    trace_input_release(&l->input);
    free(l->orbflow);
    uv_cond_destroy(&l->arrived);
    uv_mutex_destroy(&l->lock);
    free(l);
}
