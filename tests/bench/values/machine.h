/* SPDX-License-Identifier: BSD-3-Clause */
/* An emulated core whose every state is written down: the truth for reconstructed values. */
#ifndef TESTS_VALUES_MACHINE_H
#define TESTS_VALUES_MACHINE_H

#include "decoder/values/values.h"

#define CODE_BASE  0x00010000u
#define CODE_SIZE  0x00010000u
#define RAM_BASE   0x20000000u
#define RAM_SIZE   0x00010000u
#define MAGIC_EXIT 0x00f00000u

struct state {
    uint32_t regs[16];
    uint32_t cpsr;
};

struct write {
    uint32_t step; /* instruction, or the exception before it */
    uint32_t address;
    uint32_t old[3]; /* words around, from address & ~3 */
};

struct machine {
    void *uc;
    struct values_insn *insns;
    struct state *states; /* one more than insns */
    struct write *writes;
    struct bt_event *events;
    size_t count, max, write_count, write_max, event_count, event_max;
    uint8_t ram[RAM_SIZE];
    uint8_t code[CODE_SIZE];
    uint8_t it;
    bool thumb;
    /* M-profile exceptions, taken at random. */
    uint32_t handler; /* address with T bit; 0: none */
    unsigned irq_every;
    unsigned active, pending;
    uint32_t seed;
};

uint32_t machine_random(uint32_t *seed);

/* Loads code, fills RAM with noise and runs at most `max` instructions. */
int machine_run(struct machine *m, const uint8_t *code, size_t size, uint32_t entry, size_t max,
                uint32_t seed);
void machine_release(struct machine *m);

#endif
