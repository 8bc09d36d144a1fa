/* SPDX-License-Identifier: BSD-3-Clause */
/* What a good board file names and this machine does not have. */
#include "server/config/config_notes.h"

#include "drivers/elf/elf_image.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int config_open_program(const struct config_core *core, struct elf_image **elf, char *why,
                        size_t size)
{
    int error = elf_image_open(core->program, elf, why, size);
    if (error || (*elf)->machine != ELF_MACHINE_AARCH64 || config_is_v8_a(core))
        return error;
    snprintf(why, size, "it is for AArch64, not for a %s", core->type);
    elf_image_close(*elf);
    *elf = NULL;
    return BT_ERR_FORMAT;
}

static void note_program(const struct config_core *core)
{
    struct elf_image *elf = NULL;
    char why[256];
    if (!core->program[0])
        return;
    if (access(core->program, F_OK) != 0)
        printf("note: the program '%s' of core %s is not there yet\n", core->program, core->name);
    else if (config_open_program(core, &elf, why, sizeof why))
        printf("note: the program '%s' of core %s cannot be used: %s\n", core->program, core->name,
               why);
    elf_image_close(elf);
}

/* As execvp() looks for it. */
static bool is_program(const char *name)
{
    char path[PATH_MAX];
    const char *at = getenv("PATH");
    if (strchr(name, '/') || !at)
        return access(name, X_OK) == 0;
    for (size_t n; *at; at += n + (at[n] == ':')) {
        n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, at, name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* A good board file may come before what it names. */
void config_notes(const struct config *c)
{
    for (unsigned i = 0; i < c->core_count; i++)
        note_program(&c->cores[i]);
    if (c->command && !is_program(c->command[0]))
        printf("note: the program '%s' of [target] command is not there yet\n", c->command[0]);
    if (c->flash.algorithm[0] && access(c->flash.algorithm, R_OK) != 0)
        printf("note: the algorithm '%s' of [flash] cannot be read yet: %s\n", c->flash.algorithm,
               strerror(errno));
}
