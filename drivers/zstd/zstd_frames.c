/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/zstd/zstd_frames.h"
#include "decoder/base/bytes.h"

#include "decoder/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "zstd_seek_table.h"

#define HEADER_MAX 18u         /* of a frame; RFC 8878 3.1.1.1 */
#define SKIPPABLE  0x184d2a50u /* RFC 8878 3.1.2: or one of the 15 behind it */

/* Where a frame begins: in the file, and in the contents. One more stands for the end. */
struct frame_place {
    uint64_t at;
    uint64_t offset;
};

struct kept_frame {
    size_t frame;
    uint64_t used; /* larger is younger */
};

struct zstd_frames {
    int fd;
    uint64_t file_size;
    struct frame_place *places;
    size_t count; /* of frames */
    uint8_t *data;
    bool *there; /* by frame: its contents are in `data` */
    struct kept_frame *kept;
    size_t kept_count, kept_max;
    uint64_t clock;
    uint8_t *packed; /* one frame as the file has it */
    size_t packed_max;
    ZSTD_DCtx *context;
};

static int read_at(int fd, uint64_t at, void *out, size_t length)
{
    uint8_t *p = out;
    while (length > 0) {
        ssize_t n = pread(fd, p, length, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return BT_ERR_IO;
        }
        p += n;
        at += (uint64_t)n;
        length -= (size_t)n;
    }
    return BT_OK;
}

/* The next frame ends there. */
static int frames_add(struct zstd_frames *f, uint64_t packed, uint64_t length)
{
    if ((f->count & (f->count - 1)) == 0) {
        size_t room = f->count ? 2 * f->count : 1;
        struct frame_place *grown = reallocarray(f->places, room + 1, sizeof *grown);
        if (!grown)
            return BT_ERR_NOMEM;
        f->places = grown;
        if (!f->count)
            f->places[0] = (struct frame_place){0, 0};
    }
    struct frame_place last = f->places[f->count++];
    f->places[f->count] = (struct frame_place){last.at + packed, last.offset + length};
    return BT_OK;
}

/* Entries of the table, which lie before its footer; *found: there is one. */
static int frames_read_table(struct zstd_frames *f, bool *found)
{
    uint8_t footer[ZSTD_SEEK_FOOTER], header[ZSTD_SEEK_HEADER];
    *found = false;
    if (f->file_size < sizeof footer + sizeof header)
        return BT_OK;
    int error = read_at(f->fd, f->file_size - sizeof footer, footer, sizeof footer);
    if (error || bytes_word(footer + 5) != ZSTD_SEEK_MAGIC)
        return error;
    size_t entry = footer[4] & ZSTD_SEEK_CHECKSUMS ? 12 : 8;
    uint64_t count = bytes_word(footer), length = count * entry + sizeof footer;
    if (count == 0 || length + sizeof header > f->file_size)
        return BT_ERR_FORMAT;
    uint64_t begin = f->file_size - length - sizeof header;
    error = read_at(f->fd, begin, header, sizeof header);
    if (error)
        return error;
    if (bytes_word(header) != ZSTD_SEEK_SKIPPABLE || bytes_word(header + 4) != length)
        return BT_ERR_FORMAT;
    uint8_t *table = malloc((size_t)count * entry);
    error =
        table ? read_at(f->fd, begin + sizeof header, table, (size_t)count * entry) : BT_ERR_NOMEM;
    for (uint64_t i = 0; i < count && !error; i++) {
        uint32_t packed = bytes_word(table + i * entry),
                 contents = bytes_word(table + i * entry + 4);
        bool large = contents > ZSTD_FRAME_MAX || packed > ZSTD_COMPRESSBOUND(ZSTD_FRAME_MAX);
        error = large ? BT_ERR_UNSUPPORTED : frames_add(f, packed, contents);
    }
    free(table);
    *found = true;
    return !error && f->places[f->count].at != begin ? BT_ERR_FORMAT : error;
}

/* Bytes of a frame's header (RFC 8878 3.1.1.1), by its fifth byte. */
static unsigned frames_header_size(uint8_t descriptor)
{
    static const uint8_t dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
    bool single = descriptor & 0x20;
    unsigned size = 4 + 1 + !single + dictionary[descriptor & 3] + content[descriptor >> 6];
    return size + (single && descriptor < 0x40);
}

/* Bytes of the frame at `at`, by its blocks' headers (RFC 8878 3.1.1.2); 0: it is not whole. */
static int frames_packed_size(struct zstd_frames *f, uint64_t at, uint8_t descriptor,
                              uint64_t *size)
{
    uint64_t end = at + frames_header_size(descriptor);
    *size = 0;
    for (bool last = false; !last;) {
        uint8_t block[3];
        if (end + sizeof block > f->file_size)
            return BT_OK;
        int error = read_at(f->fd, end, block, sizeof block);
        if (error)
            return error;
        uint32_t word = block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16;
        unsigned type = word >> 1 & 3;
        last = word & 1;
        if (type == 3)
            return BT_ERR_FORMAT;
        end += sizeof block + (type == 1 ? 1 : word >> 3); /* 1: one byte, repeated */
    }
    end += descriptor & 4 ? 4 : 0; /* a checksum */
    *size = end <= f->file_size ? end - at : 0;
    return BT_OK;
}

/* The frame at `at`, if it is whole: *more. */
static int frames_scan_one(struct zstd_frames *f, uint64_t at, bool *more)
{
    uint8_t header[HEADER_MAX] = {0};
    uint64_t left = f->file_size - at, packed;
    size_t have = left < sizeof header ? (size_t)left : sizeof header;
    int error = read_at(f->fd, at, header, have);
    *more = false;
    if (error || have < ZSTD_SEEK_HEADER)
        return error ? error : f->count ? BT_OK : BT_ERR_FORMAT;
    if ((bytes_word(header) & ~0xfu) == SKIPPABLE) {
        packed = ZSTD_SEEK_HEADER + (uint64_t)bytes_word(header + 4);
        *more = packed <= left;
        return *more ? frames_add(f, packed, 0) : BT_OK;
    }
    if (bytes_word(header) != ZSTD_MAGICNUMBER)
        return BT_ERR_FORMAT;
    if (have < frames_header_size(header[4]))
        return BT_OK;
    unsigned long long contents = ZSTD_getFrameContentSize(header, have);
    if (contents > ZSTD_FRAME_MAX) /* or it is not said */
        return BT_ERR_UNSUPPORTED;
    error = frames_packed_size(f, at, header[4], &packed);
    *more = !error && packed;
    return *more ? frames_add(f, packed, contents) : error;
}

static int frames_scan(struct zstd_frames *f)
{
    bool more = true;
    int error = BT_OK;
    for (uint64_t at = 0; more && !error && at < f->file_size;) {
        error = frames_scan_one(f, at, &more);
        if (error == BT_ERR_FORMAT && f->count) /* the rest is none of ours */
            return BT_OK;
        at = f->count ? f->places[f->count].at : 0;
    }
    return error;
}

int zstd_frames_open(int fd, uint64_t size, struct zstd_frames **out)
{
    struct zstd_frames *f = *out = calloc(1, sizeof *f);
    bool found = false;
    if (!f) {
        close(fd);
        return BT_ERR_NOMEM;
    }
    f->fd = fd;
    f->file_size = size;
    int error = frames_read_table(f, &found);
    if (!error && !found)
        error = frames_scan(f);
    if (error) {
        int saved = errno;
        zstd_frames_close(f);
        errno = saved;
        *out = NULL;
    }
    return error;
}

void zstd_frames_close(struct zstd_frames *f)
{
    if (!f)
        return;
    if (f->data)
        munmap(f->data, (size_t)zstd_frames_size(f));
    ZSTD_freeDCtx(f->context);
    free(f->packed);
    free(f->places);
    free(f->there);
    free(f->kept);
    close(f->fd);
    free(f);
}

uint64_t zstd_frames_size(const struct zstd_frames *f)
{
    return f->count ? f->places[f->count].offset : 0;
}

int zstd_frames_map(struct zstd_frames *f, const uint8_t **data)
{
    uint64_t size = zstd_frames_size(f);
    if (!f->data && size) {
        void *map = size > SIZE_MAX ? MAP_FAILED
                                    : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        f->data = map == MAP_FAILED ? NULL : map;
        f->there = calloc(f->count, sizeof *f->there);
        f->context = ZSTD_createDCtx();
        if (!f->data || !f->there || !f->context)
            return BT_ERR_NOMEM;
    }
    *data = f->data;
    return BT_OK;
}

/* Whole pages that hold nothing of other frames that are there. */
static void frames_give_back(struct zstd_frames *f, size_t frame)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin = f->places[frame].offset / page * page;
    uint64_t end = (f->places[frame + 1].offset + page - 1) / page * page;
    f->there[frame] = false;
    for (size_t i = frame; i > 0 && f->places[i].offset > begin; i--) {
        if (f->there[i - 1]) {
            begin += page;
            break;
        }
    }
    for (size_t i = frame + 1; i < f->count && f->places[i].offset < end; i++) {
        if (f->there[i]) {
            end -= page;
            break;
        }
    }
    if (begin < end)
        madvise(f->data + begin, (size_t)(end - begin), MADV_DONTNEED);
}

/* Makes room: frames that were not looked at for the longest time go, but for those of now. */
static void frames_drop_oldest(struct zstd_frames *f)
{
    while (f->kept_count >= ZSTD_FRAMES_KEPT) {
        size_t oldest = 0;
        for (size_t i = 1; i < f->kept_count; i++)
            if (f->kept[i].used < f->kept[oldest].used)
                oldest = i;
        if (f->kept[oldest].used == f->clock)
            return;
        frames_give_back(f, f->kept[oldest].frame);
        f->kept[oldest] = f->kept[--f->kept_count];
    }
}

static int frames_unpack(struct zstd_frames *f, size_t frame)
{
    const struct frame_place *p = &f->places[frame];
    size_t packed = (size_t)(p[1].at - p[0].at), length = (size_t)(p[1].offset - p[0].offset);
    if (packed > f->packed_max) {
        uint8_t *grown = realloc(f->packed, packed);
        if (!grown)
            return BT_ERR_NOMEM;
        f->packed = grown;
        f->packed_max = packed;
    }
    int error = read_at(f->fd, p->at, f->packed, packed);
    if (error)
        return error;
    size_t n = ZSTD_decompressDCtx(f->context, f->data + p->offset, length, f->packed, packed);
    return n == length ? BT_OK : BT_ERR_FORMAT; /* or an error, which is larger than any length */
}

static int frames_keep(struct zstd_frames *f, size_t frame)
{
    for (size_t i = 0; f->there[frame] && i < f->kept_count; i++)
        if (f->kept[i].frame == frame)
            f->kept[i].used = f->clock;
    if (f->there[frame] || f->places[frame].offset == f->places[frame + 1].offset)
        return BT_OK;
    frames_drop_oldest(f);
    if (f->kept_count == f->kept_max) {
        size_t room = f->kept_max ? 2 * f->kept_max : ZSTD_FRAMES_KEPT;
        struct kept_frame *grown = reallocarray(f->kept, room, sizeof *grown);
        if (!grown)
            return BT_ERR_NOMEM;
        f->kept = grown;
        f->kept_max = room;
    }
    int error = frames_unpack(f, frame);
    f->there[frame] = true; /* also a part of it takes pages */
    f->kept[f->kept_count++] = (struct kept_frame){frame, error ? 0 : f->clock};
    if (error) {
        frames_give_back(f, frame);
        f->kept_count--;
    }
    return error;
}

int zstd_frames_need(struct zstd_frames *f, uint64_t from, uint64_t to)
{
    size_t low; /* the frame that holds `from` */
    SEARCH_LAST(low, f->count, f->places[low].offset <= from);
    f->clock++;
    for (size_t i = low; from < to && i < f->count && f->places[i].offset < to; i++) {
        int error = frames_keep(f, i);
        if (error)
            return error;
    }
    return BT_OK;
}
