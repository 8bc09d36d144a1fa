/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MTB's RAM and registers, whatever they hold, read by the driver: 4 bytes that choose the
 * program, size, place, POSITION, MASTER, bytes that are cut off, and the access that fails, if
 * one does; then the RAM. No access is outside of buffer and registers, the packets are those that
 * a recording of the same bytes has, in its order, and the decoder takes them.
 */
#include "decoder/mtb/mtb.h"
#include "drivers/coresight/coresight_trace.h"
#include "tests/support/stream_fuzz.h"

#include <stdlib.h>
#include <string.h>

#define BASE       0xf0000000u
#define HEAD       16u
#define SIZES      9u /* 16 bytes to 4 KiB */
#define RAM_BYTES  4096u
#define REG_BYTES  0x10u
#define LOCK       0xfb0u
#define LOCK_BYTES 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Branches of every kind and a 32-bit instruction among others; pairs of halfwords. */
static const uint32_t words[] = {0xbf00bf00, 0x4770bf00, 0xd1fabf00, 0xe7fe2000,
                                 0xf802f000, 0xbd10b510, 0xd0012800, 0x8f5ff3bf};

/* An MTB: what `regs` and `ram` hold. */
struct mtb_unit {
    uint32_t regs[REG_BYTES / 4];
    uint8_t ram[RAM_BYTES];
    uint32_t store, bytes; /* the buffer */
    unsigned left;         /* accesses until one fails; 0: none does */
};

static int unit_read(struct coresight_bus *bus, uint64_t address, uint32_t *to, size_t count)
{
    struct mtb_unit *u = bus->self;
    if (u->left && --u->left == 0)
        return BT_ERR_IO;
    if (address >= u->store && address + 4 * count <= (uint64_t)u->store + u->bytes)
        memcpy(to, u->ram + (address - u->store), 4 * count);
    else if (count == 1 && address - BASE < REG_BYTES)
        *to = u->regs[(address - BASE) / 4];
    else if (count == 1 && address - (BASE + LOCK) < LOCK_BYTES)
        *to = 0;
    else
        abort();
    return 0;
}

static int unit_write(struct coresight_bus *bus, uint64_t address, const uint32_t *from,
                      size_t count)
{
    (void)bus, (void)from;
    if (count != 1 || (address - BASE >= REG_BYTES && address - (BASE + LOCK) >= LOCK_BYTES))
        abort();
    return 0;
}

/* Of the same RAM: oldest first, as server/recording/ puts it. */
static void check_order(const struct mtb_unit *u, const uint32_t *got,
                        const struct coresight_buffer_content *content)
{
    struct mtb_config c;
    mtb_config_from_regs(&c, u->regs[0], u->regs[1]);
    size_t old = c.wrapped ? c.size - c.position : 0;
    if (c.size != u->bytes || content->wrapped != c.wrapped || content->unclean ||
        4 * content->words != old + c.position || memcmp(got, u->ram + c.position, old) != 0 ||
        memcmp((const uint8_t *)got + old, u->ram, c.position) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct coresight_bus_ops ops = {.read = unit_read, .write = unit_write};
    static struct mtb_unit u;
    struct coresight_bus bus = {.ops = &ops, .self = &u};
    struct stream_fuzz f = {
        .words = words, .word_count = sizeof words / sizeof *words, .address = 0x8000};
    struct coresight_buffer b;
    struct coresight_buffer_content content;
    if (size < HEAD)
        return 0;
    memset(&u, 0, sizeof u);
    u.bytes = 16u << data[4] % SIZES;
    u.store = 0x20000000u + data[5] * u.bytes;
    u.regs[0] = stream_fuzz_word(data + 6);
    u.regs[1] = stream_fuzz_word(data + 10);
    memcpy(u.ram, data + HEAD, size - HEAD < u.bytes ? size - HEAD : u.bytes);
    if (coresight_buffer_init_mtb(&b, &bus, BASE, u.store, u.bytes) != 0)
        abort();
    u.left = data[15];
    uint32_t *got = malloc(u.bytes); /* on the heap: its ends are watched */
    int error = got ? coresight_buffer_read(&b, got, &content) : BT_ERR_NOMEM;
    if (error == 0) {
        check_order(&u, got, &content);
        size_t cut = data[14] < 4 * content.words ? data[14] : 0;
        f.config.protocol = STREAM_MTB;
        f.seed = stream_fuzz_word(data);
        stream_fuzz(&f, (const uint8_t *)got, 4 * content.words - cut);
    }
    free(got);
    return 0;
}
