/* SPDX-License-Identifier: BSD-3-Clause */
/* The Debug Port: waking it up, accesses, posted reads, and what is done after a refusal. IHI 0031F
 * B1.2, chapters B2 and B5. */
#include "drivers/adi/adiv5.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* DP register addresses. */
#define DP_DPIDR     0x0u
#define DP_ABORT     0x0u
#define DP_CTRL_STAT 0x4u
#define DP_SELECT    0x8u
#define DP_RDBUFF    0xcu

#define ABORT_DAPABORT 0x01u
#define ABORT_CLEAR    0x1eu

/* Write to CTRL/STAT of a JTAG-DP that clears its sticky flags and keeps the power requests. */
#define JTAG_CLEAR                                                                                 \
    (ADIV5_CDBGPWRUPREQ | ADIV5_CSYSPWRUPREQ | ADIV5_STICKYORUN | ADIV5_STICKYCMP | ADIV5_STICKYERR)

#define RETRIES 2u /* of what was damaged on the wire */

/* 64 bits: more than 50 high, then low. */
static const uint8_t LINE_RESET[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};

const char *debug_failure_text(enum debug_failure failure)
{
    static const char *const TEXTS[] = {
        [DEBUG_FAIL_NONE] = "no failure",
        [DEBUG_FAIL_PROBE] = "the probe does not answer: unplugged?",
        [DEBUG_FAIL_ANSWER] = "the probe's answer makes no sense",
        [DEBUG_FAIL_WIRE_KIND] = "the probe cannot do this: other wire or an older firmware?",
        [DEBUG_FAIL_SILENT] = "no answer on the debug wires: check power and wiring",
        [DEBUG_FAIL_LINE] = "damaged bits on the debug wires: check wiring, lower the clock",
        [DEBUG_FAIL_WAIT] = "the access port stays busy: is the bus clocked?",
        [DEBUG_FAIL_FAULT] = "the target refused the access",
        [DEBUG_FAIL_POWER] =
            "the chip answered but does not power up its debug logic: debug locked or no clock?",
        [DEBUG_FAIL_VERSION] = "a debug port of a kind that is not supported",
        [DEBUG_FAIL_LOCKED] = "the chip answered but refuses: debug locked?",
        [DEBUG_FAIL_NO_MEM_AP] = "no memory access port there",
        [DEBUG_FAIL_CHANGED] = "another debug port answers than before: other target connected?",
        [DEBUG_FAIL_TIMEOUT] = "the target did not get there in time",
        [DEBUG_FAIL_NO_RESET] = "the probe does not drive nRESET",
    };
    return (size_t)failure < sizeof TEXTS / sizeof *TEXTS ? TEXTS[failure] : "unknown failure";
}

static uint64_t monotonic_us(void *user)
{
    struct timespec t;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void monotonic_sleep(void *user, uint32_t time)
{
    struct timespec t = {.tv_sec = time / 1000000, .tv_nsec = (long)(time % 1000000) * 1000};
    (void)user;
    nanosleep(&t, NULL);
}

const struct debug_clock debug_clock_monotonic = {.now_us = monotonic_us,
                                                  .sleep_us = monotonic_sleep};

bool debug_link_again(int error, enum debug_failure failure, unsigned *tries)
{
    return error == BT_ERR_IO && failure == DEBUG_FAIL_LINE && (*tries)++ < RETRIES;
}

const char *adiv5_describe(const struct adiv5_dp *dp, char *text, size_t size)
{
    if (dp->ctrl_stat != 0 && dp->failure == DEBUG_FAIL_FAULT)
        snprintf(text, size, "%s (CTRL/STAT %08x%s%s%s)", debug_failure_text(dp->failure),
                 (unsigned)dp->ctrl_stat, dp->ctrl_stat & ADIV5_STICKYERR ? ", bus error" : "",
                 dp->ctrl_stat & ADIV5_STICKYORUN ? ", overrun" : "",
                 dp->ctrl_stat & ADIV5_WDATAERR ? ", damaged write" : "");
    else
        snprintf(text, size, "%s", debug_failure_text(dp->failure));
    return text;
}

/* An error of the link, not of the target. Returns `error`. */
static int adiv5_link_failed(struct adiv5_dp *dp, int error)
{
    dp->select_known = false;
    if (error == BT_ERR_UNSUPPORTED)
        (void)adiv5_fail(dp, DEBUG_FAIL_WIRE_KIND);
    else
        (void)adiv5_fail(dp, error == BT_ERR_FORMAT ? DEBUG_FAIL_ANSWER : DEBUG_FAIL_PROBE);
    return error;
}

/* Read DPIDR without any recovery. Return 0 or an error of the link; *ok: it answered. */
static int adiv5_try_dpidr(struct adiv5_dp *dp, uint32_t *dpidr, bool *ok)
{
    struct debug_transfer read = {.request = DEBUG_DP | DEBUG_READ | DP_DPIDR};
    struct debug_result result;
    int error = dp->link.ops->transfer(dp->link.self, &read, 1, &result);
    *ok = error == 0 && result.done == 1 && result.ack == DEBUG_ACK_OK;
    *dpidr = *ok ? read.value : 0;
    return error;
}

/* Bits of the line sequences that make the port listen; then DPIDR is read. */
static int adiv5_line_reset(struct adiv5_dp *dp)
{
    return dp->link.ops->sequence(dp->link.self, 8 * sizeof LINE_RESET, LINE_RESET);
}

/* A request was not answered: the probe may have to connect anew to be heard. A reset that is held
 * goes on. */
static int adiv5_reconnect(struct adiv5_dp *dp)
{
    bool low = dp->reset_low;
    if (!dp->link.ops->reconnect)
        return 0;
    int error = dp->link.ops->reconnect(dp->link.self);
    return error == 0 && low ? adiv5_drive_reset(dp, true, 0) : error;
}

/* Read the flags and clear them; nothing here is recovered again. `abort`: DAPABORT too. */
static int clear_raw(struct adiv5_dp *dp, bool abort, bool *ok)
{
    struct debug_result result;
    struct debug_transfer list[4];
    size_t n = 0;
    size_t flags;
    if (abort && dp->wire == DEBUG_WIRE_SWD)
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_ABORT,
                                            .value = ABORT_DAPABORT};
    /* The flags are in bank 0, but SELECT may not be writable now: the bank was 0 or the value
     * only describes the failure. */
    flags = n;
    list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_READ | DP_CTRL_STAT};
    if (dp->wire == DEBUG_WIRE_SWD) {
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_ABORT,
                                            .value = ABORT_CLEAR};
    } else {
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_SELECT};
        list[n++] = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_CTRL_STAT,
                                            .value = JTAG_CLEAR};
    }
    int error = dp->link.ops->transfer(dp->link.self, list, n, &result);
    *ok = error == 0 && result.done == n && result.ack == DEBUG_ACK_OK;
    if (error == 0 && result.done > flags)
        dp->ctrl_stat = list[flags].value;
    return error;
}

/* The line lost step: reset it and see who answers. */
static int adiv5_resynchronise(struct adiv5_dp *dp)
{
    uint32_t dpidr = 0;
    bool ok = false;
    dp->line_errors++;
    for (unsigned k = 0; k < 3 && !ok; k++) {
        bool swd = dp->wire == DEBUG_WIRE_SWD;
        int error = swd && k > 0 && !dp->reset_low ? adiv5_reconnect(dp) : 0;
        if (error == 0 && swd)
            error = adiv5_line_reset(dp);
        if (error == 0)
            error = adiv5_try_dpidr(dp, &dpidr, &ok);
        if (error != 0)
            return adiv5_link_failed(dp, error);
    }
    if (!ok)
        return adiv5_fail(dp, DEBUG_FAIL_SILENT);
    if (dpidr != dp->dpidr)
        return adiv5_fail(dp, DEBUG_FAIL_CHANGED);
    int error = clear_raw(dp, false, &ok);
    if (error != 0)
        return adiv5_link_failed(dp, error);
    return adiv5_fail(dp, DEBUG_FAIL_LINE);
}

/* After an access was refused: clear, resynchronise, note the failure. Returns an error. */
static int adiv5_recover(struct adiv5_dp *dp, enum debug_ack ack)
{
    bool ok;
    dp->select_known = false;
    dp->ctrl_stat = 0;
    if (ack == DEBUG_ACK_NONE || ack == DEBUG_ACK_PROTOCOL)
        return adiv5_resynchronise(dp);
    int error = clear_raw(dp, ack == DEBUG_ACK_WAIT, &ok);
    if (error != 0)
        return adiv5_link_failed(dp, error);
    if (!ok)
        return adiv5_resynchronise(dp);
    return adiv5_fail(dp, ack == DEBUG_ACK_WAIT ? DEBUG_FAIL_WAIT : DEBUG_FAIL_FAULT);
}

#define WAIT_TRIES       8u
#define WAIT_SLEEP_US    1000u
#define RAW_MAX          (2 * ADIV5_MAX_LIST + 1) /* every read may need a RDBUFF read; SELECT */
#define BANK_MASK        0xf0u
#define SCAN_MAX_MISSING 8u

void adiv5_init(struct adiv5_dp *dp, const struct debug_link *link, const struct debug_clock *clock)
{
    *dp = (struct adiv5_dp){.link = *link, .clock = *clock};
}

/* A FAULT is not seen on JTAG: ask for it behind each list. */
static int check_jtag(struct adiv5_dp *dp)
{
    struct debug_transfer read = {.request = DEBUG_DP | DEBUG_READ | DP_CTRL_STAT};
    struct debug_result result;
    if (dp->wire != DEBUG_WIRE_JTAG)
        return 0;
    int error = dp->link.ops->transfer(dp->link.self, &read, 1, &result);
    if (error != 0)
        return adiv5_link_failed(dp, error);
    if (result.done != 1 || result.ack != DEBUG_ACK_OK)
        return adiv5_recover(dp, result.ack);
    if ((read.value & (ADIV5_STICKYERR | ADIV5_STICKYORUN)) == 0)
        return 0;
    dp->failed_at = 0; /* which one of them is not known */
    return adiv5_recover(dp, DEBUG_ACK_FAULT);
}

/*
 * Execute accesses as they are. With `repeat`, what answers WAIT is tried again; otherwise the
 * first refusal is the end. On failure dp->failed_at is the number done, and the port was brought
 * back to order as far as it can be.
 */
static int adiv5_run(struct adiv5_dp *dp, struct debug_transfer *list, size_t count, bool repeat)
{
    size_t done = 0;
    unsigned tries = 0;
    for (;;) {
        struct debug_result result;
        int error = dp->link.ops->transfer(dp->link.self, list + done, count - done, &result);
        if (error != 0) {
            dp->failed_at = done;
            return adiv5_link_failed(dp, error);
        }
        done += result.done < count - done ? result.done : count - done;
        if (result.ack == DEBUG_ACK_OK && done == count)
            return check_jtag(dp);
        if (result.ack != DEBUG_ACK_WAIT || !repeat || tries++ == WAIT_TRIES) {
            dp->failed_at = done;
            return adiv5_recover(dp, result.ack == DEBUG_ACK_OK ? DEBUG_ACK_PROTOCOL : result.ack);
        }
        if (done == count)
            done--; /* the last write was taken, but whether it got through is not known */
        debug_sleep(&dp->clock, WAIT_SLEEP_US);
    }
}

/* Put a write of SELECT in front if it is not as it must be. Returns 0 or 1 accesses. */
static size_t put_select(const struct adiv5_dp *dp, uint32_t select, struct debug_transfer *list)
{
    if (dp->select_known && dp->select == select)
        return 0;
    *list = (struct debug_transfer){.request = DEBUG_DP | DEBUG_WRITE | DP_SELECT, .value = select};
    return 1;
}

static void adiv5_selected(struct adiv5_dp *dp, uint32_t select)
{
    dp->select = select;
    dp->select_known = true;
}

static uint32_t ap_select(uint8_t ap, uint8_t address)
{
    return (uint32_t)ap << 24 | (address & BANK_MASK);
}

/* Registers of the DP. */

/* All of them are in bank 0; it matters for CTRL/STAT only. */
static int dp_access(struct adiv5_dp *dp, uint8_t request, uint32_t *value)
{
    struct debug_transfer list[2];
    size_t n = 0;
    uint32_t select = dp->select_known ? dp->select & ~0xfu : 0;
    if ((request & DEBUG_REG_MASK) == DP_CTRL_STAT)
        n = put_select(dp, select, list);
    list[n] = (struct debug_transfer){.request = request, .value = *value};
    int error = adiv5_run(dp, list, n + 1, true);
    if (error != 0)
        return error;
    if (n > 0)
        adiv5_selected(dp, select);
    if (request == (DEBUG_DP | DEBUG_WRITE | DP_SELECT))
        adiv5_selected(dp, *value);
    *value = list[n].value;
    return 0;
}

static int adiv5_dp_read(struct adiv5_dp *dp, uint8_t address, uint32_t *value)
{
    *value = 0;
    return dp_access(dp, DEBUG_DP | DEBUG_READ | address, value);
}

static int adiv5_dp_write(struct adiv5_dp *dp, uint8_t address, uint32_t value)
{
    return dp_access(dp, DEBUG_DP | DEBUG_WRITE | address, &value);
}

/* The sticky flags. */
static int adiv5_clear_errors(struct adiv5_dp *dp)
{
    uint32_t value;
    int error = adiv5_dp_read(dp, DP_CTRL_STAT, &value);
    if (error != 0)
        return error;
    if (dp->wire == DEBUG_WIRE_JTAG)
        return adiv5_dp_write(dp, DP_CTRL_STAT, JTAG_CLEAR);
    return adiv5_dp_write(dp, DP_ABORT, ABORT_CLEAR);
}

/* Registers of APs. */

/* The accesses of a list as they go over the link, and which of them has the value of which. */
struct raw_list {
    struct debug_transfer transfers[RAW_MAX];
    size_t count;
    size_t value_at[ADIV5_MAX_LIST]; /* link access that completes access k */
    uint32_t select;                 /* behind the list */
};

/*
 * SELECT where it changes. On a link with posted accesses, the value of an AP read comes with the
 * next AP read, and the error of a write too; where none follows, RDBUFF is read. A list of several
 * banks has one SELECT each.
 */
static size_t make_raw(const struct adiv5_dp *dp, uint8_t ap, const struct adiv5_access *list,
                       size_t count, struct raw_list *raw)
{
    struct adiv5_dp state = {.select_known = dp->select_known, .select = dp->select};
    bool posted = (dp->link.caps & DEBUG_LINK_POSTED) != 0;
    size_t k;
    raw->count = 0;
    for (k = 0; k < count && raw->count + 3 <= RAW_MAX; k++) {
        uint32_t select = ap_select(ap, list[k].address);
        raw->count += put_select(&state, select, &raw->transfers[raw->count]);
        adiv5_selected(&state, select);
        uint8_t request = (uint8_t)(DEBUG_AP | (list[k].write ? DEBUG_WRITE : DEBUG_READ) |
                                    (list[k].address & DEBUG_REG_MASK));
        raw->transfers[raw->count] =
            (struct debug_transfer){.request = request, .value = list[k].value};
        raw->value_at[k] = raw->count++;
        if (!posted)
            continue;
        /* What follows brings the value of a read, and the error of a write. */
        raw->value_at[k]++;
        bool goes_on = k + 1 < count && list[k + 1].write == list[k].write &&
                       ap_select(ap, list[k + 1].address) == select && raw->count + 3 <= RAW_MAX;
        if (!goes_on)
            raw->transfers[raw->count++] =
                (struct debug_transfer){.request = DEBUG_DP | DEBUG_READ | DP_RDBUFF};
    }
    raw->select = state.select;
    return k;
}

static int run_list(struct adiv5_dp *dp, uint8_t ap, struct adiv5_access *list, size_t count,
                    bool repeat)
{
    size_t done = 0;
    struct raw_list raw;
    while (done < count) {
        size_t n = make_raw(dp, ap, list + done, count - done, &raw);
        int error = adiv5_run(dp, raw.transfers, raw.count, repeat);
        size_t good = error == 0 ? raw.count : dp->failed_at;
        size_t k = 0;
        for (; k < n && raw.value_at[k] < good; k++) {
            if (!list[done + k].write)
                list[done + k].value = raw.transfers[raw.value_at[k]].value;
        }
        done += k;
        if (error != 0) {
            dp->failed_at = done;
            return error;
        }
        adiv5_selected(dp, raw.select);
    }
    return 0;
}

int adiv5_ap_list(struct adiv5_dp *dp, uint8_t ap, struct adiv5_access *list, size_t count)
{
    if (count > ADIV5_MAX_LIST)
        return BT_ERR_INVAL;
    return run_list(dp, ap, list, count, false);
}

int adiv5_ap_read(struct adiv5_dp *dp, uint8_t ap, uint8_t address, uint32_t *value)
{
    struct adiv5_access access = {.address = address};
    bool repeat = (dp->link.caps & DEBUG_LINK_POSTED) == 0;
    int error = run_list(dp, ap, &access, 1, repeat);
    *value = access.value;
    return error;
}

int adiv5_ap_write(struct adiv5_dp *dp, uint8_t ap, uint8_t address, uint32_t value)
{
    struct adiv5_access access = {.address = address, .write = true, .value = value};
    return run_list(dp, ap, &access, 1, true);
}

static int select_for(struct adiv5_dp *dp, uint32_t select)
{
    struct debug_transfer transfer;
    if (put_select(dp, select, &transfer) == 0)
        return 0;
    int error = adiv5_run(dp, &transfer, 1, true);
    if (error == 0)
        adiv5_selected(dp, select);
    else
        dp->failed_at = 0;
    return error;
}

static int run_block(struct adiv5_dp *dp, uint8_t request, uint32_t *words, size_t count)
{
    struct debug_result result;
    int error = dp->link.ops->block(dp->link.self, request, words, count, &result);
    dp->failed_at = error == 0 && result.done < count ? result.done : 0;
    if (error != 0)
        return adiv5_link_failed(dp, error);
    if (result.ack == DEBUG_ACK_OK && result.done == count)
        return check_jtag(dp);
    dp->failed_at = result.done < count ? result.done : count;
    return adiv5_recover(dp, result.ack == DEBUG_ACK_OK ? DEBUG_ACK_PROTOCOL : result.ack);
}

/* Posted: the first value is old, the last is in RDBUFF. */
static int read_posted(struct adiv5_dp *dp, uint8_t request, uint32_t *words, size_t count)
{
    uint32_t old;
    struct debug_transfer last = {.request = DEBUG_DP | DEBUG_READ | DP_RDBUFF};
    int error = run_block(dp, request, &old, 1);
    if (error == 0 && count > 1)
        error = run_block(dp, request, words, count - 1);
    if (error != 0)
        return error;
    error = adiv5_run(dp, &last, 1, false);
    if (error != 0)
        dp->failed_at = count - 1;
    else
        words[count - 1] = last.value;
    return error;
}

int adiv5_ap_block_read(struct adiv5_dp *dp, uint8_t ap, uint8_t address, uint32_t *words,
                        size_t count)
{
    uint8_t request = (uint8_t)(DEBUG_AP | DEBUG_READ | (address & DEBUG_REG_MASK));
    if (count == 0)
        return 0;
    int error = select_for(dp, ap_select(ap, address));
    if (error != 0)
        return error;
    if ((dp->link.caps & DEBUG_LINK_POSTED) != 0)
        return read_posted(dp, request, words, count);
    return run_block(dp, request, words, count);
}

int adiv5_ap_block_write(struct adiv5_dp *dp, uint8_t ap, uint8_t address, const uint32_t *words,
                         size_t count)
{
    uint8_t request = (uint8_t)(DEBUG_AP | DEBUG_WRITE | (address & DEBUG_REG_MASK));
    uint32_t part[256];
    int error = count == 0 ? 0 : select_for(dp, ap_select(ap, address));
    for (size_t done = 0; error == 0 && done < count;) {
        size_t n = count - done < 256 ? count - done : 256;
        memcpy(part, words + done, n * sizeof *part);
        error = run_block(dp, request, part, n);
        if (error != 0)
            dp->failed_at += done;
        done += n;
    }
    if (error == 0 && count > 0 && (dp->link.caps & DEBUG_LINK_POSTED) != 0) {
        struct debug_transfer last = {.request = DEBUG_DP | DEBUG_READ | DP_RDBUFF};
        error = adiv5_run(dp, &last, 1, false);
        if (error != 0)
            dp->failed_at = count - 1;
    }
    return error;
}

/* Which APs there are. */

int adiv5_scan(struct adiv5_dp *dp, struct adiv5_ap_info *found, unsigned max)
{
    unsigned count = 0;
    unsigned missing = 0;
    for (unsigned ap = 0; ap < 256 && missing < SCAN_MAX_MISSING; ap++) {
        uint32_t idr;
        int error = adiv5_ap_read(dp, (uint8_t)ap, ADIV5_AP_IDR, &idr);
        if (error != 0 && (error != BT_ERR_IO || dp->failure != DEBUG_FAIL_FAULT))
            return error;
        if (error != 0 || idr == 0) {
            missing++;
            continue;
        }
        missing = 0;
        if (count < max)
            found[count++] = (struct adiv5_ap_info){.ap = (uint8_t)ap, .idr = idr};
    }
    return (int)count;
}

const char *adiv5_ap_name(uint32_t idr)
{
    static const char *const NAMES[16] = {"JTAG", "AHB3",   "APB2/3", NULL,  "AXI3/4",
                                          "AHB5", "APB4/5", "AXI5",   "AHB5"};
    const char *name = NAMES[idr & 0xf];
    if ((idr & 0xf) == 0 || adiv5_is_mem_ap(idr))
        return name ? name : "unknown";
    return "unknown";
}

#define DEFAULT_HZ           1000000u
#define DEFAULT_WAIT_RETRIES 200u
#define ROUNDS               3u
#define WAYS                 3u
#define PIN_POLL_US          1000u
#define RESET_HOLD_US        20000u
#define POWER_LIMIT_US       1000000u
#define POWER_POLL_US        1000u
#define TAP_RESET_BITS       6u /* five clocks with TMS high reset the TAP, one low leaves it */

static const uint8_t JTAG_TO_SWD[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x9e, 0xe7,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};
static const uint8_t SWD_TO_JTAG[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3c, 0xe7, 0xff};
static const uint8_t TAP_RESET[] = {0x1f};
static const uint8_t DORMANT_TO_SWD[] = {0xff, 0x92, 0xf3, 0x09, 0x62, 0x95, 0x2d, 0x85, 0x86, 0xe9,
                                         0xaf, 0xdd, 0xe3, 0xa2, 0x0e, 0xbc, 0x19, 0xa0, 0xf1, 0xff,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00};

static int adiv5_wake(struct adiv5_dp *dp, unsigned way)
{
    void *self = dp->link.self;
    const struct debug_link_ops *ops = dp->link.ops;
    switch (way) {
    case 0:
        return ops->sequence(self, 8 * sizeof JTAG_TO_SWD, JTAG_TO_SWD);
    case 1:
        return adiv5_line_reset(dp);
    default:
        return ops->sequence(self, 8 * sizeof DORMANT_TO_SWD, DORMANT_TO_SWD);
    }
}

static bool dpidr_plausible(uint32_t dpidr)
{
    return (dpidr & 1) != 0 && dpidr != 0xffffffffu;
}

/* Ask for DPIDR in all ways until somebody answers. To connect anew may end a reset for a moment,
 * in which the core runs: all ways are tried once without. */
static int find_swd(struct adiv5_dp *dp)
{
    for (unsigned k = 0; k < WAYS * ROUNDS; k++) {
        bool ok;
        int error = k >= (dp->reset_low ? WAYS : 1) ? adiv5_reconnect(dp) : 0;
        if (error == 0)
            error = adiv5_wake(dp, k % WAYS);
        if (error == 0)
            error = adiv5_try_dpidr(dp, &dp->dpidr, &ok);
        if (error != 0)
            return adiv5_link_failed(dp, error);
        if (ok && dpidr_plausible(dp->dpidr))
            return 0;
    }
    return adiv5_fail(dp, DEBUG_FAIL_SILENT);
}

/* A JTAG-DP of version 0 has no DPIDR; an answer at all, with or without value, will do. */
static int find_jtag(struct adiv5_dp *dp, const struct adiv5_connect_options *o)
{
    static const uint8_t ONE_DAP[] = {4};
    bool ok = false;
    const uint8_t *lengths = o->chain_count ? o->ir_lengths : ONE_DAP;
    unsigned count = o->chain_count ? o->chain_count : 1;
    int error = dp->link.ops->jtag_chain(dp->link.self, lengths, count, o->chain_dap);
    if (error == 0)
        error = dp->link.ops->sequence(dp->link.self, 8 * sizeof SWD_TO_JTAG, SWD_TO_JTAG);
    if (error == 0)
        error = dp->link.ops->sequence(dp->link.self, TAP_RESET_BITS, TAP_RESET);
    for (unsigned k = 0; error == 0 && !ok && k < ROUNDS; k++)
        error = adiv5_try_dpidr(dp, &dp->dpidr, &ok);
    if (error != 0)
        return adiv5_link_failed(dp, error);
    return ok ? 0 : adiv5_fail(dp, DEBUG_FAIL_SILENT);
}

static int power_up(struct adiv5_dp *dp)
{
    const uint32_t both = ADIV5_CDBGPWRUPACK | ADIV5_CSYSPWRUPACK;
    uint32_t value = 0;
    int error = adiv5_clear_errors(dp);
    if (error == 0)
        error = adiv5_dp_write(dp, DP_SELECT, 0);
    if (error == 0)
        error = adiv5_dp_write(dp, DP_CTRL_STAT, ADIV5_CDBGPWRUPREQ | ADIV5_CSYSPWRUPREQ);
    uint64_t begin = debug_now(&dp->clock);
    while (error == 0) {
        error = adiv5_dp_read(dp, DP_CTRL_STAT, &value);
        if (error != 0 || (value & both) == both)
            break;
        if (debug_now(&dp->clock) - begin > POWER_LIMIT_US)
            break;
        debug_sleep(&dp->clock, POWER_POLL_US);
    }
    if (error != 0)
        return error;
    return (value & ADIV5_CDBGPWRUPACK) != 0 ? 0 : adiv5_fail(dp, DEBUG_FAIL_POWER);
}

static int prepare_link(struct adiv5_dp *dp, const struct adiv5_connect_options *o)
{
    uint32_t need = o->wire == DEBUG_WIRE_SWD ? DEBUG_LINK_SWD : DEBUG_LINK_JTAG;
    if ((dp->link.caps & need) == 0)
        return BT_ERR_UNSUPPORTED;
    int error = dp->link.ops->connect(dp->link.self, o->wire);
    if (error == 0)
        error = dp->link.ops->set_clock(dp->link.self, o->clock_hz ? o->clock_hz : DEFAULT_HZ);
    if (error == 0)
        error = dp->link.ops->configure(dp->link.self, o->idle_clocks,
                                        o->wait_retries ? o->wait_retries : DEFAULT_WAIT_RETRIES);
    return error;
}

int adiv5_drive_reset(struct adiv5_dp *dp, bool low, uint32_t wait_us)
{
    const struct debug_link_ops *ops = dp->link.ops;
    const struct debug_clock *clock = &dp->clock;
    const uint8_t output = low ? 0 : DEBUG_PIN_NRESET;
    uint8_t input;
    if (!ops->pins)
        return BT_ERR_UNSUPPORTED;
    dp->reset_low = low;
    uint64_t begin = debug_now(clock);
    int error = ops->pins(dp->link.self, output, DEBUG_PIN_NRESET, &input);
    while (error == 0 && ((input ^ output) & DEBUG_PIN_NRESET) != 0 &&
           debug_now(clock) - begin < wait_us) {
        debug_sleep(clock, PIN_POLL_US);
        error = ops->pins(dp->link.self, output, DEBUG_PIN_NRESET, &input);
    }
    return error;
}

/* The pin of a probe that is connected: before, it is not driven, and connecting drives it high. */
static int hold_reset(struct adiv5_dp *dp)
{
    int error = adiv5_drive_reset(dp, true, 0);
    if (error == 0)
        debug_sleep(&dp->clock, RESET_HOLD_US);
    else if (error == BT_ERR_UNSUPPORTED)
        (void)adiv5_fail(dp, DEBUG_FAIL_NO_RESET);
    else
        (void)adiv5_link_failed(dp, error);
    return error;
}

int adiv5_connect(struct adiv5_dp *dp, const struct adiv5_connect_options *options)
{
    dp->wire = options->wire;
    dp->connected = false;
    dp->select_known = false;
    dp->failure = DEBUG_FAIL_NONE;
    dp->ctrl_stat = 0;
    dp->line_errors = 0;
    dp->reset_low = false;
    dp->generation++;
    int error = prepare_link(dp, options);
    if (error != 0)
        return adiv5_link_failed(dp, error);
    error = options->hold_reset ? hold_reset(dp) : 0;
    if (error != 0)
        return error;
    error = options->wire == DEBUG_WIRE_SWD ? find_swd(dp) : find_jtag(dp, options);
    if (error != 0)
        return error;
    dp->version = dp->dpidr >> 12 & 0xf;
    if (dp->version > 2) {
        (void)adiv5_fail(dp, DEBUG_FAIL_VERSION);
        return BT_ERR_UNSUPPORTED;
    }
    error = power_up(dp);
    dp->connected = error == 0;
    return error;
}

void adiv5_disconnect(struct adiv5_dp *dp)
{
    dp->connected = false;
    dp->reset_low = false;
    dp->select_known = false;
    (void)dp->link.ops->disconnect(dp->link.self);
}
