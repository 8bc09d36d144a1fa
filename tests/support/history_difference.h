/* SPDX-License-Identifier: BSD-3-Clause */
/* Two histories of the same trace, compared in all that can be asked of them. */
#ifndef TESTS_SUPPORT_HISTORY_DIFFERENCE_H
#define TESTS_SUPPORT_HISTORY_DIFFERENCE_H

#include "decoder/history/history.h"

/* NULL: there is none; else a text that says where they differ, valid until the next call. */
const char *history_difference(struct history *a, struct history *b);

#endif
