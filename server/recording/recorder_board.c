/* SPDX-License-Identifier: BSD-3-Clause */
#include "recorder_board.h"

#include "drivers/snapshot/snapshot_writer.h"
#include "server/recording/record_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_MAX 9999u

/* mkdir() is what claims a name: two programs never share one. */
static int recorder_make_numbered(const char *path, char *folder, size_t size, struct message *why)
{
    for (unsigned i = 1; i <= NUMBER_MAX; i++) {
        int n = snprintf(folder, size, "%s/%04u", path, i);
        if (n < 0 || (size_t)n >= size)
            break;
        if (mkdir(folder, 0777) == 0)
            return BT_OK;
        if (errno != EEXIST)
            return message_fail(why, BT_ERR_IO, "cannot record to '%s': %s", folder,
                                strerror(errno));
    }
    return message_fail(why, BT_ERR_RANGE,
                        "cannot record to '%s': the name is too long, or %u recordings are there",
                        path, NUMBER_MAX);
}

static int recorder_make_folder(const char *path, char *folder, size_t size, struct message *why)
{
    struct stat st;
    if (strlen(path) + 6 > size)
        return message_fail(why, BT_ERR_RANGE, "cannot record to '%.200s...': the name is too long",
                            path);
    snprintf(folder, size, "%s", path);
    if (mkdir(folder, 0777) == 0)
        return BT_OK;
    if (errno != EEXIST)
        return message_fail(why, BT_ERR_IO, "cannot record to '%s': %s", path, strerror(errno));
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return recorder_make_numbered(path, folder, size, why);
    return message_fail(why, BT_ERR_IO, "cannot record to '%s': it exists and is not a folder",
                        path);
}

static int board_add_device(struct recorder_board *b, const struct snapshot_device *d)
{
    const struct snapshot_writer_device device = {
        .name = d->name, .class_name = d->class_name, .type = d->type};
    int number = snapshot_writer_add_device(b->writer, &device);
    for (size_t i = 0; i < d->reg_count && number >= 0; i++) {
        const struct snapshot_reg *reg = &d->regs[i];
        uint32_t index = reg->has_index ? reg->index : SNAPSHOT_WRITER_NO_INDEX;
        int error =
            snapshot_writer_set_reg(b->writer, number, reg->name, index, reg->size, reg->value);
        if (error)
            return error;
    }
    return number;
}

static bool board_core_sees(const struct code_region *region, unsigned core)
{
    if (region->by & (CODE_BY_VMID | CODE_BY_CONTEXT))
        return false;
    return !(region->by & CODE_BY_CORE) || region->core == core;
}

/* One dump for all cores that have the image and see the region. */
static int board_add_piece(struct recorder_board *b, const struct code_image *const *images,
                           const struct code_image *image, const struct code_region *region)
{
    static const char *const spaces[] = {
        [BT_SEC_SECURE] = "S", [BT_SEC_NONSECURE] = "N", [BT_SEC_HYP] = "H"};
    const char *space = region->by & CODE_BY_SECURITY ? spaces[region->security] : "";
    bool written = false;
    int error = BT_OK;
    for (unsigned i = 0; i < b->core_count && !error; i++) {
        if (images[i] != image || !board_core_sees(region, i))
            continue;
        if (written)
            error = snapshot_writer_share_dump(b->writer, b->core_devices[i]);
        else
            error = snapshot_writer_add_dump(b->writer, b->core_devices[i], region->address, space,
                                             region->bytes, (size_t)region->size);
        written = true;
    }
    return error;
}

/* OpenCSD refuses memory of an odd size: the last byte is a dump of its own, and all that it does
 * without. */
static int board_add_region(struct recorder_board *b, const struct code_image *const *images,
                            const struct code_image *image, const struct code_region *region)
{
    struct code_region even = *region, last = *region;
    last.size = region->size % 2;
    even.size -= last.size;
    last.address += even.size;
    last.bytes += even.size;
    int error = even.size ? board_add_piece(b, images, image, &even) : BT_OK;
    return !error && last.size ? board_add_piece(b, images, image, &last) : error;
}

/* Readers take the dump that was added last; an image the newest generation, and of that the first
 * region. */
static int board_add_image(struct recorder_board *b, const struct code_image *const *images,
                           const struct code_image *image)
{
    for (uint32_t generation = 0;; generation++) {
        for (size_t i = image->count; i-- > 0;) {
            if (image->regions[i].generation != generation)
                continue;
            int error = board_add_region(b, images, image, &image->regions[i]);
            if (error)
                return error;
        }
        if (generation == image->generation)
            return BT_OK;
    }
}

static int board_add_images(struct recorder_board *b, const struct code_image *const *images)
{
    for (unsigned i = 0; i < b->core_count; i++) {
        bool done = !images[i];
        for (unsigned k = 0; k < i; k++)
            done |= images[k] == images[i];
        int error = done ? BT_OK : board_add_image(b, images, images[i]);
        if (error)
            return error;
    }
    return BT_OK;
}

static int board_set(struct recorder_board *b, int device, const char *name, uint64_t value)
{
    return snapshot_writer_set_reg(b->writer, device, name, SNAPSHOT_WRITER_NO_INDEX,
                                   value > UINT32_MAX ? 64 : 32, value);
}

static int board_add_ranges(struct recorder_board *b, unsigned core, const char *what,
                            const struct config_ranges *ranges)
{
    int error = BT_OK;
    for (unsigned i = 0; i < ranges->count && !error; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%u", what, i);
        error = board_set(b, b->core_devices[core], name, ranges->at[i].address);
        snprintf(name, sizeof name, "%s" RECORDER_SIZE "%u", what, i);
        if (!error)
            error = board_set(b, b->core_devices[core], name, ranges->at[i].size);
    }
    return error;
}

static int board_describe(struct recorder_board *b, const struct config *c,
                          const struct code_image *const *images)
{
    const char *format = !c->formatted                  ? "source_data"
                         : c->mode == FORMATTER_ALIGNED ? "coresight"
                                                        : "dstream_coresight";
    int error = b->buffer = snapshot_writer_add_buffer(b->writer, "trace", format);
    if (c->record.compress && error >= 0)
        error = snapshot_writer_compress(b->writer, b->buffer);
    for (unsigned i = 0; i < c->core_count && error >= 0; i++) {
        error = b->core_devices[i] = board_add_device(b, &c->cores[i].core_device);
        if (error >= 0)
            error = board_add_ranges(b, i, RECORDER_RAM, &c->cores[i].ram);
        if (error >= 0)
            error = board_add_ranges(b, i, RECORDER_SHARED, &c->cores[i].shared);
    }
    for (unsigned i = 0; i < c->core_count && error >= 0; i++) {
        if (!c->cores[i].has_source)
            continue;
        error = board_add_device(b, &c->cores[i].source_device);
        if (error >= 0)
            error = snapshot_writer_add_source(b->writer, error, b->buffer, b->core_devices[i]);
    }
    b->itm_device = -1;
    if (c->itm.on && error >= 0) {
        error = b->itm_device = board_add_device(b, &c->itm.device);
        if (error >= 0)
            error = snapshot_writer_add_source(b->writer, error, b->buffer, b->core_devices[0]);
    }
    if (error >= 0)
        error = board_add_images(b, images);
    return error < 0 ? error : snapshot_writer_commit(b->writer);
}

int recorder_board_create(struct recorder_board *b, const struct config *config, const char *path,
                          const struct code_image *const *images, struct message *why)
{
    memset(b, 0, sizeof *b);
    int error = recorder_make_folder(path, b->folder, sizeof b->folder, why);
    if (error)
        return error;
    if (record_place_room(config->record_keep_free, b->folder) == 0) {
        rmdir(b->folder);
        return message_fail(
            why, BT_ERR_RANGE,
            "cannot record to '%s': the disk is as full as [record] keep_free allows", b->folder);
    }
    b->core_count = config->core_count;
    for (unsigned i = 0; i < config->core_count; i++)
        b->m_profile[i] = strncasecmp(config->cores[i].type, "Cortex-M", 8) == 0 ||
                          strcasecmp(config->cores[i].type, "SC300") == 0;
    const char *about = *config->description ? config->description : config->name;
    error = snapshot_writer_create(b->folder, about, &b->writer);
    if (!error)
        error = board_describe(b, config, images);
    if (!error)
        return BT_OK;
    message_set(why, "cannot record to '%s': %s", b->folder,
                error == BT_ERR_IO ? strerror(errno) : bt_strerror(error));
    snapshot_writer_close(b->writer);
    b->writer = NULL;
    return error;
}

int recorder_board_add_halt(struct recorder_board *b, unsigned core, uint64_t pc, uint32_t psr,
                            uint64_t bytes)
{
    const struct {
        const char *name;
        unsigned bits;
        uint64_t value;
    } regs[] = {
        {"PC", pc > UINT32_MAX ? 64 : 32, pc},
        {b->m_profile[core] ? "xPSR" : "CPSR", 32, psr},
        {RECORDER_BYTES, 64, bytes},
    };
    int error = BT_OK;
    for (size_t i = 0; i < sizeof regs / sizeof *regs && !error; i++)
        error = snapshot_writer_set_reg(b->writer, b->core_devices[core], regs[i].name,
                                        SNAPSHOT_WRITER_NO_INDEX, regs[i].bits, regs[i].value);
    return error;
}

static int board_add_stack(struct recorder_board *b, unsigned core, const struct recorder_state *s)
{
    int device = b->core_devices[core];
    if (!s->length)
        return BT_OK;
    if (b->has_stack[core])
        return snapshot_writer_replace_dump(b->writer, device, s->stack, s->memory, s->length);
    b->has_stack[core] = true;
    return snapshot_writer_add_dump(b->writer, device, s->stack, "", s->memory, s->length);
}

int recorder_board_add_state(struct recorder_board *b, unsigned core,
                             const struct recorder_state *s, uint64_t bytes)
{
    static const char *const names[] = {"R0", "R1", "R2",  "R3",  "R4",  "R5", "R6", "R7",
                                        "R8", "R9", "R10", "R11", "R12", "SP", "LR"};
    const struct {
        const char *name;
        uint64_t value;
    } about[] = {{RECORDER_STATE_BYTES, bytes},
                 {RECORDER_STACK, s->stack},
                 {RECORDER_STACK_BYTES, s->length}};
    int device = b->core_devices[core], error = board_add_stack(b, core, s);
    for (size_t i = 0; i < sizeof names / sizeof *names && !error; i++)
        error = snapshot_writer_set_reg(b->writer, device, names[i], SNAPSHOT_WRITER_NO_INDEX, 32,
                                        s->regs[i]);
    for (size_t i = 0; i < sizeof about / sizeof *about && !error; i++)
        error = snapshot_writer_set_reg(b->writer, device, about[i].name, SNAPSHOT_WRITER_NO_INDEX,
                                        64, about[i].value);
    return error;
}

int recorder_board_add_known(struct recorder_board *b, unsigned core, uint64_t bytes,
                             const struct recorder_known *k)
{
    char name[32];
    snprintf(name, sizeof name, "state_%u", b->known);
    const struct snapshot_writer_device device = {
        .name = name, .class_name = RECORDER_KNOWN_CLASS, .type = RECORDER_KNOWN_CLASS};
    int number = snapshot_writer_add_device(b->writer, &device);
    int error = number < 0 ? number : board_set(b, number, RECORDER_KNOWN_CORE, core);
    if (!error)
        error = board_set(b, number, RECORDER_BYTES, bytes);
    for (size_t i = 0; i < k->reg_count && !error; i++)
        error = board_set(b, number, k->regs[i].name, k->regs[i].value);
    for (size_t i = 0; i < k->ram_count && !error; i++) {
        error = snapshot_writer_add_dump(b->writer, number, k->ram[i].address, "", k->ram[i].bytes,
                                         k->ram[i].length);
        b->known_size += k->ram[i].length;
    }
    b->known++;
    return error;
}
