/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls: a random document of nested lists and maps is printed, read again and printed with
 * indentation, read again and printed as at first. Both short texts and both trees
 * must be equal. */
#include "tests/performance/programs/work.h"

#define NODES_MAX 250
#define NODE_TEXT 60 /* characters, at most: name, indentation, value, end */
#define TEXT_MAX  (NODES_MAX * NODE_TEXT)
#define DEPTH_MAX 5
#define MEMBERS   7
#define COMPACT   (-1) /* instead of an indentation */

enum kind { NOTHING, NO, YES, NUMBER, STRING, LIST, MAP };

struct slice {
    const char *at;
    unsigned size;
};

struct node {
    enum kind kind;
    int number;
    struct slice text; /* STRING */
    struct slice name; /* of a member of a map */
    struct node *first, *next;
};

struct tree {
    struct node nodes[NODES_MAX];
    unsigned count;
};

struct text {
    char bytes[TEXT_MAX];
    unsigned size;
};

struct reader {
    const char *at, *end;
    struct tree *tree;
};

static const char *const words[] = {
    "alpha",       "valve", "level \\\"2\\\"", "door", "north\\nsouth", "id",
    "temperature", "x",     "sensor",          "time", "unit",          "greenhouse",
    "a\\\\b",      "",
};

static struct tree made, read_back;
static struct text compact, pretty, again;

static struct node *new_node(struct tree *tree, enum kind kind)
{
    struct node *node;

    if (tree->count == NODES_MAX)
        return NULL;
    node = &tree->nodes[tree->count++];
    node->kind = kind;
    node->number = 0;
    node->text.size = node->name.size = 0;
    node->first = node->next = NULL;
    return node;
}

/* A random document. */

static struct slice random_word(unsigned *seed)
{
    struct slice word = {words[next_random(seed) % (sizeof words / sizeof *words)], 0};

    while (word.at[word.size])
        word.size++;
    return word;
}

static struct node *make(struct tree *tree, unsigned *seed, unsigned depth)
{
    unsigned chance = next_random(seed) >> 4;
    enum kind kind = depth == 0           ? MAP
                     : depth >= DEPTH_MAX ? chance % LIST
                     : chance % 2         ? LIST + chance / 2 % 2
                                          : chance / 2 % LIST;
    struct node *node = new_node(tree, kind);

    if (!node)
        return NULL;
    if (kind == NUMBER)
        node->number = (int)next_random(seed) >> (chance / 16 % 24);
    if (kind == STRING)
        node->text = random_word(seed);
    if (kind < LIST)
        return node;
    struct node **link = &node->first;
    for (unsigned left = next_random(seed) % MEMBERS + (depth == 0 ? MEMBERS : 0); left; left--) {
        struct node *member = make(tree, seed, depth + 1);
        if (!member)
            break;
        if (kind == MAP)
            member->name = random_word(seed);
        *link = member;
        link = &member->next;
    }
    return node;
}

static void put(struct text *text, char c)
{
    if (text->size < TEXT_MAX)
        text->bytes[text->size++] = c;
}

static void put_word(struct text *text, const char *word)
{
    while (*word)
        put(text, *word++);
}

static void put_slice(struct text *text, const struct slice *slice)
{
    put(text, '"');
    for (unsigned i = 0; i < slice->size; i++)
        put(text, slice->at[i]);
    put(text, '"');
}

static void put_number(struct text *text, int number)
{
    char digits[12];
    unsigned count = 0, rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;

    if (number < 0)
        put(text, '-');
    do
        digits[count++] = (char)('0' + rest % 10);
    while (rest /= 10);
    while (count)
        put(text, digits[--count]);
}

static void put_line(struct text *text, int indent)
{
    if (indent == COMPACT)
        return;
    put(text, '\n');
    while (indent--)
        put(text, ' ');
}

static void print(struct text *text, const struct node *node, int indent);

static void print_members(struct text *text, const struct node *node, int indent)
{
    int inner = indent == COMPACT ? COMPACT : indent + 2;

    put(text, node->kind == MAP ? '{' : '[');
    for (const struct node *member = node->first; member; member = member->next) {
        put_line(text, inner);
        if (node->kind == MAP) {
            put_slice(text, &member->name);
            put_word(text, indent == COMPACT ? ":" : ": ");
        }
        print(text, member, inner);
        if (member->next)
            put(text, ',');
    }
    put_line(text, indent);
    put(text, node->kind == MAP ? '}' : ']');
}

static void print(struct text *text, const struct node *node, int indent)
{
    switch (node->kind) {
    case NOTHING:
        put_word(text, "null");
        break;
    case NO:
        put_word(text, "false");
        break;
    case YES:
        put_word(text, "true");
        break;
    case NUMBER:
        put_number(text, node->number);
        break;
    case STRING:
        put_slice(text, &node->text);
        break;
    case LIST:
    case MAP:
        print_members(text, node, indent);
        break;
    }
}

static struct node *read_value(struct reader *r);

static char peek(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n'))
        r->at++;
    return r->at < r->end ? *r->at : 0;
}

static bool take(struct reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool read_slice(struct reader *r, struct slice *slice)
{
    if (!take(r, '"'))
        return false;
    slice->at = r->at;
    while (r->at < r->end && *r->at != '"')
        r->at += *r->at == '\\' ? 2 : 1;
    if (r->at >= r->end)
        return false;
    slice->size = (unsigned)(r->at++ - slice->at);
    return true;
}

static struct node *read_word(struct reader *r, const char *word, enum kind kind)
{
    while (*word)
        if (r->at == r->end || *r->at++ != *word++)
            return NULL;
    return new_node(r->tree, kind);
}

static struct node *read_number(struct reader *r)
{
    struct node *node = new_node(r->tree, NUMBER);
    bool negative = take(r, '-');
    unsigned value = 0, digits = 0;

    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; digits++)
        value = 10 * value + (unsigned)(*r->at++ - '0');
    if (!node || !digits)
        return NULL;
    node->number = (int)(negative ? 0u - value : value);
    return node;
}

static struct node *read_string(struct reader *r)
{
    struct node *node = new_node(r->tree, STRING);

    return node && read_slice(r, &node->text) ? node : NULL;
}

static struct node *read_members(struct reader *r, enum kind kind, char last)
{
    struct node *node = new_node(r->tree, kind);
    struct slice name = {NULL, 0};

    if (!node)
        return NULL;
    r->at++;
    if (take(r, last))
        return node;
    for (struct node **link = &node->first;; link = &(*link)->next) {
        if (kind == MAP && !(read_slice(r, &name) && take(r, ':')))
            return NULL;
        *link = read_value(r);
        if (!*link)
            return NULL;
        (*link)->name = name;
        if (!take(r, ','))
            return take(r, last) ? node : NULL;
    }
}

static struct node *read_value(struct reader *r)
{
    switch (peek(r)) {
    case '{':
        return read_members(r, MAP, '}');
    case '[':
        return read_members(r, LIST, ']');
    case '"':
        return read_string(r);
    case 'n':
        return read_word(r, "null", NOTHING);
    case 'f':
        return read_word(r, "false", NO);
    case 't':
        return read_word(r, "true", YES);
    default:
        return read_number(r);
    }
}

static struct node *read_text(struct tree *tree, const struct text *text)
{
    struct reader r = {text->bytes, text->bytes + text->size, tree};
    struct node *node;

    tree->count = 0;
    node = read_value(&r);
    return peek(&r) ? NULL : node;
}

static bool same_bytes(const char *a, const char *b, unsigned size)
{
    while (size && *a == *b) {
        a++;
        b++;
        size--;
    }
    return size == 0;
}

static bool same_slice(const struct slice *a, const struct slice *b)
{
    return a->size == b->size && same_bytes(a->at, b->at, a->size);
}

static bool same_tree(const struct node *a, const struct node *b)
{
    if (a->kind != b->kind || a->number != b->number || !same_slice(&a->text, &b->text) ||
        !same_slice(&a->name, &b->name))
        return false;
    for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
        if (!same_tree(a, b))
            return false;
    return !a && !b;
}

bool work(unsigned seed)
{
    unsigned state = seed * 2654435761u | 1;
    struct node *document, *node;

    made.count = 0;
    compact.size = pretty.size = again.size = 0;
    document = make(&made, &state, 0);
    print(&compact, document, COMPACT);
    node = read_text(&read_back, &compact);
    if (!node || !same_tree(document, node))
        return false;
    print(&pretty, node, 0);
    node = read_text(&read_back, &pretty);
    if (!node || !same_tree(document, node))
        return false;
    print(&again, node, COMPACT);
    return again.size == compact.size && same_bytes(again.bytes, compact.bytes, again.size);
}
