/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the file of a flash algorithm: what is taken holds together, and lies in the RAM
 * that
 * --check-config says it fits. */
#include <stdlib.h>

#include "drivers/flash/flash_algorithm_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_regions(const struct flash_algorithm *a)
{
    uint64_t next = a->start;
    for (unsigned k = 0; k < a->region_count; k++) {
        const struct flash_region *region = &a->regions[k];
        uint32_t start;
        uint32_t sector;
        if (region->start != next || region->size % region->sector_size != 0)
            abort();
        if (flash_algorithm_sector(a, region->start + region->size - 1, &start, &sector) != 0 ||
            start - region->start > region->size - sector)
            abort();
        next += region->size;
    }
    if (next != (uint64_t)a->start + a->size)
        abort();
}

/* In the RAM that a board file gives it. */
static void check_place(const struct flash_algorithm *a, uint32_t start, uint32_t size)
{
    char text[200] = "";
    struct flash_run run;
    int error = flash_run_init(&run, a, NULL, start, size);
    if (!error && (run.code < start || run.stack < run.code + a->image_size ||
                   run.stack > run.buffers[0] || run.buffers[0] > run.buffers[1] ||
                   (uint64_t)run.buffers[1] + a->page_size > (uint64_t)start + size))
        abort();
    if (error && (flash_run_describe(&run, text, sizeof text), text[0] == '\0'))
        abort();
    flash_run_release(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct flash_algorithm *a;
    struct message why = {.text = ""};
    uint8_t sum = 0;
    if (flash_algorithm_from_memory(data, size, &a, &why) != 0) {
        if (a || why.text[0] == '\0')
            abort();
        return 0;
    }
    for (uint32_t k = 0; k < a->image_size; k++)
        sum ^= a->image[k];
    if (sum != 0 && a->image_size == 0)
        abort();
    for (unsigned f = 0; f < FLASH_FUNCTIONS; f++) {
        if (a->functions[f] != FLASH_ALGORITHM_NONE && a->functions[f] >= a->image_size)
            abort();
    }
    if (a->image_size == 0 || a->image_size > FLASH_ALGORITHM_IMAGE || a->region_count == 0 ||
        a->page_size == 0 || a->page_size > FLASH_ALGORITHM_PAGE || a->static_base > a->image_size)
        abort();
    check_regions(a);
    for (uint32_t ram = 64; ram <= 0x400000; ram *= 4)
        check_place(a, 0x20000000, ram + (data[size - 1] & 7u));
    check_place(a, 0xffffff00u | data[size - 1], 0x100);
    flash_algorithm_close(a);
    return 0;
}
