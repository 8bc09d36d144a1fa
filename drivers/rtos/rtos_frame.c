/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers of a task that is switched out: those that the exception pushed (DDI 0403E.e, B1.5.6
 * and B1.5.7), and those that the kernel's PendSV handler did. The handler's store of s16-s31 ends
 * what was lazy about the frame: all of it is there.
 */
#include "rtos_internal.h"

#include "drivers/elf/elf_image.h"

#include <string.h>

#define HANDLER_BYTES 128

#define FRAME_WORDS    8
#define EXTENDED_WORDS 26 /* and s0-s15, FPSCR, one that is reserved */
#define SAVED_WORDS    8  /* r4-r11 */
#define SAVED_FLOATS   16 /* s16-s31 */

#define PSR_THUMB   (1u << 24)
#define PSR_PADDED  (1u << 9)
#define PSR_HANDLER 0x1ffu

/* EXC_RETURN: thread mode and PSP (DDI 0403E.e, B1.5.8), and that r4-r11 are left to the handler.
 */
#define RETURN_MASK  0xacu
#define RETURN_TASK  0xacu
#define RETURN_BASIC (1u << 4)

/* Stores that tell a port, as halfwords. */
struct port_store {
    uint16_t first, second;
    enum rtos_port port;
};

static const struct port_store port_stores[] = {
    {0xe920, 0x0ff0, RTOS_PORT_R4},        /* stmdb r0!, {r4-r11} */
    {0xc0f0, 0x4644, RTOS_PORT_R4},        /* stmia r0!, {r4-r7}; mov r4, r8 */
    {0xe920, 0x4ff0, RTOS_PORT_R4_LR},     /* stmdb r0!, {r4-r11, lr} */
    {0xe920, 0x0ffc, RTOS_PORT_PSPLIM_LR}, /* stmdb r0!, {r2-r11} */
    {0xf84c, 0xed04, RTOS_PORT_LR},        /* str lr, [r12, #-4]! */
};

const uint8_t *rtos_image_bytes(const struct elf_image *image, uint64_t address, size_t *size)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *s = &image->segments[i];
        if (address < s->vaddr || address - s->vaddr >= s->file_size)
            continue;
        uint64_t left = s->file_size - (address - s->vaddr);
        *size = left < HANDLER_BYTES ? (size_t)left : HANDLER_BYTES;
        return s->data + (address - s->vaddr);
    }
    return NULL;
}

/* Code that has stores of two ports is of neither. */
static enum rtos_port code_port(const uint8_t *code, size_t size)
{
    enum rtos_port port = RTOS_PORT_UNKNOWN;
    for (size_t at = 0; at + 4 <= size; at += 2) {
        unsigned first = code[at] | (unsigned)code[at + 1] << 8;
        unsigned second = code[at + 2] | (unsigned)code[at + 3] << 8;
        for (size_t i = 0; i < sizeof port_stores / sizeof *port_stores; i++) {
            if (first != port_stores[i].first || second != port_stores[i].second)
                continue;
            if (port != RTOS_PORT_UNKNOWN && port != port_stores[i].port)
                return RTOS_PORT_UNKNOWN;
            port = port_stores[i].port;
        }
    }
    return port;
}

enum rtos_port rtos_port_of(const struct elf_image *image, const char *const *handlers)
{
    for (; *handlers; handlers++) {
        const struct elf_symbol *s = elf_image_find(image, *handlers);
        size_t size = 0;
        const uint8_t *code = s ? rtos_image_bytes(image, s->address, &size) : NULL;
        if (code)
            return code_port(code, size);
    }
    return RTOS_PORT_UNKNOWN;
}

static void frame_set(struct rtos_task *t, unsigned reg, uint32_t value)
{
    t->regs.value[reg] = value;
    t->regs.known |= 1u << reg;
}

static void frame_forget(struct rtos_task *t)
{
    memset(&t->regs, 0, sizeof t->regs);
    t->damaged = true;
}

/* `count` words from `address` on, as registers `reg` and those behind it. */
static int frame_core(const struct rtos_walk *w, uint32_t address, unsigned reg, unsigned count,
                      struct rtos_task *t)
{
    int error = BT_OK;
    for (unsigned i = 0; !error && i < count; i++) {
        uint32_t value;
        error = rtos_read_word(w, address + 4 * i, &value);
        frame_set(t, reg + i, value);
    }
    return error;
}

static int frame_floats(const struct rtos_walk *w, uint32_t address, unsigned reg, unsigned count,
                        struct rtos_task *t)
{
    int error = BT_OK;
    for (unsigned i = 0; !error && i < count; i++) {
        error = rtos_read_word(w, address + 4 * i, &t->regs.s[reg + i]);
        t->regs.s_known |= 1u << (reg + i);
    }
    return error;
}

/* A stack pointer that leads nowhere is damage of this task alone. */
static int frame_outcome(const struct rtos_walk *w, int error, struct rtos_task *t)
{
    if (error >= 0)
        return error;
    w->out->note[0] = '\0';
    frame_forget(t);
    return BT_OK;
}

static bool frame_is_task(uint32_t exc_return)
{
    return (exc_return & RETURN_MASK) == RETURN_TASK;
}

int rtos_frame_exception(const struct rtos_walk *w, uint32_t frame, bool known, uint32_t exc_return,
                         struct rtos_task *t)
{
    static const uint8_t regs[FRAME_WORDS] = {0, 1, 2, 3, 12, 14, 15, 16};
    bool extended = known && !(exc_return & RETURN_BASIC);
    int error = BT_OK;
    if (frame % 4 != 0 || (known && !frame_is_task(exc_return))) {
        frame_forget(t);
        return BT_OK;
    }
    for (unsigned i = 0; !error && i < FRAME_WORDS; i++)
        error = frame_core(w, frame + 4 * i, regs[i], 1, t);
    if (!error && extended)
        error = frame_floats(w, frame + 4 * FRAME_WORDS, 0, 16, t);
    if (!error && extended)
        error = rtos_read_word(w, frame + 4 * (FRAME_WORDS + 16), &t->regs.fpscr);
    if (error)
        return frame_outcome(w, error, t);
    uint32_t psr = t->regs.value[16];
    if (!(psr & PSR_THUMB) || (psr & PSR_HANDLER)) {
        frame_forget(t);
        return BT_OK;
    }
    uint32_t words = extended ? EXTENDED_WORDS : FRAME_WORDS;
    if (known)
        frame_set(t, 13, frame + 4 * words + (psr & PSR_PADDED ? 4 : 0));
    frame_set(t, 16, psr & ~PSR_PADDED);
    return BT_OK;
}

int rtos_frame_read(const struct rtos_walk *w, uint32_t stack, struct rtos_task *t)
{
    enum rtos_port port = w->rtos->port;
    uint32_t exc_return = RETURN_TASK | RETURN_BASIC, at = stack, saved = stack, floats = stack;
    int error = BT_OK;
    if (port == RTOS_PORT_UNKNOWN || stack % 4 != 0 || stack == 0) {
        t->damaged = port != RTOS_PORT_UNKNOWN;
        return BT_OK;
    }
    if (port == RTOS_PORT_R4_LR)
        at += 4 * SAVED_WORDS;
    if (port == RTOS_PORT_PSPLIM_LR)
        at += 4;
    if (port != RTOS_PORT_R4) {
        error = rtos_read_word(w, at, &exc_return);
        at += 4;
        if (!error && exc_return >> 8 != 0xffffff)
            exc_return = 0;
    }
    if (port == RTOS_PORT_R4 || port == RTOS_PORT_PSPLIM_LR) {
        saved = at;
        at += 4 * SAVED_WORDS;
    }
    floats = at;
    if (!(exc_return & RETURN_BASIC))
        at += 4 * SAVED_FLOATS;
    if (port == RTOS_PORT_LR) {
        saved = at;
        at += 4 * SAVED_WORDS;
    }
    if (error)
        return frame_outcome(w, error, t);
    if (!frame_is_task(exc_return)) {
        frame_forget(t);
        return BT_OK;
    }
    error = frame_core(w, saved, 4, SAVED_WORDS, t);
    if (!error && !(exc_return & RETURN_BASIC))
        error = frame_floats(w, floats, 16, SAVED_FLOATS, t);
    return error ? frame_outcome(w, error, t) : rtos_frame_exception(w, at, true, exc_return, t);
}
