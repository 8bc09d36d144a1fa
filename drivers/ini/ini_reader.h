/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * INI text: `[section]`, `key=value`, comments. A line is a line of its own, however it is
 * indented; a key ends at the first `=`, so that `ETMCR(id:0x0)=1` is one; two sections of one name
 * are told apart.
 *
 * Accepted: LF and CRLF, a UTF-8 byte order mark, blanks around lines, keys, values and section
 * names, an empty value, sections that come twice. Refused, with the line: lines that are neither
 * of the above, an empty key, control characters outside of comments, NUL bytes, and what is
 * longer than the limits below.
 */
#ifndef DRIVERS_INI_READER_H
#define DRIVERS_INI_READER_H

#include "btrace/types.h"
#include "drivers/base/message.h"

#define INI_READER_MAX_LINE    65536u      /* characters of a line, without its end */
#define INI_READER_MAX_KEY     120u        /* characters of a key */
#define INI_READER_MAX_SECTION 255u        /* characters of a section name */
#define INI_READER_MAX_FILE    (16u << 20) /* bytes of a file */

/* Where `;` and `#` begin a comment. */
enum ini_comments {
    INI_COMMENTS_ANYWHERE,    /* as the readers of trace snapshots do */
    INI_COMMENTS_AFTER_BLANK, /* at the start of a line or after a blank: values may hold them */
};

/* One key, or (key and value NULL) the header of a section. Valid during the call only. */
struct ini_entry {
    const char *section;   /* "" before the first header */
    unsigned section_line; /* of the section's header: tells sections of one name apart; 0: none */
    const char *key;
    const char *value;
    unsigned line; /* 1-based */
};

/*
 * Called for each section header and each key, in the order of the text. Returns 0 to go on, or a
 * negative bt_error to stop; it may fill in the message that ini_reader_text() was given, whose
 * line is the current one if it is left alone.
 */
typedef int (*ini_entry_fn)(void *user, const struct ini_entry *entry);

/*
 * Read INI text from memory (no terminating NUL needed).
 * Return:
 *   0              all of it was read
 *   BT_ERR_FORMAT  a line is not INI text
 *   BT_ERR_RANGE   a limit is exceeded
 *   BT_ERR_NOMEM
 *   or what the callback returned
 * On error *why has the text and the line, without a file; after success it is empty.
 */
int ini_reader_text(const char *text, size_t length, enum ini_comments comments, ini_entry_fn fn,
                    void *user, struct message *why);

#endif
