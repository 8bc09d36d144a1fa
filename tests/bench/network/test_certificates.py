#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/net/tls.c and tls_connection.c.
"""Kinds of certificates, made by OpenSSL, shown to the server through another implementation of its
handshake: who is admitted, under which name, with which role, and what the log says of the others.
Lists of revoked certificates: used, unreadable, expired, and read again while somebody is here."""

import re
import signal
import socket
import ssl
import subprocess
import time

import certificates
from certificates import CLIENT, TlsClient, certificate, openssl
from replay_gdb import (BTRACED, DEMO, PATIENCE, Failed, Server, Suite, environment, equal, expect, has,
                        lacks, logged, wait_for)

RECORDING = DEMO / "recording"
PLACE = certificates.make()
suite = Suite()
ROLES = ('control = cert:alice "cert:Bob of the Bench" cert:carol@lab.example cert:desk-1.lab\n'
         "observe = cert:olga cert:both\nquery = cert:quinn\nnone = cert:mallory cert:both\n")
SERVER_EKU = "extendedKeyUsage = serverAuth\n"


def alternative(text):
    return f"subjectAltName = {text}\n{CLIENT}"


# Name of the file, how it is made, and what happens: the name in the log and the role's word there, or
# why it is refused. `subject` is /CN=alice where nothing else is said.
ADMITTED, REFUSED = True, False
KINDS = (
    ("plain", {}, ADMITTED, "alice"),
    ("rsa", {"key": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")}, ADMITTED, "alice"),
    ("p384", {"key": ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")}, ADMITTED, "alice"),
    ("ed25519", {"key": ("-algorithm", "ED25519")}, ADMITTED, "alice"),
    ("weak-rsa", {"key": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024")}, REFUSED, "too small|too weak"),
    ("blanks", {"subject": "/CN=Bob of the Bench"}, ADMITTED, "Bob of the Bench"),
    ("mail", {"subject": "/CN=nobody", "extensions": alternative("email:carol@lab.example")}, ADMITTED,
     "carol@lab.example"),
    ("dns", {"subject": "/CN=nobody", "extensions": alternative("DNS:desk-1.lab")}, ADMITTED, "desk-1.lab"),
    ("second-name", {"subject": "/CN=nobody",
                     "extensions": alternative("DNS:desk-9.lab,DNS:desk-1.lab")}, ADMITTED, "desk-1.lab"),
    ("no-cn", {"subject": "/O=Lab/CN=x", "extensions": alternative("email:carol@lab.example")}, ADMITTED,
     "carol@lab.example"),
    ("observer", {"subject": "/CN=olga"}, ADMITTED, "olga"),
    ("asker", {"subject": "/CN=quinn"}, ADMITTED, "quinn"),
    ("both-purposes", {"extensions": "extendedKeyUsage = serverAuth,clientAuth\n"}, ADMITTED, "alice"),
    ("critical-eku", {"extensions": "extendedKeyUsage = critical,clientAuth\n"}, ADMITTED, "alice"),
    ("sub", {"by": "sub-ca"}, ADMITTED, "alice"),
    ("not-listed", {"subject": "/CN=nobody"}, REFUSED, "names 'nobody', which is not in 'allow'"),
    ("none", {"subject": "/CN=mallory"}, REFUSED, "names 'mallory', which is not in 'allow'"),
    ("none-and-listed", {"subject": "/CN=mallory",
                         "extensions": alternative("DNS:desk-1.lab")}, REFUSED, "grants it nothing"),
    ("twice-listed", {"subject": "/CN=both"}, REFUSED, "grants it nothing"),
    ("case", {"subject": "/CN=Alice"}, REFUSED, "names 'Alice', which is not in 'allow'"),
    ("longer", {"subject": "/CN=alice.evil.example"}, REFUSED, "which is not in 'allow'"),
    ("pattern", {"subject": "/CN=*"}, REFUSED, "which is not in 'allow'"),
    ("wild-dns", {"subject": "/CN=x", "extensions": alternative("DNS:*.lab")}, REFUSED,
     "which is not in 'allow'"),
    ("address-as-name", {"subject": "/CN=x", "extensions": alternative("IP:127.0.0.1")}, REFUSED,
     "which is not in 'allow'"),
    ("organisation", {"subject": "/O=alice/CN=x"}, REFUSED, "names 'x', which is not in 'allow'"),
    ("escape", {"subject": "/CN=evil\x1b[31m"}, REFUSED, r"names 'evil\?\[31m'"),
    ("no-eku", {"extensions": ""}, REFUSED, "does not say that it is for clients"),
    ("server-only", {"extensions": SERVER_EKU}, REFUSED, "purpose"),
    ("any-purpose", {"extensions": "extendedKeyUsage = anyExtendedKeyUsage\n"}, REFUSED, "purpose"),
    ("code-signing", {"extensions": "extendedKeyUsage = codeSigning\n"}, REFUSED, "purpose"),
    ("no-signature", {"extensions": "keyUsage = critical,keyEncipherment\n" + CLIENT}, REFUSED, "purpose"),
    ("expired", {"dates": ("-startdate", "20200101000000Z", "-enddate", "20200102000000Z")}, REFUSED,
     "has expired"),
    ("not-yet", {"dates": ("-startdate", "20490101000000Z", "-enddate", "20490102000000Z")}, REFUSED,
     "not yet valid"),
    ("other-authority", {"by": "other-ca"}, REFUSED, "unable to get|certificate 'alice' is not accepted"),
    ("by-a-client", {"by": "plain"}, REFUSED, "is not accepted: (invalid CA|unsuitable|invalid)"),
    ("unknown-critical", {"extensions": "1.2.3.4 = critical,ASN1:UTF8String:x\n" + CLIENT}, REFUSED,
     "unhandled critical extension"),
    ("expired-sub", {"by": "late-ca"}, REFUSED, "has expired"),
    ("two-names", {"subject": "/CN=alice/CN=olga"}, ADMITTED, "alice"),
    ("two-names-none", {"subject": "/CN=alice/CN=mallory"}, REFUSED, "grants it nothing"),
    ("nul", {"subject": "/CN=alice%%%%.evil", "doctor": (b"alice%%%%", b"alice\0\0\0\0")}, REFUSED,
     r"names 'alice\?\?\?\?\.evil', which is not in 'allow'"),
    ("nul-dns", {"subject": "/CN=x", "extensions": alternative("DNS:desk-1.lab%%%%x"),
                 "doctor": (b"lab%%%%", b"lab\0\0\0\0")}, REFUSED, "which is not in 'allow'"),
    ("other-signature", {"doctor": (b"alice", b"olga!"), "signer": "other-ca"}, REFUSED, "signature"),
    ("own", None, REFUSED, "self.signed"),
)


def make_kinds():
    certificate("sub-ca", is_ca=True, extensions="keyUsage = critical,keyCertSign,cRLSign\n")
    certificate("late-ca", is_ca=True, extensions="keyUsage = critical,keyCertSign,cRLSign\n",
                dates=("-startdate", "20200101000000Z", "-enddate", "20200102000000Z"))
    for name, how, _, _ in KINDS:
        if how is None:
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=alice", "-keyout", f"{name}.key", "-out", f"{name}.pem")
            continue
        how = dict(how)
        doctored, signer = how.pop("doctor", None), how.pop("signer", "ca")
        certificate(name, **{"subject": "/CN=alice", "extensions": CLIENT, **how})
        if doctored:
            certificates.doctor(name, *doctored, by=signer)
        if how.get("by") in ("sub-ca", "late-ca", "plain"):
            with open(PLACE / f"{name}.pem", "a", encoding="utf-8") as chain:
                chain.write((PLACE / f"{how['by']}.pem").read_text())


def conf(name, roles=ROLES, **keys):
    tls = {"ca": PLACE / "ca.pem", "cert": PLACE / "server.pem", "key": PLACE / "server.key", **keys}
    path = PLACE / f"{name}.conf"
    path.write_text("[tls]\n" + "".join(f"{k} = {v}\n" for k, v in tls.items()) +
                    f"[access]\n{roles}" * bool(roles) + "[limits]\nclients = 64\n")
    return path


def server_with(path):
    return Server(RECORDING, "-c", str(path), listen="tls:127.0.0.1:0")


def admitted(server, name):
    """A client that is served, or None."""
    try:
        # This side would not show a weak key by itself.
        client = TlsClient(server.port, name, ssl.TLSVersion.TLSv1_2 if "weak" in name else None)
        has(client.ask("qSupported"), "QStartNoAckMode|PacketSize")
        return client
    except (ssl.SSLError, ConnectionError, EOFError, OSError):
        return None


def judged(server, name, good, pattern):
    seen = len(server.stderr)
    client = admitted(server, name)
    equal(client is not None, good, f"whether '{name}' is admitted: {server.stderr[seen:]}")
    if client:
        client.close()
        line = rf"client \d+ \({pattern} \(127\.0\.0\.1:\d+\)\) has left"
    else:
        line = rf"refused 127\.0\.0\.1:\d+: .*({pattern})|refused .* \(127.*\): .*({pattern})"
    try:
        wait_for(lambda: has_line(server.stderr[seen:], line), "the line of the log")
    except Failed as why:
        raise Failed(f"'{name}': no '{line}' in {server.stderr[seen:]}") from why


@suite.test(f"certificates: {len(KINDS)} kinds: who is admitted, by which name, and why others are not")
def _():
    make_kinds()
    for part in (KINDS[::2], KINDS[1::2]):  # the log has 20 refusals in ten seconds
        with server_with(conf("kinds")) as server:
            for name, _, good, pattern in part:
                judged(server, name, good, pattern)
            lacks(server.stderr, "\x1b")


def has_line(text, pattern):
    return any(re.search(pattern, line) for line in text.splitlines())


@suite.test("certificates: no session is resumed, and none negotiated again")
def _():
    with server_with(conf("again")) as server:
        for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
            context = ssl.create_default_context(cafile=PLACE / "ca.pem")
            context.minimum_version = context.maximum_version = version
            context.load_cert_chain(PLACE / "plain.pem", PLACE / "plain.key")
            session = None
            for _ in range(3):
                with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as plain, \
                        context.wrap_socket(plain, server_hostname="localhost", session=session) as client:
                    client.sendall(b"+$qC#b4")
                    has(client.recv(100).decode(), r"[+]|\$")
                    expect(not client.session_reused, f"a session of {version} was resumed")
                    session = client.session
        with admitted(server, "plain") as here:
            done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2", "-cert",
                                   PLACE / "plain.pem", "-key", PLACE / "plain.key"], input="R\n", text=True,
                                  capture_output=True, timeout=PATIENCE, check=False)
            has(done.stdout + done.stderr, "RENEGOTIATING(.|\n)*no renegotiation")
            has(here.ask("qC"), "^QC")


@suite.test("certificates: client_eku = no admits those that say nothing of a purpose, and no others")
def _():
    with server_with(conf("eku", client_eku="no")) as server:
        for name, good in (("no-eku", True), ("plain", True), ("server-only", False),
                           ("code-signing", False)):
            client = admitted(server, name)
            equal(client is not None, good, f"whether '{name}' is admitted")
            if client:
                client.close()


# Revocation.

def check(path):
    done = subprocess.run([BTRACED, "replay", "-c", str(path), str(RECORDING)], capture_output=True,
                          text=True, timeout=PATIENCE, env=environment())
    return done.returncode, done.stderr


@suite.test("certificates: a list of revoked ones, in 'crl' or with the authority")
def _():
    certificate("revoked", subject="/CN=alice", extensions=CLIENT)
    certificates.revoke("revoked")
    certificates.crl("list")
    both = PLACE / "ca-and-list.pem"
    both.write_text((PLACE / "ca.pem").read_text() + (PLACE / "list.crl").read_text())
    for number, keys in enumerate(({"crl": PLACE / "list.crl"}, {"ca": both})):
        with server_with(conf(f"revoked{number}", **keys)) as server:
            expect(admitted(server, "plain"), "who is not revoked")
            expect(not admitted(server, "revoked"), "who is revoked")
            logged(server, "refused .*certificate 'alice' is not accepted: certificate revoked")
            # An authority below wants a list of its own.
            expect(not admitted(server, "sub"), "who is of an authority without a list")
            logged(server, "unable to get certificate CRL")
    with server_with(conf("unrevoked")) as server:
        expect(admitted(server, "revoked"), "who is revoked, without the list")


@suite.test("certificates: a list that cannot be read, is none, or has expired: no start")
def _():
    certificates.crl("old", dates=("-crl_lastupdate", "20200101000000Z", "-crl_nextupdate",
                                   "20200102000000Z"))
    certificates.crl("future", dates=("-crl_lastupdate", "20490101000000Z", "-crl_nextupdate",
                                      "20490102000000Z"))
    (PLACE / "cut.crl").write_text((PLACE / "list.crl").read_text()[:200])
    (PLACE / "bad.crl").write_text((PLACE / "list.crl").read_text() + "-----BEGIN X509 CRL-----\nAA\n")
    old = PLACE / "ca-and-old.pem"
    old.write_text((PLACE / "ca.pem").read_text() + (PLACE / "old.crl").read_text())
    for keys, pattern in (({"crl": PLACE / "gone.crl"}, "crl: cannot use .*gone.crl': No such file"),
                          ({"crl": PLACE / "ca.pem"}, "crl: cannot use .*: there is no list"),
                          ({"crl": PLACE / "cut.crl"}, "crl: cannot use "),
                          ({"crl": PLACE / "bad.crl"}, "crl: cannot use "),
                          ({"crl": PLACE / "old.crl"}, "crl: cannot use .*: a list .* has expired"),
                          ({"crl": PLACE / "future.crl"}, "crl: cannot use .* not valid yet"),
                          ({"ca": old}, "ca: cannot use .*: a list .* has expired")):
        code, said = check(conf("broken", **keys))
        equal(code, 2, f"exit code for {keys}: {said}")
        has(said, pattern)


@suite.test("certificates: a revocation ends the session that is there, at the reload")
def _():
    certificate("leaver", subject="/CN=alice", extensions=CLIENT)
    certificates.crl("now")
    path = conf("leave", crl=PLACE / "now.crl")
    with server_with(path) as server:
        one, two = admitted(server, "leaver"), admitted(server, "plain")
        certificates.revoke("leaver")
        certificates.crl("now")
        server.process.send_signal(signal.SIGHUP)
        one.closed()
        logged(server, r"client 1 \(alice .* is disconnected: your certificate is not accepted any "
                       r"more: certificate revoked")
        equal(two.ask("qC"), "QC1", "the answer to who is not revoked")
        expect(not admitted(server, "leaver"), "who is revoked")
        certificates.crl("now", dates=("-crl_lastupdate", "20200101000000Z", "-crl_nextupdate",
                                       "20200102000000Z"))
        server.process.send_signal(signal.SIGHUP)
        logged(server, "a list of revoked certificates has expired.*stays as it was")
        expect(admitted(server, "plain"), "with the list of before")


@suite.test("certificates: a session ends with its certificate")
def _():
    with server_with(conf("short")) as server:
        for seconds in (5, 15, 45):  # a busy machine may need long to make one and to come
            end = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))
            certificate("short", subject="/CN=alice", extensions=CLIENT,
                        dates=("-startdate", "20200101000000Z", "-enddate", end))
            client = admitted(server, "short")
            if client:
                break
        expect(client, "a certificate is never there in time")
        client.closed()
        logged(server, r"client \d+ \(alice .* is disconnected: your certificate has expired")


suite.run()
