/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CIPHERS_TLS12 "ECDHE+AESGCM:ECDHE+CHACHA20"

struct tls_context {
    SSL_CTX *ssl;
    unsigned users;
    bool server;
    bool client_eku; /* server */
    unsigned name_count;
    char names[TLS_MAX_NAMES][TLS_ALLOW_SIZE]; /* server: who is allowed */
    char server_name[256];                     /* client */
    bool shows_certificate;                    /* client */
};

void tls_peer_release(struct tls_peer *p)
{
    free(p->names);
    p->names = NULL;
}

/* Whom a certificate names. */

static bool name_is_allowed(const struct tls_context *t, const char *name)
{
    for (unsigned i = 0; i < t->name_count; i++)
        if (strcmp(t->names[i], name) == 0)
            return true;
    return false;
}

/* A name that has a NUL in it is none: what looks at it next would see its beginning. */
static bool add_name(char **names, size_t *used, const unsigned char *text, int length)
{
    if (length <= 0 || memchr(text, '\0', (size_t)length))
        return true;
    char *grown = realloc(*names, *used + (size_t)length + 2);
    if (!grown)
        return false;
    memcpy(grown + *used, text, (size_t)length);
    *used += (size_t)length + 1;
    grown[*used - 1] = grown[*used] = '\0';
    *names = grown;
    return true;
}

static bool add_common_names(X509 *certificate, char **names, size_t *used)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    bool good = true;
    for (int at = -1;
         good && (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
        unsigned char *text = NULL;
        int length =
            ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
        good = add_name(names, used, text, length);
        OPENSSL_free(text);
    }
    return good;
}

/* DNS names and mail addresses among the alternative names. */
static bool add_alternative_names(X509 *certificate, char **names, size_t *used)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool good = true;
    for (int i = 0; i < sk_GENERAL_NAME_num(all) && good; i++) {
        int type;
        const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all, i), &type);
        if (type == GEN_DNS || type == GEN_EMAIL)
            good = add_name(names, used, ASN1_STRING_get0_data(value), ASN1_STRING_length(value));
    }
    GENERAL_NAMES_free(all);
    return good;
}

/* The names, as struct identity has them; NULL: out of memory. */
static char *names_of(X509 *certificate)
{
    size_t used = 0;
    char *names = calloc(1, 1);
    if (names && add_common_names(certificate, &names, &used) &&
        add_alternative_names(certificate, &names, &used))
        return names;
    free(names);
    return NULL;
}

/* Names come from outside: what is not printable becomes a question mark. */
static void make_printable(char *name)
{
    for (; *name; name++)
        if (*name < ' ' || *name > '~')
            *name = '?';
}

static void note_name(const X509 *certificate, char *name)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int length = X509_NAME_get_text_by_NID(subject, NID_commonName, name, TLS_NAME_SIZE);
    if (length < 0)
        X509_NAME_oneline(subject, name, TLS_NAME_SIZE);
    for (char *nul; length > 0 && (nul = memchr(name, '\0', (size_t)length));)
        *nul = '?';
    make_printable(name);
}

static void note_end(const X509 *certificate, int64_t *expires)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1)
        return;
    int64_t end = timegm(&tm);
    if (*expires == 0 || end < *expires)
        *expires = end;
}

/* The other side's own certificate, when its chain is good. An X509_V_ code. */
static int judge_certificate(const struct tls_context *t, X509 *certificate, struct tls_peer *p)
{
    const char *by = NULL;
    tls_peer_release(p);
    p->names = names_of(certificate);
    if (!p->names)
        return X509_V_ERR_OUT_OF_MEM;
    p->no_eku = t->client_eku && !(X509_get_extension_flags(certificate) & EXFLAG_XKUSAGE);
    if (p->no_eku)
        return X509_V_ERR_INVALID_PURPOSE;
    for (const char *name = p->names; *name && !by; name += strlen(name) + 1)
        if (name_is_allowed(t, name))
            by = name;
    if (!by && !name_is_allowed(t, "*"))
        return X509_V_ERR_CERT_REJECTED;
    if (!by)
        by = p->names;
    if (*by)
        snprintf(p->name, sizeof p->name, "%s", by);
    make_printable(p->name);
    return X509_V_OK;
}

/* Called for each certificate of the chain, the other side's own last. */
static int on_verify(int good, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct tls_context *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    struct tls_peer *peer = SSL_get_app_data(ssl);
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    if (certificate) {
        note_name(certificate, peer->name);
        note_end(certificate, &peer->expires);
    }
    if (!good || !t->server || X509_STORE_CTX_get_error_depth(store) > 0)
        return good;
    int error = judge_certificate(t, certificate, peer);
    if (error != X509_V_OK)
        X509_STORE_CTX_set_error(store, error);
    return error == X509_V_OK;
}

/* The reason that OpenSSL gives first, which is the nearest to the cause; the queue is
 * emptied. */
static const char *openssl_reason(void)
{
    unsigned long code = ERR_peek_error();
    const char *text =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    ERR_clear_error();
    return text ? text : "no reason is given";
}

/* NULL, or why this is no file to read: a pipe would keep the server waiting. */
static const char *file_problem(const char *path, struct stat *st)
{
    if (stat(path, st) != 0)
        return strerror(errno);
    return S_ISREG(st->st_mode) ? NULL : "it is no file";
}

/* The same of a private key's, which others must not read. */
static const char *key_file_problem(const char *path)
{
    struct stat st;
    const char *problem = file_problem(path, &st);
    if (problem)
        return problem;
    if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
        return "others may read or write it: 'chmod 600' it; allowed: at most mode 0640";
    return NULL;
}

static int ask_nobody(char *text, int size, int writing, void *user)
{
    (void)text, (void)size, (void)writing, (void)user;
    return 0; /* a daemon has nobody to ask for a password */
}

/* A certificate that no client would accept. Of a client's the server is the judge. */
static const char *date_problem(const SSL_CTX *ssl)
{
    const X509 *certificate = SSL_CTX_get0_certificate(ssl);
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        return "it is not valid yet: is this machine's clock right?";
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
        return "it has expired";
    return NULL;
}

/* Which file is wrong, and how. */
struct problem {
    enum { PROBLEM_NONE, PROBLEM_CA, PROBLEM_CERT, PROBLEM_KEY, PROBLEM_CRL } file;
    const char *text;
};

static struct problem load_files(SSL_CTX *ssl, const char *ca, const char *cert, const char *key)
{
    struct stat st;
    const char *problem = ca ? file_problem(ca, &st) : NULL;
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(ssl, ask_nobody);
    if (problem)
        return (struct problem){PROBLEM_CA, problem};
    if (ca && SSL_CTX_load_verify_file(ssl, ca) != 1)
        return (struct problem){PROBLEM_CA, openssl_reason()};
    if (!cert)
        return (struct problem){PROBLEM_NONE, NULL};
    problem = file_problem(cert, &st);
    if (problem)
        return (struct problem){PROBLEM_CERT, problem};
    if (SSL_CTX_use_certificate_chain_file(ssl, cert) != 1)
        return (struct problem){PROBLEM_CERT, openssl_reason()};
    problem = key_file_problem(key);
    if (problem)
        return (struct problem){PROBLEM_KEY, problem};
    if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ssl) != 1)
        return (struct problem){PROBLEM_KEY, openssl_reason()};
    return (struct problem){PROBLEM_NONE, NULL};
}

/* Revocation. */

/* NULL, or why a list does not hold now. */
static const char *crl_problem(const X509_CRL *crl)
{
    const ASN1_TIME *next = X509_CRL_get0_nextUpdate(crl);
    if (X509_cmp_current_time(X509_CRL_get0_lastUpdate(crl)) > 0)
        return "a list of revoked certificates is not valid yet: is this machine's clock right?";
    if (next && X509_cmp_current_time(next) < 0)
        return "a list of revoked certificates has expired: its authority makes a new one";
    return NULL;
}

/* NULL, or why the file's lists cannot be used. */
static const char *load_crls(SSL_CTX *ssl, const char *path)
{
    struct stat st;
    const char *problem = file_problem(path, &st);
    BIO *file = problem ? NULL : BIO_new_file(path, "r");
    unsigned count = 0;
    X509_CRL *crl;
    if (!file)
        return problem ? problem : openssl_reason();
    while (!problem && (crl = PEM_read_bio_X509_CRL(file, NULL, NULL, NULL))) {
        count++;
        if (X509_STORE_add_crl(SSL_CTX_get_cert_store(ssl), crl) != 1)
            problem = openssl_reason();
        X509_CRL_free(crl);
    }
    BIO_free(file);
    unsigned long end = ERR_peek_last_error();
    if (!problem && ERR_GET_REASON(end) != PEM_R_NO_START_LINE)
        problem = openssl_reason();
    if (!problem && count == 0)
        problem = "there is no list of revoked certificates (X509 CRL) in it";
    ERR_clear_error();
    return problem;
}

/* Lists that came with the authority count like those of `crl`. */
static struct problem use_crls(SSL_CTX *ssl, const char *path)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    const char *problem = *path ? load_crls(ssl, path) : NULL;
    bool any = *path != '\0';
    if (problem)
        return (struct problem){PROBLEM_CRL, problem};
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(store);
    for (int i = 0; i < sk_X509_OBJECT_num(all) && !problem; i++) {
        const X509_CRL *crl = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(all, i));
        any |= crl != NULL;
        problem = crl ? crl_problem(crl) : NULL;
    }
    if (problem)
        return (struct problem){*path ? PROBLEM_CRL : PROBLEM_CA, problem};
    if (any)
        X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return (struct problem){PROBLEM_NONE, NULL};
}

static struct tls_context *tls_context_new(bool server)
{
    struct tls_context *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->users = 1;
    t->server = server;
    t->ssl = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    if (!t->ssl || SSL_CTX_set_cipher_list(t->ssl, CIPHERS_TLS12) != 1) {
        tls_context_drop(t);
        return NULL;
    }
    SSL_CTX_set_app_data(t->ssl, t);
    SSL_CTX_set_min_proto_version(t->ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(t->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_num_tickets(t->ssl, 0);
    SSL_CTX_set_session_cache_mode(t->ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(t->ssl, SSL_MODE_RELEASE_BUFFERS);
    return t;
}

struct tls_context *tls_context_server(const struct tls_files *tls, const char *path,
                                       struct message *why)
{
    static const char *const keys[] = {"", "ca", "cert", "key", "crl"};
    struct tls_context *t = tls_context_new(true);
    if (!t) {
        message_set(why, "TLS cannot be set up: %s", openssl_reason());
        return NULL;
    }
    t->client_eku = tls->client_eku;
    t->name_count = tls->allow_count;
    for (unsigned i = 0; i < tls->allow_count; i++)
        snprintf(t->names[i], sizeof t->names[i], "%s", tls->allow[i]);
    struct problem p = load_files(t->ssl, tls->ca, tls->cert, tls->key);
    if (p.file == PROBLEM_NONE && date_problem(t->ssl))
        p = (struct problem){PROBLEM_CERT, date_problem(t->ssl)};
    if (p.file == PROBLEM_NONE)
        p = use_crls(t->ssl, tls->crl);
    if (p.file != PROBLEM_NONE) {
        const char *files[] = {"", tls->ca, tls->cert, tls->key, tls->crl};
        const unsigned lines[] = {0, tls->ca_line, tls->cert_line, tls->key_line, tls->crl_line};
        message_set(why, "%s:%u: %s: cannot use '%s': %s", path, lines[p.file], keys[p.file],
                    files[p.file], p.text);
        tls_context_drop(t);
        return NULL;
    }
    STACK_OF(X509_NAME) *authorities = SSL_load_client_CA_file(tls->ca);
    SSL_CTX_set_client_CA_list(t->ssl, authorities);
    SSL_CTX_set_verify(t->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, on_verify);
    return t;
}

struct tls_context *tls_context_client(const struct tls_client *client, struct message *why)
{
    static const char *const options[] = {"", "--ca", "--cert", "--key"};
    struct tls_context *t = tls_context_new(false);
    if (!t) {
        message_set(why, "TLS cannot be set up: %s", openssl_reason());
        return NULL;
    }
    struct problem p = load_files(t->ssl, client->ca, client->cert, client->key);
    if (p.file != PROBLEM_NONE) {
        const char *files[] = {"", client->ca, client->cert, client->key};
        message_set(why, "%s: cannot use '%s': %s", options[p.file], files[p.file], p.text);
        tls_context_drop(t);
        return NULL;
    }
    if (!client->ca)
        SSL_CTX_set_default_verify_paths(t->ssl);
    snprintf(t->server_name, sizeof t->server_name, "%s", client->name);
    t->shows_certificate = client->cert;
    SSL_CTX_set_verify(t->ssl, SSL_VERIFY_PEER, on_verify);
    return t;
}

struct tls_context *tls_context_keep(struct tls_context *t)
{
    t->users++;
    return t;
}

void tls_context_drop(struct tls_context *t)
{
    if (!t || --t->users > 0)
        return;
    SSL_CTX_free(t->ssl);
    free(t);
}

bool tls_context_is_server(const struct tls_context *t)
{
    return t->server;
}

/* The name that the server's certificate must have. */
static bool expect_name(SSL *ssl, const char *name)
{
    unsigned char number[16];
    if (inet_pton(AF_INET, name, number) == 1 || inet_pton(AF_INET6, name, number) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

SSL *tls_context_session(struct tls_context *t, struct tls_peer *peer)
{
    SSL *ssl = SSL_new(t->ssl);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    if (!ssl || !in || !out || (!t->server && !expect_name(ssl, t->server_name))) {
        BIO_free(in);
        BIO_free(out);
        SSL_free(ssl);
        return NULL;
    }
    BIO_set_mem_eof_return(in, -1);
    BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(ssl, in, out);
    SSL_set_app_data(ssl, peer);
    if (t->server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    return ssl;
}

/* The other side's last words. */
static void alert_text(const struct tls_context *t, int alert, char *text, size_t size)
{
    const char *name = SSL_alert_desc_string_long(alert);
    if (t->server)
        snprintf(text, size, "the client has refused: %s", name);
    else if (alert == SSL_AD_BAD_CERTIFICATE)
        snprintf(text, size,
                 "the server does not let this certificate in: is its name in the server's list?");
    else if (alert == SSL_AD_CERTIFICATE_EXPIRED)
        snprintf(text, size, "the server says that this certificate has expired");
    else if (alert == SSL_AD_UNKNOWN_CA)
        snprintf(text, size, "the server does not know the authority that signed this certificate");
    else if (alert == SSL_AD_CERTIFICATE_REQUIRED ||
             (alert == SSL_AD_HANDSHAKE_FAILURE && !t->shows_certificate))
        snprintf(text, size, "the server wants a certificate: give --cert and --key");
    else
        snprintf(text, size, "the server has refused: %s", name);
}

static void certificate_text(const struct tls_context *t, SSL *ssl, long result, char *text,
                             size_t size)
{
    const struct tls_peer *peer = SSL_get_app_data(ssl);
    const char *name = peer->name;
    const char *what = X509_verify_cert_error_string(result);
    if (t->server && result == X509_V_ERR_INVALID_PURPOSE && peer->no_eku)
        snprintf(text, size,
                 "its certificate '%s' does not say that it is for clients (extendedKeyUsage = "
                 "clientAuth), see 'client_eku' of [tls]",
                 name);
    else if (t->server && result == X509_V_ERR_CERT_REJECTED)
        snprintf(text, size, "its certificate names '%s', which is not in 'allow' of [tls]", name);
    else if (!t->server &&
             (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH))
        snprintf(text, size, "the server's certificate is for '%s' and not for '%s' (see --name)",
                 name, t->server_name);
    else
        snprintf(text, size, "%s certificate '%s' is not accepted: %s",
                 t->server ? "its" : "the server's", name, what);
}

void tls_context_failure(const struct tls_context *t, SSL *ssl, char *text, size_t size)
{
    unsigned long code = ERR_peek_error();
    long result = SSL_get_verify_result(ssl);
    int why = ERR_GET_REASON(code);
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && why > SSL_AD_REASON_OFFSET &&
        why < SSL_AD_REASON_OFFSET + 256)
        alert_text(t, why - SSL_AD_REASON_OFFSET, text, size);
    else if (result != X509_V_OK)
        certificate_text(t, ssl, result, text, size);
    else if (why == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
        snprintf(text, size, "it has no certificate");
    else if (why == SSL_R_WRONG_VERSION_NUMBER || why == SSL_R_HTTP_REQUEST)
        snprintf(text, size, "what it sends is not TLS");
    else
        snprintf(text, size, "%s",
                 ERR_reason_error_string(code) ? ERR_reason_error_string(code)
                                               : "the connection has ended");
    ERR_clear_error();
}

int tls_context_verify(struct tls_context *now, X509 *certificate, STACK_OF(X509) * chain,
                       struct tls_peer *peer)
{
    X509_STORE_CTX *store = X509_STORE_CTX_new();
    int error = X509_V_ERR_OUT_OF_MEM;
    if (store &&
        X509_STORE_CTX_init(store, SSL_CTX_get_cert_store(now->ssl), certificate, chain) == 1 &&
        X509_STORE_CTX_set_default(store, "ssl_client") == 1)
        error = X509_verify_cert(store) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(store);
    X509_STORE_CTX_free(store);
    ERR_clear_error();
    return error == X509_V_OK ? judge_certificate(now, certificate, peer) : error;
}
