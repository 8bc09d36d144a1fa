#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The unit tests of the CMSIS-DAP driver and of what stands on it, on all kinds of modelled probes: some
of them, chosen by a seed, or all (BTRACED_FULL). BTRACED_SEED chooses the same ones again."""

import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))

from replay_gdb import PATIENCE, Skipped, Suite, expect  # noqa: E402

suite = Suite()
TESTS = ("test_cmsis_dap_board", "test_cortex_m", "test_cortex_m_faults")
VARIANTS = [",".join(v) for v in itertools.product(("64", "512", "1024"), ("1", "4", "64"), ("hid", "bulk"),
                                                   ("none", "polled", "streamed"),
                                                   ("plain", "quirks"))]
SAMPLE = 8


def programs():
    """Without sanitizers where they are built: check has them with."""
    for build in "release", "asan":
        paths = [ROOT / "build" / build / "unit" / name for name in TESTS]
        if all(path.exists() for path in paths):
            return paths
    raise Skipped("no unit tests are built: make unit-tests")


@suite.test("probe: every kind of probe")
def _():
    seed = int(os.environ.get("BTRACED_SEED") or random.SystemRandom().randrange(1 << 32))
    full = os.environ.get("BTRACED_FULL") == "1"
    chosen = VARIANTS if full else random.Random(seed).sample(VARIANTS, SAMPLE)
    for variant in chosen:
        for program in programs():
            done = subprocess.run([program], env={**os.environ, "BTRACED_PROBE": variant},
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=PATIENCE)
            failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
            expect(done.returncode == 0, f"seed {seed}, BTRACED_PROBE={variant} {program}: {failed}")
    print(f"{len(chosen)} of {len(VARIANTS)} kinds, seed {seed}")


if __name__ == "__main__":
    suite.run()
