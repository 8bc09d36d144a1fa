/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled for many options and run without a library: calls, recursion, pointers, structures. */
typedef unsigned int u32;

struct node {
    struct node *next;
    u32 key;
    short weight;
    unsigned char tag;
};

static u32 table[16];
static struct node nodes[12];
static u32 (*volatile hook)(u32, u32);

static u32 __attribute__((noinline)) mix(u32 a, u32 b)
{
    a ^= a << 7;
    a += b * 33u;
    return a ^ a >> 9;
}

static u32 __attribute__((noinline)) fib(u32 n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void __attribute__((noinline)) sort(u32 *v, int n)
{
    for (int i = 1; i < n; i++) {
        u32 x = v[i];
        int j = i;
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}

static struct node *__attribute__((noinline)) link_all(u32 seed)
{
    struct node *head = 0;
    for (int i = 0; i < 12; i++) {
        nodes[i].next = head;
        nodes[i].key = mix(seed, (u32)i);
        nodes[i].weight = (short)nodes[i].key;
        nodes[i].tag = (unsigned char)(seed >> i);
        head = &nodes[i];
    }
    return head;
}

static int __attribute__((noinline)) walk(const struct node *n, int depth)
{
    if (!n)
        return depth;
    int more = n->weight < 0 ? -n->weight : n->tag;
    switch (n->key & 7) {
    case 0:
        more += 3;
        break;
    case 1:
        more ^= 5;
        break;
    case 2:
        more <<= 1;
        break;
    case 3:
        more = more / (depth + 1);
        break;
    case 4:
        more *= depth;
        break;
    default:
        more--;
    }
    return walk(n->next, depth + 1) + more;
}

static u32 __attribute__((noinline)) bytes(u32 n)
{
    unsigned char buffer[40];
    volatile unsigned char *out = buffer;
    u32 sum = 0;
    for (u32 i = 0; i < 40; i++)
        out[i] = (unsigned char)(i * n);
    for (u32 i = 0; i < 40; i++)
        sum = sum * 31 + out[39 - i];
    return sum;
}

static unsigned long long __attribute__((noinline)) wide(unsigned long long a, u32 b)
{
    return a * b + (a >> 5) - ((unsigned long long)b << 17);
}

static u32 __attribute__((noinline)) variable(int n)
{
    u32 v[n];
    for (int i = 0; i < n; i++)
        v[i] = table[i & 15] + (u32)i;
    sort(v, n);
    return v[n / 2];
}

u32 __attribute__((noinline, section(".handler"))) handler(u32 a, u32 b, u32 c, u32 d)
{
    static u32 ticks;
    u32 local[4] = {a, b, c, d};
    ticks++;
    table[ticks & 15] ^= mix(local[ticks & 3], ticks);
    return ticks;
}

void __attribute__((section(".entry"))) entry(u32 seed)
{
    hook = mix;
    for (u32 round = seed;; round = hook(round, 7)) {
        for (u32 i = 0; i < 16; i++)
            table[i] = mix(round, i);
        sort(table, 16);
        table[0] += fib(4 + (round & 3));
        table[1] += (u32)walk(link_all(round), 0);
        table[2] += bytes(round);
        table[3] += (u32)(wide(round, table[3]) >> 13);
        table[4] += variable(3 + (int)(round & 7));
    }
}
