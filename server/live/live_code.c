/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/live/live_code.h"

#include "server/base/log.h"
#include "server/live/live.h"

#include <stdlib.h>
#include <string.h>

#define PIECE      1024u /* bytes of one question */
#define ROUNDS_MAX 64u   /* looks for missing code at one stop: each decodes what is kept again */
#define NEW_MAX    64u   /* pages of one round */
#define BYTES_MAX  (64u << 20)

static struct live_patch *new_patch(struct live *l, uint64_t address, const uint8_t *bytes,
                                    size_t size)
{
    struct live_code *code = &l->code;
    if (code->bytes + size > BYTES_MAX) {
        if (!code->full)
            log_write(LOG_AT_WARNING,
                      "btraced: more than %u MB of code beside the program file: what "
                      "is written from now on is not followed\n",
                      BYTES_MAX >> 20);
        code->full = true;
        return NULL;
    }
    struct live_patch *p = malloc(sizeof *p + size);
    if (!p)
        return NULL;
    p->next = NULL;
    p->address = address;
    p->size = size;
    memcpy(p->bytes, bytes, size);
    code->bytes += size;
    return p;
}

/* Written by GDB. */

static bool same_as_known(const struct live *l, uint64_t address, const uint8_t *bytes, size_t len)
{
    const struct code_image *image = &l->cores[0].image;
    uint8_t known[PIECE];
    struct code_key key;
    code_key_init(&key);
    key.generation = image->generation;
    for (size_t at = 0; at < len;) {
        size_t n = code_image_read(image, &key, address + at, known, len - at);
        if (n == 0 || memcmp(known, bytes + at, n) != 0)
            return false;
        at += n;
    }
    return true;
}

static void on_written(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    struct live *l = ctx;
    if (len == 0 || len > PIECE || (!l->code.pending && same_as_known(l, address, bytes, len)))
        return;
    struct live_patch *p = new_patch(l, address, bytes, len);
    if (!p)
        return;
    struct live_patch **last = &l->code.pending;
    while (*last)
        last = &(*last)->next;
    *last = p;
}

void live_code_written(struct live *l, uint64_t address, uint64_t length)
{
    for (uint64_t at = 0; at < length; at += PIECE) {
        size_t n = length - at < PIECE ? (size_t)(length - at) : PIECE;
        gdb_remote_read_memory(l->remote, 0, address + at, n, on_written, l);
    }
}

void live_code_programmed(struct live *l, uint64_t address, const uint8_t *bytes, size_t length)
{
    for (size_t at = 0; at < length; at += PIECE)
        on_written(l, address + at, bytes + at, length - at < PIECE ? length - at : PIECE);
}

static void add_everywhere(struct live *l, const struct live_patch *p, bool new_code)
{
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct code_image *image = &l->cores[i].image;
        struct code_region region = {.address = p->address,
                                     .size = p->size,
                                     .bytes = p->bytes,
                                     .generation = new_code ? image->generation : 0};
        code_image_add(image, &region);
    }
}

void live_code_commit(struct live *l)
{
    if (!l->code.pending)
        return;
    if (l->pipeline)
        pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++)
        code_image_new_generation(&l->cores[i].image);
    while (l->code.pending) {
        struct live_patch *p = l->code.pending;
        l->code.pending = p->next;
        add_everywhere(l, p, true);
        p->next = l->code.known;
        l->code.known = p;
    }
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct history *h = l->pipeline ? live_history(l, (int)i) : NULL;
        if (h)
            history_set_generation(h, l->cores[i].image.generation);
    }
    if (l->pipeline)
        pipeline_unlock(l->pipeline);
}

/* Missing at a halt. */

static bool asked_for(const struct live_code *code, uint64_t page)
{
    for (size_t i = 0; i < code->page_count; i++)
        if (code->pages[i] == page)
            return true;
    return false;
}

static void want_page(struct live_code *code, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(LIVE_CODE_PAGE - 1);
    size_t fresh = code->page_count - code->first_new;
    if (code->page_count < LIVE_CODE_PAGES && fresh < NEW_MAX && !asked_for(code, page))
        code->pages[code->page_count++] = page;
}

/* Pages that the ledgers name; an instruction may reach into the next one. */
static void look_for_missing(struct live *l)
{
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct gap_entry *gaps;
        struct history *h = live_history(l, (int)i);
        size_t n = h ? history_gaps(h, &gaps) : 0;
        for (size_t g = 0; g < n; g++) {
            if (gaps[g].cause != BT_GAP_NO_CODE || !gaps[g].has_address)
                continue;
            want_page(&l->code, gaps[g].address);
            want_page(&l->code, gaps[g].address + 2);
        }
    }
    pipeline_unlock(l->pipeline);
}

static void decode_again(struct live *l)
{
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct history *h = live_history(l, (int)i);
        if (h && history_again(h) != BT_OK)
            log_write(LOG_AT_WARNING, "btraced: no memory to decode the history again\n");
    }
    pipeline_unlock(l->pipeline);
}

/* Erased or unused memory, or what reads as zero because nothing is there: bytes that are all
 * alike. It has no end that a walk through it would find, and each page would ask for the next. */
static bool holds_nothing(const uint8_t *bytes, size_t len)
{
    return len > 1 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static void next_round(struct live *l);

static void on_page(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    struct live *l = ctx;
    struct live_code *code = &l->code;
    bool wanted = len && !holds_nothing(bytes, len);
    struct live_patch *p = wanted ? new_patch(l, address, bytes, len) : NULL;
    if (p) {
        pipeline_lock(l->pipeline);
        add_everywhere(l, p, false);
        pipeline_unlock(l->pipeline);
        p->next = code->known;
        code->known = p;
        code->found = true;
    }
    code->piece += PIECE;
    if (code->piece == LIVE_CODE_PAGE) {
        code->piece = 0;
        code->first_new++;
    }
    next_round(l);
}

/* The time for this stop is over: what was not asked for yet is left to the next one. */
static void mind_the_time(struct live *l)
{
    struct live_code *code = &l->code;
    if (uv_hrtime() < code->until)
        return;
    if (!code->late)
        log_write(LOG_AT_WARNING,
                  "btraced: after %u s not all code that the trace went through has been read: "
                  "what is missing is a gap in the history, and the next halt goes on reading\n",
                  LIVE_CODE_MS / 1000);
    code->late = true;
    code->rounds = ROUNDS_MAX;
    size_t begun = code->first_new + (code->piece > 0);
    if (code->page_count > begun)
        code->page_count = begun;
}

/* Asks for the next piece; when there is none, decodes with what was found and looks again. */
static void next_round(struct live *l)
{
    struct live_code *code = &l->code;
    for (;;) {
        mind_the_time(l);
        if (code->first_new < code->page_count &&
            gdb_remote_read_memory(l->remote, 0, code->pages[code->first_new] + code->piece, PIECE,
                                   on_page, l) == BT_OK)
            return;
        code->first_new = code->page_count;
        code->piece = 0;
        if (code->found)
            decode_again(l);
        code->found = false;
        if (code->rounds++ < ROUNDS_MAX)
            look_for_missing(l);
        if (code->first_new == code->page_count)
            break;
    }
    l->code_done(l);
}

void live_code_complete(struct live *l, void (*done)(struct live *l))
{
    l->code_done = done;
    if (!l->pipeline) {
        done(l);
        return;
    }
    l->code.rounds = 0;
    l->code.until = uv_hrtime() + (uint64_t)LIVE_CODE_MS * 1000000;
    next_round(l);
}

static void free_patches(struct live_patch *p)
{
    while (p) {
        struct live_patch *next = p->next;
        free(p);
        p = next;
    }
}

void live_code_release(struct live *l)
{
    free_patches(l->code.known);
    free_patches(l->code.pending);
}
