/* SPDX-License-Identifier: BSD-3-Clause */
/* After the last line of a board file: what goes together, and what excludes the other. */
#include "config_internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define MTB_MIN  16u
#define MTB_MAX  (64u << 20)
#define RING_MIN 32u

/* "[section] name: is missing", `because` behind it. */
static int missing_key(struct config_parser *p, const char *section, const char *name,
                       const char *because)
{
    char label[128];
    snprintf(label, sizeof label, "[%s] %s", section, name);
    return config_fail(p, 0, label, "is missing%s; allowed: %s", because,
                       config_find_key(section, name)->allowed);
}

/* The first key of a section that is given: its line, and its name; 0: none. */
static unsigned first_key(const struct config_parser *p, const char *section, const char **name)
{
    size_t count;
    const struct config_key *keys = config_keys(&count);
    for (size_t k = 0; k < count; k++) {
        if (p->lines.key[k] && strcmp(keys[k].section, section) == 0) {
            *name = keys[k].name;
            return p->lines.key[k];
        }
    }
    return 0;
}

static int check_jtag_keys(struct config_parser *p)
{
    const struct config_probe *probe = &p->config->probe;
    unsigned chain = config_line_of(p, "probe", "jtag_chain");
    unsigned device = config_line_of(p, "probe", "jtag_device");
    unsigned line = chain ? chain : device;
    if (line && probe->wire != DEBUG_WIRE_JTAG)
        return config_fail(p, line, chain ? "jtag_chain" : "jtag_device",
                           "is of the other wire; allowed: with wire = jtag");
    if (probe->jtag_device >= (probe->jtag_chain.count ? probe->jtag_chain.count : 1))
        return config_fail(p, device, "jtag_device",
                           "is not in 'jtag_chain'; allowed: a place from 0 to its last device");
    return BT_OK;
}

/* Keys of FTDI adapters, and what an adapter needs to hold the target in reset. */
static int check_ftdi(struct config_parser *p)
{
    static const char *const keys[] = {"channel",        "layout",        "ntrst",
                                       "nsrst",          "swd_enable",    "swdio_enable",
                                       "adaptive_clock", "sample_falling"};
    const struct config_probe *probe = &p->config->probe;
    bool ftdi = strcmp(probe->type, "ftdi") == 0;
    int error = BT_OK;
    for (size_t i = 0; !ftdi && i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "probe", keys[i]);
        if (line)
            error = config_fail(p, line, keys[i], "is of another probe; allowed: with type = ftdi");
    }
    if (error)
        return error;
    if (ftdi && probe->connect_under_reset && !config_line_of(p, "probe", "nsrst"))
        return missing_key(p, "probe", "nsrst", ", which connect_under_reset needs");
    unsigned line = config_line_of(p, "probe", "adaptive_clock");
    if (probe->layout.adaptive_clock && probe->wire != DEBUG_WIRE_JTAG)
        return config_fail(p, line, "adaptive_clock",
                           "is of the other wire; allowed: with wire = jtag");
    return BT_OK;
}

/* Those that there are drivers for. */
static bool is_known_probe(const char *type)
{
    return strcmp(type, "cmsis-dap") == 0 || strcmp(type, "ftdi") == 0;
}

static int check_probe(struct config_parser *p)
{
    static const char *const others[] = {"connect", "command", "at_exit"};
    const struct config_probe *probe = &p->config->probe;
    unsigned line = config_line_of(p, "probe", "type");
    if (!line)
        return missing_key(p, "probe", "type", "");
    if (!is_known_probe(probe->type))
        return config_fail(p, line, "type", "'%s' is not a probe that is known; allowed: %s",
                           probe->type, config_find_key("probe", "type")->allowed);
    int result = BT_OK;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        line = config_line_of(p, "target", others[i]);
        if (line)
            result = config_fail(p, line, others[i],
                                 "is for another GDB server, but with [probe] btraced debugs the "
                                 "target itself; allowed: this key or the section [probe]");
    }
    if (!config_line_of(p, "probe", "memory_ap"))
        p->config->probe.memory_ap = CONFIG_NO_AP;
    int error = check_ftdi(p), jtag = check_jtag_keys(p);
    return result ? result : error ? error : jtag;
}

static int check_flash(struct config_parser *p)
{
    unsigned algorithm = config_line_of(p, "flash", "algorithm");
    unsigned ram = config_line_of(p, "flash", "ram");
    if (!algorithm && !ram)
        return BT_OK;
    if (!config_has_probe(p->config))
        return config_fail(p, algorithm ? algorithm : ram, algorithm ? "algorithm" : "ram",
                           "is not used: the target's own GDB server programs its flash; allowed: "
                           "with [probe]");
    if (!algorithm)
        return missing_key(p, "flash", "algorithm", "");
    return ram ? BT_OK : missing_key(p, "flash", "ram", "");
}

static int check_exit(struct config_parser *p)
{
    unsigned line = config_line_of(p, "target", "at_exit");
    if (line && p->config->command)
        return config_fail(p, line, "at_exit",
                           "is not used: the program of 'command' ends with btraced; allowed: one "
                           "of the two keys");
    return BT_OK;
}

/* A GDB server's name stands for commands of it that do no more than halt, run, reset and look. The
 * program that is started says which one it is, if no key does. */
static void complete_monitor(struct config_parser *p)
{
    static const struct {
        const char *name, *program, *words;
    } servers[] = {
        {"openocd", "openocd",
         "reset halt resume step wait_halt poll targets reg mdw mdh mdb mww mwh mwb help version"},
        {"qemu", "qemu-system-", "system_reset stop cont info help"},
        {"pyocd", "pyocd", "reset halt go resume step reg regs help"},
        {"jlink", "JLinkGDBServer",
         "reset halt go step waithalt reg regs memU8 memU16 memU32 help"},
    };
    struct config *c = p->config;
    const char *program = c->command ? c->command[0] : "", *slash = strrchr(program, '/');
    bool given = config_line_of(p, "target", "monitor");
    program = slash ? slash + 1 : program;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        if (given ? strcmp(c->monitor, servers[i].name) == 0
                  : strncmp(program, servers[i].program, strlen(servers[i].program)) == 0) {
            snprintf(c->monitor, sizeof c->monitor, "%s", servers[i].words);
            return;
        }
}

static int check_user(struct config_parser *p)
{
    unsigned line = config_line_of(p, "target", "user");
    if (line && !p->config->command)
        return config_fail(p, line, "user", "is not used without 'command'; allowed: with it");
    return BT_OK;
}

static int check_target(struct config_parser *p)
{
    const char *key;
    int result = check_exit(p), user = check_user(p), error = BT_OK;
    result = result ? result : user;
    complete_monitor(p);
    if (first_key(p, "probe", &key))
        error = check_probe(p);
    else if (!config_line_of(p, "target", "connect"))
        error = missing_key(p, "target", "connect", "");
    int flash = error ? BT_OK : check_flash(p);
    return result ? result : error ? error : flash;
}

/* [trace] and [capture]. */

#define CAPTURE_BIT(type) (1u << (type))
#define ON_USB                                                                                     \
    (CAPTURE_BIT(CONFIG_CAPTURE_ORBTRACE) | CAPTURE_BIT(CONFIG_CAPTURE_FTDI_FIFO) |                \
     CAPTURE_BIT(CONFIG_CAPTURE_FTDI_UART))
#define WITH_RATE (CAPTURE_BIT(CONFIG_CAPTURE_FTDI_UART) | CAPTURE_BIT(CONFIG_CAPTURE_TTY))

/* Keys of one type of capture unit, or some. */
static int check_capture_keys(struct config_parser *p)
{
    static const struct {
        const char *name;
        unsigned types;
        const char *allowed;
    } keys[] = {
        {"serial", ON_USB, "with a capture unit on USB"},
        {"usb", ON_USB, "with a capture unit on USB"},
        {"device", CAPTURE_BIT(CONFIG_CAPTURE_TTY), "with type = tty"},
        {"baud", WITH_RATE, "with type = tty or ftdi-uart"},
        {"channel", CAPTURE_BIT(CONFIG_CAPTURE_FTDI_UART), "with type = ftdi-uart"},
    };
    int error = BT_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "capture", keys[i].name);
        if (line && !(keys[i].types & CAPTURE_BIT(p->config->capture.type)))
            error = config_fail(p, line, keys[i].name, "is not used with this 'type'; allowed: %s",
                                keys[i].allowed);
    }
    return error;
}

/* Keys of [trace] that only make sense with a socket. */
static int check_no_socket(struct config_parser *p)
{
    static const char *const keys[] = {"listen", "connect", "control", "buffer"};
    int error = BT_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "trace", keys[i]);
        if (line)
            error = config_fail(p, line, keys[i],
                                "is for trace that comes over a socket; allowed: this key or the "
                                "section [capture]");
    }
    if (!p->config->backpressure)
        return error;
    return config_fail(p, config_line_of(p, "trace", "backpressure"), "backpressure",
                       "cannot hold up a capture unit, which would lose trace; allowed: no");
}

static int check_width(struct config_parser *p)
{
    const struct config *c = p->config;
    unsigned width = c->tpiu_width;
    if (c->capture.type != CONFIG_CAPTURE_ORBTRACE || config_captures_swo(c) || width == 1 ||
        width == 2 || width == 4)
        return BT_OK;
    return config_fail(p, config_line_of(p, "trace", "tpiu_width"), "tpiu_width",
                       "is not a width that ORBTrace captures; allowed: 1, 2 or 4");
}

static int check_capture(struct config_parser *p)
{
    struct config_capture *c = &p->config->capture;
    const char *key;
    if (!first_key(p, "capture", &key))
        return BT_OK;
    if (c->type == CONFIG_CAPTURE_NONE)
        return missing_key(p, "capture", "type", "");
    int error = check_capture_keys(p);
    if (!error && c->type == CONFIG_CAPTURE_TTY && !c->device[0])
        error = missing_key(p, "capture", "device", "");
    if (!c->baud)
        c->baud = p->config->swo_rate;
    if (!error && !c->baud && (WITH_RATE & CAPTURE_BIT(c->type)))
        error = missing_key(p, "capture", "baud", "");
    if (!error)
        error = check_no_socket(p);
    return error ? error : check_width(p);
}

static int check_swo(struct config_parser *p)
{
    if (p->config->sink != CONFIG_SINK_SWO)
        return BT_OK;
    int error = BT_OK;
    if (!p->config->swo_rate)
        error = missing_key(p, "trace", "swo_rate", ", which sink = swo needs");
    if (!p->config->trace_clock)
        error = missing_key(p, "trace", "trace_clock", ", which sink = swo needs");
    if (error)
        return error;
    if (p->config->trace_clock < p->config->swo_rate)
        return config_fail(p, config_line_of(p, "trace", "swo_rate"), "swo_rate",
                           "is faster than 'trace_clock'; allowed: that clock divided by 1 to "
                           "8192");
    return BT_OK;
}

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

static bool may_have_mtb(const struct config_core *core)
{
    static const char *const types[] = {"Cortex-M0+", "Cortex-M23", "Cortex-M33"};
    bool found = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        found |= strcmp(core->type, types[i]) == 0;
    return found;
}

/* One core's, in RAM that nobody but the board file can name. */
static int check_mtb(struct config_parser *p)
{
    const struct config *c = p->config;
    const struct config_range *m = &c->coresight.mtb_memory;
    unsigned line = config_line_of(p, "coresight", "mtb_memory");
    unsigned sink = config_line_of(p, "trace", "sink");
    if (line && (m->size < MTB_MIN || m->size > MTB_MAX || !is_power_of_two(m->size) ||
                 m->address % m->size != 0))
        return config_fail(p, line, "mtb_memory", "is no place for an MTB; allowed: %s",
                           config_find_key("coresight", "mtb_memory")->allowed);
    if (c->sink != CONFIG_SINK_MTB)
        return BT_OK;
    for (unsigned i = 0; i < c->core_count; i++)
        if (i > 0 || !may_have_mtb(&c->cores[i]))
            return config_fail(p, sink, "sink",
                               i ? "mtb is of one core, and [core %s] is a second, a %s; allowed: "
                                   "one [core]"
                                 : "mtb is not in [core %s], a %s; allowed: mtb with a Cortex-M0+, "
                                   "Cortex-M23 or Cortex-M33",
                               c->cores[i].name, c->cores[i].type);
    return line ? BT_OK : missing_key(p, "coresight", "mtb_memory", ", which sink = mtb needs");
}

static int check_ring(struct config_parser *p)
{
    static const char *const needed[] = {"ring_memory", "ring_position", "tpiu"};
    const struct config_coresight *c = &p->config->coresight;
    unsigned line = config_line_of(p, "coresight", "ring_memory");
    if (line && ((c->ring_memory.address | c->ring_memory.size) % 16 != 0 ||
                 c->ring_memory.size < RING_MIN || c->ring_memory.size > MTB_MAX))
        return config_fail(p, line, "ring_memory", "is no place for a ring; allowed: %s",
                           config_find_key("coresight", "ring_memory")->allowed);
    if (!c->ring_overflow != !c->ring_overflow_bits)
        return missing_key(p, "coresight",
                           c->ring_overflow ? "ring_overflow_bits" : "ring_overflow",
                           ", which the other one of the two needs");
    for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++)
        if (p->config->sink == CONFIG_SINK_RING && !config_line_of(p, "coresight", needed[i]))
            return missing_key(p, "coresight", needed[i], ", which sink = memory-ring needs");
    return BT_OK;
}

/* Keys that say nothing with this sink. */
static int check_unused(struct config_parser *p)
{
    const struct {
        const char *name;
        bool used;
    } keys[] = {
        {"swo_rate", p->config->sink == CONFIG_SINK_SWO},
        {"trace_clock", p->config->sink == CONFIG_SINK_SWO},
        {"tpiu_width", p->config->sink == CONFIG_SINK_TPIU},
        {"buffer", p->config->sink == CONFIG_SINK_UNSET},
        {"control", p->config->sink == CONFIG_SINK_UNSET},
    };
    int error = BT_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "trace", keys[i].name);
        if (line && !keys[i].used)
            error = config_fail(p, line, keys[i].name, "is not used with this 'sink'; allowed: %s",
                                config_find_key("trace", keys[i].name)->allowed);
    }
    return error;
}

/* A buffer holds frames without syncs, a port sends them; what others deliver is told. */
static int set_format(struct config_parser *p)
{
    struct config *c = p->config;
    unsigned line = config_line_of(p, "trace", "format");
    bool orbtrace = c->capture.type == CONFIG_CAPTURE_ORBTRACE;
    if (!orbtrace && (config_has_trace_input(c) || c->sink == CONFIG_SINK_UNSET))
        return line ? BT_OK : missing_key(p, "trace", "format", "");
    if (line && orbtrace)
        return config_fail(p, line, "format",
                           "is not used with ORBTrace, which tells it; allowed: with another "
                           "[capture], listen or connect");
    /* Of SWO the ITM can be all there is. */
    bool raw = line && c->sink == CONFIG_SINK_SWO && c->itm.on && !c->formatted;
    if (line && !raw)
        return config_fail(
            p, line, "format",
            "is what 'sink' makes it; allowed: with listen, connect or [capture], or "
            "raw with sink = swo and 'itm', 'dwt' or 'watch'");
    c->formatted = !raw && c->sink != CONFIG_SINK_MTB;
    c->mode = c->sink == CONFIG_SINK_SWO && !orbtrace ? FORMATTER_SYNC : FORMATTER_ALIGNED;
    return BT_OK;
}

/* Is there a way where there must be one, and none where the trace comes another way? */
static int check_way(struct config_parser *p, unsigned line, const char *key)
{
    const struct config *c = p->config;
    bool probe = config_has_probe(c);
    bool needed = c->sink == CONFIG_SINK_TPIU || (c->sink == CONFIG_SINK_SWO && !probe) ||
                  c->sink == CONFIG_SINK_UNSET;
    bool allowed = needed || c->sink == CONFIG_SINK_SWO;
    if (!line && probe && c->sink == CONFIG_SINK_UNSET)
        return missing_key(p, "trace", "sink", "");
    if (!line && needed)
        return config_fail(p, 0, "[trace] listen or connect",
                           "is missing: the trace must come from somewhere; allowed: %s; or a "
                           "section [capture]",
                           config_find_key("trace", "connect")->allowed);
    if (line && !allowed)
        return config_fail(p, line, key,
                           "is not used with this 'sink': there is nothing to come; allowed: with "
                           "sink = tpiu or swo");
    return BT_OK;
}

static int check_trace(struct config_parser *p)
{
    struct config *c = p->config;
    unsigned listen = config_line_of(p, "trace", "listen");
    unsigned connect = config_line_of(p, "trace", "connect");
    if (listen && connect)
        return config_fail(p, listen > connect ? listen : connect,
                           listen > connect ? "listen" : "connect",
                           "[trace] has both 'listen' and 'connect'; allowed: one of them");
    c->trace_listens = listen != 0;
    if (!config_line_of(p, "coresight", "replicator_port"))
        c->coresight.replicator_port = CONFIG_ALL_PORTS;
    int error = check_capture(p);
    if (!error)
        error = config_check_itm(p);
    if (!error)
        error = c->capture.type
                    ? check_way(p, config_line_of(p, "capture", "type"), "[capture]")
                    : check_way(p, listen ? listen : connect, listen ? "listen" : "connect");
    if (!error)
        error = set_format(p);
    int swo = check_swo(p), mtb = check_mtb(p), ring = check_ring(p);
    error = error ? error : swo ? swo : mtb ? mtb : ring;
    if (c->sink == CONFIG_SINK_UNSET && !config_has_probe(c))
        return error;
    int unused = check_unused(p);
    return error ? error : unused;
}

/* Who may connect, and where. */

int config_access_guarded(const struct config_access *a, const struct config_listen *listen,
                          struct message *why)
{
    struct address at = listen->address;
    char where[300];
    if (config_has_tls(a))
        return BT_OK;
    address_format(&at, where, sizeof where);
    if (listen->tls)
        return message_fail(why, BT_ERR_FORMAT, "'tls:%s' wants a section [tls]", where);
    if (a->allow_count > 0 || access_rules_have(a->roles, IDENTITY_NET) || address_is_loopback(&at))
        return BT_OK;
    return message_fail(
        why, BT_ERR_FORMAT,
        "'%s' is not an address of this machine alone, and whoever connects controls the "
        "target: it wants a section [tls] (certificates), or 'allow' in [gdb] (networks), or "
        "'net:' in [access]",
        where);
}

/* The address as bytes, and their number: 0 of what is no number. */
static size_t listen_address_bytes(const struct address *a, unsigned char *bytes)
{
    if (inet_pton(AF_INET, a->host, bytes) == 1)
        return sizeof(struct in_addr);
    return inet_pton(AF_INET6, a->host, bytes) == 1 ? sizeof(struct in6_addr) : 0;
}

/* Whether who listens at `a` takes `b`, too. Of IPv6 and IPv4 only the system knows. */
static bool takes_also(const struct address *a, const struct address *b)
{
    static const unsigned char all[sizeof(struct in6_addr)];
    unsigned char one[sizeof all], other[sizeof all];
    if (a->kind != b->kind || a->kind == ADDRESS_UNIX)
        return a->kind == b->kind && strcmp(a->host, b->host) == 0;
    size_t size = a->port && a->port == b->port ? listen_address_bytes(a, one) : 0;
    return size && size == listen_address_bytes(b, other) &&
           (memcmp(one, other, size) == 0 || memcmp(one, all, size) == 0);
}

static int check_twice(const struct config_access *a, unsigned i, struct message *why)
{
    char first[300], second[300];
    for (unsigned j = 0; j < i; j++) {
        const struct address *x = &a->listen[j].address, *y = &a->listen[i].address;
        address_format(x, first, sizeof first);
        address_format(y, second, sizeof second);
        if (takes_also(x, y) && takes_also(y, x))
            message_set(why, "'%s' comes twice", second);
        else if (takes_also(x, y) || takes_also(y, x))
            message_set(why, "'%s' and '%s' are one port twice: all addresses, and one of them",
                        first, second);
        else
            continue;
        return BT_ERR_FORMAT;
    }
    return BT_OK;
}

int config_access_check(struct config_access *a, struct message *why)
{
    for (unsigned i = 0; i < a->listen_count; i++)
        if ((!a->listen[i].systemd && config_access_guarded(a, &a->listen[i], why) != BT_OK) ||
            check_twice(a, i, why) != BT_OK)
            return BT_ERR_FORMAT;
    return BT_OK;
}

/* Who is granted something by a name in a certificate is admitted by it, without `allow`. */
static int allow_by_roles(struct config_parser *p)
{
    struct config_access *a = &p->config->access;
    struct tls_files *tls = &a->tls;
    for (unsigned role = ROLE_NONE + 1; role < ACCESS_ROLES; role++)
        for (unsigned i = 0; i < a->roles[role].count; i++) {
            const struct access_rule *r = &a->roles[role].rule[i];
            if (r->kind != IDENTITY_CERT)
                continue;
            if (tls->allow_count == TLS_MAX_NAMES)
                return config_fail(p, 0, "[access]", "more than %d names", TLS_MAX_NAMES);
            tls->allow[tls->allow_count] = config_keep(p->config, r->name);
            if (!tls->allow[tls->allow_count++])
                return BT_ERR_NOMEM;
        }
    return BT_OK;
}

/* All of [tls], or nothing of it. */
static int check_tls(struct config_parser *p)
{
    const char *other;
    bool by_roles = access_rules_have(p->config->access.roles, IDENTITY_CERT);
    static const char *const keys[] = {"ca", "cert", "key", "allow"};
    struct tls_files *tls = &p->config->access.tls;
    unsigned lines[4], any = 0;
    for (unsigned i = 0; i < 4; i++) {
        lines[i] = config_line_of(p, "tls", keys[i]);
        any = lines[i] ? lines[i] : any;
    }
    if (!any)
        any = first_key(p, "tls", &other);
    int error = BT_OK;
    for (unsigned i = 0; i < 4 && any; i++)
        if (!lines[i] && !(i == 3 && by_roles))
            error = config_fail(p, any, "[tls]", "'%s' is missing: %s", keys[i],
                                config_find_key("tls", keys[i])->allowed);
    if (error)
        return error;
    tls->ca_line = lines[0];
    tls->cert_line = lines[1];
    tls->key_line = lines[2];
    tls->crl_line = config_line_of(p, "tls", "crl");
    if (by_roles && !any)
        return config_fail(p, 0, "[access]", "cert: wants a section [tls]");
    return by_roles && !lines[3] ? allow_by_roles(p) : BT_OK;
}

static int check_access(struct config_parser *p)
{
    struct message why;
    int error = check_tls(p);
    if (error || config_access_check(&p->config->access, &why) == BT_OK)
        return error;
    return config_fail(p, config_line_of(p, "gdb", "listen"), "listen", "%s", why.text);
}

/* A history keeps a power of two of bytes, and in them at least two checkpoints. */
static int check_history(struct config_parser *p)
{
    size_t memory = p->config->memory;
    while (memory & (memory - 1))
        memory &= memory - 1;
    p->config->memory = memory;
    if (p->config->checkpoint <= memory / 2)
        return BT_OK;
    unsigned line = config_line_of(p, "history", "checkpoint");
    if (!line)
        return config_fail(p, config_line_of(p, "history", "memory"), "memory",
                           "must hold two checkpoints; allowed: at least %zu, or a smaller "
                           "'checkpoint'",
                           2 * p->config->checkpoint);
    return config_fail(p, line, "checkpoint",
                       "is more than half of 'memory' (%zu bytes); allowed: at most %zu", memory,
                       memory / 2);
}

int config_check(struct config_parser *p)
{
    static const struct {
        int (*check)(struct config_parser *p);
        unsigned needs, makes; /* groups that must be good; those that this one speaks of */
    } checks[] = {
        {check_access, CONFIG_GROUP_ACCESS, CONFIG_GROUP_ACCESS},
        {check_target, CONFIG_GROUP_TARGET, 0},
        {check_trace, CONFIG_GROUP_TARGET | CONFIG_GROUP_TRACE, CONFIG_GROUP_TRACE},
        {check_history, CONFIG_GROUP_HISTORY, CONFIG_GROUP_HISTORY},
        {config_check_types, 0, CONFIG_GROUP_CORES},
        {config_check_cores, CONFIG_GROUP_TARGET | CONFIG_GROUP_TRACE | CONFIG_GROUP_CORES, 0},
        {config_check_itm_source, CONFIG_GROUP_TRACE | CONFIG_GROUP_CORES, 0},
    };
    for (size_t i = 0; i < (p->access_only ? 1 : sizeof checks / sizeof *checks); i++) {
        int error = p->suspect & checks[i].needs ? BT_OK : checks[i].check(p);
        if (error == BT_ERR_NOMEM)
            return error;
        p->suspect |= error ? checks[i].makes : 0;
    }
    return BT_OK;
}
