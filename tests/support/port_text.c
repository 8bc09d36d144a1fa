/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/port_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const port_v1_statuses[8] = {"IE", "ID", "IN", "WT", "BE", "BD", "TR", "TD"};
const char *const port_v2_statuses[16] = {"IE",   "DE",   "IN",   "DN",   "WT",   "DW",
                                          "TR",   "TD",   "PTIE", "PTDE", "PTIN", "PTDN",
                                          "PNIE", "PNDE", "PNIN", "PNDN"};

static unsigned status_number(const char *name, const char *const *statuses, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(name, statuses[i]) == 0)
            return i;
    fprintf(stderr, "no status '%s'\n", name);
    abort();
}

size_t port_text(const char *text, const char *const *statuses, unsigned count, unsigned bits,
                 uint8_t *out)
{
    size_t record = bits == 4 ? 1 : bits == 8 ? 2 : 4, n = 0;
    while (text) {
        char name[8];
        unsigned pkt = 0, sync = 0;
        if (sscanf(text, " %7[A-Z] %x %u", name, &pkt, &sync) < 1)
            abort();
        unsigned status = status_number(name, statuses, count);
        uint32_t word = (status & 7) | pkt << 3 | (sync | status >> 3) << (3 + bits);
        for (size_t i = 0; i < record && n < PORT_TEXT_MAX; i++)
            out[n++] = (uint8_t)(word >> 8 * i);
        text = strchr(text, '|');
        text += text ? 1 : 0;
    }
    return n;
}

size_t port_hex(const char *hex, uint8_t *out, size_t max)
{
    size_t n = 0;
    unsigned byte;
    int used;
    while (n < max && sscanf(hex, " %2x%n", &byte, &used) == 1) {
        out[n++] = (uint8_t)byte;
        hex += used;
    }
    return n;
}
