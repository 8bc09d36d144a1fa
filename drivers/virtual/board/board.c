/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REQUEST_SECONDS 10
#define KICK_NS         5000000 /* between two attempts to wake the cores */
#define SECOND_NS       1000000000

static int init_cpu(struct board *b, unsigned index, char *message, size_t size)
{
    struct board_cpu *c = &b->cpus[index];

    board_cpu_init(c, index, b->options.profile, &b->qemu);
    if (board_unit_init(&c->unit, &b->options, index, &b->port, &b->clock) != 0) {
        snprintf(message, size, "trace options contradict each other");
        return -1;
    }
    if (index == 0 && b->options.itm)
        c->itm = &b->itm;
    if (board_truth_open(&c->truth, b->options.truth, index,
                         b->options.profile == BOARD_PROFILE_A64) != 0) {
        snprintf(message, size, "cannot open '%s': %s", b->options.truth, strerror(errno));
        return -1;
    }
    return 0;
}

int board_init(struct board *b, unsigned cpu_count, char *message, size_t size)
{
    b->qemu.a64 = b->options.profile == BOARD_PROFILE_A64;
    board_qemu_init(&b->qemu);
    b->qemu.before_access = b->options.profile != BOARD_PROFILE_M;
    b->filter = b->options.filter;
    b->cpu_count = cpu_count;
    b->cpus = calloc(cpu_count, sizeof *b->cpus);
    if (!b->cpus || board_code_init(&b->code) != 0 ||
        pthread_mutex_init(&b->desk.lock, NULL) != 0 ||
        pthread_cond_init(&b->desk.served, NULL) != 0) {
        snprintf(message, size, "out of memory");
        return -1;
    }
    if (b->options.trace_id + cpu_count - 1 > 0x6f ||
        (b->options.format == BOARD_FORMAT_RAW && cpu_count > 1) ||
        (b->options.itm >= b->options.trace_id &&
         b->options.itm < b->options.trace_id + cpu_count)) {
        snprintf(message, size, "too many cores for these trace IDs or this format");
        return -1;
    }
    if (board_port_init(&b->port, &b->options) != 0) {
        snprintf(message, size, "cannot open '%s': %s", b->options.out, strerror(errno));
        return -1;
    }
    board_itm_init(&b->itm, &b->port, b->options.itm, b->options.itm_period);
    for (unsigned i = 0; i < cpu_count; i++)
        if (init_cpu(b, i, message, size) != 0)
            return -1;
    return 0;
}

void board_finish(struct board *b)
{
    board_control_stop(b->control);
    for (unsigned i = 0; i < b->cpu_count; i++) {
        board_unit_flush(&b->cpus[i].unit);
        board_truth_log(&b->cpus[i].truth, b->cpus[i].count, "end anomalies %" PRIu64,
                        b->cpus[i].anomalies);
        board_truth_close(&b->cpus[i].truth);
    }
    board_port_flush(&b->port);
    board_port_close(&b->port);
}

/* What a request travels with to a core: freed there, however late that is. */
struct errand {
    struct board *board;
    struct board_cpu *cpu;
    enum board_request request;
    uint64_t ticket;
    struct board_filter filter;
    struct board_debug_order order;
};

static void switch_trace(struct board_cpu *c, bool on)
{
    struct board_state here = board_cpu_here(c);

    if (c->unit.enabled == on)
        return;
    board_truth_log(&c->truth, c->count, "%s 0x%08" PRIx64, on ? "on" : "off", here.address);
    if (on && c->started)
        board_unit_on(&c->unit, &here);
    else if (on)
        c->unit.enabled = true; /* as soon as the core starts */
    else
        board_unit_off(&c->unit);
}

static void set_filter(struct board_cpu *c, const struct board_filter *filter)
{
    struct board_state here = board_cpu_here(c);

    if (!c->started) {
        c->unit.filter = *filter;
        return;
    }
    board_truth_log(&c->truth, c->count, "filter 0x%08" PRIx64, here.address);
    board_unit_set_filter(&c->unit, filter, &here);
}

static void run_request(struct board *b, struct board_cpu *c, enum board_request request)
{
    struct board_state here;

    board_cpu_catch_up(c);
    if (request == BOARD_REQUEST_ON || request == BOARD_REQUEST_OFF)
        switch_trace(c, request == BOARD_REQUEST_ON);
    if (request == BOARD_REQUEST_OVERFLOW && c->started && !c->halted && c->unit.enabled) {
        here = board_cpu_here(c);
        board_truth_log(&c->truth, c->count, "overflow 0x%08" PRIx64, here.address);
        board_unit_overflow(&c->unit, &here);
    }
    if (request == BOARD_REQUEST_FLUSH) {
        board_unit_flush(&c->unit);
        board_truth_flush(&c->truth);
        if (b->options.format == BOARD_FORMAT_ETB)
            board_unit_sync(&c->unit); /* the next content begins there */
    }
}

/* In the core's thread. */
static void board_serve(struct CPUState *cpu, union board_work_data data)
{
    struct errand *errand = data.pointer;
    struct board_desk *desk = &errand->board->desk;
    struct board_cpu *c = errand->cpu;

    (void)cpu;
    run_request(errand->board, c, errand->request);
    if (errand->request == BOARD_REQUEST_FILTER)
        set_filter(c, &errand->filter);
    if (errand->request == BOARD_REQUEST_DEBUG)
        board_debug_run(errand->board, c, &errand->order);
    pthread_mutex_lock(&desk->lock);
    if (errand->ticket == desk->ticket && desk->outstanding > 0) {
        desk->instructions += c->count;
        desk->overflows += c->unit.overflows;
        desk->anomalies += c->anomalies;
        desk->order = errand->order;
        if (--desk->outstanding == 0)
            pthread_cond_signal(&desk->served);
    }
    pthread_mutex_unlock(&desk->lock);
    free(errand);
}

static bool send_out(struct board *b, unsigned index, enum board_request request)
{
    struct errand *errand = malloc(sizeof *errand);

    if (!errand)
        return false;
    *errand =
        (struct errand){b, &b->cpus[index], request, b->desk.ticket, b->filter, b->desk.order};
    if (board_qemu_run_on(&b->qemu, index, board_serve, errand))
        return true;
    free(errand);
    return false;
}

static bool meant(const struct board_desk *desk, unsigned core)
{
    return desk->only == BOARD_ALL_CORES || desk->only == core;
}

/* Every core that is meant does the request; true when all have. */
static bool ask_cores(struct board *b, enum board_request request)
{
    unsigned count = atomic_load(&b->cpus_made);
    struct board_desk *desk = &b->desk;
    struct timespec until;
    int error = 0;

    pthread_mutex_lock(&desk->lock);
    desk->ticket++;
    desk->outstanding = desk->only == BOARD_ALL_CORES ? count : 1;
    desk->instructions = desk->overflows = desk->anomalies = 0;
    pthread_mutex_unlock(&desk->lock);
    for (unsigned i = 0; i < count; i++)
        if (meant(desk, i) && !send_out(b, i, request))
            return false;
    clock_gettime(CLOCK_REALTIME, &until);
    pthread_mutex_lock(&desk->lock);
    for (unsigned i = 0; desk->outstanding > 0 && i < REQUEST_SECONDS * (SECOND_NS / KICK_NS);
         i++) {
        until.tv_nsec += KICK_NS;
        until.tv_sec += until.tv_nsec / SECOND_NS;
        until.tv_nsec %= SECOND_NS;
        error = 0;
        while (desk->outstanding > 0 && error == 0)
            error = pthread_cond_timedwait(&desk->served, &desk->lock, &until);
        for (unsigned core = 0; error != 0 && core < count; core++)
            if (meant(desk, core))
                board_qemu_kick(&b->qemu, core);
    }
    bool served = desk->outstanding == 0;
    desk->outstanding = 0;
    pthread_mutex_unlock(&desk->lock);
    return served;
}

/* What is left to do when all cores have done their part. */
static void finish_request(struct board *b, enum board_request request, char *reply, size_t size)
{
    const struct board_desk *desk = &b->desk;
    int used;

    if (request == BOARD_REQUEST_FLUSH)
        board_port_flush(&b->port);
    used = snprintf(reply, size, "ok %" PRIu64, board_port_written(&b->port));
    if (request == BOARD_REQUEST_STATUS)
        snprintf(reply + used, size - (size_t)used,
                 " cores=%u instructions=%" PRIu64 " overflows=%" PRIu64 " anomalies=%" PRIu64
                 " link=%s protocol=%s",
                 b->cpu_count, desk->instructions, desk->overflows, desk->anomalies,
                 b->port.link.broken ? "broken" : "open", board_options_protocol(&b->options));
    if (request == BOARD_REQUEST_DEBUG && desk->order.failed)
        snprintf(reply, size, desk->order.unmapped ? "error unmapped" : "error refused");
    else if (request == BOARD_REQUEST_DEBUG)
        board_debug_reply(&desk->order, reply + used, size - (size_t)used);
}

/* "include" or "exclude" and what follows. False: neither, or not a range. */
static bool parse_filter(const char *line, struct board_filter *filter)
{
    struct board_ranges *ranges = NULL;

    if (strncmp(line, "include ", 8) == 0)
        ranges = &filter->include;
    else if (strncmp(line, "exclude ", 8) == 0)
        ranges = &filter->exclude;
    if (ranges && strcmp(line + 8, "none") == 0) {
        ranges->count = 0;
        return true;
    }
    return ranges && board_ranges_add(ranges, line + 8);
}

/* "core N " in front of a command. False: there is no such core. */
static bool parse_core(struct board *b, const char **line)
{
    unsigned core;
    int used = 0;

    b->desk.only = BOARD_ALL_CORES;
    if (sscanf(*line, "core %x %n", &core, &used) != 1 || !used)
        return true;
    b->desk.only = core;
    *line += used;
    return core < atomic_load(&b->cpus_made);
}

/* QEMU 10 makes each core in the core's own thread: commands may come before. */
static bool cores_are_made(const struct board *b)
{
    const struct timespec pause = {.tv_nsec = KICK_NS / 10};

    for (unsigned i = 0; i < 10 * REQUEST_SECONDS * (SECOND_NS / KICK_NS); i++) {
        if (atomic_load(&b->cpus_made) == b->cpu_count)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void board_command_line(void *context, const char *line, char *reply, size_t size)
{
    static const char *const names[] = {"flush", "on", "off", "overflow", "status"};
    enum board_request request = BOARD_REQUESTS;
    struct board *b = context;

    if (!cores_are_made(b) || !parse_core(b, &line)) {
        snprintf(reply, size, "error no such core");
        return;
    }
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(line, names[i]) == 0)
            request = (enum board_request)i;
    if (request == BOARD_REQUESTS && parse_filter(line, &b->filter))
        request = BOARD_REQUEST_FILTER;
    if (request == BOARD_REQUESTS && board_debug_parse(line, &b->desk.order))
        request = BOARD_REQUEST_DEBUG;
    if (request == BOARD_REQUESTS)
        snprintf(reply, size, "error unknown command");
    else if (ask_cores(b, request))
        finish_request(b, request, reply, size);
    else
        snprintf(reply, size, "error the cores do not answer");
}
