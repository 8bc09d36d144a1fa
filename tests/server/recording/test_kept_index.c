/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/recording/kept_index.c, kept_index_id.c and decoder/history/history_keep.c. A
 * history that was kept is the one that was decoded; a file that is not exactly that is not looked
 * into. */
#include "server/recording/kept_index.h"
#include "tests/server/recording/test_long_recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES 3000000 /* of trace */

static char parent[64], folder[96];
static struct recording recording;
static struct message why;

static void open_recording(void)
{
    strcpy(parent, "/tmp/test_kept_index.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(parent));
    snprintf(folder, sizeof folder, "%s/recording", parent);
    ck_assert_int_eq(setenv("XDG_STATE_HOME", parent, 1), 0);
    make_recording(folder, BYTES);
    ck_assert_int_eq(recording_open(&recording, folder, NULL, 0, &why), 0);
}

static void remove_recording(void)
{
    char command[96];
    recording_close(&recording);
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    ck_assert_int_eq(system(command), 0);
}

static struct kept_index_id identify(void)
{
    struct kept_index_id id;
    ck_assert_int_eq(kept_index_identify(&recording, folder, NULL, 0, &id, &why), 0);
    return id;
}

static bool same_id(const struct kept_index_id *a, const struct kept_index_id *b)
{
    return memcmp(a->belongs, b->belongs, sizeof a->belongs) == 0 &&
           memcmp(a->key, b->key, sizeof a->key) == 0;
}

static void same_history(struct history *a, struct history *b)
{
    struct history_totals s, t;
    const struct gap_entry *p, *q;
    history_totals(a, &s);
    history_totals(b, &t);
    ck_assert(s.bytes == t.bytes && s.packets == t.packets && s.blocks == t.blocks);
    ck_assert_uint_eq(history_end(a), history_end(b));
    ck_assert_uint_eq(history_gaps(a, &p), history_gaps(b, &q));
    same_windows(a, b, 20);
}

/* What is known of the trace's history, through the file and without it. */
START_TEST(kept_is_decoded)
{
    static struct recording_history decoded, kept;
    struct kept_index out = {.data = NULL}, in;
    const uint8_t *data;
    size_t size;
    open_recording();
    const struct recording_source *source = &recording.sources[0];
    const struct kept_index_id id = identify();
    ck_assert_int_eq(recording_history_init(&decoded, &recording, source, NULL, NULL), 0);
    ck_assert_int_eq(kept_index_read(folder, &id, &in, &why), BT_ERR_RANGE);
    ck_assert_int_eq(kept_index_add_history(&out, &decoded), 0);
    ck_assert_int_eq(kept_index_add(&out, "end", 3), 0);
    ck_assert_int_eq(kept_index_write(folder, &id, &out, &why), 0);
    const struct kept_index_id again = identify(); /* the file itself changes nothing */
    ck_assert(same_id(&id, &again));
    ck_assert_int_eq(kept_index_read(folder, &again, &in, &why), 0);
    ck_assert_int_eq(kept_index_next_history(&in, &recording, source, &kept), 0);
    ck_assert_int_eq(kept_index_next(&in, &data, &size), 0);
    ck_assert(size == 3 && memcmp(data, "end", 3) == 0);
    ck_assert_int_eq(kept_index_next(&in, &data, &size), BT_ERR_FORMAT);
    same_history(decoded.history, kept.history);
    ck_assert(decoded.pass.raw_bytes == kept.pass.raw_bytes);
    recording_history_release(&decoded);
    recording_history_release(&kept);
    kept_index_release(&out);
    kept_index_release(&in);
    remove_recording();
}
END_TEST

static void write_bytes(const char *path, long at, const char *bytes)
{
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(bytes, 1, strlen(bytes), f), strlen(bytes));
    ck_assert_int_eq(fclose(f), 0);
}

/* Changes of the recording, of its programs and of the key are seen. */
START_TEST(belongs_to_one_recording)
{
    char path[160];
    struct stat st;
    open_recording();
    const struct kept_index_id id = identify();
    struct kept_index_id other = identify();
    ck_assert(same_id(&id, &other));
    snprintf(path, sizeof path, "%s/buffer_0.bin", folder);
    ck_assert_int_eq(stat(path, &st), 0);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    write_bytes(path, -1, "x"); /* and the time is that of before */
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    other = identify();
    ck_assert(!same_id(&id, &other));
    write_bytes(path, BYTES / 2, "x"); /* perhaps between two samples, but the time is another */
    const struct kept_index_id third = identify();
    ck_assert(!same_id(&other, &third));
    snprintf(path, sizeof path, "%s/btraced/index.key", parent);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(unlink(path), 0);
    other = identify();
    ck_assert_int_eq(memcmp(third.belongs, other.belongs, sizeof other.belongs), 0);
    ck_assert_int_ne(memcmp(third.key, other.key, sizeof other.key), 0);
    ck_assert_int_eq(chmod(path, 0644), 0); /* nobody else may know it */
    ck_assert_int_eq(kept_index_identify(&recording, folder, NULL, 0, &other, &why), BT_ERR_IO);
    const char *elf = path;
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(kept_index_identify(&recording, folder, &elf, 1, &other, &why), 0);
    ck_assert_int_ne(memcmp(third.belongs, other.belongs, sizeof other.belongs), 0);
    remove_recording();
}
END_TEST

/* Cut anywhere, with any byte changed, longer, or signed by another one. */
START_TEST(nothing_else_is_opened)
{
    struct kept_index out = {.data = NULL}, in;
    struct kept_index_id id;
    uint8_t file[512];
    char place[] = "/tmp/test_kept_index.XXXXXX", path[64];
    memset(&id, 0x5a, sizeof id);
    ck_assert_ptr_nonnull(mkdtemp(place));
    ck_assert_int_eq(kept_index_add(&out, "abc", 3), 0);
    ck_assert_int_eq(kept_index_write(place, &id, &out, &why), 0);
    snprintf(path, sizeof path, "%s/" KEPT_INDEX_NAME, place);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    size_t size = fread(file, 1, sizeof file - 1, f);
    fclose(f);
    ck_assert_int_eq(kept_index_open(file, size, &id, &in, &why), 0);
    ck_assert(in.size == out.size && memcmp(in.data, out.data, in.size) == 0);
    kept_index_release(&in);
    for (size_t length = 0; length < size; length++)
        ck_assert_int_eq(kept_index_open(file, length, &id, &in, &why), BT_ERR_FORMAT);
    file[size] = 0;
    ck_assert_int_eq(kept_index_open(file, size + 1, &id, &in, &why), BT_ERR_FORMAT);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_int_eq(kept_index_open(file, size, &id, &in, &why), BT_ERR_FORMAT);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    id.key[7] ^= 1;
    ck_assert_int_eq(kept_index_open(file, size, &id, &in, &why), BT_ERR_FORMAT);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(place), 0);
    ck_assert_int_eq(kept_index_write(place, &id, &out, &why), BT_ERR_IO);
    kept_index_release(&out);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("index of a recording");
    unit_case(s, "index: a history that was kept is the decoded one", kept_is_decoded);
    unit_case(s, "index: belongs to one recording, program and user", belongs_to_one_recording);
    unit_case(s, "index: nothing else is opened", nothing_else_is_opened);
    return s;
}
