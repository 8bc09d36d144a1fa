/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drivers/virtual/board/board_unit.h"

#include "drivers/virtual/waypoint.h"

#define BURST    64  /* bytes that a source gives to the formatter at once */
#define PATIENCE 256 /* waypoints between two looks at a full FIFO */

int board_unit_init(struct board_unit *u, const struct board_options *o, unsigned core,
                    struct board_port *port, atomic_uint_fast64_t *clock)
{
    struct ptm_encoder_options options;

    *u = (struct board_unit){
        .port = port, .clock = clock, .id = (uint8_t)(o->etmtraceidr + core), .enabled = o->start};
    ptm_encoder_default_options(&options);
    options.etmcr = o->etmcr;
    options.etmidr = o->etmidr;
    options.etmccer = o->etmccer;
    options.sync_period = o->etmsyncfr;
    options.return_stack_depth = o->return_stack;
    u->encoder = ptm_encoder_new(&options, &u->bytes);
    return u->encoder ? 0 : -1;
}

void board_unit_release(struct board_unit *u)
{
    ptm_encoder_free(u->encoder);
    trace_bytes_release(&u->bytes);
    u->encoder = NULL;
}

/* After each call of the model: errors, and bytes to the port. */
static void done(struct board_unit *u, int result, size_t limit)
{
    if (result < 0)
        u->failed = true;
    if (u->bytes.size <= limit)
        return;
    bool room = board_port_write(u->port, u->id, u->bytes.data, u->bytes.size);
    u->bytes.size = 0;
    if (!room && !u->overflowed) {
        ptm_encoder_overflow(u->encoder);
        u->overflowed = true;
        u->overflows++;
        u->patience = PATIENCE;
    }
}

static void tell_time(struct board_unit *u)
{
    uint64_t before = atomic_fetch_add_explicit(u->clock, u->cycles, memory_order_relaxed);

    ptm_encoder_add_cycles(u->encoder, u->cycles);
    ptm_encoder_set_time(u->encoder, before + u->cycles);
    u->cycles = 0;
}

static int tell(struct board_unit *u, const struct board_insn *insn, bool pass,
                const struct ptm_state *next)
{
    const struct ptm_insn ran = {.address = insn->address,
                                 .isa = (enum bt_isa)insn->isa,
                                 .opcode = insn->opcode,
                                 .pass = pass,
                                 .next = *next};

    return ptm_encoder_insn(u->encoder, &ran);
}

/* Time, and the plain instruction that was held back: everything up to now is told. */
static void catch_up(struct board_unit *u)
{
    tell_time(u);
    if (u->newest) {
        const struct board_insn *insn = u->newest;
        const struct ptm_state next = {insn->address + insn->size, (enum bt_isa)insn->isa,
                                       u->security};
        u->newest = NULL;
        done(u, tell(u, insn, true, &next), BURST);
    }
}

static void enter_block(struct board_unit *u, const struct ptm_state *next)
{
    u->block_start = (uint32_t)next->address;
    u->security = next->security;
}

void board_unit_on(struct board_unit *u, const struct ptm_state *next)
{
    u->enabled = true;
    enter_block(u, next);
    if (u->failed || u->debug || u->overflowed)
        return;
    catch_up(u);
    done(u, ptm_encoder_trace_on(u->encoder, next), BURST);
}

void board_unit_off(struct board_unit *u)
{
    u->enabled = false;
    u->newest = NULL;
    done(u, ptm_encoder_trace_off(u->encoder), 0);
}

static void recover(struct board_unit *u, const struct ptm_state *next)
{
    if (--u->patience > 0)
        return;
    u->patience = PATIENCE;
    if (!board_port_recovered(u->port))
        return;
    u->overflowed = false;
    if (u->enabled && !u->debug)
        done(u, ptm_encoder_restart(u->encoder, next), BURST);
}

void board_unit_ran(struct board_unit *u, const struct board_insn *insn, bool pass,
                    const struct ptm_state *next)
{
    bool boundary = insn->cls != WAYPOINT_NONE && insn->cls != WAYPOINT_BARRIER;

    u->cycles++;
    if (boundary)
        u->newest = NULL; /* covered by the waypoint's own packet */
    if (u->failed)
        return;
    if (boundary)
        tell_time(u);
    else
        catch_up(u);
    done(u, tell(u, insn, pass, next), BURST);
    if (boundary)
        enter_block(u, next);
    if (u->overflowed)
        recover(u, next);
}

void board_unit_exception(struct board_unit *u, unsigned number, const struct ptm_state *vector)
{
    if (u->failed)
        return;
    catch_up(u);
    done(u, ptm_encoder_exception(u->encoder, number, vector), BURST);
    enter_block(u, vector);
}

void board_unit_debug_entry(struct board_unit *u)
{
    u->debug = true;
    if (u->failed)
        return;
    catch_up(u);
    done(u, ptm_encoder_debug_entry(u->encoder), 0);
}

void board_unit_debug_exit(struct board_unit *u, const struct ptm_state *next)
{
    u->debug = false;
    enter_block(u, next);
    if (u->failed || !u->enabled || u->overflowed)
        return;
    catch_up(u);
    done(u, ptm_encoder_debug_exit(u->encoder, next), BURST);
}

void board_unit_context_id(struct board_unit *u, uint32_t value)
{
    if (u->failed)
        return;
    catch_up(u);
    done(u, ptm_encoder_set_context_id(u->encoder, value), BURST);
}

void board_unit_overflow(struct board_unit *u, const struct ptm_state *next)
{
    if (u->failed || u->debug || !u->enabled || u->overflowed)
        return;
    catch_up(u);
    ptm_encoder_overflow(u->encoder);
    u->overflows++;
    enter_block(u, next);
    done(u, ptm_encoder_restart(u->encoder, next), BURST);
}

void board_unit_jump(struct board_unit *u, const struct ptm_state *next)
{
    if (u->failed || u->debug || !u->enabled || u->overflowed)
        return;
    board_unit_off(u);
    board_unit_on(u, next);
}

void board_unit_flush(struct board_unit *u)
{
    if (!u->failed)
        done(u, ptm_encoder_flush(u->encoder), 0);
}

void board_unit_sync(struct board_unit *u)
{
    if (!u->failed)
        done(u, ptm_encoder_request_sync(u->encoder), BURST);
}

void board_unit_keep(struct board_unit *u)
{
    if (u->newest) {
        u->kept = *u->newest;
        u->newest = &u->kept;
    }
}
