/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of the rules that are computed forwards only. */
#include "values_effect.h"
#include "values_rules.h"

static uint32_t field_mask(uint32_t width)
{
    return width >= 32 ? UINT32_MAX : (1u << width) - 1;
}

/* Shifts as the architecture's Shift_C(): amounts up to 255. */
static uint32_t shift_c(unsigned type, uint32_t v, uint32_t by, uint32_t *carry)
{
    uint64_t wide;
    if (type == EFFECT_RRX) {
        wide = (uint64_t)*carry << 31 | v >> 1;
        *carry = v & 1;
        return (uint32_t)wide;
    }
    if (!by)
        return v;
    switch (type) {
    case EFFECT_LSL:
        wide = by > 32 ? 0 : (uint64_t)v << by;
        *carry = wide >> 32 & 1;
        return (uint32_t)wide;
    case EFFECT_LSR:
        wide = by > 32 ? 0 : ((uint64_t)v << 1) >> by;
        *carry = wide & 1;
        return by > 31 ? 0 : v >> by;
    case EFFECT_ASR:
        if (by > 31) {
            *carry = v >> 31;
            return v >> 31 ? UINT32_MAX : 0;
        }
        *carry = v >> (by - 1) & 1;
        return v >> by | (v >> 31 ? ~(UINT32_MAX >> by) : 0);
    default:
        by &= 31;
        v = by ? v >> by | v << (32 - by) : v;
        *carry = v >> 31;
        return v;
    }
}

static uint32_t shifted(uint32_t k, const uint32_t in[3], bool by_register, bool want_carry)
{
    uint32_t carry = in[2];
    uint32_t v = shift_c(k & 7, in[0], by_register ? in[1] & 0xff : k >> 8, &carry);
    return want_carry ? carry : v;
}

static uint32_t extract(uint32_t v, uint32_t k)
{
    uint32_t width = k >> 8 & 0xff, mask = field_mask(width);
    v = v >> (k & 31) & mask;
    if (k & 1u << 16 && v >> (width - 1))
        v |= ~mask;
    return v;
}

static uint32_t insert(uint32_t into, uint32_t v, uint32_t k)
{
    uint32_t mask = field_mask(k >> 8 & 0xff) << (k & 31);
    return (into & ~mask) | (v << (k & 31) & mask);
}

static uint32_t signed_divide(uint32_t a, uint32_t b)
{
    if (!b)
        return 0;
    if (b == UINT32_MAX)
        return 0 - a;
    return (uint32_t)((int32_t)a / (int32_t)b);
}

static uint32_t swap_bytes(uint32_t v)
{
    return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24;
}

static uint32_t reverse(enum rule_op op, uint32_t v)
{
    uint32_t out = 0;
    switch (op) {
    case RULE_REV:
        return swap_bytes(v);
    case RULE_REV16:
        v = swap_bytes(v);
        return v >> 16 | v << 16;
    case RULE_REVSH:
        v = swap_bytes(v) >> 16;
        return v >> 15 ? v | 0xffff0000u : v;
    case RULE_RBIT:
        for (unsigned i = 0; i < 32; i++)
            out |= (v >> i & 1) << (31 - i);
        return out;
    default: /* CLZ */
        while (out < 32 && !(v >> (31 - out) & 1))
            out++;
        return out;
    }
}

static uint32_t sum(enum rule_op op, uint32_t k, const uint32_t in[3], bool has_carry)
{
    uint32_t carry = has_carry ? in[2] : k & 1;
    uint64_t wide = (uint64_t)in[0] + in[1] + carry;
    if (op == RULE_ADC)
        return in[0] + in[1] + in[2] + k;
    if (op == RULE_ADD_C)
        return (uint32_t)(wide >> 32);
    return (~(in[0] ^ in[1]) & (in[0] ^ (uint32_t)wide)) >> 31;
}

uint32_t rules_forward(enum rule_op op, uint32_t k, const uint32_t in[3], const bool has[3])
{
    switch (op) {
    case RULE_AND:
        return in[0] & in[1];
    case RULE_ORR:
        return in[0] | in[1];
    case RULE_BIC:
        return in[0] & ~in[1];
    case RULE_ORN:
        return in[0] | ~in[1];
    case RULE_ADC:
    case RULE_ADD_C:
    case RULE_ADD_V:
        return sum(op, k, in, has[2]);
    case RULE_SHIFT:
        return shifted(k, in, has[1], false);
    case RULE_SHIFT_C:
        return shifted(k, in, has[1], true);
    case RULE_MUL:
        return in[0] * in[1];
    case RULE_UMULH:
        return (uint32_t)((uint64_t)in[0] * in[1] >> 32);
    case RULE_SMULH: {
        int64_t product = (int64_t)(int32_t)in[0] * (int32_t)in[1];
        return (uint32_t)((uint64_t)product >> 32);
    }
    case RULE_UDIV:
        return in[1] ? in[0] / in[1] : 0;
    case RULE_SDIV:
        return signed_divide(in[0], in[1]);
    case RULE_FIELD:
        return extract(in[0], k);
    case RULE_INSERT:
        return insert(in[0], in[1], k);
    default:
        return reverse(op, in[0]);
    }
}

bool rules_condition(unsigned cond, uint32_t nz, uint32_t c, uint32_t v)
{
    bool n = nz >> 1, z = nz & 1, pass;
    switch (cond >> 1) {
    case 0:
        pass = z;
        break;
    case 1:
        pass = c;
        break;
    case 2:
        pass = n;
        break;
    case 3:
        pass = v;
        break;
    case 4:
        pass = c && !z;
        break;
    case 5:
        pass = n == (bool)v;
        break;
    case 6:
        pass = n == (bool)v && !z;
        break;
    default:
        return true;
    }
    return pass != (cond & 1);
}
