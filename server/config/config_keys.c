/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_keys.h"

#include "config_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) offsetof(struct config, name), sizeof(((struct config *)0)->name)
#define CORE(name)  offsetof(struct config_core, name), sizeof(((struct config_core *)0)->name)
#define ROLE(name)  FIELD(access.roles[ROLE_##name])
#define KIB         ((uint64_t)1 << 10)
#define MIB         ((uint64_t)1 << 20)
#define GIB         ((uint64_t)1 << 30)

#define COMPONENT "the address of a component, a multiple of 0x1000"
#define USB_ID    "VID:PID, BUS-PORT or both, as 'btraced probes' shows them: 0403:6010 1-2.3"
#define WHO                                                                                        \
    "cert:NAME (in a certificate), net:NETWORK, user:NAME (on a Unix socket), cert:*, user:*; in " \
    "double quotes if they have blanks"
#define SIGNAL  "PINS, enable PINS or PINS enable PINS, where ! inverts: !0x0020 enable 0x0100"
#define ADDRESS "HOST:PORT, :PORT (this machine), [ADDRESS]:PORT or unix:PATH"

static const struct config_key keys[] = {
    {"board", "name", CONFIG_TEXT, FIELD(name), 0, 0, false, NULL, "a short text"},
    {"board", "description", CONFIG_TEXT, FIELD(description), 0, 0, false, NULL, "a line of text"},
    {"target", "connect", CONFIG_ADDRESS, FIELD(target), 0, 0, false, NULL, ADDRESS},
    {"target", "command", CONFIG_WORDS, FIELD(command), 0, 0, false, NULL,
     "a program and its arguments; double quotes group words"},
    {"target", "user", CONFIG_TEXT, FIELD(user), 0, 0, false, NULL, "a user of this machine"},
    {"target", "reset", CONFIG_TEXT, FIELD(reset), 0, 0, false, NULL,
     "a command of the target's GDB server"},
    {"target", "at_exit", CONFIG_TARGET_EXIT, FIELD(at_exit), 0, 0, false, "leave",
     "run, halt or leave"},
    {"target", "deadline", CONFIG_NUMBER, FIELD(deadline_ms), 100, 60000, false, "3000",
     "milliseconds, 100 to 60000"},
    {"target", "connect_timeout", CONFIG_NUMBER, FIELD(connect_timeout), 0, 86400, false, "0",
     "seconds, 1 to 86400; 0: as long as it takes"},
    {"target", "monitor", CONFIG_TEXT, FIELD(monitor), 0, 0, false, CONFIG_MONITOR_DEFAULT,
     "none, all, openocd, qemu, pyocd, jlink, or first words of commands of the target's GDB "
     "server"},
    {"probe", "type", CONFIG_TEXT, FIELD(probe.type), 0, 0, false, NULL, "cmsis-dap or ftdi"},
    {"probe", "serial", CONFIG_TEXT, FIELD(probe.serial), 0, 0, false, NULL,
     "a serial number as 'btraced probes' shows it"},
    {"probe", "usb", CONFIG_USB_ID, FIELD(probe.usb), 0, 0, false, NULL, USB_ID},
    {"probe", "wire", CONFIG_WIRE, FIELD(probe.wire), 0, 0, false, "swd", "swd or jtag"},
    {"probe", "clock", CONFIG_FREQUENCY, FIELD(probe.clock), 1000, 100000000, false, "1M",
     "Hz, 1k to 100M; k and M may follow the number"},
    {"probe", "ap", CONFIG_NUMBER, FIELD(probe.ap), 0, 255, false, "0", "0 to 255"},
    {"probe", "memory_ap", CONFIG_NUMBER, FIELD(probe.memory_ap), 0, 255, false, NULL, "0 to 255"},
    {"probe", "connect_under_reset", CONFIG_SWITCH, FIELD(probe.connect_under_reset), 0, 0, false,
     "no", "yes or no"},
    {"probe", "at_exit", CONFIG_AT_EXIT, FIELD(probe.at_exit), 0, 0, false, "run", "run or halt"},
    {"probe", "jtag_chain", CONFIG_CHAIN, FIELD(probe.jtag_chain), 0, 0, false, NULL,
     "1 to 8 lengths of instruction registers, 2 to 32 bits each, the device next to TDO first"},
    {"probe", "jtag_device", CONFIG_NUMBER, FIELD(probe.jtag_device), 0, CONFIG_MAX_CHAIN - 1,
     false, "0", "place in 'jtag_chain', from 0"},
    {"probe", "channel", CONFIG_CHANNEL, FIELD(probe.channel), 0, 0, false, "A", "A, B, C or D"},
    {"probe", "layout", CONFIG_LAYOUT, FIELD(probe.layout), 0, 0, false, "0x0008/0x000B",
     "VALUE/DIRECTION, two numbers of 16 bits"},
    {"probe", "ntrst", CONFIG_SIGNAL, FIELD(probe.layout.ntrst), 0, 0, false, NULL, SIGNAL},
    {"probe", "nsrst", CONFIG_SIGNAL, FIELD(probe.layout.nsrst), 0, 0, false, NULL, SIGNAL},
    {"probe", "swd_enable", CONFIG_SIGNAL, FIELD(probe.layout.swd_enable), 0, 0, false, NULL,
     SIGNAL},
    {"probe", "swdio_enable", CONFIG_SIGNAL, FIELD(probe.layout.swdio_enable), 0, 0, false, NULL,
     SIGNAL},
    {"probe", "adaptive_clock", CONFIG_SWITCH, FIELD(probe.layout.adaptive_clock), 0, 0, false,
     "no", "yes or no"},
    {"probe", "sample_falling", CONFIG_SWITCH, FIELD(probe.layout.sample_falling), 0, 0, false,
     "no", "yes or no"},
    {"trace", "listen", CONFIG_ADDRESS, FIELD(trace), 0, 0, false, NULL, ADDRESS},
    {"trace", "connect", CONFIG_ADDRESS, FIELD(trace), 0, 0, false, NULL, ADDRESS},
    {"trace", "control", CONFIG_ADDRESS, FIELD(control), 0, 0, false, NULL, ADDRESS},
    {"trace", "format", CONFIG_FORMAT, FIELD(mode), 0, 0, false, NULL,
     "tpiu, frames, orbflow or raw"},
    {"trace", "buffer", CONFIG_SIZE, FIELD(buffer), 64, 64 * MIB, false, NULL,
     "bytes of the buffer, 64 to 64M; K and M may follow the number"},
    {"trace", "ring", CONFIG_SIZE, FIELD(ring), 64 * KIB, GIB, false, "16M",
     "bytes, 64K to 1G; K, M and G may follow the number"},
    {"trace", "threads", CONFIG_COUNT, FIELD(threads), 1, CONFIG_MAX_THREADS, false, "auto",
     "auto, or 1 to 16"},
    {"trace", "drain_ms", CONFIG_NUMBER, FIELD(drain_ms), 0, 60000, false, "200",
     "milliseconds, 0 to 60000"},
    {"trace", "backpressure", CONFIG_SWITCH, FIELD(backpressure), 0, 0, false, "no", "yes or no"},
    {"trace", "sink", CONFIG_SINK, FIELD(sink), 0, 0, false, NULL,
     "etb, tmc, mtb, memory-ring, swo, tpiu or none"},
    {"trace", "swo_rate", CONFIG_FREQUENCY, FIELD(swo_rate), 1000, 100000000, false, NULL,
     "bits a second, 1k to 100M; k and M may follow the number"},
    {"trace", "trace_clock", CONFIG_FREQUENCY, FIELD(trace_clock), 1000, 2000000000, false, NULL,
     "Hz, 1k to 2000M; k and M may follow the number"},
    {"trace", "tpiu_width", CONFIG_NUMBER, FIELD(tpiu_width), 1, 32, false, "4",
     "pins, 1 to 32; on a Cortex-M 1, 2 or 4"},
    {"trace", "itm", CONFIG_TEXT, FIELD(itm.ports_text), 0, 0, false, NULL,
     "all, or numbers of ports, 0 to 31: 0 2 8-15"},
    {"trace", "itm_id", CONFIG_NUMBER, FIELD(itm.id), 1, 0x6f, false, "1", "1 to 0x6f"},
    {"trace", "itm_timestamps", CONFIG_NUMBER, FIELD(itm.prescaler), 0, 64, false, "1",
     "0 (none), 1, 4, 16 or 64: cycles of a tick"},
    {"trace", "itm_console", CONFIG_SWITCH, FIELD(itm.console), 0, 0, false, "no", "yes or no"},
    {"trace", "itm_listen", CONFIG_ADDRESS, FIELD(itm.listen), 0,
     CONFIG_ADDRESS_ANY_PORT | CONFIG_ADDRESS_LOOPBACK, false, NULL,
     "127.0.0.1:PORT, [::1]:PORT or :PORT; port 0 takes a free one"},
    {"trace", "dwt", CONFIG_TEXT, FIELD(itm.dwt_text), 0, 0, false, NULL,
     "exceptions, pc-samples CYCLES or cycles CYCLES, with commas between them; CYCLES is 64 to "
     "1024 in steps of 64, or 2048 to 16384 in steps of 1024"},
    {"trace", "watch", CONFIG_TEXT, FIELD(itm.watch_text), 0, 0, false, NULL,
     "up to 4 times VARIABLE or 0xADDRESS, with [SIZE] [value] [pc] [address] behind it, and "
     "commas "
     "between them"},
    {"capture", "type", CONFIG_CAPTURE, FIELD(capture.type), 0, 0, false, NULL,
     "orbtrace, ftdi-fifo, ftdi-uart or tty"},
    {"capture", "serial", CONFIG_TEXT, FIELD(capture.serial), 0, 0, false, NULL,
     "a serial number as 'btraced probes' shows it"},
    {"capture", "usb", CONFIG_USB_ID, FIELD(capture.usb), 0, 0, false, NULL, USB_ID},
    {"capture", "device", CONFIG_TEXT, FIELD(capture.device), 0, 0, false, NULL,
     "a serial device, such as /dev/ttyUSB0"},
    {"capture", "baud", CONFIG_FREQUENCY, FIELD(capture.baud), 50, 100000000, false, NULL,
     "bits a second, 50 to 100M; k and M may follow the number"},
    {"capture", "channel", CONFIG_CHANNEL, FIELD(capture.channel), 0, 0, false, "B",
     "A, B, C or D"},
    {"coresight", "rom", CONFIG_COMPONENT, FIELD(coresight.rom), 0, 0, false, NULL, COMPONENT},
    {"coresight", "etb", CONFIG_COMPONENT, FIELD(coresight.etb), 0, 0, false, NULL, COMPONENT},
    {"coresight", "tmc", CONFIG_COMPONENT, FIELD(coresight.tmc), 0, 0, false, NULL, COMPONENT},
    {"coresight", "mtb", CONFIG_COMPONENT, FIELD(coresight.mtb), 0, 0, false, NULL, COMPONENT},
    {"coresight", "mtb_memory", CONFIG_RANGE, FIELD(coresight.mtb_memory), 0, 0, false, NULL,
     "ADDRESS+SIZE of RAM that the MTB writes to and nobody else uses; SIZE is 16 to 64M, a power "
     "of two, and ADDRESS a multiple of it; K and M may follow the size"},
    {"coresight", "ring_memory", CONFIG_RANGE, FIELD(coresight.ring_memory), 0, 0, false, NULL,
     "ADDRESS+SIZE of memory that trace is written to in turn, and that nobody else uses, both "
     "multiples of 16; SIZE is 32 to 64M; K and M may follow it"},
    {"coresight", "ring_position", CONFIG_NUMBER, FIELD(coresight.ring_position), 4, UINT32_MAX - 3,
     false, NULL, "the address of a register: where the next word is written"},
    {"coresight", "ring_overflow", CONFIG_NUMBER, FIELD(coresight.ring_overflow), 4, UINT32_MAX - 3,
     false, NULL, "the address of a register"},
    {"coresight", "ring_overflow_bits", CONFIG_NUMBER, FIELD(coresight.ring_overflow_bits), 1,
     UINT32_MAX, false, NULL, "bits that are set when trace was lost, and cleared by ones"},
    {"coresight", "etf", CONFIG_COMPONENT, FIELD(coresight.etf), 0, 0, false, NULL, COMPONENT},
    {"coresight", "etr_memory", CONFIG_RANGE, FIELD(coresight.etr_memory), 0, 0, false, NULL,
     "ADDRESS+SIZE of memory that nobody else uses; K and M may follow the size"},
    {"coresight", "tpiu", CONFIG_COMPONENT, FIELD(coresight.tpiu), 0, 0, false, NULL, COMPONENT},
    {"coresight", "funnel", CONFIG_COMPONENT, FIELD(coresight.funnel), 0, 0, false, NULL,
     COMPONENT},
    {"coresight", "replicator", CONFIG_COMPONENT, FIELD(coresight.replicator), 0, 0, false, NULL,
     COMPONENT},
    {"coresight", "replicator_port", CONFIG_NUMBER, FIELD(coresight.replicator_port), 0, 1, false,
     NULL, "0 or 1"},
    {"history", "memory", CONFIG_SIZE, FIELD(memory), 64 * KIB, 64 * GIB, false, "64M",
     "bytes for each core, 64K to 64G; K, M and G may follow the number"},
    {"history", "checkpoint", CONFIG_SIZE, FIELD(checkpoint), KIB, 16 * MIB, false, "64K",
     "bytes, 1K to 16M; K and M may follow the number"},
    {"past", "snapshot", CONFIG_PAST, FIELD(past.snapshot), 0, 0, false, NULL,
     "background, halt or off"},
    {"past", "snapshot_bytes", CONFIG_SIZE, FIELD(past.snapshot_bytes), 4 * KIB, 256 * MIB, false,
     "1M", "bytes, 4K to 256M; K and M may follow the number"},
    {"past", "memory", CONFIG_SIZE, FIELD(past.memory), MIB, 64 * GIB, false, "256M",
     "bytes, 1M to 64G; K, M and G may follow the number"},
    {"gdb", "listen", CONFIG_LISTEN, FIELD(access.listen), 0, 0, false, "127.0.0.1:3333",
     "ADDRESS:PORT, [ADDRESS]:PORT, :PORT (this machine), unix:PATH, systemd, or several of them; "
     "port 0 takes a free one"},
    {"gdb", "allow", CONFIG_NETWORKS, FIELD(access.allow), 0, 0, false, NULL,
     "networks or addresses: 10.1.0.0/16 192.168.7.4 2001:db8::/32"},
    {"gdb", "unix_mode", CONFIG_MODE, FIELD(access.unix_mode), 0, 0, false, "0600",
     "an octal number from 0 to 0777"},
    {"gdb", "unix_owner", CONFIG_OWNER, FIELD(access.unix_owner), 0, 0, false, ":",
     "USER, USER:GROUP or :GROUP"},
    {"gdb", "others", CONFIG_OTHERS, FIELD(others), 0, 0, false, "refuse",
     "refuse, observe or queue"},
    {"tls", "ca", CONFIG_FILE, FIELD(access.tls.ca), 0, 0, false, NULL,
     "a PEM file with the authority that signs the certificates of clients"},
    {"tls", "cert", CONFIG_FILE, FIELD(access.tls.cert), 0, 0, false, NULL,
     "a PEM file with the server's certificate"},
    {"tls", "key", CONFIG_FILE, FIELD(access.tls.key), 0, 0, false, NULL,
     "a PEM file with the private key of 'cert', without a password"},
    {"tls", "allow", CONFIG_NAMES, FIELD(access.tls.allow), 0, 0, false, NULL,
     "names in the certificates of clients, in double quotes if they have blanks; * for all that "
     "'ca' has signed"},
    {"tls", "crl", CONFIG_FILE, FIELD(access.tls.crl), 0, 0, false, NULL,
     "a PEM file with lists of revoked certificates"},
    {"tls", "client_eku", CONFIG_SWITCH, FIELD(access.tls.client_eku), 0, 0, false, "yes",
     "yes or no"},
    {"tls", "handshake", CONFIG_NUMBER, FIELD(access.tls.handshake), 1, 60, false, "10",
     "seconds, 1 to 60"},
    {"access", "control", CONFIG_RULES, ROLE(CONTROL), 0, 0, false, NULL, WHO},
    {"access", "observe", CONFIG_RULES, ROLE(OBSERVE), 0, 0, false, NULL, WHO},
    {"access", "query", CONFIG_RULES, ROLE(QUERY), 0, 0, false, NULL, WHO},
    {"access", "none", CONFIG_RULES, ROLE(NONE), 0, 0, false, NULL, WHO},
    {"limits", "clients", CONFIG_NUMBER, FIELD(limits.clients), 1, 64, false, "8", "1 to 64"},
    {"limits", "identity", CONFIG_NUMBER, FIELD(limits.identity), 0, 64, false, "0",
     "0 (as many as 'clients') to 64"},
    {"limits", "packet", CONFIG_SIZE, FIELD(limits.packet), KIB, 16 * KIB, false, "16K",
     "bytes, 1K to 16K; K may follow the number"},
    {"limits", "memory", CONFIG_SIZE, FIELD(limits.memory), 64 * KIB, GIB, false, "16M",
     "bytes, 64K to 1G; K, M and G may follow the number"},
    {"limits", "idle", CONFIG_NUMBER, FIELD(limits.idle_s), 0, 86400, false, "0",
     "seconds, 0 (for ever) to 86400"},
    {"limits", "silent", CONFIG_NUMBER, FIELD(limits.silent_s), 1, 3600, false, "20",
     "seconds, 1 to 3600"},
    {"limits", "vanished", CONFIG_NUMBER, FIELD(access.vanished), 3, 7200, false, "45",
     "seconds, 3 to 7200"},
    {"metrics", "listen", CONFIG_ADDRESS, FIELD(metrics), 0,
     CONFIG_ADDRESS_ANY_PORT | CONFIG_ADDRESS_LOOPBACK, false, NULL,
     "127.0.0.1:PORT, [::1]:PORT or :PORT; port 0 takes a free one"},
    {"audit", "file", CONFIG_TEXT, FIELD(audit.file), 0, 0, false, NULL, "a file"},
    {"audit", "syslog", CONFIG_TEXT, FIELD(audit.syslog), 0, 0, false, NULL,
     "a datagram socket: /dev/log"},
    {"audit", "json", CONFIG_SWITCH, FIELD(audit.json), 0, 0, false, "no", "yes or no"},
    {"record", "dir", CONFIG_TEXT, FIELD(record_dir), 0, 0, false, NULL, "a folder"},
    {"record", "start", CONFIG_SWITCH, FIELD(record.start), 0, 0, false, "yes", "yes or no"},
    {"record", "compress", CONFIG_SWITCH, FIELD(record.compress), 0, 0, false, "no", "yes or no"},
    {"record", "max_size", CONFIG_SIZE, FIELD(record_max_size), 0, 1024 * 1024 * GIB, false, "0",
     "bytes of trace in a recording, 0: no limit; K, M and G may follow the number"},
    {"record", "keep_free", CONFIG_SIZE, FIELD(record_keep_free), 0, 1024 * 1024 * GIB, false,
     "64M", "bytes that stay free on the disk; K, M and G may follow the number"},
    {"record", "max_count", CONFIG_NUMBER, FIELD(record_max_count), 1, 1000000, false, "1000",
     "1 to 1000000"},
    {"setup", "ADDRESS", CONFIG_SETUP, 0, 0, 0, 0, false, NULL,
     "0xADDRESS = VALUE, 0xADDRESS = set BITS, 0xADDRESS = clear BITS; words of 32 bits"},
    {"flash", "algorithm", CONFIG_FILE, FIELD(flash.algorithm), 0, 0, false, NULL,
     "an FLM file of a CMSIS pack"},
    {"flash", "ram", CONFIG_RANGE, FIELD(flash.ram), 0, 0, false, NULL,
     "ADDRESS+SIZE of RAM that the algorithm may use; K and M may follow the size"},
    {"core", "type", CONFIG_TEXT, CORE(type), 0, 0, true, NULL, "the name of a core"},
    {"core", "program", CONFIG_TEXT, CORE(program), 0, 0, false, NULL, "an ELF file"},
    {"core", "thread", CONFIG_NUMBER, CORE(thread), 1, 1024, false, NULL, "1 to 1024"},
    {"core", "source", CONFIG_STRING, CORE(source_device.type), 0, 0, false, NULL,
     "the trace unit's type: PTM1.0, PTM1.1, ETM1.0 to ETM4.6, or ETE1.0 to ETE1.3"},
    {"core", "trace_unit", CONFIG_COMPONENT, CORE(trace_unit), 0, 0, false, NULL, COMPONENT},
    {"core", "funnel_port", CONFIG_NUMBER, CORE(funnel_port), 0, 7, false, NULL, "0 to 7"},
    {"core", "debug", CONFIG_COMPONENT, CORE(debug), 0, 0, false, NULL, COMPONENT},
    {"core", "cti", CONFIG_COMPONENT, CORE(cti), 0, 0, false, NULL, COMPONENT},
    {"core", "shared", CONFIG_RANGES, CORE(shared), 0, 0, false, NULL,
     "up to 8 times ADDRESS+SIZE, of RAM that others write; K and M may follow the size"},
    {"core", "ram", CONFIG_RANGES, CORE(ram), 0, 0, false, NULL,
     "up to 8 times ADDRESS+SIZE, of RAM beside what the program file names; K and M may follow "
     "the size"},
    {"core", "mpidr", CONFIG_NUMBER, CORE(mpidr), 0, UINT32_MAX, false, NULL, "0 to 0xffffffff"},
    {"core", "rtos", CONFIG_RTOS, CORE(rtos), 0, 0, false, NULL,
     "auto, none, freertos, zephyr or threadx"},
};

_Static_assert(sizeof keys / sizeof *keys <= CONFIG_KEYS_MAX, "room for the line of each key");

const struct config_key *config_keys(size_t *count)
{
    *count = sizeof keys / sizeof *keys;
    return keys;
}

const struct config_key *config_find_key(const char *section, const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* Those that change what the trace looks like, and those that say what was traced. */
static const struct config_register registers[] = {
    {"ETMCR", 0x000, false},          {"ETMCCR", 0x001, false},
    {"ETMTRIGGER", 0x002, false},     {"ETMSR", 0x004, false},
    {"ETMSCR", 0x005, false},         {"ETMTSSCR", 0x006, false},
    {"ETMTECR2", 0x007, false},       {"ETMTEEVR", 0x008, false},
    {"ETMTECR1", 0x009, false},       {"ETMFFRR", 0x00a, false},
    {"ETMFFLR", 0x00b, false},        {"ETMSYNCFR", 0x078, false},
    {"ETMIDR", 0x079, false},         {"ETMCCER", 0x07a, false},
    {"ETMEXTINSELR", 0x07b, false},   {"ETMTSEVR", 0x07e, false},
    {"ETMAUXCR", 0x07f, false},       {"ETMTRACEIDR", 0x080, false},
    {"TRCCONFIGR", 0x004, false},     {"TRCSYNCPR", 0x00d, false},
    {"TRCCCCTLR", 0x00e, false},      {"TRCBBCTLR", 0x00f, false},
    {"TRCTRACEIDR", 0x010, false},    {"TRCVICTLR", 0x020, false},
    {"TRCIDR8", 0x060, false},        {"TRCIDR9", 0x061, false},
    {"TRCIDR10", 0x062, false},       {"TRCIDR11", 0x063, false},
    {"TRCIDR12", 0x064, false},       {"TRCIDR13", 0x065, false},
    {"TRCIDR0", 0x078, false},        {"TRCIDR1", 0x079, false},
    {"TRCIDR2", 0x07a, false},        {"TRCIDR3", 0x07b, false},
    {"TRCIDR4", 0x07c, false},        {"TRCIDR5", 0x07d, false},
    {"TRCSTALLCTLR", 0x00b, false},   {"TRCAUTHSTATUS", 0x3ee, false},
    {"TRCDEVARCH", 0x3ef, false},     {"PORT_LAYOUT", CONFIG_NO_INDEX, false},
    {"SCTLR", CONFIG_NO_INDEX, true},
};

const struct config_register *config_registers(size_t *count)
{
    *count = sizeof registers / sizeof *registers;
    return registers;
}

const struct config_register *config_find_register(const char *name)
{
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (strcmp(registers[i].name, name) == 0)
            return &registers[i];
    return NULL;
}

static const char *const core_types[] = {
    "Cortex-M0",   "Cortex-M0+",  "Cortex-M1",   "Cortex-M3",    "Cortex-M4",   "Cortex-M7",
    "Cortex-M23",  "Cortex-M33",  "Cortex-M35P", "Cortex-M52",   "Cortex-M55",  "Cortex-M85",
    "Cortex-A5",   "Cortex-A7",   "Cortex-A8",   "Cortex-A9",    "Cortex-A12",  "Cortex-A15",
    "Cortex-A17",  "Cortex-A32",  "Cortex-A34",  "Cortex-A35",   "Cortex-A53",  "Cortex-A55",
    "Cortex-A57",  "Cortex-A65",  "Cortex-A72",  "Cortex-A73",   "Cortex-A75",  "Cortex-A76",
    "Cortex-A77",  "Cortex-A78",  "Cortex-A510", "Cortex-A710",  "Cortex-R4",   "Cortex-R5",
    "Cortex-R7",   "Cortex-R8",   "Cortex-R52",  "ARM7TDMI",     "ARM7TDMI-S",  "ARM720T",
    "ARM7EJ-S",    "ARM9TDMI",    "ARM920T",     "ARM922T",      "ARM940T",     "ARM926EJ-S",
    "ARM946E-S",   "ARM966E-S",   "ARM968E-S",   "ARM1020E",     "ARM1022E",    "ARM1026EJ-S",
    "ARM1136J-S",  "ARM1136JF-S", "ARM1156T2-S", "ARM1156T2F-S", "ARM1176JZ-S", "ARM1176JZF-S",
    "ARM11MPCore", "SC300",
};

const char *const *config_core_types(size_t *count)
{
    *count = sizeof core_types / sizeof *core_types;
    return core_types;
}

/* Did you mean. */

#define WORD_MAX 63

static unsigned least_edits(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits that turn one word into the other; letters in the wrong case count nothing, two that are
 * swapped count one. */
static unsigned word_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned rows[3][WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = least_edits(least_edits(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[j] = least_edits(row[j], above2[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void config_nearest_offer(struct config_nearest *n, const char *candidate)
{
    unsigned d = word_distance(n->word, candidate);
    unsigned limit = strlen(candidate) <= 4 ? 1 : strlen(candidate) <= 8 ? 2 : 3;
    if (d > limit || (n->best && d >= n->distance))
        return;
    n->best = candidate;
    n->distance = d;
}

void config_list(char *text, size_t size, const char *name)
{
    static const char more[] = "...";
    size_t n = strlen(text), end = sizeof more - 1;
    if (n >= end && strcmp(text + n - end, more) == 0)
        return;
    bool fits = n + strlen(name) + sizeof ", , ..." <= size;
    snprintf(text + n, size - n, "%s%s", n ? ", " : "", fits ? name : more);
}
