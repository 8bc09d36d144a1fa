/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text of others (names of clients, commands, strings of USB devices) on its way to a terminal or a
 * log: control characters and escape sequences would move the cursor, forge lines, or type.
 */
#ifndef PROTOCOL_PLAIN_TEXT_H
#define PROTOCOL_PLAIN_TEXT_H

#include <stddef.h>

/*
 * Makes every byte of a control character '?': C0 but those in `keep` (such as "\n\t"), DEL, C1,
 * and what is no UTF-8. Other UTF-8 stays.
 */
void plain_text(char *text, size_t len, const char *keep);

#endif
