/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of the QEMU process behind a qemu_link. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "qemu_link.h"

#define TRIES      500
#define TRY_NS     20000000
#define QUIT_TRIES 100
#define SYNCFR     1024
#define FIFO       256 /* bytes: the unit's own, and those of the bus behind it */
#define CCER_M4    0x18541800
#define STACK_V4   2          /* entries of a Cortex-M33's return stack */
#define IDR_A9     0x411cf301 /* no timestamps, no return stack */
#define CCER_A9    0x000008ea
#define IDR_A7     0x410cf250
#define CCER_A7    0x344008f2

static struct sockaddr_un address_of(const struct qemu_link *l, const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s/%s", l->folder, name);
    return a;
}

static int listen_at(const struct qemu_link *l, const char *name)
{
    struct sockaddr_un a = address_of(l, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 1) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool ended(struct qemu_link *l)
{
    if (l->pid > 0 && waitpid(l->pid, NULL, WNOHANG) == l->pid)
        l->pid = 0;
    return l->pid <= 0;
}

static int connect_to(struct qemu_link *l, const char *name)
{
    const struct timespec pause = {.tv_nsec = TRY_NS};
    struct sockaddr_un a = address_of(l, name);
    for (unsigned i = 0; i < TRIES && !ended(l); i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
        nanosleep(&pause, NULL);
    }
    return -1;
}

static int accept_from(struct qemu_link *l, int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    for (unsigned i = 0; i < TRIES && !ended(l); i++)
        if (poll(&p, 1, TRY_NS / 1000000) > 0)
            return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    return -1;
}

/* The trace units, and the ITM, as the plugin is told of them. */
static void describe_unit(const struct qemu_link_options *o, char *text, size_t size)
{
    if (o->mtb)
        snprintf(text, size, "protocol=mtb,profile=m");
    else if (o->etmv4)
        snprintf(text, size, "protocol=etmv4,profile=m,trcdevarch=0x%x,returnstack=%d,itm=%d",
                 o->etmv4, STACK_V4, o->itm ? QEMU_LINK_ID + 1 : 0);
    else if (!o->a_cores)
        snprintf(text, size, "protocol=etmv3,profile=m,etmccer=0x%x,itm=%d", CCER_M4,
                 o->itm ? QEMU_LINK_ID + 1 : 0);
    else if (o->etmv3)
        snprintf(text, size, "debug=off,protocol=etmv3,etmidr=0x%x,etmccer=0x%x", IDR_A7, CCER_A7);
    else
        snprintf(text, size, "debug=off,protocol=ptm,etmidr=0x%x,etmccer=0x%x", IDR_A9, CCER_A9);
}

/* In the child. QEMU ends with its parent, and sees the real machine's devices. */
static void become_qemu(const struct qemu_link *l, const struct qemu_link_options *o)
{
    char plugin[1024], chardev[128], truth[300] = "", unit[128], cores[16];
    if (o->truth)
        snprintf(truth, sizeof truth, ",truth=file:%s", o->truth);
    describe_unit(o, unit, sizeof unit);
    snprintf(cores, sizeof cores, "%u", o->a_cores ? o->a_cores : 1);
    snprintf(plugin, sizeof plugin,
             "%s,out=unix:%s/trace,control=unix:%s/control,format=tagged,start=off,etmtraceidr=%d,"
             "etmsyncfr=%d,fifo=%d,%s%s",
             o->plugin, l->folder, l->folder, QEMU_LINK_ID, SYNCFR, FIFO, unit, truth);
    snprintf(chardev, sizeof chardev, "socket,path=%s/gdb,server=on,wait=off,id=gdb", l->folder);
    unsetenv("LD_PRELOAD");
    unsetenv("UMOCKDEV_DIR");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    const char *arguments[] = {
        "qemu-system-arm", "-M", o->machine, "-smp", cores, "-nographic", "-monitor", "none",
        "-serial", "none", "-icount", "shift=5,sleep=on", "-S", "-chardev", chardev, "-gdb",
        "chardev:gdb", "-kernel", o->elf, "-plugin", plugin, "-audiodev", "none,id=none",
        /* The A9's machine has a sound device, which else looks for one of the host. */
        o->a_cores ? "-global" : NULL, "pl041.audiodev=none", NULL};
    execvp(arguments[0], (char **)(uintptr_t)arguments);
    perror("qemu-system-arm");
    _exit(127);
}

int qemu_link_start(struct qemu_link *l, const struct qemu_link_options *o, char *message,
                    size_t size)
{
    *l = (struct qemu_link){.gdb = -1, .control = -1, .trace = -1};
    strcpy(l->folder, "/tmp/usb-bench.XXXXXX");
    if (!mkdtemp(l->folder)) {
        l->folder[0] = '\0';
        snprintf(message, size, "cannot make a folder in /tmp: %s", strerror(errno));
        return -1;
    }
    int listener = listen_at(l, "trace");
    l->pid = listener < 0 ? -1 : fork();
    if (l->pid == 0)
        become_qemu(l, o);
    l->trace = l->pid > 0 ? accept_from(l, listener) : -1;
    l->control = l->trace >= 0 ? connect_to(l, "control") : -1;
    l->gdb = l->control >= 0 ? connect_to(l, "gdb") : -1;
    if (listener >= 0)
        close(listener);
    if (l->gdb >= 0)
        return 0;
    snprintf(message, size, "QEMU did not come up");
    return -1;
}

void qemu_link_stop(struct qemu_link *l)
{
    static const char *const names[] = {"trace", "control", "gdb"};
    int fds[] = {l->trace, l->control, l->gdb};
    for (unsigned i = 0; i < 3; i++) {
        struct sockaddr_un a = address_of(l, names[i]);
        if (fds[i] >= 0)
            close(fds[i]);
        if (l->folder[0])
            unlink(a.sun_path);
    }
    const struct timespec pause = {.tv_nsec = TRY_NS};
    for (unsigned i = 0; i < QUIT_TRIES && !ended(l); i++)
        nanosleep(&pause, NULL);
    if (!ended(l)) {
        kill(l->pid, SIGKILL);
        waitpid(l->pid, NULL, 0);
    }
    if (l->folder[0])
        rmdir(l->folder);
    trace_bytes_release(&l->records);
    for (unsigned i = 0; i < QEMU_LINK_SOURCES; i++)
        trace_bytes_release(&l->source[i]);
}
