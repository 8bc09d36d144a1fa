/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/protocols/source_device.h"

#include <stdlib.h>
#include <strings.h>

/* Registers of the device, behind SCTLR, which is the core's alone. */
static size_t copy_registers(const struct snapshot_device *device,
                             const struct snapshot_device *core, struct bt_register *out)
{
    size_t count = 0;
    uint64_t sctlr;
    if (core && snapshot_reg(core, "SCTLR", &sctlr) == BT_OK)
        out[count++] = (struct bt_register){"SCTLR", sctlr};
    for (size_t i = 0; i < device->reg_count; i++)
        if (strcasecmp(device->regs[i].name, "SCTLR") != 0)
            out[count++] = (struct bt_register){device->regs[i].name, device->regs[i].value};
    return count;
}

int source_device_configure(const struct source_protocol *protocol,
                            const struct snapshot_device *device,
                            const struct snapshot_device *core, struct stream_config *config,
                            unsigned *trace_id, struct message *why)
{
    struct bt_register *registers = calloc(device->reg_count + 1, sizeof *registers);
    if (!registers)
        return message_fail(why, BT_ERR_NOMEM, "%s: out of memory", device->path);
    const struct bt_source source = {.name = device->name,
                                     .type = device->type,
                                     .core = core ? core->type : NULL,
                                     .registers = registers,
                                     .register_count = copy_registers(device, core, registers)};
    int error = protocol->configure(&source, config, trace_id, why->text, sizeof why->text);
    free(registers);
    if (error)
        message_set(why, "%s: %s", device->path, why->text);
    return error;
}
