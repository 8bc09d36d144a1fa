/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_itm.h"

#include <string.h>

#define OVERFLOW_PACKET  0x70
#define EXCEPTION_HEADER 0x0e /* DWT source 1, two bytes */
#define PC_HEADER        0x17 /* DWT source 2, four bytes */
#define SYNC_PERIOD      64   /* packets */

void board_itm_init(struct board_itm *i, struct board_port *port, unsigned id, unsigned period)
{
    *i = (struct board_itm){.port = port, .id = (uint8_t)id, .period = period};
}

static void board_itm_put(struct board_itm *i, const uint8_t *packet, size_t size)
{
    static const uint8_t sync[] = {0, 0, 0, 0, 0, 0x80};
    uint8_t bytes[16];
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

void board_itm_pc(struct board_itm *i, uint64_t count, uint32_t address)
{
    const uint8_t packet[5] = {PC_HEADER, (uint8_t)address, (uint8_t)(address >> 8),
                               (uint8_t)(address >> 16), (uint8_t)(address >> 24)};

    if (!i->id || count < i->next)
        return;
    i->next = count + i->period;
    board_itm_put(i, packet, sizeof packet);
}
