/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as a board file: it is refused with a reason, or all that it promises holds. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "decoder/history/history.h"
#include "server/config/config.h"
#include "server/protocols/source_device.h"

#define LARGE ((size_t)1 << 20) /* history: more is not asked for here */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_address(const struct address *a)
{
    char text[sizeof a->host + 16];
    struct address again;
    if (a->kind == ADDRESS_NONE)
        return;
    address_format(a, text, sizeof text);
    require(!address_problem(text, &again));
    require(again.kind == a->kind && again.port == a->port && strcmp(again.host, a->host) == 0);
}

static void check_access(const struct config_access *a)
{
    const struct tls_files *tls = &a->tls;
    require(a->listen_count >= 1 && a->listen_count <= CONFIG_MAX_LISTEN && a->unix_mode <= 0777);
    for (unsigned i = 0; i < a->listen_count; i++) {
        struct address at = a->listen[i].address;
        require(a->listen[i].systemd == (at.kind == ADDRESS_NONE));
        require(a->listen[i].systemd || address_is_loopback(&at) || tls->ca[0] || a->allow_count);
        require(!a->listen[i].tls || tls->ca[0]);
        check_address(&at);
    }
    require(!tls->ca[0] == (tls->allow_count == 0) && !tls->ca[0] == !tls->cert[0] &&
            !tls->ca[0] == !tls->key[0] && tls->handshake >= 1 && tls->handshake <= 60);
    require(tls->allow_count <= TLS_MAX_NAMES && a->allow_count <= CONFIG_MAX_NETWORKS);
    for (unsigned i = 0; i < tls->allow_count; i++)
        require(*tls->allow[i] && strlen(tls->allow[i]) < TLS_ALLOW_SIZE);
    for (unsigned i = 0; i < a->allow_count; i++)
        require(a->allow[i].bits <= (a->allow[i].family == AF_INET ? 32 : 128));
}

/* A decoder can be made for the trace unit, and takes bytes. */
static unsigned check_source(const struct config *c, const struct config_core *core)
{
    static const uint8_t bytes[] = {0, 0, 0, 0, 0, 0x80, 8, 0, 0x80, 0, 0, 0x21, 0x84, 0x86};
    const struct source_protocol *protocol = source_protocol_of_type(core->source_device.type);
    bool small = c->memory <= LARGE;
    struct history_config limits = {.max_bytes = small ? c->memory : LARGE,
                                    .checkpoint_bytes = small ? c->checkpoint : LARGE / 2};
    struct stream_config stream = {0};
    struct code_image image;
    struct history *history;
    struct message why;
    unsigned id = 0;
    require(protocol != NULL);
    stream.protocol = protocol->protocol;
    require(source_device_configure(protocol, &core->source_device, &core->core_device, &stream,
                                    &id, &why) == BT_OK);
    code_image_init(&image);
    require(history_new(&limits, &stream, &image, &history) == BT_OK);
    require(history_append(history, bytes, sizeof bytes) == BT_OK);
    history_finish(history);
    history_free(history);
    code_image_release(&image);
    return id;
}

/* Trace units that are programmed have IDs of their own; a probe's numbers are in their range. */
static void check_hardware(const struct config *c)
{
    bool ids[128] = {0};
    const struct config_probe *p = &c->probe;
    for (unsigned i = 0; i < c->core_count && config_programs_trace(c) && c->formatted; i++) {
        uint64_t id = 0;
        require(snapshot_reg(&c->cores[i].source_device, "ETMTRACEIDR", &id) == BT_OK);
        require(id >= 1 && id <= FORMATTER_ID_MAX && !ids[id]);
        ids[id] = true;
    }
    if (c->sink == CONFIG_SINK_SWO)
        require(c->swo_rate > 0 && c->trace_clock >= c->swo_rate);
    if (config_has_probe(c))
        require(p->ap <= 255 && p->clock > 0 &&
                p->jtag_device < (p->jtag_chain.count ? p->jtag_chain.count : 1));
    require(!c->flash.algorithm[0] == (c->flash.ram.size == 0));
}

static void check(const struct config *c)
{
    bool threads[1025] = {0}, ids[128] = {0};
    unsigned sources = 0;
    require(c->core_count >= 1 && c->core_count <= CONFIG_MAX_CORES);
    require((c->target.kind != ADDRESS_NONE) != config_has_probe(c));
    require(c->trace.kind != ADDRESS_NONE || c->sink != CONFIG_SINK_UNSET);
    check_hardware(c);
    require(c->ring > 0 && c->checkpoint <= c->memory);
    require(*c->name && (!c->command || (c->command[0] && *c->command[0])));
    check_address(&c->target);
    check_address(&c->trace);
    check_address(&c->control);
    check_access(&c->access);
    for (unsigned i = 0; i < c->core_count; i++) {
        const struct config_core *core = &c->cores[i];
        require(*core->name && *core->type && core->thread >= 1 && core->thread <= 1024);
        require(!threads[core->thread]);
        threads[core->thread] = true;
        if (!core->has_source)
            continue;
        sources++;
        if (config_programs_trace(c))
            continue;
        unsigned id = check_source(c, core);
        require(!c->formatted || (id >= 1 && id <= FORMATTER_ID_MAX && !ids[id]));
        ids[id & 0x7f] = true;
    }
    require(c->formatted || sources <= 1);
    require(sources >= 1 || c->sink != CONFIG_SINK_UNSET);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct config_names names = {.run = "/run/x", .plugin = "/lib/board.so"};
    struct config config;
    struct message why;
    int error = config_parse(&config, (const char *)data, size, "dir/b.conf", &names, &why);
    if (error)
        require(error == BT_ERR_FORMAT && strncmp(why.text, "dir/b.conf:", 11) == 0 &&
                strlen(why.text) > 12);
    else
        check(&config);
    config_release(&config);
    return 0;
}
