/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

volatile u32 last_sum;

void *memset(void *to, int value, unsigned size);
void *memcpy(void *to, const void *from, unsigned size);
void *memmove(void *to, const void *from, unsigned size);

/* The compiler calls them. */
T32 void *memset(void *to, int value, unsigned size)
{
    unsigned char *at = to;

    while (size--)
        *at++ = (unsigned char)value;
    return to;
}

A32 void *memcpy(void *to, const void *from, unsigned size)
{
    unsigned char *at = to;
    const unsigned char *source = from;

    while (size--)
        *at++ = *source++;
    return to;
}

/* Of variables that overlap, as parts of a union do. */
T32 void *memmove(void *to, const void *from, unsigned size)
{
    unsigned char *at = to;
    const unsigned char *source = from;

    if (at <= source)
        return memcpy(to, from, size);
    while (size--)
        at[size] = source[size];
    return to;
}

/* A counter of the board: what it was cannot be found out afterwards. */
T32 u32 input(void)
{
    return *(volatile u32 *)INPUT >> 3;
}

T32 u32 work(u32 round)
{
    u32 sum = work_calls(round * 3 + 1 + input() % 8);

    sum ^= work_board(round);
    sum += work_data(round + input() % 5 + sum % 3);
    last_sum = sum;
    return sum;
}

A32 int main(void)
{
    u32 sum = 0;

    for (u32 round = 0; round < ROUNDS; round++)
        sum += work(round);
    finished(sum);
    return 0;
}
