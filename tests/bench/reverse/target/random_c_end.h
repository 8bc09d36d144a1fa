/* SPDX-License-Identifier: BSD-3-Clause */
/* Behind a program of Csmith: its variables get their first values from the end of the code, before
 * each round: what Csmith has proved of pointers holds for them alone. */

u32 work_calls(u32 seed)
{
    for (u32 i = 0; data_start + i < data_end; i++)
        data_start[i] = code_end[i];
    FROM_OUTSIDE(seed);
    func_1();
    return seed;
}

u32 work_data(u32 seed)
{
    return seed;
}

#if defined __clang__ && defined __arm__
/* Run-time ABI for the Arm Architecture 4.3.4: what Clang calls where GCC calls main.c's. */
void *memset(void *to, int value, unsigned size);
void *memmove(void *to, const void *from, unsigned size);

#define COPIES(name)                                                                               \
    void name(void *to, const void *from, unsigned size)                                           \
    {                                                                                              \
        memmove(to, from, size);                                                                   \
    }
#define SETS(name)                                                                                 \
    void name(void *to, unsigned size, int value)                                                  \
    {                                                                                              \
        memset(to, value, size);                                                                   \
    }
#define CLEARS(name)                                                                               \
    void name(void *to, unsigned size)                                                             \
    {                                                                                              \
        memset(to, 0, size);                                                                       \
    }
COPIES(__aeabi_memcpy)
COPIES(__aeabi_memcpy4)
COPIES(__aeabi_memcpy8)
COPIES(__aeabi_memmove)
COPIES(__aeabi_memmove4)
COPIES(__aeabi_memmove8)
SETS(__aeabi_memset)
SETS(__aeabi_memset4)
SETS(__aeabi_memset8)
CLEARS(__aeabi_memclr)
CLEARS(__aeabi_memclr4)
CLEARS(__aeabi_memclr8)
#endif
