/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What firmware does with numbers from outside: samples that are filtered, sorted, counted and put
 * into rings; bytes of a line and of packets, received by an interrupt on the M profile. The
 * numbers choose branches, elements of tables, structures and lengths, so that addresses of stores
 * depend on them.
 */
#include "work.h"

#if __ARM_ARCH_PROFILE == 'M'
#include "tick_m.h"
#endif

#define RING    32u
#define WINDOW  8u
#define SENSORS 5u
#define LINE    24u
#define BINS    12u
#define FIFO    16u

typedef unsigned char u8;
typedef unsigned short u16;
typedef signed short s16;

struct sensor {
    u32 count, sum, lowest, highest;
    u16 history[6];
    u8 alarmed;
};

enum state { IDLE, LENGTH, BODY, CHECK, STATES };

struct packet {
    enum state state;
    u8 length, at, sum;
    u8 body[20];
};

volatile u32 ticks, good_packets, bad_packets, lines, commands[6], alarms;
static u32 ring[RING], ring_at, *write_at, total;
static u16 window[WINDOW], histogram[BINS], levels[16];
static struct sensor sensors[SENSORS];
static struct packet packet;
static char line[LINE];
static u32 line_length;
static volatile u8 fifo[FIFO];
static volatile u32 fifo_in, fifo_out;
static int error_sum, output;
static u32 known[64], known_at;

static const u16 gains[16] = {256, 260, 250, 300, 240, 256, 270, 256,
                              256, 230, 256, 250, 256, 290, 256, 200};

void *memset(void *to, int value, unsigned size);
void *memcpy(void *to, const void *from, unsigned size);

void *memset(void *to, int value, unsigned size)
{
    u8 *at = to;

    while (size--)
        *at++ = (u8)value;
    return to;
}

void *memcpy(void *to, const void *from, unsigned size)
{
    u8 *at = to;
    const u8 *source = from;

    while (size--)
        *at++ = *source++;
    return to;
}

NOINLINE static u32 sample(void)
{
    u32 now = counted();

    return (now ^ now >> 7) & 0xfff;
}

/* Calibrated: a constant table's element, a signed offset. */
NOINLINE static int scaled(u32 raw)
{
    int value = (int)(raw * gains[raw >> 8]) >> 8;

    return value - 2048;
}

NOINLINE static u32 median(const u16 *values, u32 count)
{
    u16 sorted[WINDOW];

    for (u32 i = 0; i < count; i++) {
        u32 j = i;
        for (; j > 0 && sorted[j - 1] > values[i]; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = values[i];
    }
    return sorted[count / 2];
}

NOINLINE static u32 filter(u32 raw)
{
    static u32 at;

    total -= window[at];
    window[at] = (u16)raw;
    total += raw;
    at = (at + 1) % WINDOW;
    return (median(window, WINDOW) + total / WINDOW) / 2;
}

NOINLINE static void store(u32 value)
{
    ring[ring_at] = value;
    if (++ring_at == RING)
        ring_at = 0;
    *write_at++ ^= value;
    if (write_at == ring + RING)
        write_at = ring;
}

/* An index by division, by a clamp, by shifts, by the position of a bit. */
NOINLINE static void count(u32 value)
{
    u32 bin = value / 400;
    int step = (int)value / 64 - 30;

    histogram[bin < BINS ? bin : BINS - 1]++;
    if (step < 0)
        step = 0;
    if (step > 15)
        step = 15;
    levels[step]++;
    levels[value >> 8 & 15]++;
    levels[31 - __builtin_clz(value | 1)]--;
    histogram[value % BINS] ^= 1;
}

/* A structure that a number from outside chooses. */
NOINLINE static void note(u32 number, u32 value)
{
    struct sensor *s = &sensors[number % SENSORS];

    s->count++;
    s->sum += value;
    if (value < s->lowest || s->count == 1)
        s->lowest = value;
    if (value > s->highest)
        s->highest = value;
    s->history[s->count % 6] = (u16)value;
    s->alarmed = value > 3000;
    if (s->alarmed)
        alarms++;
}

NOINLINE static void control(int wanted, int is)
{
    int error = wanted - is;

    error_sum += error;
    if (error_sum > 5000)
        error_sum = 5000;
    if (error_sum < -5000)
        error_sum = -5000;
    output = (error * 3 + error_sum / 4) >> 3;
    if (output < 0)
        output = 0;
    else if (output > 255)
        output = 255;
}

static u8 next_byte(void)
{
    u8 c = fifo[fifo_out % FIFO];

    fifo_out++;
    return c;
}

NOINLINE static void receive(void)
{
    u32 raw = sample();

    if (fifo_in - fifo_out >= FIFO)
        return;
    fifo[fifo_in % FIFO] = (u8)(raw & 7 ? "set\ngo\n x"[raw % 9] : raw);
    fifo_in++;
}

NOINLINE static void run_line(void)
{
    switch (line[0]) {
    case 's':
        commands[0]++;
        break;
    case 'e':
        commands[1]++;
        break;
    case 't':
        commands[2]++;
        break;
    case 'g':
        commands[3]++;
        break;
    case 'o':
        commands[4]++;
        break;
    default:
        commands[5]++;
    }
    lines++;
}

NOINLINE static void take_char(char c)
{
    if (c == '\n') {
        line[line_length] = 0;
        run_line();
        line_length = 0;
    } else if (line_length < LINE - 1) {
        line[line_length++] = c;
    }
}

NOINLINE static void take_byte(struct packet *p, u8 c)
{
    switch (p->state) {
    case IDLE:
        if (c & 1)
            p->state = LENGTH;
        break;
    case LENGTH:
        p->length = c & 15;
        p->at = p->sum = 0;
        p->state = p->length ? BODY : CHECK;
        break;
    case BODY:
        p->body[p->at++] = c;
        p->sum = (u8)(p->sum + c);
        if (p->at == p->length)
            p->state = CHECK;
        break;
    default:
        if ((p->sum ^ c) & 1)
            bad_packets++;
        else
            good_packets++;
        p->body[p->length] = 0;
        p->state = IDLE;
    }
}

/* A copy whose length comes from outside. */
NOINLINE static void reply(void)
{
    u8 copy[20];
    u32 length = sample() % sizeof packet.body, sum = 0;

    memcpy(copy, packet.body, length);
    for (u32 i = 0; i < length; i++)
        sum += copy[i];
    known[known_at % 64] = sum;
}

/* Nothing comes from outside here. */
NOINLINE static void work_on(u32 round)
{
    for (u32 i = 0; i < 16; i++)
        known[(known_at + i) % 64] += known[(known_at + 3 * i) % 64] + round;
    known_at++;
}

static void poll(u32 round)
{
    u32 raw = sample(), value = filter(raw);

    store(value);
    count(value);
    note(raw, value);
    control(scaled(raw), output);
    while (fifo_out != fifo_in) {
        u8 c = next_byte();
        take_char((char)c);
        take_byte(&packet, c);
    }
    if (round % 4 == 0)
        reply();
    work_on(round);
}

int main(void)
{
    write_at = ring + 3;
    for (u32 round = 0; round < ROUNDS; round++) {
        poll(round);
#if __ARM_ARCH_PROFILE == 'M'
        if (round % 16 == 0)
            SYST_CVR = 0;
#elif !defined(TICK)
        receive();
#endif
    }
    finished(total);
    return 0;
}

#ifdef TICK

void tick(void);

void tick(void)
{
    ticks++;
    receive();
}

#else

u32 work_calls(u32 seed);

#endif
