/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a board file may say: every key and register with its meaning, range and default. One table
 * that the reader, its messages and the tests of the manual share.
 */
#ifndef SERVER_CONFIG_KEYS_H
#define SERVER_CONFIG_KEYS_H

#include "btrace/types.h"

enum config_kind {
    CONFIG_TEXT,      /* char[size] */
    CONFIG_STRING,    /* const char *, kept with the configuration */
    CONFIG_ADDRESS,   /* struct address */
    CONFIG_WORDS,     /* char **, NULL at the end */
    CONFIG_SIZE,      /* size_t, bytes: K, M and G are allowed */
    CONFIG_NUMBER,    /* unsigned */
    CONFIG_COUNT,     /* unsigned; auto: 0 */
    CONFIG_SWITCH,    /* bool */
    CONFIG_FORMAT,    /* formatted and mode of struct config */
    CONFIG_FILE,      /* char[size], relative to the board file */
    CONFIG_FREQUENCY, /* unsigned, Hz: k and M are allowed, of 1000 */
    CONFIG_COMPONENT, /* uint64_t, address of a page */
    CONFIG_RANGE,     /* struct config_range */
    CONFIG_RANGES,    /* struct config_ranges */
    CONFIG_USB_ID,    /* struct config_usb_id */
    CONFIG_CHAIN,     /* struct config_chain */
    CONFIG_WIRE,      /* unsigned: one of a few words */
    CONFIG_AT_EXIT,
    CONFIG_TARGET_EXIT,
    CONFIG_SINK,
    CONFIG_CAPTURE,
    CONFIG_OTHERS,
    CONFIG_RTOS,
    CONFIG_PAST,
    CONFIG_CHANNEL,  /* unsigned, 0 is A */
    CONFIG_LAYOUT,   /* value and direction of struct ftdi_pinout */
    CONFIG_SIGNAL,   /* struct ftdi_line */
    CONFIG_LISTEN,   /* to the list of struct config_access */
    CONFIG_NETWORKS, /* to the list of struct config_access */
    CONFIG_NAMES,    /* to the list of struct tls_files */
    CONFIG_RULES,    /* struct access_rules */
    CONFIG_MODE,     /* unsigned, octal */
    CONFIG_OWNER,    /* struct config_owner */
    CONFIG_SETUP,    /* stands for all keys of [setup], which are addresses */
};

/* What an address may be, in `max` of a key. */
#define CONFIG_ADDRESS_ANY_PORT 1u /* port 0: a free one */
#define CONFIG_ADDRESS_LOOPBACK 2u /* TCP on this machine only */

struct config_key {
    const char *section; /* "core" stands for [core NAME] */
    const char *name;
    enum config_kind kind;
    size_t offset; /* of the field in struct config, or in struct config_core */
    size_t size;   /* CONFIG_TEXT: of the field */
    uint64_t min, max;
    bool required;
    const char *initial; /* value if the key is missing; NULL: the field stays zero */
    const char *allowed; /* for messages */
};

/* All keys, grouped by section. */
const struct config_key *config_keys(size_t *count);

/* The key of a section, or NULL. */
const struct config_key *config_find_key(const char *section, const char *name);

/* A register that a [core] section may hold. */
struct config_register {
    const char *name;
    uint32_t index; /* in the trace unit's programmer's model; CONFIG_NO_INDEX if it has none */
    bool of_core;   /* the processor's, not its trace unit's */
};

#define CONFIG_NO_INDEX UINT32_MAX

const struct config_register *config_registers(size_t *count);
const struct config_register *config_find_register(const char *name);

/* Names of `type` in a [core] section. */
const char *const *config_core_types(size_t *count);

/* The candidate that looks most like a misspelt word. Start with {.word = ...}. */
struct config_nearest {
    const char *word;
    const char *best; /* NULL: none is like it */
    unsigned distance;
};

void config_nearest_offer(struct config_nearest *n, const char *candidate);

/* One more name in a list for a message, of which `size` bytes are kept; those that have no room
 * are
 * "...". It begins as an empty text. */
#define CONFIG_LIST_SIZE 400
void config_list(char *text, size_t size, const char *name);

#endif
