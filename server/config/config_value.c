/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of a board file's keys: numbers, addresses, words, dollar names, parts of the hardware,
 * who may connect. */
#include "config_internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX     256
#define PAGE          0x1000u
#define MIN_IR        2
#define MAX_IR        32
#define USB_DEPTH     7 /* ports in a path */
#define MAX_FREQUENCY UINT32_MAX
#define SEPARATORS    " \t,"

static int digit_of(char c, unsigned base)
{
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 16;
    return d < (int)base ? d : -1;
}

/* A decimal number, or a hexadecimal one with 0x, from `text` on: the first character behind it;
 * NULL: there is none. */
static const char *scan_number(const char *text, uint64_t *value)
{
    unsigned base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    const char *begin = base == 16 ? text + 2 : text, *s = begin;
    *value = 0;
    for (; digit_of(*s, base) >= 0; s++) {
        if (*value > (UINT64_MAX - 15) / base)
            return NULL;
        *value = *value * base + (unsigned)digit_of(*s, base);
    }
    return s == begin ? NULL : s;
}

bool config_parse_number(const char *text, uint64_t *value)
{
    const char *end = scan_number(text, value);
    return end && *end == '\0';
}

/* The same with K, M or G behind it; all of the text. */
static bool parse_size(const char *text, uint64_t *value)
{
    static const char units[] = "KMG";
    const char *end = scan_number(text, value);
    if (!end)
        return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (!unit)
        return *end == '\0';
    unsigned shift = 10 * (unsigned)(unit - units + 1);
    if (*value > UINT64_MAX >> shift)
        return false;
    *value <<= shift;
    return end[1] == '\0';
}

static int store_address(struct config_parser *p, unsigned line, const struct config_key *key,
                         struct address *field, const char *value)
{
    const char *problem = address_problem(value, field);
    if (problem)
        return config_fail(p, line, key->name, "'%s': %s; allowed: %s", value, problem,
                           key->allowed);
    if (key->max & CONFIG_ADDRESS_LOOPBACK &&
        (field->kind != ADDRESS_TCP || !address_is_loopback(field)))
        return config_fail(p, line, key->name,
                           "'%s' is no TCP address of this machine alone, and others are refused; "
                           "allowed: %s",
                           value, key->allowed);
    if (field->kind == ADDRESS_TCP && field->port == 0 && !(key->max & CONFIG_ADDRESS_ANY_PORT))
        return config_fail(p, line, key->name, "'%s': port 0 cannot be reached; allowed: %s", value,
                           key->allowed);
    return BT_OK;
}

/* Dollar names. */

/* What $NAME stands for; NULL with *why filled if it has no value. */
static const char *name_value(struct config_parser *p, unsigned line, const char *key,
                              const char *name, size_t length)
{
    if (length == 3 && memcmp(name, "DIR", 3) == 0)
        return p->dir;
    if (length == 3 && memcmp(name, "RUN", 3) == 0) {
        if (p->names && p->names->run)
            return p->names->run;
        config_fail(p, line, key, "$RUN has no value here");
        return NULL;
    }
    if (length == 6 && memcmp(name, "PLUGIN", 6) == 0) {
        if (p->names && p->names->plugin)
            return p->names->plugin;
        config_fail(p, line, key,
                    "$PLUGIN: the virtual board's plugin is neither beside the program nor "
                    "installed (%s); 'make virtual-board' builds it",
                    p->names && p->names->no_plugin ? p->names->no_plugin : "not looked for");
        return NULL;
    }
    config_fail(p, line, key,
                "'$%.*s' stands for nothing; allowed: $RUN, $DIR, $PLUGIN, and $$ for a dollar "
                "sign",
                (int)length, name);
    return NULL;
}

/* Replaces the dollar names. */
static int expand_names(struct config_parser *p, unsigned line, const char *key, const char *text,
                        char *out, size_t size)
{
    size_t used = 0;
    while (*text) {
        const char *piece = text;
        size_t length = strcspn(text, "$");
        text += length;
        if (length == 0 && text[1] == '$') {
            length = 1;
            text += 2;
        } else if (length == 0) {
            const char *name = ++text;
            while (*text >= 'A' && *text <= 'Z')
                text++;
            piece = name_value(p, line, key, name, (size_t)(text - name));
            if (!piece)
                return BT_ERR_FORMAT;
            length = strlen(piece);
        }
        if (length >= size - used)
            return config_fail(p, line, key, "is too long: at most %zu characters", size - 1);
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return BT_OK;
}

/* The next word of *text, without its quotes, to `word`. 1, 0 at the end, or an error. */
static int next_word(struct config_parser *p, unsigned line, const char *key, const char **text,
                     char *word)
{
    const char *s = *text + strspn(*text, " \t");
    size_t n = 0;
    bool quoted = false;
    if (!*s)
        return 0;
    for (; *s && (quoted || (*s != ' ' && *s != '\t')); s++) {
        if (*s == '"')
            quoted = !quoted;
        else if (n + 1 < CONFIG_VALUE_MAX)
            word[n++] = *s;
        else
            return config_fail(p, line, key, "a word is longer than %d characters",
                               CONFIG_VALUE_MAX - 1);
    }
    if (quoted)
        return config_fail(p, line, key, "a double quote is not closed");
    word[n] = '\0';
    *text = s;
    return 1;
}

/* Names are replaced after the splitting: a folder with blanks stays one word. */
static int store_words(struct config_parser *p, unsigned line, const struct config_key *key,
                       char ***field, const char *value)
{
    char word[CONFIG_VALUE_MAX], expanded[CONFIG_VALUE_MAX];
    size_t count = 0;
    *field = calloc(WORDS_MAX + 1, sizeof **field);
    if (!*field)
        return BT_ERR_NOMEM;
    for (;;) {
        int more = next_word(p, line, key->name, &value, word);
        if (more <= 0)
            return more;
        if (count == WORDS_MAX)
            return config_fail(p, line, key->name, "has more than %d words", WORDS_MAX);
        int error = expand_names(p, line, key->name, word, expanded, sizeof expanded);
        if (error)
            return error;
        if (count == 0 && !*expanded)
            return config_fail(p, line, key->name, "the program's name is empty; allowed: %s",
                               key->allowed);
        (*field)[count] = config_keep(p->config, expanded);
        if (!(*field)[count++])
            return BT_ERR_NOMEM;
    }
}

static int store_format(struct config_parser *p, unsigned line, const struct config_key *key,
                        const char *value)
{
    p->config->formatted = strcmp(value, "raw") != 0;
    p->config->orbflow = strcmp(value, "orbflow") == 0;
    bool aligned = p->config->orbflow || strcmp(value, "frames") == 0;
    p->config->mode = aligned ? FORMATTER_ALIGNED : FORMATTER_SYNC;
    if (p->config->formatted && !aligned && strcmp(value, "tpiu") != 0)
        return config_fail(p, line, key->name, "'%s' is not a format; allowed: %s", value,
                           key->allowed);
    return BT_OK;
}

static int store_text(struct config_parser *p, unsigned line, const struct config_key *key,
                      char *field, const char *value)
{
    if (strlen(value) >= key->size)
        return config_fail(p, line, key->name, "is too long: at most %zu characters",
                           key->size - 1);
    memcpy(field, value, strlen(value) + 1);
    return BT_OK;
}

static int store_key_number(struct config_parser *p, unsigned line, const struct config_key *key,
                            void *field, const char *value)
{
    uint64_t n;
    bool ok = key->kind == CONFIG_SIZE ? parse_size(value, &n) : config_parse_number(value, &n);
    if (!ok || n < key->min || n > key->max || n > SIZE_MAX)
        return config_fail(p, line, key->name, "'%s' is not possible; allowed: %s", value,
                           key->allowed);
    if (key->kind == CONFIG_SIZE)
        *(size_t *)field = (size_t)n;
    else
        *(unsigned *)field = (unsigned)n;
    return BT_OK;
}

/* Probes, trace units and their like. */

static bool parse_frequency(const char *text, uint64_t *value)
{
    const char *end = scan_number(text, value);
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
    const char *plus = scan_number(value, &field->address);
    if (!plus || *plus != '+' || !parse_size(plus + 1, &field->size))
        return false;
    return field->size > 0 && field->address <= UINT32_MAX &&
           field->size - 1 <= UINT32_MAX - field->address;
}

static bool store_ranges(struct config_ranges *field, const char *value)
{
    char word[64];
    for (field->count = 0; *value; field->count++) {
        size_t length = strcspn(value, " ");
        if (field->count == CONFIG_MAX_RANGES || length >= sizeof word)
            return false;
        memcpy(word, value, length);
        word[length] = '\0';
        if (!store_range(&field->at[field->count], word))
            return false;
        value += length + strspn(value + length, " ");
    }
    return field->count > 0;
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
        const char *end = scan_number(value, &bits);
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
    const char *end = scan_number(text, &n);
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
            return at;
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
} config_words[] = {
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
    {CONFIG_SINK, "mtb", CONFIG_SINK_MTB},
    {CONFIG_SINK, "memory-ring", CONFIG_SINK_RING},
    {CONFIG_SINK, "swo", CONFIG_SINK_SWO},
    {CONFIG_SINK, "tpiu", CONFIG_SINK_TPIU},
    {CONFIG_CAPTURE, "orbtrace", CONFIG_CAPTURE_ORBTRACE},
    {CONFIG_CAPTURE, "ftdi-fifo", CONFIG_CAPTURE_FTDI_FIFO},
    {CONFIG_CAPTURE, "ftdi-uart", CONFIG_CAPTURE_FTDI_UART},
    {CONFIG_CAPTURE, "tty", CONFIG_CAPTURE_TTY},
    {CONFIG_OTHERS, "refuse", CONFIG_OTHERS_REFUSE},
    {CONFIG_OTHERS, "observe", CONFIG_OTHERS_OBSERVE},
    {CONFIG_OTHERS, "queue", CONFIG_OTHERS_QUEUE},
    {CONFIG_PAST, "background", CONFIG_SNAPSHOT_BACKGROUND},
    {CONFIG_PAST, "off", CONFIG_SNAPSHOT_OFF},
    {CONFIG_RTOS, "auto", RTOS_AUTO},
    {CONFIG_RTOS, "none", RTOS_NONE},
    {CONFIG_RTOS, "freertos", RTOS_FREERTOS},
    {CONFIG_RTOS, "zephyr", RTOS_ZEPHYR},
    {CONFIG_RTOS, "threadx", RTOS_THREADX},
};

static bool store_word(enum config_kind kind, unsigned *field, const char *value)
{
    for (size_t i = 0; i < sizeof config_words / sizeof *config_words; i++) {
        if (config_words[i].kind == kind && strcmp(config_words[i].word, value) == 0) {
            *field = config_words[i].value;
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

static int store_hardware(struct config_parser *p, unsigned line, const struct config_key *key,
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
    case CONFIG_RANGES:
        ok = store_ranges(field, value);
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

/* Who may connect, and where. */

/* The next item of a list; double quotes hold it together. 1, 0 at the end, -1: a problem. */
static int next_list_item(const char **text, char *item, size_t size, const char **problem)
{
    const char *s = *text + strspn(*text, SEPARATORS);
    size_t n = 0;
    bool quoted = false;
    *problem = NULL;
    if (!*s)
        return 0;
    for (; *s && (quoted || !strchr(SEPARATORS, *s)); s++) {
        if (*s == '"')
            quoted = !quoted;
        else if (n + 1 < size)
            item[n++] = *s;
        else
            *problem = "it is too long";
    }
    if (quoted)
        *problem = "a double quote is not closed";
    item[n] = '\0';
    *text = s;
    return *problem ? -1 : 1;
}

/* Calls take() for each item, with dollar names replaced. */
static int store_each_item(struct config_parser *p, unsigned line, const struct config_key *key,
                           const char *value,
                           int (*take)(struct config_parser *p, unsigned line,
                                       const struct config_key *key, const char *item))
{
    char item[CONFIG_VALUE_MAX], expanded[CONFIG_VALUE_MAX];
    const char *problem;
    unsigned count = 0;
    for (;; count++) {
        int more = next_list_item(&value, item, sizeof item, &problem);
        if (more < 0)
            return config_fail(p, line, key->name, "'%.80s': %s; allowed: %s", item, problem,
                               key->allowed);
        if (more == 0)
            break;
        int error = expand_names(p, line, key->name, item, expanded, sizeof expanded);
        if (!error)
            error = take(p, line, key, expanded);
        if (error)
            return error;
    }
    if (count == 0)
        return config_fail(p, line, key->name, "has no value; allowed: %s", key->allowed);
    return BT_OK;
}

static bool is_numeric_host(const char *host)
{
    unsigned char a[sizeof(struct in6_addr)];
    char plain[64];
    size_t length = strcspn(host, "%"); /* a zone may follow */
    if (length >= sizeof plain)
        return false;
    snprintf(plain, sizeof plain, "%.*s", (int)length, host);
    return inet_pton(AF_INET, plain, a) == 1 || inet_pton(AF_INET6, plain, a) == 1;
}

static const char *listen_problem(const char *text, struct config_listen *listen)
{
    memset(listen, 0, sizeof *listen);
    listen->systemd = strcmp(text, "systemd") == 0;
    if (listen->systemd)
        return NULL;
    listen->tls = strncmp(text, "tls:", 4) == 0;
    const char *problem = address_problem(text + (listen->tls ? 4 : 0), &listen->address);
    if (!problem && listen->tls && listen->address.kind == ADDRESS_UNIX)
        problem = "a Unix socket has no TLS: its mode and owner control access";
    if (problem)
        return problem;
    if (!address_is_loopback(&listen->address) && !is_numeric_host(listen->address.host))
        return "the address is a name; one to listen on is a number, 0.0.0.0 or [::] for all";
    return NULL;
}

static int store_listen(struct config_parser *p, unsigned line, const struct config_key *key,
                        const char *item)
{
    struct config_access *a = &p->config->access;
    struct config_listen *listen = &a->listen[a->listen_count];
    if (a->listen_count == CONFIG_MAX_LISTEN)
        return config_fail(p, line, key->name, "more than %d addresses", CONFIG_MAX_LISTEN);
    const char *problem = listen_problem(item, listen);
    if (problem)
        return config_fail(p, line, key->name, "'%s': %s; allowed: %s", item, problem,
                           key->allowed);
    a->listen_count++;
    return BT_OK;
}

static int store_network(struct config_parser *p, unsigned line, const struct config_key *key,
                         const char *item)
{
    struct config_access *a = &p->config->access;
    if (a->allow_count == CONFIG_MAX_NETWORKS)
        return config_fail(p, line, key->name, "more than %d networks", CONFIG_MAX_NETWORKS);
    const char *problem = network_problem(item, &a->allow[a->allow_count]);
    if (problem)
        return config_fail(p, line, key->name, "'%s': %s; allowed: %s", item, problem,
                           key->allowed);
    a->allow_count++;
    return BT_OK;
}

static int store_name(struct config_parser *p, unsigned line, const struct config_key *key,
                      const char *item)
{
    struct tls_files *tls = &p->config->access.tls;
    if (tls->allow_count == TLS_MAX_NAMES)
        return config_fail(p, line, key->name, "more than %d names", TLS_MAX_NAMES);
    if (!*item || strlen(item) >= TLS_ALLOW_SIZE)
        return config_fail(p, line, key->name, "a name has 1 to %d bytes", TLS_ALLOW_SIZE - 1);
    tls->allow[tls->allow_count] = config_keep(p->config, item);
    return tls->allow[tls->allow_count++] ? BT_OK : BT_ERR_NOMEM;
}

/* Whom a role is granted to. */
static int store_rule(struct config_parser *p, unsigned line, const struct config_key *key,
                      const char *item)
{
    struct access_rules *rules = (void *)((char *)p->config + key->offset);
    if (rules->count == ACCESS_MAX_RULES)
        return config_fail(p, line, key->name, "more than %d of them", ACCESS_MAX_RULES);
    const char *problem = access_rule_problem(item, &rules->rule[rules->count]);
    if (problem)
        return config_fail(p, line, key->name, "'%s': %s; allowed: %s", item, problem,
                           key->allowed);
    rules->count++;
    return BT_OK;
}

/* The file of a Unix socket. */

static int store_mode(struct config_parser *p, unsigned line, const struct config_key *key,
                      unsigned *field, const char *value)
{
    char *end;
    unsigned long mode = strtoul(value, &end, 8);
    if (*value < '0' || *value > '7' || *end || mode > 0777)
        return config_fail(p, line, key->name, "'%s' is not a mode; allowed: %s", value,
                           key->allowed);
    *field = (unsigned)mode;
    return BT_OK;
}

/* A name, or a number for those that have none. */
static bool user_number(const char *name, unsigned *number)
{
    uint64_t n;
    const struct passwd *user = getpwnam(name);
    if (!user && (!config_parse_number(name, &n) || n >= ADDRESS_SAME_OWNER))
        return false;
    *number = user ? user->pw_uid : (unsigned)n;
    return true;
}

static bool group_number(const char *name, unsigned *number)
{
    uint64_t n;
    const struct group *group = getgrnam(name);
    if (!group && (!config_parse_number(name, &n) || n >= ADDRESS_SAME_OWNER))
        return false;
    *number = group ? group->gr_gid : (unsigned)n;
    return true;
}

static int store_owner(struct config_parser *p, unsigned line, const struct config_key *key,
                       struct config_owner *field, const char *value)
{
    char user[64];
    const char *colon = strchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : strlen(value);
    *field = (struct config_owner){ADDRESS_SAME_OWNER, ADDRESS_SAME_OWNER};
    if (length >= sizeof user)
        return config_fail(p, line, key->name, "is too long; allowed: %s", key->allowed);
    snprintf(user, sizeof user, "%.*s", (int)length, value);
    if (*user && !user_number(user, &field->uid))
        return config_fail(p, line, key->name, "this machine has no user '%s'; allowed: %s", user,
                           key->allowed);
    if (colon && colon[1] && !group_number(colon + 1, &field->gid))
        return config_fail(p, line, key->name, "this machine has no group '%s'; allowed: %s",
                           colon + 1, key->allowed);
    return BT_OK;
}

static int store_access(struct config_parser *p, unsigned line, const struct config_key *key,
                        void *field, const char *value)
{
    switch (key->kind) {
    case CONFIG_LISTEN:
        return store_each_item(p, line, key, value, store_listen);
    case CONFIG_NETWORKS:
        return store_each_item(p, line, key, value, store_network);
    case CONFIG_NAMES:
        return store_each_item(p, line, key, value, store_name);
    case CONFIG_RULES:
        return store_each_item(p, line, key, value, store_rule);
    case CONFIG_MODE:
        return store_mode(p, line, key, field, value);
    default:
        return store_owner(p, line, key, field, value);
    }
}

/* All kinds. */

int config_store(struct config_parser *p, unsigned line, const struct config_key *key, void *base,
                 const char *value)
{
    char text[CONFIG_VALUE_MAX];
    void *field = (char *)base + key->offset;
    if (!*value)
        return config_fail(p, line, key->name, "has no value; allowed: %s", key->allowed);
    if (key->kind == CONFIG_WORDS)
        return store_words(p, line, key, field, value);
    if (key->kind == CONFIG_LISTEN || key->kind == CONFIG_NETWORKS || key->kind == CONFIG_NAMES ||
        key->kind == CONFIG_RULES)
        return store_access(p, line, key, field, value);
    int error = expand_names(p, line, key->name, value, text, sizeof text);
    if (error)
        return error;
    switch (key->kind) {
    case CONFIG_TEXT:
        return store_text(p, line, key, field, text);
    case CONFIG_STRING:
        *(char **)field = config_keep(p->config, text);
        return *(char **)field ? BT_OK : BT_ERR_NOMEM;
    case CONFIG_ADDRESS:
        return store_address(p, line, key, field, text);
    case CONFIG_SWITCH:
        *(bool *)field = strcmp(text, "yes") == 0;
        if (!*(bool *)field && strcmp(text, "no") != 0)
            return config_fail(p, line, key->name, "'%s' is not possible; allowed: %s", text,
                               key->allowed);
        return BT_OK;
    case CONFIG_FORMAT:
        return store_format(p, line, key, text);
    case CONFIG_SIZE:
    case CONFIG_NUMBER:
        return store_key_number(p, line, key, field, text);
    case CONFIG_MODE:
    case CONFIG_OWNER:
        return store_access(p, line, key, field, text);
    default:
        return store_hardware(p, line, key, field, text);
    }
}

int config_access_listen(struct config_access *a, const char *text, struct message *why)
{
    char item[CONFIG_VALUE_MAX];
    const char *problem = NULL, *rest = text;
    unsigned count = 0;
    for (; next_list_item(&rest, item, sizeof item, &problem) > 0; count++) {
        if (a->listen_count == CONFIG_MAX_LISTEN)
            problem = "too many addresses";
        else
            problem = listen_problem(item, &a->listen[a->listen_count++]);
        if (problem)
            break;
    }
    if (!problem && count > 0)
        return BT_OK;
    message_set(why, "--listen wants ADDRESS:PORT or unix:PATH, not '%.200s'%s%s", text,
                problem ? ": " : "", problem ? problem : "");
    return BT_ERR_FORMAT;
}
