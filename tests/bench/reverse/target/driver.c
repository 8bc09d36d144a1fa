/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drivers as vendors write them: an ADC whose samples are sorted, filtered, turned into
 * temperatures by a table and logged; an encoder and hall sensors of a motor, whose position wraps.
 */
#include "work.h"

#if __ARM_ARCH_PROFILE == 'M'
#include "tick_m.h"
#endif

#define SAMPLES 16
#define LOG     24u
#define TURN    4000

typedef unsigned char u8;
typedef unsigned short u16;
typedef short s16;
typedef signed char s8;

enum status { OK, BUSY, TIMEOUT };

struct adc {
    volatile u32 *data;
    u32 state, errors, size, count;
    u16 *buffer;
    void (*complete)(struct adc *adc);
};

struct entry {
    s16 temperature;
    u16 raw;
    u32 stamp;
};

static const s16 temperatures[65] = {
    1250, 1180, 1110, 1040, 980, 930, 880, 840, 800, 760, 730,  700,  670,  640, 620, 600, 580,
    560,  540,  520,  505,  490, 475, 460, 445, 430, 418, 405,  393,  380,  368, 355, 345, 333,
    322,  310,  299,  288,  277, 265, 254, 243, 231, 220, 208,  196,  184,  172, 159, 146, 132,
    118,  103,  87,   70,   51,  30,  8,   -16, -45, -80, -125, -190, -290, -400};
static const s16 limits[4] = {0, 250, 500, 800};
static const s8 steps[16] = {0, 1, -1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 0, -1, 1, 0};
static const u8 sectors[8] = {7, 0, 2, 1, 4, 5, 3, 7};

static struct adc adc;
static u16 buffer[SAMPLES], sorted[SAMPLES];
static struct entry entries[LOG];
static u32 entry_at, histogram[33], zones[5], alarms, overruns, sums[7];
static int filtered;

static u32 pins_before, faults[9], fault_at, sector_counts[6], parts[6], speed_at;
static int position, speeds[12];

void *memset(void *to, int value, unsigned size);
void *memcpy(void *to, const void *from, unsigned size);
void tick(void);

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

void tick(void)
{
}

static u32 noise(void)
{
    u32 now = counted();

    return now ^ now >> 5;
}

NOINLINE static enum status wait_for(struct adc *a, u32 timeout)
{
    u32 tries = 0;

    while (!(noise() & 3)) {
        if (tries++ > timeout) {
            a->errors |= 4;
            a->state |= 0x10;
            return TIMEOUT;
        }
    }
    a->state = (a->state & ~0x100u) | 0x200u;
    return OK;
}

static void completed(struct adc *a)
{
    a->count = 0;
    a->state |= 0x400;
}

NOINLINE static void convert(struct adc *a)
{
    if (wait_for(a, 3) != OK) {
        overruns++;
        return;
    }
    a->buffer[a->count++] = (u16)(*a->data & 0xfff);
    if (a->count >= a->size)
        a->complete(a);
}

NOINLINE static u16 trimmed_mean(void)
{
    u32 sum = 0;

    for (int i = 0; i < SAMPLES; i++) {
        u16 value = buffer[i];
        int j = i - 1;
        for (; j >= 0 && sorted[j] > value; j--)
            sorted[j + 1] = sorted[j];
        sorted[j + 1] = value;
    }
    for (int i = 4; i < SAMPLES - 4; i++)
        sum += sorted[i];
    return (u16)(sum / (SAMPLES - 8));
}

NOINLINE static s16 temperature_of(u16 raw)
{
    int low = temperatures[raw >> 6], high = temperatures[(raw >> 6) + 1];

    return (s16)(low + ((high - low) * (raw & 63) >> 6));
}

NOINLINE static void record(s16 temperature, u16 raw, u32 now)
{
    struct entry *e = &entries[entry_at];
    int bin = (temperature + 400) / 52;
    u32 zone = 0;

    e->temperature = temperature;
    e->raw = raw;
    e->stamp = now;
    entry_at = (entry_at + 1) % LOG;
    histogram[raw * 32u / 4096]++;
    if (bin < 0)
        bin = 0;
    else if (bin > 31)
        bin = 31;
    histogram[bin]++;
    while (zone < 4 && temperature >= limits[zone])
        zone++;
    zones[zone]++;
    sums[now % 7]++;
    sums[(u32)(temperature + 1000) % 7]--;
    if (temperature > 600)
        alarms |= 1u << (raw & 31);
    else
        alarms &= ~(1u << (raw >> 7));
    entries[raw % LOG].stamp ^= 1;
}

NOINLINE static void turn(u32 pins)
{
    int step = steps[(pins_before << 2 | (pins & 3)) & 15];

    pins_before = pins & 3;
    position += step;
    speeds[speed_at] = step;
    if (++speed_at == 12)
        speed_at = 0;
    if (position >= TURN)
        position -= TURN;
    if (position < 0)
        position += TURN;
}

NOINLINE static void commute(u32 pins)
{
    u8 sector = sectors[pins >> 2 & 7];

    if (sector > 5) {
        faults[fault_at++ % 9] = pins;
        return;
    }
    sector_counts[sector]++;
    parts[(u32)position * 6 / TURN]++;
}

int main(void)
{
    adc = (struct adc){
        .data = (volatile u32 *)INPUT, .size = SAMPLES, .buffer = buffer, .complete = completed};
    for (u32 round = 0; round < ROUNDS; round++) {
        u32 pins = noise();
        turn(pins);
        commute(pins);
        convert(&adc);
        if (!(adc.state & 0x400))
            continue;
        adc.state &= ~0x400u;
        u16 raw = trimmed_mean();
        filtered += ((raw << 4) - filtered) >> 3;
        int value = filtered >> 4;
        record(temperature_of((u16)(value < 0 ? 0 : value > 4095 ? 4095 : value)), raw, round);
    }
    finished(entry_at + alarms);
    return 0;
}
