/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Cortex-M33 of mps2-an505 whose RAM a PL081 writes, too, as DMA does: samples of a counter that
 * nobody knows, and blocks that are copied. An interrupt comes now and then.
 */
#include "tick_m.h"

typedef unsigned int u32;

#define DMA               0x50110000u
#define DMA_CONFIGURATION REGISTER(DMA + 0x30)
#define DMA_SOURCE        REGISTER(DMA + 0x100)
#define DMA_DESTINATION   REGISTER(DMA + 0x104)
#define DMA_NEXT          REGISTER(DMA + 0x108)
#define DMA_CONTROL       REGISTER(DMA + 0x10c)
#define DMA_CHANNEL       REGISTER(DMA + 0x110)

#define WORDS_BOTH_MOVE (2u << 18 | 2u << 21 | 3u << 26)

#define SAMPLES 16u
#define COPIED  5u

volatile u32 ticks, rounds, highest, samples[SAMPLES], results[8], table[32], known[64];
volatile struct {
    u32 before, copy[COPIED], behind;
} block;

static u32 converted[SAMPLES];

__attribute__((noinline)) static u32 input(void)
{
    return REGISTER(INPUT) >> 3 & 0xfff;
}

__attribute__((noinline)) static void move(const volatile u32 *from, volatile u32 *to, u32 words)
{
    DMA_CONFIGURATION = 1;
    DMA_SOURCE = (u32)from;
    DMA_DESTINATION = (u32)to;
    DMA_NEXT = 0;
    DMA_CONTROL = words | WORDS_BOTH_MOVE;
    DMA_CHANNEL = 1;
}

__attribute__((noinline)) static u32 mean(const volatile u32 *values, u32 count)
{
    u32 sum = 0;

    for (u32 i = 0; i < count; i++)
        sum += values[i];
    return sum / count;
}

__attribute__((noinline)) static void note(u32 round)
{
    u32 now = mean(samples, SAMPLES);

    results[round % 8] = now;
    if (now > highest)
        highest = now;
    for (u32 i = 0; i < 64; i++)
        known[i] += known[(i * 7 + round) % 64] + i;
    table[round % 32] = mean(known, 64) + rounds;
}

void tick(void)
{
    ticks++;
}

int main(void)
{
    block.before = block.behind = 1;
    for (u32 round = 0; round < ROUNDS; round++) {
        rounds++;
        for (u32 i = 0; i < SAMPLES; i++)
            converted[i] = input();
        move(converted, samples, SAMPLES);
        move(table, block.copy, COPIED);
        note(round);
    }
    finished(0);
    return 0;
}
