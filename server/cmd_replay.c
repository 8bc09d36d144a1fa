/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/commands.h"
#include "server/exit_codes.h"

int cmd_replay(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return EXIT_USAGE;
}
