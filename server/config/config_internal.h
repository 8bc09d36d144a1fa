/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the board file reader share. */
#ifndef SERVER_CONFIG_INTERNAL_H
#define SERVER_CONFIG_INTERNAL_H

#include "config_keys.h"
#include "server/config/config.h"

#define CONFIG_KEYS_MAX  96
#define CONFIG_VALUE_MAX 4096 /* characters of a value, and of a command's word */

/* Lines where keys stand, by their place in the table; 0: not given. */
struct config_lines {
    unsigned section;
    unsigned key[CONFIG_KEYS_MAX];
};

struct config_parser {
    struct config *config;
    const struct config_names *names;
    const char *path; /* for messages */
    const char *dir;  /* $DIR */
    struct message *why;
    bool failed;               /* *why is filled in */
    bool access_only;          /* only [gdb] and [tls] must be complete */
    struct config_lines lines; /* of all sections but [core] */
    struct config_lines cores[CONFIG_MAX_CORES];
};

/* Sets *why to "FILE:LINE: KEY: text" (no LINE if that is 0) and returns BT_ERR_FORMAT. */
int config_fail(struct config_parser *p, unsigned line, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* One more name in a list for a message, of which `size` bytes are kept; those that have no room
 * are
 * "...". It begins as an empty text. */
#define CONFIG_LIST_SIZE 400
void config_list(char *text, size_t size, const char *name);

/* A copy that lives as long as the configuration; NULL: out of memory. */
char *config_keep(struct config *config, const char *text);

/* The value of a key of the table, to its field in `base`. */
int config_store(struct config_parser *p, unsigned line, const struct config_key *key, void *base,
                 const char *value);

/* Replaces the dollar names. */
int config_expand(struct config_parser *p, unsigned line, const char *key, const char *text,
                  char *out, size_t size);

/* A decimal number, or a hexadecimal one with 0x, from `text` on: the first character behind it;
 * NULL: there is none. */
const char *config_scan_number(const char *text, uint64_t *value);

/* The same with K, M or G behind it; all of the text. */
bool config_parse_size(const char *text, uint64_t *value);

/* A decimal number, or a hexadecimal one with 0x; all of the text. */
bool config_parse_number(const char *text, uint64_t *value);

/* A register line of core number i. */
int config_add_register(struct config_parser *p, unsigned line, unsigned i, const char *name,
                        const char *value);

/* A line of [setup]. */
int config_add_setup(struct config_parser *p, unsigned line, const char *address,
                     const char *value);

/* "[section] name: is missing", `because` behind it. */
int config_missing(struct config_parser *p, const char *section, const char *name,
                   const char *because);

/* The first key of a section that is given: its line, and its name; 0: none. */
unsigned config_first_key(const struct config_parser *p, const char *section, const char **name);

/* After the last line: what [probe], [trace] and their like need and exclude. */
int config_check_target(struct config_parser *p);
int config_check_trace(struct config_parser *p);

/* Kinds of values that only the keys of probes and trace units have. */
int config_store_hardware(struct config_parser *p, unsigned line, const struct config_key *key,
                          void *field, const char *value);

/* The same for who may connect. Lists are split before dollar names are replaced. */
int config_store_access(struct config_parser *p, unsigned line, const struct config_key *key,
                        void *field, const char *value);

/* NULL, or why the text is no value of `listen`. */
const char *config_listen_problem(const char *text, struct config_listen *listen);

/* After the last line: whether addresses that others reach are guarded. */
int config_check_access(struct config_parser *p);

/* Line of a key that is not a core's; 0: not given. */
unsigned config_line_of(const struct config_parser *p, const char *section, const char *name);

/* After the last line: what only all sections together can tell. */
int config_check_cores(struct config_parser *p);

/* The file of a board's bare name. Returns 0 or BT_ERR_IO with *why filled. */
int config_find_board(const char *name, char *path, size_t size, struct message *why);

/* The virtual board's plugin; false if there is none (`path` then names where it should be). */
bool config_find_plugin(char *path, size_t size);

#endif
