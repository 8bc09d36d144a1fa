/* SPDX-License-Identifier: BSD-3-Clause */
/* What value reconstruction may assume of a core and of memory, from the program files. */
#ifndef SERVER_REVERSE_MACHINE_H
#define SERVER_REVERSE_MACHINE_H

#include "drivers/elf/elf_image.h"
#include "server/reverse/reverse_values.h"

/*
 * M profile: the programs' code goes to the other security state (BXNS, BLXNS). True without a
 * program: nobody can tell.
 */
bool reverse_two_states(struct elf_image *const *elf, size_t elf_count);

/*
 * M profile: nothing in the programs' code writes PSP or CONTROL, so there is one stack. False
 * without a program: nobody can tell.
 */
bool reverse_one_stack(struct elf_image *const *elf, size_t elf_count);
/* There may be floating-point instructions. */
/*
 * Nothing in the program sends exceptions to Monitor or Hyp mode, so that each goes to the mode of
 * its name. False without a program.
 */
bool reverse_plain_modes(struct elf_image *const *elf, size_t elf_count);
bool reverse_has_float(struct elf_image *const *elf, size_t elf_count);

/*
 * Kind of the memory at `address`, as far as it can be told: by the programs' sections; the stack
 * around `sp` is RAM. `shared`: other cores write, too,
 * so only the stack is this core's own. */
enum values_memory reverse_memory_kind(struct elf_image *const *elf, size_t elf_count,
                                       uint32_t address, uint32_t sp, bool shared);

/* "ARM7TDMI" and the like: see decoder/values/values.h. */
bool reverse_is_v4t(const char *type);

#endif
