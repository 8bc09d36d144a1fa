/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/probe/probe_target_flash.h"

#include <inttypes.h>
#include <stdio.h>

#define ADDRESS_SPACE ((uint64_t)1 << 32)

static const char none[] = "no flash algorithm: name the FLM file of the chip in the board file, "
                           "[flash] algorithm = FILE";

/* The memory map. */

static void flash_add_region(struct probe_target_flash *f, enum target_region_type type,
                             uint64_t start, uint64_t length, uint64_t blocksize)
{
    if (length > 0)
        f->regions[f->region_count++] = (struct target_region){type, start, length, blocksize};
}

static void flash_make_map(struct probe_target_flash *f)
{
    const struct flash_algorithm *a = f->algorithm;
    uint64_t end = a ? (uint64_t)a->start + a->size : 0;
    flash_add_region(f, TARGET_REGION_RAM, 0, a ? a->start : 0, 0);
    for (unsigned i = 0; a && i < a->region_count; i++)
        flash_add_region(f, TARGET_REGION_FLASH, a->regions[i].start, a->regions[i].size,
                         a->regions[i].sector_size);
    flash_add_region(f, TARGET_REGION_RAM, end, ADDRESS_SPACE - end, 0);
}

static int flash_open_algorithm(struct probe_target_flash *f, const struct config *config,
                                struct cortex_m *core, struct message *why)
{
    const struct config_range *ram = &config->flash.ram;
    char text[200];
    int error = flash_algorithm_open(config->flash.algorithm, &f->algorithm, why);
    if (error)
        return message_fail(why, error, "%s: [flash] algorithm: cannot use '%s': %s", config->path,
                            config->flash.algorithm, why->text);
    error =
        flash_run_init(&f->run, f->algorithm, core, (uint32_t)ram->address, (uint32_t)ram->size);
    if (error)
        message_set(why, "%s: [flash] ram: %s", config->path,
                    flash_run_describe(&f->run, text, sizeof text));
    return error;
}

int probe_target_flash_open(struct probe_target_flash *f, const struct config *config,
                            struct cortex_m *core, struct message *why)
{
    int error = BT_OK;
    if (config->flash.algorithm[0] && core) {
        error = flash_open_algorithm(f, config, core, why);
    } else if (config->flash.algorithm[0]) {
        message_set(why, "%s: [flash] algorithm: these algorithms are for Cortex-M", config->path);
        error = BT_ERR_UNSUPPORTED;
    }
    flash_make_map(f);
    return error;
}

void probe_target_flash_close(struct probe_target_flash *f)
{
    if (f->algorithm)
        flash_run_release(&f->run);
    flash_algorithm_close(f->algorithm);
    f->algorithm = NULL;
}

int probe_target_flash_check(const struct config *config, struct message *why)
{
    struct probe_target_flash f = {.algorithm = NULL};
    int error = config->flash.algorithm[0] ? flash_open_algorithm(&f, config, NULL, why) : BT_OK;
    probe_target_flash_close(&f);
    return error;
}

static int flash_end(struct probe_target_flash *f)
{
    f->busy = false;
    return flash_run_end(&f->run);
}

static int flash_outcome(struct probe_target_flash *f, int error)
{
    if (!error)
        return BT_OK;
    flash_run_describe(&f->run, f->reported, sizeof f->reported);
    if (f->busy)
        flash_end(f);
    return error;
}

/* Registers are saved when the first purpose begins. */
static int flash_begin(struct probe_target_flash *f, enum flash_purpose purpose)
{
    f->reported[0] = '\0';
    if (!f->algorithm) {
        snprintf(f->reported, sizeof f->reported, "%s", none);
        return BT_ERR_UNSUPPORTED;
    }
    f->busy = true;
    return flash_outcome(f, flash_run_begin(&f->run, purpose));
}

static bool flash_fits(struct probe_target_flash *f, uint64_t address, uint64_t length)
{
    bool good = address < ADDRESS_SPACE && length <= ADDRESS_SPACE - address;
    if (!good)
        snprintf(f->reported, sizeof f->reported, "no such address: 0x%" PRIx64, address);
    return good;
}

int probe_target_flash_erase(struct probe_target_flash *f, uint64_t address, uint64_t length)
{
    if (!flash_fits(f, address, length))
        return BT_ERR_RANGE;
    int error = flash_begin(f, FLASH_FOR_ERASE);
    return error ? error
                 : flash_outcome(f, flash_run_erase(&f->run, (uint32_t)address, (uint32_t)length));
}

int probe_target_flash_write(struct probe_target_flash *f, uint64_t address, const void *bytes,
                             size_t len)
{
    if (!flash_fits(f, address, len))
        return BT_ERR_RANGE;
    int error = flash_begin(f, FLASH_FOR_PROGRAM);
    return error ? error
                 : flash_outcome(f, flash_run_program(&f->run, (uint32_t)address, bytes, len));
}

int probe_target_flash_done(struct probe_target_flash *f)
{
    if (!f->busy)
        return BT_OK;
    f->reported[0] = '\0';
    return flash_outcome(f, flash_end(f));
}

void probe_target_flash_abandon(struct probe_target_flash *f)
{
    if (f->busy)
        flash_end(f);
}

void probe_target_flash_report(const struct probe_target_flash *f, const struct console *c)
{
    const struct flash_algorithm *a = f->algorithm;
    if (!a)
        return;
    console_print(c, "flash         %s: %" PRIu32 " kB at 0x%08" PRIx32 "\n", a->name,
                  a->size >> 10, a->start);
}
