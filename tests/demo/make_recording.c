/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns a run written down by run_in_qemu.sh into a recording, by way of the trace unit and
 * formatter models: the PTM of a Cortex-A15 whose trace goes through a formatter into an ETB.
 *
 * usage: make_recording RUN RECORDING    RUN: folder with run.txt, registers.txt, memory.txt,
 *                                        code.bin, data.bin; RECORDING: new folder
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btrace/types.h"
#include "drivers/snapshot/snapshot_writer.h"
#include "drivers/virtual/encoder/frame_builder.h"
#include "drivers/virtual/encoder/ptm_encoder.h"
#include "drivers/virtual/encoder/waypoint.h"

#define TRACE_ID       0x10
#define SYNC_PERIOD    1024
#define ETMCR_SET      (PTM_CR_TIMESTAMP | PTM_CR_RETURN_STACK)
#define ETMCR_PROGRAM  (1u << 10) /* as read after the capture: the trace unit is stopped */
#define TIME_START     0x2540be400u
#define INSNS_PER_TICK 4 /* of the system counter */
#define LINE_MAX_SIZE  128

struct memory {
    uint32_t address;
    uint8_t *bytes;
    size_t size;
};

/* One line of run.txt: an instruction, or an exception with its return address. */
struct step {
    bool exception;
    unsigned number; /* exception number of IHI 0035B 4.5.4 */
    uint32_t address;
    enum bt_isa isa;
};

struct run {
    struct memory code;
    struct memory data;
    struct step *steps;
    size_t count;
};

static const struct {
    const char *name;
    unsigned number;
} exceptions[] = {
    {"undefined", 9}, {"svc", 10}, {"prefetch-abort", 11}, {"irq", 14}, {"fiq", 15},
};

static void fail(const char *what, const char *subject)
{
    fprintf(stderr, "make_recording: %s '%s'\n", what, subject);
    exit(1);
}

static void check(int result, const char *what)
{
    if (result < 0)
        fail(bt_strerror(result), what);
}

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, mode);
    if (!file)
        fail("cannot open", path);
    return file;
}

/* Address of `name` in memory.txt, bytes from `name`.bin. */
static void load_memory(const char *folder, const char *name, struct memory *m)
{
    FILE *file = open_in(folder, "memory.txt", "r");
    char line[LINE_MAX_SIZE];
    size_t length = strlen(name);
    bool found = false;

    while (fgets(line, sizeof(line), file))
        if (!strncmp(line, name, length) && line[length] == '=') {
            m->address = (uint32_t)strtoul(line + length + 1, NULL, 0);
            found = true;
        }
    fclose(file);
    if (!found)
        fail("no such line in memory.txt:", name);

    snprintf(line, sizeof(line), "%s.bin", name);
    file = open_in(folder, line, "rb");
    m->bytes = malloc(1 << 20);
    if (!m->bytes)
        fail("out of memory for", name);
    m->size = fread(m->bytes, 1, 1 << 20, file);
    fclose(file);
    if (!m->size)
        fail("empty file for", name);
}

static unsigned exception_number(const char *name)
{
    for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
        if (!strcmp(exceptions[i].name, name))
            return exceptions[i].number;
    fail("unknown exception", name);
    return 0;
}

static bool parse_step(const char *line, struct step *s)
{
    char name[32];
    char isa;

    *s = (struct step){0};
    if (sscanf(line, "I %" SCNx32 " %c", &s->address, &isa) != 2) {
        if (sscanf(line, "X %31s %" SCNx32 " %c", name, &s->address, &isa) != 3)
            return false;
        s->exception = true;
        s->number = exception_number(name);
    }
    s->isa = isa == 'T' ? BT_ISA_T32 : BT_ISA_A32;
    return true;
}

static void load_steps(const char *folder, struct run *run)
{
    FILE *file = open_in(folder, "run.txt", "r");
    char line[LINE_MAX_SIZE];
    size_t capacity = 0;

    while (fgets(line, sizeof(line), file)) {
        if (run->count == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            run->steps = realloc(run->steps, capacity * sizeof(*run->steps));
            if (!run->steps)
                fail("out of memory for", "run.txt");
        }
        if (!parse_step(line, &run->steps[run->count]))
            fail("cannot read line of run.txt:", line);
        run->count++;
    }
    fclose(file);
}

static uint32_t halfword(const struct memory *m, uint32_t address)
{
    uint32_t at = address - m->address;

    if (at >= m->size || m->size - at < 2)
        fail("run leaves the code in", "code.bin");
    return (uint32_t)m->bytes[at] | (uint32_t)m->bytes[at + 1] << 8;
}

static uint32_t opcode_at(const struct run *run, const struct step *s)
{
    uint32_t first = halfword(&run->code, s->address);

    if (s->isa == BT_ISA_A32)
        return first | halfword(&run->code, s->address + 2) << 16;
    if (waypoint_t32_size((uint16_t)first) == 2)
        return first;
    return first << 16 | halfword(&run->code, s->address + 2);
}

/* The last step has no successor: execution would go on behind it. */
static struct ptm_state state_after(const struct run *run, size_t i, uint32_t size)
{
    const struct step *s = &run->steps[i];
    struct ptm_state next = {s->address + size, s->isa, BT_SEC_SECURE};

    if (i + 1 < run->count) {
        next.address = s[1].address;
        next.isa = s[1].isa;
    }
    return next;
}

/* An exception's line is followed by the instruction at the vector. */
static void encode_exception(struct ptm_encoder *encoder, const struct run *run, size_t i)
{
    struct ptm_state vector = {0};

    if (i + 1 == run->count || run->steps[i + 1].exception)
        fail("exception without a handler in", "run.txt");
    vector.address = run->steps[i + 1].address;
    vector.isa = run->steps[i + 1].isa;
    vector.security = BT_SEC_SECURE;
    check(ptm_encoder_exception(encoder, run->steps[i].number, &vector), "exception");
}

static void encode_insn(struct ptm_encoder *encoder, const struct run *run, size_t i)
{
    const struct step *s = &run->steps[i];
    struct ptm_insn insn = {.address = s->address, .isa = s->isa};
    struct waypoint w;

    insn.opcode = opcode_at(run, s);
    waypoint_classify(s->isa, insn.opcode, s->address, &w);
    insn.next = state_after(run, i, w.size);
    insn.pass = true;
    if (w.cls == WAYPOINT_DIRECT || w.cls == WAYPOINT_INDIRECT)
        insn.pass = insn.next.address != s->address + w.size || insn.next.isa != s->isa;
    else if (insn.next.address != s->address + w.size)
        fail("run jumps without a branch in", "run.txt");
    check(ptm_encoder_insn(encoder, &insn), "instruction");
}

static void encode_run(const struct run *run, struct trace_bytes *out)
{
    struct ptm_encoder_options options;
    struct ptm_encoder *encoder;
    struct ptm_state first = {run->steps[0].address, run->steps[0].isa, BT_SEC_SECURE};

    ptm_encoder_default_options(&options);
    options.etmcr |= ETMCR_SET;
    options.return_stack_depth = 1; /* as measured on a Cortex-A15 */
    options.sync_period = SYNC_PERIOD;
    encoder = ptm_encoder_new(&options, out);
    if (!encoder)
        fail("cannot make", "PTM encoder");

    ptm_encoder_set_time(encoder, TIME_START);
    check(ptm_encoder_trace_on(encoder, &first), "trace on");
    for (size_t i = 0; i < run->count; i++) {
        ptm_encoder_set_time(encoder, TIME_START + i / INSNS_PER_TICK);
        if (run->steps[i].exception)
            encode_exception(encoder, run, i);
        else
            encode_insn(encoder, run, i);
    }
    check(ptm_encoder_debug_entry(encoder), "debug entry");
    ptm_encoder_free(encoder);
}

/* registers.txt has lines NAME=0xVALUE. */
static void write_registers(struct snapshot_writer *w, int device, const char *folder)
{
    FILE *file = open_in(folder, "registers.txt", "r");
    char line[LINE_MAX_SIZE];

    while (fgets(line, sizeof(line), file)) {
        char *value = strchr(line, '=');

        if (!value)
            fail("cannot read line of registers.txt:", line);
        *value++ = '\0';
        check(snapshot_writer_set_reg(w, device, line, SNAPSHOT_WRITER_NO_INDEX, 32,
                                      strtoul(value, NULL, 0)),
              line);
    }
    fclose(file);
}

static void write_trace_unit(struct snapshot_writer *w, int device)
{
    struct ptm_encoder_options options;

    ptm_encoder_default_options(&options);
    check(snapshot_writer_set_reg(w, device, "ETMCR", 0x00, 32,
                                  options.etmcr | ETMCR_SET | ETMCR_PROGRAM),
          "ETMCR");
    check(snapshot_writer_set_reg(w, device, "ETMIDR", 0x79, 32, options.etmidr), "ETMIDR");
    check(snapshot_writer_set_reg(w, device, "ETMCCER", 0x7a, 32, options.etmccer), "ETMCCER");
    check(snapshot_writer_set_reg(w, device, "ETMSYNCFR", 0x78, 32, SYNC_PERIOD), "ETMSYNCFR");
    check(snapshot_writer_set_reg(w, device, "ETMTRACEIDR", 0x80, 32, TRACE_ID), "ETMTRACEIDR");
}

static void write_recording(const struct run *run, const char *folder, const char *path,
                            const struct trace_bytes *frames)
{
    static const struct snapshot_writer_device core = {"cpu_0", "core", "Cortex-A15"};
    static const struct snapshot_writer_device ptm = {"PTM_0", "trace_source", "PTM1.1"};
    struct snapshot_writer *w;
    int core_device, ptm_device, buffer;

    check(snapshot_writer_create(path, "demo program, from reset to its fault", &w), path);
    core_device = snapshot_writer_add_device(w, &core);
    check(core_device, "core");
    ptm_device = snapshot_writer_add_device(w, &ptm);
    check(ptm_device, "trace unit");
    buffer = snapshot_writer_add_buffer(w, "ETB_0", "coresight");
    check(buffer, "buffer");
    check(snapshot_writer_add_source(w, ptm_device, buffer, core_device), "source");
    write_registers(w, core_device, folder);
    write_trace_unit(w, ptm_device);
    check(snapshot_writer_add_dump(w, core_device, run->code.address, NULL, run->code.bytes,
                                   run->code.size),
          "code");
    check(snapshot_writer_add_dump(w, core_device, run->data.address, NULL, run->data.bytes,
                                   run->data.size),
          "data");
    check(snapshot_writer_commit(w), path);
    check(snapshot_writer_append(w, buffer, frames->data, frames->size), "trace");
    check(snapshot_writer_close(w), path);
}

int main(int argc, char **argv)
{
    struct run run = {0};
    struct trace_bytes trace = {0};
    struct trace_bytes frames = {0};
    struct frame_options options = {0};
    struct frame_builder builder;

    if (argc != 3) {
        fprintf(stderr, "usage: make_recording RUN RECORDING\n");
        return 2;
    }
    load_memory(argv[1], "code", &run.code);
    load_memory(argv[1], "data", &run.data);
    load_steps(argv[1], &run);
    if (!run.count)
        fail("nothing in", "run.txt");
    encode_run(&run, &trace);
    frame_builder_init(&builder, &options, &frames);
    check(frame_builder_write(&builder, TRACE_ID, trace.data, trace.size), "frames");
    check(frame_builder_flush(&builder), "frames");
    write_recording(&run, argv[1], argv[2], &frames);
    printf("%zu lines of run, %zu bytes of trace, %zu bytes of frames\n", run.count, trace.size,
           frames.size);
    trace_bytes_release(&trace);
    trace_bytes_release(&frames);
    free(run.steps);
    free(run.code.bytes);
    free(run.data.bytes);
    return 0;
}
