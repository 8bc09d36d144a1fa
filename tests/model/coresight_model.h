/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of the debug and trace side of a Cortex-M system as its AHB-AP sees it (DDI 0403E.e
 * chapter C1, DDI 0314H, DDI 0461B, IHI 0014Q chapter 3, IHI 0064H.b chapter 7): ROM tables, SCS,
 * DWT, FPB, ITM, TPIU, ETM, ETB or TMC. Everything outside the private peripheral bus is the core's
 * memory. It is strict: software locks hold, registers ignore writes in states in which hardware
 * does, and bits that hardware changes later are not yet changed at the first look.
 *
 * A Cortex-M3 or M4 has FPB v1 and an ETMv3, an M7 FPB v2 and an ETMv4, an M33 the DWT and FPB of
 * v8-M and an ETMv4, an M0+ four breakpoints and two watchpoints, and nothing to trace with but an
 * MTB. Debug of both security states of an M33 is allowed.
 */
#ifndef TESTS_USB_CORESIGHT_MODEL_H
#define TESTS_USB_CORESIGHT_MODEL_H

#include "core_model.h"
#include "etm4_model.h"
#include "model_bus.h"
#include "mtb_model.h"
#include "ring_model.h"
#include "sink_model.h"
#include "trace_pins.h"

#define CS_ITM  0xe0000000u
#define CS_DWT  0xe0001000u
#define CS_FPB  0xe0002000u
#define CS_SCS  0xe000e000u
#define CS_TPIU 0xe0040000u
#define CS_ETM  0xe0041000u
#define CS_ETB  0xe0043000u
#define CS_MTB  CS_ETB      /* in its place */
#define CS_TOP  0xe00fe000u /* of a Cortex-M7: the table that leads to CS_ROM */
#define CS_ROM  0xe00ff000u

#define CS_FPB_CODE    6 /* of v1 */
#define CS_FPB_ALL     8
#define CS_DWT_COUNT   4
#define CS_ETB_WORDS   1024u /* unless the board says something else */
#define CS_ETB_MAX     SINK_WORDS_MAX
#define CS_ETM_WORDS   0x84
#define CS_TRACE_CLOCK TRACE_PINS_CLOCK

struct cs_scs {
    uint32_t dhcsr; /* the control bits */
    uint32_t dcrdr;
    uint32_t demcr;
    uint32_t dfsr;
    unsigned regrdy_reads; /* reads of DHCSR until S_REGRDY */
    bool reset_st;
    bool retire_st;
    bool halted;
};

enum cs_kind {
    CS_BY_CPUID,
    CS_M3,
    CS_M4,
    CS_M7,
    CS_M33,
    CS_M0, /* plus */
};

struct cs_etm {
    uint32_t reg[CS_ETM_WORDS];
    unsigned prog_reads; /* reads of ETMSR until bit 1 follows ETMCR */
    bool prog;
    bool locked;
};

struct cs_tpiu {
    uint32_t cspsr, acpr, sppr, ffcr; /* no software lock on a Cortex-M */
};

struct cs_itm {
    uint32_t ter, tpr, tcr;
    bool locked;
};

/* What the client did against the rules. */
struct cs_counters {
    unsigned locked_writes;    /* to a component whose lock was on */
    unsigned ignored_writes;   /* in a state that does not allow them */
    unsigned sub_word;         /* byte or halfword accesses to the private peripheral bus */
    unsigned bad_key;          /* DHCSR or AIRCR without their key */
    unsigned maskints_races;   /* C_MASKINTS changed in the write that clears C_HALT */
    unsigned running_accesses; /* DCRSR while the core runs */
    unsigned untraced;         /* accesses to trace components with TRCENA off */
    unsigned resets;
};

/* Fields are for tests to look at; only the counters may be written. */
struct coresight_model {
    struct core_model core;
    struct core_trace trace; /* as the core was told */
    enum cs_kind kind;       /* never CS_BY_CPUID */
    bool never_halts;        /* S_HALT stays 0 whatever it is told: tests may write it */
    bool closed;             /* v8-M: for Secure debug; tests may write it */
    bool registers_at_once;  /* S_REGRDY is there when a probe looks, as with most boards */
    struct cs_scs scs;
    struct sink_model etb; /* words 0: the board has none; its counters are in those below */
    struct cs_etm etm;
    struct etm4_model etm4_unit; /* of an M7 or M33 */
    struct mtb_model mtb;        /* instead of trace unit and ETB */
    struct ring_model ring;      /* instead of the ETB */
    struct cs_tpiu tpiu;
    struct cs_itm itm;
    uint32_t fp_ctrl;
    uint32_t fp_comp[CS_FPB_ALL];
    uint32_t fp_set[CS_FPB_ALL]; /* address of the breakpoint that the core has; 1: none */
    uint32_t dwt_ctrl, dwt_cyccnt;
    uint32_t dwt_comp[CS_DWT_COUNT], dwt_mask[CS_DWT_COUNT], dwt_function[CS_DWT_COUNT];
    bool dwt_matched[CS_DWT_COUNT], dwt_set[CS_DWT_COUNT];
    uint32_t cpuid;    /* of a core that only calls itself so; 0: its own */
    bool resets_trace; /* a reset is one of ETM, ITM, TPIU and ETB, too */
    bool etm4;         /* an M3's or M4's trace unit says that it is an ETMv4 */
    struct cs_counters counters;
    struct frame_builder frames;
    struct trace_bytes framed; /* not yet in the ETB or on the pins */
    bool parallel;             /* the pins of the parallel port are wired, too */
    bool swo_quiet;            /* the idle pin rests; it is not certain that it does */
    struct trace_pins pins;    /* SWO, or those of the parallel port: one at a time */
};

/*
 * core.ops and its context must outlive the model. Release frees what init took. The kind is that
 * of the core's CPUID, an M4 if that is none of these.
 */
void coresight_model_init(struct coresight_model *m, const struct core_model *core);
void coresight_model_release(struct coresight_model *m);

/* Another kind of system around a core that does not tell; `pairs`: see etm4_options. */
void coresight_model_become(struct coresight_model *m, enum cs_kind kind, unsigned pairs);

/* Another size of the ETB, up to CS_ETB_MAX words, or 0 for a board without one; or a TMC.
 * 0 or -1. */
int coresight_model_set_etb(struct coresight_model *m, uint32_t words, bool tmc);

/* What the MEM-AP has: BASE and IDR, and the span of its increment. */
uint32_t coresight_model_base(const struct coresight_model *m);
uint32_t coresight_model_ap(const struct coresight_model *m, uint32_t *span);

/* A fault of the trace unit by name, as umock_options_usage has them. 0, or -1: there is none. */
int coresight_model_fault(struct coresight_model *m, const char *name, size_t size, unsigned value);

/* The system as the MEM-AP sees it; valid as long as `m`. */
struct model_bus coresight_model_bus(struct coresight_model *m);

/* nRESET pin or SYSRESETREQ. */
void coresight_model_reset(struct coresight_model *m);

/* The power of the chip: off the core stands; it begins anew with all registers as after init. */
void coresight_model_power(struct coresight_model *m, bool on);

/* Lets trace flow from the core into the sink that is armed. Every bus access does this too. */
void coresight_model_run(struct coresight_model *m);

/* Takes up to `size` bytes that left on the SWO pin; returns how many. */
size_t coresight_model_swo(struct coresight_model *m, uint8_t *bytes, size_t size);

/*
 * The same of whichever port is selected, SWO or parallel (DDI 0403E.e C1.10). Each of
 * CS_TRACE_CLOCK edges a second carries as many bits as the parallel port is wide.
 */
size_t coresight_model_pins(struct coresight_model *m, uint8_t *bytes, size_t size);

/* Width of the parallel port in bits; 0 while the port is SWO. */
unsigned coresight_model_width(const struct coresight_model *m);

/* Offsets are within the component. */
uint32_t cs_scs_read(struct coresight_model *m, unsigned offset);
void cs_scs_write(struct coresight_model *m, unsigned offset, uint32_t value);
void cs_scs_poll(struct coresight_model *m);
void cs_scs_reset(struct coresight_model *m);
void cs_scs_power(struct coresight_model *m, bool on);
uint32_t cs_fpb_read(struct coresight_model *m, unsigned offset);
void cs_fpb_write(struct coresight_model *m, unsigned offset, uint32_t value);
uint32_t cs_dwt_read(struct coresight_model *m, unsigned offset);
void cs_dwt_write(struct coresight_model *m, unsigned offset, uint32_t value);
void cs_breakpoints_apply(struct coresight_model *m);
/* The core has none of the breakpoints any more, and the registers are those of a
 * chip that starts. */
void cs_breakpoints_clear(struct coresight_model *m);
/* An MTB instead of the trace unit and the ETB. */
void coresight_model_set_mtb(struct coresight_model *m);

/* Trace goes into memory, in place of the ETB. */
void coresight_model_set_ring(struct coresight_model *m);

uint32_t cs_etb_read(struct coresight_model *m, unsigned offset);
void cs_etb_write(struct coresight_model *m, unsigned offset, uint32_t value);
bool cs_etb_capturing(const struct coresight_model *m);
uint32_t cs_etm_read(struct coresight_model *m, unsigned offset);
void cs_etm_write(struct coresight_model *m, unsigned offset, uint32_t value);
void cs_etm_reset(struct coresight_model *m);
bool cs_etm_tracing(const struct coresight_model *m);
uint8_t cs_etm_trace_id(const struct coresight_model *m);
bool cs_is_v4(const struct coresight_model *m);
uint32_t cs_tpiu_read(struct coresight_model *m, unsigned offset);
void cs_tpiu_write(struct coresight_model *m, unsigned offset, uint32_t value);
uint32_t cs_itm_read(struct coresight_model *m, unsigned offset);
void cs_itm_write(struct coresight_model *m, unsigned offset, unsigned size, uint32_t value);

/* Identification registers 0xfd0..0xffc of the component at `base`; DEVARCH, DEVTYPE of some. */
uint32_t cs_identification(const struct coresight_model *m, uint32_t base, unsigned offset);
bool cs_names_itself(const struct coresight_model *m, uint32_t base, unsigned offset);

/* Entry of the ROM table at `base`. */
uint32_t cs_rom_read(const struct coresight_model *m, uint32_t base, unsigned index);

/* LAR and LSR. True when the offset was one of them. */
bool cs_lock_write(bool *locked, unsigned offset, uint32_t value);

/* Raw bytes onto the SWO pin or the parallel port, whichever is selected. */
void cs_swo_put(struct coresight_model *m, const uint8_t *bytes, size_t size);
/* Another port was selected: what nobody took is gone. */
void cs_swo_clear(struct coresight_model *m);

#endif
