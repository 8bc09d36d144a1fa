/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that may go on to another GDB server: those alone that touch its cores, in the shapes of
 * the GDB manual, "Packets", "General Query Packets" and "vFlash". What else a server knows may
 * reach the machine that it runs on: vFile and QTSave write its files, vRun and vAttach start and
 * enter its programs, qXfer:exec-file reads its paths, and any server may have packets of its own.
 */
#include "gdb_allow.h"

#include <stdint.h>
#include <string.h>

#include "protocol/rsp/gdb_packet.h"

/*
 * Shapes: other characters stand for themselves.
 *
 *   %  a number of 1 to 16 hex digits
 *   #  a register's number: less than 64 K. QEMU takes larger ones for places before its first
 *   @  a thread: "1", "-1", "p1.2"
 *   &  a name of a document, without a path
 *   $  the rest: hex digits, 'x' for what is not known
 *   ~  the rest: actions of vCont
 *   ^  the rest: conditions, "X3,220027", which the other side evaluates
 *   +  the rest: words of features
 *   *  the rest: bytes
 */
static const char *const shapes[] = {
    "!",
    "?",
    "g",
    "p#",
    "m%,%",
    "x%,%",
    "G$",
    "P#=$",
    "M%,%:$",
    "X%,%:*",
    "Z%,%,%",
    "Z%,%,%;X^",
    "z%,%,%",
    "z%,%,%;X^",
    "c",
    "c%",
    "s",
    "s%",
    "C%",
    "C%;%",
    "S%",
    "S%;%",
    "bc",
    "bs",
    "R%",
    "Hc@",
    "Hg@",
    "T@",
    "vCont?",
    "vCont;~",
    "vFlashDone",
    "vFlashErase:%,%",
    "vFlashWrite:%:*",
    "vMustReplyEmpty",
    "qAttached",
    "qAttached:%",
    "qC",
    "qCRC:%,%",
    "qOffsets",
    "qRcmd,$", /* of which [target] monitor says more */
    "qSearch:memory:%;%;*",
    "qSupported",
    "qSupported:+",
    "qSymbol::",
    "qSymbol:%:$",
    "qSymbol::$",
    "qTStatus",
    "qThreadExtraInfo,@",
    "qXfer:features:read:&:%,%",
    "qXfer:memory-map:read::%,%",
    "qXfer:threads:read::%,%",
    "qfThreadInfo",
    "qsThreadInfo",
};

#define DIGITS  "0123456789abcdefABCDEF"
#define LETTERS "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ"

static const struct {
    char mark;
    bool rest; /* up to the end, which may come at once */
    const char *set;
} kinds[] = {
    {'@', false, DIGITS "p.-"}, {'&', false, DIGITS LETTERS "._-"},
    {'$', true, DIGITS "x"},    {'~', true, DIGITS "srtp.,:;-"},
    {'^', true, DIGITS "X,;"},  {'+', true, DIGITS LETTERS "+-?=:;_.,"},
};

/* As many as there are, of the set. */
static size_t allow_take_set(struct gdb_args *a, const char *set)
{
    const char *from = a->at;
    while (a->at < a->end && *a->at != '\0' && strchr(set, *a->at))
        a->at++;
    return (size_t)(a->at - from);
}

static bool allow_take_mark(struct gdb_args *a, char mark)
{
    uint64_t value;
    if (mark == '%' || mark == '#')
        return gdb_args_hex(a, &value) && (mark == '%' || value <= UINT16_MAX);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (kinds[i].mark == mark)
            return allow_take_set(a, kinds[i].set) > 0 || kinds[i].rest;
    }
    return gdb_args_char(a, mark);
}

static bool allow_has_shape(struct gdb_args a, const char *shape)
{
    for (; *shape != '\0' && *shape != '*'; shape++) {
        if (!allow_take_mark(&a, *shape))
            return false;
    }
    return *shape == '*' || gdb_args_empty(&a);
}

bool gdb_may_pass(const char *payload, size_t len)
{
    const struct gdb_args a = {payload, payload + len};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        if (allow_has_shape(a, shapes[i]))
            return true;
    }
    return false;
}

/*
 * What the other side reports of others does not count: their packets go nowhere, or are answered
 * here; and GDB dies of non-stop with two cores (found with GDB 13.1).
 */
bool gdb_may_pass_feature(const char *word, size_t len)
{
    return gdb_packet_starts_any(word, len,
                                 "multiprocess swbreak hwbreak vContSupported qXfer:features:read "
                                 "qXfer:memory-map:read qXfer:threads:read no-resumed "
                                 "error-message binary-upload ConditionalBreakpoints");
}
