/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vFlashErase, vFlashWrite, vFlashDone: `load` and the download of IDEs into flash. GDB takes a
 * console packet here for the answer, so that there is none.
 */
#include "gdb_internal.h"

static int flash_erase(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_why why = {""};
    uint64_t address;
    uint64_t len;
    if (s->target->flash_erase == NULL)
        return BT_OK;
    if (!gdb_args_hex(a, &address) || !gdb_args_char(a, ',') || !gdb_args_hex(a, &len) ||
        !gdb_args_empty(a) || len == 0 || len > UINT64_MAX - address)
        return BT_ERR_INVAL;
    return gdb_reply_result(s, s->target->flash_erase(s->target_ctx, address, len, &why), &why);
}

static int flash_write(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_why why = {""};
    uint64_t address;
    if (s->target->flash_write == NULL)
        return BT_OK;
    if (!gdb_args_hex(a, &address) || !gdb_args_char(a, ':') || gdb_args_empty(a))
        return BT_ERR_INVAL;
    int rc = s->target->flash_write(s->target_ctx, address, a->at, gdb_args_left(a), &why);
    return gdb_reply_result(s, rc, &why);
}

static int flash_done(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_why why = {""};
    (void)a;
    if (s->target->flash_done == NULL)
        return BT_OK;
    return gdb_reply_result(s, s->target->flash_done(s->target_ctx, &why), &why);
}

const struct gdb_command gdb_flash_commands[] = {
    {"vFlashErase:", GDB_PREFIX, false, flash_erase},
    {"vFlashWrite:", GDB_PREFIX, false, flash_write},
    {"vFlashDone", GDB_BARE, false, flash_done},
    {NULL, GDB_EXACT, false, NULL},
};
