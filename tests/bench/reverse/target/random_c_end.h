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
