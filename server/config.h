/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Board files: INI text that says how a target is reached, where its trace comes from, and which
 * trace unit belongs to which core. configs/ has one a board, with every key explained where it
 * stands.
 *
 *   [board]    name, description
 *   [target]   connect, command, reset
 *   [trace]    listen or connect, control, format, buffer, ring, drain_ms, backpressure
 *   [history]  memory, checkpoint
 *   [gdb]      listen
 *   [record]   dir
 *   [setup]    ADDRESS, as often as wanted
 *   [core NAME]  type, program, thread, source, and the trace unit's registers by name
 *
 * In values, $RUN is a private folder that exists while the daemon runs, $DIR the folder of the
 * board file, $PLUGIN the virtual board's plugin, $$ a dollar sign.
 */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "decoder/formatter.h"
#include "drivers/snapshot.h"
#include "server/recording.h"

#define CONFIG_MAX_CORES 16
#define CONFIG_MAX_SETUP 256

/* Where a stream socket is. */
struct config_address {
    enum { CONFIG_NOWHERE, CONFIG_TCP, CONFIG_UNIX } kind;
    char host[256]; /* CONFIG_TCP: name or number; CONFIG_UNIX: path */
    unsigned port;
};

struct config_core {
    char name[64];
    char type[64];     /* "Cortex-A9" */
    char program[512]; /* ELF file whose segments are the code; "" if none */
    unsigned thread;   /* of the target's GDB server, 1-based, in the order that it lists them */
    bool has_source;
    /* Core and trace unit as a recording describes them: what configures the decoder. */
    struct snapshot_device core_device;
    struct snapshot_device source_device; /* type "PTM1.1", "ETM3.5"; its registers */
};

/* One write to the target's memory before it runs: pins, clocks, the trace unit's registers. */
struct config_setup {
    uint32_t address;
    uint32_t value;
    enum { CONFIG_SETUP_WRITE, CONFIG_SETUP_SET, CONFIG_SETUP_CLEAR } how; /* bits, the last two */
    unsigned line;                                                         /* of the board file */
};

struct config {
    char path[512]; /* of the board file, as given */
    char name[64];
    char description[256];
    /* [target] */
    struct config_address target;
    char **command;  /* words, NULL at the end; NULL: nothing is started */
    char reset[256]; /* `monitor` text that resets the target; "" if not known */
    /* [trace] */
    struct config_address trace;
    bool trace_listens;            /* the source connects to us */
    struct config_address control; /* of the virtual board */
    bool formatted;
    enum formatter_mode mode; /* of the frames */
    size_t buffer;            /* bytes of a trace buffer that is read at each halt; 0: a stream */
    size_t ring;              /* bytes */
    unsigned drain_ms;        /* a stop waits so long for the trace of the last stretch */
    bool backpressure;        /* the source can be held up while the decoder catches up */
    /* [history] */
    size_t memory;     /* trace bytes kept for each core, a power of two */
    size_t checkpoint; /* trace bytes between checkpoints, at most half of it */
    /* [setup] */
    struct config_setup setup[CONFIG_MAX_SETUP]; /* in the order of the file */
    unsigned setup_count;
    /* [gdb] */
    struct config_address listen; /* loopback, port 0: a free one */
    /* [record] */
    char record_dir[512]; /* "": no recording from the start */
    struct config_core cores[CONFIG_MAX_CORES];
    unsigned core_count;
    void *strings; /* private */
};

/* What the dollar names stand for. */
struct config_names {
    const char *run;    /* $RUN */
    const char *plugin; /* $PLUGIN; NULL: the installed one, or the one beside the program */
};

/*
 * Reads and checks a board file; `path` may be the bare name of an installed one ("virtual-a9").
 * Returns 0, or BT_ERR_IO, BT_ERR_FORMAT (a line, key or value is wrong, or one is missing),
 * BT_ERR_NOMEM, with *why = "FILE:LINE: KEY: what is wrong, what is allowed". Release in all cases.
 */
int config_load(struct config *config, const char *path, const struct config_names *names,
                struct message *why);
void config_release(struct config *config);

/* The same for text in memory; `path` is for the messages and $DIR. */
int config_parse(struct config *config, const char *text, size_t length, const char *path,
                 const struct config_names *names, struct message *why);

/* "HOST:PORT", ":PORT" (loopback), "[ADDRESS]:PORT" or "unix:PATH". BT_ERR_FORMAT. */
int config_parse_address(const char *text, struct config_address *address);

/* An address that only this machine reaches; "localhost" becomes a number. */
bool config_is_loopback(struct config_address *address);

/* Text of an address, as it is written in a board file. */
void config_format_address(const struct config_address *address, char *text, size_t size);

#endif
