/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/xml.h"

#include <string.h>

#define PSR_NUMBER 25

static void core_registers(struct text_buf *out, const char *psr)
{
    for (int i = 0; i <= 12; i++)
        text_buf_printf(out, "<reg name=\"r%d\" bitsize=\"32\" type=\"uint32\" regnum=\"%d\"/>\n",
                        i, i);
    text_buf_puts(out, "<reg name=\"sp\" bitsize=\"32\" type=\"data_ptr\" regnum=\"13\"/>\n"
                       "<reg name=\"lr\" bitsize=\"32\" regnum=\"14\"/>\n"
                       "<reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"15\"/>\n");
    text_buf_printf(out, "<reg name=\"%s\" bitsize=\"32\" regnum=\"%d\"/>\n", psr, PSR_NUMBER);
}

static void a64_registers(struct text_buf *out)
{
    for (int i = 0; i <= 30; i++)
        text_buf_printf(out, "<reg name=\"x%d\" bitsize=\"64\" regnum=\"%d\"/>\n", i, i);
    text_buf_puts(out, "<reg name=\"sp\" bitsize=\"64\" type=\"data_ptr\" regnum=\"31\"/>\n"
                       "<reg name=\"pc\" bitsize=\"64\" type=\"code_ptr\" regnum=\"32\"/>\n"
                       "<reg name=\"cpsr\" bitsize=\"32\" regnum=\"33\"/>\n");
}

static void extra_registers(struct text_buf *out, const struct gdb_register *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bool first = i == 0 || strcmp(list[i].feature, list[i - 1].feature) != 0;
        if (first)
            text_buf_printf(out, "</feature>\n<feature name=\"%s\">\n", list[i].feature);
        text_buf_printf(out, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"/>\n",
                        list[i].name, list[i].bits, list[i].type, GDB_EXTRA_NUMBER + i);
    }
}

void xml_target(struct text_buf *out, enum gdb_profile profile, const struct gdb_register *extra,
                unsigned count)
{
    bool m = profile == GDB_PROFILE_M, a64 = profile == GDB_PROFILE_A64;
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n"
                       "<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
                       "<target version=\"1.0\">\n");
    text_buf_printf(out, "<architecture>%s</architecture>\n<feature name=\"org.gnu.gdb.%s\">\n",
                    a64 ? "aarch64" : "arm",
                    a64 ? "aarch64.core"
                    : m ? "arm.m-profile"
                        : "arm.core");
    if (a64)
        a64_registers(out);
    else
        core_registers(out, m ? "xpsr" : "cpsr");
    extra_registers(out, extra, count);
    text_buf_puts(out, "</feature>\n</target>\n");
}

void xml_threads_begin(struct text_buf *out)
{
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n<threads>\n");
}

void xml_threads_add(struct text_buf *out, const struct xml_thread *thread)
{
    text_buf_printf(out, "<thread id=\"%x\" core=\"%d\" name=\"", (unsigned)thread->id,
                    thread->core);
    text_buf_xml(out, thread->name);
    text_buf_puts(out, "\">");
    text_buf_xml(out, thread->status);
    text_buf_puts(out, "</thread>\n");
}

void xml_threads_end(struct text_buf *out)
{
    text_buf_puts(out, "</threads>\n");
}

static const char *region_name(enum gdb_region_type type)
{
    switch (type) {
    case GDB_REGION_ROM:
        return "rom";
    case GDB_REGION_FLASH:
        return "flash";
    default:
        return "ram";
    }
}

static void add_region(struct text_buf *out, const struct gdb_region *region)
{
    text_buf_printf(out, "<memory type=\"%s\" start=\"", region_name(region->type));
    text_buf_hex_number(out, region->start);
    text_buf_puts(out, "\" length=\"");
    text_buf_hex_number(out, region->length);
    if (region->type == GDB_REGION_FLASH) {
        text_buf_puts(out, "\">\n<property name=\"blocksize\">");
        text_buf_hex_number(out, region->blocksize);
        text_buf_puts(out, "</property>\n</memory>\n");
    } else {
        text_buf_puts(out, "\"/>\n");
    }
}

void xml_memory_map(struct text_buf *out, const struct gdb_region *regions, size_t count)
{
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n"
                       "<!DOCTYPE memory-map PUBLIC \"+//IDN gnu.org//DTD GDB Memory Map V1.0//EN\""
                       " \"http://sourceware.org/gdb/gdb-memory-map.dtd\">\n"
                       "<memory-map>\n");
    for (size_t i = 0; i < count; i++)
        add_region(out, &regions[i]);
    text_buf_puts(out, "</memory-map>\n");
}

static const char block_begin[] = "<block begin=\"", block_middle[] = "\" end=\"",
                  block_end[] = "\"/>\n";

#define BLOCK_MAX                                                                                  \
    (sizeof(block_begin) + sizeof(block_middle) + sizeof(block_end) + 2 * TEXT_HEX_NUMBER_MAX)

/* There are many blocks: their text goes straight to where it stays. */
#define AT_ONCE 256

static inline char *copy_text(char *to, const char *text, size_t len)
{
    memcpy(to, text, len);
    return to + len;
}

static char *add_block(char *to, const struct gdb_btrace_block *block)
{
    to = copy_text(to, block_begin, sizeof(block_begin) - 1);
    to = text_hex_number(to, block->begin);
    to = copy_text(to, block_middle, sizeof(block_middle) - 1);
    to = text_hex_number(to, block->end);
    return copy_text(to, block_end, sizeof(block_end) - 1);
}

void xml_btrace(struct text_buf *out, const struct gdb_btrace_blocks *blocks)
{
    text_buf_puts(out, "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n");
    for (size_t i = 0; i < blocks->count;) {
        size_t end = blocks->count - i < AT_ONCE ? blocks->count : i + AT_ONCE;
        char *begin = text_buf_room(out, AT_ONCE * BLOCK_MAX), *to = begin;
        if (begin == NULL)
            return;
        for (; i < end; i++)
            to = add_block(to, &blocks->block[i]);
        text_buf_took(out, (size_t)(to - begin));
    }
    text_buf_puts(out, "</btrace>\n");
}

void xml_btrace_conf(struct text_buf *out, const struct gdb_btrace_conf *conf)
{
    text_buf_puts(out, "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n"
                       "<btrace-conf version=\"1.0\">\n");
    if (conf->recording) {
        text_buf_puts(out, "<bts size=\"");
        text_buf_hex_number(out, conf->size);
        text_buf_puts(out, "\"/>\n");
    }
    text_buf_puts(out, "</btrace-conf>\n");
}
