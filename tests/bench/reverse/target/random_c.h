/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program of Csmith needs: ../random_c.py puts this in front of it, and random_c_end.h
 * behind. */
#include <float.h>
#include <limits.h>
#include <stdint.h>

#define STATIC static
#define LOG_INDEX
#define LOG_EXEC
#define UNDEFINED(x) (x)
#define FUNC_NAME(x) safe_##x
#define fabs         __builtin_fabs
#define fabsf        __builtin_fabsf
#include "safe_math.h"

#define _CSMITH_BITFIELD(x) ((x) > 32 ? (x) % 32 : (x))

#include "work.h"

extern u32 data_start[], data_end[], code_end[];
