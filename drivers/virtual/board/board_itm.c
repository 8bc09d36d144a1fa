/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_itm.h"

#include <string.h>

#define OVERFLOW_PACKET  0x70
#define EXCEPTION_HEADER 0x0e /* DWT source 1, two bytes */
#define PC_HEADER        0x17 /* DWT source 2, four bytes */
#define DATA_PC          0x44 /* sources 8, 10...: two a comparator */
#define DATA_VALUE       0x84
#define DATA_STORE       0x08
#define SYNC_PERIOD      64 /* packets */
#define STIMULUS         0xe0000000u
#define PORTS            32u

void board_itm_init(struct board_itm *i, struct board_port *port, unsigned id, unsigned period)
{
    *i = (struct board_itm){.port = port, .id = (uint8_t)id, .period = period};
}

static void board_itm_put(struct board_itm *i, const uint8_t *packet, size_t size)
{
    static const uint8_t sync[] = {0, 0, 0, 0, 0, 0x80};
    uint8_t bytes[20];
    size_t used = 0;

    if (i->lost && !board_port_recovered(i->port))
        return;
    if (i->packets++ % SYNC_PERIOD == 0) {
        memcpy(bytes, sync, sizeof sync);
        used = sizeof sync;
    }
    if (i->lost)
        bytes[used++] = OVERFLOW_PACKET;
    memcpy(bytes + used, packet, size);
    i->lost = !board_port_write(i->port, i->id, bytes, used + size);
}

void board_itm_exception(struct board_itm *i, unsigned number, enum board_itm_function function)
{
    const uint8_t packet[3] = {EXCEPTION_HEADER, (uint8_t)number,
                               (uint8_t)(function << 4 | (number >> 8 & 1))};

    if (i->id)
        board_itm_put(i, packet, sizeof packet);
}

/* The header of a source packet: who, and the size as a code. */
static size_t put_source(uint8_t *packet, unsigned header, unsigned size, uint32_t value)
{
    packet[0] = (uint8_t)(header | (size == 4 ? 3 : size));
    for (unsigned i = 0; i < size; i++)
        packet[1 + i] = (uint8_t)(value >> 8 * i);
    return 1 + size;
}

int board_itm_port(uint64_t address)
{
    return address >= STIMULUS && address < STIMULUS + 4 * PORTS && address % 4 == 0
               ? (int)(address - STIMULUS) / 4
               : -1;
}

void board_itm_stimulus(struct board_itm *i, unsigned port, unsigned size, uint32_t value)
{
    uint8_t packet[5];

    board_itm_put(i, packet, put_source(packet, port << 3, size, value));
}

void board_itm_access(struct board_itm *i, unsigned comparator, bool store, unsigned size,
                      uint32_t value, uint32_t pc)
{
    uint8_t packets[10];
    size_t used = put_source(packets, DATA_PC | comparator << 4, 4, pc);

    used += put_source(packets + used, DATA_VALUE | comparator << 4 | (store ? DATA_STORE : 0),
                       size, value);
    board_itm_put(i, packets, used);
}

void board_itm_pc(struct board_itm *i, uint64_t count, uint32_t address)
{
    const uint8_t packet[5] = {PC_HEADER, (uint8_t)address, (uint8_t)(address >> 8),
                               (uint8_t)(address >> 16), (uint8_t)(address >> 24)};

    if (!i->id || count < i->next)
        return;
    i->next = count + i->period;
    board_itm_put(i, packet, sizeof packet);
}
