/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random flows, encoded by the ETMv3 model, decoded by OpenCSD, compared with what really ran.
 * Finds faults of the model (and of the generator) that no test written by the same hand would.
 *
 * Left out because OpenCSD cannot follow it: data trace, LSiP I-syncs, ThumbEE, Jazelle, BLX
 * immediate without a packet, BLX immediate that fails in an IT block, A32 ERET, A-syncs of more
 * than five zeros, idle cycles of v3.0, timestamps with bit 63 set or in Gray code, exceptions that
 * cancel a return. Cycle count packets it adds where they are, not where they belong.
 *
 * Of canceled instructions it takes back only some (a plain one that has a P-header of its own, and
 * then about every other): it may tell them or not. Their cycles are lost with those
 * it takes back. */
#include <opencsd/c_api/opencsd_c_api.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/random_etmv3.h"

#define FIRST_SEED 1
#define SEEDS      100

struct checker {
    const struct random_etmv3 *flow;
    size_t insn;     /* next one to be told, in flow->insns */
    uint64_t traced; /* how many were told */
    size_t next[BT_EVENT_KINDS];
    uint64_t cycles; /* counted by OpenCSD in this region */
    uint32_t region;
    uint32_t context_id;
    unsigned reported_canceled;
    bool check_cycles;
    bool in_line; /* exceptions have codes of their own, most have none */
    bool failed;
    char why[256];
};

static void fail(struct checker *c, const char *format, ...)
{
    va_list arguments;

    if (c->failed)
        return;
    c->failed = true;
    va_start(arguments, format);
    vsnprintf(c->why, sizeof c->why, format, arguments);
    va_end(arguments);
}

static uint32_t read_memory(const void *context, const ocsd_vaddr_t address,
                            const ocsd_mem_space_acc_t space, const uint32_t size, uint8_t *bytes)
{
    (void)space;
    return (uint32_t)random_etmv3_read(context, address, bytes, size);
}

static const struct random_etmv3_insn *next_insn(struct checker *c)
{
    const struct random_etmv3 *f = c->flow;

    while (c->insn < f->insn_count && !f->insns[c->insn].traced)
        c->insn++;
    return c->insn < f->insn_count ? &f->insns[c->insn] : NULL;
}

/* The next one, or a canceled one before it, if that is what is told. */
static const struct random_etmv3_insn *reported_insn(struct checker *c, uint64_t address, bool pass)
{
    const struct random_etmv3 *f = c->flow;

    for (; c->insn < f->insn_count && !f->insns[c->insn].traced; c->insn++) {
        const struct random_etmv3_insn *insn = &f->insns[c->insn];
        if (!insn->canceled)
            continue;
        if (insn->address == address && (insn->cond == BT_COND_PASS) == pass) {
            c->reported_canceled++;
            return insn;
        }
    }
    return next_insn(c);
}

/* The number of W atoms up to an instruction, within its region. */
static void check_cycle(struct checker *c, const struct random_etmv3_insn *insn,
                        const ocsd_generic_trace_elem *e)
{
    c->cycles += e->has_cc ? e->cycle_count : 0;
    if (c->cycles != insn->cycle)
        fail(c, "%lu cycles at %#lx, should be %lu", (unsigned long)c->cycles,
             (unsigned long)insn->address, (unsigned long)insn->cycle);
}

static void check_range(struct checker *c, const ocsd_generic_trace_elem *e)
{
    const struct random_etmv3_insn *insn = NULL;
    uint64_t address = e->st_addr;

    for (uint32_t i = 0; i < e->num_instr_range; i++) {
        bool last = i + 1 == e->num_instr_range;
        insn = reported_insn(c, address, !last || e->last_instr_exec);
        if (!insn || insn->address != address)
            return fail(c, "instruction %lu at %#lx, should be %#lx", (unsigned long)c->traced,
                        (unsigned long)address, insn ? (unsigned long)insn->address : 0ul);
        ocsd_isa isa = insn->isa == BT_ISA_A32 ? ocsd_isa_arm : ocsd_isa_thumb2;
        if (e->isa != isa)
            return fail(c, "wrong instruction set at %#lx", (unsigned long)address);
        if (!last && insn->cond != BT_COND_PASS)
            fail(c, "instruction at %#lx failed in the middle of a range", (unsigned long)address);
        if (c->context_id != insn->context_id)
            fail(c, "context ID %#x at %#lx, should be %#x", c->context_id, (unsigned long)address,
                 insn->context_id);
        address += insn->size;
        c->insn++;
        c->traced += insn->traced;
    }
    if (!insn || address != e->en_addr)
        return fail(c, "range at %#lx ends at %#lx, should be %#lx", (unsigned long)e->st_addr,
                    (unsigned long)e->en_addr, (unsigned long)address);
    if (e->last_instr_exec != (insn->cond == BT_COND_PASS))
        fail(c, "wrong atom at %#lx", (unsigned long)insn->address);
    if (c->check_cycles)
        check_cycle(c, insn, e);
}

static bool is_next(const struct checker *c, const struct bt_event *event, enum bt_event_kind kind)
{
    /* One code stands for all those that the vector tells apart: no exception for OpenCSD. */
    unsigned number = event->u.exception.number;

    if (event->kind != kind)
        return false;
    return kind != BT_EVENT_EXCEPTION || !c->in_line || number < 8 || number > 12;
}

/* The next event of a kind, which must stand behind as many instructions as were told. */
static const struct bt_event *take_event(struct checker *c, enum bt_event_kind kind)
{
    const struct random_etmv3 *f = c->flow;
    size_t i = c->next[kind];

    while (i < f->event_count && !is_next(c, &f->events[i], kind))
        i++;
    if (i >= f->event_count) {
        fail(c, "one event of kind %d too many", (int)kind);
        return NULL;
    }
    c->next[kind] = i + 1;
    if (f->events[i].position != c->traced)
        fail(c, "event of kind %d at %lu, should be at %lu", (int)kind, (unsigned long)c->traced,
             (unsigned long)f->events[i].position);
    return &f->events[i];
}

/* OpenCSD gives the number of the packet. */
static unsigned event_number(const struct checker *c, const struct bt_event *event)
{
    static const uint8_t codes[16] = {[1] = 7, [4] = 6, [5] = 4, [14] = 1, [15] = 5};
    static const uint8_t raw[24] = {0,  17, 10, 19, 13, 21, 9, 22, 16, 20, 18, 11,
                                    12, 23, 14, 15, 8,  1,  2, 3,  4,  5,  6,  7};
    const struct bt_exception *x = &event->u.exception;

    if (c->in_line)
        return codes[x->number];
    return x->m_profile && x->number < 24 ? raw[x->number] : x->number;
}

static void check_exception(struct checker *c, const ocsd_generic_trace_elem *e)
{
    const struct bt_event *event = take_event(c, BT_EVENT_EXCEPTION);

    if (!event)
        return;
    /* What it cancels is not told any more. */
    if (event->cycles > c->insn)
        c->insn = event->cycles;
    if (event_number(c, event) != e->exception_number)
        fail(c, "exception %u, should be %u", e->exception_number, event_number(c, event));
    if (e->excep_ret_addr && event->u.exception.has_return &&
        event->u.exception.return_address != e->en_addr)
        fail(c, "exception %u returns to %#lx, should be %#lx", e->exception_number,
             (unsigned long)e->en_addr, (unsigned long)event->u.exception.return_address);
}

static void check_trace_on(struct checker *c, const ocsd_generic_trace_elem *e)
{
    static const trace_on_reason_t reasons[] = {TRACE_ON_NORMAL, TRACE_ON_NORMAL, TRACE_ON_OVERFLOW,
                                                TRACE_ON_EX_DEBUG};
    const struct bt_event *event = take_event(c, BT_EVENT_TRACE_ON);

    c->cycles = 0; /* the count of the gap comes with the context */
    if (event && reasons[event->u.trace_on.reason & 3] != e->trace_on_reason)
        fail(c, "trace on with reason %d, should be %lu", (int)e->trace_on_reason,
             (unsigned long)event->u.trace_on.reason);
}

static void check_timestamp(struct checker *c, const ocsd_generic_trace_elem *e)
{
    const struct bt_event *event = take_event(c, BT_EVENT_TIMESTAMP);

    if (event && event->u.timestamp.value != e->timestamp)
        fail(c, "timestamp %#lx, should be %#lx", (unsigned long)e->timestamp,
             (unsigned long)event->u.timestamp.value);
}

static ocsd_datapath_resp_t take_element(const void *context, const ocsd_trc_index_t index,
                                         const uint8_t id, const ocsd_generic_trace_elem *e)
{
    struct checker *c = (struct checker *)context;

    (void)index;
    (void)id;
    switch (e->elem_type) {
    case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
        check_range(c, e);
        break;
    case OCSD_GEN_TRC_ELEM_TRACE_ON:
        check_trace_on(c, e);
        break;
    case OCSD_GEN_TRC_ELEM_EXCEPTION:
        check_exception(c, e);
        break;
    case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
        take_event(c, BT_EVENT_EXCEPTION_RET);
        break;
    case OCSD_GEN_TRC_ELEM_TIMESTAMP:
        check_timestamp(c, e);
        break;
    case OCSD_GEN_TRC_ELEM_EVENT:
        take_event(c, BT_EVENT_TRIGGER);
        break;
    case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
        c->cycles += e->cycle_count;
        break;
    case OCSD_GEN_TRC_ELEM_NO_SYNC:
        if (c->traced || e->unsync_eot_info != UNSYNC_INIT_DECODER)
            fail(c, "lost sync after %lu instructions", (unsigned long)c->traced);
        break;
    case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
        /* Ranges have no context of their own. */
        if (e->context.ctxt_id_valid)
            c->context_id = e->context.context_id;
        break;
    case OCSD_GEN_TRC_ELEM_EO_TRACE:
        break;
    default:
        fail(c, "element of kind %d after %lu instructions", (int)e->elem_type,
             (unsigned long)c->traced);
    }
    return OCSD_RESP_CONT;
}

static void check_end(struct checker *c)
{
    static const enum bt_event_kind kinds[] = {BT_EVENT_TRACE_ON, BT_EVENT_EXCEPTION,
                                               BT_EVENT_EXCEPTION_RET, BT_EVENT_TIMESTAMP,
                                               BT_EVENT_TRIGGER};
    const struct random_etmv3 *f = c->flow;

    if (next_insn(c))
        fail(c, "%lu of %lu instructions", (unsigned long)c->traced,
             (unsigned long)f->traced_count);
    for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = c->next[kinds[k]]; i < f->event_count; i++)
            if (is_next(c, &f->events[i], kinds[k]))
                fail(c, "event of kind %d at %lu is missing", (int)kinds[k],
                     (unsigned long)f->events[i].position);
}

static void decode(struct checker *c, const struct etmv3_encoder_options *o)
{
    const struct random_etmv3 *f = c->flow;
    const ocsd_etmv3_cfg config = {.reg_idr = o->etmidr,
                                   .reg_ctrl = o->etmcr,
                                   .reg_ccer = o->etmccer,
                                   .reg_trc_id = 0x10,
                                   .arch_ver = ARCH_V7,
                                   .core_prof = o->m_profile ? profile_CortexM : profile_CortexA};
    dcd_tree_handle_t tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
    unsigned char id;
    uint32_t done = 0;

    if (tree == C_API_INVALID_TREE_HANDLE)
        return fail(c, "no decode tree");
    if (ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV3, OCSD_CREATE_FLG_FULL_DECODER, &config,
                               &id) != OCSD_OK ||
        ocsd_dt_add_callback_mem_acc(tree, 0, 0xffffffff, OCSD_MEM_SPACE_ANY, read_memory, f) !=
            OCSD_OK ||
        ocsd_dt_set_gen_elem_outfn(tree, take_element, c) != OCSD_OK)
        fail(c, "decode tree refuses its configuration");
    else if (OCSD_DATA_RESP_IS_FATAL(ocsd_dt_process_data(
                 tree, OCSD_OP_DATA, 0, (uint32_t)f->trace.size, f->trace.data, &done)))
        fail(c, "fatal error at byte %u of %lu", done, (unsigned long)f->trace.size);
    else
        ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, &done);
    ocsd_destroy_dcd_tree(tree);
}

/* One combination of options. */
struct combination {
    const char *name;
    uint32_t etmcr;
    uint32_t etmidr;
    uint32_t etmccer;
    void (*adjust)(struct random_etmv3_options *o, uint64_t seed);
};

static void adjust_a32(struct random_etmv3_options *o, uint64_t seed)
{
    (void)seed;
    o->t32 = false;
}

static void adjust_t32(struct random_etmv3_options *o, uint64_t seed)
{
    (void)seed;
    o->a32 = false;
}

/* Exceptions that cancel, and nothing that could stand in front of their packet. */
static void adjust_cancels(struct random_etmv3_options *o, uint64_t seed)
{
    o->cancels = 60;
    o->exceptions = 40;
    o->encoder.sync_period = 0;
    o->encoder.packing = (enum etmv3_packing)(seed % 3);
    o->timestamps = o->triggers = o->syncs = o->flushes = 0;
}

static void adjust_long_form(struct random_etmv3_options *o, uint64_t seed)
{
    o->encoder.longer_percent = 40;
    o->encoder.ignore_percent = 10;
    o->encoder.isync_delay = 5;
    o->encoder.sync_period = 200;
    o->encoder.packing = (enum etmv3_packing)(seed % 3);
}

static void adjust_late(struct random_etmv3_options *o, uint64_t seed)
{
    adjust_long_form(o, seed);
    o->encoder.packing = ETMV3_PACK_RANDOM;
    o->encoder.late_percent = 50;
    o->encoder.count_percent = 50;
    o->encoder.count_delay = 10;
    o->encoder.gap_cycles = 300;
}

static void adjust_inline(struct random_etmv3_options *o, uint64_t seed)
{
    /* Those that have no code of their own could not be seen to cancel. */
    adjust_cancels(o, seed);
    o->cancels = 0;
}

static void adjust_stress(struct random_etmv3_options *o, uint64_t seed)
{
    adjust_long_form(o, seed);
    o->exceptions = 60;
    o->back_to_back = 50;
    o->debugs = 10;
    o->filters = 10;
    o->overflows = 10;
}

static void adjust_security(struct random_etmv3_options *o, uint64_t seed)
{
    adjust_long_form(o, seed);
    o->exceptions = 30;
    o->security = true;
    o->hyp = true;
}

#define V(minor) ETMV3_IDR_MINOR(ETMV3_IDR_A7, minor)
#define ALT      (ETMV3_IDR_A7 | ETMV3_IDR_ALTERNATIVE)
#define CA       ETMV3_CR_CYCLE_ACCURATE
#define NARROW   (ETMV3_CCER_A7 & ~ETMV3_CCER_TIMESTAMP_64)

static const struct combination combinations[] = {
    {"plain", 0, ETMV3_IDR_A7, ETMV3_CCER_A7, NULL},
    {"A32 only", 0, ETMV3_IDR_A7, ETMV3_CCER_A7, adjust_a32},
    {"T32 only", 0, ETMV3_IDR_A7, ETMV3_CCER_A7, adjust_t32},
    {"v3.4", 0, V(4), ETMV3_CCER_A7, NULL},
    {"v3.3", CA, V(3), ETMV3_CCER_A7, NULL},
    {"v3.2", CA, V(2), ETMV3_CCER_A7, NULL},
    {"alternative branch encoding", 0, ALT, ETMV3_CCER_A7, adjust_long_form},
    {"canceling exceptions", 0, ETMV3_IDR_A7, ETMV3_CCER_A7, adjust_cancels},
    {"canceling exceptions, alternative", 0, ALT, ETMV3_CCER_A7, adjust_cancels},
    {"M profile", 0, ETMV3_IDR_M4, ETMV3_CCER_A7, adjust_long_form},
    {"M profile, canceling exceptions", 0, ETMV3_IDR_M4, ETMV3_CCER_A7, adjust_cancels},
    {"cycle-accurate", CA, ETMV3_IDR_A7, ETMV3_CCER_A7, NULL},
    {"cycle-accurate, canceling exceptions", CA, ETMV3_IDR_A7, ETMV3_CCER_A7, adjust_cancels},
    {"branch broadcast", ETMV3_CR_BROADCAST, ETMV3_IDR_A7, ETMV3_CCER_A7, adjust_long_form},
    {"context ID 1 byte", ETMV3_CR_CONTEXT_ID(1), ETMV3_IDR_A7, ETMV3_CCER_A7, NULL},
    {"context ID 2 bytes", ETMV3_CR_CONTEXT_ID(2), ETMV3_IDR_A7, ETMV3_CCER_A7, NULL},
    {"context ID 4 bytes, VMID", ETMV3_CR_CONTEXT_ID(3) | ETMV3_CR_VMID, ETMV3_IDR_A7,
     ETMV3_CCER_A7, adjust_long_form},
    {"timestamps 64 bits", ETMV3_CR_TIMESTAMP, ETMV3_IDR_A7, ETMV3_CCER_A7, NULL},
    {"timestamps 48 bits", ETMV3_CR_TIMESTAMP | CA, ETMV3_IDR_A7, NARROW, adjust_long_form},
    {"late packets", ETMV3_CR_TIMESTAMP | CA, ETMV3_IDR_A7, NARROW, adjust_late},
    {"in-line exceptions", 0, V(1), 0, adjust_inline},
    {"cycle-accurate v3.1", CA, V(1), 0, adjust_inline},
    {"security and Hyp changes", ETMV3_CR_CONTEXT_ID(3), ETMV3_IDR_A7, ETMV3_CCER_A7,
     adjust_security},
    {"everything",
     ETMV3_CR_TIMESTAMP | CA | ETMV3_CR_CONTEXT_ID(3) | ETMV3_CR_VMID | ETMV3_CR_BROADCAST,
     ETMV3_IDR_A7, ETMV3_CCER_A7, adjust_stress},
};

static void set_options(struct random_etmv3_options *o, const struct combination *k, uint64_t seed)
{
    random_etmv3_default_options(o);
    o->instructions = 2000;
    o->t32_vectors = seed % 3 == 0 && (k->etmidr >> 4 & 0xf) >= 2;
    o->no_it_blx = true;
    o->short_times = true;
    o->in_progress = 0;
    o->cancels = 0;
    o->no_preempted_returns = true;
    o->encoder.blx_packets = true;
    o->encoder.etmcr = k->etmcr;
    o->encoder.etmidr = k->etmidr;
    o->encoder.etmccer = k->etmccer;
    o->encoder.m_profile = k->etmidr == ETMV3_IDR_M4;
    if (k->adjust)
        k->adjust(o, seed);
}

static bool run_one(const struct combination *k, uint64_t seed, uint64_t *instructions)
{
    struct random_etmv3_options o;
    struct random_etmv3 f;
    struct checker c = {.flow = &f};

    set_options(&o, k, seed);
    c.check_cycles = (k->etmcr & CA) && o.encoder.count_percent == 0 && o.cancels == 0;
    c.in_line = (k->etmidr >> 4 & 0xf) < 2;
    int error = random_etmv3_init(&f, seed, &o);
    if (error)
        fail(&c, "no flow: error %d", error);
    else
        decode(&c, &o.encoder);
    check_end(&c);
    if (c.failed)
        printf("FAIL etmv3_encoder_opencsd: %s: seed %lu: %s\n", k->name, (unsigned long)seed,
               c.why);
    *instructions += c.traced;
    random_etmv3_release(&f);
    return !c.failed;
}

int main(void)
{
    int failures = 0;

    ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
    for (unsigned i = 0; i < sizeof combinations / sizeof combinations[0]; i++) {
        const struct combination *k = &combinations[i];
        uint64_t instructions = 0;
        int failed = 0;
        for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && !failed; seed++)
            failed = !run_one(k, seed, &instructions);
        if (!failed && instructions < SEEDS * 500) {
            printf("FAIL etmv3_encoder_opencsd: %s: only %lu instructions\n", k->name,
                   (unsigned long)instructions);
            failed = 1;
        }
        if (!failed)
            printf("PASS etmv3_encoder_opencsd: %s\n", k->name);
        failures += failed;
    }
    return failures != 0;
}
