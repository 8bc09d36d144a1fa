# SPDX-License-Identifier: BSD-3-Clause
"""Throw-away certificates for the tests of access, made with the openssl program."""

import socket
import ssl
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))

from replay_gdb import PATIENCE, Client, equal, expect, folder, frame, run, tool  # noqa: E402

PLACE = None
CLIENT = "extendedKeyUsage = clientAuth\n"

CONFIG = """
[ca]
default_ca = this
[this]
dir = .
new_certs_dir = .
database = index.txt
serial = serial
default_md = sha256
policy = anything
crlnumber = crlnumber
default_crl_days = 2
unique_subject = no
copy_extensions = none
[anything]
commonName = supplied
organizationName = optional
[req]
distinguished_name = name
prompt = no
[name]
[authority]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
"""


def openssl(*words):
    return run([tool("openssl"), *map(str, words)], cwd=PLACE)


def new_key(name, kind=("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")):
    openssl("genpkey", *kind, "-out", f"{name}.key")
    (PLACE / f"{name}.key").chmod(0o600)


def authority(name):
    new_key(name)
    openssl("req", "-x509", "-new", "-config", "openssl.conf", "-extensions", "authority", "-key",
            f"{name}.key", "-subj", f"/CN={name}", "-days", 2, "-out", f"{name}.pem")


def revoke(*names, by="ca"):
    """For good: each list of the authority has them."""
    for name in names:
        openssl("ca", "-config", "openssl.conf", "-cert", f"{by}.pem", "-keyfile", f"{by}.key",
                "-revoke", f"{name}.pem")


def crl(name, by="ca", dates=("-crldays", 2)):
    """NAME.crl, the list of an authority as it is now."""
    openssl("ca", "-config", "openssl.conf", "-cert", f"{by}.pem", "-keyfile", f"{by}.key", "-gencrl",
            "-out", f"{name}.crl", *dates)


def certificate(name, by="ca", subject=None, extensions="", dates=("-days", 2), is_ca=False,
                key=("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")):
    """NAME.pem and NAME.key."""
    new_key(name, key)
    (PLACE / "ext.conf").write_text(
        f"[ext]\nbasicConstraints = critical,CA:{str(is_ca).lower()}\n{extensions}\n")
    openssl("req", "-new", "-utf8", "-config", "openssl.conf", "-key", f"{name}.key", "-subj",
            subject or f"/CN={name}", "-out", f"{name}.csr")
    openssl("ca", "-batch", "-notext", "-config", "openssl.conf", "-cert", f"{by}.pem", "-keyfile",
            f"{by}.key", "-in", f"{name}.csr", "-out", f"{name}.pem", "-extfile", "ext.conf",
            "-extensions", "ext", *dates)


def der_end(data):
    """(where the content of the first element begins, where it ends)"""
    size = data[1] & 0x7f if data[1] & 0x80 else 0
    length = int.from_bytes(data[2:2 + size], "big") if size else data[1]
    return 2 + size, 2 + size + length


def doctor(name, old, new, by="ca"):
    """NAME.pem with other bytes, as long, signed again: what openssl itself does not make."""
    openssl("x509", "-in", f"{name}.pem", "-outform", "DER", "-out", "whole.der")
    rest = (PLACE / "whole.der").read_bytes()
    rest = rest[der_end(rest)[0]:]
    signed, rest = rest[:der_end(rest)[1]], rest[der_end(rest)[1]:]
    expect(old in signed and len(old) == len(new), f"{old} in {name}")
    (PLACE / "signed.der").write_bytes(signed.replace(old, new))
    openssl("dgst", "-sha256", "-sign", f"{by}.key", "-out", "signature", "signed.der")
    signature = b"\0" + (PLACE / "signature").read_bytes()
    body = signed.replace(old, new) + rest[:der_end(rest)[1]] + bytes((3, len(signature))) + signature
    (PLACE / "whole.der").write_bytes(b"\x30\x82" + len(body).to_bytes(2, "big") + body)
    openssl("x509", "-inform", "DER", "-in", "whole.der", "-out", f"{name}.pem")


def make():
    """The folder with what the tests use."""
    global PLACE
    if PLACE:
        return PLACE
    PLACE = folder()
    (PLACE / "openssl.conf").write_text(CONFIG)
    (PLACE / "index.txt").write_text("")
    (PLACE / "serial").write_text("1000\n")
    (PLACE / "crlnumber").write_text("1000\n")
    authority("ca")
    authority("other-ca")
    certificate("server", extensions="subjectAltName = DNS:localhost,IP:127.0.0.1,IP:10.77.0.1\n"
                                     "extendedKeyUsage = serverAuth")
    certificate("alice", extensions=CLIENT)
    certificate("bob", subject="/CN=Bob of the Bench/O=Lab",
                extensions="subjectAltName = email:bob@lab.example\n" + CLIENT)
    certificate("mallory", extensions=CLIENT)
    certificate("late", subject="/CN=alice", extensions=CLIENT,
                dates=("-startdate", "20200101000000Z", "-enddate", "20200102000000Z"))
    certificate("early", subject="/CN=alice", extensions=CLIENT,
                dates=("-startdate", "20490101000000Z", "-enddate", "20490102000000Z"))
    certificate("stranger", by="other-ca", subject="/CN=alice", extensions=CLIENT)
    certificate("as-server", subject="/CN=alice", extensions="extendedKeyUsage = serverAuth")
    return PLACE


class TlsClient(Client):
    """The remote protocol by hand, through another implementation of TLS."""

    def __init__(self, port, name="alice", version=None):
        context = ssl.create_default_context(cafile=PLACE / "ca.pem")
        if version:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
        context.load_cert_chain(PLACE / f"{name}.pem", PLACE / f"{name}.key")
        plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")
        self.data = b""
        self.acks = True


class Desk(TlsClient):
    """A GDB that has attached, and types."""

    def __init__(self, server, name="alice"):
        super().__init__(server.port, name)
        equal(self.ask("QStartNoAckMode"), "OK", "QStartNoAckMode")
        self.acks = False
        self.features = self.ask("qSupported:multiprocess+;swbreak+;hwbreak+;vContSupported+")
        self.state = self.ask("?")

    def monitor(self, command):
        self.send(frame("qRcmd," + command.encode().hex()))
        text = ""
        while (answer := self.reply())[:1] == "O" and answer != "OK":
            text += bytes.fromhex(answer[1:]).decode()
        return text
