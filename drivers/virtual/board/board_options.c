/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivers/virtual/board/board_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/virtual/ptm_encoder.h"

#define TRACE_ID_MAX 0x6f
#define ETB_MAX      (64u << 20)

enum kind {
    TEXT,   /* const char * */
    SWITCH, /* bool: on, off */
    NUMBER, /* unsigned or uint32_t */
    SIZE,   /* size_t */
    LONG,   /* uint64_t */
    FORMAT,
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
    {"etmcr", FIELD(etmcr), NUMBER, 0, UINT32_MAX},
    {"etmidr", FIELD(etmidr), NUMBER, 0, UINT32_MAX},
    {"etmccer", FIELD(etmccer), NUMBER, 0, UINT32_MAX},
    {"etmtraceidr", FIELD(etmtraceidr), NUMBER, 1, TRACE_ID_MAX},
    {"etmsyncfr", FIELD(etmsyncfr), NUMBER, 0, 4095},
    {"returnstack", FIELD(return_stack), NUMBER, 1, PTM_RETURN_STACK_MAX},
};

static const char *const formats[] = {"tpiu", "frames", "etb", "raw"};

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

static bool store(const struct option *option, void *field, const char *text)
{
    static const char *const switches[] = {"off", "on"};
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
        return parse_word(text, formats, sizeof formats / sizeof formats[0], (unsigned *)field);
    default:
        return store_number(option, field, text);
    }
}

static bool parse_one(struct board_options *o, const char *argument)
{
    const char *value = strchr(argument, '=');

    for (unsigned i = 0; value && i < sizeof table / sizeof table[0]; i++) {
        size_t size = strlen(table[i].name);
        if (size == (size_t)(value - argument) && memcmp(argument, table[i].name, size) == 0)
            return store(&table[i], (char *)o + table[i].offset, value + 1);
    }
    return false;
}

int board_options_parse(struct board_options *o, int count, char **arguments, char *message,
                        size_t size)
{
    *o = (struct board_options){.etb = 8192,
                                .full_sync = 64,
                                .fifo = 4096,
                                .debug = true,
                                .start = true,
                                .etmidr = PTM_IDR_A15,
                                .etmccer = PTM_CCER_A15,
                                .etmtraceidr = 0x10,
                                .etmsyncfr = 1024,
                                .return_stack = PTM_RETURN_STACK_MAX};
    for (int i = 0; i < count; i++) {
        if (!parse_one(o, arguments[i])) {
            snprintf(message, size, "bad argument '%s'", arguments[i]);
            return -1;
        }
    }
    if (!o->out) {
        snprintf(message, size, "no argument 'out'");
        return -1;
    }
    if (o->etb % 16) {
        snprintf(message, size, "argument 'etb' is not a multiple of 16");
        return -1;
    }
    return 0;
}
