/* SPDX-License-Identifier: BSD-3-Clause */
/* What the boards' programs say, by semihosting. */
#ifndef TESTS_BOARD_PRINT_H
#define TESTS_BOARD_PRINT_H

/* The start-up file's. */
void print(const char *text);

/* What a handler counted, for a test to compare with what the trace says. */
static void print_count(const char *name, unsigned value)
{
    char digits[12];
    char *p = digits + sizeof digits;

    *--p = 0;
    *--p = '\n';
    do
        *--p = (char)('0' + value % 10);
    while (value /= 10);
    print(name);
    print(p);
}

#endif
