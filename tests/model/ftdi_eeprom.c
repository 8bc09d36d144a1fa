/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftdi_eeprom.h"

#include <string.h>

#define EEPROM_BYTES   (2 * FTDI_EEPROM_WORDS)
#define CHANNEL_TYPE   0x07u /* of channel A, in the first byte */
#define CHANNEL_FIFO   0x01u
#define BUS_POWERED    0x80u
#define POWER_2MA      50u
#define USE_SERIAL     0x08u
#define TYPE_93C56     0x56u
#define AT_STRINGS     0x0eu /* offset and size of each */
#define AT_TYPE        0x18u
#define FIRST_STRING   0x9au
#define STRING_MAX     20u
#define DT_STRING      3u
#define CHECKSUM_START 0xaaaau

static unsigned put_string(uint8_t *bytes, unsigned at, const char *text)
{
    unsigned length = (unsigned)strnlen(text, STRING_MAX);
    bytes[at] = (uint8_t)(2 + 2 * length);
    bytes[at + 1] = DT_STRING;
    for (unsigned i = 0; i < length; i++)
        bytes[at + 2 + 2 * i] = (uint8_t)text[i];
    return 2 + 2 * length;
}

bool ftdi_eeprom_fifo(const uint16_t words[FTDI_EEPROM_WORDS])
{
    return (words[0] & CHANNEL_TYPE) == CHANNEL_FIFO;
}

static uint16_t checksum(const uint16_t *words)
{
    uint16_t sum = CHECKSUM_START;
    for (unsigned i = 0; i + 1 < FTDI_EEPROM_WORDS; i++) {
        sum ^= words[i];
        sum = (uint16_t)(sum << 1 | sum >> 15);
    }
    return sum;
}

void ftdi_eeprom_fill(uint16_t words[FTDI_EEPROM_WORDS], uint16_t vid, uint16_t pid,
                      uint16_t release, const char *const strings[3], bool fifo)
{
    uint8_t bytes[EEPROM_BYTES] = {
        [0] = fifo ? CHANNEL_FIFO : 0,
        [2] = (uint8_t)vid,
        [3] = (uint8_t)(vid >> 8),
        [4] = (uint8_t)pid,
        [5] = (uint8_t)(pid >> 8),
        [7] = (uint8_t)(release >> 8),
        [8] = BUS_POWERED,
        [9] = POWER_2MA,
        [0x0a] = USE_SERIAL,
        [AT_TYPE] = TYPE_93C56,
    };
    unsigned at = FIRST_STRING;
    for (unsigned i = 0; i < 3 && at + 2 + 2 * STRING_MAX < EEPROM_BYTES - 2; i++) {
        unsigned size = put_string(bytes, at, strings[i]);
        bytes[AT_STRINGS + 2 * i] = (uint8_t)at;
        bytes[AT_STRINGS + 2 * i + 1] = (uint8_t)size;
        at += size;
    }
    for (unsigned i = 0; i < FTDI_EEPROM_WORDS; i++)
        words[i] = (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
    words[FTDI_EEPROM_WORDS - 1] = checksum(words);
}
