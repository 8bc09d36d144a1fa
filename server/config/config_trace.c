/* SPDX-License-Identifier: BSD-3-Clause */
/* [trace] and [capture]: what goes together, and what they exclude. */
#include "config_internal.h"

#include <stdio.h>
#include <string.h>

#define BIT(type) (1u << (type))
#define ON_USB                                                                                     \
    (BIT(CONFIG_CAPTURE_ORBTRACE) | BIT(CONFIG_CAPTURE_FTDI_FIFO) | BIT(CONFIG_CAPTURE_FTDI_UART))
#define WITH_RATE (BIT(CONFIG_CAPTURE_FTDI_UART) | BIT(CONFIG_CAPTURE_TTY))

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
        {"device", BIT(CONFIG_CAPTURE_TTY), "with type = tty"},
        {"baud", WITH_RATE, "with type = tty or ftdi-uart"},
        {"channel", BIT(CONFIG_CAPTURE_FTDI_UART), "with type = ftdi-uart"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "capture", keys[i].name);
        if (line && !(keys[i].types & BIT(p->config->capture.type)))
            return config_fail(p, line, keys[i].name, "is not used with this 'type'; allowed: %s",
                               keys[i].allowed);
    }
    return BT_OK;
}

/* Keys of [trace] that only make sense with a socket. */
static int check_no_socket(struct config_parser *p)
{
    static const char *const keys[] = {"listen", "connect", "control", "buffer"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "trace", keys[i]);
        if (line)
            return config_fail(p, line, keys[i],
                               "is for trace that comes over a socket; allowed: this key or the "
                               "section [capture]");
    }
    if (!p->config->backpressure)
        return BT_OK;
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
    if (!config_first_key(p, "capture", &key))
        return BT_OK;
    if (c->type == CONFIG_CAPTURE_NONE)
        return config_missing(p, "capture", "type", "");
    int error = check_capture_keys(p);
    if (!error && c->type == CONFIG_CAPTURE_TTY && !c->device[0])
        error = config_missing(p, "capture", "device", "");
    if (!c->baud)
        c->baud = p->config->swo_rate;
    if (!error && !c->baud && (WITH_RATE & BIT(c->type)))
        error = config_missing(p, "capture", "baud", "");
    if (!error)
        error = check_no_socket(p);
    return error ? error : check_width(p);
}

static int check_swo(struct config_parser *p)
{
    if (p->config->sink != CONFIG_SINK_SWO)
        return BT_OK;
    if (!p->config->swo_rate)
        return config_missing(p, "trace", "swo_rate", ", which sink = swo needs");
    if (!p->config->trace_clock)
        return config_missing(p, "trace", "trace_clock", ", which sink = swo needs");
    if (p->config->trace_clock < p->config->swo_rate)
        return config_fail(p, config_line_of(p, "trace", "swo_rate"), "swo_rate",
                           "is faster than 'trace_clock'; allowed: that clock divided by 1 to "
                           "8192");
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
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "trace", keys[i].name);
        if (line && !keys[i].used)
            return config_fail(p, line, keys[i].name, "is not used with this 'sink'; allowed: %s",
                               config_find_key("trace", keys[i].name)->allowed);
    }
    return BT_OK;
}

/* A buffer holds frames without syncs, a port sends them; what others deliver is told. */
static int set_format(struct config_parser *p)
{
    struct config *c = p->config;
    unsigned line = config_line_of(p, "trace", "format");
    bool orbtrace = c->capture.type == CONFIG_CAPTURE_ORBTRACE;
    if (!orbtrace && (config_has_trace_input(c) || c->sink == CONFIG_SINK_UNSET))
        return line ? BT_OK : config_missing(p, "trace", "format", "");
    if (line && orbtrace)
        return config_fail(p, line, "format",
                           "is not used with ORBTrace, which tells it; allowed: with another "
                           "[capture], listen or connect");
    if (line)
        return config_fail(p, line, "format",
                           "is what 'sink' makes it; allowed: with listen, connect or [capture]");
    c->formatted = true;
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
        return config_missing(p, "trace", "sink", "");
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

int config_check_trace(struct config_parser *p)
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
        error = c->capture.type
                    ? check_way(p, config_line_of(p, "capture", "type"), "[capture]")
                    : check_way(p, listen ? listen : connect, listen ? "listen" : "connect");
    if (!error)
        error = set_format(p);
    if (!error)
        error = check_swo(p);
    if (!error && (c->sink != CONFIG_SINK_UNSET || config_has_probe(c)))
        error = check_unused(p);
    return error;
}
