/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced serve: live trace. */
#include "server/commands.h"
#include "server/exit_codes.h"

#include <stdio.h>
#include <string.h>

int cmd_serve(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        puts("usage: btraced serve\nLive trace: not available in this version.");
        return EXIT_OK;
    }
    fputs("btraced serve: live trace is not available in this version; "
          "use 'btraced replay RECORDING'\n",
          stderr);
    return EXIT_USAGE;
}
