/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced probes: what is attached, what it can do, and why something cannot be used. */
#include "commands.h"
#include "protocol/rsp/plain_text.h"
#include "server/base/command_line.h"
#include "server/base/exit_codes.h"
#include "server/probe/probe_table.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char probes_help[] = "usage: btraced probes\n"
                                  "Lists the probes that are attached and that btraced can drive "
                                  "itself, with what a board file's\n"
                                  "[probe] section needs to name one of them. Exit code 0: at "
                                  "least one can be used; 5: none can,\n"
                                  "or there is none.\n";

struct count {
    unsigned usable, others;
};

/* Strings of devices are what anybody has put there. */
static const char *device_text(const char *text, char *out, size_t size)
{
    snprintf(out, size, "%s", text);
    plain_text(out, strlen(out), "");
    return out;
}

static void print_probe_line(const char *name, const char *value)
{
    char text[400];
    if (value && *value)
        printf("  %-9s %s\n", name, device_text(value, text, sizeof text));
}

static void print_listed_probe(void *ctx, const struct probe_listing *p)
{
    struct count *count = ctx;
    char vendor[400], product[400];
    printf("%s%s%s\n", device_text(p->vendor, vendor, sizeof vendor), *p->vendor ? " " : "",
           device_text(*p->product ? p->product : "(no name)", product, sizeof product));
    print_probe_line("type", p->type);
    printf("  %-9s %04x:%04x%s%s\n", "usb", p->usb_vendor, p->usb_product, *p->usb_path ? " " : "",
           p->usb_path);
    print_probe_line("serial", p->serial);
    print_probe_line("firmware", p->firmware);
    print_probe_line("wires", p->wires);
    print_probe_line("SWO", p->problem ? "" : *p->trace || *p->capture ? p->trace : "none");
    print_probe_line("capture", p->capture);
    print_probe_line("speed", p->speed);
    print_probe_line("problem", p->problem);
    if (p->problem)
        count->others++;
    else
        count->usable++;
}

static int list_attached_probes(void)
{
    struct count count = {0};
    struct message why;
    size_t drivers;
    const struct probe_driver *const *driver = probe_drivers(&drivers);
    for (size_t i = 0; i < drivers; i++) {
        if (driver[i]->list(print_listed_probe, &count, &why)) {
            fprintf(stderr, "btraced probes: %s\n", why.text);
            return EXIT_PROBE;
        }
    }
    if (count.usable + count.others == 0)
        fprintf(stderr,
                "btraced probes: no probe is attached; known are CMSIS-DAP probes (ORBTrace is "
                "one) and FTDI adapters. Others, such as ST-Link and J-Link, are used "
                "through their own GDB server: [target] connect\n");
    return count.usable ? EXIT_OK : EXIT_PROBE;
}

int cmd_probes(int argc, char **argv)
{
    static const struct command_option options[] = {{.name = NULL}};
    const struct command_line line = {.name = "probes", .help = probes_help, .options = options};
    int code = command_line_parse(&line, argc, argv);
    if (!code && optind != argc)
        code = usage_error("probes", "takes no arguments", NULL);
    if (code)
        return code < 0 ? EXIT_OK : code;
    return list_attached_probes();
}
