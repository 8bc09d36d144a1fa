/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flash algorithms in the form of the CMSIS packs (.FLM): an ELF file with position-independent
 * functions that erase and program a flash memory, and a table that describes it. Open-CMSIS-Pack
 * Specification, "Flash Programming". Running them: flash_algorithm_run.h.
 *
 * What an algorithm has is read only after it was opened;
 * it holds no reference to the file. */
#ifndef DRIVERS_FLASH_ALGORITHM_H
#define DRIVERS_FLASH_ALGORITHM_H

#include "btrace/types.h"
#include "drivers/base/message.h"

#define FLASH_ALGORITHM_REGIONS 512u
#define FLASH_ALGORITHM_NAME    128u
#define FLASH_ALGORITHM_IMAGE   0x100000u   /* bytes of an image, at most */
#define FLASH_ALGORITHM_PAGE    0x10000u    /* bytes of a page, at most */
#define FLASH_ALGORITHM_NONE    0xffffffffu /* the file does not have this function */

enum flash_function {
    FLASH_INIT,
    FLASH_UNINIT,
    FLASH_ERASE_SECTOR,
    FLASH_PROGRAM_PAGE,
    FLASH_ERASE_CHIP, /* this and what follows are optional */
    FLASH_BLANK_CHECK,
    FLASH_VERIFY,
    FLASH_FUNCTIONS
};

/* "EraseSector" ... */
const char *flash_function_name(enum flash_function function);

/* Sectors of one size, one after the other. */
struct flash_region {
    uint32_t start;
    uint32_t size; /* bytes: a multiple of sector_size */
    uint32_t sector_size;
};

struct flash_algorithm {
    char name[FLASH_ALGORITHM_NAME + 1]; /* what the file says; printable */
    uint32_t start;                      /* of the flash, for the core */
    uint32_t size;                /* bytes, at least 1; start + size fits 32 bits or is 2^32 */
    uint32_t page_size;           /* bytes of one call of ProgramPage, 1.._PAGE */
    uint8_t empty;                /* a byte that is erased */
    uint32_t program_ms;          /* time for one page; 0: the file does not say */
    uint32_t erase_ms;            /* time for one sector */
    struct flash_region *regions; /* rising, without holes, from `start` on */
    unsigned region_count;        /* at least 1 */
    uint8_t *image;               /* code and data for the target's RAM */
    uint32_t image_size;          /* 1.._IMAGE */
    uint32_t static_base;         /* offset in the image: for R9 */
    uint32_t functions[FLASH_FUNCTIONS]; /* offsets in the image, without Thumb bit */
};

/*
 * Open a file, or its bytes.
 * Return:
 *   0                   *out is the algorithm; release with flash_algorithm_close()
 *   BT_ERR_IO           cannot be read
 *   BT_ERR_FORMAT       no ELF file, or damaged, or no flash algorithm
 *   BT_ERR_UNSUPPORTED  not for a little-endian Arm core of 32 bits
 *   BT_ERR_RANGE        larger than is taken here
 *   BT_ERR_NOMEM
 * On error *out is NULL and *why has a short text without the file.
 */
int flash_algorithm_open(const char *path, struct flash_algorithm **out, struct message *why);
int flash_algorithm_from_memory(const uint8_t *data, size_t size, struct flash_algorithm **out,
                                struct message *why);

/* NULL is allowed. */
void flash_algorithm_close(struct flash_algorithm *algorithm);

/* The sector with `address`. BT_ERR_RANGE: it is outside of the flash. */
int flash_algorithm_sector(const struct flash_algorithm *algorithm, uint32_t address,
                           uint32_t *start, uint32_t *size);

#endif
