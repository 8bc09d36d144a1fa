/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtos_internal.h"

#include "drivers/elf/elf_image.h"

#include <stdlib.h>

static const struct rtos_ops *const kernels[] = {&rtos_freertos, &rtos_zephyr, &rtos_threadx};

static const struct rtos_ops *rtos_choose(enum rtos_kind kind, const struct elf_image *image)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        bool wanted = kind == RTOS_AUTO || kind == kernels[i]->kind;
        if (wanted && rtos_find(image, kernels[i]->symbol).size > 0)
            return kernels[i];
    }
    return NULL;
}

static const char *rtos_lacking(enum rtos_kind kind)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i]->kind == kind)
            return kernels[i]->symbol;
    return "";
}

int rtos_open(struct rtos **out, enum rtos_kind kind, const struct elf_image *image,
              struct message *why)
{
    *out = NULL;
    if (kind <= RTOS_NONE)
        return BT_OK;
    const struct rtos_ops *ops = rtos_choose(kind, image);
    if (!ops && kind == RTOS_AUTO)
        return BT_OK;
    if (!ops)
        return message_fail(why, BT_ERR_UNSUPPORTED, "the program has no symbol '%s'",
                            rtos_lacking(kind));
    if (image->machine != ELF_MACHINE_ARM || image->big_endian)
        return message_fail(why, BT_ERR_UNSUPPORTED,
                            "tasks of %s are known of little-endian cores of 32 bits alone",
                            ops->name);
    struct rtos *r = calloc(1, sizeof *r);
    if (!r)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    r->ops = ops;
    int error = ops->open(r, image, why);
    if (error) {
        free(r);
        return error;
    }
    *out = r;
    return BT_OK;
}

void rtos_close(struct rtos *r)
{
    free(r);
}

const char *rtos_name(const struct rtos *r)
{
    return r->ops->name;
}

uint32_t rtos_current(const struct rtos *r)
{
    return r->current.address;
}

int rtos_walk(const struct rtos *r, rtos_read_fn read, void *ctx, struct rtos_tasks *out)
{
    const struct rtos_walk w = {r, read, ctx, out};
    out->count = 0;
    out->note[0] = '\0';
    int error = r->ops->walk(&w);
    if (error)
        out->count = 0;
    return error;
}
