/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a core is in the handler of a fault: it entered one, and has not come back. A handler
 * that repairs what failed returns, and is no crash.
 */
#ifndef SERVER_OPEN_FAULT_H
#define SERVER_OPEN_FAULT_H

#include "decoder/history/history.h"

/* Numbers as those of events: HardFault to SecureFault, aborts and undefined instructions. */
bool open_fault_is(unsigned exception, bool m_profile);

/* In words: "HardFault", "data abort". */
const char *open_fault_name(unsigned exception, bool m_profile);

/* Whether the newest exception of the history is a fault, and behind which instruction it came. At
 * most a few windows are decoded. */
bool open_fault_newest(struct history *h, uint64_t *position);

/* The same, and the core has not returned from it. Decodes all that came behind it. */
bool open_fault_now(struct history *h, const struct code_image *image, bool m_profile);

#endif
