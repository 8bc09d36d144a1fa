/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A greenhouse controller with one mistake. Messages such as "soil:a=412" arrive in the timer
 * interrupt and wait in a queue. The main loop files each one under its topic in a tree, and the
 * letter behind the colon says what is kept of the values. Every few messages a report walks the
 * whole tree. When there is nothing to do, a self-test computes a checksum.
 */
#include "board.h"

#define NAME_SIZE       8
#define TOPICS_MAX      16
#define QUEUE_SIZE      8  /* a power of two */
#define REPORT_INTERVAL 8  /* messages */
#define SELF_TEST_STEP  56 /* bytes: about a tick at 31 million instructions a second */

typedef unsigned (*keep_fn)(unsigned kept, unsigned value);

struct topic {
    char name[NAME_SIZE]; /* with the zero at its end */
    struct topic *left;   /* names before this one */
    struct topic *right;  /* names behind it */
    keep_fn keep;
    unsigned kept;
    unsigned messages;
};

/*
 * The message whose number this is, counted from the start, is one that the program does not
 * survive, and so is each one after it. 0: never.
 */
volatile unsigned crash_after = 29;
volatile unsigned wait_when_idle = 1;

struct fault fault;
volatile unsigned stopped;

volatile unsigned ticks;
volatile unsigned received; /* messages */
volatile unsigned lost;     /* messages that found the queue full */
volatile unsigned refused;  /* messages that make no sense, or that had no room */
volatile unsigned reported; /* sum of what is kept, from the last report */
volatile unsigned tests;    /* self-tests that were completed */

static const char *volatile queue[QUEUE_SIZE];
static volatile unsigned queue_put, queue_taken; /* counters that never turn back */

static struct topic topics[TOPICS_MAX];
static unsigned topic_count;
static struct topic *root;

static const char *const inbox[] = {
    "heater:a=215", "door:c=1",   "pump:t=30", "fan:p=740",    "soil:a=412",
    "light:p=905",  "window:c=0", "mist:t=12", "heater:a=221", "humid:a=608",
    "door:c=0",     "fan:p=812",  "pump:t=25", "vent:t=3",     "soil:a=398",
};

static const char unforeseen[] = "greenhouse-2:a=228";

/* What is kept of the values of a topic. */

A32 static unsigned keep_total(unsigned kept, unsigned value)
{
    return kept + value;
}

T32 static unsigned keep_peak(unsigned kept, unsigned value)
{
    return value > kept ? value : kept;
}

/* The last value in the low half, the number of changes in the high one. */
T32 static unsigned keep_changes(unsigned kept, unsigned value)
{
    if ((kept & 0xffff) == value)
        return kept;
    return (kept & 0xffff0000u) + 0x10000u + value;
}

A32 static unsigned keep_average(unsigned kept, unsigned value)
{
    return kept ? (7 * kept + value) / 8 : value;
}

static const struct {
    char letter;
    keep_fn keep;
} kinds[] = {
    {'t', keep_total},
    {'p', keep_peak},
    {'c', keep_changes},
    {'a', keep_average},
};

T32 static keep_fn find_kind(char letter)
{
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].letter == letter)
            return kinds[i].keep;
    return 0;
}

/* The tree of topics. */

/* Less than, equal to or greater than 0, as the text up to its colon is to the name. */
A32 static int compare(const char *text, const char *name)
{
    while (*text != ':' && *text == *name) {
        text++;
        name++;
    }
    return (*text == ':' ? 0 : *text) - *name;
}

T32 static void copy_name(char *name, const char *text)
{
    while (*text != ':')
        *name++ = *text++;
    *name = 0;
}

A32 static struct topic *new_topic(const char *text, keep_fn keep)
{
    struct topic *topic;

    if (topic_count == TOPICS_MAX)
        return 0;
    topic = &topics[topic_count++];
    topic->left = 0;
    topic->right = 0;
    topic->keep = keep;
    copy_name(topic->name, text);
    return topic;
}

/* Where the topic hangs in the tree below *link, or is to hang. */
T32 static struct topic **find_topic(struct topic **link, const char *text)
{
    int order;

    if (!*link)
        return link;
    order = compare(text, (*link)->name);
    if (order == 0)
        return link;
    return find_topic(order < 0 ? &(*link)->left : &(*link)->right, text);
}

A32 static unsigned report_topics(const struct topic *topic)
{
    unsigned sum;

    if (!topic)
        return 0;
    sum = report_topics(topic->left);
    sum += topic->kept;
    return sum + report_topics(topic->right);
}

/* Messages. */

T32 static unsigned read_number(const char *text)
{
    unsigned value = 0;

    while (*text >= '0' && *text <= '9')
        value = 10 * value + (unsigned)(*text++ - '0');
    return value;
}

A32 static const char *skip_name(const char *text)
{
    while (*text && *text != ':')
        text++;
    return text;
}

T32 static void add_value(struct topic *topic, unsigned value)
{
    topic->kept = topic->keep(topic->kept, value);
    topic->messages++;
}

A32 static void file_message(const char *text)
{
    const char *rest = skip_name(text);
    keep_fn keep = *rest ? find_kind(rest[1]) : 0;
    struct topic **link = find_topic(&root, text);

    if (keep && !*link)
        *link = new_topic(text, keep);
    if (!keep || !*link) {
        refused++;
        return;
    }
    add_value(*link, read_number(rest + 3));
}

T32 static const char *take_message(void)
{
    const char *text;

    if (queue_taken == queue_put)
        return 0;
    text = queue[queue_taken % QUEUE_SIZE];
    queue_taken++;
    return text;
}

/* As if it came over a wire. */
T32 static const char *receive(void)
{
    static unsigned next;

    received++;
    if (crash_after && received >= crash_after)
        return unforeseen;
    if (next == sizeof inbox / sizeof inbox[0])
        next = 0;
    return inbox[next++];
}

A32 void timer_tick(void)
{
    const char *text = receive();

    ticks++;
    if (queue_put - queue_taken == QUEUE_SIZE) {
        lost++;
        return;
    }
    queue[queue_put % QUEUE_SIZE] = text;
    queue_put++;
}

/* Main loop. */

A32 static unsigned checksum(unsigned crc, unsigned byte)
{
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++)
        crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    return crc;
}

/* A few bytes of the program itself at a time. */
T32 static void self_test(void)
{
    static const unsigned char *at;
    static unsigned crc;
    extern const unsigned char code_start[], code_end[];

    if (!at)
        at = code_start;
    for (unsigned i = 0; i < SELF_TEST_STEP && at < code_end; i++)
        crc = checksum(crc, *at++);
    if (at == code_end) {
        at = code_start;
        tests++;
    }
}

T32 static void sleep(void)
{
    mask_interrupts();
    if (wait_when_idle && queue_taken == queue_put)
        wait_for_interrupt();
    unmask_interrupts();
}

/* A fault ends here. `stopped` keeps a compiler from finding out that this does not return. */
A32 void stopped_here(void)
{
    stop_interrupts();
    for (stopped = 1; stopped;)
        wait_for_interrupt();
}

A32 int main(void)
{
    unsigned filed = 0;

    start_timer();
    for (;;) {
        const char *text = take_message();
        if (text) {
            file_message(text);
            filed++;
            if (filed % REPORT_INTERVAL == 0)
                reported = report_topics(root);
        } else {
            self_test();
            sleep();
        }
    }
}
