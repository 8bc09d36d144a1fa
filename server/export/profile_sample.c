/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/profile.h"

#include <stdlib.h>

struct profile_samples {
    struct counts_table table; /* of this source alone */
    struct export_loss *loss;
    int error;
};

static void sample_count(void *ctx, const struct bt_event *e)
{
    struct profile_samples *s = ctx;
    if (e->kind == BT_EVENT_GAP)
        s->loss->gaps[e->cause]++;
    if (e->kind != BT_EVENT_SAMPLE || s->error)
        return;
    const struct counts_insn at = {
        .address = e->u.sample.address, .count = 1, .isa = BT_ISA_T32, .size = 2};
    if (e->u.sample.state == BT_SAMPLE_ASLEEP)
        s->loss->asleep++;
    else if (e->u.sample.state != BT_SAMPLE_RUNNING)
        s->loss->prohibited++;
    else
        s->error = counts_table_put(&s->table, &at);
}

/* Nobody knows who called a function that was sampled. */
static int sample_functions(struct profile_core *core, const struct export_names *names,
                            const struct counts_table *table)
{
    struct calls *calls = &core->calls;
    calls->paths = calloc(table->count + 1, sizeof *calls->paths);
    if (!calls->paths)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < table->count; i++) {
        uint64_t function = export_function(names, table->insns[i].address);
        function = function ? function : table->insns[i].address;
        struct calls_path *path = calls->path_count ? &calls->paths[calls->path_count - 1] : NULL;
        if (!path || path->function != function) {
            path = &calls->paths[calls->path_count++];
            *path =
                (struct calls_path){.function = function, .parent = CALLS_NO_PATH, .exception = -1};
        }
        path->self += table->insns[i].count;
        path->all = path->self;
    }
    return BT_OK;
}

int profile_sample(struct profile_core *core, struct export_opened *o,
                   const struct recording_source *itm, struct counts_table *table,
                   struct export_loss *loss)
{
    struct profile_samples s = {.loss = loss};
    core->name = itm->core_name;
    core->m_profile = true;
    loss->sampled = true;
    counts_table_init(&s.table);
    int error = export_listen(&o->recording, itm, sample_count, &s, &loss->bytes);
    error = error ? error : s.error;
    counts_table_sort(&s.table);
    if (!error)
        error = sample_functions(core, &o->names, &s.table);
    for (size_t i = 0; i < s.table.count && !error; i++) {
        loss->instructions += s.table.insns[i].count;
        error = counts_table_put(table, &s.table.insns[i]);
    }
    counts_table_release(&s.table);
    return error;
}
