/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers and memory by questions of our own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/remote/gdb_remote_internal.h"

#define ACCESS_MAX 1024

/* "Mffffffffffffffff,400:" */
#define WRITE_HEADER 32

/* Registers of devices are read and written whole. */
#define WORD 4u

#define REG_DIGITS 8
#define G_PC       (15 * REG_DIGITS)
#define G_PSR      (16 * REG_DIGITS)
#define G_PSR_OLD  (16 * REG_DIGITS + 8 * 24 + REG_DIGITS)

static int may_access(const struct gdb_remote *u, int core)
{
    if (core < 0 || core >= gdb_remote_cores(u))
        return BT_ERR_INVAL;
    return gdb_remote_may_ask(u);
}

/* PC and PSR. */

struct regs_read {
    struct gdb_remote *u;
    gdb_remote_regs_fn fn;
    void *ctx;
    int core;
    struct gdb_regs regs;
};

void gdb_remote_set_big_endian(struct gdb_remote *u, bool big_endian)
{
    u->big_endian = big_endian;
}

/* A register of 32 or 64 bits. `x` digits: not known. */
static void take_reg(const struct gdb_remote *u, struct gdb_regs *regs, enum gdb_reg reg,
                     const char *reply, size_t len)
{
    struct gdb_args a = {reply, reply + len};
    uint8_t bytes[8];
    size_t size = len / 2;
    if ((size != 4 && size != 8) || len % 2 != 0 || !gdb_args_bytes(&a, bytes, size))
        return;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[u->big_endian ? size - 1 - i : i] << 8 * i;
    regs->value[reg] = value;
    regs->known |= 1u << reg;
}

static void finish_regs(struct regs_read *r)
{
    bool known = (r->regs.known >> GDB_REG_PC & 1) != 0;
    r->fn(r->ctx, r->core, known ? &r->regs : NULL);
    free(r);
}

/* A question that follows from an answer comes before those of others. */
static int ask_about(struct gdb_remote *u, int core, bool next, const char *text, size_t len,
                     gdb_remote_reply_fn reply, void *ctx)
{
    const struct gdb_thread *thread = &u->threads[core];
    return next ? gdb_remote_ask_next(u, thread, text, len, reply, ctx)
                : gdb_remote_ask_thread(u, thread, text, len, reply, ctx);
}

static int ask_reg(struct regs_read *r, bool next, unsigned number, gdb_remote_reply_fn reply)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "p%x", number);
    return ask_about(r->u, r->core, next, text, (size_t)len, reply, r);
}

static void got_psr(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    if (reply != NULL)
        take_reg(r->u, &r->regs, GDB_REG_PSR, reply, len);
    finish_regs(r);
}

/*
 * The PSR in a g reply: where the description has it. Without one the layout has 16 registers, then
 * eight of 12 bytes and one of 4 that no core has any more, then CPSR.
 */
static void take_psr(struct regs_read *r, const char *reply, size_t len)
{
    size_t at = len >= G_PSR_OLD + REG_DIGITS ? G_PSR_OLD : G_PSR;
    if (r->u->has_description && r->u->at_psr != 0)
        at = r->u->at_psr;
    if (len >= at + REG_DIGITS)
        take_reg(r->u, &r->regs, GDB_REG_PSR, reply + at, REG_DIGITS);
}

static void got_all(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    if (reply != NULL && len >= G_PC + REG_DIGITS) {
        take_reg(r->u, &r->regs, GDB_REG_PC, reply + G_PC, REG_DIGITS);
        take_psr(r, reply, len);
        r->u->only_g = r->u->only_g || r->regs.known != 0;
    }
    finish_regs(r);
}

static int ask_all(struct regs_read *r, bool next)
{
    return ask_about(r->u, r->core, next, "g", 1, got_all, r);
}

/* An empty reply: the other side has no p. There are servers whose p fails, and GDB never asks. */
static void got_pc(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    int rc = BT_ERR_IO;
    if (reply != NULL && len > 0)
        take_reg(r->u, &r->regs, GDB_REG_PC, reply, len);
    if (r->regs.known != 0)
        rc = ask_reg(r, true, r->u->number_psr, got_psr);
    else if (reply != NULL && r->u->number_pc == GDB_NUMBER_PC && (len == 0 || reply[0] == 'E'))
        rc = ask_all(r, true);
    if (rc < 0)
        finish_regs(r);
}

int gdb_remote_read_pc(struct gdb_remote *u, int core, gdb_remote_regs_fn fn, void *ctx)
{
    int rc = may_access(u, core);
    if (rc < 0)
        return rc;
    struct regs_read *r = malloc(sizeof(*r));
    if (r == NULL)
        return BT_ERR_NOMEM;
    *r = (struct regs_read){.u = u, .fn = fn, .ctx = ctx, .core = core};
    rc = u->only_g ? ask_all(r, false) : ask_reg(r, false, u->number_pc, got_pc);
    if (rc < 0)
        free(r);
    return rc;
}

static void got_core(void *ctx, const char *reply, size_t len)
{
    struct regs_read *r = ctx;
    for (unsigned i = 0; reply != NULL && i <= GDB_REG_PC && (i + 1) * REG_DIGITS <= len; i++)
        take_reg(r->u, &r->regs, (enum gdb_reg)i, reply + (size_t)i * REG_DIGITS, REG_DIGITS);
    if (r->regs.known != 0 && r->u->only_g)
        take_psr(r, reply, len);
    else if (r->regs.known != 0 && ask_reg(r, true, r->u->number_psr, got_psr) == BT_OK)
        return;
    finish_regs(r);
}

int gdb_remote_read_regs(struct gdb_remote *u, int core, gdb_remote_regs_fn fn, void *ctx)
{
    int rc = may_access(u, core);
    if (rc < 0)
        return rc;
    struct regs_read *r = malloc(sizeof(*r));
    if (r == NULL)
        return BT_ERR_NOMEM;
    *r = (struct regs_read){.u = u, .fn = fn, .ctx = ctx, .core = core};
    rc = ask_about(u, core, false, "g", 1, got_core, r);
    if (rc < 0)
        free(r);
    return rc;
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

static void finish_memory(struct memory_access *m)
{
    m->fn(m->ctx, m->address, m->bytes, m->done);
    free(m);
}

static int memory_new(struct gdb_remote *u, int core, uint64_t address, size_t len,
                      struct memory_access **out)
{
    int rc = may_access(u, core);
    if (rc == BT_OK && (len == 0 || len > ACCESS_MAX))
        rc = BT_ERR_INVAL;
    if (rc < 0)
        return rc;
    struct memory_access *m = malloc(sizeof(*m));
    if (m == NULL)
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

static int ask_memory(struct memory_access *m, const char *text, size_t len,
                      gdb_remote_reply_fn reply)
{
    bool next = m->asked;
    m->asked = true;
    return ask_about(m->u, m->core, next, text, len, reply, m);
}

static void got_memory(void *ctx, const char *reply, size_t len);

static int ask_read(struct memory_access *m, size_t take)
{
    char text[48];
    size_t longest = (m->u->packet_size - 1) / 2 & ~(size_t)(m->device ? WORD - 1 : 0);
    m->take = take < longest ? take : longest;
    int len = snprintf(text, sizeof(text), "m%llx,%zx", (unsigned long long)m->address + m->done,
                       m->take);
    return ask_memory(m, text, (size_t)len, got_memory);
}

/* Bytes in the reply, 0 when it is an error or too long. */
static size_t take_bytes(struct memory_access *m, const char *reply, size_t len)
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
static void got_memory(void *ctx, const char *reply, size_t len)
{
    struct memory_access *m = ctx;
    size_t next;
    size_t got = reply != NULL ? take_bytes(m, reply, len) : 0;
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
    if (reply == NULL || next == 0 || ask_read(m, next) < 0)
        finish_memory(m);
}

static int read_memory(struct gdb_remote *u, int core, uint64_t address, size_t len, bool device,
                       gdb_remote_memory_fn fn, void *ctx)
{
    struct memory_access *m;
    int rc = memory_new(u, core, address, len, &m);
    if (rc < 0)
        return rc;
    m->device = device;
    m->fn = fn;
    m->ctx = ctx;
    rc = ask_read(m, len);
    if (rc < 0)
        free(m);
    return rc;
}

int gdb_remote_read_memory(struct gdb_remote *u, int core, uint64_t address, size_t len,
                           gdb_remote_memory_fn fn, void *ctx)
{
    return read_memory(u, core, address, len, false, fn, ctx);
}

int gdb_remote_read_device(struct gdb_remote *u, int core, uint64_t address, size_t len,
                           gdb_remote_memory_fn fn, void *ctx)
{
    if (address % WORD != 0 || len % WORD != 0)
        return BT_ERR_INVAL;
    return read_memory(u, core, address, len, true, fn, ctx);
}

static void got_write(void *ctx, const char *reply, size_t len);

static int ask_write(struct memory_access *m)
{
    struct text_buf text;
    size_t longest = (m->u->packet_size - WRITE_HEADER) / 2 & ~(size_t)(WORD - 1);
    size_t left = m->end - m->done;
    m->take = left < longest ? left : longest;
    text_buf_init(&text);
    text_buf_printf(&text, "M%llx,%zx:", (unsigned long long)m->address + m->done, m->take);
    text_buf_hex(&text, m->bytes + m->done, m->take);
    int rc = text_buf_error(&text);
    if (rc == BT_OK)
        rc = ask_memory(m, text.data, text.len, got_write);
    text_buf_release(&text);
    return rc;
}

static void got_write(void *ctx, const char *reply, size_t len)
{
    struct memory_access *m = ctx;
    bool good = reply != NULL && len == 2 && memcmp(reply, "OK", 2) == 0;
    m->done += m->take;
    if (good && m->done < m->end && ask_write(m) == BT_OK)
        return;
    if (!good || m->done < m->end)
        m->done = 0;
    finish_memory(m);
}

int gdb_remote_write_memory(struct gdb_remote *u, int core, uint64_t address, const uint8_t *bytes,
                            size_t len, gdb_remote_memory_fn fn, void *ctx)
{
    struct memory_access *m;
    int rc = memory_new(u, core, address, len, &m);
    if (rc < 0)
        return rc;
    memcpy(m->bytes, bytes, len);
    m->fn = fn;
    m->ctx = ctx;
    rc = ask_write(m);
    if (rc < 0)
        free(m);
    return rc;
}
