/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/usb/umock_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUID_M0_PLUS 0x410cc601u

const char umock_options_usage[] =
    "usage: umockdev_probe [options] -- COMMAND ARGS...\n"
    "  --probe cmsis-dap|ftdi|orbtrace  ftdi: an FT2232H. Behind orbtrace, comma separated:\n"
    "      frames: old gateware, protocol 0x01, else ORBFLOW; both: as alternate settings\n"
    "      reversed: another order of interfaces\n"
    "      whole: ORBFLOW loses packets, else bytes; itm-frames: old gateware frames ITM, too;\n"
    "      pending: bytes 1 to 4 of its keep-alive units are not zero\n"
    "  --beside cmsis-dap|ftdi  a second probe on the bus, at the same target; umockdev only\n"
    "  --no-serial      the probes have no serial numbers\n"
    "  --layout NAME    of an FTDI board: minimodule, minimodule-swd, kt-link, flyswatter2;\n"
    "                   ft4232h; of an FT232H ft232h-swd, smt2\n"
    "  --chain LIST     its JTAG chain from TDI to TDO: dap, IRBITS:IDCODE, comma separated\n"
    "  --full-speed     an FTDI at 12 Mbit/s, with packets of 64 bytes\n"
    "  --fifo FILE[,RATE]  as --paced, once\n"
    "  --uart FILE,BAUD[,TIMES]  what is on RXD of its channel B, from the time that somebody\n"
    "                   listens; else that is the board's SWO pin\n"
    "  --tty PATH       the SWO pin on a serial device of that name\n"
    "  --paced FILE[,RATE[,TIMES]]  what is on the trace port, as a TPIU in continuous mode sends\n"
    "                   it: bytes a second (0: as fast as they are taken), times (0: no end)\n"
    "  --buffer BYTES   that a capture unit holds beside what the host waits for, else they are\n"
    "                   lost; 0: all. ORBTrace has 8192 for a file and 0 for a core, a FIFO 0\n"
    "  --v1             HID probe, else v2 with bulk endpoints\n"
    "  --jtag, --dpv2   the target's DP: JTAG at first; version 2, dormant at first\n"
    "  --quick-registers  S_REGRDY is set at the first look, else at the second\n"
    "  --wrap-1k        the AHB-AP's increment wraps at 1 KiB, not at 4\n"
    "  --packet-size N, --packet-count N\n"
    "  --timed          answers take the time of the wire and of a High-Speed bus\n"
    "  --quirks LIST    what other firmware does, comma separated: deaf: a missing answer leaves\n"
    "                   SWDIO an input until the next Connect; pin-wait: a wait in SWJ_Pins is\n"
    "                   never answered; polled: SWO has no endpoint; no-swo\n"
    "  --core qemu:BOARD,ELF  the core is QEMU's, running ELF. BOARD: microbit, mps2-an385, "
    "netduinoplus2,\n"
    "                   mps2-an500, mps2-an505, vexpress-a9\n"
    "  --kind m0|m3|m4|m7|m33  the system around the built-in core, else an M4's\n"
    "  --etm-pairs N    address comparators of an ETMv4: 0 to 4 pairs, else 0\n"
    "  --smp N          cores of vexpress-a9: 1 or 2\n"
    "  --etmv3          their trace units, else PTMs\n"
    "  --window ADDRESS  where they themselves have the debug bus, in Debug state; else nowhere\n"
    "  --resets LIST    comma separated: core: a core may ask for a reset by itself; trace: "
    "nRESET\n"
    "                   resets trace units, funnel, ETB and TPIU, too; of a Cortex-M any reset\n"
    "  --sink tmc|memory-ring|mtb   instead of an ETB, or of ETB and trace unit\n"
    "  --plugin FILE    its trace unit, else $BTRACED_BOARD or that of this build\n"
    "  --truth FILE     what it executed: 4 bytes an instruction; FILE.log: other events\n"
    "  --itm            with DWT packets\n"
    "  --etb-words N    size of the ETB, else 1024\n"
    "  --cpuid N, --etm4  what core and trace unit say they are\n"
    "  --sink etb|swo|swo-quiet|tpiu  a board without ETB; its idle pin sends half syncs, or\n"
    "                   rests; tpiu: the parallel port is wired, too. vexpress-a9: etb, tmc, tpiu\n"
    "  --flash ADDRESS+SIZE[,silent]  a debugger cannot write there: bus fault, or ignored\n"
    "  --fault TEXT     wait=N,fault=N,parity=N,noack=N,skip=N,trace=N,overrun=N,pause=N; "
    "no-halt=1: the\n"
    "                   core never halts (cores of a vexpress-a9: a bit each); of an ETMv4:\n"
    "                   etm-busy=1 never idle, etm-off=1 trace is not allowed, etm-lock=1 the\n"
    "                   target sets the OS lock now, etm-power=1 it loses its power now; of a\n"
    "                   Cortex-M33: secure-off=1 closed for Secure debug\n"
    "  --unplug-after N, --stall-after N, --short-after N, --lose-after N\n"
    "  --control PATH   socket for faults and the cable while the command runs\n"
    "  --report FILE    counters of what the command did, when it is done\n";

enum {
    CORE = 256,
    PLUGIN,
    TRUTH,
    ITM,
    ETB_WORDS,
    RING_LOSES,
    CPUID,
    ETM4,
    SINK,
    FLASH,
    CONTROL,
    PROBE,
    LAYOUT,
    CHAIN,
    FIFO,
    PACED,
    UART,
    TTY,
    FULL_SPEED,
    BESIDE,
    NO_SERIAL,
    BUFFER,
    SMP,
    ETMV3,
    RESETS,
    KIND,
    ETM_PAIRS,
    WINDOW,
    QUIRKS,
    TIMED,
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
    if (strcmp(o->machine, "vexpress-a9") == 0 && !o->qemu.a_cores)
        o->qemu.a_cores = 1;
    if (strcmp(o->machine, "microbit") == 0) /* QEMU has an M0 */
        o->board.cpuid = CPUID_M0_PLUS;
    if (strcmp(o->machine, "mps2-an500") == 0)
        o->qemu.etmv4 = ETM4_DEVARCH_M7;
    if (strcmp(o->machine, "mps2-an505") == 0)
        o->qemu.etmv4 = ETM4_DEVARCH_M33;
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
    o->board.parallel = strcmp(text, "tpiu") == 0;
    o->board.no_etb = o->board.swo_quiet || o->board.parallel || strcmp(text, "swo") == 0;
    o->trace_a.tmc = o->board.tmc = strcmp(text, "tmc") == 0;
    o->trace_a.pins = o->board.parallel;
    o->board.mtb = o->qemu.mtb = strcmp(text, "mtb") == 0;
    o->board.ring = strcmp(text, "memory-ring") == 0;
    return o->board.no_etb || o->trace_a.tmc || o->board.mtb || o->board.ring ||
                   strcmp(text, "etb") == 0
               ? 0
               : -1;
}

static int parse_trait(struct usb_orbtrace_options *o, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } traits[] = {
        {"both", &o->both},
        {"reversed", &o->reversed},
        {"whole", &o->capture.whole},
        {"itm-frames", &o->capture.itm_frames},
        {"pending", &o->capture.pending},
    };
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++) {
        if (strcmp(name, traits[i].name) == 0) {
            *traits[i].flag = true;
            return 0;
        }
    }
    if (strcmp(name, "frames") != 0)
        return -1;
    o->protocol = ORBTRACE_FRAMES;
    return 0;
}

static int parse_kind(struct umock_options *o, char *text)
{
    const char *name = strtok(text, ",");
    if (name && strcmp(name, "orbtrace") == 0)
        o->probe = UMOCK_ORBTRACE;
    else if (name && strcmp(name, "ftdi") == 0)
        o->probe = UMOCK_FTDI;
    else if (!name || strcmp(name, "cmsis-dap") != 0)
        return -1;
    while ((name = strtok(NULL, ",")))
        if (o->probe != UMOCK_ORBTRACE || parse_trait(&o->orbtrace, name) < 0)
            return -1;
    return 0;
}

/* Where the number ended, at a comma or the end of the text; or NULL. */
static char *parse_number(char *text, uint64_t *value)
{
    char *end;
    *value = strtoull(text, &end, 0);
    return end > text && *text != '-' && (*end == ',' || !*end) ? end : NULL;
}

/* FILE, and two numbers that may be missing: what is there of them is changed. */
static int parse_file(char *text, const char **path, uint64_t *first, uint64_t *second)
{
    char *comma = strchr(text, ',');
    *path = text;
    if (!comma)
        return 0;
    *comma = '\0';
    char *end = parse_number(comma + 1, first);
    if (end && *end == ',')
        end = parse_number(end + 1, second);
    return end && !*end ? 0 : -1;
}

static int parse_paced(struct umock_options *o, char *text)
{
    return parse_file(text, &o->paced, &o->rate, &o->times);
}

static int parse_uart(struct umock_options *o, char *text)
{
    o->uart_times = 1;
    if (parse_file(text, &o->uart, &o->uart_baud, &o->uart_times) < 0)
        return -1;
    return o->uart_baud >= 10 && o->uart_baud <= UINT32_MAX ? 0 : -1;
}

static int parse_buffer(struct umock_options *o, char *text)
{
    uint64_t value;
    const char *end = parse_number(text, &value);
    o->buffered = true;
    o->buffer = (size_t)value;
    return end && !*end ? 0 : -1;
}

static int parse_resets(struct umock_options *o, char *text)
{
    for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
        bool core = strcmp(name, "core") == 0;
        if (!core && strcmp(name, "trace") != 0)
            return -1;
        o->core_resets |= core;
        o->trace_resets |= !core;
        o->board.resets_trace = o->trace_resets;
    }
    return 0;
}

static int parse_quirks(struct probe_board_options *o, char *text)
{
    for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
        if (strcmp(name, "deaf") == 0)
            o->quirks.deaf = true;
        else if (strcmp(name, "pin-wait") == 0)
            o->quirks.pin_wait = true;
        else if (strcmp(name, "polled") == 0)
            o->swo = PROBE_SWO_POLLED;
        else if (strcmp(name, "no-swo") == 0)
            o->swo = PROBE_SWO_NONE;
        else
            return -1;
    }
    return 0;
}

static int parse_stream(struct umock_options *o, int option, char *text)
{
    switch (option) {
    case PROBE:
        return parse_kind(o, text);
    case LAYOUT:
        o->layout = ftdi_layout_find(text);
        return o->layout ? 0 : -1;
    case CHAIN:
        o->chain = o->board.chain = text;
        return 0;
    case FIFO:
        o->times = 1;
        return parse_paced(o, text);
    case BESIDE:
        o->beside = strcmp(text, "ftdi") == 0 ? UMOCK_FTDI : UMOCK_CMSIS_DAP;
        return o->beside == UMOCK_FTDI || strcmp(text, "cmsis-dap") == 0 ? 0 : -1;
    case NO_SERIAL:
        o->no_serial = true;
        return 0;
    case FULL_SPEED:
        o->full_speed = true;
        return 0;
    case PACED:
        return parse_paced(o, text);
    case UART:
        return parse_uart(o, text);
    case TTY:
        o->tty = text;
        return 0;
    case BUFFER:
        return parse_buffer(o, text);
    case SMP:
        o->qemu.a_cores = (unsigned)strtoul(text, NULL, 0);
        return o->qemu.a_cores >= 1 && o->qemu.a_cores <= CORE_A_MAX ? 0 : -1;
    case ETMV3:
        o->qemu.etmv3 = o->trace_a.etmv3 = true;
        return 0;
    case WINDOW:
        o->window = (uint32_t)strtoul(text, NULL, 0);
        return o->window ? 0 : -1;
    case RESETS:
        return parse_resets(o, text);
    case QUIRKS:
        return parse_quirks(&o->board, text);
    case TIMED:
        o->board.timed = true;
        return 0;
    default:
        return -1;
    }
}

static int parse_system(struct umock_options *o, const char *name)
{
    static const char *const names[] = {"", "m3", "m4", "m7", "m33", "m0"};
    for (unsigned i = CS_M3; i <= CS_M0; i++)
        if (strcmp(names[i], name) == 0)
            o->board.kind = (enum cs_kind)i;
    return o->board.kind == CS_BY_CPUID ? -1 : 0;
}

static int parse_board(struct umock_options *o, int option, char *text)
{
    switch (option) {
    case KIND:
        return parse_system(o, text);
    case ETM_PAIRS:
        o->board.etm_pairs = (unsigned)strtoul(text, NULL, 0);
        return o->board.etm_pairs <= CORE_TRACE_RANGES ? 0 : -1;
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
    case RING_LOSES:
        o->board.ring_loses = strtoul(text, NULL, 0);
        return 0;
    case ETB_WORDS:
        o->board.etb_words = o->trace_a.words = (unsigned)strtoul(text, NULL, 0);
        return o->board.etb_words ? 0 : -1;
    case SINK:
        return parse_sink(o, text);
    case FLASH:
        return parse_flash(&o->flash, text);
    case CONTROL:
        o->control = text;
        return 0;
    default:
        return parse_stream(o, option, text);
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
    case 'q':
        o->board.registers_at_once = true;
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

/* That system has no SWO, and whole frames in its memory. */
static bool possible_a(const struct umock_options *o)
{
    return o->board.no_etb == o->trace_a.pins && o->trace_a.words <= SINK_WORDS_MAX &&
           o->trace_a.words % 4 == 0;
}

int umock_options_parse(struct umock_options *o, int argc, char **argv)
{
    static const struct option options[] = {
        {"probe", required_argument, NULL, PROBE},
        {"layout", required_argument, NULL, LAYOUT},
        {"chain", required_argument, NULL, CHAIN},
        {"fifo", required_argument, NULL, FIFO},
        {"paced", required_argument, NULL, PACED},
        {"uart", required_argument, NULL, UART},
        {"tty", required_argument, NULL, TTY},
        {"beside", required_argument, NULL, BESIDE},
        {"no-serial", no_argument, NULL, NO_SERIAL},
        {"full-speed", no_argument, NULL, FULL_SPEED},
        {"buffer", required_argument, NULL, BUFFER},
        {"smp", required_argument, NULL, SMP},
        {"etmv3", no_argument, NULL, ETMV3},
        {"window", required_argument, NULL, WINDOW},
        {"resets", required_argument, NULL, RESETS},
        {"quirks", required_argument, NULL, QUIRKS},
        {"timed", no_argument, NULL, TIMED},
        {"kind", required_argument, NULL, KIND},
        {"etm-pairs", required_argument, NULL, ETM_PAIRS},
        {"v1", no_argument, NULL, '1'},
        {"jtag", no_argument, NULL, 'j'},
        {"dpv2", no_argument, NULL, '2'},
        {"wrap-1k", no_argument, NULL, 'w'},
        {"quick-registers", no_argument, NULL, 'q'},
        {"packet-size", required_argument, NULL, 's'},
        {"packet-count", required_argument, NULL, 'c'},
        {"core", required_argument, NULL, CORE},
        {"plugin", required_argument, NULL, PLUGIN},
        {"truth", required_argument, NULL, TRUTH},
        {"itm", no_argument, NULL, ITM},
        {"etb-words", required_argument, NULL, ETB_WORDS},
        {"ring-loses", required_argument, NULL, RING_LOSES},
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
    *o = (struct umock_options){.faults = "", .times = 1, .beside = UMOCK_NONE};
    o->qemu.plugin = plugin ? plugin : built_plugin(o);
    while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1)
        if (parse_probe(o, c, optarg) < 0)
            return -1;
    if (o->qemu.a_cores && !possible_a(o))
        return -1;
    if (o->hid)
        o->board.packet_size = 64;
    o->command = optind;
    return optind < argc ? 0 : -1;
}
