/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording that somebody has changed, opened and asked as GDB asks: by packets and `monitor`
 * words, values of the past among them. Bytes of the input: how many patches; each is a file, a
 * place, a length and bytes; the rest are lines, each a packet, or `monitor` text behind a '!'.
 * Whatever was changed: every frame that is sent is well formed, every packet gets one answer, and
 * searches come to an end. Runs in the root of the sources: the recording is the demo's, with
 * states of its core at two halts that were none.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/replay/replay.h"
#include "tests/support/rsp_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define FILES     10u
#define FILE_MAX  65536u
#define PATCHES   16u
#define LINES     40u
#define SLICES    2000u
#define HEAD      16u   /* bytes of trace that are kept: the first frame, which has the ID, */
#define TRACE_MAX 2304u /* and the last ones behind it: two synchronisations */
#define MIDDLE    1200u /* of them lead to the first of two states; there the PC is */
#define MIDDLE_PC 0x800100a4u
#define END_PC    0x8001044cu
#define RECORDING "tests/demo/recording"

static struct {
    char folder[64];
    struct file {
        char path[400];
        uint8_t bytes[FILE_MAX];
        size_t length;
        bool changed;
    } files[FILES];
    unsigned count;
} base;

struct asker {
    struct replay replay;
    struct gdb_clients clients;
    struct gdb_limits limits;
    struct connection connection;
    struct gdb_client gdb;
    struct replay_client *client;
    struct text_buf sent;
    bool later;
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void write_file(const char *path, const uint8_t *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    close(fd);
}

static void remove_folder(void)
{
    for (unsigned k = 0; k < base.count; k++)
        unlink(base.files[k].path);
    rmdir(base.folder);
}

static void keep_file(const char *name)
{
    struct file *f = &base.files[base.count++];
    char path[300];
    snprintf(path, sizeof path, RECORDING "/%s", name);
    snprintf(f->path, sizeof f->path, "%s/%s", base.folder, name);
    FILE *in = fopen(path, "rbe");
    require(in != NULL);
    f->length = fread(f->bytes, 1, sizeof f->bytes, in);
    fclose(in);
    if (strncmp(name, "buffer", 6) == 0 && f->length > TRACE_MAX) {
        memmove(f->bytes + HEAD, f->bytes + f->length - (TRACE_MAX - HEAD), TRACE_MAX - HEAD);
        f->length = TRACE_MAX;
    }
    f->changed = true; /* not written yet */
}

static void add_text(const char *name, const char *text)
{
    struct file *f = &base.files[base.count++];
    snprintf(f->path, sizeof f->path, "%s/%s", base.folder, name);
    f->length = strlen(text);
    memcpy(f->bytes, text, f->length);
    f->changed = true;
}

/* Devices 2 and 3 of the recording. */
static void add_states(void)
{
    static const char list[] = "device2=state_0.ini\ndevice3=state_1.ini\n";
    static const char state[] = "[device]\nname=s%u\nclass=core_state\ntype=core_state\n[regs]\n"
                                "CORE=0\nTRACE_BYTES=%u\nSTATE=15\nPC=0x%x\nPSR=0x800001D3\n"
                                "R0=0x28\nR1=5\nR3=0x800112C8\nSP=0x800112C0\nLR=0x2C\n"
                                "[dump1]\nfile=dump_1.bin\naddress=0x80011000\nlength=0x458\n";
    char text[sizeof state + 64];
    for (unsigned k = 0; k < base.count; k++) {
        struct file *f = &base.files[k];
        char *at =
            strstr(f->path, "/snapshot.ini") ? memmem(f->bytes, f->length, "device0", 7) : NULL;
        if (!at)
            continue;
        size_t rest = f->length - (size_t)((uint8_t *)at - f->bytes);
        memmove(at + sizeof list - 1, at, rest);
        memcpy(at, list, sizeof list - 1);
        f->length += sizeof list - 1;
    }
    snprintf(text, sizeof text, state, 0u, MIDDLE, MIDDLE_PC);
    add_text("state_0.ini", text);
    snprintf(text, sizeof text, state, 1u, TRACE_MAX, END_PC);
    add_text("state_1.ini", text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* the same numbers everywhere */
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct dirent **list;
    (void)argc;
    (void)argv;
    strcpy(base.folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/btraced-fuzz.XXXXXX"
                                                      : "/tmp/btraced-fuzz.XXXXXX");
    require(mkdtemp(base.folder) != NULL);
    int n = scandir(RECORDING, &list, NULL, by_name);
    require(n > 0);
    for (int k = 0; k < n; k++) {
        if (list[k]->d_name[0] != '.' && base.count < FILES)
            keep_file(list[k]->d_name);
        free(list[k]);
    }
    free(list);
    add_states();
    atexit(remove_folder);
    (void)log_choose("error");
    return 0;
}

/* One change of a file; returns what is left of the input. A place that is far beyond the end cuts
 * the file there. */
static size_t patch(uint8_t copies[FILES][FILE_MAX], size_t lengths[FILES], const uint8_t *data,
                    size_t size)
{
    if (size < 4)
        return 0;
    unsigned k = data[0] % base.count;
    size_t at = data[1] | (size_t)data[2] << 8, n = data[3] & 0x3f;
    n = n < size - 4 ? n : size - 4;
    if (data[3] & 0x80) {
        lengths[k] = at < lengths[k] ? at : lengths[k];
    } else if (at + n <= FILE_MAX) {
        if (at > lengths[k])
            at = lengths[k];
        memcpy(copies[k] + at, data + 4, n);
        lengths[k] = at + n > lengths[k] ? at + n : lengths[k];
    }
    base.files[k].changed = true;
    return size - 4 - n;
}

static size_t change_recording(const uint8_t *data, size_t size)
{
    static uint8_t copies[FILES][FILE_MAX];
    size_t lengths[FILES], left = size - 1;
    bool before[FILES];
    for (unsigned k = 0; k < base.count; k++) {
        memcpy(copies[k], base.files[k].bytes, base.files[k].length);
        lengths[k] = base.files[k].length;
        before[k] = base.files[k].changed;
        base.files[k].changed = false;
    }
    for (unsigned n = data[0] % PATCHES; n > 0 && left > 0; n--)
        left = patch(copies, lengths, data + size - left, left);
    for (unsigned k = 0; k < base.count; k++)
        if (before[k] || base.files[k].changed)
            write_file(base.files[k].path, copies[k], lengths[k]);
    return left;
}

static void on_send(void *ctx, const void *bytes, size_t len)
{
    text_buf_add(&((struct asker *)ctx)->sent, bytes, len);
}

static void on_later(void *ctx)
{
    ((struct asker *)ctx)->later = true;
}

/* Answers other than console text among what was sent. */
static unsigned take_answers(struct asker *a)
{
    struct text_buf payload;
    size_t at = 0;
    unsigned answers = 0;
    text_buf_init(&payload);
    while (at < a->sent.len) {
        long len = rsp_frame_take(a->sent.data + at, a->sent.len - at, &payload);
        require(len > 0);
        bool frame = a->sent.data[at] == '$';
        bool text = payload.len > 1 && payload.data[0] == 'O' && payload.data[1] != 'K';
        answers += frame && !text;
        at += (size_t)len;
    }
    text_buf_release(&payload);
    text_buf_clear(&a->sent);
    return answers;
}

static void go_on(struct asker *a)
{
    for (unsigned n = 0; a->later; n++) {
        a->later = false;
        if (n == SLICES) /* long enough: as Ctrl-C would */
            gdb_session_input(&a->gdb.session, "\x03", 1);
        require(n < 2 * SLICES);
        replay_go_on(&a->replay);
    }
}

static void ask(struct asker *a, const char *line, size_t length)
{
    struct text_buf packet, frame;
    text_buf_init(&packet);
    text_buf_init(&frame);
    if (length > 0 && line[0] == '!') {
        text_buf_add(&packet, "qRcmd,", 6);
        text_buf_hex(&packet, line + 1, length - 1);
    } else {
        text_buf_add(&packet, line, length);
    }
    rsp_frame_put(&frame, packet.data, packet.len);
    /* GDB's manual, node Packets: neither has a reply. */
    bool silent = packet.len > 0 && (packet.data[0] == 'k' || packet.data[0] == 'R');
    gdb_session_input(&a->gdb.session, frame.data, frame.len);
    go_on(a);
    unsigned answers = take_answers(a);
    require(gdb_session_state(&a->gdb.session) != GDB_SESSION_OPEN || silent || answers == 1 ||
            gdb_session_running(&a->gdb.session));
    text_buf_release(&packet);
    text_buf_release(&frame);
}

static void ask_all(struct asker *a, const char *text, size_t size)
{
    gdb_session_input(&a->gdb.session, "$QStartNoAckMode#b0", 19);
    gdb_session_input(&a->gdb.session, "+", 1);
    take_answers(a);
    for (unsigned n = 0; n < LINES && size > 0; n++) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t)(end - text) : size;
        ask(a, text, length);
        if (gdb_session_state(&a->gdb.session) != GDB_SESSION_OPEN)
            return;
        size -= length + (end != NULL);
        text += length + (end != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message why = {.text = ""};
    if (size < 1)
        return 0;
    size_t left = change_recording(data, size);
    struct asker *a = calloc(1, sizeof *a);
    require(a != NULL);
    text_buf_init(&a->sent);
    int error = replay_init(&a->replay, base.folder, NULL, NULL, 0, false, &why);
    require(error == 0 || why.text[0] != '\0');
    if (error == 0) {
        a->replay.no_record = (data[0] & 0x80) == 0;
        a->replay.io.later = on_later;
        a->replay.io.ctx = a;
        a->limits = GDB_LIMITS_DEFAULT;
        a->clients = (struct gdb_clients){
            .loop = uv_default_loop(), .limits = &a->limits, .first = &a->gdb, .count = 1};
        a->gdb.connection = &a->connection;
        a->gdb.clients = &a->clients;
        a->replay.connections = &a->clients;
        a->client = replay_client_new(&a->replay, &a->gdb.session);
        require(a->client && gdb_session_init(&a->gdb.session, &a->client->target, &replay_host,
                                              a->client, GDB_CONTROLS, "", on_send, a) == BT_OK);
        a->client->client = &a->gdb;
        ask_all(a, (const char *)data + size - left, left);
        replay_client_leave(a->client);
        gdb_session_release(&a->gdb.session);
        replay_client_free(a->client);
    }
    replay_release(&a->replay);
    text_buf_release(&a->sent);
    free(a);
    return 0;
}
