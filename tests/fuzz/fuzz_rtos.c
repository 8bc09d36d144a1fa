/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures of kernels in memory: a byte each for the kernel, its layout and its port, two for the
 * place of each variable, then the memory from 0x20000000 on. A walk ends, fills no more than there
 * is room for, and finds the same when it is done again and when it is cut off and done again.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/rtos/rtos_internal.h"

#define RAM       0x20000000u
#define VARIABLES 13u
#define HEAD      (3 + 2 * VARIABLES)
#define READS_MAX 200000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ram {
    const uint8_t *bytes;
    size_t size, reads, end; /* end: the read that fails; 0: none */
};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static int ram_read(void *ctx, uint32_t address, void *bytes, size_t size)
{
    struct ram *m = ctx;
    require(++m->reads < READS_MAX);
    if (m->reads == m->end)
        return 1;
    if (address < RAM || address - RAM > m->size || size > m->size - (address - RAM))
        return BT_ERR_IO;
    memcpy(bytes, m->bytes + (address - RAM), size);
    return BT_OK;
}

static const struct freertos_layout freertos_layouts[] = {
    {20, 0, 8, 4, 12, 16, 4, 24, 44, 52, 16},
    {32, 4, 12, 8, 16, 20, 4, 32, 60, 68, 16},
};

static struct rtos rtos_of(const uint8_t *head)
{
    static const struct rtos_ops *const ops[] = {&rtos_freertos, &rtos_threadx, &rtos_zephyr};
    struct rtos_variable v[VARIABLES];
    struct rtos r = {.ops = ops[head[0] % 3], .port = head[2] % (RTOS_PORT_LR + 1)};
    for (size_t i = 0; i < VARIABLES; i++)
        v[i] = (struct rtos_variable){RAM + (head[3 + 2 * i] | (uint32_t)head[4 + 2 * i] << 8), 4};
    r.current = v[0];
    r.count = v[1];
    r.freertos.layout = freertos_layouts[head[1] % 2];
    r.freertos.running = v[2];
    r.freertos.ready = v[3];
    r.freertos.ready.size = 5 * r.freertos.layout.list_size;
    memcpy(r.freertos.lists, v + 4, sizeof r.freertos.lists);
    r.threadx.layout = (struct threadx_layout){8, 40, 44, 48, 136};
    r.threadx.created = v[9];
    r.zephyr.kernel = v[10];
    r.zephyr.offsets = v[11];
    r.zephyr.offsets.size = head[1] % 2 ? 14 * 4 : 13 * 4;
    return r;
}

static int walk(const struct rtos *r, struct ram *m, struct rtos_tasks *out)
{
    memset(out, 0, sizeof *out);
    m->reads = 0;
    int error = rtos_walk(r, ram_read, m, out);
    require(out->count <= RTOS_TASKS_MAX && memchr(out->note, '\0', sizeof out->note));
    require(!error || out->count == 0);
    require(error >= 0 || out->note[0]);
    for (size_t i = 0; i < out->count; i++) {
        require(memchr(out->task[i].name, '\0', RTOS_NAME_MAX) && out->task[i].state);
        for (size_t k = 0; k < i; k++)
            require(out->task[i].address != out->task[k].address);
    }
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rtos_tasks first, second;
    if (size < HEAD)
        return 0;
    uint8_t *bytes = malloc(size - HEAD + 1);
    require(bytes);
    memcpy(bytes, data + HEAD, size - HEAD);
    struct ram m = {.bytes = bytes, .size = size - HEAD};
    const struct rtos r = rtos_of(data);
    int error = walk(&r, &m, &first);
    size_t reads = m.reads;
    m.end = 1 + (data[0] / 3 + 64u * data[2]) % (reads + 1);
    require(walk(&r, &m, &second) == (m.end <= reads ? 1 : error));
    m.end = 0;
    require(walk(&r, &m, &second) == error && m.reads == reads);
    require(memcmp(&first, &second, sizeof first) == 0);
    free(bytes);
    return 0;
}
