/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/virtual/encoder/etmv3_encoder.h"
#include "drivers/virtual/encoder/ptm_encoder.h"

#define TRACE_ID_MAX 0x6f
#define ETB_MAX      (64u << 20)
/* Of a Cortex-A53, and of the cores of the M profile. */
#define TRCIDR0_A53    0x28000ea1u
#define TRCIDR2_A53    0x00000488u
#define TRCIDR0_M      0x280006e1u
#define TRCIDR2_M      0x00000004u
#define TRCDEVARCH_V40 0x47704a13u

#define CCER_M4 0x18541800u /* timestamps of 48 bits */

enum kind {
    TEXT,   /* const char * */
    SWITCH, /* bool: on, off */
    NUMBER, /* unsigned or uint32_t */
    SIZE,   /* size_t */
    LONG,   /* uint64_t */
    RANGE,  /* struct board_ranges */
    FORMAT,
    PROTOCOL,
    PROFILE,
};

struct option {
    const char *name;
    size_t offset;
    enum kind kind;
    uint64_t min, max;
};

#define FIELD(name) offsetof(struct board_options, name)

static const struct option table[] = {
    {"out", FIELD(out), TEXT, 0, 0},
    {"control", FIELD(control), TEXT, 0, 0},
    {"truth", FIELD(truth), TEXT, 0, 0},
    {"format", FIELD(format), FORMAT, 0, 0},
    {"etb", FIELD(etb), SIZE, 64, ETB_MAX},
    {"fullsync", FIELD(full_sync), NUMBER, 0, 4095},
    {"halfsync", FIELD(half_sync), NUMBER, 0, 90},
    {"idle", FIELD(idle), SWITCH, 0, 0},
    {"rate", FIELD(rate), LONG, 0, UINT64_MAX},
    {"drop", FIELD(drop), SWITCH, 0, 0},
    {"fifo", FIELD(fifo), SIZE, 64, ETB_MAX},
    {"debug", FIELD(debug), SWITCH, 0, 0},
    {"start", FIELD(start), SWITCH, 0, 0},
    {"protocol", FIELD(protocol), PROTOCOL, 0, 0},
    {"profile", FIELD(profile), PROFILE, 0, 0},
    {"include", FIELD(filter.include), RANGE, 0, 0},
    {"exclude", FIELD(filter.exclude), RANGE, 0, 0},
    {"etmcr", FIELD(etmcr), NUMBER, 0, UINT32_MAX},
    {"etmidr", FIELD(etmidr), NUMBER, 0, UINT32_MAX},
    {"etmccer", FIELD(etmccer), NUMBER, 0, UINT32_MAX},
    {"etmtraceidr", FIELD(trace_id), NUMBER, 1, TRACE_ID_MAX},
    {"etmsyncfr", FIELD(etmsyncfr), NUMBER, 0, 4095},
    {"trcconfigr", FIELD(trcconfigr), NUMBER, 0, UINT32_MAX},
    {"trcidr0", FIELD(trcidr0), NUMBER, 0, UINT32_MAX},
    {"trcidr2", FIELD(trcidr2), NUMBER, 0, UINT32_MAX},
    {"trcidr8", FIELD(trcidr8), NUMBER, 0, 256},
    {"trcdevarch", FIELD(trcdevarch), NUMBER, 0, UINT32_MAX},
    {"trcccctlr", FIELD(trcccctlr), NUMBER, 1, 4095},
    {"trctraceidr", FIELD(trace_id), NUMBER, 1, TRACE_ID_MAX},
    {"trcsyncpr", FIELD(trcsyncpr), NUMBER, 0, 20},
    {"returnstack", FIELD(return_stack), NUMBER, 1, PTM_RETURN_STACK_MAX},
    {"blxpackets", FIELD(blx_packets), SWITCH, 0, 0},
    {"irregular", FIELD(irregular), NUMBER, 0, 50},
    {"itm", FIELD(itm), NUMBER, 0, TRACE_ID_MAX},
    {"watch", FIELD(watch), RANGE, 0, 0},
    {"itmperiod", FIELD(itm_period), NUMBER, 1, UINT32_MAX},
};

static const char *const switches[] = {"off", "on"};
static const char *const formats[] = {"tpiu", "frames", "etb", "raw", "tagged"};
static const char *const protocols[] = {"ptm", "etmv3", "etmv4", "mtb"};
static const char *const profiles[] = {"a", "m", "a64"};

const char *board_options_protocol(const struct board_options *o)
{
    return protocols[o->protocol];
}

static bool parse_number(const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 0);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static bool parse_word(const char *text, const char *const *words, unsigned count, unsigned *value)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

static bool store_number(const struct option *option, void *field, const char *text)
{
    uint64_t number;

    if (!parse_number(text, &number) || number < option->min || number > option->max)
        return false;
    if (option->kind == NUMBER)
        *(unsigned *)field = (unsigned)number;
    else if (option->kind == SIZE)
        *(size_t *)field = (size_t)number;
    else
        *(uint64_t *)field = number;
    return true;
}

static bool board_options_store(const struct option *option, void *field, const char *text)
{
    unsigned word;

    switch (option->kind) {
    case TEXT:
        *(const char **)field = text;
        return text[0] != '\0';
    case SWITCH:
        if (!parse_word(text, switches, 2, &word))
            return false;
        *(bool *)field = word == 1;
        return true;
    case FORMAT:
        return parse_word(text, formats, sizeof formats / sizeof formats[0], field);
    case PROTOCOL:
        return parse_word(text, protocols, sizeof protocols / sizeof protocols[0], field);
    case PROFILE:
        return parse_word(text, profiles, sizeof profiles / sizeof profiles[0], field);
    case RANGE:
        return board_ranges_add(field, text);
    default:
        return store_number(option, field, text);
    }
}

static bool board_options_parse_one(struct board_options *o, const char *argument)
{
    const char *value = strchr(argument, '=');

    for (unsigned i = 0; value && i < sizeof table / sizeof table[0]; i++) {
        size_t size = strlen(table[i].name);
        if (size == (size_t)(value - argument) && memcmp(argument, table[i].name, size) == 0)
            return board_options_store(&table[i], (char *)o + table[i].offset, value + 1);
    }
    return false;
}

/* Registers of a unit that such cores have; what the arguments say comes afterwards. */
static void set_defaults(struct board_options *o, unsigned protocol, unsigned profile)
{
    *o = (struct board_options){.etb = 8192,
                                .full_sync = 64,
                                .fifo = 4096,
                                .debug = true,
                                .start = true,
                                .etmidr = PTM_IDR_A15,
                                .etmccer = PTM_CCER_A15,
                                .trace_id = 0x10,
                                .etmsyncfr = 1024,
                                .trcconfigr = 1,
                                .trcidr0 = TRCIDR0_A53,
                                .trcidr2 = TRCIDR2_A53,
                                .trcdevarch = TRCDEVARCH_V40,
                                .trcccctlr = 4,
                                .trcsyncpr = 10,
                                .return_stack = PTM_RETURN_STACK_MAX,
                                .blx_packets = true,
                                .itm_period = 1000};
    if (protocol == BOARD_PROTOCOL_ETMV4 && profile == BOARD_PROFILE_M) {
        o->trcidr0 = TRCIDR0_M;
        o->trcidr2 = TRCIDR2_M;
    }
    if (protocol == BOARD_PROTOCOL_ETMV3 && profile == BOARD_PROFILE_M) {
        o->etmidr = ETMV3_IDR_M4;
        o->etmccer = CCER_M4;
    } else if (protocol == BOARD_PROTOCOL_ETMV3) {
        o->etmidr = ETMV3_IDR_A7;
        o->etmccer = ETMV3_CCER_A7;
    }
}

static const char *contradiction(const struct board_options *o)
{
    if (!o->out)
        return "no argument 'out'";
    if (o->etb % 16)
        return "argument 'etb' is not a multiple of 16";
    if (o->profile == BOARD_PROFILE_M && o->protocol == BOARD_PROTOCOL_PTM)
        return "cores of the M profile have no PTM: argument 'protocol' must be etmv3 or etmv4";
    if (o->profile == BOARD_PROFILE_A64 && o->protocol != BOARD_PROTOCOL_ETMV4)
        return "argument 'protocol' must be etmv4 for cores in AArch64 state";
    if (o->protocol == BOARD_PROTOCOL_MTB && o->profile != BOARD_PROFILE_M)
        return "only cores of the M profile have an MTB";
    if (o->itm && o->format == BOARD_FORMAT_RAW)
        return "argument 'itm' needs frames: 'format' must not be raw";
    if (o->watch.count && !o->itm)
        return "argument 'watch' needs 'itm'";
    return NULL;
}

int board_options_parse(struct board_options *o, int count, char **arguments, char *message,
                        size_t size)
{
    const char *wrong;

    /* Twice: protocol and profile, wherever they stand, give the defaults of the others. */
    for (unsigned pass = 0; pass < 2; pass++) {
        set_defaults(o, pass ? o->protocol : 0, pass ? o->profile : 0);
        for (int i = 0; i < count; i++) {
            if (!board_options_parse_one(o, arguments[i])) {
                snprintf(message, size, "bad argument '%s'", arguments[i]);
                return -1;
            }
        }
    }
    wrong = contradiction(o);
    if (wrong)
        snprintf(message, size, "%s", wrong);
    return wrong ? -1 : 0;
}
