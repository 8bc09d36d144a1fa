/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_sample.h"
#include "tests/support/random_next.h"

#include <stdlib.h>
#include <string.h>

static int take_code(struct random_sample *s, const struct random_flow_region *regions,
                     size_t count)
{
    int error = BT_OK;
    for (size_t i = 0; i < count && !error; i++) {
        struct code_region r = {
            .address = regions[i].address, .size = regions[i].size, .bytes = regions[i].bytes};
        error = code_image_add(&s->image, &r);
    }
    return error;
}

/* Bits turned over, bytes lost, doubled and put in: about one place in two kilobytes. */
static int take_bytes(struct random_sample *s, const struct trace_bytes *trace, uint64_t seed)
{
    unsigned places = random_pick(seed, 60, 2) * (1 + (unsigned)trace->size / 2048);
    s->size = trace->size;
    s->bytes = malloc(s->size + places);
    if (!s->bytes)
        return BT_ERR_NOMEM;
    memcpy(s->bytes, trace->data, s->size);
    for (unsigned i = 0; i < places; i++) {
        size_t at = random_pick(seed + i, 61, (unsigned)s->size - 1);
        uint8_t *p = s->bytes + at;
        switch (random_pick(seed + i, 62, 4)) {
        case 0:
            *p ^= (uint8_t)(1u << random_pick(seed + i, 63, 8));
            break;
        case 1:
            memmove(p, p + 1, --s->size - at);
            break;
        default: /* the byte that is there once more, or another one */
            memmove(p + 1, p, s->size++ - at);
            *p ^= (uint8_t)(random_pick(seed + i, 63, 2) * random_pick(seed + i, 59, 256));
            break;
        }
    }
    return BT_OK;
}

static int ptm_sample(struct random_sample *s, uint64_t seed)
{
    struct random_flow *f = &s->ptm;
    struct random_flow_options o;
    random_flow_default_options(&o);
    o.instructions = 20000;
    o.encoder.etmccer |= PTM_CCER_TIMESTAMP | PTM_CCER_RETURN_STACK;
    o.encoder.etmcr |= PTM_CR_CONTEXT_ID(random_pick(seed, 0, 4));
    o.encoder.etmcr |= random_pick(seed, 1, 2) ? PTM_CR_CYCLE_ACCURATE : 0;
    o.encoder.etmcr |= random_pick(seed, 2, 2) ? PTM_CR_TIMESTAMP : 0;
    o.encoder.etmcr |= random_pick(seed, 3, 3) ? PTM_CR_RETURN_STACK : 0;
    o.encoder.sync_period = 64 + random_pick(seed, 4, 1500);
    int error = random_flow_init(f, seed, &o);
    if (error)
        return error;
    error = ptm_config_from_regs(&s->config.ptm, o.encoder.etmcr, o.encoder.etmidr,
                                 o.encoder.etmccer, 0x10);
    if (!error)
        error = take_code(s, f->regions, f->region_count);
    return error ? error : take_bytes(s, &f->trace, seed);
}

static int etmv3_sample(struct random_sample *s, uint64_t seed)
{
    struct random_etmv3 *f = &s->etmv3;
    struct random_etmv3_options o;
    random_etmv3_default_options(&o);
    o.instructions = 12000;
    o.encoder.etmcr = ETMV3_CR_CONTEXT_ID(random_pick(seed, 0, 4));
    o.encoder.etmcr |= random_pick(seed, 1, 2) ? ETMV3_CR_CYCLE_ACCURATE : 0;
    o.encoder.etmcr |= random_pick(seed, 2, 3) ? 0 : ETMV3_CR_BROADCAST;
    o.encoder.sync_period = 64 + random_pick(seed, 4, 1500);
    int error = random_etmv3_init(f, seed, &o);
    if (error)
        return error;
    error = etmv3_config_from_regs(&s->config.etmv3, o.encoder.etmcr, o.encoder.etmidr,
                                   o.encoder.etmccer, 0x10);
    if (!error)
        error = take_code(s, f->regions, f->region_count);
    return error ? error : take_bytes(s, &f->trace, seed);
}

/* Units of both profiles and ETE, with and without speculation. */
static void etmv4_unit(uint64_t seed, struct random_etmv4_options *o)
{
    struct etmv4_encoder_options *e = &o->encoder;
    unsigned kind = random_pick(seed, 0, 4), states = 1 + random_pick(seed, 1, 7);
    e->m_profile = kind == 0;
    e->devarch = kind == 1 ? 0x47735a13u : kind == 0 ? 0x47724a13u : 0x47754a13u;
    e->idr0 = 1u << 5 | ETMV4_IDR0_CYCLES | 1u << 9 | ETMV4_IDR0_COMMOPT | 8u << 24;
    e->idr0 |= kind == 1 && random_pick(seed, 2, 2) ? ETMV4_IDR0_MARKERS : 0;
    e->idr2 = kind == 0 ? 4 : 8 | 4u << 5 | 1u << 10;
    if (kind != 0 && random_pick(seed, 3, 2)) {
        e->idr8 = 1 + random_pick(seed, 4, random_pick(seed, 5, 2) ? 8 : 200);
        e->wrong_percent = random_pick(seed, 6, 3) * 10;
        e->mispredict_percent = random_pick(seed, 7, 3) * 10;
        e->commit_percent = random_pick(seed, 8, 3) * 20;
        e->idr0 &= random_pick(seed, 9, 2) ? ~ETMV4_IDR0_COMMOPT : UINT32_MAX;
    }
    o->a64 = kind != 0 && (states & 1);
    o->a32 = kind != 0 && (states & 2);
    o->t32 = kind == 0 || (states & 4);
    o->resets = kind == 1;
    o->software = kind == 1 ? 3 : 0;
}

static int etmv4_sample(struct random_sample *s, uint64_t seed)
{
    struct random_etmv4 *f = &s->etmv4;
    struct random_etmv4_options o;
    random_etmv4_default_options(&o);
    etmv4_unit(seed, &o);
    struct etmv4_encoder_options *e = &o.encoder;
    o.instructions = 12000;
    o.branches = 5 + random_pick(seed, 20, 50);
    o.discards = random_pick(seed, 21, 2);
    e->configr = 1 | (random_pick(seed, 22, 2) ? ETMV4_CONFIG_CYCLES : 0) |
                 (random_pick(seed, 23, 2) ? ETMV4_CONFIG_TIMESTAMP : 0) |
                 (random_pick(seed, 24, 4) ? ETMV4_CONFIG_RETURN_STACK : ETMV4_CONFIG_BROADCAST);
    if (!e->m_profile)
        e->configr |= random_pick(seed, 25, 4) ? ETMV4_CONFIG_CONTEXT_ID | ETMV4_CONFIG_VMID : 0;
    e->ccctlr = 4;
    e->return_stack_depth = 1 + random_pick(seed, 26, ETMV4_MODEL_STACK_MAX);
    e->sync_period = 64 + random_pick(seed, 27, 1500);
    e->source_percent = random_pick(seed, 28, 2) * 10;
    e->repeat_percent = random_pick(seed, 29, 2) * 20;
    e->zero_percent = 0;
    int error = random_etmv4_init(f, seed, &o);
    if (error)
        return error;
    struct etmv4_registers r = {.configr = e->configr, .traceidr = 0x10, .devarch = e->devarch};
    r.idr[0] = e->idr0;
    r.idr[2] = e->idr2;
    r.idr[8] = e->idr8;
    error = etmv4_config_from_regs(&s->config.etmv4, &r, e->m_profile);
    if (!error)
        error = take_code(s, f->regions, f->region_count);
    return error ? error : take_bytes(s, &f->trace, seed);
}

int random_sample_init(struct random_sample *s, enum stream_protocol protocol, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    code_image_init(&s->image);
    s->config.protocol = protocol;
    switch (protocol) {
    case STREAM_PTM:
        return ptm_sample(s, seed);
    case STREAM_ETMV3:
        return etmv3_sample(s, seed);
    case STREAM_ETMV4:
        return etmv4_sample(s, seed);
    default:
        return BT_ERR_INVAL;
    }
}

void random_sample_release(struct random_sample *s)
{
    if (s->config.protocol == STREAM_PTM)
        random_flow_release(&s->ptm);
    else if (s->config.protocol == STREAM_ETMV3)
        random_etmv3_release(&s->etmv3);
    else
        random_etmv4_release(&s->etmv4);
    code_image_release(&s->image);
    free(s->bytes);
    memset(s, 0, sizeof *s);
}
