/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies where in a core's memory, for forward execution: constant bytes of the program, RAM
 * that only this core writes, and all else, of which nothing is known without being told.
 */
#ifndef SERVER_REVERSE_MAP_H
#define SERVER_REVERSE_MAP_H

#include "decoder/execute/execute_memory.h"
#include "decoder/program/code_image.h"
#include "drivers/elf/elf_image.h"

struct reverse_span {
    uint64_t from, to; /* exclusive */
};

struct reverse_map_range {
    uint64_t from, to;
    enum execute_memory_kind kind;
    const uint8_t *bytes; /* CONST: at `from` */
};

struct reverse_map {
    struct reverse_map_range *ranges; /* sorted, without holes from 0 to UINT64_MAX */
    size_t count, max;
    size_t last; /* found last */
};

/* All is OTHER. BT_OK or BT_ERR_NOMEM; release in both cases. */
int reverse_map_init(struct reverse_map *m);
void reverse_map_release(struct reverse_map *m);

/* [from, to) is of that kind now; `over` false: only what is OTHER. BT_OK or BT_ERR_NOMEM. */
int reverse_map_put(struct reverse_map *m, const struct reverse_map_range *range, bool over);

/*
 * What the program says: its constants as the newest code has them (what the debugger wrote there
 * is OTHER), also where they are loaded, and its RAM. The file must stay. BT_OK or BT_ERR_NOMEM.
 */
int reverse_map_program(struct reverse_map *m, const struct elf_image *elf,
                        const struct code_image *image, uint16_t core);

/* An execute_kind_fn; `context` is the map. */
enum execute_memory_kind reverse_map_kind(void *context, uint64_t address, uint64_t *from,
                                          uint64_t *to, const uint8_t **bytes);

#endif
