/* SPDX-License-Identifier: BSD-3-Clause */
/* [probe], [coresight], [capture] and [flash]: values, and what the target's sections exclude. */
#include "config_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE          0x1000u
#define MIN_IR        2
#define MAX_IR        32
#define USB_DEPTH     7 /* ports in a path */
#define MAX_FREQUENCY UINT32_MAX

static bool parse_frequency(const char *text, uint64_t *value)
{
    const char *end = config_scan_number(text, value);
    if (!end || *value > MAX_FREQUENCY)
        return false;
    uint64_t unit = *end == 'k' || *end == 'K' ? 1000 : *end == 'M' ? 1000000 : 1;
    *value *= unit;
    return *end == '\0' || (unit > 1 && end[1] == '\0');
}

static bool store_frequency(const struct config_key *key, unsigned *field, const char *value)
{
    uint64_t n;
    if (!parse_frequency(value, &n) || n < key->min || n > key->max)
        return false;
    *field = (unsigned)n;
    return true;
}

static bool store_component(uint64_t *field, const char *value)
{
    return config_parse_number(value, field) && *field != 0 && *field % PAGE == 0;
}

static bool store_range(struct config_range *field, const char *value)
{
    const char *plus = config_scan_number(value, &field->address);
    if (!plus || *plus != '+' || !config_parse_size(plus + 1, &field->size))
        return false;
    return field->size > 0 && field->address <= UINT32_MAX &&
           field->size - 1 <= UINT32_MAX - field->address;
}

static bool four_digits(const char *text)
{
    for (unsigned i = 0; i < 4; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return true;
}

/* "0403:6010" */
static bool scan_usb_numbers(struct config_usb_id *field, const char *word, size_t length)
{
    if (field->vendor || length != 9 || word[4] != ':' || !four_digits(word) ||
        !four_digits(word + 5))
        return false;
    field->vendor = (uint16_t)strtoul(word, NULL, 16);
    field->product = (uint16_t)strtoul(word + 5, NULL, 16);
    return field->vendor != 0;
}

/* "1-2.3": a bus, and the ports of hubs from there on, written as the system does. */
static bool scan_usb_path(struct config_usb_id *field, const char *word, size_t length)
{
    const char *at = word;
    unsigned ports = 0;
    if (field->path[0] || length >= sizeof field->path)
        return false;
    for (char next = '-'; at < word + length; next = '.') {
        char *end;
        unsigned long number = *at >= '1' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (number == 0 || number > UINT8_MAX || ports++ > USB_DEPTH)
            return false;
        at = end;
        if (at < word + length && (*at++ != next || at == word + length))
            return false;
    }
    memcpy(field->path, word, length);
    return ports > 1;
}

static bool store_usb_id(struct config_usb_id *field, const char *value)
{
    bool ok = *value != '\0';
    while (*value && ok) {
        size_t length = strcspn(value, " ");
        ok = memchr(value, ':', length) ? scan_usb_numbers(field, value, length)
                                        : scan_usb_path(field, value, length);
        value += length + strspn(value + length, " ");
    }
    return ok;
}

static bool store_chain(struct config_chain *field, const char *value)
{
    while (*value) {
        uint64_t bits;
        const char *end = config_scan_number(value, &bits);
        if (!end || (*end && *end != ' ') || bits < MIN_IR || bits > MAX_IR ||
            field->count == CONFIG_MAX_CHAIN)
            return false;
        field->ir_lengths[field->count++] = (uint8_t)bits;
        value = end + strspn(end, " ");
    }
    return field->count > 0;
}

static bool store_channel(unsigned *field, const char *value)
{
    unsigned letter = (unsigned char)value[0] | 0x20u;
    *field = letter - 'a';
    return letter >= 'a' && letter <= 'd' && value[1] == '\0';
}

static const char *scan_pins(const char *text, uint16_t *pins)
{
    uint64_t n;
    const char *end = config_scan_number(text, &n);
    *pins = (uint16_t)n;
    return end && n <= UINT16_MAX ? end : NULL;
}

static bool store_layout(struct ftdi_pinout *field, const char *value)
{
    const char *slash = scan_pins(value, &field->value);
    if (!slash || *slash != '/')
        return false;
    const char *end = scan_pins(slash + 1, &field->direction);
    return end && *end == '\0';
}

/* One or more pins, perhaps inverted; NULL: it is something else. */
static const char *scan_signal(const char *text, uint16_t *pins, bool *inverted)
{
    *inverted = *text == '!';
    const char *end = scan_pins(text + *inverted, pins);
    return end && *pins != 0 ? end : NULL;
}

static bool store_signal(struct ftdi_line *field, const char *value)
{
    static const char ENABLE[] = "enable ";
    const char *at = value;
    if (strncmp(at, ENABLE, sizeof ENABLE - 1) != 0) {
        at = scan_signal(at, &field->data, &field->data_inverted);
        if (!at || *at == '\0')
            return at != NULL;
        at += strspn(at, " ");
    }
    if (strncmp(at, ENABLE, sizeof ENABLE - 1) != 0)
        return false;
    at += sizeof ENABLE - 1;
    at = scan_signal(at + strspn(at, " "), &field->enable, &field->enable_inverted);
    return at && *at == '\0' && (field->data & field->enable) == 0;
}

static const struct {
    enum config_kind kind;
    const char *word;
    unsigned value;
} words[] = {
    {CONFIG_WIRE, "swd", DEBUG_WIRE_SWD},
    {CONFIG_WIRE, "jtag", DEBUG_WIRE_JTAG},
    {CONFIG_AT_EXIT, "run", CONFIG_EXIT_RUN},
    {CONFIG_AT_EXIT, "halt", CONFIG_EXIT_HALT},
    {CONFIG_TARGET_EXIT, "run", CONFIG_EXIT_RUN},
    {CONFIG_TARGET_EXIT, "halt", CONFIG_EXIT_HALT},
    {CONFIG_TARGET_EXIT, "leave", CONFIG_EXIT_LEAVE},
    {CONFIG_SINK, "none", CONFIG_SINK_NONE},
    {CONFIG_SINK, "etb", CONFIG_SINK_ETB},
    {CONFIG_SINK, "tmc", CONFIG_SINK_TMC},
    {CONFIG_SINK, "swo", CONFIG_SINK_SWO},
    {CONFIG_SINK, "tpiu", CONFIG_SINK_TPIU},
    {CONFIG_CAPTURE, "orbtrace", CONFIG_CAPTURE_ORBTRACE},
    {CONFIG_CAPTURE, "ftdi-fifo", CONFIG_CAPTURE_FTDI_FIFO},
    {CONFIG_CAPTURE, "ftdi-uart", CONFIG_CAPTURE_FTDI_UART},
    {CONFIG_CAPTURE, "tty", CONFIG_CAPTURE_TTY},
    {CONFIG_OTHERS, "refuse", CONFIG_OTHERS_REFUSE},
    {CONFIG_OTHERS, "observe", CONFIG_OTHERS_OBSERVE},
    {CONFIG_OTHERS, "queue", CONFIG_OTHERS_QUEUE},
};

static bool store_word(enum config_kind kind, unsigned *field, const char *value)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].kind == kind && strcmp(words[i].word, value) == 0) {
            *field = words[i].value;
            return true;
        }
    }
    return false;
}

static int store_file(struct config_parser *p, unsigned line, const struct config_key *key,
                      char *field, const char *value)
{
    bool absolute = value[0] == '/';
    int n =
        snprintf(field, key->size, "%s%s%s", absolute ? "" : p->dir, absolute ? "" : "/", value);
    if (n < 0 || (size_t)n >= key->size)
        return config_fail(p, line, key->name, "is too long: at most %zu characters",
                           key->size - 1);
    return BT_OK;
}

int config_store_hardware(struct config_parser *p, unsigned line, const struct config_key *key,
                          void *field, const char *value)
{
    bool ok = false;
    switch (key->kind) {
    case CONFIG_FILE:
        return store_file(p, line, key, field, value);
    case CONFIG_FREQUENCY:
        ok = store_frequency(key, field, value);
        break;
    case CONFIG_COMPONENT:
        ok = store_component(field, value);
        break;
    case CONFIG_RANGE:
        ok = store_range(field, value);
        break;
    case CONFIG_USB_ID:
        ok = store_usb_id(field, value);
        break;
    case CONFIG_CHAIN:
        ok = store_chain(field, value);
        break;
    case CONFIG_CHANNEL:
        ok = store_channel(field, value);
        break;
    case CONFIG_LAYOUT:
        ok = store_layout(field, value);
        break;
    case CONFIG_SIGNAL:
        ok = store_signal(field, value);
        break;
    default:
        ok = store_word(key->kind, field, value);
        break;
    }
    if (ok)
        return BT_OK;
    return config_fail(p, line, key->name, "'%s' is not possible; allowed: %s", value,
                       key->allowed);
}

/* What goes together: target and probe. */

int config_missing(struct config_parser *p, const char *section, const char *name,
                   const char *because)
{
    char label[128];
    snprintf(label, sizeof label, "[%s] %s", section, name);
    return config_fail(p, 0, label, "is missing%s; allowed: %s", because,
                       config_find_key(section, name)->allowed);
}

unsigned config_first_key(const struct config_parser *p, const char *section, const char **name)
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

static int check_jtag(struct config_parser *p)
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
    for (size_t i = 0; !ftdi && i < sizeof keys / sizeof *keys; i++) {
        unsigned line = config_line_of(p, "probe", keys[i]);
        if (line)
            return config_fail(p, line, keys[i], "is of another probe; allowed: with type = ftdi");
    }
    if (ftdi && probe->connect_under_reset && !config_line_of(p, "probe", "nsrst"))
        return config_missing(p, "probe", "nsrst", ", which connect_under_reset needs");
    unsigned line = config_line_of(p, "probe", "adaptive_clock");
    if (probe->layout.adaptive_clock && probe->wire != DEBUG_WIRE_JTAG)
        return config_fail(p, line, "adaptive_clock",
                           "is of the other wire; allowed: with wire = jtag");
    return BT_OK;
}

/* Those that there are drivers for. */
static bool is_probe(const char *type)
{
    return strcmp(type, "cmsis-dap") == 0 || strcmp(type, "ftdi") == 0;
}

static int check_probe(struct config_parser *p)
{
    static const char *const others[] = {"connect", "command", "at_exit"};
    const struct config_probe *probe = &p->config->probe;
    unsigned line = config_line_of(p, "probe", "type");
    if (!line)
        return config_missing(p, "probe", "type", "");
    if (!is_probe(probe->type))
        return config_fail(p, line, "type", "'%s' is not a probe that is known; allowed: %s",
                           probe->type, config_find_key("probe", "type")->allowed);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        line = config_line_of(p, "target", others[i]);
        if (line)
            return config_fail(p, line, others[i],
                               "is for another GDB server, but with [probe] btraced debugs the "
                               "target itself; allowed: this key or the section [probe]");
    }
    if (!config_line_of(p, "probe", "memory_ap"))
        p->config->probe.memory_ap = CONFIG_NO_AP;
    int error = check_ftdi(p);
    return error ? error : check_jtag(p);
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
        return config_missing(p, "flash", "algorithm", "");
    return ram ? BT_OK : config_missing(p, "flash", "ram", "");
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

int config_check_target(struct config_parser *p)
{
    const char *key;
    int error = check_exit(p);
    if (error)
        return error;
    if (config_first_key(p, "probe", &key))
        error = check_probe(p);
    else if (!config_line_of(p, "target", "connect"))
        error = config_missing(p, "target", "connect", "");
    return error ? error : check_flash(p);
}
