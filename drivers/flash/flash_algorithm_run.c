/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/flash/flash_algorithm_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETURN_SIZE   8u /* the BKPT to which functions return, in front of the code */
#define STACK_WANTED  4096u
#define STACK_LEAST   512u
#define ALIGN         8u
#define SETUP_MS      3000u /* for Init and UnInit */
#define DEFAULT_MS    3000u /* where the file does not say */
#define CHIP_MS       300000u
#define SLACK_MS      500u /* for the way to the core and back */
#define POLL_SLEEP_US 200u
#define XPSR_THUMB    0x01000000u
#define STATIC_BASE   9u /* register */
#define CLOCK_UNKNOWN 0u

static const uint8_t RETURN_CODE[RETURN_SIZE] = {0x00, 0xbe, 0x00, 0xbe, 0x00, 0xbe, 0x00, 0xbe};

static int flash_fail(struct flash_run *run, enum flash_failure failure, int error)
{
    if (error != 0)
        run->failure = failure;
    return error;
}

/* A failure of the core's driver; its words are kept, since what follows may fail too. */
static int core_failed(struct flash_run *run, int error)
{
    if (error == 0)
        return 0;
    cortex_m_describe(run->core, run->cause, sizeof run->cause);
    return flash_fail(run, FLASH_FAIL_CORE, error);
}

static uint64_t flash_now(const struct flash_run *run)
{
    return debug_now(&run->core->ap->dp->clock);
}

static uint32_t flash_aligned(uint32_t size)
{
    return (size + ALIGN - 1) & ~(ALIGN - 1);
}

int flash_run_init(struct flash_run *run, const struct flash_algorithm *algorithm,
                   struct cortex_m *core, uint32_t ram_start, uint32_t ram_size)
{
    uint32_t page = flash_aligned(algorithm->page_size);
    uint32_t fixed = RETURN_SIZE + flash_aligned(algorithm->image_size) + page;
    *run = (struct flash_run){.algorithm = algorithm, .core = core, .ram_start = ram_start};
    if (ram_start % ALIGN != 0 || (ram_size != 0 && ram_size - 1 > UINT32_MAX - ram_start))
        return flash_fail(run, FLASH_FAIL_PLACE, BT_ERR_INVAL);
    ram_size &= ~(ALIGN - 1);
    run->result = fixed + STACK_LEAST;
    if (ram_size < run->result)
        return flash_fail(run, FLASH_FAIL_RAM, BT_ERR_RANGE);
    bool both = ram_size - fixed >= page + STACK_LEAST;
    uint32_t left = ram_size - fixed - (both ? page : 0);
    run->code = ram_start + RETURN_SIZE;
    run->stack = run->code + flash_aligned(algorithm->image_size) +
                 (left < STACK_WANTED ? left : STACK_WANTED);
    run->buffers[0] = run->stack;
    run->buffers[1] = both ? run->stack + page : run->stack;
    run->page = malloc(algorithm->page_size);
    return run->page ? 0 : BT_ERR_NOMEM;
}

void flash_run_release(struct flash_run *run)
{
    free(run->page);
    run->page = NULL;
}

static int flash_place(struct flash_run *run)
{
    struct cortex_m *core = run->core;
    struct target_core_status status;
    int error = core_failed(run, cortex_m_status(core, &status));
    if (error != 0 || run->placed)
        return error;
    if (status.state != TARGET_CORE_HALTED)
        return flash_fail(run, FLASH_FAIL_RUNNING, BT_ERR_INVAL);
    if (core->software_count > 0)
        return flash_fail(run, FLASH_FAIL_BREAKPOINTS, BT_ERR_INVAL);
    error = cortex_m_read_all(core, run->registers);
    if (error == 0)
        error = cortex_m_write_memory(core, run->ram_start, RETURN_CODE, RETURN_SIZE);
    if (error == 0)
        error = cortex_m_write_memory(core, run->code, run->algorithm->image,
                                      run->algorithm->image_size);
    /* A fault is told at once, not when the time is over. */
    run->catch_before = core->catch;
    if (error == 0)
        error = cortex_m_vector_catch(core, core->catch | CORTEX_M_CATCH_HARDFAULT);
    run->placed = error == 0;
    return core_failed(run, error);
}

static uint32_t time_for(const struct flash_algorithm *a, enum flash_function function)
{
    switch (function) {
    case FLASH_ERASE_SECTOR:
        return a->erase_ms != 0 ? a->erase_ms : DEFAULT_MS;
    case FLASH_PROGRAM_PAGE:
        return a->program_ms != 0 ? a->program_ms : DEFAULT_MS;
    case FLASH_ERASE_CHIP:
        return CHIP_MS;
    default:
        return SETUP_MS;
    }
}

/* Let the function run with these arguments. */
static int flash_call(struct flash_run *run, enum flash_function function,
                      const uint32_t arguments[3])
{
    const struct flash_algorithm *a = run->algorithm;
    const struct {
        unsigned reg;
        uint32_t value;
    } list[] = {
        {0, arguments[0]},           {1, arguments[1]},
        {2, arguments[2]},           {STATIC_BASE, run->code + a->static_base},
        {CORTEX_M_CONTROL, 0}, /* the main stack, privileged */
        {CORTEX_M_PRIMASK, 1}, /* no interrupt handlers of the program */
        {CORTEX_M_SP, run->stack},   {CORTEX_M_LR, run->ram_start | 1},
        {CORTEX_M_XPSR, XPSR_THUMB}, {CORTEX_M_PC, run->code + a->functions[function]},
    };
    int error = 0;
    run->function = function;
    run->address = arguments[0];
    for (size_t k = 0; error == 0 && k < sizeof list / sizeof *list; k++)
        error = cortex_m_write_register(run->core, list[k].reg, list[k].value);
    if (error == 0)
        error = cortex_m_resume(run->core);
    run->called = error == 0;
    run->deadline = flash_now(run) + (uint64_t)1000 * (time_for(a, function) + (uint64_t)SLACK_MS);
    return core_failed(run, error);
}

/* It stopped elsewhere: a fault, most likely. */
static int flash_crashed(struct flash_run *run, const struct target_core_status *status)
{
    struct cortex_m_exception exception;
    char text[128] = "";
    run->called = false;
    if (cortex_m_exception(run->core, &exception) == 0)
        cortex_m_exception_text(&exception, text, sizeof text);
    if (text[0] == '\0')
        snprintf(run->cause, sizeof run->cause, "it stopped at 0x%08x", (unsigned)status->pc);
    else
        snprintf(run->cause, sizeof run->cause, "%s", text);
    return flash_fail(run, FLASH_FAIL_CRASHED, BT_ERR_IO);
}

static int too_late(struct flash_run *run)
{
    run->called = false;
    snprintf(run->cause, sizeof run->cause, "%u ms",
             (unsigned)time_for(run->algorithm, run->function));
    int error = core_failed(run, cortex_m_halt(run->core));
    return error != 0 ? error : flash_fail(run, FLASH_FAIL_TIME, BT_ERR_IO);
}

/* One look at a function that runs: *ended. */
static int flash_look(struct flash_run *run, bool *ended)
{
    struct target_core_status status;
    bool late = flash_now(run) > run->deadline;
    *ended = false;
    int error = core_failed(run, cortex_m_status(run->core, &status));
    if (error != 0)
        return error;
    if (status.state == TARGET_CORE_HALTED && status.pc == run->ram_start)
        *ended = true;
    else if (status.state == TARGET_CORE_HALTED &&
             (status.reason == TARGET_HALT_HWBREAK || status.reason == TARGET_HALT_WATCH))
        error = core_failed(run, cortex_m_resume(run->core)); /* the user's; not now */
    else if (status.state == TARGET_CORE_HALTED || status.state == TARGET_CORE_LOCKUP)
        return flash_crashed(run, &status);
    return error == 0 && !*ended && late ? too_late(run) : error;
}

/* Until the function that was called has returned; no function: no effect. */
static int flash_finish(struct flash_run *run)
{
    const struct debug_clock *clock = &run->core->ap->dp->clock;
    bool ended = false;
    int error = 0;
    if (!run->called)
        return 0;
    while (error == 0 && !ended) {
        error = flash_look(run, &ended);
        if (error == 0 && !ended)
            debug_sleep(clock, POLL_SLEEP_US);
    }
    run->called = false;
    if (error == 0)
        error = core_failed(run, cortex_m_read_register(run->core, 0, &run->result));
    if (error == 0 && run->result != 0)
        error = flash_fail(run, FLASH_FAIL_RETURNED, BT_ERR_IO);
    return error;
}

static int call_and_finish(struct flash_run *run, enum flash_function function, uint32_t first,
                           uint32_t second, uint32_t third)
{
    int error = flash_finish(run);
    if (error == 0)
        error = flash_call(run, function, (const uint32_t[3]){first, second, third});
    return error == 0 ? flash_finish(run) : error;
}

/* The next page is written into RAM while the one before is still programmed. */
static int flush_page(struct flash_run *run)
{
    const struct flash_algorithm *a = run->algorithm;
    uint32_t left = a->size - (run->page_address - a->start); /* the last page may be shorter */
    uint32_t size = a->page_size < left ? a->page_size : left;
    uint32_t buffer = run->buffers[run->next_buffer];
    bool both = run->buffers[0] != run->buffers[1];
    if (!run->page_used)
        return 0;
    run->page_used = false;
    int error = both ? 0 : flash_finish(run);
    if (error == 0)
        error = core_failed(run, cortex_m_write_memory(run->core, buffer, run->page, size));
    if (error == 0)
        error = flash_finish(run);
    if (error == 0)
        error = flash_call(run, FLASH_PROGRAM_PAGE,
                           (const uint32_t[3]){run->page_address, size, buffer});
    run->next_buffer ^= 1;
    return error;
}

static bool flash_inside(const struct flash_algorithm *a, uint32_t address, uint64_t length)
{
    uint32_t offset = address - a->start;
    return address >= a->start && offset < a->size && length <= a->size - offset;
}

int flash_run_program(struct flash_run *run, uint32_t address, const uint8_t *bytes, size_t length)
{
    const struct flash_algorithm *a = run->algorithm;
    int error = 0;
    run->address = address;
    if (run->purpose != FLASH_FOR_PROGRAM)
        return flash_fail(run, FLASH_FAIL_ORDER, BT_ERR_INVAL);
    if (!flash_inside(a, address, length))
        return flash_fail(run, FLASH_FAIL_OUTSIDE, BT_ERR_RANGE);
    while (error == 0 && length > 0) {
        uint32_t offset = (address - a->start) % a->page_size;
        size_t n = a->page_size - offset < length ? a->page_size - offset : length;
        if (run->page_used && run->page_address != address - offset)
            error = flush_page(run);
        if (!run->page_used)
            memset(run->page, a->empty, a->page_size);
        memcpy(run->page + offset, bytes, n);
        run->page_address = address - offset;
        run->page_used = error == 0;
        address += (uint32_t)n;
        bytes += n;
        length -= n;
    }
    return error;
}

int flash_run_erase(struct flash_run *run, uint32_t address, uint32_t length)
{
    int error = 0;
    run->address = address;
    if (run->purpose != FLASH_FOR_ERASE)
        return flash_fail(run, FLASH_FAIL_ORDER, BT_ERR_INVAL);
    if (!flash_inside(run->algorithm, address, length))
        return flash_fail(run, FLASH_FAIL_OUTSIDE, BT_ERR_RANGE);
    uint64_t end = (uint64_t)address + length;
    uint64_t at = address;
    while (error == 0 && at < end) {
        uint32_t start;
        uint32_t size;
        error = flash_fail(run, FLASH_FAIL_OUTSIDE,
                           flash_algorithm_sector(run->algorithm, (uint32_t)at, &start, &size));
        if (error == 0)
            error = call_and_finish(run, FLASH_ERASE_SECTOR, start, 0, 0);
        at = (uint64_t)start + size;
    }
    return error;
}

/* Begin and end. */

static int flash_uninit(struct flash_run *run)
{
    enum flash_purpose purpose = run->purpose;
    run->purpose = FLASH_FOR_NOTHING;
    if (purpose == FLASH_FOR_NOTHING)
        return 0;
    return call_and_finish(run, FLASH_UNINIT, purpose, 0, 0);
}

int flash_run_begin(struct flash_run *run, enum flash_purpose purpose)
{
    int error = 0;
    if (run->purpose == purpose)
        return 0;
    if (purpose != FLASH_FOR_ERASE && purpose != FLASH_FOR_PROGRAM && purpose != FLASH_FOR_VERIFY)
        return flash_fail(run, FLASH_FAIL_ORDER, BT_ERR_INVAL);
    error = flush_page(run);
    if (error == 0)
        error = flash_finish(run);
    if (error == 0)
        error = flash_place(run);
    if (error == 0)
        error = flash_uninit(run);
    if (error == 0)
        error = call_and_finish(run, FLASH_INIT, run->algorithm->start, CLOCK_UNKNOWN, purpose);
    run->purpose = error == 0 ? purpose : FLASH_FOR_NOTHING;
    return error;
}

static int flash_give_back(struct flash_run *run)
{
    static const uint8_t REGISTERS[] = {CORTEX_M_CONTROL, CORTEX_M_PRIMASK, CORTEX_M_MSP,
                                        CORTEX_M_PSP, CORTEX_M_XPSR};
    struct cortex_m *core = run->core;
    int error = cortex_m_halt(core);
    for (unsigned reg = 0; error == 0 && reg < CORTEX_M_XPSR; reg++) {
        if (reg != CORTEX_M_SP)
            error = cortex_m_write_register(core, reg, run->registers[reg]);
    }
    for (unsigned k = 0; error == 0 && k < sizeof REGISTERS; k++)
        error = cortex_m_write_register(core, REGISTERS[k], run->registers[REGISTERS[k]]);
    int catch = cortex_m_vector_catch(core, run->catch_before);
    return error != 0 ? error : catch;
}

int flash_run_end(struct flash_run *run)
{
    int first = flush_page(run);
    int error = flash_finish(run);
    first = first != 0 ? first : error;
    /* The first failure is the one to be told. */
    struct flash_run result = *run;
    error = flash_uninit(run);
    if (run->placed) {
        int back = core_failed(run, flash_give_back(run));
        error = error != 0 ? error : back;
    }
    run->placed = false;
    if (first == 0)
        return error;
    run->failure = result.failure;
    run->function = result.function;
    run->address = result.address;
    run->result = result.result;
    memcpy(run->cause, result.cause, sizeof run->cause);
    return first;
}

const char *flash_run_describe(const struct flash_run *run, char *text, size_t size)
{
    const char *name = flash_function_name(run->function);
    unsigned address = (unsigned)run->address;
    switch (run->failure) {
    case FLASH_FAIL_NONE:
        snprintf(text, size, "no failure");
        break;
    case FLASH_FAIL_CORE:
        snprintf(text, size, "%s", run->cause);
        break;
    case FLASH_FAIL_RETURNED:
        snprintf(text, size, "the flash algorithm reports error %u: %s(0x%08x)",
                 (unsigned)run->result, name, address);
        break;
    case FLASH_FAIL_TIME:
        snprintf(text, size, "the flash algorithm did not end within %s: %s(0x%08x)", run->cause,
                 name, address);
        break;
    case FLASH_FAIL_CRASHED:
        snprintf(text, size, "the flash algorithm crashed in %s(0x%08x): %s", name, address,
                 run->cause);
        break;
    case FLASH_FAIL_RAM:
        snprintf(text, size, "the flash algorithm needs %u bytes of RAM", (unsigned)run->result);
        break;
    case FLASH_FAIL_PLACE:
        snprintf(text, size, "the RAM has to begin at a multiple of 8 and end within 4 GB");
        break;
    case FLASH_FAIL_OUTSIDE:
        snprintf(text, size, "0x%08x is outside of the flash '%s'", address, run->algorithm->name);
        break;
    case FLASH_FAIL_BREAKPOINTS:
        snprintf(text, size, "remove the software breakpoints first");
        break;
    case FLASH_FAIL_RUNNING:
        snprintf(text, size, "halt the core first");
        break;
    case FLASH_FAIL_ORDER:
        snprintf(text, size, "flash programming was not begun");
        break;
    }
    return text;
}
