/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/mtb_loop.h"

#include "tests/support/random_next.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void mtb_loop_init(struct mtb_loop *r, const uint16_t *program, const char *variable)
{
    const struct stream_config config = {.protocol = STREAM_MTB};
    const struct history_config kept = {.checkpoint_bytes = 256};
    const struct code_region region = {
        .address = MTB_LOOP_BASE, .size = sizeof r->code, .bytes = r->code};
    const char *given = getenv(variable);
    memset(r, 0, sizeof *r);
    r->program = program;
    r->pc = MTB_LOOP_BASE;
    r->seed = given ? (uint32_t)strtoul(given, NULL, 0) : (uint32_t)time(NULL) * 2654435761u;
    printf("%s=%u\n", variable, r->seed);
    fflush(stdout);
    for (size_t i = 0; i < sizeof r->code; i++)
        r->code[i] = (uint8_t)(program[i / 2] >> 8 * (i % 2));
    code_image_init(&r->image);
    ck_assert_int_eq(code_image_add(&r->image, &region), BT_OK);
    ck_assert_int_eq(history_new(&kept, &config, &r->image, &r->history), BT_OK);
}

void mtb_loop_release(struct mtb_loop *r)
{
    history_free(r->history);
    code_image_release(&r->image);
}

static uint32_t choice(struct mtb_loop *r, uint32_t n)
{
    return (random_next(&r->seed) >> 12) % n;
}

static void put_word(uint8_t *bytes, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

static void step(struct mtb_loop *r)
{
    uint32_t from = r->pc;
    uint16_t op = r->program[(from - MTB_LOOP_BASE) / 2];
    bool always = op >> 11 == 0x1c, taken = always || (op >> 8 == 0xd1 && choice(r, 2));
    int32_t distance = always ? (int32_t)((uint32_t)op << 21) >> 21 : (int8_t)(op & 0xff);
    r->ran[r->ran_count++] = from;
    r->pc = taken ? from + 4 + 2 * (uint32_t)distance : from + 2;
    if (!taken)
        return;
    put_word(r->packets + 8 * r->packet_count, from);
    put_word(r->packets + 8 * r->packet_count++ + 4, r->pc);
    r->branch = r->ran_count;
}

void mtb_loop_run(struct mtb_loop *r)
{
    for (uint32_t n = 1 + choice(r, MTB_LOOP_LONG - 1); n > 0; n--)
        step(r);
    size_t lost = r->packet_count > MTB_LOOP_ROOM ? r->packet_count - MTB_LOOP_ROOM : 0;
    if (lost)
        ck_assert_int_eq(history_gap(r->history, BT_GAP_OVERWRITTEN, 0), BT_OK);
    ck_assert_int_eq(
        history_append(r->history, r->packets + 8 * lost, 8 * (r->packet_count - lost)), BT_OK);
    r->packet_count = 0;
    r->losses += lost > 0;
}

struct btrace_view mtb_loop_view(const struct mtb_loop *r)
{
    return (struct btrace_view){.history = r->history,
                                .image = &r->image,
                                .pc = r->pc,
                                .thumb = true,
                                .size = BTRACE_DEFAULT_SIZE};
}
