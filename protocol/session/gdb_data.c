/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, breakpoints and the choice of threads. */
#include "gdb_internal.h"

#define READ_MAX (GDB_PACKET_SIZE / 2)

static bool take_range(struct gdb_args *a, uint64_t *address, uint64_t *len)
{
    return gdb_args_hex(a, address) && gdb_args_char(a, ',') && gdb_args_hex(a, len);
}

static int read_memory(struct gdb_session *s, struct gdb_args *a)
{
    uint8_t bytes[READ_MAX];
    uint64_t address;
    uint64_t len;
    if (!take_range(a, &address, &len) || !gdb_args_empty(a) || len == 0)
        return BT_ERR_INVAL;
    if (len > READ_MAX)
        len = READ_MAX;
    int got = s->target->read_memory(s->target_ctx, s->general, address, bytes, (size_t)len);
    if (got <= 0)
        return got < 0 ? got : BT_ERR_RANGE;
    if ((uint64_t)got > len)
        return BT_ERR_INVAL;
    text_buf_hex(&s->reply, bytes, (size_t)got);
    return BT_OK;
}

static int write_bytes(struct gdb_session *s, uint64_t address, const void *bytes, size_t len)
{
    struct gdb_why why = {""};
    int rc = BT_ERR_UNSUPPORTED;
    if (s->target->write_memory != NULL)
        rc = s->target->write_memory(s->target_ctx, s->general, address, bytes, len, &why);
    return gdb_reply_result(s, rc, &why);
}

static int write_memory_hex(struct gdb_session *s, struct gdb_args *a)
{
    uint8_t bytes[READ_MAX];
    uint64_t address;
    uint64_t len;
    if (!take_range(a, &address, &len) || !gdb_args_char(a, ':') || len > sizeof(bytes) ||
        !gdb_args_bytes(a, bytes, (size_t)len) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return write_bytes(s, address, bytes, (size_t)len);
}

static int write_memory_binary(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t address;
    uint64_t len;
    if (!take_range(a, &address, &len) || !gdb_args_char(a, ':') || gdb_args_left(a) != len)
        return BT_ERR_INVAL;
    return write_bytes(s, address, a->at, (size_t)len);
}

static bool take_breakpoint(struct gdb_args *a, struct gdb_breakpoint *bp)
{
    uint64_t type;
    uint64_t kind;
    if (!gdb_args_hex_max(a, GDB_WATCHPOINT_ACCESS, &type) || !gdb_args_char(a, ',') ||
        !gdb_args_hex(a, &bp->address) || !gdb_args_char(a, ',') ||
        !gdb_args_hex_max(a, UINT32_MAX, &kind))
        return false;
    bp->type = (enum gdb_breakpoint_type)type;
    bp->kind = (uint32_t)kind;
    return gdb_args_empty(a);
}

static int change_breakpoint(struct gdb_session *s, struct gdb_args *a, bool insert)
{
    const struct gdb_target *t = s->target;
    struct gdb_why why = {""};
    struct gdb_breakpoint bp;
    if (t->insert_breakpoint == NULL)
        return BT_OK;
    if (!take_breakpoint(a, &bp))
        return BT_ERR_INVAL;
    int rc = insert ? t->insert_breakpoint(s->target_ctx, s->general, &bp, &why)
                    : t->remove_breakpoint(s->target_ctx, s->general, &bp, &why);
    if (rc == BT_ERR_UNSUPPORTED)
        return BT_OK;
    return gdb_reply_result(s, rc, &why);
}

static int insert_breakpoint(struct gdb_session *s, struct gdb_args *a)
{
    return change_breakpoint(s, a, true);
}

static int remove_breakpoint(struct gdb_session *s, struct gdb_args *a)
{
    return change_breakpoint(s, a, false);
}

static int set_general(struct gdb_session *s, int thread)
{
    /* All threads at once make no sense here: the one that is selected stays. */
    if (thread == GDB_THREAD_ALL)
        return gdb_reply(s, "OK");
    if (!gdb_core_of_thread(s, thread, &s->general))
        return BT_ERR_INVAL;
    return gdb_reply(s, "OK");
}

static int set_motion(struct gdb_session *s, int thread)
{
    int core = 0;
    if (thread != GDB_THREAD_ALL && !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    if (thread == GDB_THREAD_ALL)
        s->motion = GDB_MOTION_ALL;
    else
        s->motion = thread == GDB_THREAD_ANY ? GDB_MOTION_GENERAL : core;
    return gdb_reply(s, "OK");
}

void gdb_note_motion(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    int thread;
    if (gdb_args_text(&a, "Hc") && gdb_args_thread(&a, &thread))
        set_motion(s, thread);
    text_buf_clear(&s->reply);
}

static int set_thread(struct gdb_session *s, struct gdb_args *a)
{
    int thread;
    bool general = gdb_args_char(a, 'g');
    if (!general && !gdb_args_char(a, 'c'))
        return BT_ERR_INVAL;
    if (!gdb_args_thread(a, &thread) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    return general ? set_general(s, thread) : set_motion(s, thread);
}

static int thread_alive(struct gdb_session *s, struct gdb_args *a)
{
    int thread;
    int core;
    if (!gdb_args_thread(a, &thread) || !gdb_args_empty(a) || !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    return gdb_reply(s, "OK");
}

const struct gdb_command gdb_data_commands[] = {
    {"m", GDB_PREFIX, false, read_memory},         {"M", GDB_PREFIX, false, write_memory_hex},
    {"X", GDB_PREFIX, false, write_memory_binary}, {"Z", GDB_PREFIX, false, insert_breakpoint},
    {"z", GDB_PREFIX, false, remove_breakpoint},   {"H", GDB_PREFIX, false, set_thread},
    {"T", GDB_PREFIX, false, thread_alive},        {NULL, GDB_EXACT, false, NULL},
};
