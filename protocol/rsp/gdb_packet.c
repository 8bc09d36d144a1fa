/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/gdb_packet.h"

#include <string.h>

bool gdb_packet_starts_any(const char *payload, size_t len, const char *words)
{
    for (size_t n; *words; words += n + strspn(words + n, " ")) {
        n = strcspn(words, " ");
        if (n <= len && memcmp(payload, words, n) == 0)
            return true;
    }
    return false;
}

/* Takes what follows the name. False: malformed, what it does cannot be known. */
typedef bool (*packet_read_fn)(struct gdb_packet *p, struct gdb_args *a);

struct packet_kind {
    const char *name;
    bool whole; /* nothing follows the name */
    enum gdb_packet_answer answer;
    enum target_request_kind kind;
    packet_read_fn read;
};

static bool packet_read_thread(struct gdb_packet *p, struct gdb_args *a)
{
    p->selects = gdb_thread_take(a, &p->thread);
    return true;
}

bool gdb_packet_take_breakpoint(struct gdb_args *a, struct target_breakpoint *bp)
{
    uint64_t type;
    uint64_t kind;
    if (!gdb_args_hex_max(a, TARGET_WATCHPOINT_ACCESS, &type) || !gdb_args_char(a, ',') ||
        !gdb_args_hex(a, &bp->address) || !gdb_args_char(a, ',') ||
        !gdb_args_hex_max(a, UINT32_MAX, &kind))
        return false;
    bp->type = (enum target_breakpoint_type)type;
    bp->kind = (uint32_t)kind;
    return true;
}

/* Conditions and commands of the server's own may follow. */
static bool packet_read_breakpoint(struct gdb_packet *p, struct gdb_args *a)
{
    return gdb_packet_take_breakpoint(a, &p->request.breakpoint);
}

/* A write of nothing is a question whether it would be possible. */
static bool packet_read_range(struct gdb_packet *p, struct gdb_args *a)
{
    uint64_t length;
    if (!gdb_args_hex(a, &p->request.address) || !gdb_args_char(a, ',') ||
        !gdb_args_hex(a, &length))
        return false;
    p->request.length = (size_t)length;
    return length > 0;
}

static bool packet_read_flash_write(struct gdb_packet *p, struct gdb_args *a)
{
    if (!gdb_args_hex(a, &p->request.address) || !gdb_args_char(a, ':'))
        return false;
    p->request.length = gdb_args_left(a);
    p->request.bytes = (const uint8_t *)a->at;
    return p->request.length > 0;
}

/* No other command is hidden in it either. */
bool gdb_packet_only_shows(const char *command)
{
    static const char *const harmless[] = {"info", "help", "version", "usage", "mdw", "mdh", "mdb"};
    size_t word = strcspn(command, " \t");
    if (command[strcspn(command, ";[\n|")])
        return false;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (word == strlen(harmless[i]) && memcmp(command, harmless[i], word) == 0)
            return true;
    return false;
}

static bool packet_read_command(struct gdb_packet *p, struct gdb_args *a)
{
    char command[200];
    size_t n = 0;
    uint8_t c;
    while (n + 1 < sizeof command && gdb_args_bytes(a, &c, 1) && c)
        command[n++] = (char)c;
    command[n] = '\0';
    p->request.only_shows = gdb_args_empty(a) && gdb_packet_only_shows(command);
    return true;
}

/* From another address, after the signal if there is one. */
static bool packet_read_address(struct gdb_packet *p, struct gdb_args *a)
{
    static const struct target_regs elsewhere;
    if (gdb_args_hex(a, &p->request.address))
        p->request.regs = &elsewhere;
    return true;
}

/* The one that is written. */
static bool packet_read_register(struct gdb_packet *p, struct gdb_args *a)
{
    p->request.length = gdb_args_hex(a, &p->request.address) && gdb_args_char(a, '=');
    return true;
}

static bool packet_read_signal(struct gdb_packet *p, struct gdb_args *a)
{
    uint64_t signal;
    if (gdb_args_hex(a, &signal) && gdb_args_char(a, ';'))
        packet_read_address(p, a);
    return true;
}

/* The other side reads a lot of memory for it. */
static bool packet_read_search(struct gdb_packet *p, struct gdb_args *a)
{
    (void)a;
    p->request.takes_time = true;
    return true;
}

static const struct packet_kind packet_kinds[] = {
    {"?", true, GDB_ANSWER_ONE, TARGET_STATUS, NULL},
    {"g", true, GDB_ANSWER_ONE, TARGET_READ_REGISTERS, NULL},
    {"vCont;", false, GDB_ANSWER_STOP, TARGET_RESUME, NULL},
    {"c", false, GDB_ANSWER_STOP, TARGET_RESUME, packet_read_address},
    {"s", false, GDB_ANSWER_STOP, TARGET_RESUME, packet_read_address},
    {"C", false, GDB_ANSWER_STOP, TARGET_RESUME, packet_read_signal},
    {"S", false, GDB_ANSWER_STOP, TARGET_RESUME, packet_read_signal},
    {"bs", true, GDB_ANSWER_STOP, TARGET_RESUME, NULL},
    {"bc", true, GDB_ANSWER_STOP, TARGET_RESUME, NULL},
    {"Hg", false, GDB_ANSWER_ONE, TARGET_PACKET, packet_read_thread},
    {"Z", false, GDB_ANSWER_ONE, TARGET_INSERT, packet_read_breakpoint},
    {"z", false, GDB_ANSWER_ONE, TARGET_REMOVE, packet_read_breakpoint},
    {"M", false, GDB_ANSWER_ONE, TARGET_WRITE_MEMORY, packet_read_range},
    {"X", false, GDB_ANSWER_ONE, TARGET_WRITE_MEMORY, packet_read_range},
    {"G", false, GDB_ANSWER_ONE, TARGET_WRITE_REGISTERS, NULL},
    {"P", false, GDB_ANSWER_ONE, TARGET_WRITE_REGISTERS, packet_read_register},
    {"qCRC:", false, GDB_ANSWER_ONE, TARGET_PACKET, packet_read_search},
    {"qSearch:", false, GDB_ANSWER_ONE, TARGET_PACKET, packet_read_search},
    {"vFlashErase:", false, GDB_ANSWER_OUTPUT, TARGET_FLASH_ERASE, NULL}, /* no code there */
    {"vFlashWrite:", false, GDB_ANSWER_OUTPUT, TARGET_FLASH_WRITE, packet_read_flash_write},
    {"vFlashDone", true, GDB_ANSWER_OUTPUT, TARGET_FLASH_DONE, NULL},
    {"qRcmd,", false, GDB_ANSWER_OUTPUT, TARGET_COMMAND, packet_read_command},
    {"vRun", false, GDB_ANSWER_OUTPUT, TARGET_RESET, NULL},
    {"vAttach", false, GDB_ANSWER_OUTPUT, TARGET_STATUS, NULL},
    {"R", false, GDB_ANSWER_NONE, TARGET_RESET, NULL},
};

static const struct packet_kind *packet_kind_of(struct gdb_args *a)
{
    for (size_t i = 0; i < sizeof(packet_kinds) / sizeof(*packet_kinds); i++) {
        const struct packet_kind *k = &packet_kinds[i];
        if (k->whole ? gdb_args_equal(a, k->name) : gdb_args_text(a, k->name))
            return k;
    }
    return NULL;
}

/* Begins as D, k, bs or bc, and is none of them: QEMU lets go of the target all the
 * same, or ends. */
static bool packet_is_broken_end(const char *payload, size_t len)
{
    if (len > 0 && payload[0] == 'b')
        return len != 2 || (payload[1] != 's' && payload[1] != 'c');
    return len > 1 && ((payload[0] == 'D' && payload[1] != ';') || payload[0] == 'k');
}

/* A choice of a thread that is none: QEMU does not answer some of them, as for all threads. */
static bool packet_is_broken_choice(const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    struct gdb_thread thread;
    if (gdb_args_text(&a, "qThreadExtraInfo"))
        return !gdb_args_char(&a, ',') || !gdb_thread_take(&a, &thread) || !thread.single ||
               !gdb_args_empty(&a);
    if (len == 0 || payload[0] != 'H')
        return false;
    if (len < 3 || (payload[1] != 'g' && payload[1] != 'c'))
        return true;
    for (size_t i = 2; i < len; i++) {
        if (payload[i] == '\0' || !strchr("0123456789abcdefABCDEFp.-", payload[i]))
            return true;
    }
    return false;
}

/* A write to memory that is not what it says it is: too little data, too much, no digits. Servers
 * differ in what they do then; some write a part. */
static bool packet_is_broken_write(const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    uint64_t address;
    uint64_t length;
    bool binary = gdb_args_char(&a, 'X');
    if (!binary && !gdb_args_char(&a, 'M'))
        return false;
    if (!gdb_args_hex(&a, &address) || !gdb_args_char(&a, ',') || !gdb_args_hex(&a, &length) ||
        !gdb_args_char(&a, ':'))
        return true;
    size_t left = gdb_args_left(&a);
    if (binary)
        return left != length;
    if (left % 2 != 0 || left / 2 != length)
        return true;
    for (; a.at < a.end; a.at++) {
        if (*a.at == '\0' || !strchr("0123456789abcdefABCDEF", *a.at))
            return true;
    }
    return false;
}

bool gdb_packet_is_broken(const char *payload, size_t len)
{
    return packet_is_broken_write(payload, len) || packet_is_broken_choice(payload, len) ||
           packet_is_broken_end(payload, len);
}

struct gdb_packet gdb_packet_read(const char *payload, size_t len)
{
    struct gdb_packet p = {.answer = GDB_ANSWER_ONE,
                           .request = {.kind = TARGET_PACKET,
                                       .set = TARGET_REGISTERS_ALL,
                                       .packet = payload,
                                       .packet_length = len}};
    struct gdb_args a = {payload, payload + len};
    const struct packet_kind *k = packet_kind_of(&a);
    if (!k)
        return p;
    p.answer = k->answer;
    p.request.takes_time = k->answer == GDB_ANSWER_OUTPUT;
    if (!k->read || k->read(&p, &a))
        p.request.kind = k->kind;
    return p;
}

bool gdb_packet_succeeded(const struct gdb_packet *p, const char *reply, size_t len)
{
    switch (p->request.kind) {
    case TARGET_STATUS:
    case TARGET_RESET:
        return len > 0 && memchr("TSWX", reply[0], 4);
    case TARGET_COMMAND:
        /* They answer with text, and may have done half their work on an error. */
        return len > 0;
    case TARGET_PACKET:
        return true;
    default:
        return len == 2 && memcmp(reply, "OK", 2) == 0;
    }
}

bool gdb_packet_is_output(const char *payload, size_t len)
{
    if (len % 2 == 0 || payload[0] != 'O')
        return false;
    for (size_t i = 1; i < len; i++) {
        if (payload[i] == '\0' || !strchr("0123456789abcdefABCDEF", payload[i]))
            return false;
    }
    return true;
}
