#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Decoding with several threads gives the same output as with one, damaged trace included."""

import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get('BTRACED_DATA', os.path.join(ROOT, '..', 'shared', 'data'))
PROGRAM = os.path.join(ROOT, 'build/btraced')
SANITIZED = os.path.join(ROOT, 'build/tsan/btraced')


def result(ok, name, why=''):
    print(f'PASS parallel: {name}' if ok else f'FAIL parallel: {name}: {why}', flush=True)
    return ok


def decode(program, folder, source, *args):
    done = subprocess.run([program, 'decode', '--source', source, *args, folder],
                          capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def same(folder, source, what, listings):
    ok = True
    for number, listing in enumerate(listings):
        code, want, _ = decode(PROGRAM, folder, source, *listing)
        code2, got, _ = decode(PROGRAM, folder, source, '-j', str(3 - number % 2), *listing)
        ok &= code == code2 == 0 and want == got and len(want) > 0
    return result(ok, what, 'the output depends on the number of threads')


def grow(path, size, damage):
    """The capture over and over; `damage` bytes of it are changed, dropped or doubled."""
    with open(path, 'rb') as source:
        data = bytearray(source.read())
    data *= 1 + size // len(data)
    chance = random.Random(7)
    for _ in range(damage):
        at = chance.randrange(len(data))
        way = chance.randrange(3)
        if way == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif way == 1:
            del data[at]
        else:
            data.insert(at, data[at])
    with open(path, 'wb') as out:
        out.write(data)


def prepare(folder, name):
    shutil.copytree(os.path.join(DATA, name), folder, dirs_exist_ok=True)
    for where, _, files in os.walk(folder):
        for entry in [where] + [os.path.join(where, f) for f in files]:
            os.chmod(entry, 0o700)


def unpacked(folder):
    """The program of a capture that has a packed one: arguments for btraced."""
    packed = [f for f in os.listdir(folder) if f.endswith('.elf.gz')]
    if not packed:
        return []
    path = os.path.join(folder, packed[0])
    with gzip.open(path) as source, open(path[:-3], 'wb') as out:
        shutil.copyfileobj(source, out)
    return ['--elf', path[:-3]]


def run(name, source, buffer, size, damage, listings):
    folder = tempfile.mkdtemp(prefix='btraced-parallel-')
    try:
        prepare(folder, name)
        grow(os.path.join(folder, buffer), size, damage)
        program = unpacked(folder)
        return same(folder, source, f'{name} {source}, {damage} places damaged',
                    [program + listing for listing in listings])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def threads_are_clean():
    """No data race that the thread sanitizer sees."""
    folder = tempfile.mkdtemp(prefix='btraced-parallel-')
    try:
        prepare(folder, 'a15-ptm-return-stack')
        grow(os.path.join(folder, 'PTM_0_2.bin'), 3 << 20, 3)
        code, out, err = decode(SANITIZED, folder, 'PTM_0_2', '-j', '3')
        return result(code == 0 and out != b'' and b'ThreadSanitizer' not in err,
                      'no data race', err.decode()[-500:])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# folder, source, its bytes, how many of them, listings
CAPTURES = (
    ('a15-ptm-return-stack', 'PTM_0_2', 'PTM_0_2.bin', 5 << 19,
     ([], ['--events', '--format', 'tsv'], ['--blocks', '--events'])),
    ('tc2-etmv3-ptm', 'PTM_0', 'cstrace.bin', 16 << 20,
     (['--events', '--blocks'], ['--instructions', '--format', 'tsv'])),
    ('tc2-etmv3-ptm', 'ETM_0', 'cstrace.bin', 24 << 20,
     (['--events', '--blocks'], ['--instructions', '--format', 'tsv'])),
    ('m3-etmv3-swo', 'ETM_0', 'trace_example.tpiu.bin', 32 << 20,
     (['--events', '--blocks'], ['--events', '--format', 'tsv'])),
    ('cc1-etmv4', 'etm_1', 'cstrace.bin', 3 << 19, (['--events', '--blocks'],)),
    ('juno-etmv4', 'ETM_0', 'cstrace.bin', 3 << 19, (['--events', '--instructions'],)),
)


def main():
    if not os.path.isdir(DATA):
        word = 'FAIL' if os.environ.get('BTRACED_REQUIRE_DATA') == '1' else 'SKIP'
        print(f'{word} parallel: no captures in {DATA}')
        return word == 'FAIL'
    ok = True
    seed = int(os.environ.get('BTRACED_SEED', random.SystemRandom().randrange(1 << 32)))
    print(f'# BTRACED_SEED={seed}', flush=True)
    dice = random.Random(seed)
    # Half of them damaged, other ones in each run.
    for capture, damage in zip(CAPTURES, dice.sample((0, 40) * (len(CAPTURES) // 2), len(CAPTURES))):
        ok &= run(*capture[:4], damage, capture[4])
    ok &= threads_are_clean()
    return not ok


if __name__ == '__main__':
    sys.exit(main())
