/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/usb/bench_usbip.h"

#include "tests/model/usbip_server.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ATTACH      "/sys/devices/platform/vhci_hcd.0/attach"
#define PORT        0
#define DEVICE_ID   0x10002 /* bus 1, device 2 */
#define SPEED_FULL  2
#define SPEED_HIGH  3
#define POLL_MS     1
#define APPEAR_MS   20000
#define APPEAR_STEP 20

struct bench_usbip {
    struct usbip_server server;
    int fd; /* -1: unplugged */
    guint readable, timer;
    bool broken;
};

static void hang_up(struct bench_usbip *b)
{
    if (b->readable)
        g_source_remove(b->readable);
    if (b->timer)
        g_source_remove(b->timer);
    b->readable = b->timer = 0;
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
    usbip_server_reset(&b->server);
}

/* The kernel always reads: no partial writes that last. */
static void on_send(void *ctx, const uint8_t *bytes, size_t size)
{
    struct bench_usbip *b = ctx;
    while (size > 0 && !b->broken) {
        ssize_t n = send(b->fd, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            b->broken = true;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
}

static gboolean on_timer(gpointer data);

static void after(struct bench_usbip *b)
{
    if (b->broken || b->server.device->unplugged)
        hang_up(b);
    else if (b->server.waiting_count && !b->timer)
        b->timer = g_timeout_add(POLL_MS, on_timer, b);
}

static gboolean on_timer(gpointer data)
{
    struct bench_usbip *b = data;
    bool more = usbip_server_poll(&b->server);
    if (!more)
        b->timer = 0;
    after(b);
    return more && b->fd >= 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    struct bench_usbip *b = data;
    uint8_t bytes[65536];
    (void)condition;
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    if (n <= 0 || usbip_server_input(&b->server, bytes, (size_t)n) < 0) {
        if (n > 0)
            fprintf(stderr, "usbip: the kernel sent what is no request\n");
        b->broken = true;
    }
    after(b);
    return b->fd >= 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static int plug_in(struct bench_usbip *b)
{
    int pair[2];
    b->broken = false;
    FILE *attach = fopen(ATTACH, "w");
    if (!attach) {
        fprintf(stderr, "usbip: %s: %s\n", ATTACH, strerror(errno));
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        fclose(attach);
        return -1;
    }
    fprintf(attach, "%d %d %d %d", PORT, pair[1], DEVICE_ID,
            b->server.device->full_speed ? SPEED_FULL : SPEED_HIGH);
    int failed = fclose(attach);
    close(pair[1]);
    if (failed) {
        fprintf(stderr, "usbip: the kernel does not take the device: %s\n", strerror(errno));
        close(pair[0]);
        return -1;
    }
    b->fd = pair[0];
    b->readable = g_unix_fd_add(b->fd, G_IO_IN | G_IO_HUP, on_readable, b);
    return 0;
}

static bool is_there(const struct usb_device *d)
{
    char *found = NULL;
    GDir *dir = g_dir_open("/sys/bus/usb/devices", 0, NULL);
    const char *name;
    bool there = false;
    while (dir && !there && (name = g_dir_read_name(dir))) {
        char *path = g_build_filename("/sys/bus/usb/devices", name, "idVendor", NULL);
        if (g_file_get_contents(path, &found, NULL, NULL)) {
            there = strtoul(found, NULL, 16) == d->vid;
            g_free(found);
        }
        g_free(path);
        if (there) { /* configured, too: its first interface is made last */
            path = g_strdup_printf("/sys/bus/usb/devices/%s/%s:1.0", name, name);
            there = g_file_test(path, G_FILE_TEST_EXISTS);
            g_free(path);
        }
    }
    if (dir)
        g_dir_close(dir);
    return there;
}

static gboolean on_wake(gpointer data)
{
    (void)data;
    return G_SOURCE_CONTINUE;
}

/* Lets the loop run until the kernel has seen the device come or go. */
static int wait_until_there(const struct usb_device *d, bool there)
{
    guint wake = g_timeout_add(APPEAR_STEP, on_wake, NULL);
    gint64 end = g_get_monotonic_time() + APPEAR_MS * 1000;
    while (is_there(d) != there && g_get_monotonic_time() < end)
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(wake);
    if (is_there(d) == there)
        return 0;
    fprintf(stderr, "usbip: the kernel did not %s the device\n", there ? "enumerate" : "remove");
    return -1;
}

struct bench_usbip *bench_usbip_new(struct usb_device *u)
{
    struct bench_usbip *b = g_new0(struct bench_usbip, 1);
    b->fd = -1;
    if (usbip_server_init(&b->server, u, on_send, b) < 0 || plug_in(b) < 0 ||
        wait_until_there(u, true) < 0) {
        bench_usbip_free(b);
        return NULL;
    }
    return b;
}

void bench_usbip_free(struct bench_usbip *b)
{
    hang_up(b);
    usbip_server_release(&b->server);
    g_free(b);
}

int bench_usbip_update(struct bench_usbip *b)
{
    if (b->server.device->unplugged) {
        hang_up(b);
        return wait_until_there(b->server.device, false);
    }
    return b->fd < 0 && plug_in(b) < 0 ? -1 : wait_until_there(b->server.device, true);
}
