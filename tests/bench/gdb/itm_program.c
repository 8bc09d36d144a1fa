/* SPDX-License-Identifier: BSD-3-Clause */
/* For a virtual Cortex-M: writes to ports of the ITM, in the timer's interrupt, too, and data that
 * is watched. It ends in stopped_here(). */
#include "configs/virtual/board.h"

#define ROUNDS         15000
#define PORT8(number)  (*(volatile unsigned char *)(0xe0000000u + 4 * (number)))
#define PORT16(number) (*(volatile unsigned short *)(0xe0000000u + 4 * (number)))
#define PORT32(number) (*(volatile unsigned *)(0xe0000000u + 4 * (number)))
#define SHOWN          500 /* rounds between two lines of text */

struct fault fault;
volatile unsigned wait_when_idle;
volatile unsigned watched, ticks;
volatile struct {
    unsigned short half;
    unsigned char byte;
} small;

void stopped_here(void)
{
    for (;;)
        __asm__ volatile("nop");
}

void timer_tick(void)
{
    ticks++;
    PORT8(1) = (unsigned char)ticks;
}

static void print(const char *text)
{
    while (*text)
        PORT8(0) = (unsigned char)*text++;
}

static void print_number(unsigned number)
{
    char digits[12];
    unsigned at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    print(&digits[at]);
}

int main(void)
{
    start_timer();
    for (unsigned round = 0; round < ROUNDS; round++) {
        watched = watched * 1664525u + 1013904223u;
        small.half = (unsigned short)(watched >> 16);
        small.byte = (unsigned char)(small.half >> 8);
        PORT32(2) = watched;
        PORT16(31) = small.half;
        for (volatile unsigned wait = 0; wait < 20; wait++)
            ;
        if (round % SHOWN == 0) {
            print("round ");
            print_number(round);
            print("\r\n");
        }
    }
    stopped_here();
    return 0;
}
