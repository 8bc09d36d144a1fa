/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all parts of a remote target need of the connection: packets are sent, requests answered, it
 * ends; threads, stop replies, and what the other side has said of itself.
 */
#include <stdlib.h>
#include <string.h>

#include "gdb_remote_internal.h"

#define KNOWN_MAX ((size_t)1 << 20) /* bytes */

/* What the other side has said of itself. */

struct gdb_known {
    struct gdb_known *next;
    size_t question_len, reply_len;
    char bytes[]; /* the question, then the reply */
};

/* The features that were asked with make no difference: qSupported is known by its name. */
static size_t known_question_len(const char *payload, size_t len)
{
    static const char *const same[] = {"qXfer:features:read:", "qXfer:memory-map:read:", "vCont?",
                                       "qAttached", "qOffsets"};
    if (gdb_packet_starts(payload, len, "qSupported"))
        return strlen("qSupported");
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        if (gdb_packet_starts(payload, len, same[i]))
            return len;
    }
    return 0;
}

static void known_free(struct gdb_known **at)
{
    struct gdb_known *k = *at;
    *at = k->next;
    free(k);
}

void gdb_remote_remember(struct gdb_remote *r, const char *reply, size_t len)
{
    const char *question = r->request->packet;
    size_t n = known_question_len(question, r->request->packet_length), used = n + len;
    if (n == 0 || (len > 0 && reply[0] == 'E'))
        return;
    for (struct gdb_known **at = &r->known; *at;) {
        if ((*at)->question_len == n && memcmp((*at)->bytes, question, n) == 0) {
            known_free(at);
            continue;
        }
        used += (*at)->question_len + (*at)->reply_len;
        at = &(*at)->next;
    }
    struct gdb_known *k = used > KNOWN_MAX ? NULL : malloc(sizeof(*k) + n + len);
    if (!k)
        return;
    *k = (struct gdb_known){.next = r->known, .question_len = n, .reply_len = len};
    memcpy(k->bytes, question, n);
    memcpy(k->bytes + n, reply, len);
    r->known = k;
}

const char *gdb_remote_known(const struct gdb_remote *r, const char *payload, size_t len,
                             size_t *reply_len)
{
    for (const struct gdb_known *k = r->known; k; k = k->next) {
        if (k->question_len != len || memcmp(k->bytes, payload, len) != 0)
            continue;
        *reply_len = k->reply_len;
        return k->bytes + k->question_len;
    }
    return NULL;
}

void gdb_remote_forget(struct gdb_remote *r)
{
    gdb_link_close(&r->link);
    r->got = NULL;
    r->request = NULL;
    r->selected = (struct gdb_thread){.single = false};
    while (r->known)
        known_free(&r->known);
}

void gdb_remote_fail(struct gdb_remote *r, int error)
{
    if (r->target.phase == TARGET_DOWN)
        return;
    gdb_remote_forget(r);
    target_lost(&r->target, error);
}

bool gdb_remote_send(struct gdb_remote *r, const char *payload, size_t len, gdb_remote_got_fn got)
{
    if (got) {
        bool hurries = !r->request || !r->request->takes_time;
        r->got = got;
        r->target.owed_since_ms = hurries ? r->target.now_ms : 0;
    }
    int error = gdb_link_send(&r->link, payload, len);
    if (error == BT_ERR_NOMEM)
        gdb_remote_fail(r, error);
    return error == BT_OK && r->link.open;
}

void gdb_remote_answer(struct gdb_remote *r, const struct target_answer *answer)
{
    r->request = NULL;
    target_answered(&r->target, answer);
}

int gdb_remote_core_of(const struct gdb_remote *r, const struct gdb_thread *thread)
{
    for (int i = 0; i < r->target.core_count; i++) {
        if (gdb_thread_same(&r->threads[i], thread))
            return i;
    }
    return -1;
}

struct target_stop gdb_remote_take_stop(struct gdb_remote *r, const char *reply, size_t len)
{
    struct target_stop stop = {.kind = TARGET_HALT_FAILED};
    struct gdb_args a = {reply, reply + len};
    uint8_t signal = 0;
    gdb_thread_of_stop(reply, len, &r->stopped);
    stop.core = gdb_remote_core_of(r, &r->stopped);
    if (stop.core < 0)
        stop.core = 0;
    if (len > 0 && memchr("TSWX", reply[0], 4))
        stop.kind = reply[0] == 'T' || reply[0] == 'S' ? TARGET_HALT_SIGNAL : TARGET_HALT_EXITED;
    a.at += len > 0;
    if (gdb_args_bytes(&a, &signal, 1))
        stop.signal = signal;
    return stop;
}
