/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the board file reader share. */
#ifndef SERVER_CONFIG_INTERNAL_H
#define SERVER_CONFIG_INTERNAL_H

#include "config_keys.h"
#include "server/config/config.h"

#define CONFIG_KEYS_MAX  128
#define CONFIG_VALUE_MAX 4096 /* characters of a value, and of a command's word */

/* Lines where keys stand, by their place in the table; 0: not given. */
struct config_lines {
    unsigned section;
    unsigned key[CONFIG_KEYS_MAX];
};

/* Sections that are checked together. What may follow from a mistake in one of them is not said. */
enum config_group {
    CONFIG_GROUP_TARGET = 1,
    CONFIG_GROUP_TRACE = 2,
    CONFIG_GROUP_ACCESS = 4,
    CONFIG_GROUP_HISTORY = 8,
    CONFIG_GROUP_CORES = 16,
    CONFIG_GROUP_ALL = 31,
};

struct config_parser {
    struct config *config;
    const struct config_names *names;
    const char *path; /* for messages */
    const char *dir;  /* $DIR */
    struct message *why;
    bool failed;               /* *why is filled in: the first mistake */
    bool skips;                /* the section is not to be read: its header is a mistake */
    unsigned suspect;          /* groups with a mistake in them */
    bool access_only;          /* only [gdb] and [tls] must be complete */
    struct config_lines lines; /* of all sections but [core] */
    struct config_lines cores[CONFIG_MAX_CORES];
};

/* Notes a mistake: "FILE:LINE: KEY: text" (no LINE if that is 0). Returns BT_ERR_FORMAT: the caller
 * goes on with what does not depend on it, so that all mistakes are said at once. */
int config_fail(struct config_parser *p, unsigned line, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same of a text that has its place. */
int config_mistake(struct config_parser *p, const struct message *m);

/* A copy that lives as long as the configuration; NULL: out of memory. */
char *config_keep(struct config *config, const char *text);

/* The value of a key of the table, to its field in `base`. */
int config_store(struct config_parser *p, unsigned line, const struct config_key *key, void *base,
                 const char *value);

/* A decimal number, or a hexadecimal one with 0x; all of the text. */
bool config_parse_number(const char *text, uint64_t *value);

/* A register line of core number i. */
int config_add_register(struct config_parser *p, unsigned line, unsigned i, const char *name,
                        const char *value);

/* A line of [setup]. */
int config_add_setup(struct config_parser *p, unsigned line, const char *address,
                     const char *value);

/* Line of a key that is not a core's; 0: not given. */
unsigned config_line_of(const struct config_parser *p, const char *section, const char *name);

/* The keys of ITM and DWT; before the format is known. */
int config_check_itm(struct config_parser *p);

/* ... and behind that of the cores: whether it fits the rest. */
int config_check_itm_source(struct config_parser *p);

/* The same for [core] sections: their types; the rest, and what only all sections together can
 * tell. */
int config_check_types(struct config_parser *p);
int config_check_cores(struct config_parser *p);

/* After the last line: what the sections need and exclude, who may connect first. */
int config_check(struct config_parser *p);

#endif
