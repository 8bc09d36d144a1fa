/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory as a halted ARMv7-A core sees it. */
#include <string.h>

#include "cortex_a_internal.h"
#include "decoder/base/bytes.h"

#define A_NOTHING    0xe1a00000u /* mov r0, r0 */
#define A_READ_DFSR  0xee150f10u
#define A_READ_DFAR  0xee160f10u
#define A_WRITE_DFSR 0xee050f10u
#define A_WRITE_DFAR 0xee060f10u

#define SMALL_WORDS 57u   /* more goes faster in the channel's fast mode */
#define PART_WORDS  1024u /* of one run in it */

/* What the program's fault registers hold, before an access of ours may change them. */
static int save_faults(struct cortex_a *core)
{
    if ((core->known & CORTEX_A_KNOWN_FAULTS) != 0)
        return 0;
    int error = cortex_a_read_system(core, A_READ_DFSR, &core->faults[0]);
    if (error == 0)
        error = cortex_a_read_system(core, A_READ_DFAR, &core->faults[1]);
    core->known |= error == 0 ? CORTEX_A_KNOWN_FAULTS : 0;
    return error == BT_ERR_UNSUPPORTED ? 0 : error;
}

/* Behind a failed access: where it was, in core->failure_address. r0 stays on what failed. */
static int cortex_a_explain(struct cortex_a *core, int error, uint32_t address, size_t length)
{
    uint32_t at = address;
    if (error != BT_ERR_IO || core->failure != CORTEX_A_FAIL_ABORT)
        return error;
    int lost = cortex_a_ask(core, A_NOTHING, &at);
    if (lost == 0 && (core->known & CORTEX_A_KNOWN_FAULTS) != 0)
        lost = cortex_a_write_system(core, A_WRITE_DFSR, core->faults[0]);
    if (lost == 0 && (core->known & CORTEX_A_KNOWN_FAULTS) != 0)
        lost = cortex_a_write_system(core, A_WRITE_DFAR, core->faults[1]);
    if (lost != 0)
        return lost;
    return cortex_a_fail(core, CORTEX_A_FAIL_ABORT, at - address < length ? at : address,
                         BT_ERR_IO);
}

static void put_value(const struct cortex_a *core, uint8_t *bytes, uint32_t value, unsigned size)
{
    bytes_set_number(bytes, size, (core->values[CORTEX_A_CPSR] & CPSR_BIG) != 0, value);
}

static uint32_t get_value(const struct cortex_a *core, const uint8_t *bytes, unsigned size)
{
    return (uint32_t)bytes_number(bytes, size, (core->values[CORTEX_A_CPSR] & CPSR_BIG) != 0);
}

/* Single accesses. */

static uint32_t load_opcode(unsigned size)
{
    return size == 4 ? 0xe4901004u : size == 2 ? 0xe0d010b2u : 0xe4d01001u;
}

static uint32_t store_opcode(unsigned size)
{
    return size == 4 ? 0xe4801004u : size == 2 ? 0xe0c010b2u : 0xe4c01001u;
}

/* r0 counts on from item to item; `once`: no access is repeated. */
static int read_items(struct cortex_a *core, uint32_t address, unsigned size, uint8_t *bytes,
                      size_t count, bool once)
{
    const struct cortex_a_sequence empty = {.count = 0};
    int error = 0;
    core->dirty |= 3;
    for (size_t done = 0; done < count && error == 0;) {
        struct cortex_a_sequence s = empty;
        unsigned at[MEM_AP_BANKED], n = 0;
        cortex_a_give(&s, address + (uint32_t)done * size);
        cortex_a_execute(&s, A_GIVE(0));
        for (; cortex_a_room(&s) >= 5 && done + n < count; n++) {
            cortex_a_execute(&s, load_opcode(size));
            cortex_a_execute(&s, A_TAKE(1));
            at[n] = cortex_a_take(&s);
        }
        error = cortex_a_play(core, &s, once);
        for (unsigned k = 0; k < n; k++) /* behind an abort what lies before it counts */
            put_value(core, bytes + (done + k) * size, s.list[at[k]].value, size);
        done += n;
    }
    return error;
}

static int write_items(struct cortex_a *core, uint32_t address, unsigned size, const uint8_t *bytes,
                       size_t count, bool once)
{
    int error = 0;
    core->dirty |= 3;
    for (size_t done = 0; done < count && error == 0;) {
        struct cortex_a_sequence s = {.count = 0};
        cortex_a_give(&s, address + (uint32_t)done * size);
        cortex_a_execute(&s, A_GIVE(0));
        for (; cortex_a_room(&s) >= 5 && done < count; done++) {
            cortex_a_give(&s, get_value(core, bytes + done * size, size));
            cortex_a_execute(&s, A_GIVE(1));
            cortex_a_execute(&s, store_opcode(size));
        }
        error = cortex_a_play(core, &s, once);
    }
    return error;
}

static int set_fast(struct cortex_a *core, bool fast)
{
    uint32_t bits = (core->dscr & ~DSCR_MODE_MASK) | DSCR_ITREN;
    return cortex_a_write_dscr(core, bits | (fast ? DSCR_MODE_FAST : DSCR_MODE_STALL));
}

/* The instruction that each access to the channel executes from now on. */
static int cortex_a_latch(struct cortex_a *core, uint32_t opcode)
{
    int error = set_fast(core, true);
    return error == 0 ? cortex_a_poke(core, DBG_BANK + BANK_ITR, opcode) : error;
}

/* Out of fast mode, whatever happened; then the state tells of aborts. */
static int end_fast(struct cortex_a *core, int error)
{
    struct mem_ap_banked state = {.offset = BANK_DSCR};
    int back = set_fast(core, false);
    if (error == 0)
        error = back;
    if (error == 0)
        error = cortex_a_play_one(core, &state);
    else
        (void)cortex_a_clear_errors(core);
    return error;
}

/* The first word is loaded beforehand, the last one taken behind. */
static int read_fast(struct cortex_a *core, uint32_t address, uint32_t *words, size_t count)
{
    struct cortex_a_sequence first = {.count = 0};
    struct mem_ap_banked last = {.offset = BANK_DTRTX};
    core->dirty |= 1;
    cortex_a_give(&first, address);
    cortex_a_execute(&first, A_GIVE(0));
    cortex_a_execute(&first, A_LOAD_BLOCK);
    int error = cortex_a_start(core, &first);
    if (error == 0)
        error = cortex_a_latch(core, A_LOAD_BLOCK);
    if (error == 0)
        error = cortex_a_port(
            core, mem_ap_read_fifo(core->ap, core->base + DBG_BANK + BANK_DTRTX, words, count - 1));
    error = end_fast(core, error);
    if (error == 0)
        error = cortex_a_play_one(core, &last);
    words[count - 1] = last.value;
    return error;
}

static int write_fast(struct cortex_a *core, uint32_t address, const uint32_t *words, size_t count)
{
    int error = cortex_a_do(core, A_NOTHING, address);
    if (error == 0)
        error = cortex_a_latch(core, A_STORE_BLOCK);
    if (error == 0)
        error = cortex_a_port(
            core, mem_ap_write_fifo(core->ap, core->base + DBG_BANK + BANK_DTRRX, words, count));
    return end_fast(core, error);
}

static int read_words(struct cortex_a *core, uint32_t address, uint8_t *bytes, size_t count)
{
    uint32_t part[PART_WORDS];
    int error = 0;
    if (count <= SMALL_WORDS)
        return read_items(core, address, 4, bytes, count, false);
    for (size_t done = 0; done < count && error == 0;) {
        size_t n = count - done < PART_WORDS ? count - done : PART_WORDS;
        error = n > 1
                    ? read_fast(core, address + 4 * (uint32_t)done, part, n)
                    : read_items(core, address + 4 * (uint32_t)done, 4, (uint8_t *)part, 1, false);
        for (size_t k = 0; k < n && n > 1; k++)
            put_value(core, bytes + 4 * (done + k), part[k], 4);
        if (n == 1)
            put_value(core, bytes + 4 * done, get_value(core, (uint8_t *)part, 4), 4);
        done += n;
    }
    return error;
}

static int write_words(struct cortex_a *core, uint32_t address, const uint8_t *bytes, size_t count)
{
    uint32_t part[PART_WORDS];
    int error = 0;
    if (count <= SMALL_WORDS)
        return write_items(core, address, 4, bytes, count, false);
    for (size_t done = 0; done < count && error == 0;) {
        size_t n = count - done < PART_WORDS ? count - done : PART_WORDS;
        for (size_t k = 0; k < n; k++)
            part[k] = get_value(core, bytes + 4 * (done + k), 4);
        error = write_fast(core, address + 4 * (uint32_t)done, part, n);
        done += n;
    }
    return error;
}

/* To `in`, or if that is NULL from `out`. */
static int move_bytes(struct cortex_a *core, uint32_t address, uint8_t *in, const uint8_t *out,
                      size_t count)
{
    if (count == 0)
        return 0;
    return in ? read_items(core, address, 1, in, count, false)
              : write_items(core, address, 1, out, count, false);
}

/* Bytes, then words, then bytes: memory with what is planted in it. */
static int cortex_a_move_plain(struct cortex_a *core, uint32_t address, uint8_t *in,
                               const uint8_t *out, size_t length)
{
    size_t head = -address & 3;
    head = head < length ? head : length;
    size_t words = (length - head) / 4, tail = length - head - 4 * words, last = length - tail;
    int error = cortex_a_need_halt(core);
    if (error == 0)
        error = save_faults(core);
    if (error == 0)
        error = move_bytes(core, address, in, out, head);
    if (error == 0 && words > 0)
        error = in ? read_words(core, address + (uint32_t)head, in + head, words)
                   : write_words(core, address + (uint32_t)head, out + head, words);
    if (error == 0)
        error = move_bytes(core, address + (uint32_t)last, in ? in + last : NULL,
                           in ? NULL : out + last, tail);
    return cortex_a_explain(core, error, address, length);
}

/* Lines of the data cache go to memory, where instructions are fetched from. */
static int clean_lines(struct cortex_a *core, uint32_t address, size_t length)
{
    uint32_t line = core->line;
    uint64_t end = (uint64_t)address + length;
    bool entered = false;
    int error = cortex_a_enter_privileged(core, &entered);
    core->dirty |= 1;
    for (uint64_t at = address & ~(line - 1); at < end && error == 0;) {
        struct cortex_a_sequence s = {.count = 0};
        for (; at < end && cortex_a_room(&s) >= 7; at += line) {
            cortex_a_give(&s, (uint32_t)at);
            cortex_a_execute(&s, A_GIVE(0));
            cortex_a_execute(&s, A_DCCMVAC);
        }
        cortex_a_execute(&s, A_DSB);
        error = cortex_a_play(core, &s, false);
    }
    int back = cortex_a_leave_privileged(core, entered);
    error = error != 0 ? error : back;
    return error == BT_ERR_UNSUPPORTED ? 0 : error;
}

static int cortex_a_written(struct cortex_a *core, uint32_t address, size_t length)
{
    core->code_changed = true;
    int error = cortex_a_find_caches(core);
    return error == 0 && core->line > 0 ? clean_lines(core, address, length) : error;
}

static int cortex_a_write_plain(struct cortex_a *core, uint32_t address, const uint8_t *bytes,
                                size_t length)
{
    int error = cortex_a_move_plain(core, address, NULL, bytes, length);
    return error == 0 && length > 0 ? cortex_a_written(core, address, length) : error;
}

void cortex_a_code_changed(struct cortex_a *core)
{
    core->code_changed = true;
}

int cortex_a_sync_code(struct cortex_a *core)
{
    struct cortex_a_sequence s = {.count = 0};
    bool entered = false;
    if (!core->code_changed)
        return 0;
    int error = cortex_a_enter_privileged(core, &entered);
    cortex_a_execute(&s, A_DSB);
    cortex_a_execute(&s, A_ICIALLU);
    cortex_a_execute(&s, A_BPIALL);
    cortex_a_execute(&s, A_DSB);
    cortex_a_execute(&s, A_FLUSH);
    if (error == 0)
        error = cortex_a_play(core, &s, false);
    int back = cortex_a_leave_privileged(core, entered);
    error = error != 0 ? error : back;
    core->code_changed = error != 0 && error != BT_ERR_UNSUPPORTED;
    return core->code_changed ? error : 0;
}

/* As the program has it. */

int cortex_a_read_memory(struct cortex_a *core, uint32_t address, uint8_t *bytes, size_t length)
{
    int error = cortex_a_move_plain(core, address, bytes, NULL, length);
    cortex_a_show_original(core->software, address, bytes, length);
    return error;
}

int cortex_a_write_memory(struct cortex_a *core, uint32_t address, const uint8_t *bytes,
                          size_t length)
{
    int error = cortex_a_write_plain(core, address, bytes, length);
    return error == 0 ? cortex_a_put_back(core, address, bytes, length) : error;
}

static int check_size(uint32_t address, unsigned size)
{
    bool good = (size == 1 || size == 2 || size == 4) && address % size == 0;
    return good ? 0 : BT_ERR_INVAL;
}

int cortex_a_read_sized(struct cortex_a *core, uint32_t address, unsigned size, uint8_t *bytes,
                        size_t count)
{
    int error = check_size(address, size);
    if (error == 0)
        error = cortex_a_need_halt(core);
    if (error == 0)
        error = save_faults(core);
    if (error == 0)
        error = read_items(core, address, size, bytes, count, true);
    error = cortex_a_explain(core, error, address, size * count);
    cortex_a_show_original(core->software, address, bytes, size * count);
    return error;
}

int cortex_a_write_sized(struct cortex_a *core, uint32_t address, unsigned size,
                         const uint8_t *bytes, size_t count)
{
    int error = check_size(address, size);
    if (error == 0)
        error = cortex_a_need_halt(core);
    if (error == 0)
        error = save_faults(core);
    if (error == 0)
        error = write_items(core, address, size, bytes, count, true);
    error = cortex_a_explain(core, error, address, size * count);
    if (error == 0)
        error = cortex_a_written(core, address, size * count);
    return error == 0 ? cortex_a_put_back(core, address, bytes, size * count) : error;
}

/* BKPT #0, in the order of addresses: instructions are little-endian whatever the data is. */
static const uint8_t BKPT_A32[4] = {0x70, 0x00, 0x20, 0xe1};
static const uint8_t BKPT_T16[2] = {0x00, 0xbe};

static const uint8_t *bkpt_of(unsigned length)
{
    return length == 2 ? BKPT_T16 : BKPT_A32;
}

static int cortex_a_find(const struct cortex_a_software *s, uint32_t address)
{
    for (unsigned k = 0; k < s->count; k++) {
        if (s->list[k].address == address)
            return (int)k;
    }
    return -1;
}

bool cortex_a_software_at(const struct cortex_a *core, uint32_t address)
{
    return cortex_a_find(core->software, address) >= 0;
}

void cortex_a_show_original(const struct cortex_a_software *s, uint32_t address, uint8_t *bytes,
                            size_t length)
{
    for (unsigned k = 0; k < s->count; k++) {
        for (unsigned b = 0; b < s->list[k].length; b++) {
            uint32_t at = s->list[k].address + b - address;
            if (at < length)
                bytes[at] = s->list[k].original[b];
        }
    }
}

int cortex_a_put_back(struct cortex_a *core, uint32_t address, const uint8_t *bytes, size_t length)
{
    struct cortex_a_software *s = core->software;
    int error = 0;
    for (unsigned k = 0; k < s->count && error == 0; k++) {
        bool hit = false;
        for (unsigned b = 0; b < s->list[k].length; b++) {
            uint32_t at = s->list[k].address + b - address;
            if (at >= length)
                continue;
            s->list[k].original[b] = bytes[at];
            hit = true;
        }
        if (hit)
            error = cortex_a_write_plain(core, s->list[k].address, bkpt_of(s->list[k].length),
                                         s->list[k].length);
    }
    return error;
}

int cortex_a_insert_software(struct cortex_a *core, uint32_t address, unsigned length)
{
    struct cortex_a_software *s = core->software;
    uint8_t original[4] = {0}, now[4] = {0};
    if (cortex_a_find(s, address) >= 0)
        return 0;
    if (s->count == CORTEX_A_SOFTWARE)
        return cortex_a_fail(core, CORTEX_A_FAIL_FULL, address, BT_ERR_RANGE);
    int error = cortex_a_move_plain(core, address, original, NULL, length);
    if (error != 0)
        return error;
    error = cortex_a_write_plain(core, address, bkpt_of(length), length);
    if (error == 0)
        error = cortex_a_move_plain(core, address, now, NULL, length);
    bool refused = error == BT_ERR_IO && core->failure == CORTEX_A_FAIL_ABORT;
    if (refused || (error == 0 && memcmp(now, bkpt_of(length), length) != 0))
        return cortex_a_fail(core, CORTEX_A_FAIL_NOT_RAM, address, BT_ERR_UNSUPPORTED);
    /* Where it is not known whether the write got through, the list keeps the original. */
    s->list[s->count].address = address;
    s->list[s->count].length = (uint8_t)length;
    memcpy(s->list[s->count].original, original, sizeof original);
    s->count++;
    return error;
}

int cortex_a_remove_software(struct cortex_a *core, uint32_t address)
{
    struct cortex_a_software *s = core->software;
    uint8_t now[4];
    int k = cortex_a_find(s, address);
    if (k < 0)
        return BT_ERR_RANGE;
    unsigned length = s->list[k].length;
    int error = cortex_a_move_plain(core, address, now, NULL, length);
    /* A program that was loaded anew is not damaged. */
    if (error == 0 && memcmp(now, bkpt_of(length), length) == 0)
        error = cortex_a_write_plain(core, address, s->list[k].original, length);
    if (error == 0)
        s->list[k] = s->list[--s->count];
    return error;
}

int cortex_a_lift_software(struct cortex_a *core, uint32_t address, bool away)
{
    const struct cortex_a_software *s = core->software;
    int k = cortex_a_find(s, address);
    if (k < 0)
        return 0;
    return cortex_a_write_plain(
        core, address, away ? s->list[k].original : bkpt_of(s->list[k].length), s->list[k].length);
}
