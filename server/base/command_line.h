/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of a subcommand: a table of its options, each with where its value goes. */
#ifndef SERVER_COMMAND_LINE_H
#define SERVER_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* An option, and one of what may become of it. Texts are those of the command line. One with a
 * value, but for lists, is refused a second time with another value. */
struct command_option {
    const char *name;  /* without its "--"; NULL: the end of the table */
    char letter;       /* for "-c"; 0: none */
    bool elsewhere;    /* it is an option of another command: refused */
    bool *flag;        /* becomes true; it takes no value */
    const char **text; /* its value */
    struct {
        const char **to; /* its values, in order: room for `most` */
        size_t *count, most;
    } list;
    struct {
        unsigned *to; /* a number as C has it, from `least` to `most` */
        unsigned least, most;
        const char *wanted; /* what is said of another value: "--jobs is from 1 to 64, not" */
    } number;
    /* Takes the value. NULL, or what is wrong: "format must be text or tsv, not". */
    const char *(*take)(void *ctx, const char *value);
};

struct command_line {
    const char *name; /* of the command: "serve" */
    const char *help; /* printed for --help */
    const struct command_option *options;
    void *ctx;             /* of command_option.take() */
    bool ends_at_argument; /* what follows the first argument are no options */
};

/*
 * Takes the options; argv begins with the command's name, optind is the first argument behind them.
 * 0: go on. Negative: the help was printed, which is all. EXIT_USAGE: the mistake was printed.
 */
int command_line_parse(const struct command_line *c, int argc, char **argv);

/* Behind the options there is one argument, a `what`. 0, or EXIT_USAGE and the mistake was printed.
 */
int command_line_argument(const struct command_line *c, int argc, const char *what);

/* A `take` for --log: sets the level of the log. */
const char *command_line_log(void *ctx, const char *value);

/* What is wrong with the command line of `btraced COMMAND`, with the value in quotes unless it is
 * NULL, and where help is. Returns EXIT_USAGE. */
int usage_error(const char *command, const char *text, const char *value);

#endif
