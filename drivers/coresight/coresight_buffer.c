/* SPDX-License-Identifier: BSD-3-Clause */
/* ETB, TMC and MTB. ETB: DDI 0314H chapter 9. TMC: DDI 0461B. MTB: DDI 0486B chapter 3. */
#include "coresight_ring.h"

#define RDP    0x004u /* RSZ of a TMC: words */
#define STS    0x00cu
#define RRD    0x010u
#define RRP    0x014u
#define RWP    0x018u
#define TRG    0x01cu
#define CTL    0x020u
#define MODE   0x028u
#define RRPHI  0x038u
#define RWPHI  0x03cu
#define AXICTL 0x110u
#define DBALO  0x118u
#define DBAHI  0x11cu
#define FFSR   0x300u
#define FFCR   0x304u
#define DEVID  0xfc8u
#define ENABLE 0x1u

#define STS_FULL      0x1u
#define STS_TMC_READY 0x4u
#define STS_MEM_ERROR 0x20u
#define FFSR_STOPPED  0x2u
#define FFCR_FORMAT   0x0001u
#define FFCR_TMC      0x0003u
#define FFCR_FLUSH    0x0040u
#define FFCR_STOP_FL  0x1000u

#define TMC_ETR   1u
#define MODE_FIFO 2u /* hardware FIFO */
/* Bursts of 16 beats, non-secure. Where an SoC needs something else is not told by DDI 0461B. */
#define AXI_BURSTS  0x0f02u
#define TMC_EMPTY   0xffffffffu
#define FRAME_WORDS 4u
#define READ_WORDS  256u

#define MTB_POSITION 0x000u
#define MTB_MASTER   0x004u
#define MTB_FLOW     0x008u
#define MTB_BASE     0x00cu
#define MTB_WRAP     0x4u
#define MTB_EN       0x80000000u
#define MTB_MASK     0x1fu
#define MTB_ACCESS   0x180u /* who may access RAM and registers: as it is */
#define MTB_PACKET   8u

int coresight_buffer_init(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                          bool tmc)
{
    *b = (struct coresight_buffer){.bus = bus, .base = base, .tmc = tmc, .memory_words = 1};
    int error = coresight_unlock(bus, base);
    if (error == 0 && tmc) {
        uint32_t id;
        error = coresight_read(bus, base + DEVID, &id);
        if (error == 0 && (id >> 6 & 3) == TMC_ETR)
            return BT_ERR_UNSUPPORTED;
        unsigned width = id >> 8 & 7; /* 2: 32 bits, 3: 64... */
        if (width > 2)
            b->memory_words = 1u << (width - 2);
    }
    if (error == 0)
        error = coresight_read(bus, base + RDP, &b->words);
    if (error == 0 && (b->words == 0 || b->words > CORESIGHT_BUFFER_MAX_WORDS))
        return BT_ERR_FORMAT;
    return error;
}

int coresight_buffer_init_etr(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                              uint64_t store, uint64_t bytes)
{
    uint32_t id;
    uint64_t words = bytes / 4;
    bool whole = (store | bytes) % (4 * FRAME_WORDS) == 0;
    if (!whole || words == 0 || words > CORESIGHT_BUFFER_MAX_WORDS)
        return BT_ERR_INVAL;
    *b = (struct coresight_buffer){.bus = bus,
                                   .base = base,
                                   .tmc = true,
                                   .words = (uint32_t)words,
                                   .memory_words = 1,
                                   .etr = true,
                                   .store = store};
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_read(bus, base + DEVID, &id);
    return error == 0 && (id >> 6 & 3) != TMC_ETR ? BT_ERR_UNSUPPORTED : error;
}

int coresight_buffer_init_mtb(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                              uint64_t store, uint64_t bytes)
{
    uint32_t ram;
    *b = (struct coresight_buffer){
        .bus = bus, .base = base, .mtb = true, .words = (uint32_t)(bytes / 4), .store = store};
    if (bytes < 2 * MTB_PACKET || bytes / 4 > CORESIGHT_BUFFER_MAX_WORDS || bytes & (bytes - 1) ||
        store % bytes != 0)
        return BT_ERR_INVAL;
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_read(bus, base + MTB_BASE, &ram);
    return error == 0 && store < ram ? BT_ERR_RANGE : error; /* 0: it does not tell */
}

/* What MASTER says while packets are written into this buffer; MASK is its size. */
static uint32_t mtb_master(const struct coresight_buffer *b)
{
    unsigned mask = 0;
    while (16u << mask < 4 * b->words)
        mask++;
    return MTB_EN | mask;
}

bool coresight_mtb_runs(const struct coresight_buffer *b)
{
    uint32_t master;
    return coresight_read(b->bus, b->base + MTB_MASTER, &master) == 0 &&
           (master & ~MTB_ACCESS) == mtb_master(b);
}

int coresight_mtb_stop(struct coresight_buffer *b)
{
    return coresight_modify(b->bus, b->base + MTB_MASTER, MTB_EN, 0);
}

/* POSITION has as many bits of the address as the RAM needs, and ignores the others. While it runs
 * it is moved only: a stop would leave unknown what runs up to the next branch. */
static int start_mtb(struct coresight_buffer *b)
{
    const uint32_t first = (uint32_t)b->store, last = first + 4 * b->words - MTB_PACKET;
    uint32_t master, end;
    if (coresight_mtb_runs(b))
        return coresight_write(b->bus, b->base + MTB_POSITION, first);
    int error = coresight_read(b->bus, b->base + MTB_MASTER, &master);
    if (error != 0)
        return error;
    const struct coresight_setting stopped[] = {{MTB_MASTER, master & MTB_ACCESS, 1},
                                                {MTB_POSITION, last, 1}};
    const struct coresight_setting list[] = {
        {MTB_POSITION, first, 1},
        {MTB_FLOW, 0, 1},
        {MTB_MASTER, (master & MTB_ACCESS) | mtb_master(b), 1},
    };
    error = CORESIGHT_WRITE_ALL(b->bus, b->base, stopped);
    if (error == 0)
        error = coresight_read(b->bus, b->base + MTB_POSITION, &end);
    if (error == 0 && (end ^ last) & (4 * b->words - MTB_PACKET))
        return BT_ERR_RANGE;
    return error == 0 ? CORESIGHT_WRITE_ALL(b->bus, b->base, list) : error;
}

int coresight_etf_pass(struct coresight_bus *bus, uint64_t base)
{
    static const struct coresight_setting list[] = {
        {MODE, MODE_FIFO, 1}, {FFCR, FFCR_FORMAT, 1}, {CTL, ENABLE, 1}};
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_write(bus, base + CTL, 0);
    if (error == 0)
        error = coresight_poll(bus, base + STS, STS_TMC_READY, STS_TMC_READY);
    return error == 0 ? CORESIGHT_WRITE_ALL(bus, base, list) : error;
}

/* The formatter has stopped, or the TMC is ready. */
static struct mem_ap_access status_of(const struct coresight_buffer *b)
{
    return (struct mem_ap_access){.address = b->base + (b->tmc ? STS : FFSR)};
}

static bool tells_stopped(const struct coresight_buffer *b, uint32_t status)
{
    return (status & (b->tmc ? STS_TMC_READY : FFSR_STOPPED)) != 0;
}

/* Switched off if `off`, unlocked before; then until it has stopped. */
static int end_formatting(const struct coresight_buffer *b, bool off)
{
    struct mem_ap_access list[] = {
        {b->base + CORESIGHT_LAR, true, CORESIGHT_LAR_KEY},
        {b->base + CTL, true, 0},
        status_of(b),
    };
    uint32_t mask = b->tmc ? STS_TMC_READY : FFSR_STOPPED;
    int error = off ? coresight_access(b->bus, list, 3) : coresight_access(b->bus, list + 2, 1);
    if (error != 0 || tells_stopped(b, list[2].value))
        return error;
    return coresight_poll(b->bus, list[2].address, mask, mask);
}

int coresight_buffer_start(struct coresight_buffer *b)
{
    /* Pointers of an ETR are addresses of the system's memory. */
    const uint32_t low = (uint32_t)b->store, high = (uint32_t)(b->store >> 32);
    const struct coresight_setting list[] = {
        {MODE, 0, b->tmc},
        {TRG, 0, 1},
        {RDP, b->words, b->etr},
        {DBALO, low, b->etr},
        {DBAHI, high, b->etr},
        {AXICTL, AXI_BURSTS, b->etr},
        {RRP, low, 1},
        {RWP, low, 1},
        {RRPHI, high, b->etr},
        {RWPHI, high, b->etr},
        {FFCR, b->tmc ? FFCR_TMC : FFCR_FORMAT, 1},
        {CTL, ENABLE, 1},
    };
    if (b->mtb || b->ring) {
        int error = coresight_unlock(b->bus, b->base);
        if (b->ring)
            return coresight_ring_start(b);
        return error ? error : start_mtb(b);
    }
    int error = end_formatting(b, true);
    return error == 0 ? CORESIGHT_WRITE_ALL(b->bus, b->base, list) : error;
}

int coresight_buffer_stop(struct coresight_buffer *b)
{
    const uint64_t control = b->base + FFCR;
    struct mem_ap_access seen[] = {
        {b->base + CORESIGHT_LAR, true, CORESIGHT_LAR_KEY},
        {.address = b->base + CTL},
        status_of(b),
        {.address = control},
    };
    if (b->mtb || b->ring) {
        int error = coresight_unlock(b->bus, b->base);
        return b->ring ? coresight_tpiu_ring_stop(b->bus, b->base) : error;
    }
    int error = coresight_access(b->bus, seen, 4);
    if (error != 0 || (seen[1].value & ENABLE) == 0)
        return error;
    /* The target's program may have stopped it: then there is nothing left to flush. */
    if (tells_stopped(b, seen[2].value))
        return b->tmc ? 0 : coresight_write(b->bus, b->base + CTL, 0);
    /* Two writes: a flush that begins before StopFl is set would not stop the formatter. */
    const uint32_t stop = seen[3].value | FFCR_STOP_FL;
    struct mem_ap_access flush[] = {
        {control, true, stop}, {control, true, stop | FFCR_FLUSH}, {.address = control}};
    error = coresight_access(b->bus, flush, 3);
    if (error == 0 && (flush[2].value & FFCR_FLUSH) != 0)
        error = coresight_poll(b->bus, control, FFCR_FLUSH, 0);
    return error == 0 ? end_formatting(b, !b->tmc) : error;
}

static int read_etb(struct coresight_buffer *b, uint32_t *words,
                    struct coresight_buffer_content *content)
{
    uint32_t status, end;
    const struct coresight_reading list[] = {{STS, &status}, {RWP, &end}};
    int error = CORESIGHT_READ_ALL(b->bus, b->base, list);
    if (error != 0)
        return error;
    if (end >= b->words)
        return BT_ERR_FORMAT;
    content->wrapped = (status & STS_FULL) != 0;
    content->unclean = end % FRAME_WORDS != 0;
    if (content->unclean)
        end = (end + FRAME_WORDS - 1) / FRAME_WORDS * FRAME_WORDS;
    if (end >= b->words)
        end = content->wrapped ? 0 : b->words;
    size_t count = content->wrapped ? b->words : end;
    unsigned tries = 0;
    do {
        error = coresight_write(b->bus, b->base + RRP, content->wrapped ? end : 0);
        if (error == 0 && count > 0)
            error = b->bus->ops->read_fifo(b->bus, b->base + RRD, words, count);
    } while (debug_link_again(error, b->bus->failure, &tries));
    if (error == 0)
        content->words = count;
    return error;
}

/* All ones mean that it is empty: no frame has such a word. The rest of a block is then more of
 * them. */
static int read_tmc(struct coresight_buffer *b, uint32_t *words,
                    struct coresight_buffer_content *content)
{
    uint32_t part[READ_WORDS];
    uint32_t status;
    uint32_t enabled;
    int error = coresight_read(b->bus, b->base + CTL, &enabled);
    if (error == 0 && (enabled & ENABLE) == 0)
        return 0; /* the RAM cannot be read when disabled */
    if (error == 0)
        error = coresight_read(b->bus, b->base + STS, &status);
    if (error != 0)
        return error;
    content->wrapped = (status & STS_FULL) != 0;
    bool empty = false;
    while (error == 0 && !empty && content->words < b->words) {
        size_t left = b->words - content->words;
        size_t n = left < READ_WORDS ? left : READ_WORDS;
        size_t whole = (n + b->memory_words - 1) / b->memory_words * b->memory_words;
        error = b->bus->ops->read_fifo(b->bus, b->base + RRD, part,
                                       whole < READ_WORDS ? whole : READ_WORDS);
        for (size_t k = 0; error == 0 && k < n && !empty; k++) {
            empty = part[k] == TMC_EMPTY;
            if (!empty)
                words[content->words++] = part[k];
        }
    }
    content->unclean = content->words % FRAME_WORDS != 0;
    if (error == 0)
        error = coresight_write(b->bus, b->base + CTL, 0);
    return error;
}

static int read_etr(struct coresight_buffer *b, uint32_t *words,
                    struct coresight_buffer_content *content)
{
    uint32_t status, enabled, low, high;
    const struct coresight_reading list[] = {{STS, &status}, {RWP, &low}, {RWPHI, &high}};
    int error = coresight_read(b->bus, b->base + CTL, &enabled);
    if (error == 0 && (enabled & ENABLE) == 0)
        return 0;
    if (error == 0)
        error = CORESIGHT_READ_ALL(b->bus, b->base, list);
    if (error != 0)
        return error;
    uint64_t end = ((uint64_t)high << 32 | low) - b->store;
    if (end > 4 * (uint64_t)b->words || status & STS_MEM_ERROR)
        return BT_ERR_FORMAT;
    size_t at = (size_t)end / 4;
    content->wrapped = (status & STS_FULL) != 0;
    content->unclean = at % FRAME_WORDS != 0;
    at -= at % FRAME_WORDS;
    if (content->wrapped) /* an unfinished frame has overwritten the begin of the oldest one */
        error = coresight_store_read(b, content->unclean ? at + FRAME_WORDS : at, b->words, words,
                                     content);
    if (error == 0)
        error = coresight_store_read(b, 0, at, words, content);
    return error == 0 ? coresight_write(b->bus, b->base + CTL, 0) : error;
}

/* Of another size or place it is somebody else's: POSITION has no bit that the address has not. */
static int read_mtb(struct coresight_buffer *b, uint32_t *words,
                    struct coresight_buffer_content *content)
{
    uint32_t position, master;
    const struct coresight_reading list[] = {{MTB_POSITION, &position}, {MTB_MASTER, &master}};
    int error = CORESIGHT_READ_ALL(b->bus, b->base, list);
    if (error != 0)
        return error;
    if ((master ^ mtb_master(b)) & MTB_MASK || position & ~(uint32_t)b->store & -(4 * b->words))
        return BT_ERR_FORMAT;
    size_t at = (position & (4 * b->words - MTB_PACKET)) / 4;
    content->wrapped = (position & MTB_WRAP) != 0;
    if (content->wrapped)
        error = coresight_store_read(b, at, b->words, words, content);
    return error == 0 ? coresight_store_read(b, 0, at, words, content) : error;
}

int coresight_buffer_read(struct coresight_buffer *b, uint32_t *words,
                          struct coresight_buffer_content *content)
{
    *content = (struct coresight_buffer_content){0};
    if (b->mtb)
        return read_mtb(b, words, content);
    if (b->ring)
        return coresight_ring_read(b, words, content);
    if (b->etr)
        return read_etr(b, words, content);
    return b->tmc ? read_tmc(b, words, content) : read_etb(b, words, content);
}
