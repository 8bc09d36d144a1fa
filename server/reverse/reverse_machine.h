/* SPDX-License-Identifier: BSD-3-Clause */
/* What value reconstruction may assume of a core and of memory, from the program files. */
#ifndef SERVER_REVERSE_MACHINE_H
#define SERVER_REVERSE_MACHINE_H

#include "drivers/elf/elf_image.h"
#include "server/reverse/reverse_values.h"

/*
 * What the programs' code may do; it looks through all of it. Without a program nobody can tell:
 * then it may do everything.
 */
struct reverse_program reverse_program_of(struct elf_image *const *elf, size_t elf_count);

/* Stacks of tasks may be there, too. False: there are too many such places, or too large ones. */
bool reverse_program_add_ram(struct reverse_program *p, uint64_t address, uint64_t size);

/*
 * Kind of the memory at `address`, as far as it can be told: by the programs' sections; the stack
 * around `sp` is RAM. `shared`: other cores write, too, so only the stack is this core's own, but
 * no variable beside it, and only while it has saved registers there.
 */
enum values_memory reverse_memory_kind(struct elf_image *const *elf, size_t elf_count,
                                       uint32_t address, uint32_t sp, bool shared);

/* "ARM7TDMI" and the like: see decoder/values/values.h. */
bool reverse_has_bit_band(const char *type);
bool reverse_has_limits(const char *type); /* of stacks: an M-profile core of ARMv8-M */
bool reverse_is_v4t(const char *type);

#endif
