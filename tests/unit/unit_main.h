/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared main() of the unit tests: a test file defines unit_suite() and nothing else. */
#ifndef TESTS_UNIT_UNIT_MAIN_H
#define TESTS_UNIT_UNIT_MAIN_H

#include <check.h>

/* Defined by the test program. */
Suite *unit_suite(void);

#endif
