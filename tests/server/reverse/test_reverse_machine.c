/* SPDX-License-Identifier: BSD-3-Clause */
/* What value reconstruction may assume, from the code and the segments of a small program. */
#include "server/reverse/reverse_machine.h"
#include "tests/support/unit_main.h"

#include <elf.h>
#include <string.h>

#define CODE  0x8000u
#define RAM   0x20000000u
#define BYTES 16u

/* A program of two segments without any section: code, and RAM. */
struct program {
    Elf32_Ehdr head;
    Elf32_Phdr segments[2];
    uint8_t code[BYTES], data[BYTES];
};

static void put(struct program *p, size_t at, uint16_t halfword)
{
    p->code[at] = (uint8_t)halfword;
    p->code[at + 1] = (uint8_t)(halfword >> 8);
}

static struct elf_image *load(struct program *p)
{
    static const unsigned char ident[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,   ELFMAG3,
                                          ELFCLASS32, ELFDATA2LSB, EV_CURRENT};
    struct elf_image *image = NULL;
    struct message why;
    memcpy(p->head.e_ident, ident, sizeof ident);
    p->head.e_type = ET_EXEC;
    p->head.e_machine = EM_ARM;
    p->head.e_version = EV_CURRENT;
    p->head.e_phoff = offsetof(struct program, segments);
    p->head.e_ehsize = sizeof p->head;
    p->head.e_phentsize = sizeof *p->segments;
    p->head.e_phnum = 2;
    p->segments[0] = (Elf32_Phdr){.p_type = PT_LOAD,
                                  .p_offset = offsetof(struct program, code),
                                  .p_vaddr = CODE,
                                  .p_filesz = BYTES,
                                  .p_memsz = BYTES,
                                  .p_flags = PF_R | PF_X};
    p->segments[1] = (Elf32_Phdr){.p_type = PT_LOAD,
                                  .p_offset = offsetof(struct program, data),
                                  .p_vaddr = RAM,
                                  .p_filesz = BYTES,
                                  .p_memsz = BYTES,
                                  .p_flags = PF_R | PF_W};
    ck_assert_msg(elf_image_from_memory((const uint8_t *)p, sizeof *p, &image, &why) == 0, "%s",
                  why.text);
    return image;
}

static struct reverse_program of_pair(uint16_t h1, uint16_t h2)
{
    struct program p = {.code = {0}};
    put(&p, 4, h1);
    put(&p, 6, h2);
    struct elf_image *image = load(&p);
    struct reverse_program is = reverse_program_of(&image, 1);
    elf_image_close(image);
    return is;
}

START_TEST(each_instruction_takes_one_assumption_away)
{
    struct reverse_program p = of_pair(0xbf00, 0xbf00); /* NOP */
    ck_assert(p.one_stack && !p.two_states && p.plain_modes && !p.has_float);
    p = of_pair(0xf380, 0x8809); /* MSR PSP, r0 */
    ck_assert(!p.one_stack && !p.two_states && p.plain_modes && !p.has_float);
    p = of_pair(0xf382, 0x8814); /* MSR CONTROL, r2 */
    ck_assert(!p.one_stack);
    p = of_pair(0xf380, 0x8808); /* MSR MSP, r0 */
    ck_assert(p.one_stack);
    p = of_pair(0x4704, 0xbf00); /* BXNS r0 */
    ck_assert(p.one_stack && p.two_states && p.plain_modes && !p.has_float);
    p = of_pair(0xee01, 0x0f11); /* MCR p15, 0, r0, c1, c1, 0: SCR, T32 */
    ck_assert(p.one_stack && !p.two_states && !p.plain_modes && !p.has_float);
    p = of_pair(0x0f11, 0xee01); /* the same in A32 */
    ck_assert(!p.plain_modes);
    p = of_pair(0xed2d, 0x8b02); /* VPUSH {d8} */
    ck_assert(p.one_stack && !p.two_states && p.plain_modes && p.has_float);
}
END_TEST

START_TEST(without_a_program_nobody_can_tell)
{
    struct reverse_program p = reverse_program_of(NULL, 0);
    ck_assert(!p.one_stack && p.two_states && !p.plain_modes && p.has_float);
}
END_TEST

START_TEST(memory_by_segments_and_the_stack)
{
    struct program p = {.code = {0}};
    struct elf_image *image = load(&p);
    const uint32_t sp = RAM + 0x4000;
    ck_assert_int_eq(reverse_memory_kind(&image, 1, CODE, sp, false), VALUES_MEMORY_CONST);
    ck_assert_int_eq(reverse_memory_kind(&image, 1, RAM, RAM + 0x100000, false), VALUES_MEMORY_RAM);
    ck_assert_int_eq(reverse_memory_kind(&image, 1, RAM, RAM + 0x100000, true),
                     VALUES_MEMORY_SHARED);
    ck_assert_int_eq(reverse_memory_kind(&image, 1, RAM, sp, true), VALUES_MEMORY_SAVED);
    ck_assert_int_eq(reverse_memory_kind(&image, 1, sp - 4, sp, true), VALUES_MEMORY_SAVED);
    ck_assert_int_eq(reverse_memory_kind(&image, 1, 0x40000000, sp, false), VALUES_MEMORY_OTHER);
    elf_image_close(image);
}
END_TEST

START_TEST(old_cores_by_name)
{
    ck_assert(reverse_is_v4t("ARM7TDMI") && reverse_is_v4t("arm920t"));
    ck_assert(!reverse_is_v4t("ARM926EJ-S") && !reverse_is_v4t("Cortex-M3"));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("reverse_machine");
    unit_case(s, "reverse_machine: instructions", each_instruction_takes_one_assumption_away);
    unit_case(s, "reverse_machine: no program", without_a_program_nobody_can_tell);
    unit_case(s, "reverse_machine: memory", memory_by_segments_and_the_stack);
    unit_case(s, "reverse_machine: ARMv4T", old_cores_by_name);
    return s;
}
