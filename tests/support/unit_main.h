/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared main() of the unit tests: a test file defines unit_suite() and nothing else. */
#ifndef TESTS_UNIT_UNIT_MAIN_H
#define TESTS_UNIT_UNIT_MAIN_H

#include <check.h>

/* Check writes a message for each assertion that holds, in case the next one crashes: half of the
 * time of all tests together. */
#define _mark_point(file, line) ((void)(file))

/* Defined by the test program. */
Suite *unit_suite(void);

/* Adds a test under its own name, once or for each _i in from..to-1. */
void unit_case(Suite *suite, const char *name, const TTest *test);
void unit_cases(Suite *suite, const char *name, const TTest *test, int from, int to);

#endif
