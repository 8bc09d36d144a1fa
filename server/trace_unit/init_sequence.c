/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/trace_unit/init_sequence.h"

int init_sequence_write(struct coresight_bus *bus, const struct config_setup *line)
{
    if (line->how == CONFIG_SETUP_WRITE)
        return coresight_write(bus, line->address, line->value);
    return coresight_modify(bus, line->address, line->value,
                            line->how == CONFIG_SETUP_SET ? line->value : 0);
}

void init_sequence_try(struct coresight_bus *bus, const struct config *config)
{
    for (unsigned i = 0; i < config->setup_count; i++)
        (void)init_sequence_write(bus, &config->setup[i]);
}
