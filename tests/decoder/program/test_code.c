/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/program/code.c, decoder/disasm/disasm.c and disasm_a64.c. */
/* Program image: who sees which bytes; runs; opcodes; text. */
#include "decoder/disasm/disasm.h"
#include "decoder/program/code.h"
#include "tests/support/decoded.h"
#include "tests/support/unit_main.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t nop_bx[8] = {0x00, 0x00, 0xa0, 0xe1, 0x1e, 0xff, 0x2f, 0xe1};
static const uint8_t b_self[8] = {0xfe, 0xff, 0xff, 0xea, 0x1e, 0xff, 0x2f, 0xe1};

static void add(struct code_image *image, struct code_region r)
{
    if (!r.size)
        r.size = 8;
    ck_assert_int_eq(code_image_add(image, &r), 0);
}

static uint32_t opcode_at(struct code_cache *cache, const struct code_key *key, uint64_t address)
{
    struct insn insn;
    uint32_t opcode;
    struct code_view *view = code_select(cache, key);
    return code_insn(cache, view, address, BT_ISA_A32, &insn, &opcode) ? 0 : opcode;
}

START_TEST(same_address_under_two_contexts)
{
    struct code_image image;
    struct code_cache cache;
    struct code_options options = {0};
    struct code_key key;
    code_image_init(&image);
    add(&image, (struct code_region){
                    .address = 0x8000, .bytes = nop_bx, .by = CODE_BY_CONTEXT, .context = 1});
    add(&image, (struct code_region){
                    .address = 0x8000, .bytes = b_self, .by = CODE_BY_CONTEXT, .context = 2});
    code_cache_init(&cache, &image, &options);
    code_key_init(&key);
    ck_assert_uint_eq(opcode_at(&cache, &key, 0x8000), 0); /* context not known: nobody's code */
    key.has_context = true;
    key.context = 1;
    ck_assert_uint_eq(opcode_at(&cache, &key, 0x8000), 0xe1a00000);
    struct code_range *one = code_lookup(&cache, code_select(&cache, &key), 0x8000, BT_ISA_A32);
    key.context = 2;
    ck_assert_uint_eq(opcode_at(&cache, &key, 0x8000), 0xeafffffe);
    struct code_range *two = code_lookup(&cache, code_select(&cache, &key), 0x8000, BT_ISA_A32);
    ck_assert_uint_eq(code_range_count(one), 2);
    ck_assert_int_eq(one->end, CODE_END_INDIRECT);
    ck_assert_uint_eq(code_range_count(two), 1);
    ck_assert_int_eq(two->end, CODE_END_DIRECT);
    key.context = 3;
    ck_assert_uint_eq(opcode_at(&cache, &key, 0x8000), 0);
    code_cache_release(&cache);
    code_image_release(&image);
}
END_TEST

/* The same along a trace: a Context ID packet changes whose code the next atom is for. */
START_TEST(a_context_packet_changes_the_code)
{
    static const uint8_t trace[] = {0,    0,    0, 0,    0,    0x80, 0x08, 0x00, 0x10, 0x00,
                                    0x00, 0x21, 1, 0x84, 0x6e, 0x02, 0x84, 0x6e, 0x03, 0x84};
    static const uint8_t one[4] = {0xfe, 0xff, 0xff, 0xea};                         /* B . */
    static const uint8_t two[8] = {0x00, 0x00, 0xa0, 0xe1, 0xfd, 0xff, 0xff, 0xea}; /* NOP; B .-4 */
    static struct decoded d;
    struct stream_config config = {.protocol = STREAM_PTM};
    struct code_image image;
    code_image_init(&image);
    add(&image,
        (struct code_region){
            .address = 0x1000, .size = 4, .bytes = one, .by = CODE_BY_CONTEXT, .context = 1});
    add(&image,
        (struct code_region){.address = 0x1000, .bytes = two, .by = CODE_BY_CONTEXT, .context = 2});
    ck_assert_int_eq(ptm_config_from_regs(&config.ptm, 0x4000, 0x411cf312, 0x34c01ac2, 0x10), 0);
    decoded_init(&d, &config, &image);
    decoded_feed(&d, trace, sizeof trace, 3);
    ck_assert_uint_eq(d.block_count, 2);
    ck_assert_uint_eq(bt_block_count(&d.blocks[0]), 1);
    ck_assert_uint_eq(bt_block_count(&d.blocks[1]), 2);
    ck_assert_uint_eq(d.blocks[1].first, 0x1000);
    /* Context 3 has no code there: a gap, not somebody else's instructions. */
    ck_assert_int_eq(d.events[d.event_count - 1].kind, BT_EVENT_GAP);
    ck_assert_int_eq(d.events[d.event_count - 1].cause, BT_GAP_NO_CODE);
    decoded_release(&d);
    code_image_release(&image);
}
END_TEST

/* A call of one context and the return of another: links between runs stay in their own view. */
START_TEST(a_return_is_in_its_own_context)
{
    static const uint8_t trace[] = {0,    0,    0,    0,    0,    0x80, 0x08,
                                    0x00, 0x10, 0x00, 0x00, 0x21, 1,    0x84, /* the call */
                                    0x6e, 0x02, 0x84, 0x84, /* context 2 returns and branches */
                                    0x08, 0x00, 0x10, 0x00, 0x00, 0x21, 1,
                                    0x84, 0x84, 0x84, 0x84};  /* context 1 does all of it */
    static const uint8_t call[4] = {0x3e, 0x00, 0x00, 0xeb};  /* BL 0x1100 */
    static const uint8_t back[4] = {0x1e, 0xff, 0x2f, 0xe1};  /* BX LR */
    static const uint8_t one[4] = {0x7d, 0x00, 0x00, 0xea};   /* B 0x1200 */
    static const uint8_t two[4] = {0xbd, 0x00, 0x00, 0xea};   /* B 0x1300 */
    static const uint8_t there[4] = {0xfe, 0xff, 0xff, 0xea}; /* B . */
    static const uint32_t went[] = {0x1000, 0x1100, 0x1004, 0x1000, 0x1100, 0x1004, 0x1200};
    static struct decoded d;
    struct stream_config config = {.protocol = STREAM_PTM};
    struct code_image image;
    code_image_init(&image);
    add(&image, (struct code_region){.address = 0x1000, .size = 4, .bytes = call});
    add(&image, (struct code_region){.address = 0x1100, .size = 4, .bytes = back});
    add(&image, (struct code_region){.address = 0x1200, .size = 4, .bytes = there});
    add(&image, (struct code_region){.address = 0x1300, .size = 4, .bytes = there});
    for (uint32_t context = 1; context <= 2; context++)
        add(&image, (struct code_region){.address = 0x1004,
                                         .size = 4,
                                         .bytes = context == 1 ? one : two,
                                         .by = CODE_BY_CONTEXT,
                                         .context = context});
    ck_assert_int_eq(ptm_config_from_regs(&config.ptm, 0x20004000, 0x411cf312, 0x34c01ac2, 0x10),
                     0);
    ck_assert(config.ptm.return_stack);
    decoded_init(&d, &config, &image);
    decoded_feed(&d, trace, sizeof trace, 3);
    ck_assert_uint_eq(d.block_count, sizeof went / sizeof *went);
    for (size_t i = 0; i < d.block_count; i++)
        ck_assert_uint_eq(d.blocks[i].first, went[i]);
    decoded_release(&d);
    code_image_release(&image);
}
END_TEST

START_TEST(security_vmid_and_core_select)
{
    struct code_image image;
    struct code_cache cache;
    struct code_options options = {0};
    struct code_key key;
    code_image_init(&image);
    add(&image, (struct code_region){.address = 0, .bytes = b_self});
    add(&image,
        (struct code_region){
            .address = 0, .bytes = nop_bx, .by = CODE_BY_SECURITY, .security = BT_SEC_NONSECURE});
    add(&image, (struct code_region){.address = 0x100,
                                     .bytes = nop_bx,
                                     .by = CODE_BY_VMID | CODE_BY_CORE,
                                     .vmid = 7,
                                     .core = 1});
    code_cache_init(&cache, &image, &options);
    code_key_init(&key);
    ck_assert_uint_eq(opcode_at(&cache, &key, 0), 0xeafffffe); /* Secure: the general one */
    key.security = BT_SEC_NONSECURE;
    ck_assert_uint_eq(opcode_at(&cache, &key, 0), 0xe1a00000); /* the more specific one wins */
    ck_assert_uint_eq(opcode_at(&cache, &key, 0x100), 0);
    key.core = 1;
    key.vmid = 7;
    key.has_vmid = true;
    ck_assert_uint_eq(opcode_at(&cache, &key, 0x100), 0xe1a00000);
    code_cache_release(&cache);
    code_image_release(&image);
}
END_TEST

START_TEST(overlay_is_reloaded)
{
    struct code_image image;
    struct code_cache cache;
    struct code_options options = {0};
    struct code_key old, new;
    code_image_init(&image);
    add(&image, (struct code_region){.address = 0x2000, .bytes = nop_bx});
    code_cache_init(&cache, &image, &options);
    code_key_init(&old);
    ck_assert_uint_eq(opcode_at(&cache, &old, 0x2000), 0xe1a00000);
    new = old;
    new.generation = code_image_new_generation(&image);
    add(&image, (struct code_region){
                    .address = 0x2000, .size = 4, .bytes = b_self, .generation = new.generation});
    ck_assert_uint_eq(opcode_at(&cache, &new, 0x2000), 0xeafffffe);
    ck_assert_uint_eq(opcode_at(&cache, &new, 0x2004), 0xe12fff1e); /* not overwritten */
    ck_assert_uint_eq(opcode_at(&cache, &old, 0x2000), 0xe1a00000); /* the history keeps its code */
    code_cache_release(&cache);
    code_image_release(&image);
}
END_TEST

START_TEST(first_of_two_dumps_wins_and_reads_go_on)
{
    struct code_image image;
    struct code_key key;
    uint8_t got[16];
    code_image_init(&image);
    code_key_init(&key);
    add(&image, (struct code_region){.address = 0x1004, .size = 4, .bytes = b_self});
    add(&image, (struct code_region){.address = 0x1000, .bytes = nop_bx});
    add(&image, (struct code_region){.address = 0x1008, .bytes = nop_bx});
    ck_assert_uint_eq(code_image_read(&image, &key, 0x1000, got, 16), 16);
    ck_assert_int_eq(memcmp(got, nop_bx, 4), 0);
    ck_assert_int_eq(memcmp(got + 4, b_self, 4), 0);
    ck_assert_int_eq(memcmp(got + 8, nop_bx, 8), 0);
    ck_assert_uint_eq(code_image_read(&image, &key, 0x100c, got, 16), 4);
    ck_assert_uint_eq(code_image_read(&image, &key, 0x0fff, got, 16), 0);
    struct code_region empty = {.address = 0}, wrap = {.address = ~(uint64_t)0 - 1, .size = 8};
    ck_assert_int_eq(code_image_add(&image, &empty), BT_ERR_INVAL);
    ck_assert_int_eq(code_image_add(&image, &wrap), BT_ERR_INVAL);
    code_image_release(&image);
}
END_TEST

/* BE8: instructions are little-endian although data is not; BE32: both are big-endian. */
START_TEST(byte_order_of_instructions)
{
    static const uint8_t big[8] = {0xe1, 0xa0, 0x00, 0x00, 0xe1, 0x2f, 0xff, 0x1e};
    static const uint8_t big_thumb[8] = {0xf0, 0x00, 0xf8, 0x1d, 0x47, 0x70, 0xbf, 0x00};
    struct code_image image;
    struct code_cache cache;
    struct code_options options = {0};
    struct code_key key;
    struct insn insn;
    uint32_t opcode;
    code_image_init(&image);
    add(&image, (struct code_region){.address = 0x1000, .bytes = nop_bx});
    add(&image, (struct code_region){.address = 0x2000, .bytes = big, .big_endian = true});
    add(&image, (struct code_region){.address = 0x3000, .bytes = big_thumb, .big_endian = true});
    code_cache_init(&cache, &image, &options);
    code_key_init(&key);
    ck_assert_uint_eq(opcode_at(&cache, &key, 0x1004), opcode_at(&cache, &key, 0x2004));
    struct code_view *view = code_select(&cache, &key);
    ck_assert_int_eq(code_insn(&cache, view, 0x3000, BT_ISA_T32, &insn, &opcode), 0);
    ck_assert_uint_eq(opcode, 0xf000f81d);
    ck_assert_uint_eq(insn.target, 0x303e);
    ck_assert_int_eq(code_insn(&cache, view, 0x3004, BT_ISA_T32, &insn, &opcode), 0);
    ck_assert_uint_eq(opcode, 0x4770);
    code_cache_release(&cache);
    code_image_release(&image);
}
END_TEST

/* A 16-bit instruction in the last two bytes of known memory is code; half of a 32-bit one not. */
START_TEST(end_of_known_code)
{
    static const uint8_t code[6] = {0x00, 0xbf, 0x70, 0x47, 0x00, 0xf0};
    struct code_image image;
    struct code_cache cache;
    struct code_options options = {0};
    struct code_key key;
    code_image_init(&image);
    add(&image, (struct code_region){.address = 0x10, .size = 6, .bytes = code});
    code_cache_init(&cache, &image, &options);
    code_key_init(&key);
    struct code_view *view = code_select(&cache, &key);
    struct code_range *range = code_lookup(&cache, view, 0x10, BT_ISA_T32);
    ck_assert_int_eq(range->end, CODE_END_INDIRECT);
    ck_assert_uint_eq(code_range_count(range), 2);
    range = code_onward(&cache, view, range);
    ck_assert_int_eq(range->end, CODE_END_NO_CODE);
    ck_assert_uint_eq(code_range_count(range), 0);
    code_cache_release(&cache);
    code_image_release(&image);
}
END_TEST

START_TEST(cache_starts_over_at_its_bound)
{
    static uint8_t code[64 * 1024];
    struct code_image image;
    struct code_cache cache;
    struct code_options options = {.max_ranges = CODE_RANGE_CHUNK};
    struct code_key key;
    for (size_t i = 0; i < sizeof code; i += 4)
        memcpy(code + i, b_self, 4);
    code_image_init(&image);
    add(&image, (struct code_region){.address = 0, .size = sizeof code, .bytes = code});
    code_cache_init(&cache, &image, &options);
    code_key_init(&key);
    struct code_view *view = code_select(&cache, &key);
    for (uint64_t a = 0; a < sizeof code; a += 4) {
        struct code_range *range = code_lookup(&cache, view, a, BT_ISA_A32);
        enum bt_isa isa = BT_ISA_T32;
        ck_assert_uint_eq(code_target(&cache, view, range, &isa), a);
        ck_assert_ptr_eq(code_taken(&cache, view, range), range);
        ck_assert_uint_eq(code_target(&cache, view, range, &isa), a); /* now by the link */
        ck_assert_int_eq(isa, BT_ISA_A32);
    }
    ck_assert_uint_le(cache.range_count, CODE_RANGE_CHUNK);
    ck_assert_uint_gt(cache.epoch, 10);
    code_cache_release(&cache);
    code_image_release(&image);
}
END_TEST

static const char *text(struct disasm *d, uint32_t opcode, unsigned size, enum bt_isa isa,
                        uint8_t it)
{
    return disasm_text(d, 0x8000, isa, opcode, size, it);
}

START_TEST(text_of_instructions)
{
    struct disasm *d = disasm_new(false);
    ck_assert_str_eq(text(d, 0xe1a00000, 4, BT_ISA_A32, DISASM_NO_IT), "mov r0, r0");
    ck_assert_str_eq(text(d, 0x4770, 2, BT_ISA_T32, DISASM_NO_IT), "bx lr");
    ck_assert_str_eq(text(d, 0x1840, 2, BT_ISA_T32, DISASM_NO_IT), "adds r0, r0, r1");
    ck_assert_str_eq(text(d, 0x1840, 2, BT_ISA_T32, 0), "addeq r0, r0, r1");
    ck_assert_str_eq(text(d, 0x1840, 2, BT_ISA_T32, DISASM_NO_IT), "adds r0, r0, r1");
    ck_assert_str_eq(text(d, 0xf000f81e, 4, BT_ISA_T32, DISASM_NO_IT), "bl #0x8040");
    ck_assert_str_eq(text(d, 0xffffffff, 4, BT_ISA_A32, DISASM_NO_IT), ".inst 0xffffffff");
    ck_assert_str_eq(text(d, 0xffffffff, 4, BT_ISA_T32, DISASM_NO_IT), ".inst.w 0xffffffff");
    disasm_free(d);
}
END_TEST

/* As binutils lists them; on other cores such words are something else, or nothing. */
START_TEST(text_of_m_profile)
{
    static const struct {
        uint32_t opcode;
        const char *text;
    } rows[] = {
        {0xe97fe97f, "sg"},
        {0xe842f100, "tt r1, r2"},
        {0xe842f140, "ttt r1, r2"},
        {0xe842f180, "tta r1, r2"},
        {0xe842f1c0, "ttat r1, r2"},
        {0xf000e001, "dlstp.8 lr, r0"},
        {0xf035e001, "dlstp.64 lr, r5"},
        {0xf040e001, "dls lr, r0"},
        {0xf000c807, "wlstp.8 lr, r0, #0x8012"},
        {0xf040c003, "wls lr, r0, #0x8008"},
        {0xf01fc003, "letp lr, #0x8000"},
        {0xf02fc005, "le #0x7ffc"},
        {0xf00fc007, "le lr, #0x7ff8"},
        {0xf00fe001, "lctp"},
        {0xea518012, "csel r0, r1, r2, ne"},
        {0xea519011, "csinc r0, r1, r1, ne"},
        {0xe89f0003, "clrm {r0, r1}"},
        {0xe89f9001, "clrm {r0, ip, apsr}"},
        {0xe8412300, "strex r3, r2, [r1]"},
        {0xea510012, "orrs.w r0, r1, r2, lsr #32"},
    };
    struct disasm *m = disasm_new(true), *a = disasm_new(false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(text(m, rows[i].opcode, 4, BT_ISA_T32, DISASM_NO_IT), rows[i].text);
    ck_assert_str_eq(text(m, 0x4774, 2, BT_ISA_T32, DISASM_NO_IT), "bxns lr");
    ck_assert_str_eq(text(m, 0x4774, 2, BT_ISA_T32, 1), "bxnsne lr");
    ck_assert_str_eq(text(m, 0x479c, 2, BT_ISA_T32, DISASM_NO_IT), "blxns r3");
    ck_assert_str_eq(text(m, 0x4798, 2, BT_ISA_T32, DISASM_NO_IT), "blx r3");
    if (CS_API_MAJOR < 5) /* later ones have it in both profiles */
        ck_assert_str_ne(text(a, 0xe97fe97f, 4, BT_ISA_T32, DISASM_NO_IT), "sg");
    disasm_free(m);
    disasm_free(a);
}
END_TEST

/* ITTE EQ over three instructions; an exception in the middle and the return to it. */
START_TEST(it_blocks_are_tracked)
{
    struct it_track it = {0};
    ck_assert_uint_eq(it_track_step(&it, 0x100, BT_ISA_T32, 0xbf06, 2), DISASM_NO_IT);
    ck_assert_uint_eq(it_track_step(&it, 0x102, BT_ISA_T32, 0x1840, 2), 0);
    ck_assert_uint_eq(it_track_step(&it, 0x18, BT_ISA_A32, 0xe1a00000, 4), DISASM_NO_IT);
    ck_assert_uint_eq(it_track_step(&it, 0x1c, BT_ISA_A32, 0xe1a00000, 4), DISASM_NO_IT);
    ck_assert_uint_eq(it_track_step(&it, 0x104, BT_ISA_T32, 0x1840, 2), 0);
    ck_assert_uint_eq(it_track_step(&it, 0x106, BT_ISA_T32, 0x1840, 2), 1);
    ck_assert_uint_eq(it_track_step(&it, 0x108, BT_ISA_T32, 0x1840, 2), DISASM_NO_IT);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("code");
    unit_case(s, "code: the same address under two context IDs", same_address_under_two_contexts);
    unit_case(s, "code: a context ID packet changes the code followed",
              a_context_packet_changes_the_code);
    unit_case(s, "code: a call of one context and a return of another: links stay in their view",
              a_return_is_in_its_own_context);
    unit_case(s, "code: security, VMID and core select", security_vmid_and_core_select);
    unit_case(s, "code: an overlay is reloaded", overlay_is_reloaded);
    unit_case(s, "code: overlapping dumps", first_of_two_dumps_wins_and_reads_go_on);
    unit_case(s, "code: BE8 and BE32", byte_order_of_instructions);
    unit_case(s, "code: end of known code", end_of_known_code);
    unit_case(s, "code: the cache starts over at its bound", cache_starts_over_at_its_bound);
    unit_case(s, "disasm: text", text_of_instructions);
    unit_case(s, "disasm: text of the M profile", text_of_m_profile);
    unit_case(s, "disasm: IT blocks are tracked", it_blocks_are_tracked);
    return s;
}
