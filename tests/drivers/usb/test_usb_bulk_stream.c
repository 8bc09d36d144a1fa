/* SPDX-License-Identifier: BSD-3-Clause */
/* For usb_bulk_stream.c, on functions of libusb of the test: which transfers are waited for. */
#include "drivers/usb/usb_bulk_stream.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/support/unit_main.h"

#define MOST 32u

static struct libusb_transfer *queue[MOST]; /* submitted, oldest first */
static unsigned queued, pauses;
static size_t came;
/* What the next round of events brings. */
static unsigned transfers;
static int length;
static enum libusb_transfer_status status;

struct libusb_transfer *libusb_alloc_transfer(int packets)
{
    (void)packets;
    return calloc(1, sizeof(struct libusb_transfer));
}

void libusb_free_transfer(struct libusb_transfer *t)
{
    free(t);
}

int libusb_submit_transfer(struct libusb_transfer *t)
{
    ck_assert_uint_lt(queued, MOST);
    queue[queued++] = t;
    return 0;
}

static void complete(enum libusb_transfer_status how, int bytes)
{
    struct libusb_transfer *t = queue[0];
    for (unsigned k = 1; k < queued; k++)
        queue[k - 1] = queue[k];
    queued--;
    t->status = how;
    t->actual_length = bytes;
    t->callback(t);
}

int libusb_cancel_transfer(struct libusb_transfer *t)
{
    (void)t;
    return 0;
}

int libusb_clear_halt(libusb_device_handle *handle, unsigned char endpoint)
{
    (void)handle, (void)endpoint;
    return 0;
}

int libusb_handle_events_timeout_completed(libusb_context *context, struct timeval *tv, int *done)
{
    (void)context, (void)tv, (void)done;
    for (unsigned k = 0; k < transfers; k++)
        complete(status, length);
    return 0;
}

int usleep(useconds_t us)
{
    pauses++;
    ck_assert_uint_le(us, 5000);
    return 0;
}

static void take_bytes(void *user, const uint8_t *bytes, size_t size)
{
    (void)user, (void)bytes;
    came += size;
}

static void take_loss(void *user, enum bt_gap_cause cause)
{
    (void)user, (void)cause;
}

static struct usb_bulk_stream stream;

/* Pauses of a poll behind one that brought `count` transfers of `bytes`. */
static unsigned pauses_behind(unsigned count, int bytes, unsigned timeout_ms)
{
    transfers = count;
    length = bytes;
    ck_assert_int_eq(usb_bulk_stream_poll(&stream, 1), 0);
    pauses = transfers = 0;
    ck_assert_int_eq(usb_bulk_stream_poll(&stream, timeout_ms), 0);
    return pauses;
}

static void begin(unsigned count, size_t size)
{
    const struct trace_sink sink = {.bytes = take_bytes, .lost = take_loss};
    came = queued = 0;
    status = LIBUSB_TRANSFER_COMPLETED;
    usb_bulk_stream_init(&stream, NULL, NULL, 0x81, count, size);
    ck_assert_int_eq(usb_bulk_stream_start(&stream, &sink), 0);
    ck_assert_uint_eq(queued, count);
}

static void end(void)
{
    status = LIBUSB_TRANSFER_CANCELLED;
    transfers = queued;
    length = 0;
    ck_assert_int_eq(usb_bulk_stream_stop(&stream), 0);
    ck_assert_uint_eq(queued, 0);
}

START_TEST(test_gathers)
{
    const int whole = 128 << 10;
    begin(16, (size_t)whole);
    ck_assert_uint_eq(pauses_behind(2, whole, 20), 1);
    ck_assert_uint_eq(came, 2 * (size_t)whole);
    ck_assert_uint_eq(queued, 16);
    ck_assert_uint_eq(pauses_behind(2, whole, 3), 0); /* nobody waits longer than he asked for */
    ck_assert_uint_eq(pauses_behind(1, whole - 512, 20), 0);
    ck_assert_uint_eq(pauses_behind(0, 0, 20), 0);
    /* One short transfer, whichever it is: many of them may be on the way. */
    for (unsigned k = 0; k < 3; k++) {
        transfers = 1;
        for (unsigned i = 0; i < 3; i++) {
            const int size = i == k ? 100 : whole;
            complete(status, size);
        }
        pauses = transfers = 0;
        ck_assert_int_eq(usb_bulk_stream_poll(&stream, 20), 0);
        ck_assert_uint_eq(pauses, 0);
    }
    end();
    begin(16, 4096); /* full within a moment */
    ck_assert_uint_eq(pauses_behind(2, 4096, 20), 0);
    end();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("usb_bulk_stream");
    unit_case(s, "usb_bulk_stream: whole transfers of a long queue wait for each other",
              test_gathers);
    return s;
}
