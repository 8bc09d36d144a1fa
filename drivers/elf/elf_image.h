/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ELF files of ARM (ELF32) and AArch64 (ELF64) programs: bytes of the loadable segments, what is
 * needed to decode them, and function names by address. ELF for the Arm Architecture (AAELF32),
 * Addenda (build attributes, ADDENDA32), ELF for the Arm 64-bit Architecture (AAELF64).
 *
 * The file is mapped read-only; everything handed out is valid until elf_image_close(). Any bytes
 * are accepted as input: what does not hold together is refused or left out. An image is read-only
 * after open and may be used from any number of threads.
 */
#ifndef DRIVERS_ELF_IMAGE_H
#define DRIVERS_ELF_IMAGE_H

#include "btrace/types.h"
#include "drivers/base/message.h"

enum elf_machine {
    ELF_MACHINE_ARM,
    ELF_MACHINE_AARCH64,
};

/* One PT_LOAD segment with bytes in the file. */
struct elf_segment {
    uint64_t vaddr;      /* where the program runs */
    uint64_t paddr;      /* where it is loaded (flash of an image that copies itself) */
    const uint8_t *data; /* file_size bytes */
    uint64_t offset;     /* of data in the file */
    uint64_t file_size;  /* bytes in the file: at least 1 */
    uint64_t mem_size;   /* bytes in memory, >= file_size; the rest is zero */
    bool executable;     /* PF_X */
    bool writable;       /* PF_W: memory may have changed since it was loaded */
};

/* One function, or a label of code without a type. Sorted by address. */
struct elf_symbol {
    uint64_t address; /* of the first byte: the Thumb bit is stripped */
    uint64_t size;    /* bytes; 0 if the file does not say */
    const char *name; /* as in the file (not demangled) */
    bool thumb;       /* T32 entry (bit 0 of the value was set) */
};

/* Mapping symbols ($a, $t, $d, $x; AAELF32 5.5.5): what the bytes from `address` on are. */
enum elf_content {
    ELF_CONTENT_DATA,
    ELF_CONTENT_A32,
    ELF_CONTENT_T32,
    ELF_CONTENT_A64,
    ELF_CONTENT_UNKNOWN, /* the file has no mapping symbol there */
};

struct elf_image {
    enum elf_machine machine;
    bool big_endian;      /* data */
    bool hard_float;      /* floating-point arguments and results are in registers */
    bool code_big_endian; /* instructions: false for BE8 (EF_ARM_BE8), true for BE32 */
    bool be8;
    uint64_t entry;    /* Thumb bit stripped; 0 if the file has none */
    char profile;      /* 'A', 'R', 'M' from Tag_CPU_arch_profile, 'S' (A or R); 0 if not known */
    unsigned cpu_arch; /* Tag_CPU_arch (10 = v7, 13 = v7E-M, 14 = v8...); 0 if not known */
    char cpu_name[32]; /* Tag_CPU_name ("Cortex-M3", "7-M"); "" if not known */
    struct elf_segment *segments; /* sorted by vaddr; may overlap only in hostile files */
    size_t segment_count;
    struct elf_symbol *symbols; /* sorted by address, then size */
    size_t symbol_count;
    struct elf_image_private *priv;
};

/*
 * Open an ELF file.
 * Return:
 *   0                   *out is the image; release with elf_image_close()
 *   BT_ERR_IO           cannot be read
 *   BT_ERR_FORMAT       not an ELF file, or damaged: a segment reaches out of the file...
 *   BT_ERR_UNSUPPORTED  an ELF file, but not an executable or shared object of ARM or AArch64
 *   BT_ERR_RANGE        larger than this reader takes (number of segments or symbols)
 *   BT_ERR_NOMEM
 * On error *out is NULL, and *why has a short text without the file.
 */
int elf_image_open(const char *path, struct elf_image **out, struct message *why);

/* As above, of bytes in memory, which must stay and not change until elf_image_close(). */
int elf_image_from_memory(const uint8_t *data, size_t size, struct elf_image **out,
                          struct message *why);

/* Free the image. NULL is allowed. */
void elf_image_close(struct elf_image *image);

/*
 * The function at `address` (Thumb bit stripped by the caller), with the offset into it. A symbol
 * with a size covers its size; one without covers everything up to the next symbol, inside one
 * segment. Of several at one address a sized one is preferred. NULL if there is none.
 */
const struct elf_symbol *elf_image_symbol(const struct elf_image *image, uint64_t address,
                                          uint64_t *offset);

/* The symbol of this exact name, or NULL. */
const struct elf_symbol *elf_image_find(const struct elf_image *image, const char *name);

/* Where the variable of this exact name is, and its size; false: there is none. */
bool elf_image_variable(const struct elf_image *image, const char *name, uint64_t *address,
                        uint64_t *size);

/* What mapping symbols say of the byte at `address`. */
enum elf_content elf_image_content(const struct elf_image *image, uint64_t address);

/*
 * What the program uses memory at `address` for: by its sections, where there are none by its
 * segments (AAELF32 5.3). A segment that holds code and data may be writable as a whole, its
 * section of code is constant all the same.
 */
enum elf_use {
    ELF_USE_NONE,  /* the program does not name the address */
    ELF_USE_CONST, /* code and constants */
    ELF_USE_RAM,
};
enum elf_use elf_image_use(const struct elf_image *image, uint64_t address);

/* As above; *to is the end (exclusive) of what is of one kind with `address`, or nearer. */
enum elf_use elf_image_use_run(const struct elf_image *image, uint64_t address, uint64_t *to);

/* The variable that holds `address`; false: there is none. *name lives as long as the image. */
bool elf_image_variable_at(const struct elf_image *image, uint64_t address, uint64_t *start,
                           uint64_t *size, const char **name);

#endif
