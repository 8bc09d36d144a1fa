/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/perf_args.h"

#include <stdio.h>
#include <stdlib.h>

const char *perf_args_complete(struct perf_args *args)
{
    const struct perf_places *p = &args->places;
    if (!args->on)
        return p->root || p->build_ids || p->kernel
                   ? "--root, --buildid-dir and --vmlinux go with --perf"
                   : NULL;
    const char *home = getenv("HOME");
    if (!p->build_ids && home) {
        snprintf(args->cache, sizeof args->cache, "%s/.debug", home);
        args->places.build_ids = args->cache;
    }
    return NULL;
}
