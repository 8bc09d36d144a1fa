/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers and memory of the halted target, for value reconstruction. */
#include "live_internal.h"
#include "server/reverse/reverse_machine.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct live_reverse_line *find_line(const struct live_reverse *p, int core,
                                                 uint32_t line)
{
    for (size_t i = 0; i < p->line_count; i++)
        if (p->lines[i].address == line && p->lines[i].core == core)
            return &p->lines[i];
    return NULL;
}

static void note_miss(struct live_client *k, uint32_t line)
{
    struct live_reverse_misses *m = &k->misses[reverse_motion_ahead(&k->motion)];
    for (size_t i = 0; i < m->count; i++)
        if (m->lines[i] == line)
            return;
    if (m->count < LIVE_REVERSE_MISSES)
        m->lines[m->count++] = line;
}

/* Present bytes of a word; NULL when they are not here. */
static const uint8_t *present(struct live_reverse_reader *r, uint32_t address)
{
    struct live_reverse *p = &r->client->live->reverse;
    uint32_t line = address & ~(LIVE_REVERSE_LINE - 1), at = address - line;
    uint64_t in = address - p->reply.address;
    if (p->reply.bytes && address >= p->reply.address && in + 4 <= p->reply.length)
        return p->reply.bytes + in;
    const struct live_reverse_line *found = find_line(p, r->core, line);
    if (!found)
        note_miss(r->client, line);
    return found && at + 4 <= found->length ? found->bytes + at : NULL;
}

static uint32_t word_of(const uint8_t *b, bool big)
{
    return big ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
               : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static enum values_memory read_word(void *ctx, uint32_t address, uint32_t *value)
{
    struct live_reverse_reader *r = ctx;
    struct live *l = r->client->live;
    const struct live_reverse_core *pc = &l->reverse.cores[r->core];
    const struct live_core *c = live_core_of(l, r->core);
    bool big = c->elf && c->elf->big_endian, shared = gdb_remote_cores(l->remote) > 1;
    enum values_memory kind =
        reverse_memory_kind(&c->elf, c->elf != NULL, address, pc->regs.value[GDB_REG_SP], shared);
    const uint8_t *bytes;
    uint8_t code[4];
    if (kind == VALUES_MEMORY_CONST) {
        struct code_key key = {.core = (uint16_t)(c - l->cores), .generation = c->image.generation};
        if (code_image_read(&c->image, &key, address, code, sizeof code) != sizeof code)
            return VALUES_MEMORY_OTHER;
        bytes = code;
    } else if (kind == VALUES_MEMORY_RAM) {
        bytes = l->reverse.written ? NULL : present(r, address);
        if (!bytes)
            return VALUES_MEMORY_UNREAD;
    } else {
        return kind;
    }
    *value = word_of(bytes, big);
    return kind;
}

static void on_regs(void *ctx, int core, const struct gdb_regs *regs)
{
    struct live_reverse_core *pc = ctx;
    (void)core;
    if (!pc->asked)
        return; /* of an earlier halt */
    const struct live_core *c = live_core_of(pc->live, pc->core);
    pc->reported = true;
    pc->regs = regs ? *regs : c->regs;
    if (!(pc->regs.known >> GDB_REG_PSR & 1)) {
        pc->regs.value[GDB_REG_PSR] = c->regs.value[GDB_REG_PSR];
        pc->regs.known |= c->regs.known & 1u << GDB_REG_PSR;
    }
    live_clients_go_on(pc->live);
}

/* Looks through all of the code: once. */
static void look_at_program(struct live_reverse_core *pc, const struct live_core *c)
{
    if (pc->program_known)
        return;
    pc->program_known = true;
    pc->program = reverse_program_of(&c->elf, c->elf != NULL);
}

int live_reverse_machine(void *ctx, int core, struct reverse_machine *m)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_reverse_core *pc = &l->reverse.cores[core];
    const struct live_core *c = live_core_of(l, core);
    bool is_m = strncasecmp(c->config->type, "Cortex-M", 8) == 0;
    pc->live = l;
    k->readers[core] = (struct live_reverse_reader){k, core};
    pc->core = core;
    if (!pc->reported) {
        pc->asked = true;
        int rc = gdb_remote_read_regs(l->remote, core, on_regs, pc);
        return rc < 0 ? rc : GDB_PENDING;
    }
    look_at_program(pc, c);
    *m = (struct reverse_machine){.regs = pc->regs,
                                  .m_profile = is_m,
                                  .program = pc->program,
                                  .v4t = reverse_is_v4t(c->config->type),
                                  .big_endian = c->elf && c->elf->big_endian,
                                  .registers_written = c->jumped,
                                  .halts_known = true,
                                  .written = c->written,
                                  .written_count = c->written_count,
                                  .written_before = c->written_before,
                                  .read = read_word,
                                  .context = &k->readers[core]};
    return BT_OK;
}

/* Questions to the target. */

struct line_question {
    struct live *live;
    unsigned client; /* its number: it may have left since */
    uint32_t halt;
    uint16_t core;
    bool ahead;
};

static struct live_reverse_line *add_line(struct live_reverse *p)
{
    if (p->line_count == p->line_max) {
        size_t max = p->line_max ? 2 * p->line_max : 64;
        struct live_reverse_line *grown = realloc(p->lines, max * sizeof *grown);
        if (!grown)
            return NULL;
        p->lines = grown;
        p->line_max = max;
    }
    return &p->lines[p->line_count++];
}

static void on_memory(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    struct line_question *q = ctx;
    struct live *l = q->live;
    struct live_reverse *p = &l->reverse;
    bool late = q->halt != p->halt;
    struct live_reverse_line *line = late ? NULL : add_line(p);
    if (line) {
        line->address = (uint32_t)address;
        line->core = q->core;
        line->length = (uint16_t)len;
        memcpy(line->bytes, bytes, len);
    }
    struct line_question asked = *q;
    free(q);
    struct live_client *k = late ? NULL : live_client_of(l, asked.client);
    if (!k || --k->misses[asked.ahead].waiting)
        return;
    if (asked.ahead)
        reverse_motion_fetched(&k->motion, asked.core);
    else
        reverse_motion_go_on(&k->motion);
}

static bool ask_line(struct live_client *k, int core, bool ahead, uint32_t address)
{
    struct live *l = k->live;
    struct line_question *q = malloc(sizeof *q);
    if (!q)
        return false;
    *q = (struct line_question){l, k->client->number, l->reverse.halt, (uint16_t)core, ahead};
    k->misses[ahead].waiting++;
    if (gdb_remote_read_memory(l->remote, core, address, LIVE_REVERSE_LINE, on_memory, q) == BT_OK)
        return true;
    k->misses[ahead].waiting--;
    free(q);
    return false;
}

int live_reverse_fetch(void *ctx, int core)
{
    struct live_client *k = ctx;
    const struct live_reverse *p = &k->live->reverse;
    bool any = false, ahead = reverse_motion_ahead(&k->motion);
    struct live_reverse_misses *m = &k->misses[ahead];
    size_t n = m->count;
    m->count = 0;
    for (size_t i = 0;
         i < n && p->line_count + k->misses[0].waiting + k->misses[1].waiting < LIVE_REVERSE_LINES;
         i++)
        any |= ask_line(k, core, ahead, m->lines[i]);
    return any ? GDB_PENDING : BT_OK;
}
