/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of a board file's keys: numbers, addresses, words, dollar names, parts of the hardware,
 * who may connect. */
#include "config_internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
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
#define BLANKS        " \t"

/* A decimal number, or a hexadecimal one with 0x, from `text` on: the first character behind it;
 * NULL: there is none. */
static const char *scan_number(const char *text, uint64_t *value)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    size_t length = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    errno = 0;
    *value = strtoull(digits, NULL, hex ? 16 : 10);
    return length == 0 || errno ? NULL : digits + length;
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

/* A value on its way to the field of its key. */
struct value {
    struct config_parser *p;
    unsigned line;
    const struct config_key *key;
    void *field;
};

/* What is wrong with it; what is allowed is put behind that. */
static int refuse(const struct value *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse(const struct value *v, const char *format, ...)
{
    struct message m;
    va_list args;
    va_start(args, format);
    message_vset(&m, format, args);
    va_end(args);
    return config_fail(v->p, v->line, v->key->name, "%s; allowed: %s", m.text, v->key->allowed);
}

static int too_long(const struct value *v, size_t most)
{
    return config_fail(v->p, v->line, v->key->name, "is too long: at most %zu characters", most);
}

static int store_address(const struct value *v, const char *text)
{
    struct address *field = v->field;
    const char *problem = address_problem(text, field);
    if (problem)
        return refuse(v, "'%s': %s", text, problem);
    if (v->key->max & CONFIG_ADDRESS_LOOPBACK &&
        (field->kind != ADDRESS_TCP || !address_is_loopback(field)))
        return refuse(v, "'%s' is no TCP address of this machine alone, and others are refused",
                      text);
    if (field->kind == ADDRESS_TCP && field->port == 0 && !(v->key->max & CONFIG_ADDRESS_ANY_PORT))
        return refuse(v, "'%s': port 0 cannot be reached", text);
    return BT_OK;
}

/* Dollar names. */

/* What $NAME stands for; NULL, and the mistake is noted: it has no value. */
static const char *name_value(const struct value *v, const char *name, size_t length)
{
    struct config_parser *p = v->p;
    const struct config_names *n = p->names;
    if (length == 3 && memcmp(name, "DIR", 3) == 0)
        return p->dir;
    if (length == 3 && memcmp(name, "RUN", 3) == 0) {
        if (n && n->run)
            return n->run;
        config_fail(p, v->line, v->key->name, "$RUN has no value here");
        return NULL;
    }
    if (length == 6 && memcmp(name, "PLUGIN", 6) == 0) {
        if (n && n->plugin)
            return n->plugin;
        config_fail(p, v->line, v->key->name,
                    "$PLUGIN: the virtual board's plugin is neither beside the program nor "
                    "installed (%s); 'make virtual-board' builds it",
                    n && n->no_plugin ? n->no_plugin : "not looked for");
        return NULL;
    }
    config_fail(p, v->line, v->key->name,
                "'$%.*s' stands for nothing; allowed: $RUN, $DIR, $PLUGIN, and $$ for a dollar "
                "sign",
                (int)length, name);
    return NULL;
}

/* Replaces the dollar names. */
static int expand_names(const struct value *v, const char *text, char *out, size_t size)
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
            piece = name_value(v, name, (size_t)(text - name));
            if (!piece)
                return BT_ERR_FORMAT;
            length = strlen(piece);
        }
        if (length >= size - used)
            return too_long(v, size - 1);
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return BT_OK;
}

/* The next item of a list; double quotes hold it together. 1, 0 at the end, -1: a problem. */
static int next_item(const char **text, const char *separators, char *item, const char **problem)
{
    const char *s = *text + strspn(*text, separators);
    size_t n = 0;
    bool quoted = false;
    *problem = NULL;
    if (!*s)
        return 0;
    for (; *s && (quoted || !strchr(separators, *s)); s++) {
        if (*s == '"')
            quoted = !quoted;
        else if (n + 1 < CONFIG_VALUE_MAX)
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

/* Names are replaced after the splitting: a folder with blanks stays one word. */
static int store_words(const struct value *v, const char *text)
{
    char word[CONFIG_VALUE_MAX], expanded[CONFIG_VALUE_MAX];
    const char *problem;
    char **words = calloc(WORDS_MAX + 1, sizeof *words);
    *(char ***)v->field = words;
    if (!words)
        return BT_ERR_NOMEM;
    for (size_t count = 0;; count++) {
        int more = next_item(&text, BLANKS, word, &problem);
        if (more < 0)
            return config_fail(v->p, v->line, v->key->name, "'%.80s': %s", word, problem);
        if (more == 0)
            return BT_OK;
        if (count == WORDS_MAX)
            return config_fail(v->p, v->line, v->key->name, "has more than %d words", WORDS_MAX);
        int error = expand_names(v, word, expanded, sizeof expanded);
        if (error)
            return error;
        if (count == 0 && !*expanded)
            return refuse(v, "the program's name is empty");
        words[count] = config_keep(v->p->config, expanded);
        if (!words[count])
            return BT_ERR_NOMEM;
    }
}

static int store_format(const struct value *v, const char *text)
{
    struct config *c = v->p->config;
    c->formatted = strcmp(text, "raw") != 0;
    c->orbflow = strcmp(text, "orbflow") == 0;
    bool aligned = c->orbflow || strcmp(text, "frames") == 0;
    c->mode = aligned ? FORMATTER_ALIGNED : FORMATTER_SYNC;
    if (c->formatted && !aligned && strcmp(text, "tpiu") != 0)
        return refuse(v, "'%s' is not a format", text);
    return BT_OK;
}

static int store_text(const struct value *v, const char *text)
{
    if (strlen(text) >= v->key->size)
        return too_long(v, v->key->size - 1);
    memcpy(v->field, text, strlen(text) + 1);
    return BT_OK;
}

static int store_string(const struct value *v, const char *text)
{
    char *kept = config_keep(v->p->config, text);
    *(char **)v->field = kept;
    return kept ? BT_OK : BT_ERR_NOMEM;
}

/* Those that are possible or not. */

static bool take_size(const struct value *v, const char *text)
{
    uint64_t n;
    if (!parse_size(text, &n) || n < v->key->min || n > v->key->max || n > SIZE_MAX)
        return false;
    *(size_t *)v->field = (size_t)n;
    return true;
}

static bool take_number(const struct value *v, const char *text)
{
    uint64_t n;
    if (!config_parse_number(text, &n) || n < v->key->min || n > v->key->max)
        return false;
    *(unsigned *)v->field = (unsigned)n;
    return true;
}

static bool take_count(const struct value *v, const char *text)
{
    return strcmp(text, "auto") == 0 || take_number(v, text);
}

static bool take_switch(const struct value *v, const char *text)
{
    bool *field = v->field;
    *field = strcmp(text, "yes") == 0;
    return *field || strcmp(text, "no") == 0;
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

static bool take_frequency(const struct value *v, const char *text)
{
    uint64_t n;
    if (!parse_frequency(text, &n) || n < v->key->min || n > v->key->max)
        return false;
    *(unsigned *)v->field = (unsigned)n;
    return true;
}

static bool take_component(const struct value *v, const char *text)
{
    uint64_t *field = v->field;
    return config_parse_number(text, field) && *field != 0 && *field % PAGE == 0;
}

static bool parse_range(struct config_range *field, const char *value)
{
    const char *plus = scan_number(value, &field->address);
    if (!plus || *plus != '+' || !parse_size(plus + 1, &field->size))
        return false;
    return field->size > 0 && field->address <= UINT32_MAX &&
           field->size - 1 <= UINT32_MAX - field->address;
}

static bool take_range(const struct value *v, const char *text)
{
    return parse_range(v->field, text);
}

static bool take_ranges(const struct value *v, const char *value)
{
    struct config_ranges *field = v->field;
    char word[64];
    for (field->count = 0; *value; field->count++) {
        size_t length = strcspn(value, " ");
        if (field->count == CONFIG_MAX_RANGES || length >= sizeof word)
            return false;
        memcpy(word, value, length);
        word[length] = '\0';
        if (!parse_range(&field->at[field->count], word))
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

static bool take_usb_id(const struct value *v, const char *value)
{
    struct config_usb_id *field = v->field;
    bool ok = *value != '\0';
    while (*value && ok) {
        size_t length = strcspn(value, " ");
        ok = memchr(value, ':', length) ? scan_usb_numbers(field, value, length)
                                        : scan_usb_path(field, value, length);
        value += length + strspn(value + length, " ");
    }
    return ok;
}

static bool take_chain(const struct value *v, const char *value)
{
    struct config_chain *field = v->field;
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

static bool take_channel(const struct value *v, const char *value)
{
    unsigned *field = v->field;
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

static bool take_layout(const struct value *v, const char *value)
{
    struct ftdi_pinout *field = v->field;
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

static bool take_signal(const struct value *v, const char *value)
{
    struct ftdi_line *field = v->field;
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
    {CONFIG_PAST, "halt", CONFIG_SNAPSHOT_HALT},
    {CONFIG_PAST, "off", CONFIG_SNAPSHOT_OFF},
    {CONFIG_RTOS, "auto", RTOS_AUTO},
    {CONFIG_RTOS, "none", RTOS_NONE},
    {CONFIG_RTOS, "freertos", RTOS_FREERTOS},
    {CONFIG_RTOS, "zephyr", RTOS_ZEPHYR},
    {CONFIG_RTOS, "threadx", RTOS_THREADX},
};

static bool take_word(const struct value *v, const char *text)
{
    for (size_t i = 0; i < sizeof config_words / sizeof *config_words; i++) {
        if (config_words[i].kind == v->key->kind && strcmp(config_words[i].word, text) == 0) {
            *(unsigned *)v->field = config_words[i].value;
            return true;
        }
    }
    return false;
}

static int store_file(const struct value *v, const char *text)
{
    bool absolute = text[0] == '/';
    int n = snprintf(v->field, v->key->size, "%s%s%s", absolute ? "" : v->p->dir,
                     absolute ? "" : "/", text);
    return n < 0 || (size_t)n >= v->key->size ? too_long(v, v->key->size - 1) : BT_OK;
}

/* Who may connect, and where. */

/* Calls take() for each item, with dollar names replaced. */
static int store_each_item(const struct value *v, const char *text,
                           int (*take)(const struct value *v, const char *item))
{
    char item[CONFIG_VALUE_MAX], expanded[CONFIG_VALUE_MAX];
    const char *problem;
    unsigned count = 0;
    for (;; count++) {
        int more = next_item(&text, SEPARATORS, item, &problem);
        if (more < 0)
            return refuse(v, "'%.80s': %s", item, problem);
        if (more == 0)
            break;
        int error = expand_names(v, item, expanded, sizeof expanded);
        if (!error)
            error = take(v, expanded);
        if (error)
            return error;
    }
    return count == 0 ? refuse(v, "has no value") : BT_OK;
}

static int check_item(const struct value *v, const char *item, const char *problem)
{
    return problem ? refuse(v, "'%s': %s", item, problem) : BT_OK;
}

static int too_many(const struct value *v, int most, const char *what)
{
    return config_fail(v->p, v->line, v->key->name, "more than %d %s", most, what);
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

static int take_listen(const struct value *v, const char *item)
{
    struct config_access *a = &v->p->config->access;
    if (a->listen_count == CONFIG_MAX_LISTEN)
        return too_many(v, CONFIG_MAX_LISTEN, "addresses");
    return check_item(v, item, listen_problem(item, &a->listen[a->listen_count++]));
}

static int take_network(const struct value *v, const char *item)
{
    struct config_access *a = &v->p->config->access;
    if (a->allow_count == CONFIG_MAX_NETWORKS)
        return too_many(v, CONFIG_MAX_NETWORKS, "networks");
    return check_item(v, item, network_problem(item, &a->allow[a->allow_count++]));
}

static int take_name(const struct value *v, const char *item)
{
    struct tls_files *tls = &v->p->config->access.tls;
    if (tls->allow_count == TLS_MAX_NAMES)
        return too_many(v, TLS_MAX_NAMES, "names");
    if (!*item || strlen(item) >= TLS_ALLOW_SIZE)
        return config_fail(v->p, v->line, v->key->name, "a name has 1 to %d bytes",
                           TLS_ALLOW_SIZE - 1);
    tls->allow[tls->allow_count] = config_keep(v->p->config, item);
    return tls->allow[tls->allow_count++] ? BT_OK : BT_ERR_NOMEM;
}

/* Whom a role is granted to. */
static int take_rule(const struct value *v, const char *item)
{
    struct access_rules *rules = v->field;
    if (rules->count == ACCESS_MAX_RULES)
        return too_many(v, ACCESS_MAX_RULES, "of them");
    return check_item(v, item, access_rule_problem(item, &rules->rule[rules->count++]));
}

/* The file of a Unix socket. */

static int store_mode(const struct value *v, const char *text)
{
    char *end;
    unsigned long mode = strtoul(text, &end, 8);
    if (*text < '0' || *text > '7' || *end || mode > 0777)
        return refuse(v, "'%s' is not a mode", text);
    *(unsigned *)v->field = (unsigned)mode;
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

static int store_owner(const struct value *v, const char *text)
{
    struct config_owner *field = v->field;
    char user[64];
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *field = (struct config_owner){ADDRESS_SAME_OWNER, ADDRESS_SAME_OWNER};
    if (length >= sizeof user)
        return refuse(v, "is too long");
    snprintf(user, sizeof user, "%.*s", (int)length, text);
    if (*user && !user_number(user, &field->uid))
        return refuse(v, "this machine has no user '%s'", user);
    if (colon && colon[1] && !group_number(colon + 1, &field->gid))
        return refuse(v, "this machine has no group '%s'", colon + 1);
    return BT_OK;
}

/* All kinds, each with one of three functions. */
static const struct {
    bool (*take)(const struct value *v, const char *text); /* false: it is not possible */
    int (*store)(const struct value *v, const char *text);
    int (*item)(const struct value *v, const char *item); /* of a list */
} kinds[] = {
    [CONFIG_TEXT] = {.store = store_text},         [CONFIG_STRING] = {.store = store_string},
    [CONFIG_ADDRESS] = {.store = store_address},   [CONFIG_SIZE] = {.take = take_size},
    [CONFIG_NUMBER] = {.take = take_number},       [CONFIG_COUNT] = {.take = take_count},
    [CONFIG_SWITCH] = {.take = take_switch},       [CONFIG_FORMAT] = {.store = store_format},
    [CONFIG_FILE] = {.store = store_file},         [CONFIG_FREQUENCY] = {.take = take_frequency},
    [CONFIG_COMPONENT] = {.take = take_component}, [CONFIG_RANGE] = {.take = take_range},
    [CONFIG_RANGES] = {.take = take_ranges},       [CONFIG_USB_ID] = {.take = take_usb_id},
    [CONFIG_CHAIN] = {.take = take_chain},         [CONFIG_WIRE] = {.take = take_word},
    [CONFIG_AT_EXIT] = {.take = take_word},        [CONFIG_TARGET_EXIT] = {.take = take_word},
    [CONFIG_SINK] = {.take = take_word},           [CONFIG_CAPTURE] = {.take = take_word},
    [CONFIG_OTHERS] = {.take = take_word},         [CONFIG_RTOS] = {.take = take_word},
    [CONFIG_PAST] = {.take = take_word},           [CONFIG_CHANNEL] = {.take = take_channel},
    [CONFIG_LAYOUT] = {.take = take_layout},       [CONFIG_SIGNAL] = {.take = take_signal},
    [CONFIG_LISTEN] = {.item = take_listen},       [CONFIG_NETWORKS] = {.item = take_network},
    [CONFIG_NAMES] = {.item = take_name},          [CONFIG_RULES] = {.item = take_rule},
    [CONFIG_MODE] = {.store = store_mode},         [CONFIG_OWNER] = {.store = store_owner},
};

int config_store(struct config_parser *p, unsigned line, const struct config_key *key, void *base,
                 const char *value)
{
    char text[CONFIG_VALUE_MAX];
    const struct value v = {p, line, key, (char *)base + key->offset};
    if (!*value)
        return refuse(&v, "has no value");
    if (kinds[key->kind].item)
        return store_each_item(&v, value, kinds[key->kind].item);
    if (key->kind == CONFIG_WORDS) /* they are taken apart before dollar names are replaced */
        return store_words(&v, value);
    int error = expand_names(&v, value, text, sizeof text);
    if (error)
        return error;
    if (kinds[key->kind].store)
        return kinds[key->kind].store(&v, text);
    return kinds[key->kind].take(&v, text) ? BT_OK : refuse(&v, "'%s' is not possible", text);
}

int config_access_listen(struct config_access *a, const char *text, struct message *why)
{
    char item[CONFIG_VALUE_MAX];
    const char *problem = NULL, *rest = text;
    unsigned count = 0;
    for (; next_item(&rest, SEPARATORS, item, &problem) > 0; count++) {
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
