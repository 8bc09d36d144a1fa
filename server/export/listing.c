/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/listing.h"

#include <string.h>

void listing_init(struct listing *l, FILE *out, enum listing_format format,
                  const struct listing_column *columns, unsigned count)
{
    l->out = out;
    l->format = format;
    l->columns = columns;
    l->count = count;
    l->header_done = false;
}

void listing_header(struct listing *l)
{
    if (l->header_done)
        return;
    l->header_done = true;
    if (l->format != LISTING_TSV)
        return;
    for (unsigned i = 0; i < l->count; i++)
        fprintf(l->out, "%s%s", i ? "\t" : "", l->columns[i].name);
    fputc('\n', l->out);
}

static void json_string(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void json_row(const struct listing *l, const char *const *values)
{
    bool first = true;
    fputc('{', l->out);
    for (unsigned i = 0; i < l->count; i++) {
        if (!*values[i])
            continue;
        fprintf(l->out, "%s\"%s\":", first ? "" : ",", l->columns[i].name);
        first = false;
        if (l->columns[i].number)
            fputs(values[i], l->out);
        else
            json_string(l->out, values[i]);
    }
    fputs("}\n", l->out);
}

/* A tab or line end inside a value (a device's name, say) must not look like a column or a row. */
static void tsv_value(FILE *out, const char *s)
{
    for (; *s; s++)
        fputc((unsigned char)*s < 0x20 ? ' ' : *s, out);
}

static void text_row(const struct listing *l, const char *const *values)
{
    char line[1024];
    size_t n = 0;
    line[0] = 0;
    for (unsigned i = 0; i < l->count && n < sizeof line; i++) {
        int written = snprintf(line + n, sizeof line - n, "%s%*s", i ? "  " : "",
                               l->columns[i].width, values[i]);
        n += written > 0 ? (size_t)written : 0;
    }
    size_t end = strlen(line);
    while (end > 0 && line[end - 1] == ' ')
        line[--end] = 0;
    fprintf(l->out, "%s\n", line);
}

void listing_row(struct listing *l, const char *const *values)
{
    listing_header(l);
    if (l->format == LISTING_JSON) {
        json_row(l, values);
        return;
    }
    if (l->format == LISTING_TEXT) {
        text_row(l, values);
        return;
    }
    for (unsigned i = 0; i < l->count; i++) {
        if (i)
            fputc('\t', l->out);
        tsv_value(l->out, values[i]);
    }
    fputc('\n', l->out);
}
