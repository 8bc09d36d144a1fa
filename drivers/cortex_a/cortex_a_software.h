/* SPDX-License-Identifier: BSD-3-Clause */
/* Software breakpoints of ARMv7-A cores, and memory below them. Results as in cortex_a.h. */
#ifndef DRIVERS_CORTEX_A_SOFTWARE_H
#define DRIVERS_CORTEX_A_SOFTWARE_H

#include "drivers/cortex_a/cortex_a.h"

/* Memory with what is planted in it. */
int cortex_a_read_plain(struct cortex_a *core, uint32_t address, uint8_t *bytes, size_t length);
int cortex_a_write_plain(struct cortex_a *core, uint32_t address, const uint8_t *bytes,
                         size_t length);

/* The program's bytes in the place of those that are planted. */
void cortex_a_show_original(const struct cortex_a_software *software, uint32_t address,
                            uint8_t *bytes, size_t length);

/* Behind a write of `bytes`: they are the original now where something is planted, and that is
 * planted again. */
int cortex_a_put_back(struct cortex_a *core, uint32_t address, const uint8_t *bytes, size_t length);

int cortex_a_insert_software(struct cortex_a *core, uint32_t address, unsigned length);
int cortex_a_remove_software(struct cortex_a *core, uint32_t address);
bool cortex_a_software_at(const struct cortex_a *core, uint32_t address);
int cortex_a_lift_software(struct cortex_a *core, uint32_t address, bool away);

#endif
