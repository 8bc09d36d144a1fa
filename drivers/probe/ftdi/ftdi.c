/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Register accesses in batches. IHI 0031F B1.2 and chapters B3 and B4.
 *
 * A batch is executed to its end whatever the answers are. What is refused with WAIT or FAULT sets
 * a sticky flag that makes the target drop the rest (ORUNDETECT is set), with these exceptions:
 * writes of ABORT and CTRL/STAT work all the same, on JTAG all accesses to the DP do, and a parity
 * error that only the host sees stops nothing. So a batch ends in front of such a write.
 */
#include <string.h>

#include "ftdi_internal.h"

#define ORUNDETECT  0x00000001u
#define STICKYORUN  0x00000002u
#define POWER       0x50000000u /* CSYSPWRUPREQ, CDBGPWRUPREQ */
#define STATUS_BITS 0x000000f3u /* of CTRL/STAT: ORUNDETECT, and what writing ones clears */
#define ORUNERRCLR  0x00000010u /* of ABORT */
#define BANK_MASK   0x0fu
/* For what is put before and behind the accesses of a batch. */
#define TAIL_OPS     3u
#define TAIL_COMMAND 1024u
#define TAIL_ANSWER  32u

struct job {
    struct ftdi *f;
    struct debug_transfer *list; /* NULL: a block */
    uint32_t *words;             /* of a block */
    uint8_t request;             /* of a block */
    size_t count;
    struct debug_result *result;
    bool inner; /* one of ours: its CTRL/STAT is not asked for */
};

static uint8_t request_of(const struct job *job, size_t index)
{
    uint8_t request = job->list ? job->list[index].request : job->request;
    return request & FTDI_REQUEST_MASK;
}

static uint32_t value_of(const struct job *job, size_t index)
{
    return job->list ? job->list[index].value : job->words[index];
}

static bool is_ctrl_stat(uint8_t request)
{
    return (request & ~DEBUG_READ) == (DEBUG_DP | FTDI_REG_CTRL_STAT);
}

/* What is known of the debug port. */

static bool bank_zero(const struct ftdi *f)
{
    return f->bank_known && f->bank == 0;
}

/* Can the overrun flag be taken back? On JTAG that takes CTRL/STAT, which is in bank 0. */
static bool can_clear(const struct ftdi *f)
{
    return f->overrun && (f->wire == DEBUG_WIRE_SWD || bank_zero(f));
}

/* An access was executed. */
static void note_write(struct ftdi *f, const struct ftdi_op *op)
{
    if (ftdi_writes_dp(op->request, FTDI_REG_SELECT)) {
        f->bank_known = true;
        f->bank = op->value & BANK_MASK;
    } else if (ftdi_writes_dp(op->request, FTDI_REG_CTRL_STAT) && bank_zero(f)) {
        f->overrun = f->queues = (op->value & ORUNDETECT) != 0;
        f->ctrl_stat = op->value & ~STATUS_BITS;
    }
}

static void ftdi_store(struct job *job, size_t index, uint32_t value)
{
    struct ftdi *f = job->f;
    if (job->list)
        job->list[index].value = value;
    else
        job->words[index] = value;
    if (is_ctrl_stat(request_of(job, index)) && bank_zero(f)) {
        f->overrun = f->queues = (value & ORUNDETECT) != 0;
        f->ctrl_stat = value & POWER;
    }
}

struct plan {
    size_t first;    /* access of the batch */
    size_t next;     /* first access that is not in it */
    size_t pending;  /* read whose value has not come; FTDI_NO_ACCESS: none */
    bool reads;      /* there is a read in it */
    bool unchecked;  /* an AP write whose error would not have been seen */
    size_t command;  /* bytes, at most */
    size_t answer;   /* bytes */
    uint8_t request; /* of the last access */
};

static void ftdi_add(struct ftdi *f, uint8_t request, uint32_t value, size_t take, size_t done)
{
    f->ops[f->op_count++] =
        (struct ftdi_op){.request = request, .value = value, .take = take, .done = done};
}

/* Bytes of commands that one access may need. */
static size_t ftdi_cost(const struct ftdi *f, const struct plan *p, uint8_t request)
{
    if (f->wire == DEBUG_WIRE_SWD)
        return 48 + f->idle_clocks / 8u;
    size_t scan = 40 + f->idle_clocks / 2u;
    if (f->op_count > 0 && ftdi_is_ap(p->request) == ftdi_is_ap(request))
        return scan;
    for (unsigned k = 0; k < f->chain_count; k++)
        scan += f->ir_lengths[k] / 8u + 1;
    return scan + 16;
}

static bool has_room(const struct ftdi *f, struct plan *p, uint8_t request)
{
    size_t command = p->command + ftdi_cost(f, p, request);
    const struct ftdi_op longest = {.request = DEBUG_READ};
    size_t answer = p->answer + ftdi_access_length(f, &longest);
    if (f->op_count + TAIL_OPS > FTDI_MAX_OPS || command + TAIL_COMMAND > FTDI_COMMAND_BYTES ||
        answer + TAIL_ANSWER > FTDI_ANSWER_BYTES)
        return false;
    p->command = command;
    p->answer = answer;
    return true;
}

/* Must the batch end before this access? */
static bool must_end(const struct ftdi *f, const struct plan *p, uint8_t request)
{
    bool write = !ftdi_reads(request);
    bool dp_write = write && !ftdi_is_ap(request);
    if (p->next == p->first)
        return false;
    if (!f->queues ||
        (dp_write && (f->wire == DEBUG_WIRE_JTAG || !ftdi_writes_dp(request, FTDI_REG_SELECT))))
        return true;
    return write && p->reads && f->wire == DEBUG_WIRE_SWD;
}

/* A batch that asks for power asks for overrun detection too. */
static uint32_t written_value(const struct ftdi *f, uint8_t request, uint32_t value)
{
    if (ftdi_reads(request))
        return 0;
    if (ftdi_writes_dp(request, FTDI_REG_CTRL_STAT) && bank_zero(f) && (value & POWER) != 0)
        return value | ORUNDETECT;
    return value;
}

/* AP reads give the value of the one before; the last one is fetched from RDBUFF. */
static void add_swd(struct ftdi *f, struct plan *p, uint8_t request, uint32_t value)
{
    bool ap = ftdi_is_ap(request);
    size_t index = p->next;
    if (p->pending != FTDI_NO_ACCESS && !(ap && ftdi_reads(request))) {
        ftdi_add(f, FTDI_RDBUFF_READ, 0, p->pending, index);
        p->pending = FTDI_NO_ACCESS;
    }
    if (ap && ftdi_reads(request)) {
        ftdi_add(f, request, 0, p->pending, index);
        p->pending = index;
        p->unchecked = false;
    } else {
        ftdi_add(f, request, value, ftdi_reads(request) ? index : FTDI_NO_ACCESS, index + 1);
        p->unchecked = ap || (p->unchecked && request != FTDI_RDBUFF_READ);
    }
}

/* Every scan brings what the one before it did. */
static void add_jtag(struct ftdi *f, struct plan *p, uint8_t request, uint32_t value)
{
    ftdi_add(f, request, value, p->pending, p->next);
    p->pending = ftdi_reads(request) ? p->next : FTDI_NO_ACCESS;
    p->unchecked = true;
}

/* Fills f->ops with accesses from `first` on. Returns the first one that is left. */
static size_t plan_batch(struct job *job, size_t first)
{
    struct ftdi *f = job->f;
    struct plan p = {.first = first, .next = first, .pending = FTDI_NO_ACCESS};
    f->op_count = 0;
    while (p.next < job->count) {
        uint8_t request = request_of(job, p.next);
        if (must_end(f, &p, request) || !has_room(f, &p, request))
            break;
        uint32_t value = written_value(f, request, value_of(job, p.next));
        if (f->wire == DEBUG_WIRE_SWD)
            add_swd(f, &p, request, value);
        else
            add_jtag(f, &p, request, value);
        p.reads |= ftdi_reads(request);
        p.request = request;
        p.next++;
        /* ABORT and CTRL/STAT go alone: what follows may depend on them. */
        if (!ftdi_reads(request) && !ftdi_is_ap(request) &&
            !ftdi_writes_dp(request, FTDI_REG_SELECT))
            break;
    }
    if (p.pending != FTDI_NO_ACCESS || p.unchecked)
        ftdi_add(f, FTDI_RDBUFF_READ, 0, p.pending, p.next);
    return p.next;
}

/*
 * How many of f->ops may go at once. On JTAG a scan that is refused leaves the value that it would
 * have brought to the next one; an access to the DP behind it is not dropped and would replace that
 * value by its own.
 */
static size_t batch_length(const struct ftdi *f)
{
    bool brings = false;
    for (size_t k = 0; k < f->op_count && f->wire == DEBUG_WIRE_JTAG; k++) {
        if (brings && !ftdi_is_ap(f->ops[k].request))
            return k;
        brings |= f->ops[k].take != FTDI_NO_ACCESS;
    }
    return f->op_count;
}

/* The first `count` of f->ops at once. *good: how many of them, from the first on, were OK. */
static int run_batch(struct job *job, size_t count, size_t *good, enum debug_ack *ack)
{
    struct ftdi *f = job->f;
    struct mpsse m;
    ftdi_start(f, &m);
    for (size_t k = 0; k < count; k++)
        ftdi_put_access(f, &m, &f->ops[k]);
    ftdi_put_end(f, &m);
    int error = ftdi_run(f, &m);
    const uint8_t *answer = f->answer;
    for (*good = 0; error == 0 && *good < count; (*good)++) {
        const struct ftdi_op *op = &f->ops[*good];
        uint32_t value;
        *ack = ftdi_take_access(f, op, answer, &value);
        if (*ack != DEBUG_ACK_OK)
            break;
        if (op->take != FTDI_NO_ACCESS)
            ftdi_store(job, op->take, value);
        note_write(f, op);
        answer += ftdi_access_length(f, op);
    }
    return error;
}

/* The same, one after the other: SWD without overrun detection. */
static int run_steps(struct job *job, size_t *good, enum debug_ack *ack)
{
    struct ftdi *f = job->f;
    for (*good = 0; *good < f->op_count; (*good)++) {
        const struct ftdi_op *op = &f->ops[*good];
        uint32_t value = 0;
        int error = ftdi_swd_step(f, op, ack, &value);
        if (error != 0 || *ack != DEBUG_ACK_OK)
            return error;
        if (op->take != FTDI_NO_ACCESS)
            ftdi_store(job, op->take, value);
        note_write(f, op);
    }
    return 0;
}

/* What takes the overrun flag back. */
static struct ftdi_op clear_op(const struct ftdi *f)
{
    struct ftdi_op op = {.take = FTDI_NO_ACCESS};
    if (f->wire == DEBUG_WIRE_SWD) {
        op.request = DEBUG_DP | DEBUG_WRITE | FTDI_REG_ABORT;
        op.value = ORUNERRCLR;
    } else {
        op.request = DEBUG_DP | DEBUG_WRITE | FTDI_REG_CTRL_STAT;
        op.value = f->ctrl_stat | ORUNDETECT | STICKYORUN;
    }
    return op;
}

/*
 * Leaves in f->ops what was not executed, with the overrun flag cleared first if an access was
 * `refused`. On JTAG that scan brings the value that the refused one would have brought.
 * `*cleared`: the list begins with such an access; it stays there until it is answered.
 */
static void keep_rest(struct ftdi *f, size_t good, bool refused, bool *cleared)
{
    if (good == 0 && (*cleared || !can_clear(f)))
        return;
    size_t shift = refused && can_clear(f) ? 1 : 0;
    memmove(f->ops + shift, f->ops + good, (f->op_count - good) * sizeof *f->ops);
    f->op_count = f->op_count - good + shift;
    *cleared = shift > 0;
    if (shift == 0)
        return;
    struct ftdi_op clear = clear_op(f);
    clear.done = f->ops[1].done;
    if (f->wire == DEBUG_WIRE_JTAG) {
        clear.take = f->ops[1].take;
        f->ops[1].take = FTDI_NO_ACCESS;
    }
    f->ops[0] = clear;
}

/* The target stays busy: what the batch has set is cleared as far as that works now. */
static void ftdi_give_up(struct ftdi *f)
{
    struct debug_result unused;
    struct job job = {.f = f, .result = &unused};
    enum debug_ack ack;
    size_t good;
    if (!can_clear(f))
        return;
    f->ops[0] = clear_op(f);
    f->op_count = 1;
    if (f->wire == DEBUG_WIRE_SWD)
        (void)run_steps(&job, &good, &ack);
    else
        (void)run_batch(&job, 1, &good, &ack);
}

/* f->ops to their end, WAITs repeated. */
static int ftdi_execute(struct job *job)
{
    struct ftdi *f = job->f;
    struct debug_result *result = job->result;
    unsigned tries = 0;
    bool cleared = false;
    for (;;) {
        size_t good;
        enum debug_ack ack = DEBUG_ACK_OK;
        bool batch = f->queues || f->wire == DEBUG_WIRE_JTAG;
        size_t count = batch ? batch_length(f) : f->op_count;
        int error = batch ? run_batch(job, count, &good, &ack) : run_steps(job, &good, &ack);
        if (error != 0)
            return error;
        size_t ours = cleared ? 1 : 0;
        if (good > ours) {
            result->done = f->ops[good - 1].done;
            tries = 0;
        }
        if (good == f->op_count)
            return 0;
        bool refused = good < count;
        if (refused && (ack != DEBUG_ACK_WAIT || tries++ >= f->wait_retries)) {
            result->ack = ack;
            break;
        }
        keep_rest(f, good, refused, &cleared);
    }
    if (result->ack == DEBUG_ACK_WAIT)
        ftdi_give_up(f);
    else if (result->ack != DEBUG_ACK_FAULT)
        f->ir = FTDI_IR_UNKNOWN;
    f->queues = false;
    return 0;
}

static int ftdi_job_run(struct job *job);

/* Batches again after a failure, if the port still detects overruns. */
static int ftdi_confirm(struct job *job)
{
    struct ftdi *f = job->f;
    struct debug_transfer read = {.request = DEBUG_DP | DEBUG_READ | FTDI_REG_CTRL_STAT};
    struct job own = {.f = f, .list = &read, .count = 1, .result = job->result, .inner = true};
    if (job->inner || f->queues || !f->overrun || !bank_zero(f) || job->count == 0)
        return 0;
    int error = ftdi_job_run(&own);
    job->result->done = 0;
    return error;
}

static int ftdi_job_run(struct job *job)
{
    *job->result = (struct debug_result){.done = 0, .ack = DEBUG_ACK_OK};
    int error = ftdi_confirm(job);
    for (size_t next = 0; error == 0 && job->result->ack == DEBUG_ACK_OK && next < job->count;) {
        next = plan_batch(job, next);
        error = ftdi_execute(job);
    }
    return error;
}

static int ftdi_link_transfer(void *self, struct debug_transfer *list, size_t count,
                              struct debug_result *result)
{
    struct job job = {.f = self, .list = list, .count = count, .result = result};
    return ftdi_job_run(&job);
}

static int ftdi_link_block(void *self, uint8_t request, uint32_t *words, size_t count,
                           struct debug_result *result)
{
    struct job job = {
        .f = self, .request = request, .words = words, .count = count, .result = result};
    return ftdi_job_run(&job);
}

static void ftdi_leave_overrun(struct ftdi *f)
{
    struct debug_result result;
    struct job job = {.f = f, .result = &result};
    enum debug_ack ack;
    size_t good;
    if (!f->overrun || !bank_zero(f))
        return;
    f->ops[0] = (struct ftdi_op){.request = DEBUG_DP | DEBUG_WRITE | FTDI_REG_CTRL_STAT,
                                 .value = f->ctrl_stat,
                                 .take = FTDI_NO_ACCESS};
    f->op_count = 1;
    if (f->wire == DEBUG_WIRE_SWD)
        (void)run_steps(&job, &good, &ack);
    else
        (void)run_batch(&job, 1, &good, &ack);
}

#define ANSWER_MS      2000u
#define START_HZ       1000000u
#define SEQUENCE_BYTES 256u /* of one batch */

static int link_set_clock(void *self, uint32_t hz)
{
    struct ftdi *f = self;
    struct mpsse m;
    bool slow_base;
    uint16_t divisor;
    if (hz == 0)
        return BT_ERR_INVAL;
    f->hz = mpsse_clock(hz, &slow_base, &divisor);
    ftdi_start(f, &m);
    mpsse_set_clock(&m, slow_base, divisor);
    return ftdi_run(f, &m);
}

/* Nothing is known of the debug port. */
static void ftdi_forget(struct ftdi *f)
{
    f->bank_known = false;
    f->overrun = false;
    f->queues = false;
    f->ctrl_stat = 0;
    f->ir = FTDI_IR_UNKNOWN;
}

static int link_connect(void *self, enum debug_wire wire)
{
    struct ftdi *f = self;
    struct mpsse m;
    ftdi_forget(f);
    f->wire = wire;
    ftdi_start(f, &m);
    ftdi_put_wire(f, &m, wire);
    bool adaptive = wire == DEBUG_WIRE_JTAG && f->layout.adaptive_clock;
    mpsse_command(&m, adaptive ? MPSSE_ADAPTIVE_ON : MPSSE_ADAPTIVE_OFF, 0);
    return ftdi_run(f, &m);
}

static int link_disconnect(void *self)
{
    struct ftdi *f = self;
    struct mpsse m;
    ftdi_leave_overrun(f);
    ftdi_forget(f);
    ftdi_start(f, &m);
    ftdi_put_wire(f, &m, f->wire);
    return m.length > 0 ? ftdi_run(f, &m) : 0;
}

static uint32_t link_clock(void *self)
{
    return ((const struct ftdi *)self)->hz;
}

static int link_configure(void *self, uint8_t idle_clocks, uint16_t wait_retries)
{
    struct ftdi *f = self;
    f->idle_clocks = idle_clocks;
    f->wait_retries = wait_retries;
    return 0;
}

static int link_sequence(void *self, unsigned bits, const uint8_t *bytes)
{
    struct ftdi *f = self;
    f->bank_known = false;
    f->queues = false;
    f->ir = FTDI_IR_UNKNOWN;
    while (bits > 0) {
        struct mpsse m;
        unsigned now = bits < 8 * SEQUENCE_BYTES ? bits : 8 * SEQUENCE_BYTES;
        ftdi_start(f, &m);
        ftdi_put_sequence(f, &m, now, bytes);
        int error = ftdi_run(f, &m);
        if (error != 0)
            return error;
        bits -= now;
        bytes += SEQUENCE_BYTES;
    }
    return 0;
}

static const struct debug_link_ops LINK_OPS = {
    .connect = link_connect,
    .disconnect = link_disconnect,
    .set_clock = link_set_clock,
    .clock = link_clock,
    .configure = link_configure,
    .sequence = link_sequence,
    .pins = ftdi_link_pins,
    .jtag_chain = ftdi_link_chain,
    .transfer = ftdi_link_transfer,
    .block = ftdi_link_block,
};

struct debug_link ftdi_link(struct ftdi *f)
{
    return (struct debug_link){
        .ops = &LINK_OPS, .self = f, .caps = DEBUG_LINK_SWD | DEBUG_LINK_JTAG};
}

int ftdi_open(struct ftdi *f, const struct ftdi_port *port, const struct ftdi_pinout *layout)
{
    struct mpsse m;
    const uint16_t out = MPSSE_PIN_TCK | MPSSE_PIN_TDI | MPSSE_PIN_TMS;
    *f = (struct ftdi){.port = *port, .layout = *layout, .answer_ms = ANSWER_MS, .hz = START_HZ};
    f->layout.value &= (uint16_t)~MPSSE_PIN_TCK;
    f->layout.direction = (uint16_t)((layout->direction | out) & ~MPSSE_PIN_TDO);
    f->value = f->layout.value;
    f->direction = f->layout.direction;
    f->wait_retries = 1;
    f->chain_count = 1;
    f->ir_lengths[0] = 4;
    f->wire = DEBUG_WIRE_JTAG;
    ftdi_forget(f);
    int error = ftdi_synchronise(f);
    if (error != 0)
        return error;
    ftdi_start(f, &m);
    mpsse_command(&m, MPSSE_ADAPTIVE_OFF, 0);
    mpsse_command(&m, MPSSE_THREE_PHASE_OFF, 0);
    mpsse_command(&m, MPSSE_LOOPBACK_OFF, 0);
    ftdi_put_wire(f, &m, f->wire);
    error = ftdi_run(f, &m);
    return error != 0 ? error : link_set_clock(f, START_HZ);
}

void ftdi_close(struct ftdi *f)
{
    struct mpsse m;
    if (f->stale)
        return; /* bit mode 0 makes inputs of them too */
    ftdi_start(f, &m);
    ftdi_put_pins(f, &m, 0, 0);
    (void)ftdi_run(f, &m);
}
