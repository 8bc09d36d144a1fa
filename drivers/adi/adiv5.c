/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses through the Debug Port: SELECT, posted reads, lists and blocks. */
#include "drivers/adi/adiv5.h"

#include <string.h>

#include "adiv5_internal.h"

#define WAIT_TRIES       8u
#define WAIT_SLEEP_US    1000u
#define RAW_MAX          (2 * ADIV5_MAX_LIST + 1) /* every read may need a RDBUFF read; SELECT */
#define BANK_MASK        0xf0u
#define SCAN_MAX_MISSING 8u
#define IDR_CLASS_MEM_AP 8u

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
    int rc = dp->link.ops->transfer(dp->link.self, &read, 1, &result);
    if (rc != 0)
        return adiv5_link_failed(dp, rc);
    if (result.done != 1 || result.ack != DEBUG_ACK_OK)
        return adiv5_recover(dp, result.ack);
    if ((read.value & (ADIV5_STICKYERR | ADIV5_STICKYORUN)) == 0)
        return 0;
    dp->failed_at = 0; /* which one of them is not known */
    return adiv5_recover(dp, DEBUG_ACK_FAULT);
}

int adiv5_run(struct adiv5_dp *dp, struct debug_transfer *list, size_t count, bool repeat)
{
    size_t done = 0;
    unsigned tries = 0;
    for (;;) {
        struct debug_result result;
        int rc = dp->link.ops->transfer(dp->link.self, list + done, count - done, &result);
        if (rc != 0) {
            dp->failed_at = done;
            return adiv5_link_failed(dp, rc);
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
        dp->clock.sleep_us(dp->clock.user, WAIT_SLEEP_US);
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

static uint32_t ap_select(uint8_t ap, uint8_t address)
{
    return (uint32_t)ap << 24 | (address & BANK_MASK);
}

/* Registers of the DP. */

static int dp_access(struct adiv5_dp *dp, uint8_t request, uint8_t bank, uint32_t *value)
{
    struct debug_transfer list[2];
    size_t n = 0;
    uint32_t select = (dp->select_known ? dp->select & ~0xfu : 0) | bank;
    if (bank > 15 || (request & ~(DEBUG_READ | DEBUG_REG_MASK)) != 0)
        return BT_ERR_INVAL;
    if ((request & DEBUG_REG_MASK) == DP_CTRL_STAT)
        n = put_select(dp, select, list);
    list[n] = (struct debug_transfer){.request = request, .value = *value};
    int rc = adiv5_run(dp, list, n + 1, true);
    if (rc != 0)
        return rc;
    if (n > 0) {
        dp->select = select;
        dp->select_known = true;
    }
    if (request == (DEBUG_DP | DEBUG_WRITE | DP_SELECT)) {
        dp->select = *value;
        dp->select_known = true;
    }
    *value = list[n].value;
    return 0;
}

int adiv5_dp_read(struct adiv5_dp *dp, uint8_t address, uint8_t bank, uint32_t *value)
{
    *value = 0;
    return dp_access(dp, DEBUG_DP | DEBUG_READ | address, bank, value);
}

int adiv5_dp_write(struct adiv5_dp *dp, uint8_t address, uint8_t bank, uint32_t value)
{
    return dp_access(dp, DEBUG_DP | DEBUG_WRITE | address, bank, &value);
}

int adiv5_clear_errors(struct adiv5_dp *dp, uint32_t *flags)
{
    uint32_t value;
    int rc = adiv5_dp_read(dp, DP_CTRL_STAT, 0, &value);
    if (rc != 0)
        return rc;
    if (flags)
        *flags = value;
    if (dp->wire == DEBUG_WIRE_JTAG)
        return adiv5_dp_write(dp, DP_CTRL_STAT, 0, JTAG_CLEAR);
    return adiv5_dp_write(dp, DP_ABORT, 0, ABORT_CLEAR);
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
        state.select = select;
        state.select_known = true;
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
        int rc = adiv5_run(dp, raw.transfers, raw.count, repeat);
        size_t good = rc == 0 ? raw.count : dp->failed_at;
        size_t k = 0;
        for (; k < n && raw.value_at[k] < good; k++) {
            if (!list[done + k].write)
                list[done + k].value = raw.transfers[raw.value_at[k]].value;
        }
        done += k;
        if (rc != 0) {
            dp->failed_at = done;
            return rc;
        }
        dp->select = raw.select;
        dp->select_known = true;
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
    int rc = run_list(dp, ap, &access, 1, repeat);
    *value = access.value;
    return rc;
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
    int rc = adiv5_run(dp, &transfer, 1, true);
    if (rc == 0) {
        dp->select = select;
        dp->select_known = true;
    } else {
        dp->failed_at = 0;
    }
    return rc;
}

static int run_block(struct adiv5_dp *dp, uint8_t request, uint32_t *words, size_t count)
{
    struct debug_result result;
    int rc = dp->link.ops->block(dp->link.self, request, words, count, &result);
    dp->failed_at = rc == 0 && result.done < count ? result.done : 0;
    if (rc != 0)
        return adiv5_link_failed(dp, rc);
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
    int rc = run_block(dp, request, &old, 1);
    if (rc == 0 && count > 1)
        rc = run_block(dp, request, words, count - 1);
    if (rc != 0)
        return rc;
    rc = adiv5_run(dp, &last, 1, false);
    if (rc != 0)
        dp->failed_at = count - 1;
    else
        words[count - 1] = last.value;
    return rc;
}

int adiv5_ap_block_read(struct adiv5_dp *dp, uint8_t ap, uint8_t address, uint32_t *words,
                        size_t count)
{
    uint8_t request = (uint8_t)(DEBUG_AP | DEBUG_READ | (address & DEBUG_REG_MASK));
    if (count == 0)
        return 0;
    int rc = select_for(dp, ap_select(ap, address));
    if (rc != 0)
        return rc;
    if ((dp->link.caps & DEBUG_LINK_POSTED) != 0)
        return read_posted(dp, request, words, count);
    return run_block(dp, request, words, count);
}

int adiv5_ap_block_write(struct adiv5_dp *dp, uint8_t ap, uint8_t address, const uint32_t *words,
                         size_t count)
{
    uint8_t request = (uint8_t)(DEBUG_AP | DEBUG_WRITE | (address & DEBUG_REG_MASK));
    uint32_t part[256];
    int rc = count == 0 ? 0 : select_for(dp, ap_select(ap, address));
    for (size_t done = 0; rc == 0 && done < count;) {
        size_t n = count - done < 256 ? count - done : 256;
        memcpy(part, words + done, n * sizeof *part);
        rc = run_block(dp, request, part, n);
        if (rc != 0)
            dp->failed_at += done;
        done += n;
    }
    if (rc == 0 && count > 0 && (dp->link.caps & DEBUG_LINK_POSTED) != 0) {
        struct debug_transfer last = {.request = DEBUG_DP | DEBUG_READ | DP_RDBUFF};
        rc = adiv5_run(dp, &last, 1, false);
        if (rc != 0)
            dp->failed_at = count - 1;
    }
    return rc;
}

/* Which APs there are. */

int adiv5_scan(struct adiv5_dp *dp, struct adiv5_ap_info *found, unsigned max)
{
    unsigned count = 0;
    unsigned missing = 0;
    for (unsigned ap = 0; ap < 256 && missing < SCAN_MAX_MISSING; ap++) {
        uint32_t idr;
        int rc = adiv5_ap_read(dp, (uint8_t)ap, ADIV5_AP_IDR, &idr);
        if (rc != 0 && (rc != BT_ERR_IO || dp->failure != DEBUG_FAIL_FAULT))
            return rc;
        if (rc != 0 || idr == 0) {
            missing++;
            continue;
        }
        missing = 0;
        if (count < max)
            found[count++] = (struct adiv5_ap_info){.ap = (uint8_t)ap, .idr = idr};
    }
    return (int)count;
}

bool adiv5_is_mem_ap(uint32_t idr)
{
    return (idr >> 13 & 0xf) == IDR_CLASS_MEM_AP;
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
