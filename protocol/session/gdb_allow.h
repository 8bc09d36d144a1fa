/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packets of a client may go on to another GDB server: those that touch its cores, and not
 * the machine that it runs on. Not for use outside of protocol/. */
#ifndef PROTOCOL_GDB_ALLOW_H
#define PROTOCOL_GDB_ALLOW_H

#include <stdbool.h>
#include <stddef.h>

/* The packet is known, and has the shape of one. Of qRcmd the text is not looked at. */
bool gdb_may_pass(const char *payload, size_t len);

/* A word of the other side's reply to qSupported is about such packets. */
bool gdb_may_pass_feature(const char *word, size_t len);

#endif
