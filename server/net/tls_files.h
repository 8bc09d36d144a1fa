/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of one side of TLS, and the names that it admits. */
#ifndef SERVER_TLS_FILES_H
#define SERVER_TLS_FILES_H

#define TLS_MAX_NAMES  64
#define TLS_ALLOW_SIZE 128 /* bytes of a name that is allowed, with its NUL */

/* Lines are those of the keys in the board file. */
struct tls_files {
    char ca[512]; /* "": no TLS */
    char cert[512];
    char key[512];
    unsigned ca_line, cert_line, key_line;
    const char *allow[TLS_MAX_NAMES]; /* names in certificates; "*": all */
    unsigned allow_count;
    unsigned handshake; /* seconds that one may take */
};

#endif
