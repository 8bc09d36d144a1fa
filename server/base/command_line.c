/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/command_line.h"

#include "server/base/exit_codes.h"
#include "server/base/log.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX  32
#define FIRST_NUMBER 256 /* what getopt_long() returns for the first row: behind all letters */

int usage_error(const char *command, const char *text, const char *value)
{
    fprintf(stderr, "btraced %s: %s%s%s%s; see 'btraced %s --help'\n", command, text,
            value ? " '" : "", value ? value : "", value ? "'" : "", command);
    return EXIT_USAGE;
}

const char *command_line_log(void *ctx, const char *value)
{
    (void)ctx;
    return log_choose(value) ? NULL : "--log wants one of " LOG_LEVELS ", not";
}

static bool parse_option_number(const struct command_option *o, const char *value)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(value, &end, 0);
    *o->number.to = (unsigned)n;
    return *value != '-' && end != value && !*end && !errno && n >= o->number.least &&
           n <= o->number.most;
}

/* 0, or the error that was printed. */
static int take_option(const struct command_line *c, const struct command_option *o)
{
    char text[64];
    const char *wrong = NULL;
    if (o->elsewhere) {
        snprintf(text, sizeof text, "--%s", o->name);
        return usage_error(c->name, "no such option here:", text);
    }
    if (o->flag) {
        *o->flag = true;
    } else if (o->text) {
        *o->text = optarg;
    } else if (o->list.to && *o->list.count == o->list.most) {
        snprintf(text, sizeof text, "too many --%s options", o->name);
        return usage_error(c->name, text, NULL);
    } else if (o->list.to) {
        o->list.to[(*o->list.count)++] = optarg;
    } else if (o->number.to) {
        wrong = parse_option_number(o, optarg) ? NULL : o->number.wanted;
    } else {
        wrong = o->take(c->ctx, optarg);
    }
    return wrong ? usage_error(c->name, wrong, optarg) : 0;
}

/* Which of two different values is meant nobody can tell. */
static int refuse_second(const struct command_line *c, const struct command_option *o)
{
    char text[64];
    snprintf(text, sizeof text, "--%s is given twice, now with", o->name);
    return usage_error(c->name, text, optarg);
}

/* What getopt_long() returns for it. */
static int option_number(const struct command_line *c, const struct command_option *o)
{
    return o->letter ? o->letter : FIRST_NUMBER + (int)(o - c->options);
}

static const struct command_option *find_option(const struct command_line *c, int number)
{
    const struct command_option *o = c->options;
    while (o->name && option_number(c, o) != number)
        o++;
    return o->name ? o : NULL;
}

int command_line_parse(const struct command_line *c, int argc, char **argv)
{
    static char name[64];
    struct option table[OPTIONS_MAX + 2] = {{"help", no_argument, NULL, 'h'}};
    char letters[2 * OPTIONS_MAX + 3];
    int n = snprintf(letters, sizeof letters, c->ends_at_argument ? "+h" : "h");
    for (int i = 0; i < OPTIONS_MAX && c->options[i].name; i++) {
        const struct command_option *o = &c->options[i];
        table[i + 1] = (struct option){o->name, !o->flag, NULL, option_number(c, o)};
        if (o->letter)
            n += snprintf(letters + n, sizeof letters - (size_t)n, "%c%s", o->letter,
                          o->flag ? "" : ":");
    }
    snprintf(name, sizeof name, "btraced %s", c->name);
    argv[0] = name; /* getopt's messages begin with it */
    const char *before[OPTIONS_MAX] = {NULL};
    for (int given; (given = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
        const struct command_option *o = find_option(c, given);
        if (given == 'h') {
            fputs(c->help, stdout);
            return -1;
        }
        if (!o) { /* getopt has said what is wrong */
            fprintf(stderr, "btraced %s: see 'btraced %s --help'\n", c->name, c->name);
            return EXIT_USAGE;
        }
        const char **was = &before[o - c->options];
        int code = *was && strcmp(*was, optarg) != 0 ? refuse_second(c, o) : take_option(c, o);
        if (code)
            return code;
        *was = o->flag || o->list.to ? NULL : optarg;
    }
    return 0;
}

int command_line_argument(const struct command_line *c, int argc, const char *what)
{
    char text[64];
    if (optind == argc - 1)
        return 0;
    snprintf(text, sizeof text, "%s %s given", optind == argc ? "no" : "more than one", what);
    return usage_error(c->name, text, NULL);
}
