/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a formatter gives, as tests write it: "10:0102 20:03 10:04 T 20:05". Between two marks the
 * sources may come in any turns.
 */
#ifndef TESTS_SUPPORT_BY_SOURCE_H
#define TESTS_SUPPORT_BY_SOURCE_H

/* The same text with the bytes of each source together, the lowest ID first: "10:010204 20:03 T
 * 20:05". To be freed by the caller; ends the program without memory. */
char *by_source(const char *text);

#endif
