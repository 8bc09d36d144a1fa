/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/live/board_process.h"

#include "server/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_MS 1000

static void end_line(struct board_process *b)
{
    b->line[b->used] = 0;
    b->used = 0;
    if (!b->line[0])
        return;
    strcpy(b->last, b->line);
    log_write(LOG_AT_INFO, "board: %s\n", b->line);
    if (b->said)
        b->said(b->ctx, b->line);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct board_process *b = handle->data;
    (void)suggested;
    *buf = uv_buf_init(b->buffer, sizeof b->buffer);
}

static void take_text(struct board_process *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            end_line(b);
        else if (b->used + 1 < sizeof b->line && text[i] >= ' ')
            b->line[b->used++] = text[i];
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    if (n > 0)
        take_text(stream->data, buf->base, (size_t)n);
    else if (n < 0)
        uv_read_stop(stream);
}

/* The last words of a program that has ended are in the pipe still. */
static void read_rest(struct board_process *b)
{
    uv_os_fd_t fd;
    ssize_t n;
    if (uv_fileno((uv_handle_t *)&b->messages, &fd) != 0)
        return;
    while ((n = read(fd, b->buffer, sizeof b->buffer)) > 0)
        take_text(b, b->buffer, (size_t)n);
    end_line(b);
}

/* The program is QEMU, under whatever path. */
static bool is_qemu(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strncmp(slash ? slash + 1 : program, "qemu-system-", 12) == 0;
}

/* What may help against the end that it came to. */
static const char *hint_of_end(const struct board_process *b)
{
    if (!is_qemu(b->program) || !strstr(b->last, "plugin") || strstr(b->last, "No such file"))
        return "";
    return "; a virtual board needs QEMU 7.2 or newer, built with plugins: on Debian 12 or newer "
           "the package qemu-system-arm is";
}

static void describe_end(const struct board_process *b, char *text, size_t size)
{
    bool signaled = WIFSIGNALED(b->status);
    snprintf(text, size, "%s %d%s%s%s", signaled ? "signal" : "exit code",
             signaled ? WTERMSIG(b->status) : WEXITSTATUS(b->status), b->last[0] ? ": " : "",
             b->last, hint_of_end(b));
}

static void on_child(uv_signal_t *handle, int number)
{
    struct board_process *b = handle->data;
    char how[800];
    (void)number;
    if (!b->pid || waitpid(b->pid, &b->status, WNOHANG) != b->pid)
        return;
    kill(-b->pid, SIGTERM); /* what it has left behind */
    b->pid = 0;
    read_rest(b);
    if (!b->ended)
        return;
    describe_end(b, how, sizeof how);
    b->ended(b->ctx, how);
}

/* Who it runs as. */
static int find_user(const char *name, struct board_user *u, struct message *why)
{
    *u = (struct board_user){.group_count = 0};
    if (!*name)
        return BT_OK;
    const struct passwd *p = getpwnam(name);
    if (!p)
        return message_fail(why, BT_ERR_IO, "[target] user: this machine has no user '%s'", name);
    if (p->pw_uid == geteuid())
        return BT_OK;
    if (geteuid() != 0)
        return message_fail(why, BT_ERR_IO, "[target] user: only root can start a program as '%s'",
                            name);
    u->uid = p->pw_uid;
    u->gid = p->pw_gid;
    u->group_count = BOARD_PROCESS_GROUPS;
    if (getgrouplist(name, u->gid, u->groups, &u->group_count) < 0)
        return message_fail(why, BT_ERR_IO, "[target] user: '%s' is in more than %d groups", name,
                            BOARD_PROCESS_GROUPS);
    return BT_OK;
}

/* It makes sockets there, and connects to ours. */
static int give_folder(const char *path, const struct board_user *u, struct message *why)
{
    DIR *folder = opendir(path);
    int error = folder ? fchown(dirfd(folder), u->uid, u->gid) : -1;
    for (const struct dirent *e; !error && (e = readdir(folder));)
        if (strcmp(e->d_name, "..") != 0)
            error = fchownat(dirfd(folder), e->d_name, u->uid, u->gid, AT_SYMLINK_NOFOLLOW);
    if (error)
        message_set(why, "[target] user: '%s' cannot become theirs: %s", path, strerror(errno));
    if (folder)
        closedir(folder);
    return error ? BT_ERR_IO : BT_OK;
}

static bool become_user(const struct board_user *u)
{
    return setgroups((size_t)u->group_count, u->groups) == 0 &&
           setresgid(u->gid, u->gid, u->gid) == 0 && setresuid(u->uid, u->uid, u->uid) == 0;
}

/* In the child: never returns. What cannot be started is told through `report`. */
static void run_child(char *const *command, const struct board_user *user, int gate, int output,
                      int report)
{
    static const int handled[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    char go;
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        signal(handled[i], SIG_DFL);
    setpgid(0, 0); /* Ctrl-C at the daemon's terminal is the daemon's */
    if (read(gate, &go, 1) != 1)
        _exit(126);
    int nothing = open("/dev/null", O_RDONLY);
    bool good = user->group_count == 0 || become_user(user);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of the user clears it */
    if (nothing >= 0)
        dup2(nothing, 0);
    dup2(output, 1);
    dup2(output, 2);
    if (good)
        execvp(command[0], command);
    int error = errno;
    ssize_t n = write(report, &error, sizeof error);
    _exit(n < 0 ? 126 : 127);
}

static void report_why_not(const char *program, int error, struct message *why)
{
    if (error == ENOENT && is_qemu(program))
        message_set(why,
                    "cannot start '%s': it is not installed; on Debian 12 or newer: apt install "
                    "qemu-system-arm",
                    program);
    else
        message_set(why, "cannot start '%s': %s", program, strerror(error));
}

static void close_pipe_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int fork_program(struct board_process *b, char *const *command, struct message *why)
{
    int gate[2] = {-1, -1}, text[2] = {-1, -1}, report[2] = {-1, -1};
    if (pipe2(gate, O_CLOEXEC) == 0 && pipe2(text, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0)
        b->pid = fork();
    else
        b->pid = -1;
    if (b->pid == 0) {
        close(gate[1]);
        run_child(command, &b->user, gate[0], text[1], report[1]);
    }
    int error = b->pid < 0 ? errno : 0;
    setpgid(b->pid, b->pid); /* the group is there when it is to end */
    b->gate = gate[1];
    b->output = text[0];
    b->report = report[0];
    close_pipe_end(&gate[0]);
    close_pipe_end(&text[1]);
    close_pipe_end(&report[1]);
    if (!error)
        return BT_OK;
    b->pid = 0;
    report_why_not(command[0], error, why);
    return BT_ERR_IO;
}

int board_process_fork(struct board_process *b, uv_loop_t *loop,
                       const struct board_command *command,
                       void (*ended)(void *ctx, const char *how), void *ctx, struct message *why)
{
    memset(b, 0, sizeof *b);
    b->program = command->words[0];
    b->ended = ended;
    b->ctx = ctx;
    b->gate = b->output = b->report = -1;
    uv_signal_init(loop, &b->child);
    uv_pipe_init(loop, &b->messages, 0);
    b->child.data = b->messages.data = b;
    b->watching = true;
    /* Before the program is there: it may end at once. */
    uv_signal_start(&b->child, on_child, SIGCHLD);
    int error = find_user(command->user, &b->user, why);
    return error ? error : fork_program(b, command->words, why);
}

int board_process_start(struct board_process *b, const struct board_command *command,
                        struct message *why)
{
    int error = 0;
    if (b->user.group_count && give_folder(command->folder, &b->user, why))
        return BT_ERR_IO;
    bool gone = write(b->gate, "", 1) != 1;
    if (gone || read(b->report, &error, sizeof error) == (ssize_t)sizeof error) {
        report_why_not(b->program, gone ? errno : error, why);
        return BT_ERR_IO;
    }
    close_pipe_end(&b->gate);
    close_pipe_end(&b->report);
    fcntl(b->output, F_SETFL, O_NONBLOCK);
    uv_pipe_open(&b->messages, b->output);
    b->output = -1;
    uv_read_start((uv_stream_t *)&b->messages, on_alloc, on_read);
    return BT_OK;
}

/* It, and what it has started: a command may be a script around the real one. */
static bool ended_within(struct board_process *b, unsigned ms)
{
    bool reaped = false;
    for (unsigned waited = 0; waited <= ms; waited += 10) {
        reaped = reaped || waitpid(b->pid, &b->status, WNOHANG) != 0;
        if (reaped && kill(-b->pid, 0) != 0)
            return true;
        uv_sleep(10);
    }
    return false;
}

void board_process_stop(struct board_process *b)
{
    b->ended = NULL;
    b->said = NULL;
    if (b->pid > 0) {
        kill(-b->pid, SIGTERM); /* the group of run_child() */
        if (!ended_within(b, GRACE_MS)) {
            kill(-b->pid, SIGKILL);
            waitpid(b->pid, &b->status, 0);
        }
        b->pid = 0;
    }
    if (!b->watching)
        return;
    b->watching = false;
    close_pipe_end(&b->gate);
    close_pipe_end(&b->report);
    close_pipe_end(&b->output);
    uv_close((uv_handle_t *)&b->child, NULL);
    uv_close((uv_handle_t *)&b->messages, NULL);
}
