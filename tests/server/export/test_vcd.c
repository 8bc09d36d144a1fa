/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/export/vcd.c: random events with and without timestamps, read back from the text as
 * IEEE 1364-2005, clause 18, has it. */
#include "server/export/vcd.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#define SEEDS  20
#define EVENTS 3000

struct change {
    unsigned long long time;
    unsigned signal; /* VCD_SIGNALS: unknown, of `value` */
    uint32_t value;
};

static struct change wanted[EVENTS * VCD_SIGNALS], got[EVENTS * VCD_SIGNALS];
static size_t wanted_count, got_count;

/* Header, then changes; ids are those that the header has. */
static void read_back(char *text)
{
    char ids[VCD_SIGNALS] = "", *end = NULL;
    unsigned bits, known = 0;
    unsigned long long time = 0;
    bool begun = false, timed = false;
    got_count = 0;
    for (char *line = strtok_r(text, "\n", &end); line; line = strtok_r(NULL, "\n", &end)) {
        char id, name[16], digits[40];
        if (sscanf(line, "$var wire %u %c %15s $end", &bits, &id, name) == 3) {
            static const char *const names[] = {"watch0", "watch1",  "watch2",
                                                "watch3", "handler", "pc"};
            ck_assert_str_eq(name, names[known]);
            ck_assert_uint_eq(bits, known == VCD_HANDLER ? 9 : 32);
            ids[known++] = id;
        }
        begun |= strcmp(line, "$enddefinitions $end") == 0;
        if (!begun)
            continue;
        if (line[0] == '#') {
            unsigned long long now = strtoull(line + 1, NULL, 10);
            ck_assert(!timed || now >= time);
            time = now;
            timed = true;
        }
        if (line[0] != 'b' || !timed)
            continue;
        ck_assert_int_eq(sscanf(line, "b%39s %c", digits, &id), 2);
        struct change *c = &got[got_count++];
        *c = (struct change){.time = time};
        while (c->signal < VCD_SIGNALS && ids[c->signal] != id)
            c->signal++;
        ck_assert_uint_lt(c->signal, VCD_SIGNALS);
        c->value = digits[0] == 'x' ? c->signal : (uint32_t)strtoul(digits, NULL, 2);
        if (digits[0] == 'x')
            c->signal = VCD_SIGNALS;
    }
    ck_assert_uint_eq(known, VCD_SIGNALS);
}

/* What follows from the event; false: nothing. */
static bool make_event(struct bt_event *e, uint32_t *seed, unsigned *signal, uint32_t *value)
{
    uint32_t dice = random_next(seed) >> 9;
    *value = random_next(seed) >> (dice >> 8 & 15);
    memset(e, 0, sizeof *e);
    switch (dice % 7) {
    case 0:
        e->kind = BT_EVENT_EXCEPTION_TRACE;
        e->u.exception_trace.number = (uint16_t)(*value &= 0x1ff);
        e->u.exception_trace.action = (uint8_t)(1 + dice / 7 % 3);
        *signal = VCD_HANDLER;
        return e->u.exception_trace.action != BT_EXCEPTION_EXITED;
    case 1:
        e->kind = BT_EVENT_SAMPLE;
        e->u.sample.address = *value;
        e->u.sample.state = dice / 7 % 2 ? BT_SAMPLE_ASLEEP : BT_SAMPLE_RUNNING;
        *signal = VCD_PC;
        return e->u.sample.state == BT_SAMPLE_RUNNING;
    case 2:
        e->kind = dice / 7 % 8 ? BT_EVENT_STIMULUS : BT_EVENT_GAP;
        *signal = VCD_SIGNALS;
        return e->kind == BT_EVENT_GAP;
    default:
        e->kind = BT_EVENT_WATCH;
        e->u.watch.comparator = (uint8_t)(dice / 7 & 3);
        e->u.watch.value = *value;
        e->u.watch.has_value = dice >> 8 & 3;
        *signal = e->u.watch.comparator;
        return e->u.watch.has_value;
    }
}

static void want(unsigned long long time, unsigned signal, uint32_t value)
{
    for (unsigned i = 0; signal == VCD_SIGNALS && i < VCD_SIGNALS; i++)
        wanted[wanted_count++] = (struct change){time, VCD_SIGNALS, i};
    if (signal < VCD_SIGNALS)
        wanted[wanted_count++] = (struct change){time, signal, value};
}

/* Even seeds have timestamps: those behind the last one are left out. */
START_TEST(random_events)
{
    static struct vcd v;
    uint32_t seed = (uint32_t)_i + 1;
    bool timed = _i % 2 == 0;
    unsigned long long time = 0;
    size_t from = 0, left = 0, size = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    printf("seed %u\n", seed);
    wanted_count = 0;
    vcd_begin(&v, out, "ITM 0");
    for (unsigned i = 0; i < EVENTS; i++) {
        struct bt_event e;
        unsigned signal;
        uint32_t value;
        if (timed && random_next(&seed) % 5 == 0) {
            time += random_next(&seed) >> 20;
            e = (struct bt_event){.kind = BT_EVENT_LOCAL_TIME, .u.local_time.value = time};
            vcd_event(&v, &e);
            for (; from < wanted_count; from++)
                wanted[from].time = time;
            left = 0;
            continue;
        }
        bool counts = make_event(&e, &seed, &signal, &value);
        vcd_event(&v, &e);
        if (counts)
            want(timed ? 0 : ++time, signal, value);
        left += counts;
    }
    ck_assert_uint_eq(vcd_end(&v), timed ? left : 0);
    fclose(out);
    read_back(text);
    free(text);
    if (timed)
        wanted_count = from;
    ck_assert_uint_eq(got_count, wanted_count);
    for (size_t i = 0; i < got_count; i++)
        ck_assert(got[i].time == wanted[i].time && got[i].signal == wanted[i].signal &&
                  got[i].value == wanted[i].value);
    ck_assert_uint_gt(got_count, EVENTS / 4);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("vcd");
    unit_cases(s, "value change dump: random events, read back", random_events, 0, SEEDS);
    return s;
}
