/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/rsp/rsp.c, text_buf.c, gdb_args.c, gdb_packet.c. */
/* Framing: every split of the input, damaged frames, acknowledgements. */
#include <stdlib.h>
#include <string.h>

#include "protocol/rsp/rsp.h"
#include "tests/support/unit_main.h"

#define LIMIT 32

static struct rsp_receiver receiver;
static struct rsp_sender sender;
static struct text_buf out;

static void write_out(void *ctx, const void *bytes, size_t len)
{
    text_buf_add(ctx, bytes, len);
}

static void setup(void)
{
    ck_assert_int_eq(rsp_receiver_init(&receiver, LIMIT), BT_OK);
    text_buf_init(&out);
    rsp_sender_init(&sender, write_out, &out);
}

static void teardown(void)
{
    rsp_receiver_release(&receiver);
    rsp_sender_release(&sender);
    text_buf_release(&out);
}

static void describe(struct text_buf *to, const struct rsp_receiver *r, enum rsp_event event)
{
    static const char letters[] = {'?', 'P', '+', '-', 'C', 'B', 'O'};
    text_buf_putc(to, letters[event]);
    if (event == RSP_PACKET) {
        text_buf_putc(to, '(');
        text_buf_add(to, r->payload, r->payload_len);
        text_buf_putc(to, ')');
    }
}

static void feed(struct text_buf *to, struct rsp_receiver *r, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    enum rsp_event event;
    while ((event = rsp_receive(r, &at, &len)) != RSP_NONE)
        describe(to, r, event);
    ck_assert_uint_eq(len, 0);
}

/* The events of `input`, the same for every pair of cuts. */
static void expect(const void *input, size_t len, const char *events)
{
    struct text_buf got;
    text_buf_init(&got);
    for (size_t i = 0; i <= len; i++) {
        for (size_t j = i; j <= len; j++) {
            const char *bytes = input;
            text_buf_clear(&got);
            feed(&got, &receiver, bytes, i);
            feed(&got, &receiver, bytes + i, j - i);
            feed(&got, &receiver, bytes + j, len - j);
            ck_assert_str_eq(got.data, events);
        }
    }
    text_buf_release(&got);
}

#define EXPECT(input, events) expect(input, sizeof(input) - 1, events)

START_TEST(packets_and_acks)
{
    EXPECT("+$g#67", "+P(g)");
    EXPECT("$#00$OK#9a", "P()P(OK)");
    EXPECT("+-\x03$m0,4#fd-", "+-CP(m0,4)-");
    EXPECT("$OK#9A", "P(OK)");
    EXPECT("noise\n$g#67\r\n\xff", "P(g)");
}
END_TEST

START_TEST(escapes)
{
    EXPECT("$X}\x03}\x04}]}\x0a#ba", "P(X#$}*)");
    EXPECT("$a\x03z#de", "P(a\x03z)");
    /* An escape may stand before any byte. */
    EXPECT("$}A#be", "P(a)");
}
END_TEST

START_TEST(payload_with_nul)
{
    const uint8_t input[] = "$X\0y#d1";
    const uint8_t *at = input;
    size_t len = sizeof(input) - 1;
    ck_assert_int_eq(rsp_receive(&receiver, &at, &len), RSP_PACKET);
    ck_assert_uint_eq(receiver.payload_len, 3);
    ck_assert_mem_eq(receiver.payload, "X\0y", 4);
}
END_TEST

START_TEST(damaged_frames)
{
    EXPECT("$g#68$g#67", "BP(g)");
    EXPECT("$g#76-$g#67", "B-P(g)");
    EXPECT("$g#77$h#68$m#6e", "BP(h)B");
}
END_TEST

START_TEST(malformed_checksum)
{
    EXPECT("$g#xy$g#67", "BP(g)");
    EXPECT("$g#6y$g#67", "BP(g)");
    EXPECT("$g#$g#67", "BP(g)");
    EXPECT("$g#6$g#67", "BP(g)");
    EXPECT("$g#+", "B+");
}
END_TEST

START_TEST(escape_at_the_end)
{
    EXPECT("$g}#e4+$g#67", "B+P(g)");
}
END_TEST

START_TEST(frame_inside_a_frame)
{
    EXPECT("$mabc$g#67", "P(g)");
    EXPECT("$mabc}$g#67", "P(g)");
}
END_TEST

START_TEST(limit_of_the_payload)
{
    EXPECT("$00000000000000000000000000000000#00", "P(00000000000000000000000000000000)");
    EXPECT("$000000000000000000000000000000000#30$g#67", "OP(g)");
    EXPECT("$000000000000000000000000000000000#31$g#67", "BP(g)");
    /* Escapes do not count. */
    EXPECT("$0000000000000000000000000000000}\x03#50", "P(0000000000000000000000000000000#)");
}
END_TEST

START_TEST(any_bytes)
{
    struct text_buf got;
    uint8_t bytes[512];
    text_buf_init(&got);
    srand(1);
    for (int round = 0; round < 2000; round++) {
        static const char often[] = "$#}+-*0123456789abcdef\x03";
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] =
                rand() % 4 ? (uint8_t)often[(size_t)rand() % (sizeof(often) - 1)] : (uint8_t)rand();
        text_buf_clear(&got);
        feed(&got, &receiver, bytes, sizeof(bytes));
        ck_assert_uint_le(receiver.payload_len, LIMIT);
    }
    /* Whatever was begun, the next frame is understood: a frame start ends it. */
    text_buf_clear(&got);
    feed(&got, &receiver, "$g#67", 5);
    ck_assert_ptr_nonnull(strstr(got.data, "P(g)"));
    text_buf_release(&got);
}
END_TEST

static const char *sent(void)
{
    static char copy[256];
    ck_assert_uint_lt(out.len, sizeof(copy));
    memcpy(copy, out.data, out.len + 1);
    text_buf_clear(&out);
    return copy;
}

START_TEST(sender_frames)
{
    ck_assert_int_eq(rsp_send(&sender, "", 0), BT_OK);
    ck_assert_str_eq(sent(), "$#00");
    rsp_sender_acked(&sender);
    rsp_send(&sender, "OK", 2);
    ck_assert_str_eq(sent(), "$OK#9a");
    rsp_sender_acked(&sender);
    rsp_send(&sender, "X#$}*", 5);
    ck_assert_str_eq(sent(), "$X}\x03}\x04}]}\x0a#ba");
}
END_TEST

START_TEST(sender_waits_for_acks)
{
    rsp_send(&sender, "O61", 3);
    rsp_send(&sender, "O#", 2);
    rsp_send(&sender, "OK", 2);
    ck_assert_str_eq(sent(), "$O61#b6");
    rsp_sender_acked(&sender);
    ck_assert_str_eq(sent(), "$O}\x03#cf");
    ck_assert_int_eq(rsp_sender_nacked(&sender), BT_OK);
    ck_assert_str_eq(sent(), "$O}\x03#cf");
    rsp_sender_acked(&sender);
    ck_assert_str_eq(sent(), "$OK#9a");
    rsp_sender_acked(&sender);
    rsp_sender_acked(&sender);
    ck_assert_int_eq(rsp_sender_nacked(&sender), BT_OK);
    ck_assert_str_eq(sent(), "");
}
END_TEST

START_TEST(sender_gives_up)
{
    int rc = BT_OK;
    int tries = 0;
    rsp_send(&sender, "OK", 2);
    while (rc == BT_OK && tries < 1000) {
        rc = rsp_sender_nacked(&sender);
        tries++;
    }
    ck_assert_int_eq(rc, BT_ERR_IO);
    ck_assert_int_gt(tries, 3);
    ck_assert_int_lt(tries, 100);
}
END_TEST

START_TEST(sender_implied_ack)
{
    rsp_send(&sender, "O61", 3);
    rsp_send(&sender, "O62", 3);
    rsp_send(&sender, "OK", 2);
    ck_assert_str_eq(sent(), "$O61#b6");
    rsp_sender_implied_ack(&sender);
    ck_assert_str_eq(sent(), "$O62#b7$OK#9a");
    rsp_send(&sender, "l", 1);
    ck_assert_str_eq(sent(), "$l#6c");
}
END_TEST

START_TEST(sender_without_acks)
{
    rsp_send_ack(&sender, true);
    rsp_send_ack(&sender, false);
    ck_assert_str_eq(sent(), "+-");
    rsp_sender_set_no_ack(&sender);
    rsp_send_ack(&sender, true);
    rsp_send(&sender, "O61", 3);
    rsp_send(&sender, "OK", 2);
    ck_assert_str_eq(sent(), "$O61#b6$OK#9a");
    rsp_sender_acked(&sender);
    ck_assert_int_eq(rsp_sender_nacked(&sender), BT_OK);
    ck_assert_str_eq(sent(), "");
}
END_TEST

START_TEST(sent_is_received)
{
    uint8_t payload[LIMIT];
    struct rsp_receiver r;
    for (int start = 0; start < 256; start += LIMIT) {
        for (int i = 0; i < LIMIT; i++)
            payload[i] = (uint8_t)(start + i);
        text_buf_clear(&out);
        rsp_send(&sender, payload, sizeof(payload));
        rsp_sender_implied_ack(&sender);
        ck_assert_int_eq(rsp_receiver_init(&r, LIMIT), BT_OK);
        const uint8_t *at = (const uint8_t *)out.data;
        size_t len = out.len;
        ck_assert_int_eq(rsp_receive(&r, &at, &len), RSP_PACKET);
        ck_assert_uint_eq(r.payload_len, sizeof(payload));
        ck_assert_mem_eq(r.payload, payload, sizeof(payload));
        rsp_receiver_release(&r);
    }
}
END_TEST

/* One byte that needs an escape at each place of payloads with the largest sums. */
START_TEST(long_payloads)
{
    static const char special[] = "$#}*";
    uint8_t payload[1200];
    struct rsp_receiver r;
    ck_assert_int_eq(rsp_receiver_init(&r, sizeof(payload)), BT_OK);
    for (size_t size = 0; size <= sizeof(payload); size += size < 80 ? 1 : 37) {
        for (size_t place = 0; place <= size; place += size < 80 ? 1 : 31) {
            memset(payload, 0xff, sizeof(payload));
            if (place < size)
                payload[place] = (uint8_t)special[(size + place) % 4];
            text_buf_clear(&out);
            rsp_send(&sender, payload, size);
            rsp_sender_implied_ack(&sender);
            ck_assert_uint_eq(out.len, size + (place < size) + 4);
            const uint8_t *at = (const uint8_t *)out.data;
            size_t len = out.len;
            ck_assert_int_eq(rsp_receive(&r, &at, &len), RSP_PACKET);
            ck_assert_uint_eq(r.payload_len, size);
            ck_assert_mem_eq(r.payload, payload, size);
        }
    }
    rsp_receiver_release(&r);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test);
    suite_add_tcase(suite, tc);
}

Suite *unit_suite(void)
{
    Suite *suite = suite_create("rsp");
    add(suite, "rsp: packets and acknowledgements, every split", packets_and_acks);
    add(suite, "rsp: escapes undone", escapes);
    add(suite, "rsp: payload with a NUL", payload_with_nul);
    add(suite, "rsp: wrong checksum, next frame is found", damaged_frames);
    add(suite, "rsp: checksum that is not one", malformed_checksum);
    add(suite, "rsp: escape without a byte", escape_at_the_end);
    add(suite, "rsp: a frame that begins inside another", frame_inside_a_frame);
    add(suite, "rsp: limit of the payload", limit_of_the_payload);
    add(suite, "rsp: any bytes", any_bytes);
    add(suite, "rsp: frames sent, with escapes", sender_frames);
    add(suite, "rsp: one frame at a time until '+', again after '-'", sender_waits_for_acks);
    add(suite, "rsp: a frame refused again and again ends the session", sender_gives_up);
    add(suite, "rsp: a new packet acknowledges what was sent", sender_implied_ack);
    add(suite, "rsp: no-ack mode", sender_without_acks);
    add(suite, "rsp: all byte values survive sending and receiving", sent_is_received);
    add(suite, "rsp: long payloads, an escape at each place", long_payloads);
    return suite;
}
