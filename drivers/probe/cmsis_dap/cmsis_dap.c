/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/probe/cmsis_dap/cmsis_dap.h"

#include <string.h>

#include "cmsis_dap_internal.h"

/* GDB waits 2 s for an answer of ours: a probe that is silent must be told before. */
#define TIMEOUT_MS       1000u
#define FIRST_TIMEOUT_MS 300u /* for the first question */
#define PROBE_TIMEOUT_MS 50u  /* before it is asked again: some answer only to full packets */
#define ACCESS_BITS      100u /* on either wire, with idle clocks */
#define DRAIN_TIMEOUT_MS 10u
#define DRAIN_MAX        64u

enum {
    INFO_VENDOR = 0x01,
    INFO_PRODUCT = 0x02,
    INFO_SERIAL = 0x03,
    INFO_PROTOCOL = 0x04,
    INFO_FIRMWARE = 0x09,
    INFO_CAPABILITIES = 0xf0,
    INFO_SWO_BUFFER = 0xfd,
    INFO_PACKET_COUNT = 0xfe,
    INFO_PACKET_SIZE = 0xff,
};

/* One byte less than a packet that fills whole USB packets: no zero-length packet is ever due. */
size_t cmsis_dap_command_limit(const struct cmsis_dap *dap)
{
    if (dap->transport == CMSIS_DAP_BULK && dap->packet_size % dap->pipe.out_packet == 0)
        return dap->packet_size - 1;
    return dap->packet_size;
}

/* Bytes of one IN transfer: a whole answer, and whole USB packets. */
static size_t receive_size(const struct cmsis_dap *dap)
{
    size_t unit = dap->pipe.in_packet;
    return (dap->packet_size + unit - 1) / unit * unit;
}

static void cmsis_dap_drain(struct cmsis_dap *dap)
{
    size_t length;
    for (unsigned k = 0; k < DRAIN_MAX; k++) {
        if (dap->pipe.ops->receive(dap->pipe.self, dap->in, receive_size(dap), &length,
                                   DRAIN_TIMEOUT_MS) != 0)
            break;
    }
    dap->stale = false;
}

void cmsis_dap_discard_rest(struct cmsis_dap *dap)
{
    if (dap->stale)
        cmsis_dap_drain(dap);
}

/* The size that goes over USB. Bytes behind a command are ignored by the probe. */
static size_t padded_length(const struct cmsis_dap *dap, size_t length)
{
    if (dap->transport == CMSIS_DAP_HID)
        return dap->pipe.out_packet;
    if (dap->pad)
        return dap->packet_size;
    return length % dap->pipe.out_packet == 0 ? length + 1 : length;
}

int cmsis_dap_send(struct cmsis_dap *dap, size_t length)
{
    size_t padded = padded_length(dap, length);
    if (padded > length)
        memset(dap->out + length, 0, padded - length);
    int rc = dap->pipe.ops->send(dap->pipe.self, dap->out, padded, dap->timeout_ms);
    if (rc != 0)
        dap->stale = true;
    return rc == USB_TIMED_OUT ? BT_ERR_IO : rc;
}

static int cmsis_dap_receive_within(struct cmsis_dap *dap, uint8_t command, size_t *length, unsigned timeout_ms)
{
    size_t capacity = receive_size(dap);
    int rc = dap->pipe.ops->receive(dap->pipe.self, dap->in, capacity, length, timeout_ms);
    if (rc == 0 && (*length == 0 || *length > capacity))
        rc = BT_ERR_FORMAT;
    if (rc == 0 && dap->in[0] == DAP_UNKNOWN)
        return BT_ERR_UNSUPPORTED;
    if (rc == 0 && dap->in[0] != command)
        rc = BT_ERR_FORMAT;
    if (rc != 0)
        dap->stale = true;
    return rc == USB_TIMED_OUT ? BT_ERR_IO : rc;
}

int cmsis_dap_receive(struct cmsis_dap *dap, uint8_t command, size_t *length, unsigned extra_ms)
{
    return cmsis_dap_receive_within(dap, command, length, dap->timeout_ms + extra_ms);
}

unsigned cmsis_dap_wire_ms(const struct cmsis_dap *dap, unsigned accesses)
{
    uint64_t bits = (uint64_t)ACCESS_BITS * (accesses + dap->retries);
    return dap->clock_hz ? (unsigned)(bits * 1000 / dap->clock_hz) : 0;
}

int cmsis_dap_command_slow(struct cmsis_dap *dap, const uint8_t *command, size_t length,
                           const uint8_t **answer, size_t *answer_length, unsigned extra_ms)
{
    if (length == 0 || length > cmsis_dap_command_limit(dap))
        return BT_ERR_INVAL;
    cmsis_dap_discard_rest(dap);
    memcpy(dap->out, command, length);
    int rc = cmsis_dap_send(dap, length);
    if (rc == 0)
        rc = cmsis_dap_receive(dap, command[0], answer_length, extra_ms);
    *answer = dap->in;
    return rc;
}

int cmsis_dap_command(struct cmsis_dap *dap, const uint8_t *command, size_t length,
                      const uint8_t **answer, size_t *answer_length)
{
    return cmsis_dap_command_slow(dap, command, length, answer, answer_length, 0);
}

int cmsis_dap_status(struct cmsis_dap *dap, const uint8_t *command, size_t length)
{
    const uint8_t *answer;
    size_t got;
    int rc = cmsis_dap_command(dap, command, length, &answer, &got);
    if (rc != 0)
        return rc;
    if (got < 2)
        return BT_ERR_FORMAT;
    return answer[1] == 0 ? 0 : BT_ERR_UNSUPPORTED;
}

/* Ask for an item; *size bytes of it are at *data, 0 if the probe has none. */
static int cmsis_dap_info(struct cmsis_dap *dap, uint8_t id, const uint8_t **data, size_t *size)
{
    const uint8_t command[] = {DAP_INFO, id};
    const uint8_t *answer;
    size_t length;
    int rc = cmsis_dap_command(dap, command, sizeof command, &answer, &length);
    *size = 0;
    *data = NULL;
    if (rc == BT_ERR_UNSUPPORTED)
        return 0;
    if (rc != 0)
        return rc;
    if (length < 2 || answer[1] > length - 2)
        return BT_ERR_FORMAT;
    *size = answer[1];
    *data = answer + 2;
    return 0;
}

/* A number of 1 to 4 bytes; `value` stays as it is if the probe has none. */
static int info_number(struct cmsis_dap *dap, uint8_t id, uint32_t *value)
{
    const uint8_t *data;
    size_t size;
    int rc = cmsis_dap_info(dap, id, &data, &size);
    if (rc != 0 || size == 0)
        return rc;
    if (size > 4)
        return BT_ERR_FORMAT;
    *value = 0;
    for (size_t k = 0; k < size; k++)
        *value |= (uint32_t)data[k] << (8 * k);
    return 0;
}

/* A text; what cannot be printed becomes a question mark. */
static int info_text(struct cmsis_dap *dap, uint8_t id, char *text)
{
    const uint8_t *data;
    size_t size;
    text[0] = '\0';
    int rc = cmsis_dap_info(dap, id, &data, &size);
    if (rc != 0)
        return rc;
    size_t n = 0;
    while (n < size && n < CMSIS_DAP_MAX_TEXT - 1 && data[n] != 0) {
        text[n] = data[n] >= 0x20 && data[n] < 0x7f ? (char)data[n] : '?';
        n++;
    }
    text[n] = '\0';
    return 0;
}

/*
 * The first question. Some probes answer only to a packet of full size, and after a client that
 * died the first answer may be an old one.
 */
static int first_contact(struct cmsis_dap *dap, uint32_t *packet_size)
{
    int rc = BT_ERR_IO;
    for (unsigned attempt = 0; attempt < 4; attempt++) {
        dap->pad = attempt % 2 != 0;
        dap->timeout_ms = attempt < 2 ? PROBE_TIMEOUT_MS : FIRST_TIMEOUT_MS;
        rc = info_number(dap, INFO_PACKET_SIZE, packet_size);
        if (rc == 0)
            break;
    }
    dap->timeout_ms = TIMEOUT_MS;
    return rc;
}

static int read_sizes(struct cmsis_dap *dap)
{
    uint32_t size = 0;
    uint32_t count = 1;
    int rc = first_contact(dap, &size);
    if (rc != 0)
        return rc;
    if (size == 0)
        size = dap->pipe.out_packet;
    if (size < CMSIS_DAP_MIN_PACKET)
        return BT_ERR_FORMAT;
    if (size > CMSIS_DAP_MAX_PACKET)
        size = CMSIS_DAP_MAX_PACKET;
    if (dap->transport == CMSIS_DAP_HID && size > dap->pipe.out_packet)
        size = dap->pipe.out_packet;
    if (dap->transport == CMSIS_DAP_HID && size > dap->pipe.in_packet)
        size = dap->pipe.in_packet;
    dap->packet_size = size;
    rc = info_number(dap, INFO_PACKET_COUNT, &count);
    if (rc != 0)
        return rc;
    dap->packet_count = count < 1 ? 1 : count;
    if (count > CMSIS_DAP_MAX_IN_FLIGHT)
        dap->packet_count = CMSIS_DAP_MAX_IN_FLIGHT;
    return 0;
}

static int read_identity(struct cmsis_dap *dap)
{
    int rc = info_number(dap, INFO_CAPABILITIES, &dap->caps);
    if (rc == 0 && (dap->caps & (CMSIS_DAP_CAP_SWO_UART | CMSIS_DAP_CAP_SWO_MANCHESTER)) != 0)
        rc = info_number(dap, INFO_SWO_BUFFER, &dap->swo_buffer);
    if (rc == 0)
        rc = info_text(dap, INFO_VENDOR, dap->vendor);
    if (rc == 0)
        rc = info_text(dap, INFO_PRODUCT, dap->product);
    if (rc == 0)
        rc = info_text(dap, INFO_SERIAL, dap->serial);
    if (rc == 0)
        rc = info_text(dap, INFO_PROTOCOL, dap->protocol);
    if (rc == 0)
        rc = info_text(dap, INFO_FIRMWARE, dap->firmware);
    if (rc == 0 && (dap->caps & (CMSIS_DAP_CAP_SWD | CMSIS_DAP_CAP_JTAG)) == 0)
        rc = BT_ERR_UNSUPPORTED;
    return rc;
}

static bool size_allowed(uint16_t packet)
{
    return packet >= 8 && packet <= CMSIS_DAP_MAX_PACKET;
}

int cmsis_dap_open(struct cmsis_dap *dap, const struct usb_pipe *pipe,
                   enum cmsis_dap_transport transport)
{
    *dap = (struct cmsis_dap){.pipe = *pipe, .transport = transport};
    if (!size_allowed(pipe->out_packet) || !size_allowed(pipe->in_packet))
        return BT_ERR_INVAL;
    if (transport == CMSIS_DAP_HID && pipe->out_packet < CMSIS_DAP_MIN_PACKET)
        return BT_ERR_INVAL;
    dap->packet_size = pipe->out_packet; /* until the probe has told */
    dap->packet_count = 1;
    dap->timeout_ms = TIMEOUT_MS;
    cmsis_dap_drain(dap);
    int rc = read_sizes(dap);
    if (rc == 0)
        rc = read_identity(dap);
    return rc;
}
