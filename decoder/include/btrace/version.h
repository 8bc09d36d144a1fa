/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Version of the library. While the first number is 0, a new second number may change the
 * interface; the third one never does.
 */
#ifndef BTRACE_VERSION_H
#define BTRACE_VERSION_H

#define BT_VERSION_MAJOR  0
#define BT_VERSION_MINOR  1
#define BT_VERSION_PATCH  0
#define BT_VERSION_STRING "0.1.0"

/* One number, to compare: BT_VERSION >= BT_VERSION_NUMBER(0, 1, 0). */
#define BT_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define BT_VERSION                             BT_VERSION_NUMBER(BT_VERSION_MAJOR, BT_VERSION_MINOR, BT_VERSION_PATCH)

/* What the library exports; everything else in it is hidden. */
#if defined(__GNUC__)
#define BT_API __attribute__((visibility("default")))
#else
#define BT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* BT_VERSION of the library that the program runs with. Never fails. */
BT_API unsigned bt_version(void);

#ifdef __cplusplus
}
#endif

#endif
