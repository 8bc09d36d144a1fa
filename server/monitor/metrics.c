/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/monitor/metrics.h"

#include "server/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG     128
#define CONNECTIONS 64 /* who says nothing keeps nobody out */
#define TIMEOUT_S   2

struct metrics {
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer; /* ends connections that say nothing */
    unsigned open;    /* handles */
    metrics_page_fn page;
    void *ctx;
};

static enum MHD_Result answer_request(struct MHD_Connection *connection, unsigned status,
                                      const char *text, size_t length)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE,
                            status == MHD_HTTP_OK ? "text/plain; version=0.0.4; charset=utf-8"
                                                  : "text/plain");
    enum MHD_Result result = MHD_queue_response(connection, status, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *text)
{
    return answer_request(connection, status, text, strlen(text));
}

/*
 * A page of a browser's may have a name that means this machine, and would read the numbers: names
 * are refused, but for the one that means it everywhere. HTTP/1.0 has no such line.
 */
static bool is_host_of_ours(struct MHD_Connection *connection)
{
    const char *text =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    char host[300];
    struct address a;
    if (!text)
        return true;
    size_t length = strlen(text);
    const char *colon = strrchr(text, ':'), *bracket = strrchr(text, ']');
    bool has_port = colon && (!bracket || colon > bracket);
    if (length + sizeof ":80" > sizeof host)
        return false;
    snprintf(host, sizeof host, "%s%s", text, has_port ? "" : ":80");
    return !address_problem(host, &a) && a.kind == ADDRESS_TCP && address_is_loopback(&a);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **request)
{
    struct metrics *m = ctx;
    struct text_buf page;
    (void)version, (void)data, (void)data_size, (void)request;
    if (!is_host_of_ours(connection))
        return answer_text(connection, MHD_HTTP_FORBIDDEN,
                           "Host: only localhost and addresses of this machine alone\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
    if (strcmp(url, "/metrics") != 0)
        return answer_text(connection, MHD_HTTP_NOT_FOUND, "the numbers are at /metrics\n");
    text_buf_init(&page);
    m->page(m->ctx, &page);
    enum MHD_Result result =
        text_buf_error(&page) < 0
            ? answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n")
            : answer_request(connection, MHD_HTTP_OK, page.data ? page.data : "", page.len);
    text_buf_release(&page);
    return result;
}

static void on_timer(uv_timer_t *timer);

static void serve_requests(struct metrics *m)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    MHD_run(m->daemon);
    if (MHD_get_timeout(m->daemon, &ms) == MHD_YES)
        uv_timer_start(&m->timer, on_timer, ms, 0);
    else
        uv_timer_stop(&m->timer);
}

static void on_timer(uv_timer_t *timer)
{
    serve_requests(timer->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    serve_requests(poll->data);
}

static int bound_socket(const struct address *a, unsigned *port)
{
    struct sockaddr_storage where;
    socklen_t len = sizeof where;
    int on = 1;
    memset(&where, 0, sizeof where);
    if (uv_ip4_addr(a->host, (int)a->port, (struct sockaddr_in *)&where) != 0 &&
        uv_ip6_addr(a->host, (int)a->port, (struct sockaddr_in6 *)&where) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size =
        where.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (struct sockaddr *)&where, size) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)&where, &len) == 0) {
        *port = ntohs(where.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&where)->sin6_port
                                                  : ((struct sockaddr_in *)&where)->sin_port);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static struct MHD_Daemon *start_daemon(struct metrics *m, int fd)
{
    return MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, m, MHD_OPTION_LISTEN_SOCKET,
                            fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_END);
}

static int watch_daemon(struct metrics *m, uv_loop_t *loop)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info || uv_poll_init(loop, &m->poll, info->epoll_fd) != 0)
        return BT_ERR_IO;
    uv_timer_init(loop, &m->timer);
    m->open = 2;
    m->poll.data = m->timer.data = m;
    return uv_poll_start(&m->poll, UV_READABLE, on_poll) == 0 ? BT_OK : BT_ERR_IO;
}

struct metrics *metrics_start(uv_loop_t *loop, const struct address *address, metrics_page_fn page,
                              void *ctx, struct message *why)
{
    char where[300];
    struct address taken = *address;
    address_format(address, where, sizeof where);
    int fd = bound_socket(address, &taken.port);
    if (fd < 0) {
        message_set(why, "[metrics] listen: cannot listen on %s: %s", where, strerror(errno));
        return NULL;
    }
    struct metrics *m = calloc(1, sizeof *m);
    if (m) {
        m->page = page;
        m->ctx = ctx;
        m->daemon = start_daemon(m, fd);
    }
    if (!m || !m->daemon) {
        message_set(why, "[metrics] listen: %s: %s", where,
                    m ? "the HTTP server cannot be started" : "out of memory");
        close(fd);
        free(m);
        return NULL;
    }
    if (watch_daemon(m, loop) == BT_OK) {
        address_format(&taken, where, sizeof where);
        log_write(LOG_AT_INFO, "numbers at http://%s/metrics\n", where);
        return m;
    }
    message_set(why, "[metrics] listen: %s: the HTTP server cannot be watched", where);
    metrics_stop(m);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct metrics *m = handle->data;
    if (--m->open == 0)
        free(m);
}

void metrics_stop(struct metrics *m)
{
    if (!m)
        return;
    if (m->open)
        uv_poll_stop(&m->poll);
    MHD_stop_daemon(m->daemon);
    if (m->open == 0) {
        free(m);
        return;
    }
    uv_close((uv_handle_t *)&m->poll, on_closed);
    uv_close((uv_handle_t *)&m->timer, on_closed);
}
