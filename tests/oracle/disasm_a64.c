/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoder/disasm/disasm_a64.h against the disassembler of GNU binutils: random words of each group
 * of instructions, and the words around them. What one of the two calls by a name of ours the other
 * must call so, too, with the same operands.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/disasm/disasm_a64.h"

#define BASE  UINT64_C(0x40000000)
#define EACH  1500 /* words of a group */
#define NAMES 300

/* Bits of `any` are random. */
static const struct {
    uint32_t value, any;
} groups[] = {
    {0xd61f0800, 0x01c007ff}, {0xd71f0800, 0x01e007ff}, {0xd65f0bff, 0x00c0040f},
    {0x54000010, 0x00ffffef}, {0xd4600000, 0x001fffff}, {0xd503201f, 0x00000fe0},
    {0xd5233060, 0x0000017f}, {0xd5031000, 0x0000003f}, {0xd503301f, 0x00000fe0},
    {0x9ac03000, 0x001f03ff}, {0xdac10000, 0x00007fff}, {0xdac123e0, 0x00007c1f},
    {0x38200000, 0xc0fff3ff}, {0x3820001f, 0xc0fff3e0}, {0x38bfc000, 0xc00003ff},
    {0x08a07c00, 0xc05f83ff}, {0x08207c00, 0x405f83ff}, {0xf8200400, 0x00dffbff},
    {0x00000000, 0x0000ffff}, {0xf8200400, 0x00000bff},
};

static char names[NAMES][16]; /* that have been used */
static size_t name_count;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static bool is_ours(const char *name, size_t len)
{
    for (size_t i = 0; i < name_count; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return true;
    return false;
}

static void note_name(const char *text)
{
    size_t len = strcspn(text, " ");
    if (!is_ours(text, len) && name_count < NAMES && len < sizeof names[0])
        memcpy(names[name_count++], text, len);
}

/* One way to write numbers and conditions; no symbols, no comments. */
static void plain(const char *in, char *out, size_t size)
{
    size_t n = 0;
    bool word = false;
    for (; *in && *in != '\n' && *in != '<' && !(in[0] == '/' && in[1] == '/'); in++) {
        char c = *in == '\t' ? ' ' : *in, *end;
        if (c == '#' || (c == ' ' && n && out[n - 1] == ' '))
            continue;
        if (c >= '0' && c <= '9' && !word && n + 24 < size) {
            n += (size_t)snprintf(out + n, size - n, "%" PRIu64, (uint64_t)strtoull(in, &end, 0));
            in = end - 1;
        } else if (n + 1 < size) {
            out[n++] = c;
        }
        word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9' && word);
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    if (strncmp(out, "bc.hs ", 6) == 0 || strncmp(out, "bc.lo ", 6) == 0)
        memcpy(out + 3, out[3] == 'h' ? "cs" : "cc", 2);
}

static uint32_t *make_words(size_t *count)
{
    size_t n = sizeof groups / sizeof *groups, k = 0;
    uint32_t *words = malloc(n * EACH * sizeof *words);
    uint64_t state = 1;
    for (size_t g = 0; words && g < n; g++)
        for (unsigned i = 0; i < EACH; i++) {
            uint32_t word = groups[g].value ^ (next_random(&state) & groups[g].any);
            words[k++] = i % 8 ? word : word ^ 1u << (next_random(&state) & 31);
        }
    *count = k;
    return words;
}

static FILE *list(const uint32_t *words, size_t count, char *path)
{
    char command[512];
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f || fwrite(words, sizeof *words, count, f) != count || fclose(f) != 0)
        return NULL;
    snprintf(command, sizeof command,
             "aarch64-linux-gnu-objdump -D -z -b binary -m aarch64 -EL --adjust-vma=%#" PRIx64
             " '%s'",
             BASE, path);
    return popen(command, "r");
}

/* 0: the same. `theirs` is what binutils has. */
static int compare(uint32_t op, uint64_t address, const char *theirs)
{
    char ours[80], a[120], b[120];
    bool known = disasm_a64_text(op, address, ours, sizeof ours) > 0;
    plain(known ? ours : "", a, sizeof a);
    plain(theirs, b, sizeof b);
    if (known ? strcmp(a, b) == 0 : !is_ours(b, strcspn(b, " ")))
        return 0;
    printf("# %08" PRIx32 ": '%s', binutils '%s'\n", op, a, b);
    return 1;
}

int main(void)
{
    const char *dir = getenv("TMPDIR");
    char path[300], line[512], ours[80];
    size_t count, at = 0, known = 0;
    int wrong = 0;
    uint32_t *words = make_words(&count);
    snprintf(path, sizeof path, "%s/disasm.XXXXXX", dir ? dir : "/tmp");
    FILE *listing = words ? list(words, count, path) : NULL;
    for (size_t i = 0; words && i < count; i++)
        if (disasm_a64_text(words[i], BASE + 4 * i, ours, sizeof ours)) {
            note_name(ours);
            known++;
        }
    while (listing && fgets(line, sizeof line, listing)) {
        char *end, *text;
        uint64_t address = strtoull(line, &end, 16);
        if (*end != ':' || at == count || address != BASE + 4 * at)
            continue;
        uint32_t op = (uint32_t)strtoul(end + 1, &text, 16);
        if (op == words[at] && *text)
            wrong += compare(op, address, text + strspn(text, " \t")) && wrong < 20;
        at += op == words[at];
    }
    bool read = listing && pclose(listing) == 0 && at == count;
    unlink(path);
    free(words);
    bool good = read && !wrong && known > 14000 && name_count > 200 && name_count < NAMES;
    printf("%s text of A64: %zu words, %zu of them of %zu mnemonics that capstone lacks%s\n",
           good ? "PASS" : "FAIL", at, known, name_count,
           read ? "" : " (is aarch64-linux-gnu-objdump installed? make deps)");
    return !good;
}
