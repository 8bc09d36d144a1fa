/* SPDX-License-Identifier: BSD-3-Clause */
/* What all kinds of trace units have in common: found, compared with the board file, refused. */
#include "trace_setup_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct trace_unit_ops *trace_unit_ops(const struct trace_setup_core *core)
{
    return core->unit == 0                ? NULL
           : core->kind == CORESIGHT_ETM4 ? &trace_unit_etm4
                                          : &trace_unit_etm;
}

uint32_t trace_setup_wish(const struct config_core *core, const char *name, uint32_t otherwise)
{
    uint64_t value;
    return snapshot_reg(&core->source_device, name, &value) ? otherwise : (uint32_t)value;
}

/* What the board file says of the hardware and is not so. */
static void note_contradiction(struct trace_setup *t, unsigned i, const struct trace_register *r)
{
    uint64_t reported;
    const struct config_core *core = &t->config->cores[i];
    if (snapshot_reg(&core->source_device, r->name, &reported) ||
        ((reported ^ r->value) & r->mask) == 0)
        return;
    trace_setup_note(t,
                     "warning: core %s: %s is 0x%08" PRIx64 " in the board file, but 0x%08" PRIx32
                     " in the trace unit, which is used",
                     core->name, r->name, reported, r->value);
}

int trace_setup_store(struct trace_setup *t, unsigned i, const char *type, const char *foreign,
                      const struct trace_register *list, size_t count)
{
    struct config_core *core = &t->config->cores[i];
    int error = BT_OK;
    if (core->has_source && strcmp(core->source_device.type, type) != 0)
        trace_setup_note(t,
                         "warning: core %s: source is %s in the board file, but the trace unit is "
                         "%s, which is used",
                         core->name, core->source_device.type, type);
    const char *other = config_drop_registers(core, foreign);
    if (other)
        trace_setup_note(t,
                         "warning: core %s: %s is of another kind of trace unit than %s: it is not "
                         "used; %s is the register for wishes",
                         core->name, other, type, trace_unit_ops(&t->cores[i])->control);
    for (size_t k = 0; k < count && !error; k++) {
        note_contradiction(t, i, &list[k]);
        error = config_set_register(core, list[k].name, list[k].value);
    }
    return error ? error : config_set_source(t->config, i, type);
}

int trace_setup_failed(const struct trace_setup *t, int error, const char *what,
                       struct message *why)
{
    if (error == BT_ERR_IO)
        message_set(why, "%s: %s at 0x%08" PRIx64, what, debug_failure_text(t->bus->failure),
                    t->bus->fault_address);
    else
        message_set(why, "%s: %s", what, bt_strerror(error));
    return error;
}

int trace_setup_unit_failed(const struct trace_setup *t, unsigned i, int error, const char *what,
                            struct message *why)
{
    const char *name = t->config->cores[i].name;
    const char *failure = trace_unit_ops(&t->cores[i])->failure(t, i);
    char text[128];
    if (failure) {
        message_set(why, "the trace unit of core %s %s", name, failure);
        return error;
    }
    snprintf(text, sizeof text, "the trace unit of core %s cannot be %s", name, what);
    return trace_setup_failed(t, error, text, why);
}

static void note_unusable(struct trace_setup *t, unsigned i, int error)
{
    const struct trace_setup_core *core = &t->cores[i];
    const char *failure = trace_unit_ops(core)->failure(t, i);
    if (!failure)
        failure = error == BT_ERR_UNSUPPORTED ? "is of a kind that is not supported"
                                              : trace_setup_reason(t, error);
    trace_setup_note(t, "core %s: no history: the trace unit at 0x%08" PRIx64 " %s",
                     t->config->cores[i].name, core->unit, failure);
}

int trace_setup_take_unit(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    const char *name = t->config->cores[i].name;
    const struct trace_unit_ops *ops = trace_unit_ops(core);
    if (!ops) {
        trace_setup_note(t, "core %s: no history: this core has no trace unit", name);
        return BT_OK;
    }
    int error = ops->take(t, i);
    if (trace_setup_is_dead(t, error))
        return error;
    if (error)
        note_unusable(t, i, error);
    core->traced = !error;
    return BT_OK;
}

bool trace_setup_runs(const struct trace_setup *t)
{
    bool good = t->programmed;
    for (unsigned i = 0; i < t->config->core_count && good; i++)
        if (t->cores[i].traced)
            good = trace_unit_ops(&t->cores[i])->runs(t, i);
    return good;
}

int trace_setup_stop(struct trace_setup *t, struct message *why)
{
    int first = BT_OK;
    t->programmed = false;
    for (unsigned i = 0; i < t->config->core_count; i++) {
        int error = t->cores[i].traced ? trace_unit_ops(&t->cores[i])->stop(t, i) : BT_OK;
        if (error && !first)
            first = trace_setup_unit_failed(t, i, error, "stopped", why);
    }
    return first;
}
