/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/recording.h"

#include "server/protocols/source_device.h"
#include "server/recording/recorder.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static void recording_warn(struct recording *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void recording_warn(struct recording *r, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        return;
    char **grown = realloc(r->warnings, (r->warning_count + 1) * sizeof *grown);
    if (!grown) {
        free(text);
        return;
    }
    r->warnings = grown;
    r->warnings[r->warning_count++] = text;
}

/* Program image. */

/* `space=` of a dump, as DS-5 and OpenCSD write it: which security state sees the bytes. */
static bool space_security(const char *space, uint8_t *security)
{
    static const struct {
        const char *name;
        enum bt_security security;
    } names[] = {
        {"S", BT_SEC_SECURE},     {"EL1S", BT_SEC_SECURE},    {"EL3", BT_SEC_SECURE},
        {"SP", BT_SEC_SECURE},    {"N", BT_SEC_NONSECURE},    {"NS", BT_SEC_NONSECURE},
        {"NP", BT_SEC_NONSECURE}, {"EL1N", BT_SEC_NONSECURE}, {"EL0N", BT_SEC_NONSECURE},
        {"H", BT_SEC_HYP},        {"EL2", BT_SEC_HYP},        {"EL2N", BT_SEC_HYP},
        {"HYP", BT_SEC_HYP},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcasecmp(space, names[i].name) == 0) {
            *security = (uint8_t)names[i].security;
            return true;
        }
    }
    return false;
}

static int recording_add_dumps(struct recording *r, struct recording_core *core,
                               struct message *why)
{
    for (size_t i = 0; i < core->device->dump_count; i++) {
        const struct snapshot_dump *dump = &core->device->dumps[i];
        struct code_region region = {.address = dump->address, .size = dump->length};
        int error = snapshot_map_dump(r->snapshot, dump, &region.bytes);
        if (error)
            return message_fail(why, error, "%s:%u: cannot read '%s': %s", core->device->path,
                                dump->line, dump->path, bt_strerror(error));
        if (dump->length == 0)
            continue;
        if (space_security(dump->space, &region.security))
            region.by |= CODE_BY_SECURITY;
        else if (*dump->space)
            recording_warn(r, "%s:%u: memory space '%s' is not known, dump is used for all",
                           core->device->path, dump->line, dump->space);
        if (dump->by_context || dump->by_vmid) {
            region.by |= dump->by_context ? CODE_BY_CONTEXT : CODE_BY_VMID;
            region.context = region.vmid = dump->context;
        }
        error = code_image_add(&core->image, &region);
        if (error == BT_ERR_INVAL)
            return message_fail(why, BT_ERR_FORMAT,
                                "%s:%u: dump reaches over the end of the address space",
                                core->device->path, dump->line);
        if (error)
            return error;
    }
    return BT_OK;
}

/* Dumps come first and win: they are what memory held, the file is what was built. */
static int recording_add_elf(struct recording *r, struct recording_core *core)
{
    for (size_t e = 0; e < r->elf_count; e++) {
        const struct elf_image *elf = r->elf[e];
        for (size_t i = 0; i < elf->segment_count; i++) {
            const struct elf_segment *s = &elf->segments[i];
            struct code_region region = {.address = s->vaddr,
                                         .size = s->file_size,
                                         .bytes = s->data,
                                         .big_endian = elf->code_big_endian};
            int error = code_image_add(&core->image, &region);
            if (error && error != BT_ERR_INVAL)
                return error;
        }
    }
    return BT_OK;
}

static int recording_open_elf(struct recording *r, const char *path, struct message *why)
{
    if (r->elf_count == RECORDING_MAX_ELF)
        return message_fail(why, BT_ERR_RANGE, "more than %d program files", RECORDING_MAX_ELF);
    int error = elf_image_open(path, &r->elf[r->elf_count], why);
    if (error)
        return message_fail(why, error, "cannot use '%s': %s", path, why->text);
    r->elf_count++;
    return BT_OK;
}

static int recording_add_cores(struct recording *r, struct message *why)
{
    const struct snapshot *snap = r->snapshot;
    r->cores = calloc(snap->device_count + 1, sizeof *r->cores);
    if (!r->cores)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < snap->device_count; i++) {
        if (snap->devices[i].device_class != SNAPSHOT_CLASS_CORE)
            continue;
        struct recording_core *core = &r->cores[r->core_count++];
        core->device = &snap->devices[i];
        code_image_init(&core->image);
        int error = recording_add_dumps(r, core, why);
        if (!error)
            error = recording_add_elf(r, core);
        if (error)
            return error;
    }
    /* The last one stands for sources that name no core: program files are all it has. */
    code_image_init(&r->cores[r->core_count].image);
    return recording_add_elf(r, &r->cores[r->core_count]);
}

/* How much of a program's code is in dumps, too, and is not the same there. */
struct program_match {
    uint64_t compared;
    uint64_t differ;
    uint64_t first; /* address of the first one that differs */
};

static void match_segment(const struct elf_segment *s, const struct snapshot_dump *dump,
                          const uint8_t *bytes, struct program_match *m)
{
    uint64_t from = s->vaddr > dump->address ? s->vaddr : dump->address;
    for (uint64_t at = from;
         at - s->vaddr < s->file_size && at - dump->address < dump->length && at >= from; at++) {
        m->compared++;
        if (s->data[at - s->vaddr] == bytes[at - dump->address])
            continue;
        if (!m->differ++)
            m->first = at;
    }
}

/* Memory of one address space alone may be another program's, and what can be written to changes.
 */
static struct program_match match_core(struct recording *r, const struct snapshot_device *core,
                                       const struct elf_image *elf)
{
    struct program_match m = {0};
    for (size_t d = 0; d < core->dump_count; d++) {
        const struct snapshot_dump *dump = &core->dumps[d];
        const uint8_t *bytes;
        if (dump->by_context || dump->by_vmid || snapshot_map_dump(r->snapshot, dump, &bytes))
            continue;
        for (size_t i = 0; i < elf->segment_count; i++)
            if (elf->segments[i].executable && !elf->segments[i].writable)
                match_segment(&elf->segments[i], dump, bytes, &m);
    }
    return m;
}

/* Names and lines of another build are wrong, and nothing else shows it. One core's will do. */
static void warn_of_program(struct recording *r, const struct elf_image *elf, const char *path)
{
    struct program_match other = {0};
    for (size_t i = 0; i < r->core_count; i++) {
        struct program_match m = match_core(r, r->cores[i].device, elf);
        if (m.compared && !m.differ)
            return;
        if (m.differ)
            other = m;
    }
    if (other.differ)
        recording_warn(r,
                       "'%s' is not the program of the recording: %" PRIu64 " of %" PRIu64
                       " bytes of its code that are there differ, the first at 0x%08" PRIx64
                       "; names and lines may be wrong",
                       path, other.differ, other.compared, other.first);
}

static struct recording_core *recording_core_of(struct recording *r,
                                                const struct snapshot_device *device)
{
    for (size_t i = 0; device && i < r->core_count; i++)
        if (r->cores[i].device == device)
            return &r->cores[i];
    return &r->cores[r->core_count];
}

/* The RAM of an MTB begins anywhere: its packets oldest first, and only those that were written. */
static int order_mtb(struct recording *r, struct recording_source *s, struct message *why)
{
    const struct mtb_config *c = &s->config.mtb;
    const uint8_t *ram;
    uint64_t size;
    if (s->config.protocol != STREAM_MTB || !c->as_it_stood)
        return BT_OK;
    if (s->buffer->format != SNAPSHOT_FORMAT_SOURCE_DATA || s->buffer->file_count != 1)
        return message_fail(why, BT_ERR_FORMAT,
                            "%s: the RAM of an MTB is one file of format source_data",
                            s->device->path);
    int error = snapshot_map_buffer(r->snapshot, s->buffer, 0, &ram, &size);
    if (!error)
        error = snapshot_need(r->snapshot, s->buffer, 0, 0, size);
    if (error)
        return message_fail(why, error, "%s: cannot read the trace: %s", s->device->path,
                            bt_strerror(error));
    if (size != c->size)
        return message_fail(why, BT_ERR_FORMAT,
                            "%s: MASTER says that the buffer has %u bytes, its file has %llu",
                            s->device->path, c->size, (unsigned long long)size);
    s->ordered = malloc(c->size);
    if (!s->ordered)
        return BT_ERR_NOMEM;
    size_t old = c->wrapped ? c->size - c->position : 0;
    memcpy(s->ordered, ram + c->position, old);
    memcpy(s->ordered + old, ram, c->position);
    s->ordered_size = old + c->position;
    return BT_OK;
}

const char *recording_strerror(int error)
{
    return error == BT_ERR_FORMAT ? "its compressed trace is damaged" : bt_strerror(error);
}

int recording_need(struct recording *r, const struct recording_source *source, size_t i,
                   uint64_t from, uint64_t to)
{
    return source->ordered ? BT_OK : snapshot_need(r->snapshot, source->buffer, i, from, to);
}

int recording_map(struct recording *r, const struct recording_source *source, size_t i,
                  const uint8_t **data, uint64_t *size)
{
    if (!source->ordered)
        return snapshot_map_buffer(r->snapshot, source->buffer, i, data, size);
    *data = source->ordered;
    *size = source->ordered_size;
    return BT_OK;
}

static int recording_add_source(struct recording *r, const struct snapshot_device *device,
                                const struct snapshot_buffer *buffer, struct message *why)
{
    struct recording_source *s = &r->sources[r->source_count];
    memset(s, 0, sizeof *s);
    const struct source_protocol *protocol = source_protocol_of_type(device->type);
    if (!protocol) {
        recording_warn(r, "%s: trace of '%s' is skipped: protocol '%s' is not supported yet",
                       device->path, device->name, device->type);
        return BT_OK;
    }
    s->core = snapshot_core_of(r->snapshot, device->name);
    s->config.protocol = protocol->protocol;
    int error = source_device_configure(protocol, device, s->core, &s->config, &s->trace_id, why);
    if (error)
        return error;
    s->device = device;
    s->name = device->name;
    s->buffer = buffer;
    error = order_mtb(r, s, why);
    if (error)
        return error;
    s->core_name = s->core ? s->core->name : device->name;
    struct recording_core *core = recording_core_of(r, s->core);
    s->image = &core->image;
    s->config.core = (uint16_t)(core - r->cores);
    if (s->image->count == 0 && !protocol->no_instructions)
        recording_warn(r,
                       "no program image for '%s': add [dump] sections to the core's file or name "
                       "the program with --elf",
                       s->core_name);
    r->source_count++;
    return BT_OK;
}

static int recording_add_sources(struct recording *r, struct message *why)
{
    const struct snapshot *snap = r->snapshot;
    r->sources = calloc(snap->source_buffer_count + 1, sizeof *r->sources);
    if (!r->sources)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < snap->source_buffer_count; i++) {
        const struct snapshot_source_buffer *sb = &snap->source_buffers[i];
        const struct snapshot_device *device = snapshot_device(snap, sb->source);
        if (!device)
            continue;
        const struct snapshot_buffer *buffer = &snap->buffers[sb->buffer];
        if (buffer->format == SNAPSHOT_FORMAT_OTHER)
            return message_fail(
                why, BT_ERR_UNSUPPORTED,
                "trace.ini:%u: buffer format '%s' is not known: coresight, source_data or "
                "dstream_coresight",
                buffer->line, buffer->format_name);
        int error = recording_add_source(r, device, buffer, why);
        if (error)
            return error;
    }
    return BT_OK;
}

/* Open, close, find. */

/* r->snapshot is open: programs, cores and sources. */
static int recording_complete(struct recording *r, const char *path, const char *const *elf,
                              size_t elf_count, struct message *why)
{
    int error = BT_OK;
    for (size_t i = 0; i < r->snapshot->warning_count; i++) {
        struct message *w = &r->snapshot->warnings[i];
        message_place(w, w->file);
        recording_warn(r, "%s", w->text);
    }
    why->text[0] = '\0';
    for (size_t i = 0; i < elf_count; i++) {
        error = recording_open_elf(r, elf[i], why);
        if (error)
            return error;
    }
    error = recording_add_cores(r, why);
    for (size_t i = 0; i < elf_count && !error; i++)
        warn_of_program(r, r->elf[i], elf[i]);
    if (!error)
        error = recording_add_sources(r, why);
    if (error) { /* the text begins with a file of the folder */
        if (*why->text)
            message_set(why, "%s/%s", path, why->text);
        else
            message_set(why, "%s: %s", path, bt_strerror(error));
    }
    return error;
}

/* What else `path` may be, for somebody whose recording does not open. */
static const char *name_other_kind(const char *path)
{
    static const char perf[] = "PERFILE2", swapped[] = "2ELIFREP";
    char inside[4096], begin[sizeof perf] = "";
    struct stat st;
    if (stat(path, &st) != 0)
        return "";
    bool folder = S_ISDIR(st.st_mode);
    snprintf(inside, sizeof inside, folder ? "%s/data" : "%s", path);
    FILE *f = folder || S_ISREG(st.st_mode) ? fopen(inside, "rb") : NULL;
    size_t n = f ? fread(begin, 1, sizeof begin - 1, f) : 0;
    if (f)
        fclose(f);
    if (n == sizeof begin - 1 && (strcmp(begin, perf) == 0 || strcmp(begin, swapped) == 0))
        return " (a perf.data file of Linux: decode and replay open it, with --perf)";
    return folder ? "" : " (a recording is a folder)";
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Recordings that lie in the folder, for somebody who gave it in their place: their names, as far
 * as there is room, into `list`. How many. */
static unsigned list_recordings(const char *path, char *list, size_t size)
{
    struct dirent **entries;
    char index[4096];
    unsigned found = 0;
    size_t used = 0;
    int count = scandir(path, &entries, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name;
        int n = snprintf(index, sizeof index, "%s/%s/snapshot.ini", path, name);
        if (n > 0 && (size_t)n < sizeof index && access(index, F_OK) == 0) {
            for (char *c = name; *c; c++)
                *c = isprint((unsigned char)*c) ? *c : '?';
            if (used + strlen(", ") + strlen(name) + sizeof ", ..." <= size)
                used += (size_t)snprintf(list + used, size - used, "%s%s", found ? ", " : "", name);
            else if (list[used - 1] != '.')
                used += (size_t)snprintf(list + used, size - used, ", ...");
            found++;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return found;
}

int recording_open(struct recording *r, const char *path, const char *const *elf, size_t elf_count,
                   struct message *why)
{
    memset(r, 0, sizeof *r);
    int error = snapshot_open(path, &r->snapshot, why);
    if (!error)
        return recording_complete(r, path, elf, elf_count, why);
    char list[300] = "";
    unsigned found = list_recordings(path, list, sizeof list);
    message_place(why, path);
    if (found)
        message_set(why, "%.200s: is no recording, but has %u in it: %s; give one of them", path,
                    found, list);
    else
        message_set(why, "%s%s", why->text, name_other_kind(path));
    return error;
}

int recording_open_perf(struct recording *r, const char *path, const struct perf_places *places,
                        const char *const *elf, size_t elf_count, struct message *why)
{
    memset(r, 0, sizeof *r);
    int error = perf_snapshot_open(path, places, &r->snapshot, why);
    if (!error)
        return recording_complete(r, path, elf, elf_count, why);
    message_place(why, path);
    return error;
}

void recording_close(struct recording *r)
{
    for (size_t i = 0; r->cores && i <= r->core_count; i++)
        code_image_release(&r->cores[i].image);
    free(r->cores);
    for (size_t i = 0; r->sources && i < r->source_count + r->beside_count; i++)
        free(r->sources[i].ordered);
    free(r->sources);
    for (size_t i = 0; i < r->elf_count; i++)
        elf_image_close(r->elf[i]);
    for (size_t i = 0; i < r->warning_count; i++)
        free(r->warnings[i]);
    free(r->warnings);
    snapshot_close(r->snapshot);
    memset(r, 0, sizeof *r);
}

void recording_keep_instructions(struct recording *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->source_count; i++) {
        struct recording_source s = r->sources[i];
        if (source_protocol(s.config.protocol)->no_instructions)
            continue;
        memmove(&r->sources[kept + 1], &r->sources[kept], (i - kept) * sizeof s);
        r->sources[kept++] = s;
    }
    r->beside_count = r->source_count - kept;
    r->source_count = kept;
}

const struct recording_source *recording_itm(const struct recording *r,
                                             const struct recording_source *source)
{
    const struct recording_source *s = &r->sources[r->source_count];
    for (size_t i = 0; i < r->beside_count; i++, s++)
        if (s->config.protocol == STREAM_ITM && s->core && s->core == source->core &&
            s->buffer == source->buffer && s->trace_id != source->trace_id)
            return s;
    return NULL;
}

const struct recording_source *recording_tellers(struct recording *r, const char *name, bool stm,
                                                 size_t *count)
{
    struct recording_source *others = &r->sources[r->source_count];
    *count = 0;
    for (size_t i = 0; i < r->beside_count; i++) {
        struct recording_source s = others[i];
        if ((s.config.protocol != STREAM_ITM && !(stm && s.config.protocol == STREAM_STM)) ||
            (name && strcmp(s.name, name) != 0))
            continue;
        others[i] = others[*count];
        others[(*count)++] = s;
    }
    return others;
}

uint64_t recording_watched(const struct recording_source *itm, unsigned comparator)
{
    char name[24];
    uint64_t address;
    snprintf(name, sizeof name, RECORDER_COMPARATOR "%u", comparator);
    bool known = snapshot_reg(itm->device, name, &address) == BT_OK;
    return known && address != RECORDER_NO_ADDRESS ? address : 0;
}

const struct recording_source *recording_find(const struct recording *r, const char *name,
                                              unsigned id)
{
    for (size_t i = 0; i < r->source_count; i++)
        if (name ? strcmp(r->sources[i].name, name) == 0 : r->sources[i].trace_id == id)
            return &r->sources[i];
    return NULL;
}
