/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over data: a small machine with a switch, a list, sorting, bytes, long arithmetic. */
#include "work.h"

typedef unsigned long long u64;
typedef int (*order_fn)(u32 a, u32 b);

/* A stack machine. */

enum code { CODE_PUSH, CODE_ADD, CODE_MUL, CODE_SWAP, CODE_DUP, CODE_NOT, CODE_JUMP, CODE_END };

static const unsigned char script[] = {
    CODE_PUSH, 7,         CODE_PUSH, 3,        CODE_DUP,  CODE_MUL, CODE_SWAP, CODE_ADD,
    CODE_NOT,  CODE_JUMP, 2,         CODE_END, CODE_PUSH, 9,        CODE_ADD,  CODE_END};

A32 u32 interpret(const unsigned char *at, u32 first)
{
    u32 stack[8] = {first}, depth = 1, top;

    for (;;) {
        switch (*at++) {
        case CODE_PUSH:
            stack[depth++] = *at++;
            break;
        case CODE_ADD:
            depth--;
            stack[depth - 1] += stack[depth];
            break;
        case CODE_MUL:
            depth--;
            stack[depth - 1] *= stack[depth];
            break;
        case CODE_SWAP:
            top = stack[depth - 1];
            stack[depth - 1] = stack[depth - 2];
            stack[depth - 2] = top;
            break;
        case CODE_DUP:
            stack[depth] = stack[depth - 1];
            depth++;
            break;
        case CODE_NOT:
            stack[depth - 1] = ~stack[depth - 1];
            break;
        case CODE_JUMP:
            at += *at;
            break;
        default:
            return stack[depth - 1];
        }
    }
}

/* A list that is sorted through a function. */

struct item {
    struct item *next;
    u32 key;
    unsigned char name[6];
};

static struct item items[8];
static u32 numbers[10];

T32 struct item *link_items(u32 seed)
{
    struct item *head = 0;

    for (u32 i = 0; i < 8; i++) {
        struct item *item = &items[i];
        seed = seed * 1103515245u + 12345u;
        item->key = seed >> 16;
        for (u32 k = 0; k < sizeof item->name; k++)
            item->name[k] = (unsigned char)(seed >> k);
        item->next = head;
        head = item;
    }
    return head;
}

A32 int lower(u32 a, u32 b)
{
    return a < b;
}

T32 int higher(u32 a, u32 b)
{
    return a > b;
}

T32 void sort(u32 *values, int count, order_fn before)
{
    for (int i = 1; i < count; i++) {
        u32 value = values[i];
        int at = i;
        while (at > 0 && before(value, values[at - 1])) {
            values[at] = values[at - 1];
            at--;
        }
        values[at] = value;
    }
}

A32 u32 walk(const struct item *item, u32 depth)
{
    u32 here;

    if (!item)
        return depth;
    here = item->key ^ item->name[depth % 6];
    return here + walk(item->next, depth + 1);
}

T32 u32 checksum(const unsigned char *bytes, u32 count)
{
    u32 crc = 0xffff;

    while (count--) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 4; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
    }
    return crc;
}

A32 u32 text_length(const char *text)
{
    const char *at = text;

    while (*at)
        at++;
    return (u32)(at - text);
}

T32 void copy_text(char *to, const char *from)
{
    while ((*to++ = *from++))
        ;
}

A32 u64 long_mix(u64 a, u64 b)
{
    u64 product = a * b + 1;
    return product ^ a << 7 ^ b >> 3;
}

T32 int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

u32 work_data(u32 seed)
{
    static char text[16];
    struct item *head = link_items(seed);
    u32 sum = interpret(script, seed);
    u64 wide;

    for (u32 i = 0; i < 10; i++)
        numbers[i] = items[i % 8].key + i;
    sort(numbers, 6 + (int)(seed % 4), seed & 1 ? lower : higher);
    sum += numbers[0] + walk(head, 0);
    copy_text(text, seed & 1 ? "odd" : "even");
    sum += text_length(text) + checksum((const unsigned char *)text, 4);
    wide = long_mix(sum, (u64)seed << 20 | 7);
    return sum + (u32)(wide >> 32) + (u32)clamp((int)sum, -400, 4000);
}
