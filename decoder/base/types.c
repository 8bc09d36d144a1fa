/* SPDX-License-Identifier: BSD-3-Clause */
#include "btrace/types.h"

_Static_assert(sizeof(struct bt_event) == 48, "whole histories of them are kept");

const char *bt_strerror(int error)
{
    static const char *const texts[] = {
        [-BT_OK] = "no error",
        [-BT_ERR_NOMEM] = "out of memory or over a configured memory limit",
        [-BT_ERR_INVAL] = "value out of its allowed range",
        [-BT_ERR_RANGE] = "no such position or address",
        [-BT_ERR_NO_CODE] = "no program code at the address",
        [-BT_ERR_TRUNCATED] = "input ends too early",
        [-BT_ERR_FORMAT] = "input is not of the expected format",
        [-BT_ERR_IO] = "input/output error",
        [-BT_ERR_UNSUPPORTED] = "not supported",
    };
    bool known = error <= 0 && error > -(int)(sizeof texts / sizeof *texts);
    return known ? texts[-error] : "unknown error";
}

const char *bt_isa_name(enum bt_isa isa)
{
    static const char *const names[] = {"A32", "T32", "T32EE", "Jazelle", "A64"};
    return (unsigned)isa < sizeof names / sizeof *names ? names[isa] : "?";
}

const char *bt_gap_name(enum bt_gap_cause cause)
{
    static const char *const names[BT_GAP_CAUSES] = {
        [BT_GAP_NONE] = "none",
        [BT_GAP_TRACE_ON] = "filter",
        [BT_GAP_DEBUG] = "debug",
        [BT_GAP_OVERFLOW] = "overflow",
        [BT_GAP_WIRE] = "wire",
        [BT_GAP_LOST_BYTES] = "lost-bytes",
        [BT_GAP_OVERWRITTEN] = "overwritten",
        [BT_GAP_BAD_PACKET] = "bad-packet",
        [BT_GAP_NO_CODE] = "no-code",
        [BT_GAP_UNKNOWN_ADDR] = "unknown-address",
        [BT_GAP_DESYNC] = "desync",
        [BT_GAP_NO_SYNC] = "no-sync",
        [BT_GAP_SILENT] = "silent",
    };
    return (unsigned)cause < BT_GAP_CAUSES ? names[cause] : "?";
}

const char *bt_event_name(enum bt_event_kind kind)
{
    static const char *const names[BT_EVENT_KINDS] = {
        [BT_EVENT_TRACE_ON] = "trace-on",
        [BT_EVENT_GAP] = "gap",
        [BT_EVENT_EXCEPTION] = "exception",
        [BT_EVENT_EXCEPTION_RET] = "exception-return",
        [BT_EVENT_CONTEXT] = "context",
        [BT_EVENT_VMID] = "vmid",
        [BT_EVENT_STATE] = "state",
        [BT_EVENT_TIMESTAMP] = "timestamp",
        [BT_EVENT_TRIGGER] = "trigger",
        [BT_EVENT_DATA] = "data",
        [BT_EVENT_WARNING] = "warning",
        [BT_EVENT_CYCLES] = "cycles",
        [BT_EVENT_COUNT] = "count",
        [BT_EVENT_SOFTWARE] = "software",
        [BT_EVENT_TRANSACTION] = "transaction",
        [BT_EVENT_STIMULUS] = "stimulus",
        [BT_EVENT_EXCEPTION_TRACE] = "exception-trace",
        [BT_EVENT_SAMPLE] = "pc-sample",
        [BT_EVENT_COUNTERS] = "counters",
        [BT_EVENT_WATCH] = "watch",
        [BT_EVENT_LOCAL_TIME] = "local-time",
        [BT_EVENT_FREQUENCY] = "frequency",
    };
    return (unsigned)kind < BT_EVENT_KINDS ? names[kind] : "?";
}
