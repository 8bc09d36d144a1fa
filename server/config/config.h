/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Board files: INI text that says how a target is reached, where its trace comes from, and which
 * trace unit belongs to which core. configs/ has one a board, with every key explained where it
 * stands; config_keys.c is the table of all keys.
 *
 * In values, $RUN is a private folder that exists while the daemon runs, $DIR the folder of the
 * board file, $PLUGIN the virtual board's plugin, $$ a dollar sign.
 */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "decoder/port/formatter.h"
#include "drivers/adi/debug_link.h"
#include "drivers/base/message.h"
#include "drivers/probe/ftdi/ftdi.h"
#include "drivers/rtos/rtos.h"
#include "drivers/snapshot/snapshot.h"
#include "server/base/audit.h"
#include "server/base/console.h"
#include "server/net/address.h"
#include "server/net/tls.h"

#include <string.h>

struct elf_image;

#define CONFIG_MAX_CORES    16
#define CONFIG_MAX_SETUP    256
#define CONFIG_MAX_LISTEN   8
#define CONFIG_MAX_NETWORKS 64
#define CONFIG_VANISHED     45 /* seconds, without a board file */
#define CONFIG_MAX_THREADS  16
#define CONFIG_MAX_CHAIN    8 /* devices of a JTAG chain */
#define CONFIG_ALL_PORTS    UINT32_MAX
#define CONFIG_NO_AP        UINT32_MAX

/* One value of [gdb] listen. */
struct config_listen {
    bool systemd; /* the sockets that systemd hands over, and no address */
    bool tls;     /* also on this machine alone; others have it whenever there is a [tls] */
    struct address address;
};

struct config_owner {
    unsigned uid, gid; /* ADDRESS_SAME_OWNER: as it is */
};

/* Who may connect, and where. */
struct config_access {
    struct tls_files tls;
    struct access_rules roles[ACCESS_ROLES];   /* none at all: everybody may be in control */
    struct network allow[CONFIG_MAX_NETWORKS]; /* none: all, where TLS guards */
    unsigned allow_count;
    struct config_listen listen[CONFIG_MAX_LISTEN];
    unsigned listen_count;
    unsigned unix_mode; /* of the files of Unix sockets */
    struct config_owner unix_owner;
    unsigned vanished; /* seconds without any sign of a TCP peer after which it is gone */
};

struct config_range {
    uint64_t address, size; /* bytes */
};

#define CONFIG_MAX_RANGES 8

struct config_ranges {
    struct config_range at[CONFIG_MAX_RANGES];
    unsigned count;
};

static inline bool config_ranges_hold(const struct config_ranges *ranges, uint64_t address)
{
    for (unsigned i = 0; i < ranges->count; i++)
        if (address >= ranges->at[i].address &&
            address - ranges->at[i].address < ranges->at[i].size)
            return true;
    return false;
}

/* When RAM is read for the values of the past. */
enum config_snapshot {
    CONFIG_SNAPSHOT_USUAL,      /* in the background, of one core behind our probe, else never */
    CONFIG_SNAPSHOT_BACKGROUND, /* while the core is halted and nobody else asks for anything */
    CONFIG_SNAPSHOT_HALT,       /* before clients are told of the halt */
    CONFIG_SNAPSHOT_OFF,        /* never, nor registers */
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
    uint64_t trace_unit;                  /* where its registers are; 0: to be found */
    unsigned funnel_port;                 /* CONFIG_ALL_PORTS: not known */
    uint64_t debug;                       /* an A core's debug registers; 0: to be found */
    uint64_t cti;                         /* its cross trigger interface; 0: none that is used */
    struct config_ranges shared;          /* RAM that others write */
    struct config_ranges ram;             /* RAM that the program file does not name */
    unsigned mpidr;                       /* what it reads as; 0: not known */
    unsigned rtos;                        /* enum rtos_kind */
};

struct config_usb_id {
    uint16_t vendor, product; /* both 0: any */
    char path[32];            /* bus and ports, "1-2.3"; "": any */
};

struct config_chain {
    uint8_t ir_lengths[CONFIG_MAX_CHAIN]; /* the device next to TDO first */
    unsigned count;                       /* 0: one device of 4 bits */
};

/* A probe that we drive ourselves; then there is no [target] connect. */
struct config_probe {
    char type[32];    /* of server/probe/probe_table.h; "": no probe */
    char serial[128]; /* "": any */
    struct config_usb_id usb;
    unsigned wire;      /* enum debug_wire */
    unsigned clock;     /* Hz */
    unsigned ap;        /* number of the MEM-AP */
    unsigned memory_ap; /* of the system's memory, beside an A core's debug bus; CONFIG_NO_AP */
    bool connect_under_reset;
    unsigned at_exit; /* enum config_at_exit */
    struct config_chain jtag_chain;
    unsigned jtag_device; /* place of the DAP in it */
    unsigned channel;     /* of an FTDI adapter: 0 is A */
    struct ftdi_pinout layout;
};

/* What captures a trace port, or a pin of it, and is read by us. */
enum config_capture_type {
    CONFIG_CAPTURE_NONE, /* a socket, the probe, or nothing */
    CONFIG_CAPTURE_ORBTRACE,
    CONFIG_CAPTURE_FTDI_FIFO,
    CONFIG_CAPTURE_FTDI_UART,
    CONFIG_CAPTURE_TTY,
};

struct config_capture {
    unsigned type;    /* enum config_capture_type */
    char serial[128]; /* "": any */
    struct config_usb_id usb;
    char device[256]; /* of a tty */
    unsigned baud;    /* of a tty or UART */
    unsigned channel; /* of an FTDI UART: 0 is A */
};

/* [target] monitor: "none", "all", or first words. Those that do no more than halt, run, reset and
 * look, of the servers that boards are used with. */
#define CONFIG_MONITOR_DEFAULT                                                                     \
    "reset halt resume go step stop cont system_reset wait_halt poll targets reg regs mdw mdh "    \
    "mdb mww mwh mwb info help version"

enum config_at_exit {
    CONFIG_EXIT_RUN,
    CONFIG_EXIT_HALT,
    CONFIG_EXIT_LEAVE, /* as it is then; not of a probe */
};

/* What becomes of clients that come while another is in control. */
enum config_others {
    CONFIG_OTHERS_REFUSE,
    CONFIG_OTHERS_OBSERVE, /* they look on */
    CONFIG_OTHERS_QUEUE,   /* they look on, and get control in the order that they came */
};

/* Where trace goes when we program the trace units ourselves. */
enum config_sink {
    CONFIG_SINK_UNSET, /* the key is missing: nothing is programmed but [setup] */
    CONFIG_SINK_NONE,  /* no trace */
    CONFIG_SINK_ETB,
    CONFIG_SINK_TMC,
    CONFIG_SINK_MTB,  /* trace unit and buffer in one; without frames */
    CONFIG_SINK_RING, /* a TPIU whose port goes into memory */
    CONFIG_SINK_SWO,
    CONFIG_SINK_TPIU,
};

/* Addresses of components as the bus sees them; 0: to be found. */
struct config_coresight {
    uint64_t rom;
    uint64_t etb;
    uint64_t tmc;
    uint64_t mtb;
    uint64_t etf; /* between the sources and the sink; 0: none that must be opened */
    uint64_t tpiu;
    uint64_t funnel;
    uint64_t replicator;
    unsigned replicator_port;       /* its output that leads to the sink; CONFIG_ALL_PORTS: both */
    struct config_range etr_memory; /* of a TMC that stores in the system's memory; size 0: none */
    struct config_range mtb_memory; /* of an MTB: a power of two, at a multiple of that */
    struct config_range ring_memory;
    unsigned ring_position; /* register: the address that is written next */
    unsigned ring_overflow; /* register; 0: none */
    unsigned ring_overflow_bits;
};

#define CONFIG_MAX_WATCHES 4
#define CONFIG_MAX_WATCHED 32768u /* bytes of one */

/* Data whose accesses are traced. */
struct config_watch {
    char name[64];    /* as the board file has it */
    uint64_t address; /* known after config_find_watches() where it has a variable's name */
    uint64_t size;    /* bytes, a power of two; 0: that of the variable */
    bool named, found;
    bool value, pc, place; /* what of an access is told */
    int comparator; /* of the DWT; without [trace] sink its number in the list. -1: none is free */
};

/* Name of a watch: the word that holds the address of the kernel's current task. */
#define CONFIG_WATCH_TASK "current-task"

/* The ITM and DWT of a Cortex-M. */
struct config_itm {
    char ports_text[128], dwt_text[128], watch_text[256]; /* as the keys have it; "": not given */
    unsigned id;                                          /* in frames */
    unsigned prescaler;                                   /* of local timestamps; 0: none */
    bool console;                                         /* port 0 goes to GDB's console */
    struct address listen;                                /* ADDRESS_NONE: no port */
    /* What the texts say. */
    bool on;
    uint32_t ports; /* mask */
    bool exceptions;
    unsigned samples, cycles; /* cycles between two; 0: none */
    struct config_watch watches[CONFIG_MAX_WATCHES];
    unsigned watch_count;
    struct snapshot_device device; /* as a recording describes it */
};

/* One write to the target's memory before it runs: pins, clocks, the trace unit's registers. */
struct config_setup {
    uint32_t address;
    uint32_t value;
    enum { CONFIG_SETUP_WRITE, CONFIG_SETUP_SET, CONFIG_SETUP_CLEAR } how; /* bits, the last two */
    unsigned line;                                                         /* of the board file */
};

/* [limits], of clients of GDB. */
struct gdb_limits {
    unsigned clients; /* at once; those that are being refused come on top */
    size_t packet;    /* bytes of the longest packet, announced as PacketSize */
    size_t memory;    /* bytes a client may leave unread before it is dropped */
    unsigned idle_s;  /* without a packet, while nothing is owed to it; 0: for ever */
    /* Until the first whole packet is there, and from the beginning of each later one to its end.
     */
    unsigned silent_s;
    unsigned identity; /* clients of one identity at once; 0: as many as all */
};

/* [record], beside its limits. */
struct config_record {
    bool start;    /* record from the start, if there is a dir */
    bool compress; /* the trace, by zstd */
};

struct config {
    char path[512]; /* of the board file, as given */
    char name[64];
    char description[256];
    /* [target] */
    struct address target;
    char **command;               /* words, NULL at the end; NULL: nothing is started */
    char user[64];                /* that `command` runs as; "": ours */
    char reset[256];              /* `monitor` text that resets the target; "" if not known */
    unsigned at_exit;             /* enum config_at_exit, of a target that outlives btraced */
    _Atomic unsigned deadline_ms; /* of an answer of the target, and of a halt */
    unsigned connect_timeout;     /* seconds, for the first answer of a remote target; 0: no end */
    char monitor[256];            /* commands of its GDB server that clients may give: see below */
    struct config_probe probe;
    /* [trace] */
    struct address trace; /* ADDRESS_NONE: it comes through the probe or target */
    bool trace_listens;   /* the source connects to us */
    struct config_capture capture;
    bool orbflow;           /* what comes is ORBFLOW, and frames are made of it */
    struct address control; /* of the virtual board */
    bool formatted;
    enum formatter_mode mode;  /* of the frames */
    size_t buffer;             /* bytes of a trace buffer that is read at each halt; 0: a stream */
    size_t ring;               /* bytes */
    unsigned threads;          /* that decode; 0: as many as there are cores */
    _Atomic unsigned drain_ms; /* a stop waits so long for the trace of the last run */
    bool backpressure;         /* the source can be held up while the decoder catches up */
    unsigned sink;             /* enum config_sink */
    unsigned swo_rate;         /* bits a second */
    unsigned trace_clock;      /* Hz, of the port's input: TRACECLKIN */
    unsigned tpiu_width;       /* pins */
    struct config_itm itm;
    struct config_coresight coresight;
    /* [history] */
    size_t memory;     /* trace bytes kept for each core, a power of two */
    size_t checkpoint; /* trace bytes between checkpoints, at most half of it */
    /* [past] */
    struct {
        unsigned snapshot;     /* enum config_snapshot */
        size_t snapshot_bytes; /* of RAM that are read at one halt, at most */
        size_t memory;         /* bytes that known states and what follows from them may take */
    } past;
    /* [setup] */
    struct config_setup setup[CONFIG_MAX_SETUP]; /* in the order of the file */
    unsigned setup_count;
    /* [flash] */
    struct {
        char algorithm[512]; /* "": none */
        struct config_range ram;
    } flash;
    bool attach; /* no key but an option: the target is taken as it is, nothing is reset */
    /* [gdb] */
    struct config_access access;
    unsigned others; /* enum config_others */
    /* [limits] */
    struct gdb_limits limits;
    struct audit_settings audit;
    struct address metrics; /* ADDRESS_NONE: no page */
    /* [record] */
    char record_dir[512]; /* "": none; recordings of clients go below it */
    struct config_record record;
    size_t record_max_size;    /* bytes of trace in one recording; 0: no limit */
    size_t record_keep_free;   /* bytes of the disk */
    unsigned record_max_count; /* recordings below `dir`, beyond which clients begin none */
    struct config_core cores[CONFIG_MAX_CORES];
    unsigned core_count;
    void *strings; /* private */
};

/* What the dollar names stand for. */
struct config_names {
    const char *run;    /* $RUN */
    const char *plugin; /* $PLUGIN; NULL: config_load() looks for it */
    /* Told of each mistake, the first included; NULL: the first is enough. */
    void (*mistake)(void *ctx, const char *text);
    void *ctx;
    /* Set by config_load() alone. */
    const char *no_plugin; /* where it should be */
    const char *dir_of;    /* $DIR is the folder of this file; NULL: of the board file's path */
    bool access_only;      /* as config_load_access() */
};

/*
 * Reads and checks a board file; `path` may be the bare name of an installed one ("virtual-a9").
 * Returns 0, or BT_ERR_IO, BT_ERR_FORMAT (a line, key or value is wrong, or one is missing),
 * BT_ERR_NOMEM, with *why = "FILE:LINE: KEY: what is wrong, what is allowed", the first of the
 * mistakes. Release in all cases.
 */
int config_load(struct config *config, const char *path, const struct config_names *names,
                struct message *why);
void config_release(struct config *config);

/* The same for those alone who may connect, and what they may use: other sections than [gdb],
 * [tls], [limits] and [metrics] may be incomplete. */
int config_load_access(struct config *config, const char *path, struct message *why);

/* The same for text in memory; `path` is for the messages and $DIR. */
int config_parse(struct config *config, const char *text, size_t length, const char *path,
                 const struct config_names *names, struct message *why);

/*
 * Adds the addresses of an option `--listen` to the list. BT_ERR_FORMAT with *why filled: what is
 * wrong, what is allowed.
 */
int config_access_listen(struct config_access *access, const char *text, struct message *why);

/* Whether addresses that other machines reach are guarded, and none comes twice. BT_ERR_FORMAT with
 * *why filled. */
int config_access_check(struct config_access *access, struct message *why);

/* There is a [tls]. */
static inline bool config_has_tls(const struct config_access *access)
{
    return access->tls.ca[0] != '\0';
}

/* The same for one address: whether what is known of those who come is enough. */
int config_access_guarded(const struct config_access *access, const struct config_listen *listen,
                          struct message *why);

/* The target is reached through a probe of ours. */
static inline bool config_has_probe(const struct config *config)
{
    return config->probe.type[0] != '\0';
}

/* What `[past] snapshot` comes to; never CONFIG_SNAPSHOT_USUAL. */
static inline enum config_snapshot config_snapshot(const struct config *config)
{
    if (config->past.snapshot != CONFIG_SNAPSHOT_USUAL)
        return (enum config_snapshot)config->past.snapshot;
    return config_has_probe(config) && config->core_count == 1 ? CONFIG_SNAPSHOT_BACKGROUND
                                                               : CONFIG_SNAPSHOT_OFF;
}

/* Trace comes by a way of its own, not through the probe or the target's memory. */
static inline bool config_has_trace_input(const struct config *config)
{
    return config->trace.kind != ADDRESS_NONE || config->capture.type != CONFIG_CAPTURE_NONE;
}

/* A capture unit with several inputs is on the SWO pin. */
static inline bool config_captures_swo(const struct config *config)
{
    return config->sink == CONFIG_SINK_SWO ||
           (config->sink == CONFIG_SINK_UNSET && config->swo_rate != 0);
}

/* Trace units and sink are found and programmed, and what the hardware says configures the
 * decoder: cores may come without `source` and registers. */
static inline bool config_programs_trace(const struct config *config)
{
    return config->sink > CONFIG_SINK_NONE;
}

/* An ITM's trace comes without frames: no core has history. */
static inline bool config_is_itm_alone(const struct config *config)
{
    return config->itm.on && !config->formatted;
}

/* Addresses and sizes of watched variables, by the first core's program. Returns NULL, or the name
 * of one that cannot be watched, with *why filled. The others are found all the same. */
const char *config_find_watches(struct config *config, struct message *why);

/*
 * Another value for the key `itm`, `dwt` or `watch`, "none" for none. BT_OK; BT_ERR_INVAL: it is
 * not possible, and the old one holds; BT_ERR_RANGE: a variable cannot be watched, the others are.
 * *why is filled then.
 */
int config_set_itm(struct config *config, const char *key, const char *text, struct message *why);

/* Is this core an ARMv7-A, by its name? */
static inline bool config_is_a_profile(const struct config_core *core)
{
    return strncmp(core->type, "Cortex-A", 8) == 0;
}

/* Sets a register of a core's trace unit, as read from the hardware. 0 or BT_ERR_NOMEM. */
int config_set_register(struct config_core *core, const char *name, uint32_t value);

/* Forgets the registers of its trace unit whose names begin with `prefix`. Returns the name of the
 * first of them that the board file has, or NULL. */
const char *config_drop_registers(struct config_core *core, const char *prefix);

/* Names the trace unit of core number i, as `source` does, when the hardware has told its type.
 * 0 or BT_ERR_NOMEM. */
int config_set_source(struct config *config, unsigned i, const char *type);

/* ID of the core's trace unit in frames, under the name that its protocol gives the register. False
 * if the board file does not tell. */
bool config_trace_id(const struct config_core *core, uint64_t *id);

/*
 * Compares two readings of a board file, and sets what has changed and may change at run time in
 * `running`, too. Says of each key that has changed when it holds. Those of [tls] and `allow` are
 * the caller's: access_control_reload() comes first.
 */
void config_reload(const struct config *before, const struct config *now, struct config *running,
                   const struct console *c);

/* For --check-config: `mistake` is told of each program that is there and cannot be used for its
 * core. Returns how many there are. */
unsigned config_check_programs(const struct config *c, void (*mistake)(void *ctx, const char *text),
                               void *ctx);

/* For --check-config: a line on standard output for each program and file that is not there. It may
 * still come: the board file is good without it. */
void config_notes(const struct config *c);

/* Opens the core's program file. A bt_error, with the reason in `why` and *elf NULL. */
int config_open_program(const struct config_core *core, struct elf_image **elf,
                        struct message *why);

#endif
