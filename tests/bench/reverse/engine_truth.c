/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/reverse/engine_truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *read_all(const char *folder, const char *name, size_t *size, bool needed)
{
    char path[4096];
    uint8_t *bytes = NULL;
    long end = 0;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
        rewind(file);
        bytes = malloc((size_t)end + 1);
        if (bytes && fread(bytes, 1, (size_t)end, file) != (size_t)end)
            end = 0;
    }
    if (file)
        fclose(file);
    if (needed && (!bytes || end == 0)) {
        fprintf(stderr, "engine: cannot read '%s'\n", path);
        exit(1);
    }
    *size = bytes ? (size_t)end : 0;
    return bytes;
}

void truth_load(struct truth *t, const char *folder, uint32_t ram_base, bool wide)
{
    size_t size;
    void *states = read_all(folder, "states", &size, true);

    *t = (struct truth){.ram_base = ram_base};
    if (wide) {
        t->wide = states;
        t->count = size / sizeof *t->wide - 1;
        t->wide_system = read_all(folder, "system", &size, true);
    } else {
        t->states = states;
        t->count = size / sizeof *t->states - 1;
        t->system = read_all(folder, "system", &size, false);
    }
    t->accesses = read_all(folder, "accesses", &size, true);
    t->access_count = size / sizeof *t->accesses;
    t->locals = read_all(folder, "locals", &size, false);
    t->local_count = size / sizeof *t->locals;
}

void truth_release(struct truth *t)
{
    free(t->states);
    free(t->wide);
    free(t->system);
    free(t->wide_system);
    free(t->accesses);
    free(t->locals);
}

uint32_t truth_pc(const struct truth *t, size_t position)
{
    return t->wide ? (uint32_t)t->wide[position][32] : t->states[position][15];
}

void truth_ram_init(struct truth_ram *ram, const struct truth *t)
{
    memset(ram, 0, sizeof *ram);
    ram->truth = t;
}

void truth_ram_move(struct truth_ram *ram, size_t position)
{
    const struct truth *t = ram->truth;
    for (; ram->next < t->access_count; ram->next++) {
        const struct truth_access *a = &t->accesses[ram->next];
        uint32_t at = a->address - t->ram_base;
        if (a->index + !(a->flags & TRUTH_FRAME) > position)
            return;
        if (a->flags & TRUTH_STORE && a->size <= 8 && at <= TRUTH_RAM_SIZE - a->size)
            memcpy(ram->bytes + at, a->value, a->size);
    }
}

bool truth_ram_word(const struct truth_ram *ram, uint32_t address, uint32_t *value)
{
    uint32_t at = address - ram->truth->ram_base;
    if (at > TRUTH_RAM_SIZE - 4)
        return false;
    memcpy(value, ram->bytes + at, 4);
    return true;
}
