/* SPDX-License-Identifier: BSD-3-Clause */
/* [setup] and [core] sections: registers, and what the cores and the trace together must fulfil. */
#include "config_internal.h"
#include "drivers/elf/elf_image.h"
#include "server/protocols/source_device.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TRACE_ID 0x10u

static int device_add_register(struct snapshot_device *device, const struct snapshot_reg *reg)
{
    struct snapshot_reg *grown =
        realloc(device->regs, (device->reg_count + 1) * sizeof *device->regs);
    if (!grown)
        return BT_ERR_NOMEM;
    device->regs = grown;
    device->regs[device->reg_count++] = *reg;
    return BT_OK;
}

int config_add_register(struct config_parser *p, unsigned line, unsigned i, const char *name,
                        const char *value)
{
    const struct config_register *known = config_find_register(name);
    struct config_core *core = &p->config->cores[i];
    struct snapshot_device *device = known->of_core ? &core->core_device : &core->source_device;
    struct snapshot_reg reg = {.name = known->name,
                               .has_index = known->index != CONFIG_NO_INDEX,
                               .index = known->index != CONFIG_NO_INDEX ? known->index : 0,
                               .size = 32,
                               .line = line};
    for (size_t k = 0; k < device->reg_count; k++)
        if (strcmp(device->regs[k].name, name) == 0)
            return config_fail(p, line, name, "comes twice (first in line %u)",
                               device->regs[k].line);
    if (!config_parse_number(value, &reg.value) || reg.value > UINT32_MAX)
        return config_fail(p, line, name,
                           "'%s' is not the value of a register; allowed: a number up to "
                           "0xffffffff",
                           value);
    return device_add_register(device, &reg);
}

int config_add_setup(struct config_parser *p, unsigned line, const char *address, const char *value)
{
    struct config *c = p->config;
    const char *allowed = config_find_key("setup", "ADDRESS")->allowed;
    struct config_setup *s = &c->setup[c->setup_count];
    uint64_t where, bits;
    if (c->setup_count == CONFIG_MAX_SETUP)
        return config_fail(p, line, address, "more than %d lines in [setup]", CONFIG_MAX_SETUP);
    *s = (struct config_setup){.line = line};
    if (strncmp(value, "set ", 4) == 0)
        s->how = CONFIG_SETUP_SET;
    else if (strncmp(value, "clear ", 6) == 0)
        s->how = CONFIG_SETUP_CLEAR;
    const char *number = s->how == CONFIG_SETUP_WRITE ? value : strchr(value, ' ') + 1;
    if (!config_parse_number(address, &where) || where > UINT32_MAX || where % 4)
        return config_fail(p, line, address, "is not the address of a word; allowed: %s", allowed);
    if (!config_parse_number(number, &bits) || bits > UINT32_MAX)
        return config_fail(p, line, address, "'%s' is not a word; allowed: %s", value, allowed);
    s->address = (uint32_t)where;
    s->value = (uint32_t)bits;
    c->setup_count++;
    return BT_OK;
}

/* Of the command line. */

static unsigned core_register_line(const struct config_parser *p, unsigned i, const char *name)
{
    const struct snapshot_reg *reg = snapshot_find_reg(&p->config->cores[i].source_device, name);
    return reg ? reg->line : p->cores[i].section;
}

int config_set_register(struct config_core *core, const char *name, uint32_t value)
{
    const struct config_register *known = config_find_register(name);
    struct snapshot_device *device = &core->source_device;
    for (size_t k = 0; k < device->reg_count; k++) {
        if (strcmp(device->regs[k].name, name) == 0) {
            device->regs[k].value = value;
            return BT_OK;
        }
    }
    const struct snapshot_reg reg = {.name = known ? known->name : name,
                                     .has_index = known && known->index != CONFIG_NO_INDEX,
                                     .index = known ? known->index : 0,
                                     .size = 32,
                                     .value = value};
    return device_add_register(device, &reg);
}

const char *config_drop_registers(struct config_core *core, const char *prefix)
{
    struct snapshot_device *device = &core->source_device;
    const char *first = NULL;
    size_t kept = 0;
    for (size_t k = 0; k < device->reg_count; k++) {
        struct snapshot_reg *reg = &device->regs[k];
        if (strncmp(reg->name, prefix, strlen(prefix)) != 0)
            device->regs[kept++] = *reg;
        else if (reg->line && !first)
            first = reg->name;
    }
    device->reg_count = kept;
    return first;
}

static unsigned core_key_given(const struct config_parser *p, unsigned i, const char *name)
{
    size_t count;
    return p->cores[i].key[config_find_key("core", name) - config_keys(&count)];
}

static unsigned core_key_line(const struct config_parser *p, unsigned i, const char *name)
{
    unsigned line = core_key_given(p, i, name);
    return line ? line : p->cores[i].section;
}

/* "Cortex-M0, -M0+, -M1": they are many. */
static void list_types(const char *const *types, size_t count, char *text, size_t size)
{
    static const char cortex[] = "Cortex-";
    size_t n = sizeof cortex - 1;
    for (size_t k = 0; k < count; k++) {
        bool next = k && strncmp(types[k], cortex, n) == 0 && strncmp(types[k - 1], cortex, n) == 0;
        bool same = next && types[k][n] == types[k - 1][n];
        config_list(text, size, types[k] + (same ? n - 1 : 0));
    }
}

static int check_type(struct config_parser *p, unsigned i)
{
    struct config_nearest nearest = {.word = p->config->cores[i].type};
    size_t count;
    if (!*nearest.word) /* which has been said */
        return BT_OK;
    const char *const *types = config_core_types(&count);
    for (size_t k = 0; k < count; k++) {
        if (strcmp(types[k], nearest.word) == 0)
            return BT_OK;
        config_nearest_offer(&nearest, types[k]);
    }
    char allowed[CONFIG_LIST_SIZE] = "";
    list_types(types, count, allowed, sizeof allowed);
    int error = config_fail(
        p, core_key_line(p, i, "type"), "type", "core '%s' is not known; %s%s%s", nearest.word,
        nearest.best ? "did you mean '" : "allowed: ", nearest.best ? nearest.best : allowed,
        nearest.best ? "'?" : "");
    *p->config->cores[i].type = '\0'; /* nobody asks for its profile */
    return error;
}

/* The type goes into a recording's ini files as it is. */
static const struct source_protocol *core_protocol(const char *type)
{
    size_t length = strlen(type);
    for (size_t k = 0; k < length; k++)
        if (!isalnum((unsigned char)type[k]) && type[k] != '.')
            return NULL;
    const struct source_protocol *protocol = length < 32 ? source_protocol_of_type(type) : NULL;
    return protocol && !protocol->no_instructions ? protocol : NULL;
}

/* "PTM_0" for the first core's "PTM1.1". */
static const char *core_device_name(struct config *c, unsigned i, const char *type)
{
    char name[64];
    size_t letters = 0;
    while (type && isalpha((unsigned char)type[letters]))
        letters++;
    snprintf(name, sizeof name, "%.*s_%u", (int)letters, type ? type : "", i);
    return config_keep(c, name);
}

int config_set_source(struct config *config, unsigned i, const char *type)
{
    struct snapshot_device *device = &config->cores[i].source_device;
    const char *kept = config_keep(config, type), *name = core_device_name(config, i, type);
    if (!kept || !name)
        return BT_ERR_NOMEM;
    device->type = kept;
    device->name = name;
    config->cores[i].has_source = true;
    return BT_OK;
}

/* "FILE:LINE", "PTM_0": what messages of the decoder's configuration begin with and speak of. */
static int name_devices(struct config_parser *p, unsigned i)
{
    struct config_core *core = &p->config->cores[i];
    char place[640];
    snprintf(place, sizeof place, "%s:%u", p->path, p->cores[i].section);
    core->core_device.path = core->source_device.path = config_keep(p->config, place);
    core->core_device.name = config_keep(p->config, core->name);
    core->core_device.type = config_keep(p->config, core->type);
    core->source_device.name = core_device_name(p->config, i, core->source_device.type);
    core->core_device.class_name = "core";
    core->core_device.device_class = SNAPSHOT_CLASS_CORE;
    core->source_device.class_name = "trace_source";
    core->source_device.device_class = SNAPSHOT_CLASS_TRACE_SOURCE;
    bool ok = core->core_device.path && core->core_device.name && core->core_device.type &&
              core->source_device.name;
    return ok ? BT_OK : BT_ERR_NOMEM;
}

/* What the trace ID is called: the units of ETMv4 and later have other names for everything. Of a
 * unit that is still to be found the one that the board file has. */
static const char *core_id_register(const struct config_core *core)
{
    const struct snapshot_device *device = &core->source_device;
    const struct source_protocol *protocol = device->type ? core_protocol(device->type) : NULL;
    bool given = !device->type && snapshot_find_reg(device, "TRCTRACEIDR");
    bool etm4 = protocol && protocol->protocol == STREAM_ETMV4;
    return given || etm4 ? "TRCTRACEIDR" : "ETMTRACEIDR";
}

bool config_trace_id(const struct config_core *core, uint64_t *id)
{
    return snapshot_reg(&core->source_device, core_id_register(core), id) == BT_OK;
}

/* Trace units that are programmed need an ID of their own. */
static int default_trace_id(struct config *c, unsigned i)
{
    uint64_t other;
    unsigned id = DEFAULT_TRACE_ID;
    if (config_trace_id(&c->cores[i], &other))
        return BT_OK;
    for (unsigned k = 0; k < c->core_count; k++) {
        if (config_trace_id(&c->cores[k], &other) && other == id) {
            id++;
            k = UINT_MAX; /* once more from the first */
        }
    }
    return config_set_register(&c->cores[i], core_id_register(&c->cores[i]), id);
}

static int check_trace_id(struct config_parser *p, unsigned i)
{
    uint64_t id, other;
    const char *name = core_id_register(&p->config->cores[i]);
    unsigned line = core_register_line(p, i, name);
    if (!p->config->formatted)
        return BT_OK;
    if (!config_trace_id(&p->config->cores[i], &id))
        return config_fail(p, line, name,
                           "is missing: frames tell the trace of one core from that of another by "
                           "it; allowed: 1 to 0x6f");
    if (id < 1 || id > FORMATTER_ID_MAX)
        return config_fail(p, line, name,
                           "0x%llx is not the ID of a trace source; allowed: 1 to 0x6f",
                           (unsigned long long)id);
    for (unsigned k = 0; k < i; k++)
        if (config_trace_id(&p->config->cores[k], &other) && other == id)
            return config_fail(p, line, name, "0x%llx is that of [core %s] too",
                               (unsigned long long)id, p->config->cores[k].name);
    return BT_OK;
}

static int check_source(struct config_parser *p, unsigned i)
{
    struct config_core *core = &p->config->cores[i];
    struct stream_config stream = {0};
    unsigned trace_id = 0;
    bool programmed = config_programs_trace(p->config);
    core->has_source = core->source_device.type;
    if (!core_key_given(p, i, "funnel_port"))
        core->funnel_port = CONFIG_ALL_PORTS;
    if (p->config->sink == CONFIG_SINK_NONE) {
        core->has_source = false;
        return BT_OK;
    }
    if (!core->has_source && core->source_device.reg_count && !programmed)
        return config_fail(p, core->source_device.regs[0].line, core->source_device.regs[0].name,
                           "is a register of a trace unit, but [core %s] has no 'source'",
                           core->name);
    if (!core->has_source && !programmed)
        return BT_OK;
    const struct source_protocol *protocol =
        core->has_source ? core_protocol(core->source_device.type) : NULL;
    if (core->has_source && !protocol)
        return config_fail(p, core_key_line(p, i, "source"), "source",
                           "the protocol of '%s' is not known; allowed: %s",
                           core->source_device.type, config_find_key("core", "source")->allowed);
    int error = programmed && p->config->formatted ? default_trace_id(p->config, i) : BT_OK;
    if (!error)
        error = check_trace_id(p, i);
    if (error || programmed) /* the rest is read from the hardware */
        return error;
    stream.protocol = protocol->protocol;
    struct message why;
    error = source_device_configure(protocol, &core->source_device, &core->core_device, &stream,
                                    &trace_id, &why);
    return error ? config_mistake(p, &why) : BT_OK;
}

static int check_thread(struct config_parser *p, unsigned i)
{
    struct config_core *cores = p->config->cores;
    if (cores[i].thread == 0)
        cores[i].thread = i + 1;
    for (unsigned k = 0; k < i; k++)
        if (cores[k].thread == cores[i].thread)
            return config_fail(p, core_key_line(p, i, "thread"), "thread",
                               "%u is that of [core %s] too", cores[i].thread, cores[k].name);
    return BT_OK;
}

/* Is this core an ARMv8-A or later? Another debug architecture, and A64 code. */
static bool is_v8_a(const struct config_core *core)
{
    static const unsigned v7[] = {5, 7, 8, 9, 12, 15, 17};
    if (!config_is_a_profile(core))
        return false;
    unsigned long number = strtoul(core->type + strlen("Cortex-A"), NULL, 10);
    for (size_t k = 0; k < sizeof v7 / sizeof *v7; k++)
        if (v7[k] == number)
            return false;
    return true;
}

/* What a probe of ours can debug, and what is of one kind of core alone. */
static int check_debug(struct config_parser *p, unsigned i)
{
    const struct config *c = p->config;
    bool a = config_is_a_profile(&c->cores[i]);
    unsigned line =
        core_key_given(p, i, "debug") ? core_key_given(p, i, "debug") : core_key_given(p, i, "cti");
    const char *key = core_key_given(p, i, "debug") ? "debug" : "cti";
    unsigned reset = config_line_of(p, "probe", "connect_under_reset");
    if (line && !(a && config_has_probe(c)))
        return config_fail(p, line, key,
                           "is not used; allowed: with [probe] and a Cortex-A5 to Cortex-A17");
    if (!config_has_probe(c))
        return BT_OK;
    if (is_v8_a(&c->cores[i]))
        return config_fail(p, core_key_line(p, i, "type"), "type",
                           "an ARMv8-A core is not debugged through a probe of ours; allowed: "
                           "[target] connect to another GDB server, through which its trace unit "
                           "is programmed, too");
    if (!a && strncmp(c->cores[i].type, "Cortex-M", 8) != 0 &&
        strcmp(c->cores[i].type, "SC300") != 0)
        return config_fail(p, core_key_line(p, i, "type"), "type",
                           "%s: not debugged through a probe of ours; allowed: Cortex-M, "
                           "Cortex-A5 to Cortex-A17, or [target] connect to another GDB server",
                           c->cores[i].type);
    if (config_is_a_profile(&c->cores[0]) != a)
        return config_fail(p, core_key_line(p, i, "type"), "type",
                           "Cortex-A and other cores cannot be debugged through one access port; "
                           "allowed: a board file for each kind");
    if (a && c->probe.connect_under_reset)
        return config_fail(p, reset, "connect_under_reset",
                           "is of Cortex-M; allowed: `monitor reset` in GDB, which halts at the "
                           "vector of the reset");
    return BT_OK;
}

/* The frames of tasks are known of one profile. */
static int check_rtos(struct config_parser *p, unsigned i)
{
    const struct config_core *core = &p->config->cores[i];
    if (core->rtos <= RTOS_AUTO || strncmp(core->type, "Cortex-M", 8) == 0)
        return BT_OK;
    return config_fail(p, core_key_line(p, i, "rtos"), "rtos",
                       "tasks are known of Cortex-M alone; allowed: none or auto");
}

/* Core and source are devices of one recording: their names must differ. */
static int check_names(struct config_parser *p)
{
    struct config *c = p->config;
    for (unsigned i = 0; i < c->core_count; i++)
        for (unsigned k = 0; k < c->core_count; k++)
            if (c->cores[k].has_source &&
                strcmp(c->cores[i].name, c->cores[k].source_device.name) == 0)
                return config_fail(p, p->cores[i].section, c->cores[i].name,
                                   "is the name that the trace unit of [core %s] has in "
                                   "recordings; another one is needed",
                                   c->cores[k].name);
    return BT_OK;
}

/* What one core is, whatever the others are. */
static int check_core(struct config_parser *p, unsigned i)
{
    int (*const checks[])(struct config_parser *, unsigned) = {check_source, check_thread,
                                                               check_debug, check_rtos};
    int result = BT_OK;
    for (size_t k = 0; k < sizeof checks / sizeof *checks; k++) {
        int error = checks[k](p, i);
        result = result ? result : error;
    }
    return result;
}

int config_check_types(struct config_parser *p)
{
    int result = BT_OK;
    for (unsigned i = 0; i < p->config->core_count; i++) {
        int error = check_type(p, i);
        result = result ? result : error;
    }
    return result;
}

int config_check_cores(struct config_parser *p)
{
    struct config *c = p->config;
    unsigned sources = 0;
    int result = BT_OK;
    if (c->core_count == 0)
        return config_fail(p, 0, "[core NAME]", "is missing: one section for each core");
    for (unsigned i = 0; i < c->core_count; i++) {
        int error = name_devices(p, i);
        error = error ? error : check_core(p, i);
        if (error == BT_ERR_NOMEM)
            return error;
        result = result ? result : error;
    }
    for (unsigned i = 0; i < c->core_count && !result; i++) {
        sources += c->cores[i].has_source;
        if (sources > 1 && !c->formatted)
            return config_fail(p, core_key_line(p, i, "source"), "source",
                               "format = raw holds the trace of one source, and another core has "
                               "one already; allowed: format = tpiu or frames");
    }
    if (result)
        return result;
    if (sources == 0 && c->sink == CONFIG_SINK_UNSET && !c->itm.on)
        return config_fail(p, p->cores[0].section, "source",
                           "no core has one, so there is nothing to trace; allowed: %s",
                           config_find_key("core", "source")->allowed);
    if (c->buffer && c->formatted && c->mode != FORMATTER_ALIGNED)
        return config_fail(p, 0, "buffer",
                           "a trace buffer holds no frame syncs; allowed: format = frames or raw");
    return check_names(p);
}

/* What a good board file names and this machine does not have. */

static bool is_m_profile(const struct config_core *core)
{
    return strncmp(core->type, "Cortex-M", 8) == 0 || strncmp(core->type, "SC", 2) == 0;
}

/* What the program is for, if the core is of another architecture or profile; else NULL. */
static const char *other_than(const struct config_core *core, const struct elf_image *elf)
{
    if (elf->machine == ELF_MACHINE_AARCH64)
        return is_v8_a(core) || !*core->type ? NULL : "AArch64";
    if (!elf->profile || !*core->type || (elf->profile == 'M') == is_m_profile(core))
        return NULL;
    return elf->profile == 'M'   ? "an M profile"
           : elf->profile == 'A' ? "an A profile"
           : elf->profile == 'R' ? "an R profile"
                                 : "an A or R profile";
}

int config_open_program(const struct config_core *core, struct elf_image **elf, struct message *why)
{
    int error = elf_image_open(core->program, elf, why);
    const char *other = error ? NULL : other_than(core, *elf);
    if (!other)
        return error;
    message_set(why, "it is for %s, not for a %s", other, core->type);
    elf_image_close(*elf);
    *elf = NULL;
    return BT_ERR_FORMAT;
}

static void note_program(const struct config_core *core)
{
    if (core->program[0] && access(core->program, F_OK) != 0)
        printf("note: the program '%s' of core %s is not there yet\n", core->program, core->name);
}

unsigned config_check_programs(const struct config *c, void (*mistake)(void *ctx, const char *text),
                               void *ctx)
{
    unsigned count = 0;
    for (unsigned i = 0; i < c->core_count; i++) {
        const struct config_core *core = &c->cores[i];
        struct elf_image *elf = NULL;
        struct message why, text;
        if (!core->program[0] || access(core->program, F_OK) != 0)
            continue;
        if (config_open_program(core, &elf, &why)) {
            message_set(&text, "cannot use the program '%s' of core %s: %s", core->program,
                        core->name, why.text);
            mistake(ctx, text.text);
            count++;
        }
        elf_image_close(elf);
    }
    return count;
}

/* Why there will be no history of a core that is to be traced, as far as its type tells; NULL: it
 * does not. */
static const char *no_trace_unit(const struct config *c, const struct config_core *core)
{
    static const char *const behind_jtag[] = {"ARM7", "ARM9", "ARM10"};
    if (strcmp(core->type, "Cortex-M0") == 0 || strcmp(core->type, "Cortex-M1") == 0)
        return "has no trace unit";
    if (strcmp(core->type, "Cortex-M0+") == 0 && c->sink != CONFIG_SINK_MTB)
        return "has an MTB at most, which sink = mtb reads";
    for (size_t k = 0; k < sizeof behind_jtag / sizeof *behind_jtag; k++)
        if (config_programs_trace(c) &&
            strncmp(core->type, behind_jtag[k], strlen(behind_jtag[k])) == 0)
            return "has its trace unit behind its own JTAG chain, where it is not programmed: "
                   "'source' and its registers in place of 'sink'";
    return NULL;
}

static void note_trace_unit(const struct config *c, const struct config_core *core)
{
    const char *reason = c->sink == CONFIG_SINK_NONE ? NULL : no_trace_unit(c, core);
    if (reason)
        printf("note: no history of core %s: a %s %s\n", core->name, core->type, reason);
}

/* As execvp() looks for it. */
static bool is_executable(const char *name)
{
    char path[PATH_MAX];
    const char *at = getenv("PATH");
    if (strchr(name, '/') || !at)
        return access(name, X_OK) == 0;
    for (size_t n; *at; at += n + (at[n] == ':')) {
        n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, at, name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* A good board file may come before what it names. */
void config_notes(const struct config *c)
{
    for (unsigned i = 0; i < c->core_count; i++) {
        note_trace_unit(c, &c->cores[i]);
        note_program(&c->cores[i]);
    }
    if (c->command && !is_executable(c->command[0]))
        printf("note: the program '%s' of [target] command is not there yet\n", c->command[0]);
    if (c->flash.algorithm[0] && access(c->flash.algorithm, R_OK) != 0)
        printf("note: the algorithm '%s' of [flash] cannot be read yet: %s\n", c->flash.algorithm,
               strerror(errno));
}
