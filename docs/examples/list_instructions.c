/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the instructions of a capture in the columns of `btraced decode --instructions`.
 *     cc list_instructions.c $(pkg-config --cflags --libs btrace)
 *     ./a.out PTM1.1 Cortex-A15 0 etb.bin ETMCR=0x30000400 ... code.bin@0x80010000
 * The third argument is a number of enum bt_framing, or - where there are no frames.
 */
#include <btrace/btrace.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct bt_decoder *decoder;
static unsigned trace_id;

static struct bt_region map_file(const char *path, uint64_t address)
{
    int fd = open(path, O_RDONLY);
    size_t size = (size_t)lseek(fd, 0, SEEK_END);
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        errx(1, "cannot read '%s'", path);
    return (struct bt_region){.address = address, .size = size, .bytes = bytes};
}

static void print(void *ctx, const struct bt_instruction *i)
{
    static const char *const conditions[] = {"", "pass", "fail"};
    printf("%s\t%" PRIu64 "\t0x%08" PRIx64 "\t%0*" PRIx32 "\t%u\t%s\t", (const char *)ctx,
           i->number + 1, i->address, 2 * i->size, i->opcode, i->size, bt_isa_name(i->isa));
    if (i->cycles != BT_NO_CYCLES)
        printf("%" PRIu64, i->cycles);
    printf("\t%s\t%s\n", conditions[i->condition], bt_instruction_text(decoder, i));
}

static void take_run(void *ctx, const struct bt_run *run)
{
    if (run->kind == BT_RUN_LOSS)
        bt_decoder_gap(ctx, BT_GAP_WIRE, 0);
    else if (run->kind == BT_RUN_DATA && run->id == trace_id)
        bt_decoder_feed(ctx, run->data, run->size);
}

int main(int argc, char **argv)
{
    struct bt_register registers[64];
    struct bt_image *image;
    struct bt_formatter *formatter = NULL;
    char why[256] = "usage: TYPE CORE FRAMES TRACE [REGISTER=VALUE]... [CODE@ADDRESS]...";
    if (argc < 5 || argc > 64 || bt_image_new(&image))
        errx(2, "%s", why);
    struct bt_source source = {.type = argv[1], .core = argv[2], .registers = registers};
    const struct bt_sink sink = {.instruction = print, .ctx = argv[2]};
    const struct bt_region trace = map_file(argv[4], 0);
    for (int a = 5; a < argc; a++) {
        bool code = strchr(argv[a], '@');
        const char *name = strtok(argv[a], "=@"), *number = strtok(NULL, "");
        uint64_t value = number ? strtoull(number, NULL, 0) : 0;
        const struct bt_region region = code ? map_file(name, value) : trace;
        if (!code)
            registers[source.register_count++] = (struct bt_register){name, value};
        else if (bt_image_add(image, &region))
            errx(1, "'%s' cannot be code", name);
    }
    if (bt_source_check(&source, &trace_id, why, sizeof why) ||
        bt_decoder_new(&source, image, &sink, NULL, &decoder))
        errx(1, "%s", why);
    if (*argv[3] == '-')
        bt_decoder_feed(decoder, trace.bytes, trace.size);
    else if (!bt_formatter_new(atoi(argv[3]), take_run, decoder, &formatter))
        bt_formatter_feed(formatter, trace.bytes, trace.size);
    bt_decoder_finish(decoder);
    bt_formatter_free(formatter);
    bt_decoder_free(decoder);
    bt_image_free(image);
}
