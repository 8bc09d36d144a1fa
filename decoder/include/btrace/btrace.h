/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libbtrace: what ARM cores executed, from the trace of their ETM or PTM. This header includes all
 * others:
 *
 *     version.h     version of headers and library
 *     types.h       errors, blocks, events
 *     source.h      what is known of the trace unit that made the trace
 *     image.h       the program that ran
 *     formatter.h   CoreSight formatter frames -> bytes of each source
 *     decoder.h     bytes of one source -> packets, blocks, instructions, events; their history
 *
 * Bytes of a source go into a decoder. What it finds is handed to functions of the caller as it
 * comes, or is kept as a history to be read at any place, forwards and backwards.
 *
 * Functions return 0 or a negative enum bt_error; the comment of each function has one line for
 * each error that it returns. The library does no input or output, has no global state, starts no
 * threads and prints nothing. An object is for one thread at a time; different objects may be used
 * by different threads, and decoders in different threads may share an image.
 */
#ifndef BTRACE_BTRACE_H
#define BTRACE_BTRACE_H

#include "btrace/decoder.h"
#include "btrace/formatter.h"
#include "btrace/image.h"
#include "btrace/source.h"
#include "btrace/types.h"
#include "btrace/version.h"

#endif
