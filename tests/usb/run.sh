#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The emulated probe: the models against the specification, then OpenOCD against the models. Builds
# nothing: make usb-tests.
set -u
cd "$(dirname "$0")/../.." || exit 1
code=0
for source in tests/usb/unit/test_*.c; do
    build/asan/usb/"$(basename "${source%.c}")" || code=1
done
for script in tests/usb/test_*.py; do
    "$script" || code=1
done
exit $code
