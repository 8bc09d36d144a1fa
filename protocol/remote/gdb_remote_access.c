/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the other side, and questions of our own: registers and memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_remote_internal.h"

#define ACCESS_MAX 1024

/* "Mffffffffffffffff,400:" */
#define WRITE_HEADER 32

/* Registers of devices are read and written whole. */
#define WORD 4u

#define REG_DIGITS 8
#define G_PC       (15 * REG_DIGITS)
#define G_PSR      (16 * REG_DIGITS)
#define G_PSR_OLD  (16 * REG_DIGITS + 8 * 24 + REG_DIGITS)

bool gdb_remote_is_ready(const struct gdb_remote *u)
{
    return u->phase == GDB_REMOTE_READY;
}

uint64_t gdb_remote_owed(const struct gdb_remote *u)
{
    const struct gdb_request *r = u->in_flight;
    return r && r->packet.answer == GDB_ANSWER_ONE ? u->packets : 0;
}

bool gdb_remote_will_run(const struct gdb_remote *u)
{
    return u->resume_wanted || u->run == GDB_REMOTE_RESUMING || u->run == GDB_REMOTE_RUNNING;
}

bool gdb_remote_is_idle(const struct gdb_remote *u)
{
    bool moves = u->run == GDB_REMOTE_RESUMING || u->run == GDB_REMOTE_HALTING ||
                 u->resume_wanted || u->holds_client;
    return !u->in_flight && !u->asks && !moves && u->run != GDB_REMOTE_HELD;
}

static int remote_may_ask(const struct gdb_remote *u)
{
    if (u->phase != GDB_REMOTE_READY)
        return BT_ERR_IO;
    /* Whatever the client waits for. */
    bool halted = u->holds_client && (u->run == GDB_REMOTE_HALTED || u->run == GDB_REMOTE_RESUMING);
    if (u->run != GDB_REMOTE_HELD && !halted && gdb_remote_is_running(u))
        return BT_ERR_INVAL;
    return u->ask_count < GDB_REMOTE_ASKS_MAX ? BT_OK : BT_ERR_NOMEM;
}

int gdb_remote_ask(struct gdb_remote *u, const char *payload, size_t len, gdb_remote_reply_fn reply,
                   void *ctx)
{
    int error = remote_may_ask(u);
    enum gdb_packet_answer answer = gdb_packet_read(payload, len).answer;
    if (error == BT_OK && (answer == GDB_ANSWER_STOP || answer == GDB_ANSWER_NONE))
        error = BT_ERR_INVAL;
    return error < 0 ? error : gdb_remote_ask_thread(u, NULL, false, payload, len, reply, ctx);
}

static int access_may(const struct gdb_remote *u, int core)
{
    if (core < 0 || core >= gdb_remote_cores(u))
        return BT_ERR_INVAL;
    return remote_may_ask(u);
}

/* PC and PSR. */

struct regs_read {
    struct gdb_remote *u;
    gdb_remote_regs_fn fn;
    void *ctx;
    int core;
    struct target_regs regs;
};

/* A register of 32 or 64 bits. `x` digits: not known. */
static void regs_take(struct target_regs *regs, enum target_reg reg, const char *reply, size_t len)
{
    struct gdb_args a = {reply, reply + len};
    uint8_t bytes[8];
    size_t size = len / 2;
    if ((size != 4 && size != 8) || len % 2 != 0 || !gdb_args_bytes(&a, bytes, size))
        return;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    regs->value[reg] = value;
    regs->known |= 1u << reg;
}

static void regs_finish(struct regs_read *r)
{
    bool known = (r->regs.known >> TARGET_REG_PC & 1) != 0;
    r->fn(r->ctx, r->core, known ? &r->regs : NULL);
    free(r);
}

/* A question that follows from an answer comes before those of others. */
static int access_ask(struct gdb_remote *u, int core, bool next, const char *text, size_t len,
                      gdb_remote_reply_fn reply, void *ctx)
{
    const struct gdb_thread *thread = &u->threads[core];
    return gdb_remote_ask_thread(u, thread, next, text, len, reply, ctx);
}

static int regs_ask_one(struct regs_read *r, bool next, unsigned number, gdb_remote_reply_fn reply)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "p%x", number);
    return access_ask(r->u, r->core, next, text, (size_t)len, reply, r);
}

static void regs_got_psr(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    if (reply)
        regs_take(&r->regs, TARGET_REG_PSR, reply, len);
    regs_finish(r);
}

/*
 * The PSR in a g reply: where the description has it. Without one the layout has 16 registers, then
 * eight of 12 bytes and one of 4 that no core has any more, then CPSR.
 */
static void regs_take_psr(struct regs_read *r, const char *reply, size_t len)
{
    size_t at = len >= G_PSR_OLD + REG_DIGITS ? G_PSR_OLD : G_PSR;
    if (r->u->has_description && r->u->at_psr != 0)
        at = r->u->at_psr;
    if (len >= at + REG_DIGITS)
        regs_take(&r->regs, TARGET_REG_PSR, reply + at, REG_DIGITS);
}

static void regs_got_all(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    if (reply && len >= G_PC + REG_DIGITS) {
        regs_take(&r->regs, TARGET_REG_PC, reply + G_PC, REG_DIGITS);
        regs_take_psr(r, reply, len);
        r->u->only_g = r->u->only_g || r->regs.known != 0;
    }
    regs_finish(r);
}

static int regs_ask_all(struct regs_read *r, bool next)
{
    return access_ask(r->u, r->core, next, "g", 1, regs_got_all, r);
}

/* An empty reply: the other side has no p. There are servers whose p fails, and GDB never asks. */
static void regs_got_pc(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    int error = BT_ERR_IO;
    if (reply && len > 0)
        regs_take(&r->regs, TARGET_REG_PC, reply, len);
    if (r->regs.known != 0)
        error = regs_ask_one(r, true, r->u->number_psr, regs_got_psr);
    else if (reply && r->u->number_pc == GDB_NUMBER_PC && (len == 0 || reply[0] == 'E'))
        error = regs_ask_all(r, true);
    if (error < 0)
        regs_finish(r);
}

static int regs_read_new(struct gdb_remote *u, int core, gdb_remote_regs_fn fn, void *ctx,
                         struct regs_read **out)
{
    int error = access_may(u, core);
    if (error < 0)
        return error;
    struct regs_read *r = malloc(sizeof(*r));
    if (!r)
        return BT_ERR_NOMEM;
    *r = (struct regs_read){.u = u, .fn = fn, .ctx = ctx, .core = core};
    *out = r;
    return BT_OK;
}

int gdb_remote_read_pc(struct gdb_remote *u, int core, gdb_remote_regs_fn fn, void *ctx)
{
    struct regs_read *r;
    int error = regs_read_new(u, core, fn, ctx, &r);
    if (error < 0)
        return error;
    error = u->only_g ? regs_ask_all(r, false) : regs_ask_one(r, false, u->number_pc, regs_got_pc);
    if (error < 0)
        free(r);
    return error;
}

static void regs_got_core(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    for (unsigned i = 0; reply && i <= TARGET_REG_PC && (i + 1) * REG_DIGITS <= len; i++)
        regs_take(&r->regs, (enum target_reg)i, reply + (size_t)i * REG_DIGITS, REG_DIGITS);
    if (r->regs.known != 0 && r->u->only_g)
        regs_take_psr(r, reply, len);
    else if (r->regs.known != 0 && regs_ask_one(r, true, r->u->number_psr, regs_got_psr) == BT_OK)
        return;
    regs_finish(r);
}

int gdb_remote_read_regs(struct gdb_remote *u, int core, gdb_remote_regs_fn fn, void *ctx)
{
    struct regs_read *r;
    int error = regs_read_new(u, core, fn, ctx, &r);
    if (error < 0)
        return error;
    error = access_ask(u, core, false, "g", 1, regs_got_core, r);
    if (error < 0)
        free(r);
    return error;
}

struct memory_access {
    struct gdb_remote *u;
    gdb_remote_memory_fn fn;
    void *ctx;
    int core;
    bool device; /* words, and each of them once */
    bool asked;  /* the first question was sent or queued */
    uint64_t address;
    size_t end;  /* of what may still succeed */
    size_t done; /* bytes */
    size_t take; /* bytes that the question under way is about */
    uint8_t bytes[ACCESS_MAX];
};

static void memory_finish(struct memory_access *m)
{
    m->fn(m->ctx, m->address, m->bytes, m->done);
    free(m);
}

static int memory_access_new(struct gdb_remote *u, int core, uint64_t address, size_t len,
                             struct memory_access **out)
{
    int error = access_may(u, core);
    if (error == BT_OK && (len == 0 || len > ACCESS_MAX))
        error = BT_ERR_INVAL;
    if (error < 0)
        return error;
    struct memory_access *m = malloc(sizeof(*m));
    if (!m)
        return BT_ERR_NOMEM;
    m->u = u;
    m->core = core;
    m->device = false;
    m->asked = false;
    m->address = address;
    m->end = len;
    m->done = 0;
    *out = m;
    return BT_OK;
}

static int memory_ask(struct memory_access *m, const char *text, size_t len,
                      gdb_remote_reply_fn reply)
{
    bool next = m->asked;
    m->asked = true;
    return access_ask(m->u, m->core, next, text, len, reply, m);
}

static void memory_got(void *ctx, const char *reply, size_t len);

static int memory_ask_read(struct memory_access *m, size_t take)
{
    char text[48];
    size_t longest = (m->u->packet_size - 1) / 2 & ~(size_t)(m->device ? WORD - 1 : 0);
    m->take = take < longest ? take : longest;
    int len = snprintf(text, sizeof(text), "m%llx,%zx", (unsigned long long)m->address + m->done,
                       m->take);
    return memory_ask(m, text, (size_t)len, memory_got);
}

/* Bytes in the reply, 0 when it is an error or too long. */
static size_t memory_take_bytes(struct memory_access *m, const char *reply, size_t len)
{
    size_t count = len / 2;
    struct gdb_args a = {reply, reply + len};
    if (len % 2 != 0 || count > m->take || !gdb_args_bytes(&a, m->bytes + m->done, count))
        return 0;
    return count;
}

/*
 * Servers refuse a read that is good in part only: the end of the good part is searched, with
 * half as many bytes after each refusal.
 */
static void memory_got(void *ctx, const char *reply, size_t len)
{
    struct memory_access *m = ctx;
    size_t next;
    size_t got = reply ? memory_take_bytes(m, reply, len) : 0;
    if (m->device && got < m->take) {
        m->done += got;
        next = 0;
    } else if (got > 0) {
        m->done += got;
        next = m->end - m->done;
    } else {
        m->end = m->done + m->take - 1;
        next = m->take / 2;
    }
    if (!reply || next == 0 || memory_ask_read(m, next) < 0)
        memory_finish(m);
}

static int memory_read(struct gdb_remote *u, int core, uint64_t address, size_t len, bool device,
                       gdb_remote_memory_fn fn, void *ctx)
{
    struct memory_access *m;
    int error = memory_access_new(u, core, address, len, &m);
    if (error < 0)
        return error;
    m->device = device;
    m->fn = fn;
    m->ctx = ctx;
    error = memory_ask_read(m, len);
    if (error < 0)
        free(m);
    return error;
}

int gdb_remote_read_memory(struct gdb_remote *u, int core, uint64_t address, size_t len,
                           gdb_remote_memory_fn fn, void *ctx)
{
    return memory_read(u, core, address, len, false, fn, ctx);
}

int gdb_remote_read_device(struct gdb_remote *u, int core, uint64_t address, size_t len,
                           gdb_remote_memory_fn fn, void *ctx)
{
    if (address % WORD != 0 || len % WORD != 0)
        return BT_ERR_INVAL;
    return memory_read(u, core, address, len, true, fn, ctx);
}

static void memory_got_write(void *ctx, const char *reply, size_t len);

static int memory_ask_write(struct memory_access *m)
{
    struct text_buf text;
    size_t longest = (m->u->packet_size - WRITE_HEADER) / 2 & ~(size_t)(WORD - 1);
    size_t left = m->end - m->done;
    m->take = left < longest ? left : longest;
    text_buf_init(&text);
    text_buf_printf(&text, "M%llx,%zx:", (unsigned long long)m->address + m->done, m->take);
    text_buf_hex(&text, m->bytes + m->done, m->take);
    int error = text_buf_error(&text);
    if (error == BT_OK)
        error = memory_ask(m, text.data, text.len, memory_got_write);
    text_buf_release(&text);
    return error;
}

static void memory_got_write(void *ctx, const char *reply, size_t len)
{
    struct memory_access *m = ctx;
    bool good = reply && len == 2 && memcmp(reply, "OK", 2) == 0;
    m->done += m->take;
    if (good && m->done < m->end && memory_ask_write(m) == BT_OK)
        return;
    if (!good || m->done < m->end)
        m->done = 0;
    memory_finish(m);
}

int gdb_remote_write_memory(struct gdb_remote *u, int core, uint64_t address, const uint8_t *bytes,
                            size_t len, gdb_remote_memory_fn fn, void *ctx)
{
    struct memory_access *m;
    int error = memory_access_new(u, core, address, len, &m);
    if (error < 0)
        return error;
    memcpy(m->bytes, bytes, len);
    m->fn = fn;
    m->ctx = ctx;
    error = memory_ask_write(m);
    if (error < 0)
        free(m);
    return error;
}
