#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A recording of 1 GB is decoded and browsed with bounded memory.

The trace is that of a real capture, over and over: every repetition begins with an A-sync and an
I-sync, so it is one long legal stream. The program is not the sanitizer build: its shadow memory
is not what is measured.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, 'build/btraced')
DATA = os.environ.get('BTRACED_DATA', os.path.join(ROOT, '..', 'shared', 'data'))
LIMIT_MB = 120


def result(ok, name, why=''):
    print(f'PASS large: {name}' if ok else f'FAIL large: {name}: {why}', flush=True)
    return ok


def peak_mb(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        return int(re.search(r'VmHWM:\s+(\d+) kB', status.read())[1]) / 1024


def repeat_file(path, times):
    with open(path, 'rb') as source:
        data = source.read()
    with open(path, 'wb') as out:
        chunk = data * (1 + (16 << 20) // len(data))
        total = len(data) * times
        while total > 0:
            total -= out.write(chunk[:min(len(chunk), total)])
    return len(data) * times


def summary(folder, source):
    out = subprocess.run([PROGRAM, 'decode', '--format', 'tsv', '--source', source, folder],
                         check=True, capture_output=True, text=True).stdout
    return {key: int(value) for _, key, value in
            (line.split('\t') for line in out.splitlines()[1:])}


class Client:
    """Just enough of the remote protocol to ask for the history."""

    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port))
        self.data = b''
        self.ask('QStartNoAckMode')

    def ask(self, text):
        frame = f'${text}#{sum(text.encode()) & 255:02x}'.encode()
        self.socket.sendall(b'+' + frame)
        while True:
            match = re.search(rb'\$([^#]*)#..', self.data, re.S)
            if match:
                self.data = self.data[match.end():]
                return match[1]
            got = self.socket.recv(65536)
            if not got:
                raise EOFError('the server closed the connection')
            self.data += got

    def document(self, annex):
        text = b''
        while True:
            part = self.ask(f'qXfer:btrace:read:{annex}:{len(text):x},fff')
            if part[:1] not in b'ml':
                raise ValueError(part)
            text += part[1:]
            if part[:1] == b'l':
                return text


def replay(folder, expected):
    """Serves the folder; returns peak memory and the number of blocks GDB would get."""
    with subprocess.Popen([PROGRAM, 'replay', '--listen', '127.0.0.1:0', folder],
                          stderr=subprocess.PIPE, text=True) as server:
        port = 0
        for line in server.stderr:
            match = re.match(r'Listening on port (\d+)', line)
            if match:
                port = int(match[1])
                break
        client = Client(port)
        blocks = client.document('all').count(b'<block')
        client.ask('qRcmd,' + b'trace status'.hex())
        peak = peak_mb(server.pid)
        server.terminate()
    return peak, blocks, expected


def run(name, source, buffer, times):
    folder = tempfile.mkdtemp(prefix='btraced-large-')
    try:
        shutil.copytree(os.path.join(DATA, name), folder, dirs_exist_ok=True)
        os.chmod(folder, 0o700)
        for entry in os.listdir(folder):
            os.chmod(os.path.join(folder, entry), 0o700)
        one = summary(folder, source)
        size = repeat_file(os.path.join(folder, buffer), times)
        many = summary(folder, source)
        ok = result(many['raw-bytes'] == size, f'{name}: {size >> 20} MB are read')
        # Each repetition decodes like the first, but for what hangs over from the one before.
        low, high = one['instructions'] * times * 0.97, one['instructions'] * times * 1.05
        ok &= result(low <= many['instructions'] <= high,
                     f'{name}: every repetition is decoded', f'{many["instructions"]}')
        peak, blocks, _ = replay(folder, many)
        ok &= result(peak < LIMIT_MB, f'{name}: replay stays below {LIMIT_MB} MB', f'{peak:.0f} MB')
        ok &= result(blocks > 100, f'{name}: its newest part is served', f'{blocks} blocks')
        return ok
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    if not os.path.isdir(DATA):
        word = 'FAIL' if os.environ.get('BTRACED_REQUIRE_DATA') == '1' else 'SKIP'
        print(f'{word} large: no captures in {DATA}')
        return word == 'FAIL'
    ok = run('a15-ptm-return-stack', 'PTM_0_2', 'PTM_0_2.bin', (1 << 30) // 27884)
    ok &= run('tc2-etmv3-ptm', 'PTM_0', 'cstrace.bin', 4096)
    return not ok


if __name__ == '__main__':
    sys.exit(main())
