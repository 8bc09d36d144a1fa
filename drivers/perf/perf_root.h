/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the traced machine below a folder that stands for its "/": what perf.data says of them,
 * and the links on the way, never lead out of it. */
#ifndef DRIVERS_PERF_ROOT_H
#define DRIVERS_PERF_ROOT_H

/* A file opened for reading, or -1 with errno. `path` begins with '/'. With NULL as root it is one
 * of this machine's. */
int perf_root_open(const char *root, const char *path);

/* The same by hand, where the kernel has no openat2(). */
int perf_root_walk(int root, const char *path);

#endif
