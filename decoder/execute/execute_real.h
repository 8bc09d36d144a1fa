/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of floating-point numbers as the architecture's pseudocode has it (DDI 0406C.d A2.7,
 * A2.7.7; DDI 0403E.e A2.5; Arm DDI 0487L.a J1.3): NaNs that go in, default NaNs, flush to zero.
 * Rounding is that of this machine's own arithmetic, in the direction that FPSCR or FPCR asks for.
 */
#ifndef DECODER_EXECUTE_REAL_H
#define DECODER_EXECUTE_REAL_H

#include <stdbool.h>
#include <stdint.h>

/* A number as bits; of half precision (by real_convert alone), single (`wide` false) or double. */
struct real {
    uint64_t bits;
    bool known;
};

enum real_rounding { REAL_NEAREST, REAL_UP, REAL_DOWN, REAL_TO_ZERO, REAL_AWAY };

/* What FPSCR or FPCR asks for, if that is known. */
struct real_mode {
    bool known, defaults, flush, alternative; /* DN, FZ, AHP */
    uint8_t rounding;                         /* one of the first four */
};

struct real_mode real_mode_of(uint32_t fpscr);

enum real_op {
    REAL_ADD,
    REAL_SUB,
    REAL_MUL,
    REAL_DIV,
    REAL_MAX,
    REAL_MIN,
    REAL_MAX_NUMBER, /* rather than a quiet NaN */
    REAL_MIN_NUMBER,
};

struct real real_combine(struct real_mode mode, enum real_op op, struct real a, struct real b,
                         bool wide);
/* a * b + c, rounded once. */
struct real real_fused(struct real_mode mode, struct real a, struct real b, struct real c,
                       bool wide);
struct real real_root(struct real_mode mode, struct real a, bool wide);
struct real real_negate(struct real a, bool wide);
struct real real_round(struct real_mode mode, struct real a, bool wide, enum real_rounding how);

/* From 16, 32 or 64 bits to another of them. */
struct real real_convert(struct real_mode mode, struct real a, unsigned from, unsigned to);

/* N, Z, C and V in bits 31 to 28. */
uint32_t real_compare(struct real_mode mode, struct real a, struct real b, bool wide);

/* Integers of up to 64 bits with `fraction` bits behind the point; what does not fit is saturated,
 * and a sign is extended to 64 bits. */
struct real_integer {
    bool is_signed;
    uint8_t bits, fraction;
};
struct real real_to_integer(struct real_mode mode, struct real a, bool wide, struct real_integer to,
                            enum real_rounding how);
struct real real_from_integer(struct real_mode mode, struct real a, struct real_integer from,
                              bool wide);

#endif
