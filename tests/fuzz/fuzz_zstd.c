/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of compressed frames: the table at their end, or the headers of all frames. What is
 * accepted is read twice, in two ways, with one result. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drivers/zstd/zstd_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOK (1u << 20) /* a few bytes may stand for gigabytes */

static void require(bool condition)
{
    if (!condition)
        abort();
}

static uint64_t sum(const uint8_t *bytes, uint64_t length)
{
    uint64_t s = 0;
    for (uint64_t i = 0; i < length; i++)
        s = s * 31 + bytes[i];
    return s;
}

static void read_all(struct zstd_frames *f)
{
    const uint8_t *bytes = NULL;
    uint64_t length = zstd_frames_size(f), first = 0;
    if (zstd_frames_map(f, &bytes) || !length)
        return;
    length = length < LOOK ? length : LOOK;
    int error = zstd_frames_need(f, 0, length);
    if (!error)
        first = sum(bytes, length);
    for (uint64_t at = length; at > 0 && !error;) {
        uint64_t from = at > 5000 ? at - 5000 : 0;
        require(zstd_frames_need(f, from, at) == 0);
        at = from;
    }
    if (!error) {
        require(zstd_frames_need(f, 0, length) == 0);
        require(sum(bytes, length) == first);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zstd_frames *f;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    int error = zstd_frames_open(fd, size, &f);
    require((error == 0) == (f != NULL));
    if (f)
        read_all(f);
    zstd_frames_close(f);
    return 0;
}
