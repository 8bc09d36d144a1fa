/* SPDX-License-Identifier: BSD-3-Clause */
#include "execute_real.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "float and double are not computed in their own precision");

#define FPSCR_ALTERNATIVE (1u << 26)
#define FPSCR_DEFAULTS    (1u << 25)
#define FPSCR_FLUSH       (1u << 24)

static const struct real unknown = {0, false};

struct real_mode real_mode_of(uint32_t fpscr)
{
    return (struct real_mode){.known = true,
                              .defaults = fpscr & FPSCR_DEFAULTS,
                              .flush = fpscr & FPSCR_FLUSH,
                              .alternative = fpscr & FPSCR_ALTERNATIVE,
                              .rounding = fpscr >> 22 & 3};
}

static double number_of(struct real a, bool wide)
{
    float narrow;
    double d;
    uint32_t bits = (uint32_t)a.bits;
    memcpy(&narrow, &bits, sizeof narrow);
    memcpy(&d, &a.bits, sizeof d);
    return wide ? d : (double)narrow;
}

static struct real default_nan(bool wide)
{
    return (struct real){wide ? UINT64_C(0x7ff8000000000000) : 0x7fc00000u, true};
}

static struct real from_double(double d)
{
    struct real a = {0, true};
    memcpy(&a.bits, &d, sizeof d);
    return isnan(d) ? default_nan(true) : a;
}

static struct real from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof f);
    return isnan(f) ? default_nan(false) : (struct real){bits, true};
}

static uint64_t top_bit(bool wide)
{
    return wide ? UINT64_C(1) << 63 : 1u << 31;
}

static uint64_t quiet_bit(bool wide)
{
    return wide ? UINT64_C(1) << 51 : 1u << 22;
}

struct real real_negate(struct real a, bool wide)
{
    a.bits ^= top_bit(wide);
    return a;
}

static bool is_nan(struct real a, bool wide)
{
    return (a.bits & ~top_bit(wide)) > (wide ? UINT64_C(0x7ff) << 52 : 0x7f800000u);
}

static bool is_quiet(struct real a, bool wide)
{
    return is_nan(a, wide) && a.bits & quiet_bit(wide);
}

static bool is_small(struct real a, bool wide)
{
    return (a.bits & ~top_bit(wide)) < (wide ? UINT64_C(1) << 52 : 1u << 23);
}

/* As it goes into a calculation. */
static struct real taken(struct real_mode mode, struct real a, bool wide)
{
    a.known = a.known && mode.known;
    if (mode.flush && is_small(a, wide))
        a.bits &= top_bit(wide);
    return a;
}

static const int directions[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* What is computed, of three numbers of that precision. */
enum given { GIVEN_ADD, GIVEN_SUB, GIVEN_MUL, GIVEN_DIV, GIVEN_FUSED, GIVEN_ROOT, GIVEN_NARROW };

/* `volatile`: it is computed here, while the direction is another. */
static double computed(enum given what, const double *list, bool wide, enum real_rounding how)
{
    volatile double a = list[0], b = list[1], c = list[2], d = 0;
    volatile float f = (float)a, g = (float)b, h = (float)c, e = 0;
    if (how != REAL_NEAREST)
        fesetround(directions[how]);
    switch (what) {
    case GIVEN_ADD:
        wide ? (d = a + b) : (e = f + g);
        break;
    case GIVEN_SUB:
        wide ? (d = a - b) : (e = f - g);
        break;
    case GIVEN_MUL:
        wide ? (d = a * b) : (e = f * g);
        break;
    case GIVEN_DIV:
        wide ? (d = a / b) : (e = f / g);
        break;
    case GIVEN_FUSED:
        wide ? (d = fma(a, b, c)) : (e = fmaf(f, g, h));
        break;
    case GIVEN_ROOT:
        wide ? (d = sqrt(a)) : (e = sqrtf(f));
        break;
    case GIVEN_NARROW:
        e = (float)a;
        break;
    }
    if (how != REAL_NEAREST)
        fesetround(FE_TONEAREST);
    return wide ? d : (double)e;
}

/* As it comes out of one. It is flushed when it is small before it is rounded. */
static struct real given(struct real_mode mode, enum given what, double a, double b, double c,
                         bool wide)
{
    const double list[3] = {a, b, c};
    enum real_rounding how = (enum real_rounding)mode.rounding;
    double d = computed(what, list, wide, how);
    struct real r = wide ? from_double(d) : from_float((float)d), before = r;
    if (mode.flush && how != REAL_TO_ZERO) {
        d = computed(what, list, wide, REAL_TO_ZERO);
        before = wide ? from_double(d) : from_float((float)d);
    }
    if (mode.flush && is_small(before, wide))
        r.bits &= top_bit(wide);
    return r;
}

static struct real quiet(struct real_mode mode, struct real a, bool wide)
{
    a.bits |= quiet_bit(wide);
    return mode.defaults ? default_nan(wide) : a;
}

/* FPProcessNaNs: the first signalling one, or the first. False: there is none. */
static bool pick_nan(struct real_mode mode, const struct real *list, unsigned count, bool wide,
                     struct real *nan)
{
    for (unsigned n = 0; n < 2 * count; n++) {
        struct real a = list[n % count];
        if (!is_nan(a, wide) || (n < count && is_quiet(a, wide)))
            continue;
        *nan = quiet(mode, a, wide);
        return true;
    }
    return false;
}

/* Of two zeros the sign decides. */
static struct real extreme(struct real_mode mode, enum real_op op, struct real a, struct real b,
                           bool wide)
{
    struct real nan;
    bool quiet_a = is_quiet(a, wide), quiet_b = is_quiet(b, wide);
    bool greatest = op == REAL_MAX || op == REAL_MAX_NUMBER;
    if (op >= REAL_MAX_NUMBER && quiet_a != quiet_b && !is_nan(quiet_a ? b : a, wide))
        return quiet_a ? b : a;
    /* The quiet one of the two is infinity then, and the other one signals. */
    if (pick_nan(mode, (const struct real[]){a, b}, 2, wide, &nan))
        return nan;
    double x = number_of(a, wide), y = number_of(b, wide);
    bool first = x == y ? !(a.bits & top_bit(wide)) : x > y;
    return first == greatest ? a : b;
}

struct real real_combine(struct real_mode mode, enum real_op op, struct real a, struct real b,
                         bool wide)
{
    struct real nan;
    a = taken(mode, a, wide);
    b = taken(mode, b, wide);
    if (!a.known || !b.known)
        return unknown;
    if (op >= REAL_MAX)
        return extreme(mode, op, a, b, wide);
    if (pick_nan(mode, (const struct real[]){a, b}, 2, wide, &nan))
        return nan;
    return given(mode, (enum given)op, number_of(a, wide), number_of(b, wide), 0, wide);
}

struct real real_fused(struct real_mode mode, struct real a, struct real b, struct real c,
                       bool wide)
{
    struct real nan;
    a = taken(mode, a, wide);
    b = taken(mode, b, wide);
    c = taken(mode, c, wide);
    if (!a.known || !b.known || !c.known)
        return unknown;
    double x = number_of(a, wide), y = number_of(b, wide), z = number_of(c, wide);
    bool invalid = (isinf(x) && y == 0) || (x == 0 && isinf(y));
    if (invalid && is_quiet(c, wide))
        return default_nan(wide);
    if (pick_nan(mode, (const struct real[]){c, a, b}, 3, wide, &nan))
        return nan;
    return given(mode, GIVEN_FUSED, x, y, z, wide);
}

struct real real_root(struct real_mode mode, struct real a, bool wide)
{
    a = taken(mode, a, wide);
    if (!a.known)
        return unknown;
    if (is_nan(a, wide))
        return quiet(mode, a, wide);
    return given(mode, GIVEN_ROOT, number_of(a, wide), 0, 0, wide);
}

static double rounded(double v, enum real_rounding how)
{
    switch (how) {
    case REAL_UP:
        return ceil(v);
    case REAL_DOWN:
        return floor(v);
    case REAL_TO_ZERO:
        return trunc(v);
    case REAL_AWAY:
        return round(v);
    default:
        return rint(v);
    }
}

struct real real_round(struct real_mode mode, struct real a, bool wide, enum real_rounding how)
{
    a = taken(mode, a, wide);
    if (!a.known)
        return unknown;
    if (is_nan(a, wide))
        return quiet(mode, a, wide);
    double v = rounded(number_of(a, wide), how);
    return wide ? from_double(v) : from_float((float)v);
}

/* FPConvertNaN and what FPConvert does with it. */
static struct real convert_nan(struct real_mode mode, struct real a, unsigned from, unsigned to)
{
    unsigned kept = from == 64 ? 51 : from == 32 ? 22 : 9, left = to == 64 ? 51 : to == 32 ? 22 : 9;
    uint64_t sign = a.bits >> (from - 1) & 1, fraction = a.bits << (64 - kept) >> 13;
    uint64_t ones = (UINT64_C(1) << (to - 1 - left)) - 1; /* exponent, and the bit that is quiet */
    if (mode.defaults)
        sign = fraction = 0;
    return (struct real){sign << (to - 1) | ones << left | fraction >> (51 - left), true};
}

static double number_of_half(struct real_mode mode, uint64_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    double v = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    if (exponent == 31 && !mode.alternative)
        v = (double)INFINITY;
    return bits >> 15 & 1 ? -v : v;
}

/* Not flushed (Arm DDI 0487L.a, J1.3: FPRoundCV). What does not fit is infinity, or the greatest
 * number where it is rounded towards zero; without infinity always that. */
static struct real to_half(struct real_mode mode, double v)
{
    bool negative = signbit(v), closer = mode.rounding == (negative ? REAL_UP : REAL_DOWN);
    uint64_t sign = negative ? 0x8000 : 0, most = 0x7bff;
    double size = fabs(v);
    if (isinf(v) || mode.rounding == REAL_NEAREST || !(closer || mode.rounding == REAL_TO_ZERO))
        most = 0x7c00;
    most = mode.alternative ? 0x7fff : most;
    if (size >= 131072)
        return (struct real){sign | most, true};
    int exponent = size == 0 ? -14 : ilogb(size);
    exponent = exponent < -14 ? -14 : exponent;
    double whole = rounded(ldexp(v, 10 - exponent), (enum real_rounding)mode.rounding);
    uint64_t bits = ((uint64_t)(exponent + 14) << 10) + (uint64_t)fabs(whole);
    bool over = bits >= (mode.alternative ? 0x8000 : 0x7c00);
    return (struct real){sign | (over ? most : bits), true};
}

struct real real_convert(struct real_mode mode, struct real a, unsigned from, unsigned to)
{
    bool half = from == 16, special = half && (a.bits & 0x7c00) == 0x7c00 && a.bits & 0x3ff;
    if (!half)
        a = taken(mode, a, from == 64);
    if (!a.known || !mode.known)
        return unknown;
    if (half ? special && !mode.alternative : is_nan(a, from == 64)) {
        if (to == 16 && mode.alternative) /* there are none */
            return (struct real){a.bits >> (from - 1) << 15, true};
        return convert_nan(mode, a, from, to);
    }
    double v = half ? number_of_half(mode, a.bits) : number_of(a, from == 64);
    if (to == 16)
        return to_half(mode, v);
    if (to == 64 || half)
        return to == 64 ? from_double(v) : from_float((float)v);
    return given(mode, GIVEN_NARROW, v, 0, 0, false);
}

uint32_t real_compare(struct real_mode mode, struct real a, struct real b, bool wide)
{
    double x = number_of(taken(mode, a, wide), wide), y = number_of(taken(mode, b, wide), wide);
    return x == y ? 0x60000000u : x < y ? 0x80000000u : x > y ? 0x20000000u : 0x30000000u;
}

struct real real_to_integer(struct real_mode mode, struct real a, bool wide, struct real_integer to,
                            enum real_rounding how)
{
    a = taken(mode, a, wide);
    double v = rounded(ldexp(number_of(a, wide), to.fraction), how);
    double high = ldexp(1, to.bits - to.is_signed), low = to.is_signed ? -high : 0;
    if (!a.known || isnan(v))
        return (struct real){0, a.known};
    if (v >= high || v <= low)
        return (struct real){v <= low ? (0 - (uint64_t)to.is_signed) << (to.bits - 1)
                                      : UINT64_MAX >> (64 - to.bits + to.is_signed),
                             true};
    return (struct real){v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v, true};
}

struct real real_from_integer(struct real_mode mode, struct real a, struct real_integer from,
                              bool wide)
{
    uint64_t bits = a.bits << (64 - from.bits);
    int64_t with_sign = (int64_t)bits >> (64 - from.bits);
    bits >>= 64 - from.bits;
    volatile int64_t number = with_sign;
    volatile uint64_t natural = bits;
    if (!a.known || !mode.known)
        return unknown;
    fesetround(directions[mode.rounding]);
    volatile double v = from.is_signed ? (double)number : (double)natural;
    volatile float f = from.is_signed ? (float)number : (float)natural;
    fesetround(FE_TONEAREST);
    return wide ? from_double(ldexp(v, -from.fraction)) : from_float(ldexpf(f, -from.fraction));
}
