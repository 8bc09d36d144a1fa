/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of an SWJ-DP at the level of its pins: one call is one clock of SWCLK/TCK. Implements
 * IHI 0031F part B and chapter C2: SWD and JTAG, the switching sequences (with dormant), DPv1 and
 * DPv2 registers, sticky errors, overrun detection, and up to four MEM-APs. It is strict where
 * clients like to be careless: after a line reset SELECT holds nonsense, an access before power-up
 * is a fault, and a request that it cannot accept silences it until the next line reset.
 */
#ifndef TESTS_USB_DAP_MODEL_H
#define TESTS_USB_DAP_MODEL_H

#include "ap_model.h"

#define DAP_APS 4

#define DP_ABORT     0x0 /* write */
#define DP_DPIDR     0x0 /* read */
#define DP_CTRL_STAT 0x4
#define DP_SELECT    0x8 /* write */
#define DP_RESEND    0x8 /* read */
#define DP_RDBUFF    0xc /* read */
#define DP_TARGETSEL 0xc /* write */

#define DP_CS_ORUNDETECT (1u << 0)
#define DP_CS_STICKYORUN (1u << 1)
#define DP_CS_STICKYCMP  (1u << 4)
#define DP_CS_STICKYERR  (1u << 5)
#define DP_CS_READOK     (1u << 6)
#define DP_CS_WDATAERR   (1u << 7)
#define DP_CS_POWER_REQ  0x50000000u /* CSYSPWRUPREQ | CDBGPWRUPREQ */
#define DP_CS_POWER_ACK  0xa0000000u

enum dap_ack {
    DAP_ACK_OK = 1,
    DAP_ACK_WAIT = 2,
    DAP_ACK_FAULT = 4,
    DAP_ACK_NONE = 7, /* nobody drives the line */
};

enum dap_wire {
    DAP_WIRE_JTAG,
    DAP_WIRE_SWD,
    DAP_WIRE_DORMANT,
};

struct dap_options {
    uint32_t dpidr;    /* [15:12] DP version */
    uint32_t idcode;   /* of the JTAG TAP */
    uint32_t targetid; /* DPv2; 0: TARGETID reads 0, TARGETSEL selects nothing */
    uint8_t instance;  /* DPv2: TINSTANCE */
    enum dap_wire wire;
    unsigned power_reads;   /* reads of CTRL/STAT until the power-up is acknowledged */
    bool no_system_powerup; /* CSYSPWRUPACK never comes */
    bool swd_only;          /* no JTAG TAP behind the pins */
};

/* What goes wrong next. Each counts down as it happens; 0: not. */
struct dap_faults {
    unsigned wait;   /* AP accesses and RDBUFF reads that answer WAIT */
    unsigned fault;  /* AP accesses to memory that become bus errors */
    unsigned parity; /* SWD reads with a wrong parity bit */
    unsigned no_ack; /* SWD requests that nobody answers; then a line reset is needed */
    unsigned skip;   /* accesses to let pass before any of the above */
};

/* What the client did; tests judge it by these. */
struct dap_counters {
    unsigned accesses; /* that were accepted, DP and AP */
    unsigned ap_accesses;
    unsigned waits;
    unsigned faults;
    unsigned line_resets;
    unsigned bad_requests; /* start, stop, park or parity bit wrong */
    unsigned ignored;      /* requests while silent */
    unsigned contention;   /* clocks in which both ends drove SWDIO */
    unsigned write_parity; /* data with a wrong parity bit */
    unsigned unpowered;    /* AP accesses before power-up */
    unsigned jtag_waits;
};

/* The serial engine of SW-DP; private. */
struct dap_swd {
    unsigned state;
    unsigned count; /* clocks left in, or bits seen of, the state */
    uint64_t bits;
    unsigned request;
    unsigned ack;
    bool need_dpidr;
    unsigned turnround; /* clocks */
};

/* The TAP of JTAG-DP; private. */
struct dap_jtag {
    unsigned state;
    unsigned ir;
    unsigned ir_shift;
    uint64_t dr;
    unsigned dr_length;
    uint32_t result; /* of the latest transfer */
    bool wait;       /* the scan that is shifted was answered WAIT */
};

/* Recognises the switching sequences; private. */
struct dap_switch {
    uint64_t history[3]; /* the latest 192 bits, [0] bit 63 is the newest */
    unsigned ones;       /* 1 bits in a row, up to now */
    unsigned activation; /* clocks since the alert sequence, 0: none */
    unsigned code;
};

/* All fields but options, faults and counters are private. Nothing to release. */
struct dap_model {
    struct dap_options options;
    struct dap_faults faults;
    struct dap_counters counters;
    bool dark; /* no power: it drives nothing and notices nothing */
    struct ap_model *ap[DAP_APS];
    enum dap_wire wire;
    uint32_t ctrl_stat;
    uint32_t select;
    uint32_t ap_result; /* what the next posted read or RDBUFF returns */
    uint32_t resend;
    uint32_t dlcr;
    unsigned power_countdown;
    struct dap_swd swd;
    struct dap_jtag jtag;
    struct dap_switch sw;
};

/* Copies the options. ap[] may be filled in afterwards; NULL: no AP there (IDR 0). */
void dap_model_init(struct dap_model *d, const struct dap_options *options);

/*
 * One clock with SWDIO: `drive` and `bit` are the host's side. Returns the level that the host
 * samples in this clock; an undriven line is high.
 */
unsigned dap_swd_clock(struct dap_model *d, bool drive, unsigned bit);

/* One clock of JTAG. Returns TDO as the host samples it on the rising edge; 1 when not driven. */
unsigned dap_jtag_clock(struct dap_model *d, unsigned tms, unsigned tdi);

/* SWDIO as the target leaves it between two clocks: its level, 1 when it does not drive. */
unsigned dap_swd_line(const struct dap_model *d);

/* TDO behind a falling edge of TCK; 1 when not driven. */
unsigned dap_jtag_tdo(const struct dap_model *d);

/* The target loses its power: everything is as after init, also the wire; faults stay. */
void dap_model_power_cycle(struct dap_model *d);

/* Its power goes; when it comes everything is as above. */
void dap_model_power(struct dap_model *d, bool on);

/* Inside the model: dap_dp.c for dap_swd.c and dap_jtag.c */

/* An access as the serial engines see it. `jtag`: sticky flags do not show in the answer. */
enum dap_ack dap_dp_check(struct dap_model *d, bool ap, bool read, unsigned reg, bool jtag);
uint32_t dap_dp_read(struct dap_model *d, bool ap, unsigned reg, bool jtag);
void dap_dp_write(struct dap_model *d, bool ap, unsigned reg, uint32_t value, bool jtag);
bool dap_dp_sticky(const struct dap_model *d);
void dap_dp_line_reset(struct dap_model *d);

/* Looks at one bit of TMS/SWDIO and changes d->wire when a sequence is complete. */
void dap_switch_bit(struct dap_model *d, unsigned bit);
void dap_jtag_reset(struct dap_model *d);
void dap_swd_reset(struct dap_model *d);

#endif
