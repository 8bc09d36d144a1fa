/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts how often functions were entered, in a trace without frames:
 *     cc count_functions.c $(pkg-config --cflags --libs btrace)
 *     nm -n --defined-only program.elf | grep -i ' t [^$]' >symbols
 *     ./a.out ETM3.5 Cortex-M4 symbols code.bin 0x08000000 ETMCR=0x00000d80 ... <trace.bin
 */
#include <btrace/btrace.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct function {
    uint64_t address, count;
    char name[64];
} functions[10001];
static size_t function_count;

static int compare(const void *a, const void *b)
{
    const struct function *f = a, *g = b;
    return f->address < g->address ? -1 : f->address > g->address;
}

/* A function is entered at its first instruction, unless a branch of its own went back there. */
static void take(void *ctx, const struct bt_instruction *i)
{
    static struct bt_instruction before;
    const struct function key = {.address = i->address};
    struct function *f = bsearch(&key, functions, function_count, sizeof key, compare);
    bool own = before.address >= i->address && f && before.address < f[1].address;
    if (f && !(own && before.flags == BT_INSTRUCTION_BRANCH))
        f->count++;
    before = *i;
    (void)ctx;
}

static void check(int error, const char *what)
{
    if (error)
        errx(1, "%s: %s", what, bt_strerror(error));
}

int main(int argc, char **argv)
{
    static uint8_t code[16 << 20], trace[65536];
    struct bt_register registers[64];
    const struct bt_sink sink = {.instruction = take};
    struct bt_image *image;
    struct bt_decoder *decoder;
    FILE *symbols = argc > 6 && argc < 64 ? fopen(argv[3], "r") : NULL;
    FILE *program = symbols ? fopen(argv[4], "rb") : NULL;
    if (!program)
        errx(2, "usage: TYPE CORE SYMBOLS CODE ADDRESS REGISTER=VALUE... <TRACE");
    for (struct function *f = functions; function_count < 10000; f = &functions[++function_count])
        if (fscanf(symbols, "%" SCNx64 " %*c %63s", &f->address, f->name) != 2)
            break;
    functions[function_count].address = UINT64_MAX;
    struct bt_source source = {.type = argv[1], .core = argv[2], .registers = registers};
    for (int a = 6; a < argc; a++) {
        const char *name = strtok(argv[a], "="), *value = strtok(NULL, "");
        registers[source.register_count++] =
            (struct bt_register){name, value ? strtoull(value, NULL, 0) : 0};
    }
    struct bt_region region = {.address = strtoull(argv[5], NULL, 0), .bytes = code};
    region.size = fread(code, 1, sizeof code, program);
    check(bt_image_new(&image), "image");
    check(bt_image_add(image, &region), argv[4]);
    check(bt_decoder_new(&source, image, &sink, NULL, &decoder), argv[1]);
    for (size_t n; (n = fread(trace, 1, sizeof trace, stdin)) > 0;)
        check(bt_decoder_feed(decoder, trace, n), "trace");
    check(bt_decoder_finish(decoder), "trace");
    for (size_t i = 0; i < function_count; i++)
        if (functions[i].count)
            printf("%10" PRIu64 " %s\n", functions[i].count, functions[i].name);
    bt_decoder_free(decoder);
    bt_image_free(image);
}
