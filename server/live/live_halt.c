/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is done while a live target is halted, before GDB is told: the board file's [setup], its
 * trace units, the registers of its cores, code that the trace went through and nobody knows, and
 * what a recording gets of the halt.
 */
#include "decoder/base/bytes.h"
#include "live_internal.h"

#include "server/base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CODE_PIECE      1024u /* bytes of one question */
#define CODE_ROUNDS_MAX 64u   /* looks for missing code at one stop: each decodes all again */
#define CODE_NEW_MAX    64u   /* pages of one round */
#define CODE_BYTES_MAX  (64u << 20)

#define STACK_PIECE  1024u /* bytes of one question; the first piece lies below SP */
#define STACK_PIECES (RECORDER_STACK_MAX / STACK_PIECE)

static void setup_next_line(struct live *l);
static void read_first_regs(struct live *l);
static void look_done(struct live *l);

/* Of all questions here `l` is the context. */
static int look_try(struct live *l, const struct target_request *r, target_done_fn done)
{
    l->asked_ms = l->target->now_ms;
    return target_ask(l->target, NULL, r, done, l);
}

static void look_ask(struct live *l, const struct target_request *r, target_done_fn done)
{
    int error = look_try(l, r, done);
    if (error)
        done(l, &(struct target_answer){.error = error});
}

static struct target_request look_at_memory(int core, uint64_t address, size_t length)
{
    return (struct target_request){
        .kind = TARGET_READ_MEMORY, .core = core, .address = address, .length = length};
}

static struct target_request look_at_regs(int core, enum target_register_set set)
{
    return (struct target_request){.kind = TARGET_READ_REGISTERS, .core = core, .set = set};
}

/* A target that was late is not asked again at this halt: others wait. One that is lost has ended
 * it already. */
static bool look_goes_on(struct live *l, const struct target_answer *a)
{
    bool late = a->error == BT_ERR_IO && l->target->now_ms - l->asked_ms >= l->target->deadline_ms;
    if (!target_is_ready(l->target))
        return false;
    if (late)
        look_done(l);
    return !late;
}

static const struct config_setup *setup_line(const struct live *l)
{
    return &l->config->setup[l->setup];
}

static bool has_big_words(const struct live *l)
{
    return l->cores[0].elf && l->cores[0].elf->big_endian;
}

static void setup_end_line(struct live *l, const struct target_answer *a, const char *what)
{
    const struct config_setup *s = setup_line(l);
    if (a->error)
        log_write(LOG_AT_WARNING, "btraced: %s:%u: 0x%08" PRIx32 " cannot be %s%s\n",
                  l->config->path, s->line, s->address, what,
                  live_is_remote(l) ? " through the target's GDB server" : "");
    l->setup++;
    setup_next_line(l);
}

static void on_setup_written(void *ctx, const struct target_answer *a)
{
    if (look_goes_on(ctx, a))
        setup_end_line(ctx, a, "written");
}

/* Registers are words of the core's byte order, as GDB's memory packets carry them. */
static void setup_write_word(struct live *l, uint32_t value)
{
    uint8_t bytes[4];
    bytes_set_number(bytes, sizeof bytes, has_big_words(l), value);
    look_ask(l,
             &(struct target_request){.kind = TARGET_WRITE_MEMORY,
                                      .address = setup_line(l)->address,
                                      .length = 4,
                                      .bytes = bytes},
             on_setup_written);
}

static void on_setup_read(void *ctx, const struct target_answer *a)
{
    struct live *l = ctx;
    const struct config_setup *s = setup_line(l);
    if (!look_goes_on(l, a))
        return;
    if (a->error || a->length != 4) {
        setup_end_line(l, &(struct target_answer){.error = BT_ERR_RANGE}, "read");
        return;
    }
    uint32_t word = (uint32_t)bytes_number(a->bytes, 4, has_big_words(l));
    setup_write_word(l, s->how == CONFIG_SETUP_SET ? word | s->value : word & ~s->value);
}

static void setup_read_word(struct live *l)
{
    const struct target_request r = look_at_memory(0, setup_line(l)->address, 4);
    look_ask(l, &r, on_setup_read);
}

static void setup_next_line(struct live *l)
{
    if (l->setup >= l->config->setup_count)
        live_units_prepare(l, read_first_regs);
    else if (setup_line(l)->how == CONFIG_SETUP_WRITE)
        setup_write_word(l, setup_line(l)->value);
    else
        setup_read_word(l);
}

static struct live_patch *code_new_patch(struct live *l, uint64_t address, const uint8_t *bytes,
                                         size_t size)
{
    struct live_code *code = &l->code;
    if (code->bytes + size > CODE_BYTES_MAX) {
        if (!code->full)
            log_write(LOG_AT_WARNING,
                      "btraced: more than %u MB of code beside the program file: what "
                      "is written from now on is not followed\n",
                      CODE_BYTES_MAX >> 20);
        code->full = true;
        return NULL;
    }
    struct live_patch *p = malloc(sizeof *p + size);
    if (!p)
        return NULL;
    p->next = NULL;
    p->address = address;
    p->size = size;
    memcpy(p->bytes, bytes, size);
    code->bytes += size;
    return p;
}

static bool code_is_known(const struct live *l, uint64_t address, const uint8_t *bytes, size_t len)
{
    const struct code_image *image = &l->cores[0].image;
    uint8_t known[CODE_PIECE];
    struct code_key key;
    code_key_init(&key);
    key.generation = image->generation;
    for (size_t at = 0; at < len;) {
        size_t n = code_image_read(image, &key, address + at, known, len - at);
        if (n == 0 || memcmp(known, bytes + at, n) != 0)
            return false;
        at += n;
    }
    return true;
}

static void code_note_written(struct live *l, uint64_t address, const uint8_t *bytes, size_t len)
{
    if (len == 0 || len > CODE_PIECE || (!l->code.pending && code_is_known(l, address, bytes, len)))
        return;
    struct live_patch *p = code_new_patch(l, address, bytes, len);
    if (!p)
        return;
    struct live_patch **last = &l->code.pending;
    while (*last)
        last = &(*last)->next;
    *last = p;
}

/* A piece that is being read back. */
struct code_question {
    struct live *live;
    uint64_t address;
};

static void on_code_written(void *ctx, const struct target_answer *a)
{
    struct code_question *q = ctx;
    code_note_written(q->live, q->address, a->bytes, a->length);
    free(q);
}

static void code_read_back(struct live *l, uint64_t address, size_t length)
{
    struct code_question *q = malloc(sizeof *q);
    if (!q)
        return;
    *q = (struct code_question){l, address};
    if (live_read_memory(l, 0, address, length, on_code_written, q))
        free(q);
}

void live_code_written(struct live *l, uint64_t address, const uint8_t *bytes, uint64_t length)
{
    for (uint64_t at = 0; at < length; at += CODE_PIECE) {
        size_t n = length - at < CODE_PIECE ? (size_t)(length - at) : CODE_PIECE;
        if (bytes)
            code_note_written(l, address + at, bytes + at, n);
        else
            code_read_back(l, address + at, n);
    }
}

static void code_add_patch(struct live *l, const struct live_patch *p, bool new_code)
{
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct code_image *image = &l->cores[i].image;
        struct code_region region = {.address = p->address,
                                     .size = p->size,
                                     .bytes = p->bytes,
                                     .generation = new_code ? image->generation : 0};
        code_image_add(image, &region);
    }
}

void live_code_commit(struct live *l)
{
    if (!l->code.pending)
        return;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++)
        code_image_new_generation(&l->cores[i].image);
    while (l->code.pending) {
        struct live_patch *p = l->code.pending;
        l->code.pending = p->next;
        code_add_patch(l, p, true);
        p->next = l->code.known;
        l->code.known = p;
    }
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct history *h = l->pipeline ? live_history(l, (int)i) : NULL;
        if (h)
            history_set_generation(h, l->cores[i].image.generation);
    }
    pipeline_unlock(l->pipeline);
}

static bool code_page_asked(const struct live_code *code, uint64_t page)
{
    for (size_t i = 0; i < code->page_count; i++)
        if (code->pages[i] == page)
            return true;
    return false;
}

static void code_want_page(struct live_code *code, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(LIVE_CODE_PAGE - 1);
    size_t fresh = code->page_count - code->first_new;
    if (code->page_count < LIVE_CODE_PAGES && fresh < CODE_NEW_MAX && !code_page_asked(code, page))
        code->pages[code->page_count++] = page;
}

/* Pages that the ledgers name; an instruction may reach into the next one. */
static void code_look_for_missing(struct live *l)
{
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct gap_entry *gaps;
        struct history *h = live_history(l, (int)i);
        size_t n = h ? history_gaps(h, &gaps) : 0;
        for (size_t g = 0; g < n; g++) {
            if (gaps[g].cause != BT_GAP_NO_CODE || !gaps[g].has_address)
                continue;
            code_want_page(&l->code, gaps[g].address);
            code_want_page(&l->code, gaps[g].address + 2);
        }
    }
    pipeline_unlock(l->pipeline);
}

static void code_decode_again(struct live *l)
{
    live_snapshot_renumbered(l);
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct history *h = live_history(l, (int)i);
        if (h && history_again(h) != BT_OK)
            log_write(LOG_AT_WARNING, "btraced: no memory to decode the history again\n");
    }
    pipeline_unlock(l->pipeline);
}

/* Erased or unused memory, or what reads as zero because nothing is there: bytes that are all
 * alike. It has no end that a walk through it would find, and each page would ask for the next. */
static bool page_holds_nothing(const uint8_t *bytes, size_t len)
{
    return len > 1 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static void code_next_round(struct live *l);
static void record_halt(struct live *l);

static uint64_t code_piece_address(const struct live_code *code)
{
    return code->pages[code->first_new] + code->piece;
}

static void on_code_page(void *ctx, const struct target_answer *a)
{
    struct live *l = ctx;
    struct live_code *code = &l->code;
    if (!look_goes_on(l, a))
        return;
    bool wanted = a->length && !page_holds_nothing(a->bytes, a->length);
    struct live_patch *p =
        wanted ? code_new_patch(l, code_piece_address(code), a->bytes, a->length) : NULL;
    if (p) {
        pipeline_lock(l->pipeline);
        code_add_patch(l, p, false);
        pipeline_unlock(l->pipeline);
        p->next = code->known;
        code->known = p;
        code->found = true;
    }
    code->piece += CODE_PIECE;
    if (code->piece == LIVE_CODE_PAGE) {
        code->piece = 0;
        code->first_new++;
    }
    code_next_round(l);
}

static int code_ask_piece(struct live *l)
{
    const struct target_request r = look_at_memory(0, code_piece_address(&l->code), CODE_PIECE);
    return look_try(l, &r, on_code_page);
}

/* The time for this stop is over: what was not asked for yet is left to the next one. */
static void code_mind_the_time(struct live *l)
{
    struct live_code *code = &l->code;
    if (uv_hrtime() < code->until)
        return;
    if (!code->late)
        log_write(LOG_AT_WARNING,
                  "btraced: after %u s not all code that the trace went through has been read: "
                  "what is missing is a gap in the history, and the next halt goes on reading\n",
                  LIVE_CODE_MS / 1000);
    code->late = true;
    code->rounds = CODE_ROUNDS_MAX;
    size_t begun = code->first_new + (code->piece > 0);
    if (code->page_count > begun)
        code->page_count = begun;
}

/* Asks for the next piece; when there is none, decodes with what was found and looks again. */
static void code_next_round(struct live *l)
{
    struct live_code *code = &l->code;
    for (;;) {
        code_mind_the_time(l);
        if (code->first_new < code->page_count && code_ask_piece(l) == BT_OK)
            return;
        code->first_new = code->page_count;
        code->piece = 0;
        if (code->found)
            code_decode_again(l);
        code->found = false;
        if (code->rounds++ < CODE_ROUNDS_MAX)
            code_look_for_missing(l);
        if (code->first_new == code->page_count)
            break;
    }
    record_halt(l);
}

static void code_complete(struct live *l)
{
    if (!l->pipeline) {
        record_halt(l);
        return;
    }
    l->code.rounds = 0;
    l->code.until = uv_hrtime() + (uint64_t)LIVE_CODE_MS * 1000000;
    code_next_round(l);
}

static void code_free_patches(struct live_patch *p)
{
    while (p) {
        struct live_patch *next = p->next;
        free(p);
        p = next;
    }
}

void live_code_release(struct live *l)
{
    code_free_patches(l->code.known);
    code_free_patches(l->code.pending);
}

static void record_next_core(struct live *l);

static void record_put(struct live *l, const struct recorder_state *state)
{
    const struct target_regs *regs = &l->cores[l->record.core].regs;
    uv_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_halted(l->recorder, l->record.core, regs->value[TARGET_REG_PC],
                        (uint32_t)regs->value[TARGET_REG_PSR], state);
    uv_mutex_unlock(&l->lock);
    l->record.core++;
    record_next_core(l);
}

static void record_next_piece(struct live *l);

/* What was popped last still lies below SP; where nothing can be read there the stack is empty. */
static void on_record_stack(void *ctx, const struct target_answer *a)
{
    struct live *l = ctx;
    struct recorder_state *s = &l->record.state;
    if (!look_goes_on(l, a))
        return;
    bool below = l->record.piece++ == 0, all = a->length == STACK_PIECE;
    if (below && !all) {
        s->stack = s->regs[TARGET_REG_SP] & ~3u;
    } else if (a->length) {
        memcpy(s->memory + s->length, a->bytes, a->length);
        s->length += (uint32_t)a->length;
    }
    if (below || all)
        record_next_piece(l);
    else
        record_put(l, s);
}

static void record_next_piece(struct live *l)
{
    struct recorder_state *s = &l->record.state;
    uint32_t at = s->stack + s->length;
    const struct target_request r =
        look_at_memory(live_thread(&l->cores[l->record.core]), at, STACK_PIECE);
    if (l->record.piece < STACK_PIECES && at <= UINT32_MAX - STACK_PIECE)
        look_ask(l, &r, on_record_stack);
    else
        record_put(l, s);
}

static void on_record_regs(void *ctx, const struct target_answer *a)
{
    struct live *l = ctx;
    struct recorder_state *s = &l->record.state;
    const uint32_t all = (1u << (TARGET_REG_LR + 1)) - 1;
    if (!look_goes_on(l, a))
        return;
    if (a->error || (a->regs->known & all) != all) {
        record_put(l, NULL);
        return;
    }
    for (unsigned i = 0; i <= TARGET_REG_LR; i++)
        s->regs[i] = (uint32_t)a->regs->value[i];
    uint32_t sp = s->regs[TARGET_REG_SP] & ~3u;
    s->stack = sp > STACK_PIECE ? sp - STACK_PIECE : sp;
    s->length = 0;
    l->record.piece = sp > STACK_PIECE ? 0 : 1;
    if (live_may_be_stack(&l->cores[l->record.core], sp))
        record_next_piece(l);
    else
        record_put(l, s);
}

static void record_next_core(struct live *l)
{
    while (l->record.core < l->config->core_count &&
           !(l->cores[l->record.core].regs.known >> TARGET_REG_PC & 1))
        l->record.core++;
    const struct live_core *c = &l->cores[l->record.core];
    if (l->record.core >= l->config->core_count)
        look_done(l);
    else if (live_is_a64(c))
        record_put(l, NULL);
    else {
        const struct target_request r = look_at_regs(live_thread(c), TARGET_REGISTERS_CORE);
        look_ask(l, &r, on_record_regs);
    }
}

static void record_halt(struct live *l)
{
    live_join_judge(l);
    l->record.core = l->recorder ? 0 : l->config->core_count;
    record_next_core(l);
}

static void read_next_regs(struct live *l);

static void on_halted_regs(void *ctx, const struct target_answer *a)
{
    struct live *l = ctx;
    if (!look_goes_on(l, a))
        return;
    if (!a->error)
        l->cores[l->reading].regs = *a->regs;
    l->reading++;
    read_next_regs(l);
}

/* A core that the target does not have is an error. */
static void read_next_regs(struct live *l)
{
    if (l->reading == l->config->core_count) {
        if (!live_join_waits(l))
            code_complete(l);
        return;
    }
    const struct target_request r =
        look_at_regs(live_thread(&l->cores[l->reading]), TARGET_REGISTERS_PC);
    look_ask(l, &r, on_halted_regs);
}

static void read_first_regs(struct live *l)
{
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].regs.known = 0;
    l->reading = 0;
    read_next_regs(l);
}

/* Once for each start of the target, then at every halt: its registers. */
void live_look(struct live *l)
{
    if (!target_is_ready(l->target))
        return;
    l->halt = LIVE_HALT_LOOKING;
    target_hold_clients(l->target, true);
    setup_next_line(l);
}

/* Everything about this halt is known that can be. */
static void look_done(struct live *l)
{
    bool again = l->halt == LIVE_HALT_LOOK_AGAIN;
    if (l->halt != LIVE_HALT_DRAINING)
        l->halt = LIVE_HALT_IDLE;
    if (again)
        live_look(l);
    else
        l->known(l);
}

void live_look_again(struct live *l)
{
    if (l->halt == LIVE_HALT_LOOKING)
        l->halt = LIVE_HALT_LOOK_AGAIN;
    else if (l->halt == LIVE_HALT_IDLE)
        live_look(l);
}
