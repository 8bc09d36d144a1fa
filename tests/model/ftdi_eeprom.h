/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The EEPROM beside an FTDI chip: 128 words that the requests 0x90 to 0x92 read, write and erase,
 * as libftdi1 does. In the words are ids, power, strings and a checksum; the tests let it judge.
 */
#ifndef TESTS_USB_FTDI_EEPROM_H
#define TESTS_USB_FTDI_EEPROM_H

#include <stdbool.h>
#include <stdint.h>

#define FTDI_EEPROM_WORDS 128u

/*
 * Fills it as the factory does, or with channel A as a 245 FIFO; strings: vendor, product, serial
 * number, up to 20 characters each.
 */
void ftdi_eeprom_fill(uint16_t words[FTDI_EEPROM_WORDS], uint16_t vid, uint16_t pid,
                      uint16_t release, const char *const strings[3], bool fifo);

/* Channel A is a 245 FIFO. */
bool ftdi_eeprom_fifo(const uint16_t words[FTDI_EEPROM_WORDS]);

#endif
