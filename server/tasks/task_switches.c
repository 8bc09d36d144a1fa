/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/tasks/task_switches.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IT_MOST  4u                      /* instructions of an IT block */
#define IT_REACH (2 + 4 * (IT_MOST - 1)) /* bytes from IT to the last one, at most */

void task_switches_release(struct task_switches *s)
{
    free(s->stores);
    free(s->list);
    memset(s, 0, sizeof *s);
}

__attribute__((format(printf, 2, 3))) static void switches_end(struct task_switches *s,
                                                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    s->ended = true;
}

static void switches_add_site(struct task_switches *s, uint32_t pc)
{
    for (size_t i = 0; i < s->site_count; i++)
        if (s->sites[i] == pc)
            return;
    if (s->site_count == TASK_STORE_SITES)
        switches_end(s, "more instructions store it than are looked for");
    else
        s->sites[s->site_count++] = pc;
}

int task_switches_begin(struct task_switches *s, const struct reverse *p,
                        const struct task_store *stores, size_t count, uint32_t present)
{
    task_switches_release(s);
    s->begun = true;
    s->reached = s->end = p->end;
    s->task = present;
    s->list = calloc(TASK_SWITCHES_MAX, sizeof *s->list);
    s->stores = calloc(count ? count : 1, sizeof *s->stores);
    if (!s->list || !s->stores)
        return BT_ERR_NOMEM;
    memcpy(s->stores, stores, count * sizeof *stores);
    s->store_count = count;
    for (size_t i = 0; i < count && !s->ended; i++)
        switches_add_site(s, stores[i].pc);
    if (!s->ended && count == 0)
        switches_end(s, "the DWT has told of no switch");
    else if (!s->ended && stores[0].value != present)
        switches_end(s, "the last value that the DWT told of is not the present one");
    else if (!s->ended && !p->join.known)
        switches_end(s, "the trace does not lead to the halt");
    return BT_OK;
}

/* IT blocks: the instruction at `address` lies in that of an IT at `it`. */
static bool site_depends_on(struct reverse *p, struct code_view *view, uint64_t it,
                            uint64_t address)
{
    struct insn insn;
    uint32_t opcode;
    uint64_t at = it + 2;
    if (code_insn(&p->code, view, it, BT_ISA_T32, &insn, &opcode) != BT_OK || insn.size != 2 ||
        (opcode & 0xff00) != 0xbf00 || (opcode & 0xf) == 0)
        return false;
    for (unsigned left = IT_MOST - (unsigned)__builtin_ctz(opcode & 0xf); left > 0; left--) {
        if (at == address)
            return true;
        if (code_insn(&p->code, view, at, BT_ISA_T32, &insn, &opcode) != BT_OK)
            return true;
        at += insn.size;
    }
    return false;
}

/* It might be passed without a store, and the trace does not say so. */
static bool site_is_conditional(struct reverse *p, struct code_view *view, uint64_t address)
{
    if (!view)
        return true;
    for (uint64_t back = 2; back <= IT_REACH && back <= address; back += 2)
        if (site_depends_on(p, view, address - back, address))
            return true;
    return false;
}

/* The last store that was not found yet is the one by instruction number `number`. */
static void switches_match(struct task_switches *s, uint32_t pc, uint64_t number)
{
    if (s->store_next == s->store_count) {
        switches_end(s, "the DWT has told of no switch before");
        return;
    }
    const struct task_store *now = &s->stores[s->store_next];
    const struct task_store *before = now + 1;
    if (now->pc != pc) { /* then none of those before was found for certain */
        switches_end(s, "the DWT tells of a store by another instruction than the trace");
        s->count = 0;
        s->reached = s->end;
        return;
    }
    s->store_next++;
    s->reached = number + 1;
    bool more = s->store_next < s->store_count;
    if (more && before->value == now->value)
        return; /* it was chosen again */
    s->list[s->count++] = (struct task_switch){number + 1, now->value};
    if (!more)
        switches_end(s, "the DWT has told of no switch before");
    else if (s->count == TASK_SWITCHES_MAX)
        switches_end(s, "more switches than are kept");
    else
        s->task = before->value;
}

static void switches_in_block(struct task_switches *s, struct reverse *p,
                              const struct reverse_history_window *w, const struct bt_block *block,
                              uint64_t number)
{
    uint64_t below = UINT64_MAX;
    for (;;) { /* from the end of the block to its begin */
        size_t found = s->site_count;
        uint64_t at = 0;
        for (size_t i = 0; i < s->site_count; i++) {
            uint64_t index;
            if (!code_index_of(&p->code, &w->key, block, s->sites[i], &index) || index >= below)
                continue;
            if (found == s->site_count || index > at) {
                found = i;
                at = index;
            }
        }
        if (found == s->site_count || s->ended)
            return;
        below = at;
        if (number + at >= s->reached)
            continue;
        if (site_is_conditional(p, code_select(&p->code, &w->key), s->sites[found]))
            switches_end(s, "the store at 0x%08x is conditional", s->sites[found]);
        else
            switches_match(s, s->sites[found], number + at);
    }
}

/* The newest place before `reached` behind which the path is whole; 0: none in this window. */
static uint64_t switches_gap(const struct task_switches *s, const struct reverse *p,
                             const struct reverse_history_window *w)
{
    uint64_t gap = 0;
    for (size_t i = 0; i < w->window.event_count; i++) {
        const struct bt_event *e = &w->window.events[i];
        if (reverse_is_gap(p, e) && e->position <= s->reached && e->position > gap)
            gap = e->position;
    }
    return gap;
}

static void switches_in_window(struct task_switches *s, struct reverse *p,
                               const struct reverse_history_window *w)
{
    uint64_t gap = switches_gap(s, p, w), number = w->end;
    for (size_t i = w->block_count; i > 0 && !s->ended; i--) {
        struct bt_block block;
        reverse_block(w, i - 1, &block);
        number -= bt_block_count(&block);
        if (number + bt_block_count(&block) <= gap)
            break;
        if (number < s->reached)
            switches_in_block(s, p, w, &block, number);
    }
    if (s->ended)
        return;
    s->reached = gap > w->first ? gap : w->first;
    if (gap)
        switches_end(s, "trace is missing");
    else if (w->first == p->first)
        switches_end(s, "the history begins here");
}

bool task_switches_extend(struct task_switches *s, struct reverse *p, uint64_t position,
                          size_t count, size_t blocks)
{
    while (!s->ended && s->reached > position && s->count < count) {
        struct reverse_history_window w;
        size_t index;
        if (blocks == 0)
            return false;
        int error = reverse_history_window_find(p, s->reached - 1, &index);
        if (!error)
            error = reverse_history_window(p, index, &w);
        if (error) {
            switches_end(s, "the history cannot be read: %s", bt_strerror(error));
            break;
        }
        switches_in_window(s, p, &w);
        blocks -= blocks < w.block_count ? blocks : w.block_count;
    }
    return true;
}

bool task_switches_at(const struct task_switches *s, uint64_t position, uint32_t *task)
{
    if (!s->begun || position < s->reached)
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (position >= s->list[i].position) {
            *task = s->list[i].task;
            return true;
        }
    *task = s->task;
    return true;
}
