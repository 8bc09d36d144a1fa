/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/usb/umock_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char umock_options_usage[] =
    "usage: umockdev_probe [options] -- COMMAND ARGS...\n"
    "  --probe cmsis-dap|ftdi  ftdi: an FT2232H\n"
    "  --layout NAME    of an FTDI board: minimodule, minimodule-swd, kt-link, flyswatter2\n"
    "  --chain LIST     its JTAG chain from TDI to TDO: dap, IRBITS:IDCODE, comma separated\n"
    "  --fifo FILE[,RATE]  what it sends as a synchronous FIFO; bytes a second, else at once\n"
    "  --v1             HID probe, else v2 with bulk endpoints\n"
    "  --jtag, --dpv2   the target's DP: JTAG at first; version 2, dormant at first\n"
    "  --wrap-1k        the AHB-AP's increment wraps at 1 KiB, not at 4\n"
    "  --packet-size N, --packet-count N\n"
    "  --core qemu:BOARD,ELF  the core is QEMU's (mps2-an385, netduinoplus2), running ELF\n"
    "  --plugin FILE    its trace unit, else $BTRACED_BOARD or that of this build\n"
    "  --truth FILE     what it executed: 4 bytes an instruction; FILE.log: other events\n"
    "  --itm            with DWT packets\n"
    "  --etb-words N    size of the ETB, else 1024\n"
    "  --cpuid N, --etm4  what core and trace unit say they are\n"
    "  --sink etb|swo|swo-quiet  a board without ETB; its idle pin sends half syncs, or rests\n"
    "  --flash ADDRESS+SIZE[,silent]  a debugger cannot write there: bus fault, or ignored\n"
    "  --fault TEXT     wait=N,fault=N,parity=N,noack=N,skip=N,trace=N,overrun=N\n"
    "  --unplug-after N, --stall-after N, --short-after N, --lose-after N\n"
    "  --control PATH   socket for faults and the cable while the command runs\n"
    "  --report FILE    counters of what the command did, when it is done\n";

enum {
    CORE = 256,
    PLUGIN,
    TRUTH,
    ITM,
    ETB_WORDS,
    CPUID,
    ETM4,
    SINK,
    FLASH,
    CONTROL,
    PROBE,
    LAYOUT,
    CHAIN,
    FIFO
};

static int parse_core(struct umock_options *o, const char *text)
{
    const char *comma = strchr(text, ',');
    size_t size = comma ? (size_t)(comma - text) : 0;
    if (strncmp(text, "qemu:", 5) != 0 || size <= 5 || size - 5 >= sizeof o->machine || !comma[1])
        return -1;
    memcpy(o->machine, text + 5, size - 5);
    o->qemu.machine = o->machine;
    o->qemu.elf = comma + 1;
    return 0;
}

static int parse_flash(struct core_qemu_flash *f, const char *text)
{
    char *end;
    f->address = (uint32_t)strtoul(text, &end, 0);
    if (*end != '+')
        return -1;
    f->size = (uint32_t)strtoul(end + 1, &end, 0);
    f->silent = strcmp(end, ",silent") == 0;
    return f->size && (f->silent || !*end) ? 0 : -1;
}

static int parse_sink(struct umock_options *o, const char *text)
{
    o->board.swo_quiet = strcmp(text, "swo-quiet") == 0;
    o->board.no_etb = o->board.swo_quiet || strcmp(text, "swo") == 0;
    return o->board.no_etb || strcmp(text, "etb") == 0 ? 0 : -1;
}

static int parse_fifo(struct umock_options *o, char *text)
{
    char *comma = strrchr(text, ',');
    char *end = NULL;
    o->fifo = text;
    if (!comma)
        return 0;
    *comma = '\0';
    o->fifo_rate = strtoull(comma + 1, &end, 0);
    return o->fifo_rate && !*end ? 0 : -1;
}

static int parse_ftdi(struct umock_options *o, int option, char *text)
{
    switch (option) {
    case PROBE:
        o->ftdi = strcmp(text, "ftdi") == 0;
        return o->ftdi || strcmp(text, "cmsis-dap") == 0 ? 0 : -1;
    case LAYOUT:
        o->layout = ftdi_layout_find(text);
        return o->layout ? 0 : -1;
    case CHAIN:
        o->chain = text;
        return 0;
    case FIFO:
        return parse_fifo(o, text);
    default:
        return -1;
    }
}

static int parse_board(struct umock_options *o, int option, char *text)
{
    switch (option) {
    case CORE:
        return parse_core(o, text);
    case PLUGIN:
        o->qemu.plugin = text;
        return 0;
    case TRUTH:
        o->qemu.truth = text;
        return 0;
    case ITM:
        o->qemu.itm = true;
        return 0;
    case CPUID:
        o->board.cpuid = (uint32_t)strtoul(text, NULL, 0);
        return 0;
    case ETM4:
        o->board.etm4 = true;
        return 0;
    case ETB_WORDS:
        o->board.etb_words = (unsigned)strtoul(text, NULL, 0);
        return o->board.etb_words ? 0 : -1;
    case SINK:
        return parse_sink(o, text);
    case FLASH:
        return parse_flash(&o->flash, text);
    case CONTROL:
        o->control = text;
        return 0;
    default:
        return parse_ftdi(o, option, text);
    }
}

static int parse_probe(struct umock_options *o, int option, char *text)
{
    unsigned number = text ? (unsigned)strtoul(text, NULL, 0) : 0;
    switch (option) {
    case '1':
        o->hid = true;
        break;
    case 'j':
        o->board.jtag = true;
        break;
    case '2':
        o->board.dpv2 = true;
        break;
    case 'w':
        o->board.wrap_1k = true;
        break;
    case 's':
        o->board.packet_size = number;
        break;
    case 'c':
        o->board.packet_count = number;
        break;
    case 'f':
        o->faults = text;
        break;
    case 'u':
        o->usb.unplug_after = number;
        break;
    case 't':
        o->usb.stall_after = number;
        break;
    case 'h':
        o->usb.short_after = number;
        break;
    case 'l':
        o->usb.lose_after = number;
        break;
    case 'r':
        o->report = text;
        break;
    default:
        return parse_board(o, option, text);
    }
    return 0;
}

/* The plugin of this build: beside the folder of this program. */
static const char *built_plugin(struct umock_options *o)
{
    char exe[200];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    char *slash;
    exe[n > 0 ? n : 0] = '\0';
    slash = strrchr(exe, '/');
    snprintf(o->plugin, sizeof o->plugin, "%.*s/../virtual-board.so",
             slash ? (int)(slash - exe) : 0, exe);
    return o->plugin;
}

int umock_options_parse(struct umock_options *o, int argc, char **argv)
{
    static const struct option options[] = {
        {"probe", required_argument, NULL, PROBE},
        {"layout", required_argument, NULL, LAYOUT},
        {"chain", required_argument, NULL, CHAIN},
        {"fifo", required_argument, NULL, FIFO},
        {"v1", no_argument, NULL, '1'},
        {"jtag", no_argument, NULL, 'j'},
        {"dpv2", no_argument, NULL, '2'},
        {"wrap-1k", no_argument, NULL, 'w'},
        {"packet-size", required_argument, NULL, 's'},
        {"packet-count", required_argument, NULL, 'c'},
        {"core", required_argument, NULL, CORE},
        {"plugin", required_argument, NULL, PLUGIN},
        {"truth", required_argument, NULL, TRUTH},
        {"itm", no_argument, NULL, ITM},
        {"etb-words", required_argument, NULL, ETB_WORDS},
        {"cpuid", required_argument, NULL, CPUID},
        {"etm4", no_argument, NULL, ETM4},
        {"sink", required_argument, NULL, SINK},
        {"flash", required_argument, NULL, FLASH},
        {"fault", required_argument, NULL, 'f'},
        {"unplug-after", required_argument, NULL, 'u'},
        {"stall-after", required_argument, NULL, 't'},
        {"short-after", required_argument, NULL, 'h'},
        {"lose-after", required_argument, NULL, 'l'},
        {"control", required_argument, NULL, CONTROL},
        {"report", required_argument, NULL, 'r'},
        {NULL, 0, NULL, 0},
    };
    const char *plugin = getenv("BTRACED_BOARD");
    int c;
    *o = (struct umock_options){.faults = ""};
    o->qemu.plugin = plugin ? plugin : built_plugin(o);
    while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1)
        if (parse_probe(o, c, optarg) < 0)
            return -1;
    if (o->hid)
        o->board.packet_size = 64;
    o->command = optind;
    return optind < argc ? 0 : -1;
}
