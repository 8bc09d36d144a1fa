/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv4 model: speculation (IHI 0064H.b). The unit tells elements before they are certain, also of
 * paths that the core gives up, and commits or cancels them later. The flow that comes out is that
 * of the events; wrong paths and wrong atoms are made up here.
 */
#include "etmv4_encoder_state.h"
#include "etmv4_packets.h"

#define COMMIT            0x2d
#define CANCEL_1          0x2e
#define MISPREDICT        0x30
#define CANCEL_2          0x34
#define CANCEL_3          0x38
#define WRONG_PATH_MOST   9
#define ATOMS_E           1u
#define ATOMS_N           3u
#define CANCEL_3_LEAST    2
#define CANCEL_3_MOST     5
#define WITH_ATOM_PERCENT 50

void etmv4_spec_count(struct etmv4_encoder *e)
{
    if (e->depth < e->options.idr8)
        e->depth++;
}

static int put_counted(struct etmv4_encoder *e, enum etmv4_packet_kind kind, uint8_t header,
                       uint32_t count)
{
    uint8_t bytes[ETMV4_PUT_MAX];

    bytes[0] = header;
    size_t size = 1 + etmv4_put_varint(bytes + 1, count, etmv4_varint_bytes(count, 5));
    return etmv4_out_bytes(e, kind, bytes, size);
}

int etmv4_spec_commit(struct etmv4_encoder *e, uint32_t count)
{
    if (count == 0)
        return 0;
    e->depth -= count;
    return put_counted(e, ETMV4_SENT_COMMIT, COMMIT, count);
}

int etmv4_spec_commit_some(struct etmv4_encoder *e)
{
    if (e->depth == 0 || !trace_random_percent(&e->random, e->options.commit_percent))
        return 0;
    return etmv4_spec_commit(e, 1 + trace_random_below(&e->random, e->depth));
}

int etmv4_spec_commit_all(struct etmv4_encoder *e)
{
    return etmv4_spec_commit(e, e->depth);
}

/*
 * `count` elements of a path that will be cancelled, somewhere in the address space. They must not
 * be more than MAXSPEC, or the oldest would be committed.
 */
static int put_wrong_atoms(struct etmv4_encoder *e, uint32_t count, bool aarch64)
{
    int error = 0;

    for (uint32_t i = 0; !error && i < count; i++) {
        error = etmv4_out_atom(e, trace_random_below(&e->random, 2));
        if (error || trace_random_below(&e->random, 4))
            continue;
        struct etmv4_place place = {.address = trace_random_next(&e->random) >> 32 & ~3u,
                                    .isa = aarch64 ? BT_ISA_A64 : BT_ISA_T32};
        error = etmv4_out_address(e, &place);
    }
    return error;
}

static uint32_t wrong_count(struct etmv4_encoder *e, uint32_t limit)
{
    return 1 + trace_random_below(&e->random, limit < WRONG_PATH_MOST ? limit : WRONG_PATH_MOST);
}

int etmv4_spec_wrong_path(struct etmv4_encoder *e)
{
    if (e->options.idr8 == 0 || !trace_random_percent(&e->random, e->options.wrong_percent))
        return 0;
    uint32_t count = wrong_count(e, e->options.idr8);
    int error = put_wrong_atoms(e, count, e->start.isa == BT_ISA_A64);

    if (error)
        return error;
    error = put_counted(e, ETMV4_SENT_CANCEL, CANCEL_1, count);
    e->depth -= count;
    return error;
}

/* `wrong` elements behind the atom vanish, and the atom is turned round, in one packet. */
static int cancel_and_turn(struct etmv4_encoder *e, uint32_t wrong, bool aarch64)
{
    bool small = wrong <= CANCEL_3_MOST; /* formats 2 and 3, which may bring the last one along */
    bool with_atom = small && trace_random_percent(&e->random, WITH_ATOM_PERCENT);
    int error = put_wrong_atoms(e, wrong - with_atom, aarch64);
    uint8_t byte;

    if (error)
        return error;
    if (with_atom)
        etmv4_spec_count(e);
    if (!small) {
        error = put_counted(e, ETMV4_SENT_CANCEL, CANCEL_1 + 1, wrong);
    } else {
        if (wrong >= CANCEL_3_LEAST)
            byte = (uint8_t)(CANCEL_3 + 2 * (wrong - CANCEL_3_LEAST) + with_atom);
        else
            byte = (uint8_t)(CANCEL_2 + (!with_atom                          ? 0
                                         : trace_random_below(&e->random, 2) ? ATOMS_E
                                                                             : ATOMS_N));
        error = etmv4_out_bytes(e, ETMV4_SENT_CANCEL, &byte, 1);
    }
    e->depth -= wrong;
    return error;
}

int etmv4_spec_mispredict(struct etmv4_encoder *e, bool taken)
{
    bool more = e->options.idr8 > 1 && trace_random_below(&e->random, 2);
    bool aarch64 = e->start.isa == BT_ISA_A64;
    uint8_t byte = MISPREDICT;

    if (!more && trace_random_below(&e->random, 2)) {
        byte += taken ? ATOMS_N : ATOMS_E;
        etmv4_spec_count(e);
        return etmv4_out_bytes(e, ETMV4_SENT_MISPREDICT, &byte, 1);
    }
    int error = etmv4_out_atom(e, !taken);
    if (error)
        return error;
    if (more)
        return cancel_and_turn(e, wrong_count(e, e->options.idr8 - 1), aarch64);
    return etmv4_out_bytes(e, ETMV4_SENT_MISPREDICT, &byte, 1);
}
