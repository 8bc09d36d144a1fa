/* SPDX-License-Identifier: BSD-3-Clause */
/* The MEM-AP's own registers, and runs of accesses to DRW. */
#include "drivers/adi/mem_ap.h"
#include "decoder/base/bytes.h"

/* CSW fields. */
#define CSW_SIZE_MASK  0x07u
#define CSW_SIZE_BYTE  0x00u
#define CSW_SIZE_HALF  0x01u
#define CSW_SIZE_WORD  0x02u
#define CSW_INC_MASK   0x30u
#define CSW_INC_OFF    0x00u
#define CSW_INC_SINGLE 0x10u
#define CSW_INC_PACKED 0x20u
#define CSW_DEVICE_EN  0x40u

/* The address increment carries no further than this. */
#define MEM_AP_WRAP 1024u

/* A run of accesses to DRW that needs no new TAR. */
struct mem_ap_run {
    uint64_t address;
    uint32_t mode; /* size and increment of CSW */
    unsigned step; /* bytes each access moves on; 0: none */
    bool write;
    bool retry; /* may be done again as a whole when the line fails */
};

#define CFG_BIG_ENDIAN    0x1u
#define CFG_LARGE_ADDRESS 0x2u

#define CSW_AHB 0xa2000000u /* DbgSwEnable, master type debug, privileged */
#define CSW_APB 0x80000000u
#define CSW_AXI 0xb0000000u

#define SMALL_RUN    16u /* so many accesses go in one list with their TAR */
#define RETRIES      2u
#define PAGE_ADDRESS 0xffffffffull

void mem_ap_forget(struct mem_ap *ap)
{
    ap->csw_known = false;
    ap->tar_known = false;
    ap->generation = ap->dp->generation;
}

/* Protection bits that work for this kind of bus; unknown kinds keep what they have. */
static uint32_t choose_csw(uint32_t idr, uint32_t csw)
{
    switch (idr & 0xf) {
    case 1:
    case 5:
    case 8:
        return CSW_AHB;
    case 2:
    case 6:
        return CSW_APB;
    case 4:
    case 7:
        return CSW_AXI;
    default:
        return (csw & 0x7f000000u) | 0x80000000u;
    }
}

/* Does the field of CSW keep what is written? */
static int try_mode(struct mem_ap *ap, uint32_t mode, bool *works)
{
    uint32_t csw = 0;
    int error = adiv5_ap_write(ap->dp, ap->ap, ADIV5_AP_CSW, ap->csw_base | mode);
    if (error == 0)
        error = adiv5_ap_read(ap->dp, ap->ap, ADIV5_AP_CSW, &csw);
    *works = error == 0 && (csw & (CSW_SIZE_MASK | CSW_INC_MASK)) == mode;
    return error;
}

static int read_config(struct mem_ap *ap)
{
    uint32_t cfg = 0;
    int error = adiv5_ap_read(ap->dp, ap->ap, ADIV5_AP_CFG, &cfg);
    ap->big_endian = (cfg & CFG_BIG_ENDIAN) != 0;
    ap->large_address = (cfg & CFG_LARGE_ADDRESS) != 0;
    return error;
}

int mem_ap_init(struct mem_ap *ap, struct adiv5_dp *dp, uint8_t index)
{
    uint32_t csw = 0;
    bool bytes = false;
    *ap = (struct mem_ap){.dp = dp, .ap = index};
    int error = adiv5_ap_read(dp, index, ADIV5_AP_IDR, &ap->idr);
    if (error != 0)
        return error;
    if (!adiv5_is_mem_ap(ap->idr))
        return adiv5_fail(dp, DEBUG_FAIL_NO_MEM_AP);
    error = read_config(ap);
    if (error == 0)
        error = adiv5_ap_read(dp, index, ADIV5_AP_CSW, &csw);
    if (error == 0 && (csw & CSW_DEVICE_EN) == 0)
        return adiv5_fail(dp, DEBUG_FAIL_LOCKED);
    ap->csw_base = choose_csw(ap->idr, csw);
    if (error == 0)
        error = try_mode(ap, CSW_SIZE_BYTE | CSW_INC_SINGLE, &bytes);
    if (error == 0 && bytes)
        error = try_mode(ap, CSW_SIZE_BYTE | CSW_INC_PACKED, &ap->packed);
    ap->words_only = !bytes;
    mem_ap_forget(ap);
    return error;
}

/* Is [address, address + length) within what the AP can address? Return 0 or BT_ERR_RANGE. */
static int mem_ap_check(const struct mem_ap *ap, uint64_t address, uint64_t length)
{
    uint64_t last = ap->large_address ? UINT64_MAX : PAGE_ADDRESS;
    if (address > last || (length > 0 && length - 1 > last - address))
        return BT_ERR_RANGE;
    return 0;
}

/* CSW and TAR where they are not as the run needs them. */
static size_t put_setup(struct mem_ap *ap, const struct mem_ap_run *run, struct adiv5_access *list)
{
    uint32_t csw = ap->csw_base | run->mode;
    size_t n = 0;
    if (ap->generation != ap->dp->generation)
        mem_ap_forget(ap);
    if (!ap->csw_known || ap->csw != csw)
        list[n++] = (struct adiv5_access){.address = ADIV5_AP_CSW, .write = true, .value = csw};
    if (ap->tar_known && ap->tar == run->address)
        return n;
    if (ap->large_address && (!ap->tar_known || ap->tar >> 32 != run->address >> 32))
        list[n++] = (struct adiv5_access){
            .address = ADIV5_AP_TAR_HI, .write = true, .value = (uint32_t)(run->address >> 32)};
    list[n++] = (struct adiv5_access){
        .address = ADIV5_AP_TAR, .write = true, .value = (uint32_t)run->address};
    return n;
}

/* Behind a run that worked: the increment is not relied on at the end of a wrap block. */
static void note_done(struct mem_ap *ap, const struct mem_ap_run *run, size_t count)
{
    uint64_t end = run->address + (uint64_t)run->step * count;
    ap->csw = ap->csw_base | run->mode;
    ap->csw_known = true;
    ap->tar = end;
    ap->tar_known = run->step == 0 || end % MEM_AP_WRAP != 0;
}

/* A small run: one list. *done: accesses to DRW that worked. */
static int run_small(struct mem_ap *ap, const struct mem_ap_run *run, uint32_t *words, size_t count,
                     size_t *done)
{
    struct adiv5_access list[SMALL_RUN + 3];
    size_t setup = put_setup(ap, run, list);
    for (size_t k = 0; k < count; k++)
        list[setup + k] = (struct adiv5_access){
            .address = ADIV5_AP_DRW, .write = run->write, .value = run->write ? words[k] : 0};
    int error = adiv5_ap_list(ap->dp, ap->ap, list, setup + count);
    size_t good = error == 0 ? setup + count : ap->dp->failed_at;
    *done = good > setup ? good - setup : 0;
    for (size_t k = 0; !run->write && k < *done; k++)
        words[k] = list[setup + k].value;
    return error;
}

static int run_large(struct mem_ap *ap, const struct mem_ap_run *run, uint32_t *words, size_t count,
                     size_t *done)
{
    struct adiv5_access list[3];
    size_t setup = put_setup(ap, run, list);
    *done = 0;
    int error = adiv5_ap_list(ap->dp, ap->ap, list, setup);
    if (error != 0)
        return error;
    if (run->write)
        error = adiv5_ap_block_write(ap->dp, ap->ap, ADIV5_AP_DRW, words, count);
    else
        error = adiv5_ap_block_read(ap->dp, ap->ap, ADIV5_AP_DRW, words, count);
    *done = error == 0 ? count : ap->dp->failed_at;
    return error;
}

bool mem_ap_again(const struct mem_ap *ap, int error, unsigned *tries)
{
    enum debug_failure failure = ap->dp->failure;
    return error == BT_ERR_IO && (failure == DEBUG_FAIL_LINE || failure == DEBUG_FAIL_WAIT) &&
           (*tries)++ < RETRIES;
}

/* Do it: `words` are DRW values, lanes as they are. The run must not cross MEM_AP_WRAP. */
static int mem_ap_run(struct mem_ap *ap, const struct mem_ap_run *run, uint32_t *words,
                      size_t count)
{
    size_t done = 0;
    unsigned tries = 0;
    int error;
    do {
        error = count <= SMALL_RUN ? run_small(ap, run, words, count, &done)
                                   : run_large(ap, run, words, count, &done);
        if (error == 0) {
            note_done(ap, run, count);
            return 0;
        }
        mem_ap_forget(ap);
    } while (run->retry && mem_ap_again(ap, error, &tries));
    /* A last write that is taken and then refused counts as done below. */
    if (done >= count)
        done = count - 1;
    ap->fault_address = run->address + (uint64_t)run->step * done;
    return error;
}

/* Any number of words, in runs that stay within a wrap block. */
static int words_run(struct mem_ap *ap, uint64_t address, uint32_t *words, size_t count, bool write)
{
    if (address % 4 != 0)
        return BT_ERR_INVAL;
    int error = mem_ap_check(ap, address, (uint64_t)count * 4);
    while (error == 0 && count > 0) {
        size_t room = (MEM_AP_WRAP - (size_t)(address % MEM_AP_WRAP)) / 4;
        size_t n = count < room ? count : room;
        const struct mem_ap_run run = {
            .address = address, .mode = CSW_SIZE_WORD | CSW_INC_SINGLE, .step = 4, .write = write};
        error = mem_ap_run(ap, &run, words, n);
        address += 4 * (uint64_t)n;
        words += n;
        count -= n;
    }
    return error;
}

static int fifo_run(struct mem_ap *ap, uint64_t address, uint32_t *words, size_t count, bool write)
{
    const struct mem_ap_run run = {
        .address = address, .mode = CSW_SIZE_WORD | CSW_INC_OFF, .write = write};
    if (address % 4 != 0)
        return BT_ERR_INVAL;
    int error = mem_ap_check(ap, address, 4);
    return error != 0 || count == 0 ? error : mem_ap_run(ap, &run, words, count);
}

/* Writing does not change the words; only one function for both directions takes them so. */
static uint32_t *mem_ap_unconst(const uint32_t *words)
{
    return (uint32_t *)(uintptr_t)words;
}

int mem_ap_read_words(struct mem_ap *ap, uint64_t address, uint32_t *words, size_t count)
{
    return words_run(ap, address, words, count, false);
}

int mem_ap_write_words(struct mem_ap *ap, uint64_t address, const uint32_t *words, size_t count)
{
    return words_run(ap, address, mem_ap_unconst(words), count, true);
}

int mem_ap_read_fifo(struct mem_ap *ap, uint64_t address, uint32_t *words, size_t count)
{
    return fifo_run(ap, address, words, count, false);
}

int mem_ap_write_fifo(struct mem_ap *ap, uint64_t address, const uint32_t *words, size_t count)
{
    return fifo_run(ap, address, mem_ap_unconst(words), count, true);
}

int mem_ap_list(struct mem_ap *ap, struct mem_ap_access *items, size_t count)
{
    struct adiv5_access list[4 * MEM_AP_LISTED];
    size_t at[MEM_AP_LISTED], n = 0, done = 0;
    if (count == 0 || count > MEM_AP_LISTED)
        return BT_ERR_INVAL;
    for (size_t k = 0; k < count; k++) {
        const struct mem_ap_run run = {.address = items[k].address,
                                       .mode = CSW_SIZE_WORD | CSW_INC_OFF};
        int error = run.address % 4 == 0 ? mem_ap_check(ap, run.address, 4) : BT_ERR_INVAL;
        if (error != 0) {
            mem_ap_forget(ap); /* the setup noted below has not been sent */
            return error;
        }
        n += put_setup(ap, &run, list + n);
        note_done(ap, &run, 1);
        at[k] = n;
        list[n++] = (struct adiv5_access){
            .address = ADIV5_AP_DRW, .write = items[k].write, .value = items[k].value};
    }
    int error = adiv5_ap_list(ap->dp, ap->ap, list, n);
    size_t good = error == 0 ? n : ap->dp->failed_at;
    for (; done < count && at[done] < good; done++)
        items[done].value = list[at[done]].value;
    if (error != 0) {
        mem_ap_forget(ap);
        ap->fault_address = items[done < count ? done : count - 1].address;
    }
    return error;
}

int mem_ap_banked(struct mem_ap *ap, uint64_t address, struct mem_ap_banked *items, size_t count)
{
    struct adiv5_access list[3 + MEM_AP_BANKED];
    const struct mem_ap_run run = {.address = address, .mode = CSW_SIZE_WORD | CSW_INC_OFF};
    if (address % 16 != 0 || count > MEM_AP_BANKED)
        return BT_ERR_INVAL;
    int error = mem_ap_check(ap, address, 16);
    if (error != 0)
        return error;
    size_t setup = put_setup(ap, &run, list);
    for (size_t k = 0; k < count; k++)
        list[setup + k] =
            (struct adiv5_access){.address = (uint8_t)(ADIV5_AP_BD0 + (items[k].offset & 0xcu)),
                                  .write = items[k].write,
                                  .value = items[k].value};
    error = adiv5_ap_list(ap->dp, ap->ap, list, setup + count);
    size_t good = error == 0 ? setup + count : ap->dp->failed_at;
    for (size_t k = 0; k < count && setup + k < good; k++)
        items[k].value = list[setup + k].value;
    if (error == 0) {
        note_done(ap, &run, count);
        return 0;
    }
    mem_ap_forget(ap);
    size_t first_bad = good > setup ? good - setup : 0;
    ap->fault_address = address + (first_bad < count ? items[first_bad].offset & 0xcu : 0);
    return error;
}

#define PART_WORDS (MEM_AP_WRAP / 4)

static unsigned shift_of(uint64_t address)
{
    return 8 * (unsigned)(address & 3);
}

/* How many whole items of `step` bytes of the rest stay within the wrap block. */
static size_t in_block(uint64_t address, size_t step, size_t left)
{
    size_t room = (MEM_AP_WRAP - (size_t)(address % MEM_AP_WRAP)) / step;
    return left < room ? left : room;
}

struct sized {
    struct mem_ap *ap;
    unsigned size;
    bool write;
    bool retry;
};

/* Items that fill whole words, one word an access: words, or packed smaller items. */
static int sized_words(const struct sized *s, uint64_t address, uint8_t *bytes, size_t words)
{
    uint32_t part[PART_WORDS];
    uint32_t mode = s->size == 4   ? CSW_SIZE_WORD | CSW_INC_SINGLE
                    : s->size == 2 ? CSW_SIZE_HALF | CSW_INC_PACKED
                                   : CSW_SIZE_BYTE | CSW_INC_PACKED;
    const struct mem_ap_run run = {
        .address = address, .mode = mode, .step = 4, .write = s->write, .retry = s->retry};
    for (size_t k = 0; k < words; k++)
        part[k] = s->write ? bytes_word(bytes + 4 * k) : 0;
    int error = mem_ap_run(s->ap, &run, part, words);
    size_t good = error == 0 ? words : (size_t)(s->ap->fault_address - address) / 4;
    for (size_t k = 0; !s->write && k < good; k++)
        bytes_set_word(bytes + 4 * k, part[k]);
    return error;
}

/* Items of less than a word, each in its lane. */
static int sized_lanes(const struct sized *s, uint64_t address, uint8_t *bytes, size_t count)
{
    uint32_t part[16];
    uint32_t mode = (s->size == 2 ? CSW_SIZE_HALF : CSW_SIZE_BYTE) | CSW_INC_SINGLE;
    const struct mem_ap_run run = {
        .address = address, .mode = mode, .step = s->size, .write = s->write, .retry = s->retry};
    for (size_t k = 0; k < count; k++)
        part[k] = s->write ? (uint32_t)bytes_number(bytes + s->size * k, s->size, false)
                                 << shift_of(address + s->size * k)
                           : 0;
    int error = mem_ap_run(s->ap, &run, part, count);
    size_t good = error == 0 ? count : (size_t)(s->ap->fault_address - address) / s->size;
    for (size_t k = 0; !s->write && k < good; k++)
        bytes_set_number(bytes + s->size * k, s->size, false,
                         part[k] >> shift_of(address + s->size * k));
    return error;
}

static int run_sized(const struct sized *s, uint64_t address, uint8_t *bytes, size_t count)
{
    int error = 0;
    size_t per_word = 4 / s->size;
    bool by_words = s->size == 4 || s->ap->packed;
    while (error == 0 && count > 0) {
        size_t n;
        if (by_words && address % 4 == 0 && count >= per_word) {
            size_t words = in_block(address, 4, count / per_word);
            error = sized_words(s, address, bytes, words);
            n = words * per_word;
        } else {
            n = in_block(address, s->size, count);
            if (by_words && n > (4 - address % 4) / s->size)
                n = (4 - (size_t)(address % 4)) / s->size;
            if (n > 16)
                n = 16;
            error = sized_lanes(s, address, bytes, n);
        }
        address += n * s->size;
        bytes += n * s->size;
        count -= n;
    }
    return error;
}

static int check_sized(const struct sized *s, uint64_t address, size_t count)
{
    if ((s->size != 1 && s->size != 2 && s->size != 4) || address % s->size != 0)
        return BT_ERR_INVAL;
    if (s->size < 4 && (s->ap->words_only || s->ap->big_endian))
        return BT_ERR_UNSUPPORTED;
    return mem_ap_check(s->ap, address, (uint64_t)count * s->size);
}

int mem_ap_read_sized(struct mem_ap *ap, uint64_t address, unsigned size, uint8_t *bytes,
                      size_t count)
{
    const struct sized s = {.ap = ap, .size = size};
    int error = check_sized(&s, address, count);
    return error != 0 ? error : run_sized(&s, address, bytes, count);
}

int mem_ap_write_sized(struct mem_ap *ap, uint64_t address, unsigned size, const uint8_t *bytes,
                       size_t count)
{
    const struct sized s = {.ap = ap, .size = size, .write = true};
    int error = check_sized(&s, address, count);
    return error != 0 ? error : run_sized(&s, address, (uint8_t *)(uintptr_t)bytes, count);
}

/* Any address, any length. */

/* The part of a word that an AP without smaller accesses can only read as a whole. */
static int read_in_word(struct mem_ap *ap, uint64_t address, uint8_t *bytes, size_t count)
{
    uint32_t word;
    const struct mem_ap_run run = {.address = address & ~3ull,
                                   .mode = CSW_SIZE_WORD | CSW_INC_SINGLE,
                                   .step = 4,
                                   .retry = true};
    int error = mem_ap_run(ap, &run, &word, 1);
    if (error == 0)
        bytes_set_number(bytes, (unsigned)count, false, word >> shift_of(address));
    else
        ap->fault_address = address;
    return error;
}

/* Less than a word, within one word: a byte up to the halfword, a halfword, a byte. */
static int mem_ap_edge(const struct sized *like, uint64_t address, uint8_t *bytes, size_t count)
{
    struct sized s = *like;
    if (s.ap->words_only || s.ap->big_endian)
        return s.write ? BT_ERR_UNSUPPORTED : read_in_word(s.ap, address, bytes, count);
    int error = 0;
    while (error == 0 && count > 0) {
        s.size = address % 2 == 0 && count >= 2 ? 2 : 1;
        error = sized_lanes(&s, address, bytes, 1);
        address += s.size;
        bytes += s.size;
        count -= s.size;
    }
    return error;
}

static int run_any(struct mem_ap *ap, uint64_t address, uint8_t *bytes, size_t length, bool write)
{
    const struct sized s = {.ap = ap, .size = 4, .write = write, .retry = !write};
    size_t to_word = (size_t)(-address & 3);
    size_t head = length < to_word ? length : to_word;
    int error = mem_ap_check(ap, address, length);
    if (error == 0 && head > 0)
        error = mem_ap_edge(&s, address, bytes, head);
    address += head;
    bytes += head;
    length -= head;
    size_t words = length / 4;
    if (error == 0)
        error = run_sized(&s, address, bytes, words);
    if (error == 0 && length % 4 > 0)
        error = mem_ap_edge(&s, address + 4 * words, bytes + 4 * words, length % 4);
    return error;
}

int mem_ap_read(struct mem_ap *ap, uint64_t address, uint8_t *bytes, size_t length)
{
    return run_any(ap, address, bytes, length, false);
}

int mem_ap_write(struct mem_ap *ap, uint64_t address, const uint8_t *bytes, size_t length)
{
    return run_any(ap, address, (uint8_t *)(uintptr_t)bytes, length, true);
}
