/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/bench_opencsd.h"

#include <opencsd/c_api/opencsd_c_api.h>
#include <stdlib.h>

#define CHUNK 65536u /* bytes a call; more would not fit its 32-bit index for ever */

struct bench_opencsd {
    dcd_tree_handle_t tree;
    struct bench_counts counts;
    ocsd_trc_index_t index;
};

static ocsd_datapath_resp_t take_element(const void *context, const ocsd_trc_index_t index,
                                         const uint8_t id, const ocsd_generic_trace_elem *e)
{
    struct bench_counts *counts = (struct bench_counts *)context;
    (void)index;
    (void)id;
    if (e->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE) {
        counts->blocks++;
        counts->instructions += e->num_instr_range;
    }
    return OCSD_RESP_CONT;
}

static ocsd_datapath_resp_t take_packet(const void *context, const ocsd_datapath_op_t op,
                                        const ocsd_trc_index_t index, const void *packet)
{
    struct bench_counts *counts = (struct bench_counts *)context;
    (void)index;
    (void)packet;
    counts->packets += op == OCSD_OP_DATA;
    return OCSD_RESP_CONT;
}

/* One row a protocol that OpenCSD knows, too. */
struct ocsd_protocol {
    enum stream_protocol protocol;
    const char *decoder;
    void (*configure)(const struct bench_stream *s, void *config);
};

union ocsd_config {
    ocsd_ptm_cfg ptm;
    ocsd_etmv3_cfg etmv3;
    ocsd_etmv4_cfg etmv4;
};

static void configure_ptm(const struct bench_stream *s, void *config)
{
    *(ocsd_ptm_cfg *)config = (ocsd_ptm_cfg){.reg_idr = s->etmidr,
                                             .reg_ctrl = s->etmcr,
                                             .reg_ccer = s->etmccer,
                                             .reg_trc_id = s->etmtraceidr,
                                             .arch_ver = ARCH_V7,
                                             .core_prof = profile_CortexA};
}

static void configure_etmv3(const struct bench_stream *s, void *config)
{
    *(ocsd_etmv3_cfg *)config =
        (ocsd_etmv3_cfg){.reg_idr = s->etmidr,
                         .reg_ctrl = s->etmcr,
                         .reg_ccer = s->etmccer,
                         .reg_trc_id = s->etmtraceidr,
                         .arch_ver = ARCH_V7,
                         .core_prof = s->m_profile ? profile_CortexM : profile_CortexA};
}

static void configure_etmv4(const struct bench_stream *s, void *config)
{
    *(ocsd_etmv4_cfg *)config =
        (ocsd_etmv4_cfg){.reg_idr0 = s->etmv4.idr[0],
                         .reg_idr1 = s->etmv4.idr[1],
                         .reg_idr2 = s->etmv4.idr[2],
                         .reg_idr8 = s->etmv4.idr[8],
                         .reg_configr = s->etmv4.configr,
                         .reg_traceidr = s->etmv4.traceidr,
                         .arch_ver = ARCH_V8,
                         .core_prof = s->m_profile ? profile_CortexM : profile_CortexA};
}

static const struct ocsd_protocol protocols[] = {
    {STREAM_PTM, OCSD_BUILTIN_DCD_PTM, configure_ptm},
    {STREAM_ETMV3, OCSD_BUILTIN_DCD_ETMV3, configure_etmv3},
    {STREAM_ETMV4, OCSD_BUILTIN_DCD_ETMV4I, configure_etmv4},
};

/* OpenCSD refuses a region that overlaps an earlier one, which is the one that counts for us, too;
 * and one of an odd size, whose last byte is of no instruction. */
static bool add_code(struct bench_opencsd *o, const struct code_image *image)
{
    size_t added = 0;
    for (size_t i = 0; i < image->count; i++) {
        const struct code_region *r = &image->regions[i];
        uint32_t size = (uint32_t)r->size & ~1u;
        if (!size)
            continue;
        ocsd_err_t error =
            ocsd_dt_add_buffer_mem_acc(o->tree, r->address, OCSD_MEM_SPACE_ANY, r->bytes, size);
        if (error != OCSD_OK && error != OCSD_ERR_MEM_ACC_OVERLAP)
            return false;
        added += error == OCSD_OK;
    }
    return added > 0;
}

static bool create_decoder(struct bench_opencsd *o, const struct bench_stream *s, bool full)
{
    const struct ocsd_protocol *p = NULL;
    union ocsd_config config;
    unsigned char id;
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (protocols[i].protocol == s->config.protocol)
            p = &protocols[i];
    if (!p)
        return false;
    p->configure(s, &config);
    int flags = full ? OCSD_CREATE_FLG_FULL_DECODER : OCSD_CREATE_FLG_PACKET_PROC;
    if (ocsd_dt_create_decoder(o->tree, p->decoder, flags, &config, &id) != OCSD_OK)
        return false;
    if (full)
        return add_code(o, s->image) &&
               ocsd_dt_set_gen_elem_outfn(o->tree, take_element, &o->counts) == OCSD_OK;
    return ocsd_dt_attach_packet_callback(o->tree, id, OCSD_C_API_CB_PKT_SINK,
                                          (void *)(uintptr_t)take_packet, &o->counts) == OCSD_OK;
}

static struct bench_opencsd *new_tree(ocsd_dcd_tree_src_t source, uint32_t flags)
{
    struct bench_opencsd *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->tree = ocsd_create_dcd_tree(source, flags);
    if (o->tree != C_API_INVALID_TREE_HANDLE)
        return o;
    free(o);
    return NULL;
}

struct bench_opencsd *bench_opencsd_new(const struct bench_stream *s, bool full)
{
    ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
    struct bench_opencsd *o = new_tree(OCSD_TRC_SRC_SINGLE, 0);
    if (o && !create_decoder(o, s, full)) {
        bench_opencsd_free(o);
        return NULL;
    }
    return o;
}

struct bench_opencsd *bench_opencsd_new_frames(bool sync)
{
    ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
    uint32_t flags =
        sync ? OCSD_DFRMTR_HAS_FSYNCS | OCSD_DFRMTR_HAS_HSYNCS : OCSD_DFRMTR_FRAME_MEM_ALIGN;
    return new_tree(OCSD_TRC_SRC_FRAME_FORMATTED, flags);
}

void bench_opencsd_free(struct bench_opencsd *o)
{
    if (!o)
        return;
    ocsd_destroy_dcd_tree(o->tree);
    free(o);
}

static bool feed_unit(struct bench_opencsd *o, const uint8_t *data, size_t size)
{
    while (size > 0) {
        uint32_t done = 0;
        uint32_t len = size < CHUNK ? (uint32_t)size : CHUNK;
        ocsd_datapath_resp_t r =
            ocsd_dt_process_data(o->tree, OCSD_OP_DATA, o->index, len, data, &done);
        if (OCSD_DATA_RESP_IS_FATAL(r) || done == 0)
            return false;
        o->index += done;
        data += done;
        size -= done;
    }
    return true;
}

bool bench_opencsd_feed(struct bench_opencsd *o, const uint8_t *data, size_t size, size_t unit)
{
    uint32_t done;
    if (!unit)
        unit = size;
    for (size_t at = 0; at < size; at += unit) {
        if (!feed_unit(o, data + at, size - at < unit ? size - at : unit))
            return false;
        if (at + unit < size)
            ocsd_dt_process_data(o->tree, OCSD_OP_RESET, o->index, 0, NULL, &done);
    }
    ocsd_dt_process_data(o->tree, OCSD_OP_EOT, o->index, 0, NULL, &done);
    return true;
}

const struct bench_counts *bench_opencsd_counts(const struct bench_opencsd *o)
{
    return &o->counts;
}

const char *bench_opencsd_version(void)
{
    return ocsd_get_version_str();
}
