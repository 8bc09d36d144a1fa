/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced serve: live trace. */
#include "server/commands.h"
#include "server/exit_codes.h"

#include <stdio.h>

int cmd_serve(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fputs("btraced serve: live trace is not available in this version; "
          "use 'btraced replay RECORDING'\n",
          stderr);
    return EXIT_USAGE;
}
