/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A protocol stack: bytes of a line are received into a ring (by an interrupt on the M profile),
 * unstuffed, checked and dispatched; commands write parameters, copy blocks, sort, print into text,
 * allocate from pools. The bytes come from outside; what they select are indexes, lengths,
 * handlers.
 */
#include "work.h"

#if __ARM_ARCH_PROFILE == 'M'
#include "tick_m.h"
#endif
#ifndef SEED
#define SEED 0
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef int s32;

#define FLAG   0x7e
#define ESCAPE 0x7d

#define RX      (32u << (SEED & 1))
#define BLOCKS  12u
#define PAYLOAD 40u
#define PARAMS  24u
#define PEERS   6u
#define LOG     256u

enum receive_state { HUNT, HEADER, BODY, CRC_LOW, CRC_HIGH };

struct block {
    struct block *next;
    u16 length;
    u8 type, sequence;
    u8 data[PAYLOAD];
};

struct receiver {
    enum receive_state state;
    u8 escaped, at, need;
    u16 crc;
    struct block *block;
};

struct peer {
    u32 seen, bytes, age;
    u8 last_sequence;
    char name[11];
};

struct parameter {
    s32 value, low, high;
    u16 writes;
};

struct timer {
    u32 due, period;
    void (*run)(u32 argument);
    u32 argument;
};

static volatile u8 rx[RX];
static volatile u32 rx_in, rx_out, rx_lost, now;
static struct block blocks[BLOCKS], *free_blocks, *queue_head, **queue_end;
static struct receiver receiver;
static struct peer peers[PEERS];
static struct parameter parameters[PARAMS];
static u8 flash[512], window[96];
static char log_text[LOG];
static u32 log_at;
static u16 crc_table[256];
static u32 counts[16], bad_crc, good, no_block, refused, sent, idle_sum;
static volatile u32 uart_out;
static u32 sorted[24], samples[24];
static struct timer timers[4];

void *memset(void *to, int value, unsigned size);
void *memcpy(void *to, const void *from, unsigned size);
void *memmove(void *to, const void *from, unsigned size);
unsigned strlen(const char *text);
int strcmp(const char *a, const char *b);

void *memset(void *to, int value, unsigned size)
{
    u8 *at = to;

    for (; size && (unsigned)at & 3; size--)
        *at++ = (u8)value;
    for (; size >= 4; size -= 4, at += 4)
        *(u32 *)(void *)at = (u8)value * 0x01010101u;
    while (size--)
        *at++ = (u8)value;
    return to;
}

void *memcpy(void *to, const void *from, unsigned size)
{
    u8 *at = to;
    const u8 *source = from;

    if (!(((unsigned)at | (unsigned)source) & 3))
        for (; size >= 4; size -= 4, at += 4, source += 4)
            *(u32 *)(void *)at = *(const u32 *)(const void *)source;
    while (size--)
        *at++ = *source++;
    return to;
}

void *memmove(void *to, const void *from, unsigned size)
{
    u8 *at = to;
    const u8 *source = from;

    if (at <= source || at >= source + size)
        return memcpy(to, from, size);
    while (size--)
        at[size] = source[size];
    return to;
}

unsigned strlen(const char *text)
{
    const char *end = text;

    while (*end)
        end++;
    return (unsigned)(end - text);
}

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    return (u8)*a - (u8)*b;
}

/* Any element, any order. */
NOINLINE static void sort(void *base, u32 count, u32 size,
                          int (*compare)(const void *, const void *))
{
    for (u32 gap = count / 2; gap; gap /= 2)
        for (u32 i = gap; i < count; i++)
            for (u32 j = i; j >= gap; j -= gap) {
                u8 *a = (u8 *)base + (j - gap) * size, *b = (u8 *)base + j * size;
                if (compare(a, b) <= 0)
                    break;
                for (u32 k = 0; k < size; k++) {
                    u8 kept = a[k];
                    a[k] = b[k];
                    b[k] = kept;
                }
            }
}

static int by_number(const void *a, const void *b)
{
    u32 x = *(const u32 *)a, y = *(const u32 *)b;

    return x < y ? -1 : x > y;
}

NOINLINE static u16 crc_of(u16 crc, u8 c)
{
    return (u16)(crc << 8 ^ crc_table[crc >> 8 ^ c]);
}

NOINLINE static struct block *allocate(void)
{
    struct block *b = free_blocks;

    if (b)
        free_blocks = b->next;
    return b;
}

NOINLINE static void release(struct block *b)
{
    b->next = free_blocks;
    free_blocks = b;
}

static void put(char c)
{
    log_text[log_at++ & (LOG - 1)] = c;
}

NOINLINE static void print_text(const char *text)
{
    while (*text)
        put(*text++);
}

NOINLINE static void print_number(u32 number, u32 base, u32 width)
{
    char digits[12];
    u32 n = 0;

    do {
        digits[n++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    while (n < width)
        digits[n++] = '0';
    while (n)
        put(digits[--n]);
}

NOINLINE static void print(const char *format, const u32 *arguments)
{
    for (; *format; format++) {
        if (*format != '%') {
            put(*format);
            continue;
        }
        switch (*++format) {
        case 'd':
            if ((s32)*arguments < 0)
                put('-');
            print_number((s32)*arguments < 0 ? 0u - *arguments : *arguments, 10, 1);
            arguments++;
            break;
        case 'x':
            print_number(*arguments++, 16, 4);
            break;
        case 's':
            print_text((const char *)*arguments++);
            break;
        default:
            put(*format);
        }
    }
}

/* The line: what the other side sends. Now and then a byte is disturbed. */
static struct {
    u8 at, length, type, sequence, escaped;
    u16 crc;
} line;

NOINLINE static u8 line_byte(void)
{
    u32 raw = *(volatile u32 *)INPUT;
    u8 noise = (u8)(raw ^ raw >> 7), c;

    switch (line.at) {
    case 0:
        line.length = (u8)(noise % 13);
        line.type = (u8)(noise >> 3 & 15);
        line.sequence++;
        line.crc = 0xffff;
        c = FLAG;
        break;
    case 1:
        c = line.length;
        break;
    case 2:
        c = line.type;
        break;
    case 3:
        c = line.sequence;
        break;
    default:
        c = noise & 0x5f;
        if (line.at == line.length + 4)
            c = (u8)line.crc;
        if (line.at == line.length + 5)
            c = (u8)(line.crc >> 8);
    }
    if (line.at && (c == FLAG || c == ESCAPE) && !line.escaped) {
        line.escaped = 1;
        return ESCAPE;
    }
    if (line.at && line.at < line.length + 4)
        line.crc = crc_of(line.crc, c);
    if (line.escaped)
        c ^= 0x20;
    line.escaped = 0;
    line.at = line.at == line.length + 5 ? 0 : (u8)(line.at + 1);
    return noise == 0x5a ? (u8)(c ^ 4) : c;
}

static void received(void)
{
    u8 c = line_byte();

    if (rx_in - rx_out >= RX) {
        rx_lost++;
        return;
    }
    rx[rx_in % RX] = c;
    rx_in++;
}

NOINLINE static void send(u8 type, const void *data, u32 length)
{
    const u8 *at = data;
    u16 crc = crc_of(0xffff, type);

    uart_out = FLAG;
    uart_out = type;
    for (u32 i = 0; i < length; i++) {
        if (at[i] == FLAG || at[i] == ESCAPE)
            uart_out = ESCAPE;
        uart_out = at[i];
        crc = crc_of(crc, at[i]);
    }
    uart_out = crc;
    sent += length;
}

static s32 bounded(s32 value, const struct parameter *p)
{
    return value < p->low ? p->low : value > p->high ? p->high : value;
}

static u32 get16(const u8 *at)
{
    return (u32)at[0] | (u32)at[1] << 8;
}

static void on_ping(struct block *b)
{
    send(0x80, b->data, b->length);
}

static void on_set(struct block *b)
{
    u32 number = b->data[0];

    if (b->length < 3 || number >= PARAMS) {
        refused++;
        return;
    }
    parameters[number].value = bounded((s32)(short)get16(&b->data[1]), &parameters[number]);
    parameters[number].writes++;
}

static void on_get(struct block *b)
{
    struct parameter p;

    if (b->data[0] >= PARAMS) {
        refused++;
        return;
    }
    p = parameters[b->data[0]];
    send(0x82, &p, sizeof p);
}

static void on_write(struct block *b)
{
    u32 to = get16(b->data) & 0x1ff;

    if (b->length < 2 || to + b->length - 2 > sizeof flash) {
        refused++;
        return;
    }
    memcpy(&flash[to], &b->data[2], b->length - 2u);
}

static void on_read(struct block *b)
{
    u32 from = get16(b->data) & 0x1ff, length = b->length > 2 ? b->data[2] & 15 : 0;
    u8 copy[16];

    if (from + length > sizeof flash) {
        refused++;
        return;
    }
    memcpy(copy, &flash[from], length);
    send(0x84, copy, length);
}

static void on_insert(struct block *b)
{
    u32 at = b->data[0] % sizeof window, length = b->length;

    if (at + length > sizeof window)
        length = sizeof window - at;
    memmove(&window[at + length], &window[at], sizeof window - at - length);
    memcpy(&window[at], b->data, length);
}

static void on_name(struct block *b)
{
    struct peer *p = &peers[b->data[0] % PEERS];
    u32 length = b->length < sizeof p->name ? b->length : sizeof p->name - 1;

    for (u32 i = 0; i < length; i++)
        p->name[i] = (char)('a' + b->data[i] % 26);
    p->name[length] = 0;
}

static void on_sample(struct block *b)
{
    for (u32 i = 0; i + 1 < b->length; i += 2)
        samples[(b->sequence + i / 2) % 24] = get16(&b->data[i]);
    memcpy(sorted, samples, sizeof sorted);
    sort(sorted, 24, sizeof *sorted, by_number);
}

static void on_text(struct block *b)
{
    const struct peer *p = &peers[b->sequence % PEERS];
    const u32 arguments[] = {b->sequence, (u32)p->name, get16(b->data), now};

    print("%d %s=%x at %d\n", arguments);
}

static void on_unknown(struct block *b)
{
    (void)b;
    refused++;
}

static void (*const handlers[16])(struct block *) = {
    on_ping, on_set,  on_get,     on_write, on_read, on_insert,  on_name, on_sample,
    on_text, on_ping, on_unknown, on_set,   on_get,  on_unknown, on_set,  on_get};

NOINLINE static void dispatch(struct block *b)
{
    struct peer *p = &peers[b->type % PEERS];

    p->seen++;
    p->bytes += b->length;
    p->age = 0;
    p->last_sequence = b->sequence;
    counts[b->type & 15]++;
    if (b->type < 16)
        handlers[b->type](b);
    else
        on_unknown(b);
    release(b);
}

NOINLINE static void take_byte(struct receiver *r, u8 c)
{
    struct block *b = r->block;

    if (c == FLAG) {
        if (!b)
            b = r->block = allocate();
        if (!b)
            no_block++;
        r->state = b ? HEADER : HUNT;
        r->at = r->escaped = 0;
        r->crc = 0xffff;
        return;
    }
    if (c == ESCAPE) {
        r->escaped = 1;
        return;
    }
    if (r->escaped) {
        c ^= 0x20;
        r->escaped = 0;
    }
    switch (r->state) {
    case HEADER:
        r->crc = crc_of(r->crc, c);
        if (r->at == 0)
            b->length = c;
        else if (r->at == 1)
            b->type = c;
        else
            b->sequence = c;
        if (++r->at < 3)
            break;
        r->at = 0;
        r->state = b->length > PAYLOAD ? HUNT : b->length ? BODY : CRC_LOW;
        break;
    case BODY:
        r->crc = crc_of(r->crc, c);
        b->data[r->at++] = c;
        if (r->at == b->length)
            r->state = CRC_LOW;
        break;
    case CRC_LOW:
        r->need = c;
        r->state = CRC_HIGH;
        break;
    case CRC_HIGH:
        r->state = HUNT;
        if ((c << 8 | r->need) != r->crc) {
            bad_crc++;
            break;
        }
        good++;
        b->next = 0;
        *queue_end = b;
        queue_end = &b->next;
        r->block = 0;
        break;
    default:
        break;
    }
}

NOINLINE static void poll(void)
{
    u32 budget = 16;

    while (rx_out != rx_in && budget--) {
        u8 c = rx[rx_out % RX];
        rx_out++;
        take_byte(&receiver, c);
    }
    while (queue_head) {
        struct block *b = queue_head;
        queue_head = b->next;
        if (!queue_head)
            queue_end = &queue_head;
        dispatch(b);
    }
}

/* What such firmware does beside, and which no byte has a part in. */

static void blink(u32 argument)
{
    idle_sum += argument + now;
}

static void age_peers(u32 argument)
{
    for (u32 i = 0; i < PEERS; i++)
        peers[i].age += argument;
}

static void check_flash(u32 argument)
{
    u16 sum = (u16)argument;

    for (u32 i = 0; i < 64; i++)
        sum = crc_of(sum, ((const u8 *)crc_table)[i]);
    idle_sum ^= sum;
}

static void report(u32 argument)
{
    const u32 arguments[] = {argument, (u32) "up", now, idle_sum & 0xffff};

    print("[%d] %s %d %x\n", arguments);
}

NOINLINE static void run_timers(void)
{
    for (u32 i = 0; i < 4; i++) {
        struct timer *t = &timers[i];
        if ((s32)(now - t->due) < 0)
            continue;
        t->due += t->period;
        t->run(t->argument);
    }
}

NOINLINE static void set_up(void)
{
    static const struct timer first[4] = {
        {2, 3, blink, 5}, {3, 10, age_peers, 10}, {4, 6, check_flash, 77}, {7, 12, report, 1}};

    for (u32 i = 0; i < 256; i++) {
        u32 x = i << 8;
        for (u32 k = 0; k < 8; k++)
            x = x << 1 ^ (x & 0x8000 ? 0x1021 : 0);
        crc_table[i] = (u16)x;
    }
    for (u32 i = 0; i < BLOCKS; i++)
        release(&blocks[i]);
    for (u32 i = 0; i < PARAMS; i++)
        parameters[i] = (struct parameter){(s32)i, -100 - (s32)i * 50, 1000 + (s32)i * 100, 0};
    memcpy(timers, first, sizeof timers);
    memset(window, ' ', sizeof window);
    for (u32 i = 0; i < PEERS; i++)
        memcpy(peers[i].name, "peer", 5);
}

int main(void)
{
    queue_end = &queue_head;
    set_up();
    for (u32 round = 0; round < ROUNDS; round++) {
#if __ARM_ARCH_PROFILE == 'M'
        if (round % 16 == 0)
            SYST_CVR = 0;
#elif !defined(TICK)
        if (round % 4 == 0) {
            received();
            now++;
        }
#endif
        poll();
        run_timers();
    }
    finished(sent + good + rx_lost + strlen(peers[0].name) + (u32)strcmp("a", peers[1].name));
    return 0;
}

#ifdef TICK

void tick(void);

void tick(void)
{
    now++;
    received();
    if (now & 1)
        received();
}

#else

u32 work_calls(u32 seed);

#endif
