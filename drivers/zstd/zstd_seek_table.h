/* SPDX-License-Identifier: BSD-3-Clause */
/* The table at the end of a file of frames: Zstandard Seekable Format 0.1.0. Numbers are
 * little-endian. A header, for each frame two numbers (bytes in the file, bytes of its contents)
 * and maybe a checksum, and a footer: number of frames, a byte of flags, the magic number. */
#ifndef DRIVERS_ZSTD_SEEK_TABLE_H
#define DRIVERS_ZSTD_SEEK_TABLE_H

#define ZSTD_SEEK_SKIPPABLE 0x184d2a5eu
#define ZSTD_SEEK_MAGIC     0x8f92eab1u
#define ZSTD_SEEK_HEADER    8u
#define ZSTD_SEEK_FOOTER    9u
#define ZSTD_SEEK_CHECKSUMS 0x80u

#endif
