/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions that a halted core is given, and the channel for their values. */
#include "cortex_a_internal.h"

#define LIMIT_US 100000u /* no instruction of ours takes so long */
#define PAUSE_US 50u

void cortex_a_give(struct cortex_a_sequence *s, uint32_t value)
{
    s->list[s->count++] =
        (struct mem_ap_banked){.offset = BANK_DTRRX, .write = true, .value = value};
}

/* The state is read behind each instruction: it tells, and it lets the next one in. */
void cortex_a_execute(struct cortex_a_sequence *s, uint32_t opcode)
{
    s->list[s->count++] =
        (struct mem_ap_banked){.offset = BANK_ITR, .write = true, .value = opcode};
    s->list[s->count++] = (struct mem_ap_banked){.offset = BANK_DSCR};
}

unsigned cortex_a_take(struct cortex_a_sequence *s)
{
    s->list[s->count] = (struct mem_ap_banked){.offset = BANK_DTRTX};
    return s->count++;
}

static int cortex_a_bank(struct cortex_a *core, struct mem_ap_banked *list, size_t count)
{
    return cortex_a_port(core, mem_ap_banked(core->ap, core->base + DBG_BANK, list, count));
}

/* Until all bits of `set` are 1 and those of `clear` 0; ends at once when an error is pending. */
static int cortex_a_await(struct cortex_a *core, uint32_t set, uint32_t clear)
{
    uint64_t begin = cortex_a_now(core);
    for (;;) {
        bool late = cortex_a_now(core) - begin > LIMIT_US;
        int rc = cortex_a_read_dscr(core);
        if (rc != 0 || ((core->dscr & set) == set && (core->dscr & clear) == 0))
            return rc;
        if ((core->dscr & DSCR_HALTED) == 0) {
            core->halted = false; /* somebody let it go */
            return cortex_a_need_halt(core);
        }
        if ((core->dscr & (DSCR_STICKY | DSCR_INSTRCOMPL)) > DSCR_INSTRCOMPL)
            return 0;
        if (late)
            return cortex_a_fail(core, CORTEX_A_FAIL_STUCK, 0, BT_ERR_IO);
        cortex_a_sleep(core, PAUSE_US);
    }
}

/* What is left over in the channel would be taken for the next value. */
static int cortex_a_drain(struct cortex_a *core)
{
    struct mem_ap_banked take = {.offset = BANK_DTRTX};
    struct mem_ap_banked give = {.offset = BANK_ITR, .write = true, .value = A_GIVE(0)};
    int rc = cortex_a_await(core, DSCR_INSTRCOMPL, 0);
    if (rc == 0 && (core->dscr & DSCR_RXFULL) != 0) {
        core->dirty |= 1;
        rc = cortex_a_bank(core, &give, 1);
        if (rc == 0)
            rc = cortex_a_await(core, DSCR_INSTRCOMPL, DSCR_RXFULL);
    }
    if (rc == 0 && (core->dscr & DSCR_TXFULL) != 0)
        rc = cortex_a_bank(core, &take, 1);
    return rc;
}

int cortex_a_clear_errors(struct cortex_a *core)
{
    int rc = cortex_a_poke(core, DBG_DRCR, DRCR_CLEAR);
    return rc == 0 ? cortex_a_drain(core) : rc;
}

/* The sticky bits become an error, and are cleared. */
static int take_error(struct cortex_a *core, uint32_t dscr)
{
    bool undefined = (dscr & DSCR_UNDEFINED) != 0;
    int rc = cortex_a_clear_errors(core);
    if (rc != 0)
        return rc;
    if (undefined)
        return cortex_a_fail(core, CORTEX_A_FAIL_UNDEFINED, 0, BT_ERR_UNSUPPORTED);
    return cortex_a_fail(core, CORTEX_A_FAIL_ABORT, 0, BT_ERR_IO);
}

/* One entry, when the core is ready for it. */
static int play_entry(struct cortex_a *core, struct mem_ap_banked *entry)
{
    uint32_t set = entry->offset == BANK_DTRTX ? DSCR_TXFULL : DSCR_INSTRCOMPL;
    uint32_t clear = entry->offset == BANK_DTRRX ? DSCR_RXFULL : 0;
    int rc = cortex_a_await(core, set, clear);
    if (rc == 0 && (core->dscr & DSCR_STICKY) != 0)
        return take_error(core, core->dscr);
    entry->value = entry->offset == BANK_DSCR ? core->dscr : entry->value;
    return rc == 0 && entry->offset != BANK_DSCR ? cortex_a_bank(core, entry, 1) : rc;
}

static int play_slowly(struct cortex_a *core, struct cortex_a_sequence *s)
{
    int rc = cortex_a_drain(core);
    for (unsigned k = 0; k < s->count && rc == 0; k++)
        rc = play_entry(core, &s->list[k]);
    return rc;
}

/* What the states behind the instructions say together: errors, and whether the core stood. */
static uint32_t sum_up(const struct cortex_a_sequence *s)
{
    uint32_t sum = DSCR_HALTED | DSCR_INSTRCOMPL;
    for (unsigned k = 0; k < s->count; k++) {
        if (s->list[k].offset != BANK_DSCR)
            continue;
        sum |= s->list[k].value & DSCR_STICKY;
        sum &= s->list[k].value | ~DSCR_HALTED;
        /* Of the last one alone: accesses wait for the instructions before it. */
        sum = (sum & ~DSCR_INSTRCOMPL) | (s->list[k].value & DSCR_INSTRCOMPL);
    }
    return sum;
}

int cortex_a_play(struct cortex_a *core, struct cortex_a_sequence *s, bool once)
{
    unsigned tries = 0;
    int rc = cortex_a_need_halt(core);
    if (rc != 0)
        return rc;
    struct cortex_a_sequence sent = *s;
    rc = cortex_a_bank(core, sent.list, sent.count);
    if (rc != 0)
        return !once && cortex_a_again(core, rc, &tries) ? play_slowly(core, s) : rc;
    *s = sent;
    uint32_t state = sum_up(s);
    if ((state & DSCR_HALTED) == 0) {
        core->halted = false; /* somebody let it go */
        return cortex_a_need_halt(core);
    }
    if ((state & (DSCR_STICKY | DSCR_INSTRCOMPL)) == 0) {
        rc = cortex_a_await(core, DSCR_INSTRCOMPL, 0);
        state = core->dscr;
    }
    return rc == 0 && (state & DSCR_STICKY) != 0 ? take_error(core, state) : rc;
}

/* The value that the last instruction leaves in the channel stays there. */
int cortex_a_start(struct cortex_a *core, struct cortex_a_sequence *s)
{
    int rc = cortex_a_need_halt(core);
    return rc == 0 ? play_slowly(core, s) : rc;
}

int cortex_a_play_one(struct cortex_a *core, struct mem_ap_banked *access)
{
    return play_entry(core, access);
}

int cortex_a_do(struct cortex_a *core, uint32_t opcode, uint32_t r0)
{
    struct cortex_a_sequence s = {.count = 0};
    core->dirty |= 1;
    cortex_a_give(&s, r0);
    cortex_a_execute(&s, A_GIVE(0));
    cortex_a_execute(&s, opcode);
    return cortex_a_play(core, &s, false);
}

int cortex_a_ask(struct cortex_a *core, uint32_t opcode, uint32_t *r0)
{
    struct cortex_a_sequence s = {.count = 0};
    core->dirty |= 1;
    cortex_a_execute(&s, opcode);
    cortex_a_execute(&s, A_TAKE(0));
    unsigned at = cortex_a_take(&s);
    int rc = cortex_a_play(core, &s, false);
    *r0 = s.list[at].value;
    return rc;
}
