/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XML documents that GDB asks for. Each function appends to `out`; a failed allocation shows
 * in text_buf_error(). Formats: GDB manual, "Branch Trace Format", "Branch Trace Configuration
 * Format", "Target Description Format", "Thread List Format" and "Memory Map Format".
 */
#ifndef PROTOCOL_XML_H
#define PROTOCOL_XML_H

#include "protocol/rsp/text_buf.h"
#include "protocol/target/gdb_target.h"

/*
 * target.xml: r0-r12, sp, lr, pc numbered 0-15 and cpsr or xpsr numbered 25, as in GDB's own
 * descriptions; in the g packet it follows pc directly. Further registers come behind them, with
 * numbers from GDB_EXTRA_NUMBER on. AArch64: x0-x30, sp, pc and cpsr, numbered 0 to 33.
 */
void xml_target(struct text_buf *out, enum gdb_profile profile, const struct gdb_register *extra,
                unsigned count);

/* One thread of the list; `status` may be "". */
struct xml_thread {
    int id;
    int core;
    const char *name;
    const char *status;
};

void xml_threads_begin(struct text_buf *out);
void xml_threads_add(struct text_buf *out, const struct xml_thread *thread);
void xml_threads_end(struct text_buf *out);

void xml_memory_map(struct text_buf *out, const struct gdb_region *regions, size_t count);

/* Blocks in the order given: newest first. */
void xml_btrace(struct text_buf *out, const struct gdb_btrace_blocks *blocks);

/* Not recording = a document without children: GDB then does not reopen the recording. */
void xml_btrace_conf(struct text_buf *out, const struct gdb_btrace_conf *conf);

#endif
