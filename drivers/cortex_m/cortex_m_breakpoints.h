/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparators of a Cortex-M, for cortex_m_insert() and cortex_m_remove(). DDI 0403E.e C1.8 and
 * C1.11; results as there. */
#ifndef DRIVERS_CORTEX_M_BREAKPOINTS_H
#define DRIVERS_CORTEX_M_BREAKPOINTS_H

#include "drivers/cortex_m/cortex_m.h"

int cortex_m_insert_hardware(struct cortex_m *core, uint32_t address);
int cortex_m_remove_hardware(struct cortex_m *core, uint32_t address);
/* All comparators for breakpoints on or off. */
int cortex_m_enable_units(struct cortex_m *core, bool on);
bool cortex_m_hardware_at(const struct cortex_m *core, uint32_t address);
int cortex_m_insert_watch(struct cortex_m *core, enum cortex_m_breakpoint_kind kind,
                          uint32_t address, uint32_t length);
int cortex_m_remove_watch(struct cortex_m *core, enum cortex_m_breakpoint_kind kind,
                          uint32_t address, uint32_t length);

#endif
