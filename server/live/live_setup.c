/* SPDX-License-Identifier: BSD-3-Clause */
/* The init sequence, [setup] of a board file: register writes through the target's GDB server, one
 * by one. */
#include "server/live/live.h"

#include "server/base/log.h"

#include <inttypes.h>

static void next_line(struct live *l);

static const struct config_setup *line_of(const struct live *l)
{
    return &l->config->setup[l->setup];
}

static void complain(const struct live *l, const char *what)
{
    const struct config_setup *s = line_of(l);
    log_write(LOG_AT_WARNING, "btraced: %s:%u: 0x%08" PRIx32 " cannot be %s%s\n", l->config->path,
              s->line, s->address, what, l->probe ? "" : " through the target's GDB server");
}

static void on_written(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    struct live *l = ctx;
    (void)address, (void)bytes;
    if (len != 4)
        complain(l, "written");
    l->setup++;
    next_line(l);
}

/* Registers are words of the core's byte order, as GDB's memory packets carry them. */
static void write_word(struct live *l, uint32_t value)
{
    bool big = l->cores[0].elf && l->cores[0].elf->big_endian;
    uint8_t bytes[4];
    for (unsigned i = 0; i < 4; i++)
        bytes[big ? 3 - i : i] = (uint8_t)(value >> 8 * i);
    if (gdb_remote_write_memory(l->remote, 0, line_of(l)->address, bytes, 4, on_written, l))
        on_written(l, 0, NULL, 0);
}

static void on_read(void *ctx, uint64_t address, const uint8_t *bytes, size_t len)
{
    struct live *l = ctx;
    const struct config_setup *s = line_of(l);
    bool big = l->cores[0].elf && l->cores[0].elf->big_endian;
    uint32_t word = 0;
    (void)address;
    if (len != 4) {
        complain(l, "read");
        l->setup++;
        next_line(l);
        return;
    }
    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)bytes[big ? 3 - i : i] << 8 * i;
    write_word(l, s->how == CONFIG_SETUP_SET ? word | s->value : word & ~s->value);
}

static void next_line(struct live *l)
{
    if (!gdb_remote_is_ready(l->remote))
        return;
    if (l->setup >= l->config->setup_count) {
        l->setup_done(l);
        return;
    }
    const struct config_setup *s = line_of(l);
    if (s->how == CONFIG_SETUP_WRITE)
        write_word(l, s->value);
    else if (gdb_remote_read_memory(l->remote, 0, s->address, 4, on_read, l))
        on_read(l, 0, NULL, 0);
}

void live_setup(struct live *l, void (*done)(struct live *l))
{
    l->setup_done = done;
    next_line(l);
}
