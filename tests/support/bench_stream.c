/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/bench_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/snapshot/snapshot_writer.h"
#include "drivers/virtual/encoder/etmv3_encoder.h"
#include "drivers/virtual/encoder/etmv4_encoder.h"
#include "drivers/virtual/encoder/frame_builder.h"
#include "drivers/virtual/encoder/ptm_encoder.h"

#define TRACE_ID  0x10
#define IRQ       14 /* exception number, both protocols */
#define ASYNC_MIN 5  /* zero bytes in front of the 80 */

#define V4_SYNC          4096 /* bytes between A-syncs */
#define V4_IRQ_A         14
#define V4_IRQ_M         0x218      /* IRQ 24 */
#define V4_KERNEL        1          /* exception levels */
#define V4_HANDLER       3          /* M profile */
#define V4_IDR2_M        0x00000004 /* as Cortex-M33: no context IDs */
#define V4_DEVARCH_M     0x47724a13u
#define V4_IDR1(devarch) (0x4100f400u | ((devarch) >> 16 & 0xf) << 4)
#define V4_COMMITS       20 /* percent of P0 elements with a commit behind them */
#define V4_WRONG         3  /* and with elements that are cancelled, or turned round */

/* Trace unit models. */

static int ptm_on(void *encoder, uint64_t address, enum bt_isa isa)
{
    const struct ptm_state at = {address, isa, BT_SEC_NONSECURE};
    int error = ptm_encoder_request_sync(encoder);
    return error ? error : ptm_encoder_trace_on(encoder, &at);
}

static int ptm_step(void *encoder, uint64_t address, enum bt_isa isa, uint32_t opcode, bool pass,
                    uint64_t next, unsigned cycles)
{
    const struct ptm_insn insn = {address, isa, opcode, pass, {next, isa, BT_SEC_NONSECURE}};
    ptm_encoder_add_cycles(encoder, cycles);
    return ptm_encoder_insn(encoder, &insn);
}

static int ptm_interrupt(void *encoder, uint64_t resume, uint64_t vector, enum bt_isa isa)
{
    (void)resume;
    const struct ptm_state at = {vector, isa, BT_SEC_NONSECURE};
    return ptm_encoder_exception(encoder, IRQ, &at);
}

static int ptm_flush(void *encoder)
{
    return ptm_encoder_flush(encoder);
}

static int etmv3_on(void *encoder, uint64_t address, enum bt_isa isa)
{
    const struct etmv3_state at = {address, isa, BT_SEC_NONSECURE};
    int error = etmv3_encoder_request_sync(encoder);
    return error ? error : etmv3_encoder_trace_on(encoder, &at, false);
}

static int etmv3_step(void *encoder, uint64_t address, enum bt_isa isa, uint32_t opcode, bool pass,
                      uint64_t next, unsigned cycles)
{
    const struct etmv3_insn insn = {.address = address,
                                    .isa = isa,
                                    .opcode = opcode,
                                    .pass = pass,
                                    .next = {next, isa, BT_SEC_NONSECURE}};
    int error = etmv3_encoder_add_cycles(encoder, cycles);
    return error ? error : etmv3_encoder_insn(encoder, &insn);
}

static int etmv3_interrupt(void *encoder, uint64_t resume, uint64_t vector, enum bt_isa isa)
{
    (void)resume;
    const struct etmv3_state at = {vector, isa, BT_SEC_NONSECURE};
    const struct etmv3_exception irq = {.number = IRQ};
    return etmv3_encoder_exception(encoder, &irq, &at);
}

static int etmv3_flush(void *encoder)
{
    return etmv3_encoder_flush(encoder);
}

static int run_ptm(struct bench_stream *s, const struct bench_recipe *recipe,
                   struct trace_bytes *out)
{
    struct ptm_encoder_options o;
    ptm_encoder_default_options(&o);
    o.etmcr = s->etmcr = recipe->control;
    s->etmidr = o.etmidr;
    s->etmccer = o.etmccer;
    struct bench_encoder e = {ptm_encoder_new(&o, out), ptm_on, ptm_step, ptm_interrupt, ptm_flush};
    int error = BT_ERR_NOMEM;
    if (e.encoder)
        error = bench_program_run(&s->program, &e, out, recipe->unit, &s->instructions);
    ptm_encoder_free(e.encoder);
    return error ? error
                 : ptm_config_from_regs(&s->config.ptm, s->etmcr, s->etmidr, s->etmccer, TRACE_ID);
}

static int run_etmv3(struct bench_stream *s, const struct bench_recipe *recipe,
                     struct trace_bytes *out)
{
    struct etmv3_encoder_options o;
    etmv3_encoder_default_options(&o);
    o.etmcr = s->etmcr = recipe->control;
    s->etmidr = o.etmidr;
    s->etmccer = o.etmccer;
    struct bench_encoder e = {etmv3_encoder_new(&o, out), etmv3_on, etmv3_step, etmv3_interrupt,
                              etmv3_flush};
    int error = BT_ERR_NOMEM;
    if (e.encoder)
        error = bench_program_run(&s->program, &e, out, recipe->unit, &s->instructions);
    etmv3_encoder_free(e.encoder);
    return error ? error
                 : etmv3_config_from_regs(&s->config.etmv3, s->etmcr, s->etmidr, s->etmccer,
                                          TRACE_ID);
}

static int etmv4_on(void *encoder, uint64_t address, enum bt_isa isa)
{
    const struct etmv4_place at = {address, isa};
    return etmv4_encoder_trace_on(encoder, &at);
}

static int etmv4_step(void *encoder, uint64_t address, enum bt_isa isa, uint32_t opcode, bool pass,
                      uint64_t next, unsigned cycles)
{
    static const struct etmv4_context thread = {.level = 0};
    bool a64_return = isa == BT_ISA_A64 && opcode == BENCH_A64_ERET;
    bool m_return = isa == BT_ISA_T32 && opcode == BENCH_M_RETURN;
    const struct etmv4_insn insn = {.at = {address, isa},
                                    .opcode = opcode,
                                    .taken = pass,
                                    .special = m_return ? ETMV4_EXCEPTION_RETURN : ETMV4_BRANCH,
                                    .next = {next, isa}};
    etmv4_encoder_add_cycles(encoder, cycles);
    int result = etmv4_encoder_insn(encoder, &insn);
    if (a64_return || m_return)
        etmv4_encoder_set_context(encoder, &thread);
    return result;
}

static int etmv4_interrupt(void *encoder, uint64_t resume, uint64_t vector, enum bt_isa isa)
{
    bool a64 = isa == BT_ISA_A64;
    const struct etmv4_context handler = {.level = a64 ? V4_KERNEL : V4_HANDLER};
    const struct etmv4_exception irq = {
        .type = a64 ? V4_IRQ_A : V4_IRQ_M, .preferred = {resume, isa}, .vector = {vector, isa}};
    int error = etmv4_encoder_exception(encoder, &irq);
    etmv4_encoder_set_context(encoder, &handler);
    return error;
}

static int etmv4_flush(void *encoder)
{
    return etmv4_encoder_flush(encoder);
}

static void etmv4_options(const struct bench_recipe *recipe, struct etmv4_encoder_options *o)
{
    etmv4_encoder_default_options(o);
    o->configr = recipe->control;
    o->m_profile = recipe->mix.m_profile;
    o->sync_period = V4_SYNC;
    if (o->m_profile) {
        o->devarch = V4_DEVARCH_M;
        o->idr2 = V4_IDR2_M;
    }
    o->idr8 = recipe->max_speculated;
    o->commit_percent = V4_COMMITS;
    o->wrong_percent = o->mispredict_percent = V4_WRONG;
}

static int run_etmv4(struct bench_stream *s, const struct bench_recipe *recipe,
                     struct trace_bytes *out)
{
    struct etmv4_encoder_options o;
    etmv4_options(recipe, &o);
    s->etmv4 = (struct etmv4_registers){
        .configr = o.configr,
        .traceidr = TRACE_ID,
        .devarch = o.devarch,

        .idr = {[0] = o.idr0, [1] = V4_IDR1(o.devarch), [2] = o.idr2, [8] = o.idr8}};
    s->m_profile = o.m_profile;
    struct bench_encoder e = {etmv4_encoder_new(&o, out), etmv4_on, etmv4_step, etmv4_interrupt,
                              etmv4_flush};
    int error = BT_ERR_NOMEM;
    if (e.encoder)
        error = bench_program_run(&s->program, &e, out, recipe->unit, &s->instructions);
    etmv4_encoder_free(e.encoder);
    return error ? error : etmv4_config_from_regs(&s->config.etmv4, &s->etmv4, s->m_profile);
}

/* One row a protocol that has a model. */
static const struct {
    enum stream_protocol protocol;
    int (*run)(struct bench_stream *s, const struct bench_recipe *recipe, struct trace_bytes *out);
} models[] = {
    {STREAM_PTM, run_ptm},
    {STREAM_ETMV3, run_etmv3},
    {STREAM_ETMV4, run_etmv4},
};

/* The unit, again and again. */
static int repeat(struct bench_stream *s, const uint8_t *unit, size_t len, size_t size)
{
    size_t count = (size + len - 1) / len;
    s->unit = len;
    s->size = count * len;
    s->bytes = malloc(s->size);
    if (!s->bytes)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        memcpy(s->bytes + i * len, unit, len);
    return BT_OK;
}

int bench_stream_generate(struct bench_stream *s, const struct bench_recipe *recipe, size_t size)
{
    struct trace_bytes out = {0};
    memset(s, 0, sizeof *s);
    code_image_init(&s->own_image);
    snprintf(s->name, sizeof s->name, "%s", recipe->name);
    s->config.protocol = recipe->protocol;
    s->etmtraceidr = TRACE_ID;
    int error = bench_program_init(&s->program, &recipe->mix, 1);
    if (error)
        return error;
    s->code_bytes = s->program.code_size;
    const struct code_region region = {
        .address = s->program.address, .size = s->code_bytes, .bytes = s->program.code};
    error = code_image_add(&s->own_image, &region);
    s->image = &s->own_image;
    for (size_t i = 0; !error && i < sizeof models / sizeof *models; i++)
        if (models[i].protocol == recipe->protocol)
            error = models[i].run(s, recipe, &out);
    if (!error)
        error = out.size ? repeat(s, out.data, out.size, size) : BT_ERR_UNSUPPORTED;
    trace_bytes_release(&out);
    return error;
}

static int take_data(void *ctx, const uint8_t *data, size_t len)
{
    return trace_bytes_append(ctx, data, len);
}

static int take_gap(void *ctx, enum bt_gap_cause cause)
{
    (void)ctx, (void)cause;
    return BT_OK;
}

/* Offset of an A-sync at or behind `from`; `size` if there is none. Either protocol's. */
static size_t find_async(const uint8_t *data, size_t size, size_t from)
{
    size_t zeros = 0;
    for (size_t i = from; i < size; i++) {
        if (data[i] == 0x80 && zeros >= ASYNC_MIN)
            return i - zeros;
        zeros = data[i] ? 0 : zeros + 1;
    }
    return size;
}

/* From the first A-sync to the last one, exclusive, or to the end. */
static int cut(struct bench_stream *s, const struct trace_bytes *all, bool to_end, size_t size)
{
    size_t first = find_async(all->data, all->size, 0);
    size_t last = to_end ? all->size : first;
    for (size_t at = first; !to_end && at < all->size;
         at = find_async(all->data, all->size, at + ASYNC_MIN + 1))
        last = at;
    if (last <= first)
        return BT_ERR_RANGE;
    return repeat(s, all->data + first, last - first, size);
}

static void registers(struct bench_stream *s, const struct snapshot_device *d)
{
    const struct {
        const char *name;
        uint32_t *value;
    } wanted[] = {
        {"ETMCR", &s->etmcr},
        {"ETMIDR", &s->etmidr},
        {"ETMCCER", &s->etmccer},
        {"ETMTRACEIDR", &s->etmtraceidr},
        {"TRCCONFIGR", &s->etmv4.configr},
        {"TRCTRACEIDR", &s->etmv4.traceidr},
        {"TRCIDR0", &s->etmv4.idr[0]},
        {"TRCIDR1", &s->etmv4.idr[1]},
        {"TRCIDR2", &s->etmv4.idr[2]},
        {"TRCIDR8", &s->etmv4.idr[8]},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint64_t value;
        if (snapshot_reg(d, wanted[i].name, &value) == 0)
            *wanted[i].value = (uint32_t)value;
    }
}

static int take_source(struct bench_stream *s, struct recording *r,
                       const struct recording_source *source, bool to_end, size_t size)
{
    struct trace_bytes all = {0};
    struct recording_pass pass;
    const struct recording_sink sink = {.data = take_data, .gap = take_gap, .ctx = &all};
    memset(s, 0, sizeof *s);
    code_image_init(&s->own_image);
    if (!source)
        return BT_ERR_RANGE;
    snprintf(s->name, sizeof s->name, "%s", source->name);
    s->config = source->config;
    s->m_profile = (s->config.protocol == STREAM_ETMV4 && s->config.etmv4.m_profile) ||
                   (s->config.protocol == STREAM_ETMV3 && s->config.etmv3.m_profile);
    s->image = source->image;
    for (size_t i = 0; i < s->image->count; i++)
        s->code_bytes += s->image->regions[i].size;
    registers(s, source->device);
    int error = recording_feed(r, source, &sink, &pass);
    if (!error)
        error = cut(s, &all, to_end, size);
    trace_bytes_release(&all);
    return error;
}

int bench_stream_capture(struct bench_stream *s, struct recording *r, const char *name, size_t size)
{
    return take_source(s, r, recording_find(r, name, 0), false, size);
}

int bench_stream_run(struct bench_stream *s, struct recording *r, uint64_t instructions,
                     size_t size)
{
    int error = take_source(s, r, r->source_count ? &r->sources[0] : NULL, true, size);
    s->instructions = instructions;
    return error;
}

void bench_stream_release(struct bench_stream *s)
{
    free(s->bytes);
    code_image_release(&s->own_image);
    bench_program_release(&s->program);
    memset(s, 0, sizeof *s);
}

struct unit_reg {
    const char *name;
    uint32_t index, value;
};

static int add_regs(struct snapshot_writer *w, int device, const struct unit_reg *regs,
                    size_t count)
{
    int error = 0;
    for (size_t i = 0; !error && i < count; i++)
        error = snapshot_writer_set_reg(w, device, regs[i].name, regs[i].index, 32, regs[i].value);
    return error;
}

static int describe_unit(struct snapshot_writer *w, int device, const struct bench_stream *s)
{
    const struct unit_reg old[] = {
        {"ETMCR", 0x000, s->etmcr},
        {"ETMIDR", 0x079, s->etmidr},
        {"ETMCCER", 0x07a, s->etmccer},
        {"ETMTRACEIDR", 0x080, s->etmtraceidr},
    };
    const struct unit_reg v4[] = {
        {"TRCCONFIGR", 0x004, s->etmv4.configr}, {"TRCTRACEIDR", 0x010, s->etmv4.traceidr},
        {"TRCIDR8", 0x060, s->etmv4.idr[8]},     {"TRCIDR0", 0x078, s->etmv4.idr[0]},
        {"TRCIDR1", 0x079, s->etmv4.idr[1]},     {"TRCIDR2", 0x07a, s->etmv4.idr[2]},
        {"TRCDEVARCH", 0x3ef, s->etmv4.devarch},
    };
    if (s->config.protocol == STREAM_ETMV4)
        return add_regs(w, device, v4, sizeof v4 / sizeof *v4);
    return add_regs(w, device, old, sizeof old / sizeof *old);
}

static int describe(struct snapshot_writer *w, const struct bench_stream *s)
{
    static const uint8_t before[64] = {0};
    enum stream_protocol p = s->config.protocol;
    const char *type = p == STREAM_PTM ? "PTM1.1" : p == STREAM_ETMV4 ? "ETM4.0" : "ETM3.5";
    const char *core_type = p == STREAM_PTM     ? "Cortex-A15"
                            : p == STREAM_ETMV4 ? "Cortex-A53"
                                                : "Cortex-A7";
    const struct snapshot_writer_device core = {"cpu_0", "core", core_type};
    const struct snapshot_writer_device unit = {"SOURCE_0", "trace_source", type};
    int cpu = snapshot_writer_add_device(w, &core);
    int source = snapshot_writer_add_device(w, &unit);
    int buffer = snapshot_writer_add_buffer(w, "ETB_0", "coresight");
    if (cpu < 0 || source < 0 || buffer < 0)
        return BT_ERR_NOMEM;
    int error = snapshot_writer_add_source(w, source, buffer, cpu);
    if (!error)
        error = describe_unit(w, source, s);
    if (!error)
        error = snapshot_writer_add_dump(w, cpu, s->program.address, NULL, s->program.code,
                                         s->program.code_size);
    if (!error) /* GDB looks before a function, where a chip has other code */
        error = snapshot_writer_add_dump(w, cpu, s->program.address - sizeof before, NULL, before,
                                         sizeof before);
    return error ? error : snapshot_writer_commit(w);
}

int bench_stream_record(const struct bench_stream *s, const char *path, uint64_t size)
{
    struct snapshot_writer *w;
    struct trace_bytes frames = {0};
    struct frame_builder b;
    const struct frame_options o = {0};
    int error = snapshot_writer_create(path, "made by a benchmark", &w);
    if (error)
        return error;
    error = describe(w, s);
    frame_builder_init(&b, &o, &frames);
    if (!error)
        error = frame_builder_write(&b, (uint8_t)s->etmtraceidr, s->bytes, s->unit);
    if (!error)
        error = frame_builder_flush(&b);
    for (uint64_t done = 0; !error && done < size; done += s->unit)
        error = snapshot_writer_append(w, 0, frames.data, frames.size);
    trace_bytes_release(&frames);
    int closed = snapshot_writer_close(w);
    return error ? error : closed;
}
