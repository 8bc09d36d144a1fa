/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of call: recursion, pointers, tail calls, many registers, many arguments. */
#include "work.h"

#include <stdarg.h>

typedef u32 (*step_fn)(u32 value);

volatile u32 results[8];

/* Leaves and recursion. */

T32 u32 leaf(u32 value)
{
    return value * 5 + 3;
}

A32 u32 fibonacci(u32 n)
{
    u32 below;

    if (n < 2)
        return n;
    below = fibonacci(n - 1);
    return below + fibonacci(n - 2);
}

T32 u32 is_odd(u32 n);

A32 u32 is_even(u32 n)
{
    if (n == 0)
        return 1;
    return is_odd(n - 1);
}

T32 u32 is_odd(u32 n)
{
    if (n == 0)
        return 0;
    return is_even(n - 1);
}

T32 u32 digits(u32 value)
{
    u32 rest = value / 10;
    u32 digit = value % 10;

    return rest ? digits(rest) + digit : digit;
}

/* Pointers and tail calls. */

A32 u32 step_add(u32 value)
{
    return value + 17;
}

T32 u32 step_turn(u32 value)
{
    return value << 3 | value >> 29;
}

A32 u32 step_leaf(u32 value)
{
    u32 one = leaf(value);
    return one ^ leaf(one + 1);
}

T32 u32 step_last(u32 value)
{
    return step_leaf(value + 2); /* at -O2 a jump */
}

A32 u32 step_before(u32 value)
{
    return step_last(value ^ 0x55);
}

static const step_fn steps[] = {step_add, step_turn, step_leaf, step_last, step_before};

T32 u32 run_steps(u32 value, u32 count)
{
    for (u32 i = 0; i < count; i++)
        value = steps[i % (sizeof steps / sizeof steps[0])](value);
    return value;
}

A32 u32 apply_twice(step_fn step, u32 value)
{
    return step(step(value));
}

/* Many values alive at a time. */

T32 u32 pressure(u32 seed)
{
    u32 a = leaf(seed), b = leaf(a), c = leaf(b ^ seed), d = leaf(c + a);
    u32 e = leaf(d - b), f = leaf(e ^ c), g = leaf(f + d), h = leaf(g - e);
    u32 i = leaf(h + seed);

    for (u32 k = 0; k < 3; k++) {
        a += leaf(b);
        c ^= a + d;
        e += leaf(f ^ c);
        g ^= e + h;
    }
    return a + b + c + d + e + f + g + h + i;
}

A32 u32 eight(u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u32 g, u32 h)
{
    u32 first = leaf(a ^ b), second = leaf(c ^ d);
    return first + second + leaf(e + f) + leaf(g + h);
}

/* Variable arguments, structures. */

T32 u32 total(u32 count, ...)
{
    va_list list;
    u32 sum = 0;

    va_start(list, count);
    for (u32 i = 0; i < count; i++)
        sum += leaf(va_arg(list, u32));
    va_end(list);
    return sum;
}

struct box {
    u32 low, high, count;
    short signs[4];
};

A32 struct box grow(struct box box, u32 value)
{
    if (box.count == 0 || value < box.low)
        box.low = value;
    if (box.count == 0 || value > box.high)
        box.high = value;
    box.signs[box.count++ & 3] = (short)value;
    return box;
}

T32 u32 boxes(u32 seed)
{
    struct box box = {0};

    for (u32 i = 0; i < 4; i++)
        box = grow(box, leaf(seed + i * 77) % 1000);
    return box.high - box.low + (u32)box.signs[2];
}

/* A stack frame whose size is not known. */

A32 u32 spread(u32 count, u32 seed)
{
    u32 *room = __builtin_alloca(count * sizeof *room);
    u32 sum = 0;

    for (u32 i = 0; i < count; i++)
        room[i] = leaf(seed ^ i);
    for (u32 i = count; i-- > 0;)
        sum = sum * 3 + room[i];
    return sum;
}

u32 work_calls(u32 seed)
{
    u32 sum = 0;

    results[0] = sum += fibonacci(4 + seed % 3);
    results[1] = sum += is_even(5 + seed % 4) + digits(70013 + seed);
    results[2] = sum += run_steps(seed, 5) + apply_twice(step_turn, seed);
    results[3] = sum += pressure(seed);
    results[4] = sum += eight(seed, 1, sum, 3, 4, seed + 5, 6, 7);
    results[5] = sum += total(3 + seed % 3, seed, 11, sum, 13, 15);
    results[6] = sum += boxes(seed);
    results[7] = sum += spread(3 + seed % 5, sum);
    return sum;
}
