/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flash algorithm, in the form of the CMSIS packs, for the virtual board mps2-an385. The board
 * has RAM where others have flash: 256 kB of it, from address 0 on, are treated as flash here.
 * Erased bytes are 0xff; programming clears bits and fails where it would have to set one.
 *
 * The code runs wherever it is put: it calls by relative branches, and its data are reached
 * through R9, which the debugger sets.
 */
#include <stddef.h>
#include <stdint.h>

#define PAGE        1024u
#define SECTOR      4096u
#define SIZE        (64u * SECTOR)
#define EMPTY       0xffffffffu
#define FOR_ERASE   1u
#define FOR_PROGRAM 2u

struct sector {
    uint32_t size;
    uint32_t address; /* from the start of the flash on */
};

struct device {
    uint16_t version;
    char name[128];
    uint16_t type; /* 1: on the chip */
    uint32_t start;
    uint32_t size;
    uint32_t page;
    uint32_t reserved;
    uint8_t empty;
    uint32_t program_ms;
    uint32_t erase_ms;
    struct sector sectors[2];
};

__attribute__((section("DevDscr"), used)) const struct device FlashDevice = {
    .version = 0x0101,
    .name = "btraced virtual flash 256 kB",
    .type = 1,
    .start = 0,
    .size = SIZE,
    .page = PAGE,
    .empty = 0xff,
    .program_ms = 1000,
    .erase_ms = 1000,
    .sectors = {{SECTOR, 0}, {EMPTY, EMPTY}},
};

struct data {
    uint32_t purpose; /* of the last Init: 0 erases and programs nothing */
};

__attribute__((section("PrgData"), used)) static struct data first;
register struct data *data __asm__("r9");

int Init(uint32_t address, uint32_t clock, uint32_t purpose);
int UnInit(uint32_t purpose);
int EraseChip(void);
int EraseSector(uint32_t address);
int ProgramPage(uint32_t address, uint32_t size, const uint32_t *words);
int BlankCheck(uint32_t address, uint32_t size, uint8_t pattern);

int Init(uint32_t address, uint32_t clock, uint32_t purpose)
{
    (void)clock;
    data->purpose = purpose;
    return address != 0;
}

int UnInit(uint32_t purpose)
{
    int other = data->purpose != purpose;
    data->purpose = 0;
    return other;
}

static int outside(uint32_t address, uint32_t size)
{
    return address >= SIZE || size > SIZE - address || address % 4 != 0;
}

int EraseSector(uint32_t address)
{
    volatile uint32_t *word = (volatile uint32_t *)(address & ~(SECTOR - 1));
    if (data->purpose != FOR_ERASE || outside(address, 0))
        return 1;
    for (uint32_t k = 0; k < SECTOR / 4; k++)
        word[k] = EMPTY;
    return 0;
}

int EraseChip(void)
{
    int failed = 0;
    for (uint32_t address = 0; address < SIZE; address += SECTOR)
        failed |= EraseSector(address);
    return failed;
}

int ProgramPage(uint32_t address, uint32_t size, const uint32_t *words)
{
    volatile uint32_t *word = (volatile uint32_t *)address;
    if (data->purpose != FOR_PROGRAM || outside(address, size))
        return 1;
    for (uint32_t k = 0; k < size / 4; k++) {
        if ((word[k] & words[k]) != words[k])
            return 1;
        word[k] = words[k];
    }
    return 0;
}

int BlankCheck(uint32_t address, uint32_t size, uint8_t pattern)
{
    volatile const uint8_t *byte = (volatile const uint8_t *)address;
    if (outside(address, size))
        return 1;
    for (uint32_t k = 0; k < size; k++) {
        if (byte[k] != pattern)
            return 1;
    }
    return 0;
}
