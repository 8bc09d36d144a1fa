/* SPDX-License-Identifier: BSD-3-Clause */
/* Exit codes of the program, as the man page lists them. */
#ifndef SERVER_EXIT_CODES_H
#define SERVER_EXIT_CODES_H

enum exit_code {
    EXIT_OK = 0,
    EXIT_INTERNAL = 1, /* out of memory, or the system refused something it should not */
    EXIT_USAGE = 2,    /* the command line is wrong */
    EXIT_LISTEN = 3,   /* the address cannot be listened on */
    EXIT_INPUT = 4,    /* a recording, program file or board cannot be used */
    EXIT_PROBE = 5,    /* probes, arm: no probe, or the target behind it does not answer */
    EXIT_CONNECT = 6,  /* connect: the server is not there, or admits nobody */
    EXIT_BELOW = 7,    /* coverage: fewer lines ran than --fail-under asks for */
};

#endif
