/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the recorder share: where it records, the board, and memory of it. */
#ifndef TESTS_UNIT_TEST_RECORDER_FOLDER_H
#define TESTS_UNIT_TEST_RECORDER_FOLDER_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/recording/recorder.h"
#include "server/recording/recording.h"
#include "tests/support/unit_main.h"

static char parent[64];
static char folder[96];

/* As captured bytes come: in a buffer, one behind the other. A transfer that is longer than any
 * buffer finds no room anyway. */
static inline void record(struct recorder *r, const uint8_t *data, size_t len)
{
    static struct trace_pool *pool;
    static struct trace_buffer *buffer;
    static size_t used;
    if (!pool)
        pool = trace_pool_new();
    if (!buffer || (len <= TRACE_BUFFER_SIZE && TRACE_BUFFER_SIZE - used < len)) {
        trace_buffer_release(buffer);
        buffer = trace_pool_take(pool);
        used = 0;
    }
    if (len > TRACE_BUFFER_SIZE) {
        recorder_bytes(r, buffer, data, len);
        return;
    }
    memcpy(buffer->bytes + used, data, len);
    recorder_bytes(r, buffer, buffer->bytes + used, len);
    used += len;
}

/* Each recording is synced many times: in memory, if there is such a folder, that costs nothing. */
static inline void make_parent(void)
{
    bool fast = faccessat(AT_FDCWD, "/dev/shm", W_OK, AT_EACCESS) == 0;
    snprintf(parent, sizeof parent, "%s/test_recorder.XXXXXX", fast ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(parent));
    snprintf(folder, sizeof folder, "%s/rec", parent);
}

static inline void remove_parent(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    ck_assert_int_eq(system(command), 0);
}

/* Two cores with PTMs and one Cortex-M without, as a board file describes them. */
static inline void make_config(struct config *c, const char *format)
{
    static const char *const raw = "[target]\nconnect = :1\n[board]\ndescription = a board\n"
                                   "[trace]\nconnect = :2\nformat = %s\n[core cpu0]\n"
                                   "type = Cortex-A9\nETMCR = 0x20000000\nETMIDR = 0x411CF301\n"
                                   "ETMCCER = 0x00C018EA\nETMTRACEIDR = 0x10\nsource = PTM1.0\n"
                                   "[core cpu2]\ntype = Cortex-M4\n";
    static const char *const second = "[core cpu1]\ntype = Cortex-A9\nETMCR = 0\nSCTLR = 0x2000\n"
                                      "ETMIDR = 0x411CF301\nETMCCER = 0\nETMTRACEIDR = 0x20\n"
                                      "source = PTM1.0\n";
    char text[1024];
    struct message why;
    int n = snprintf(text, sizeof text, raw, format);
    if (strcmp(format, "raw") != 0)
        snprintf(text + n, sizeof text - (size_t)n, "%s", second);
    int error = config_parse(c, text, strlen(text), "test.conf", NULL, &why);
    ck_assert_msg(error == 0, "%s", why.text);
}

static inline void add_region(struct code_image *image, uint64_t address, const char *bytes,
                              uint32_t generation, unsigned by, unsigned security)
{
    struct code_region region = {.address = address,
                                 .size = strlen(bytes),
                                 .bytes = (const uint8_t *)bytes,
                                 .generation = generation,
                                 .by = by,
                                 .core = 1,
                                 .security = (uint8_t)security};
    ck_assert_int_eq(code_image_add(image, &region), 0);
}

#endif
