/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/elf/elf_image.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/elf/elf_image_internal.h"
#include "tests/support/unit_main.h"

/* The bytes of a file that belong to an address, and how many follow. */
static int image_bytes(const struct elf_image *image, uint64_t address, const uint8_t **data,
                       uint64_t *size)
{
    /* Few segments, and hostile ones may overlap: the first that has the address. */
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (address < s->vaddr || address - s->vaddr >= s->file_size)
            continue;
        *data = s->data + (address - s->vaddr);
        *size = s->file_size - (address - s->vaddr);
        return 0;
    }
    return BT_ERR_NO_CODE;
}

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_elf_image.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Assemble and link `source`; returns the image, opened from the file. */
static struct elf_image *build(const char *source, const char *as_flags, const char *ld_flags)
{
    char text[512];
    snprintf(text, sizeof text, "%s/x.s", folder);
    FILE *f = fopen(text, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(source, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    snprintf(text, sizeof text,
             "cd %s && arm-none-eabi-as %s x.s -o x.o && arm-none-eabi-ld %s x.o -o x.elf", folder,
             as_flags, ld_flags);
    ck_assert_int_eq(system(text), 0);
    snprintf(text, sizeof text, "%s/x.elf", folder);
    struct elf_image *image;
    struct message why = {.text = ""};
    int result = elf_image_open(text, &image, &why);
    ck_assert_msg(result == 0, "%s", why.text);
    return image;
}

/* Images of the GNU toolchain. */

/* A32 and T32 functions, a label in a function, one behind it, data, .data apart from .text. */
static const char mixed_source[] = ".syntax unified\n.text\n.global _start\n"
                                   ".arm\n.type _start,%function\n_start: nop\ninner: nop\n"
                                   " .word 0x12345678\n.size _start,.-_start\n"
                                   "tail: nop\n"
                                   ".thumb\n.thumb_func\n.type fast,%function\n.global fast\n"
                                   "fast: nop\n nop\n.size fast,.-fast\n"
                                   "slow: nop\n"
                                   ".data\n.type counter,%object\ncounter: .word 1,2\n"
                                   ".size counter,8\n.bss\n.space 12\n";

static void expect_symbol(const struct elf_image *image, uint64_t address, const char *name,
                          uint64_t offset)
{
    uint64_t found = 99;
    const struct elf_symbol *s = elf_image_symbol(image, address, &found);
    if (!name) {
        ck_assert_msg(!s, "0x%llx is in '%s'", (unsigned long long)address, s ? s->name : "");
        return;
    }
    ck_assert_msg(s != NULL, "0x%llx has no symbol", (unsigned long long)address);
    ck_assert_str_eq(s->name, name);
    ck_assert_uint_eq(found, offset);
}

START_TEST(mixed)
{
    struct elf_image *image = build(mixed_source, "-march=armv7-a", "-Ttext 0x8000 -Tdata 0x20000");
    ck_assert_int_eq(image->machine, ELF_MACHINE_ARM);
    ck_assert(!image->big_endian && !image->code_big_endian && !image->be8);
    ck_assert_uint_eq(image->entry, 0x8000);
    ck_assert_int_eq(image->profile, 'A');
    ck_assert_uint_eq(image->cpu_arch, 10);
    ck_assert_str_eq(image->cpu_name, "7-A");

    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(image_bytes(image, 0x8008, &data, &size), 0);
    ck_assert_mem_eq(data, "\x78\x56\x34\x12", 4);
    ck_assert_uint_ge(size, 4 + 4 + 4 + 2);
    ck_assert_int_eq(image_bytes(image, 0x20007, &data, &size), 0);
    ck_assert_uint_eq(size, 1);
    ck_assert_int_eq(image_bytes(image, 0x20008, &data, &size), BT_ERR_NO_CODE);
    ck_assert_int_eq(image_bytes(image, 0x30000, &data, &size), BT_ERR_NO_CODE);
    ck_assert_int_eq(image_bytes(image, 0x10000, &data, &size), BT_ERR_NO_CODE);

    const struct elf_segment *last = &image->segments[image->segment_count - 1];
    ck_assert(last->writable && !last->executable);
    ck_assert_uint_eq(last->mem_size, 8 + 12);
    bool executable = false;
    for (size_t i = 0; i < image->segment_count; i++)
        executable |= image->segments[i].executable;
    ck_assert(executable);
    elf_image_close(image);
}
END_TEST

START_TEST(symbols)
{
    struct elf_image *image = build(mixed_source, "-march=armv7-a", "-Ttext 0x8000 -Tdata 0x20000");
    expect_symbol(image, 0x7fff, NULL, 0);
    expect_symbol(image, 0x8000, "_start", 0);
    expect_symbol(image, 0x8006, "_start", 6);
    expect_symbol(image, 0x800b, "_start", 11);
    expect_symbol(image, 0x800c, "tail", 0);
    expect_symbol(image, 0x800f, "tail", 3);
    expect_symbol(image, 0x8010, "fast", 0);
    expect_symbol(image, 0x8013, "fast", 3);
    expect_symbol(image, 0x8014, "slow", 0);
    expect_symbol(image, 0x20000, NULL, 0);

    const struct elf_symbol *s = elf_image_find(image, "fast");
    ck_assert_ptr_nonnull(s);
    ck_assert(s->thumb && s->address == 0x8010 && s->size == 4);
    ck_assert(elf_image_find(image, "slow")->thumb);
    ck_assert(!elf_image_find(image, "tail")->thumb);
    ck_assert_uint_eq(elf_image_find(image, "inner")->address, 0x8004);
    ck_assert_ptr_null(elf_image_find(image, "counter"));
    ck_assert_ptr_null(elf_image_find(image, "$a"));
    for (size_t i = 1; i < image->symbol_count; i++)
        ck_assert_uint_le(image->symbols[i - 1].address, image->symbols[i].address);
    elf_image_close(image);
}
END_TEST

START_TEST(mapping_symbols)
{
    struct elf_image *image = build(mixed_source, "-march=armv7-a", "-Ttext 0x8000 -Tdata 0x20000");
    ck_assert_int_eq(elf_image_content(image, 0x7fff), ELF_CONTENT_UNKNOWN);
    ck_assert_int_eq(elf_image_content(image, 0x8007), ELF_CONTENT_A32);
    ck_assert_int_eq(elf_image_content(image, 0x8008), ELF_CONTENT_DATA);
    ck_assert_int_eq(elf_image_content(image, 0x800c), ELF_CONTENT_A32);
    ck_assert_int_eq(elf_image_content(image, 0x8010), ELF_CONTENT_T32);
    ck_assert_int_eq(elf_image_content(image, 0x8015), ELF_CONTENT_T32);
    ck_assert_int_eq(elf_image_content(image, 0x9000), ELF_CONTENT_UNKNOWN);
    elf_image_close(image);
}
END_TEST

START_TEST(nested_and_aliases)
{
    struct elf_image *image =
        build(".syntax unified\n.text\n.global _start\n.arm\n"
              ".type outer,%function\n.global outer\n_start: outer: nop\n"
              ".type in1,%function\nin1: nop\n.size in1,4\n"
              ".type in2,%function\nin2: nop\nnop\n.size in2,4\n nop\n.size outer,.-outer\n"
              ".type a1,%function\n.type a2,%function\na1: a2: nop\n nop\n"
              ".size a1,4\n.size a2,8\n nop\n",
              "-march=armv7-a", "-Ttext 0x8000");
    expect_symbol(image, 0x8000, "outer", 0);
    expect_symbol(image, 0x8004, "in1", 0);
    expect_symbol(image, 0x8008, "in2", 0);
    expect_symbol(image, 0x800c, "outer", 12);
    expect_symbol(image, 0x8010, "outer", 16);
    expect_symbol(image, 0x8014, "a2", 0);
    expect_symbol(image, 0x8018, "a2", 4);
    expect_symbol(image, 0x801c, NULL, 0);
    elf_image_close(image);
}
END_TEST

START_TEST(big_endian)
{
    static const char source[] = ".syntax unified\n.text\n.global _start\n.arm\n"
                                 ".type _start,%function\n_start: nop\n.word 0x12345678\n"
                                 ".size _start,8\n";
    const uint8_t *data;
    uint64_t size;
    struct elf_image *image = build(source, "-EB -march=armv7-r", "-EB --be8 -Ttext 0x8000");
    ck_assert(image->big_endian && image->be8 && !image->code_big_endian);
    ck_assert_int_eq(image->profile, 'R');
    ck_assert_int_eq(image_bytes(image, 0x8000, &data, &size), 0);
    ck_assert_mem_eq(data, "\x00\xf0\x20\xe3\x12\x34\x56\x78", 8);
    expect_symbol(image, 0x8004, "_start", 4);
    ck_assert_int_eq(elf_image_content(image, 0x8004), ELF_CONTENT_DATA);
    elf_image_close(image);

    image = build(source, "-EB -march=armv5te", "-EB -Ttext 0x8000");
    ck_assert(image->big_endian && !image->be8 && image->code_big_endian);
    ck_assert_int_eq(image->profile, 0);
    ck_assert_uint_eq(image->cpu_arch, 4);
    ck_assert_int_eq(image_bytes(image, 0x8004, &data, &size), 0);
    ck_assert_mem_eq(data, "\x12\x34\x56\x78", 4);
    elf_image_close(image);
}
END_TEST

START_TEST(cortex_m)
{
    static const char source[] = ".syntax unified\n.cpu cortex-m4\n.thumb\n.text\n.global main\n"
                                 ".type main,%function\n.thumb_func\nmain: nop\n.size main,2\n"
                                 ".data\n.word 7\n";
    struct elf_image *image =
        build(source, "-mcpu=cortex-m4", "-e main -Ttext 0x08000000 -Tdata 0x20000000");
    ck_assert_int_eq(image->profile, 'M');
    ck_assert_uint_eq(image->cpu_arch, 13);
    ck_assert_str_eq(image->cpu_name, "Cortex-M4");
    ck_assert_uint_eq(image->entry, 0x08000000);
    elf_image_close(image);
    /* Profile from the architecture alone. */
    image = build(".thumb\n.cpu cortex-m0\n.global m\n.thumb_func\nm: nop\n", "", "-e m");
    ck_assert_int_eq(image->profile, 'M');
    elf_image_close(image);
}
END_TEST

/* Load address and run address of .data differ, as in firmware that copies it. */
START_TEST(physical_addresses)
{
    char script[128];
    snprintf(script, sizeof script, "%s/x.ld", folder);
    FILE *f = fopen(script, "w");
    ck_assert_ptr_nonnull(f);
    fputs("SECTIONS { .text 0x08000000 : { *(.text) } "
          ".data 0x20000000 : AT(0x08001000) { *(.data) } }\n",
          f);
    ck_assert_int_eq(fclose(f), 0);
    struct elf_image *image = build(".thumb\n.cpu cortex-m3\n.global m\n.thumb_func\nm: nop\n"
                                    ".data\n.word 7\n",
                                    "", "-e m -T x.ld");
    ck_assert_uint_eq(image->segment_count, 2);
    ck_assert_uint_eq(image->segments[0].vaddr, 0x08000000);
    ck_assert_uint_eq(image->segments[0].paddr, 0x08000000);
    ck_assert_uint_eq(image->segments[1].vaddr, 0x20000000);
    ck_assert_uint_eq(image->segments[1].paddr, 0x08001000);
    elf_image_close(image);
}
END_TEST

START_TEST(stripped)
{
    struct elf_image *image = build(mixed_source, "-march=armv7-a", "-s -Ttext 0x8000");
    ck_assert_uint_eq(image->symbol_count, 0);
    expect_symbol(image, 0x8000, NULL, 0);
    ck_assert_int_eq(elf_image_content(image, 0x8000), ELF_CONTENT_UNKNOWN);
    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(image_bytes(image, 0x8000, &data, &size), 0);
    elf_image_close(image);
}
END_TEST

/* Made by hand. */

struct tiny64 {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint8_t code[8];
};

static struct tiny64 tiny64(void)
{
    struct tiny64 t = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_EXEC,
                   .e_machine = EM_AARCH64,
                   .e_version = EV_CURRENT,
                   .e_entry = 0xffffffc000080001,
                   .e_phoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
        .segment = {.p_type = PT_LOAD,
                    .p_flags = PF_R | PF_X,
                    .p_offset = offsetof(struct tiny64, code),
                    .p_vaddr = 0xffffffc000080000,
                    .p_paddr = 0x80000,
                    .p_filesz = 8,
                    .p_memsz = 0x100},
        .code = {1, 2, 3, 4, 5, 6, 7, 8},
    };
    return t;
}

static struct elf_image *open_tiny(const struct tiny64 *t, int expected, const char *reason)
{
    struct elf_image *image;
    struct message why = {.text = ""};
    int result = elf_image_from_memory((const uint8_t *)t, sizeof *t, &image, &why);
    ck_assert_str_eq(why.text, reason);
    ck_assert_int_eq(result, expected);
    ck_assert((result == 0) == (image != NULL));
    return image;
}

START_TEST(aarch64)
{
    struct tiny64 t = tiny64();
    struct elf_image *image = open_tiny(&t, 0, "");
    ck_assert_int_eq(image->machine, ELF_MACHINE_AARCH64);
    ck_assert_uint_eq(image->entry, 0xffffffc000080001);
    ck_assert(!image->big_endian);
    ck_assert_uint_eq(image->segment_count, 1);
    ck_assert_uint_eq(image->segments[0].paddr, 0x80000);
    ck_assert_uint_eq(image->segments[0].mem_size, 0x100);
    const uint8_t *data;
    uint64_t size;
    ck_assert_int_eq(image_bytes(image, 0xffffffc000080005, &data, &size), 0);
    ck_assert_uint_eq(size, 3);
    ck_assert_uint_eq(data[0], 6);
    ck_assert_int_eq(image_bytes(image, 0xffffffc000080008, &data, &size), BT_ERR_NO_CODE);
    elf_image_close(image);
}
END_TEST

START_TEST(refused)
{
    static const char beyond[] = "truncated: a segment reaches beyond the end of the file";
    struct tiny64 t = tiny64();
    t.segment.p_filesz = 9;
    open_tiny(&t, BT_ERR_FORMAT, beyond);
    t = tiny64();
    t.segment.p_offset = UINT64_MAX - 3;
    open_tiny(&t, BT_ERR_FORMAT, beyond);
    t = tiny64();
    t.segment.p_memsz = 7;
    open_tiny(&t, BT_ERR_FORMAT, "a segment has more bytes in the file than in memory");
    t = tiny64();
    t.segment.p_vaddr = UINT64_MAX - 0xfe;
    open_tiny(&t, BT_ERR_FORMAT, "a segment reaches beyond the last address");
    t.segment.p_vaddr--;
    elf_image_close(open_tiny(&t, 0, ""));
    t = tiny64();
    t.header.e_phoff = sizeof t - 4;
    open_tiny(&t, BT_ERR_FORMAT, "truncated: its headers lie beyond the end of the file");
    t = tiny64();
    t.header.e_type = ET_REL;
    open_tiny(&t, BT_ERR_UNSUPPORTED, "not linked: neither executable nor shared object");
    t = tiny64();
    t.header.e_machine = EM_ARM; /* 64-bit ARM: there is no such thing */
    open_tiny(&t, BT_ERR_UNSUPPORTED, "not for ARM or AArch64");
    t = tiny64();
    t.header.e_ident[0] = 'x';
    open_tiny(&t, BT_ERR_FORMAT, "not an ELF file");
    t = tiny64();
    t.segment.p_filesz = 0;
    struct elf_image *image = open_tiny(&t, 0, "");
    ck_assert_uint_eq(image->segment_count, 0);
    elf_image_close(image);
}
END_TEST

START_TEST(other_files)
{
    struct elf_image *image;
    struct message why;
    ck_assert_int_eq(elf_image_open("/proc/self/exe", &image, &why), BT_ERR_UNSUPPORTED);
    ck_assert_str_eq(why.text, "not for ARM or AArch64");
    ck_assert_ptr_null(image);
    ck_assert_int_eq(elf_image_open("/nonexistent", &image, &why), BT_ERR_IO);
    ck_assert_str_eq(why.text, "No such file or directory");
    ck_assert_int_eq(elf_image_open("/", &image, &why), BT_ERR_IO);
    ck_assert_str_eq(why.text, "Is a directory");
    ck_assert_int_eq(elf_image_open("/dev/null", &image, &why), BT_ERR_IO);
    ck_assert_int_eq(elf_image_from_memory(NULL, 0, &image, &why), BT_ERR_FORMAT);
    elf_image_close(NULL);
}
END_TEST

/* Any prefix, and any single byte changed, of a real file: an answer, never a crash. */
START_TEST(damaged)
{
    elf_image_close(build(mixed_source, "-march=armv7-a", "-Ttext 0x100 -N"));
    char path[128];
    snprintf(path, sizeof path, "%s/x.elf", folder);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    static uint8_t bytes[65536];
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ck_assert(size > 500 && size < sizeof bytes);
    size_t opened = 0;
    for (size_t i = 0; i < 2 * size; i++) {
        size_t length = i < size ? i : size;
        uint8_t *copy = malloc(length ? length : 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, bytes, length);
        if (i >= size)
            copy[i - size] ^= 0xff;
        struct elf_image *image;
        struct message why;
        if (elf_image_from_memory(copy, length, &image, &why) == 0) {
            opened++;
            uint64_t offset;
            for (uint64_t a = 0xf8; a < 0x140; a++) {
                elf_image_symbol(image, a, &offset);
                elf_image_content(image, a);
            }
            elf_image_close(image);
        }
        free(copy);
    }
    ck_assert_uint_gt(opened, size / 2);
}
END_TEST

/* Build attributes. */

struct section {
    uint8_t bytes[256];
    size_t size;
};

static void put(struct section *s, const char *bytes, size_t length)
{
    memcpy(s->bytes + s->size, bytes, length);
    s->size += length;
}

/* A little-endian length at `at`, of everything from `start` on. */
static void put_length(struct section *s, size_t at, size_t start)
{
    s->bytes[at] = (uint8_t)(s->size - start);
}

#define PUT(s, literal) put(s, literal, sizeof(literal) - 1)

/* Another vendor first; a section's attributes; compatibility, strings and unknown tags between. */
static struct section make_attributes(void)
{
    struct section s = {0};
    PUT(&s, "A");
    size_t vendor = s.size;
    PUT(&s, "\0\0\0\0other\0abc");
    put_length(&s, vendor, vendor);

    vendor = s.size;
    PUT(&s, "\0\0\0\0aeabi\0");
    size_t part = s.size;
    PUT(&s, "\2\0\0\0\0\1\0\7A"); /* Tag_Section 1: profile A */
    put_length(&s, part + 1, part);
    part = s.size;
    PUT(&s, "\1\0\0\0\0");  /* Tag_File */
    PUT(&s, "\5M3\0");      /* CPU name */
    PUT(&s, "\x20\1gnu\0"); /* compatibility: number and string */
    PUT(&s, "\x41\7\6\0");  /* also compatible with: string */
    PUT(&s, "\x42\x81\1");  /* number of two bytes */
    PUT(&s, "\6\x0a\7M\x22\1");
    put_length(&s, part + 1, part);
    put_length(&s, vendor, vendor);
    return s;
}

/* From a heap block of that very size, so that the sanitizer sees any read beyond. */
static struct elf_image parse_attributes(const uint8_t *bytes, size_t size)
{
    struct elf_image image = {0};
    uint8_t *copy = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, size);
    elf_attributes_parse(&image, copy, size, false);
    free(copy);
    return image;
}

START_TEST(attributes)
{
    struct section s = make_attributes();
    struct elf_image image = parse_attributes(s.bytes, s.size);
    ck_assert_int_eq(image.profile, 'M');
    ck_assert_uint_eq(image.cpu_arch, 10);
    ck_assert_str_eq(image.cpu_name, "M3");
    for (size_t i = 0; i < s.size; i++) {
        parse_attributes(s.bytes, i);
        for (unsigned flip = 1; flip < 256; flip++) {
            struct section changed = s;
            changed.bytes[i] ^= (uint8_t)flip;
            image = parse_attributes(changed.bytes, changed.size);
            ck_assert(image.profile == 0 || strchr("ARMS", image.profile));
            ck_assert_uint_lt(strlen(image.cpu_name), sizeof image.cpu_name);
        }
    }
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_test(tc, test);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("elf_image");
    if (system("arm-none-eabi-ld --version >/dev/null 2>&1") == 0) {
        add(s, "elf_image: segments, entry, profile", mixed);
        add(s, "elf_image: symbol of an address", symbols);
        add(s, "elf_image: mapping symbols", mapping_symbols);
        add(s, "elf_image: functions in functions, and aliases", nested_and_aliases);
        add(s, "elf_image: BE8 and BE32", big_endian);
        add(s, "elf_image: Cortex-M", cortex_m);
        add(s, "elf_image: load and run addresses", physical_addresses);
        add(s, "elf_image: stripped", stripped);
        add(s, "elf_image: damaged in every byte", damaged);
    } else {
        printf("SKIP elf_image: images of the GNU toolchain: no arm-none-eabi-ld\n");
    }
    add(s, "elf_image: AArch64", aarch64);
    add(s, "elf_image: what does not hold together is refused", refused);
    add(s, "elf_image: files that are no ARM programs", other_files);
    add(s, "elf_image: build attributes", attributes);
    return s;
}
