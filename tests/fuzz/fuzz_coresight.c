/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace buffer, a port or an ETMv3 or PTM whose registers answer what the input says: what it is,
 * 15 bytes of options, then the records of fuzz_unit.h. Whatever it says, nothing outside its page
 * and its store is accessed, the number of accesses is bounded, no more words come than the buffer
 * has, and what was asked is what a unit that started has taken.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/coresight/coresight_trace.h"
#include "tests/support/fuzz_unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE      0xe0041000u
#define HEAD      16u
#define MAX_WORDS 0x10000u /* larger ones would only take time */
#define ETMCR     0x000u
#define ETMSR     0x010u
#define ETMSCR    0x014u
#define TMC_CTL   0x020u
#define STS       0x00cu
#define FFSR      0x300u
#define FFCR      0x304u
#define PROG      0x400u
#define FLUSH     0x040u
#define TMC_DEVID 0xfc8u

/* What a component does by itself; a record overrules each of them. */
static void buffer_wrote(struct fuzz_unit *u, unsigned offset)
{
    if (offset == TMC_CTL)
        u->regs[STS / 4] = (u->regs[STS / 4] & ~4u) | (u->regs[TMC_CTL / 4] & 1 ? 0 : 4);
    if (offset == TMC_CTL)
        u->regs[FFSR / 4] = u->regs[TMC_CTL / 4] & 1 ? 0 : 2;
    if (offset == FFCR && (u->regs[FFCR / 4] & FLUSH) != 0) {
        u->regs[FFCR / 4] &= ~FLUSH;
        u->regs[FFSR / 4] = 2;
        u->regs[STS / 4] |= 4;
    }
}

static void etm_wrote(struct fuzz_unit *u, unsigned offset)
{
    if (offset == ETMCR)
        u->regs[ETMSR / 4] = u->regs[ETMCR / 4] & PROG ? 2 : 0;
}

static void read_buffer(struct coresight_buffer *b)
{
    struct coresight_buffer_content content;
    if (b->words == 0 || b->words > CORESIGHT_BUFFER_MAX_WORDS)
        abort();
    if (b->words > MAX_WORDS)
        return;
    (void)coresight_buffer_start(b);
    (void)coresight_buffer_stop(b);
    uint32_t *words = malloc(4 * (size_t)b->words); /* on the heap: its ends are watched */
    if (!words)
        abort();
    int error = coresight_buffer_read(b, words, &content);
    if (content.words > b->words)
        abort();
    uint32_t sum = 0;
    for (size_t k = 0; error == 0 && k < content.words; k++)
        sum |= words[k]; /* what is said to have come was written */
    *(volatile uint32_t *)words = sum;
    free(words);
}

static void try_buffer(struct fuzz_unit *u, const uint8_t *options)
{
    struct coresight_buffer b;
    bool etr = options[0] % 3 == 2;
    u->wrote = buffer_wrote;
    u->regs[STS / 4] = 4;
    u->regs[FFSR / 4] = 2;
    u->regs[1] = fuzz_get16(options + 2); /* its size */
    if (etr) {
        u->store = 0x20000000;
        u->store_bytes = fuzz_get16(options + 2);
        u->regs[TMC_DEVID / 4] = 0x40;
    }
    int error = etr ? coresight_buffer_init_etr(&b, &u->bus, BASE, u->store, u->store_bytes)
                    : coresight_buffer_init(&b, &u->bus, BASE, options[0] % 3 == 1);
    if (error == 0)
        read_buffer(&b);
}

static void try_port(struct fuzz_unit *u, const uint8_t *options)
{
    struct coresight_bus *bus = &u->bus;
    bool one = (options[0] & 1) != 0, two = (options[0] & 2) != 0;
    u->wrote = buffer_wrote;
    u->regs[0] = fuzz_get32(options + 1); /* widths that it has */
    unsigned width = options[5];
    if (coresight_tpiu_parallel(bus, BASE, one, width) == 0 && (width == 0 || width > 32))
        abort();
    uint32_t divider = fuzz_get32(options + 6);
    if (coresight_tpiu_swo(bus, BASE, divider, two) == 0 && divider == 0)
        abort();
    (void)coresight_tpiu_flush(bus, BASE);
    (void)coresight_tpiu_drain(bus, BASE);
    (void)coresight_tpiu_stop(bus, BASE);
    (void)coresight_etf_pass(bus, BASE);
    (void)coresight_funnel_enable(bus, BASE, options[10]);
    (void)coresight_replicator_pass(bus, BASE, options[10]);
}

static void try_etm(struct fuzz_unit *u, const uint8_t *options)
{
    const struct coresight_etm_options o = {.ptm = options[0] & 1,
                                            .m_profile = (options[0] & 2) != 0,
                                            .branch_broadcast = (options[0] & 4) != 0,
                                            .cycle_accurate = (options[0] & 8) != 0,
                                            .timestamps = (options[0] & 16) != 0,
                                            .return_stack = (options[0] & 32) != 0,
                                            .trace_id = options[1],
                                            .context_id_bytes = options[2] % 6,
                                            .stall_level = options[3],
                                            .sync_bytes = fuzz_get16(options + 4)};
    struct coresight_etm_state state;
    u->wrote = etm_wrote;
    u->regs[0x1e4 / 4] = o.ptm ? 0x310 : 0x250; /* ETMIDR */
    u->regs[ETMSCR / 4] = 0xc00;
    int error = coresight_etm_start(&u->bus, BASE, &o, &state);
    if (error == 0 &&
        ((state.trace_id & 0x7f) != o.trace_id || o.trace_id == 0 || (state.control & PROG) != 0))
        abort();
    (void)coresight_etm_stop(&u->bus, BASE);
    error = coresight_etm_read(&u->bus, BASE, &state);
    if (error == 0 && (state.id >> 8 & 0xf) != 2 && (state.id >> 8 & 0xf) != 3)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(struct fuzz_unit * u,
                                 const uint8_t *options) = {try_buffer, try_port, try_etm};
    struct fuzz_unit u;
    struct coresight_component c;
    if (size < HEAD)
        return 0;
    fuzz_unit_init(&u, BASE, data + HEAD, size - HEAD);
    if (data[0] % 4 < 3)
        tries[data[0] % 4](&u, data + 1);
    else if (coresight_identify(&u.bus, BASE, &c) == 0)
        (void)coresight_kind_of(&c);
    return 0;
}
