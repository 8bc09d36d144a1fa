/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a recording: snapshot.ini, the device files ([device], [regs], [dump...]), and the order in
 * which they are read. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/base/file_load.h"
#include "drivers/snapshot/snapshot_loader.h"
#include "drivers/zstd/zstd_frames.h"

struct device_parser {
    struct snapshot_loader *ld;
    const char *path;
    struct snapshot_device *dev;
    unsigned device_line; /* of "name=" */

    /* The [dump...] section that is being read. */
    unsigned dump_line; /* of its header; 0: none */
    struct snapshot_dump dump;
    bool has_address;
    bool has_length;
    bool has_offset;
    unsigned file_line;   /* of "file=" */
    unsigned length_line; /* of "length=", or of the header */
};

static int snapshot_set_device_key(struct device_parser *p, const struct ini_entry *entry,
                                   const char **field)
{
    if (*field)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' is given twice", entry->key);
    const char *text = entry->value;
    size_t length = snapshot_unquote(&text);
    *field = snapshot_string(p->ld->snap, text, length);
    return *field ? 0 : snapshot_fail(p->ld->why, BT_ERR_NOMEM, "", 0, "out of memory");
}

static int snapshot_unknown_device_key(struct device_parser *p, const struct ini_entry *entry)
{
    return snapshot_warn(p->ld, p->path, entry->line, "unknown key '%s' in [%s]", entry->key,
                         entry->section);
}

static int device_key(struct device_parser *p, const struct ini_entry *entry)
{
    if (strcmp(entry->key, "name") == 0) {
        p->device_line = entry->line;
        return snapshot_set_device_key(p, entry, &p->dev->name);
    }
    if (strcmp(entry->key, "class") == 0)
        return snapshot_set_device_key(p, entry, &p->dev->class_name);
    if (strcmp(entry->key, "type") == 0)
        return snapshot_set_device_key(p, entry, &p->dev->type);
    return snapshot_unknown_device_key(p, entry);
}

/* One item between the parentheses: "0x080", "id:0x80" or "size:64". */
static int reg_attribute(struct device_parser *p, struct snapshot_reg *reg, const char *item,
                         size_t length)
{
    char text[INI_READER_MAX_KEY + 1];
    memcpy(text, item, length);
    text[length] = '\0';

    char *number = strchr(text, ':');
    number = number ? number + 1 : text;
    number += strspn(number, " \t");
    bool is_size = strncasecmp(text, "size:", 5) == 0;
    bool is_index = number == text || strncasecmp(text, "id:", 3) == 0;
    if (!is_size && !is_index)
        return snapshot_warn(p->ld, p->path, reg->line, "unknown register attribute '%s'", text);

    uint64_t value;
    if (snapshot_parse_number(number, &value) != SNAPSHOT_NUMBER_OK || value > UINT32_MAX)
        return SNAPSHOT_FAIL_AT(p, reg->line, "bad register attribute '%s'", text);
    if (is_size) {
        reg->size = (unsigned)value;
    } else {
        reg->has_index = true;
        reg->index = (uint32_t)value;
    }
    return 0;
}

/* Split NAME(attributes). *name_length gets the length of the bare name. */
static int reg_name(struct device_parser *p, struct snapshot_reg *reg, const char *key,
                    size_t *name_length)
{
    const char *open = strchr(key, '(');
    size_t n = open ? (size_t)(open - key) : strlen(key);
    while (n > 0 && (key[n - 1] == ' ' || key[n - 1] == '\t'))
        n--;
    if (n == 0)
        return SNAPSHOT_FAIL_AT(p, reg->line, "register without a name: '%s'", key);
    *name_length = n;
    if (!open)
        return 0;

    size_t inside = strcspn(open + 1, ")");
    if (strcmp(open + 1 + inside, ")") != 0)
        return SNAPSHOT_FAIL_AT(p, reg->line, "register name does not end with ')': '%s'", key);
    char list[INI_READER_MAX_KEY + 1];
    memcpy(list, open + 1, inside);
    list[inside] = '\0';
    const char *rest = list;
    size_t length;
    for (const char *item; (item = snapshot_next_item(&rest, &length));) {
        int error = reg_attribute(p, reg, item, length);
        if (error != 0)
            return error;
    }
    return 0;
}

static int reg_key(struct device_parser *p, const struct ini_entry *entry)
{
    struct snapshot_loader *ld = p->ld;
    struct snapshot_reg reg = {.line = entry->line};
    size_t name_length = 0;
    int error = reg_name(p, &reg, entry->key, &name_length);
    if (error != 0)
        return error;

    char text[64];
    const char *quoted = entry->value;
    size_t length = snapshot_unquote(&quoted);
    if (length >= sizeof text)
        return SNAPSHOT_FAIL_AT(p, entry->line, "register value is not a number: '%s'",
                                entry->value);
    memcpy(text, quoted, length);
    text[length] = '\0';
    switch (snapshot_parse_number(text, &reg.value)) {
    case SNAPSHOT_NUMBER_BAD:
        return SNAPSHOT_FAIL_AT(p, entry->line, "register value is not a number: '%s'",
                                entry->value);
    case SNAPSHOT_NUMBER_TOO_LARGE:
        /* Vector registers; nothing here needs them. */
        return snapshot_warn(ld, p->path, entry->line, "register '%s' is wider than 64 bits",
                             entry->key);
    case SNAPSHOT_NUMBER_OK:
        break;
    }
    if (reg.size == 0)
        reg.size = reg.value > UINT32_MAX ? 64 : 32;
    reg.name = snapshot_string(ld->snap, entry->key, name_length);
    if (!reg.name)
        return snapshot_fail(ld->why, BT_ERR_NOMEM, "", 0, "out of memory");
    struct snapshot_reg *place = snapshot_grow(ld, &p->dev->regs, p->dev->reg_count, sizeof reg,
                                               SNAPSHOT_MAX_REGS, "registers", &error);
    if (!place)
        return error;
    *place = reg;
    p->dev->reg_count++;
    return 0;
}

static int compare_regs(const void *a, const void *b)
{
    const struct snapshot_reg *x = *(const struct snapshot_reg *const *)a;
    const struct snapshot_reg *y = *(const struct snapshot_reg *const *)b;
    int order = strcasecmp(x->name, y->name);
    if (order != 0)
        return order;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* A register that is there twice with different values: which one counts would be a guess. */
static int check_reg_pair(struct device_parser *p, const struct snapshot_reg *first,
                          const struct snapshot_reg *second)
{
    if (strcasecmp(first->name, second->name) != 0)
        return 0;
    if (first->value != second->value)
        return SNAPSHOT_FAIL_AT(p, second->line, "register '%s' has another value in line %u",
                                second->name, first->line);
    return snapshot_warn(p->ld, p->path, second->line, "register '%s' is given twice",
                         second->name);
}

static int check_regs(struct device_parser *p)
{
    size_t count = p->dev->reg_count;
    if (count < 2)
        return 0;
    const struct snapshot_reg **sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return snapshot_fail(p->ld->why, BT_ERR_NOMEM, p->path, 0, "out of memory");
    for (size_t i = 0; i < count; i++)
        sorted[i] = &p->dev->regs[i];
    qsort(sorted, count, sizeof *sorted, compare_regs);
    int error = 0;
    for (size_t i = 1; i < count && error == 0; i++)
        error = check_reg_pair(p, sorted[i - 1], sorted[i]);
    free(sorted);
    return error;
}

static int dump_number(struct device_parser *p, const struct ini_entry *entry, bool *has,
                       uint64_t *value)
{
    if (*has)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' is given twice", entry->key);
    *has = true;
    return snapshot_number_of(p->ld, p->path, entry, value);
}

static int dump_key(struct device_parser *p, const struct ini_entry *entry)
{
    struct snapshot_dump *dump = &p->dump;
    if (strcmp(entry->key, "address") == 0)
        return dump_number(p, entry, &p->has_address, &dump->address);
    if (strcmp(entry->key, "length") == 0) {
        p->length_line = entry->line;
        return dump_number(p, entry, &p->has_length, &dump->length);
    }
    if (strcmp(entry->key, "offset") == 0)
        return dump_number(p, entry, &p->has_offset, &dump->offset);
    if (strcmp(entry->key, "space") == 0)
        return snapshot_set_device_key(p, entry, &dump->space);
    if (strcmp(entry->key, "file") == 0) {
        p->file_line = entry->line;
        return snapshot_set_device_key(p, entry, &dump->path);
    }
    return snapshot_unknown_device_key(p, entry);
}

/* Length from the file: a length of 0 means all of it, as in OpenCSD. */
static int dump_extent(struct device_parser *p)
{
    struct snapshot_dump *dump = &p->dump;
    uint64_t size = p->ld->snap->priv->files[dump->file].size;
    int error = 0;
    if (dump->offset > size) {
        error = snapshot_warn(p->ld, p->path, p->dump_line,
                              "offset of dump is behind the end of '%s' (%llu bytes)", dump->path,
                              (unsigned long long)size);
        dump->offset = size;
        dump->length = 0;
    } else if (dump->length == 0) {
        dump->length = size - dump->offset;
    } else if (dump->length > size - dump->offset) {
        error = snapshot_warn(p->ld, p->path, p->length_line,
                              "dump is cut short: '%s' has %llu bytes from there", dump->path,
                              (unsigned long long)(size - dump->offset));
        dump->length = size - dump->offset;
    }
    if (error == 0 && dump->length > 0 && dump->length - 1 > UINT64_MAX - dump->address)
        return SNAPSHOT_FAIL_AT(p, p->dump_line, "dump reaches beyond the last address");
    return error;
}

/* What it held is not known: to the history, code that is not there. */
static int missing_dump(struct device_parser *p)
{
    p->dump_line = 0;
    *p->ld->why = (struct message){.text = ""};
    return snapshot_warn(
        p->ld, p->path, p->file_line,
        "'%s' is missing: nothing is known of the memory from 0x%llx on that it held", p->dump.path,
        (unsigned long long)p->dump.address);
}

static int finish_dump(struct device_parser *p)
{
    if (p->dump_line == 0)
        return 0;
    struct snapshot_loader *ld = p->ld;
    struct snapshot_dump *dump = &p->dump;
    if (!p->has_address)
        return SNAPSHOT_FAIL_AT(p, p->dump_line, "dump without '%s'", "address");
    if (!dump->path)
        return SNAPSHOT_FAIL_AT(p, p->dump_line, "dump without '%s'", "file");
    if (snapshot_is_packed(dump->path))
        return SNAPSHOT_FAIL_AT(p, p->file_line, "'%s': only trace may be compressed", dump->path);
    if (!dump->space)
        dump->space = "";
    errno = 0;
    int error = snapshot_add_file(ld, dump->path, p->path, p->file_line, &dump->file);
    if (error == BT_ERR_IO && errno == ENOENT)
        return missing_dump(p);
    if (error == 0)
        error = dump_extent(p);
    if (error != 0)
        return error;

    if (ld->snap->priv->dump_total >= SNAPSHOT_MAX_DUMPS)
        return snapshot_fail(ld->why, BT_ERR_RANGE, p->path, p->dump_line, "more than %u dumps",
                             SNAPSHOT_MAX_DUMPS);
    struct snapshot_dump *place = snapshot_grow(ld, &p->dev->dumps, p->dev->dump_count,
                                                sizeof *dump, SIZE_MAX, "dumps", &error);
    if (!place)
        return error;
    *place = *dump;
    p->dev->dump_count++;
    ld->snap->priv->dump_total++;
    p->dump_line = 0;
    return 0;
}

static bool is_dump_section(const char *section)
{
    return strncmp(section, "dump", 4) == 0;
}

static int section_header(struct device_parser *p, const struct ini_entry *entry)
{
    int error = finish_dump(p);
    if (error != 0)
        return error;
    if (is_dump_section(entry->section)) {
        p->dump = (struct snapshot_dump){.line = entry->line};
        p->dump_line = p->length_line = p->file_line = entry->line;
        p->has_address = p->has_length = p->has_offset = false;
        return 0;
    }
    if (strcmp(entry->section, "device") == 0 || strcmp(entry->section, "regs") == 0)
        return 0;
    return snapshot_warn(p->ld, p->path, entry->line, "unknown section [%s]", entry->section);
}

static int device_entry(void *user, const struct ini_entry *entry)
{
    struct device_parser *p = user;
    if (!entry->key)
        return section_header(p, entry);
    if (entry->section_line == 0)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' stands before the first section", entry->key);
    if (is_dump_section(entry->section))
        return dump_key(p, entry);
    if (strcmp(entry->section, "device") == 0)
        return device_key(p, entry);
    if (strcmp(entry->section, "regs") == 0)
        return reg_key(p, entry);
    return 0;
}

static int check_identity(struct device_parser *p)
{
    struct snapshot *snap = p->ld->snap;
    struct snapshot_device *dev = p->dev;
    if (!dev->name || dev->name[0] == '\0')
        return SNAPSHOT_FAIL_AT(p, p->device_line, "no 'name' in [device]");
    for (size_t i = 0; i < snap->device_count; i++)
        if (strcmp(snap->devices[i].name, dev->name) == 0)
            return snapshot_fail(p->ld->why, BT_ERR_FORMAT, p->path, p->device_line,
                                 "device '%s' was already given in '%s'", dev->name,
                                 snap->devices[i].path);
    int error = 0;
    if (!dev->class_name)
        error = snapshot_warn(p->ld, p->path, 0, "no 'class' in [device]");
    if (error == 0 && !dev->type)
        error = snapshot_warn(p->ld, p->path, 0, "no 'type' in [device]");
    dev->class_name = dev->class_name ? dev->class_name : "";
    dev->type = dev->type ? dev->type : "";
    dev->device_class = strcmp(dev->class_name, "core") == 0           ? SNAPSHOT_CLASS_CORE
                        : strcmp(dev->class_name, "trace_source") == 0 ? SNAPSHOT_CLASS_TRACE_SOURCE
                                                                       : SNAPSHOT_CLASS_OTHER;
    return error;
}

/* One device file, named in line `line` of snapshot.ini. Appends to the snapshot's devices. */
static int snapshot_load_device(struct snapshot_loader *ld, const char *path, unsigned line)
{
    char *text = NULL;
    size_t length = 0;
    int error = snapshot_read_text(ld, path, "snapshot.ini", line, &text, &length);
    if (error != 0)
        return error;
    /* Not counted before it is whole: the arrays of a device that fails are freed here. */
    struct snapshot_device dev = {.path = path};
    struct device_parser p = {.ld = ld, .path = path, .dev = &dev};
    error = snapshot_parse_text(ld, path, text, length, device_entry, &p);
    free(text);
    if (error == 0)
        error = finish_dump(&p);
    if (error == 0)
        error = check_identity(&p);
    if (error == 0)
        error = check_regs(&p);
    struct snapshot_device *place = NULL;
    if (error == 0)
        place = snapshot_grow(ld, &ld->snap->devices, ld->snap->device_count, sizeof dev,
                              SNAPSHOT_MAX_DEVICES, "devices", &error);
    if (!place) {
        free(dev.regs);
        free(dev.dumps);
        return error;
    }
    *place = dev;
    ld->snap->device_count++;
    return 0;
}

#define INDEX_FILE "snapshot.ini"

/* A line of snapshot.ini that names another file. */
struct reference {
    const char *path;
    unsigned line;
};

struct index_parser {
    struct snapshot_loader *ld;
    struct reference *devices;
    size_t device_count;
    struct reference metadata; /* path NULL: none */
};

static int no_memory(struct snapshot_loader *ld)
{
    return snapshot_fail(ld->why, BT_ERR_NOMEM, INDEX_FILE, 0, "out of memory");
}

static int snapshot_unquoted(struct snapshot_loader *ld, const char *value, const char **out)
{
    size_t length = snapshot_unquote(&value);
    *out = snapshot_string(ld->snap, value, length);
    return *out ? 0 : no_memory(ld);
}

static int given_twice(struct snapshot_loader *ld, const struct ini_entry *entry)
{
    return snapshot_fail(ld->why, BT_ERR_FORMAT, INDEX_FILE, entry->line, "'%s' is given twice",
                         entry->key);
}

static int snapshot_unknown_key(struct snapshot_loader *ld, const struct ini_entry *entry)
{
    return snapshot_warn(ld, INDEX_FILE, entry->line, "unknown key '%s' in [%s]", entry->key,
                         entry->section);
}

static int snapshot_key(struct index_parser *p, const struct ini_entry *entry)
{
    struct snapshot_loader *ld = p->ld;
    if (strcmp(entry->key, "description") == 0) {
        if (ld->snap->description)
            return given_twice(ld, entry);
        return snapshot_unquoted(ld, entry->value, &ld->snap->description);
    }
    if (strcmp(entry->key, "version") != 0)
        return snapshot_unknown_key(ld, entry);
    if (ld->snap->version)
        return given_twice(ld, entry);
    if (strcmp(entry->value, "1.0") != 0 && strcmp(entry->value, "1") != 0)
        return snapshot_fail(ld->why, BT_ERR_UNSUPPORTED, INDEX_FILE, entry->line,
                             "version is '%s', only 1.0 is known", entry->value);
    return snapshot_unquoted(ld, entry->value, &ld->snap->version);
}

static int device_list_key(struct index_parser *p, const struct ini_entry *entry)
{
    int error = 0;
    struct reference *place =
        snapshot_grow(p->ld, &p->devices, p->device_count, sizeof *place, SNAPSHOT_MAX_DEVICES,
                      "devices in [device_list]", &error);
    if (!place)
        return error;
    place->line = entry->line;
    p->device_count++;
    return snapshot_unquoted(p->ld, entry->value, &place->path);
}

static int trace_key(struct index_parser *p, const struct ini_entry *entry)
{
    if (strcmp(entry->key, "metadata") != 0)
        return snapshot_unknown_key(p->ld, entry);
    if (p->metadata.path)
        return given_twice(p->ld, entry);
    p->metadata.line = entry->line;
    return snapshot_unquoted(p->ld, entry->value, &p->metadata.path);
}

static int index_entry(void *user, const struct ini_entry *entry)
{
    struct index_parser *p = user;
    if (entry->section_line == 0)
        return snapshot_fail(p->ld->why, BT_ERR_FORMAT, INDEX_FILE, entry->line,
                             "'%s' stands before the first section", entry->key);
    static const struct {
        const char *name;
        int (*key)(struct index_parser *p, const struct ini_entry *entry);
    } sections[] = {
        {"snapshot", snapshot_key},
        {"device_list", device_list_key},
        {"trace", trace_key},
        {"clusters", NULL}, /* which cores share caches: nothing to decode with it */
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(entry->section, sections[i].name) == 0)
            return entry->key && sections[i].key ? sections[i].key(p, entry) : 0;
    if (entry->key)
        return 0;
    return snapshot_warn(p->ld, INDEX_FILE, entry->line, "unknown section [%s]", entry->section);
}

static int load_referenced(struct index_parser *p)
{
    struct snapshot_loader *ld = p->ld;
    if (p->device_count == 0)
        return snapshot_fail(ld->why, BT_ERR_FORMAT, INDEX_FILE, 0,
                             "no device in [device_list]: not a trace snapshot");
    for (size_t i = 0; i < p->device_count; i++) {
        int error = snapshot_load_device(ld, p->devices[i].path, p->devices[i].line);
        if (error != 0)
            return error;
    }
    if (!p->metadata.path)
        return snapshot_warn(ld, INDEX_FILE, 0, "no trace metadata: nothing to decode");
    return snapshot_load_trace(ld, p->metadata.path, p->metadata.line);
}

static int load_all(struct snapshot_loader *ld)
{
    char *text = NULL;
    size_t length = 0;
    int error = snapshot_read_text(ld, INDEX_FILE, INDEX_FILE, 0, &text, &length);
    if (error != 0)
        return error;
    struct index_parser p = {.ld = ld};
    error = snapshot_parse_text(ld, INDEX_FILE, text, length, index_entry, &p);
    free(text);
    if (error == 0)
        error = load_referenced(&p);
    free(p.devices);
    if (!ld->snap->version)
        ld->snap->version = "";
    if (!ld->snap->description)
        ld->snap->description = "";
    return error;
}

int snapshot_load(const struct snapshot_files *files, struct snapshot **out, struct message *why)
{
    *out = NULL;
    *why = (struct message){.text = ""};
    struct snapshot_loader ld = {.files = files, .why = why};
    ld.snap = calloc(1, sizeof *ld.snap);
    if (!ld.snap)
        return no_memory(&ld);
    ld.snap->priv = calloc(1, sizeof *ld.snap->priv);
    if (!ld.snap->priv) {
        free(ld.snap);
        return no_memory(&ld);
    }
    int error = load_all(&ld);
    if (error != 0) {
        snapshot_close(ld.snap);
        return error;
    }
    *out = ld.snap;
    return 0;
}

static int folder_read_text(void *user, const char *path, char **text, size_t *length)
{
    uint64_t size;
    int fd = snapshot_open_inside(user, path, &size);
    if (fd < 0)
        return BT_ERR_IO;
    int error = file_load(fd, INI_READER_MAX_FILE, text, length);
    int saved = errno;
    close(fd);
    errno = saved;
    return error;
}

static int folder_get_size(void *user, const char *path, uint64_t *size)
{
    struct zstd_frames *frames;
    int fd = snapshot_open_inside(user, path, size);
    if (fd < 0)
        return BT_ERR_IO;
    if (!snapshot_is_packed(path)) {
        close(fd);
        return 0;
    }
    int error = *size ? zstd_frames_open(fd, *size, &frames) : 0;
    if (!*size)
        close(fd);
    else if (!error) {
        *size = zstd_frames_size(frames);
        zstd_frames_close(frames);
    }
    return error;
}

/* Absolute path of the folder, or of the folder that holds the file `path`. NULL with errno. */
static char *find_root(const char *path)
{
    char *root = realpath(path, NULL);
    struct stat st;
    if (!root || stat(root, &st) != 0 || S_ISDIR(st.st_mode))
        return root;
    char *slash = strrchr(root, '/');
    const char *name = slash ? slash + 1 : root;
    if (!slash || strcmp(name, "snapshot.ini") != 0) {
        free(root);
        errno = ENOTDIR;
        return NULL;
    }
    slash[slash == root ? 1 : 0] = '\0';
    return root;
}

int snapshot_open(const char *path, struct snapshot **out, struct message *why)
{
    struct message ignored;
    if (!why)
        why = &ignored;
    *out = NULL;
    char *root = find_root(path);
    if (!root)
        return snapshot_fail(why, BT_ERR_IO, path, 0, "cannot open: %s", strerror(errno));
    const struct snapshot_files files = {
        .user = root, .read_text = folder_read_text, .get_size = folder_get_size};
    int error = snapshot_load(&files, out, why);
    if (error != 0) {
        free(root);
        return error;
    }
    (*out)->priv->root = root;
    return 0;
}
