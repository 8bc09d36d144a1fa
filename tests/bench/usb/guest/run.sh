#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh COMMAND ARGS...: runs a command in a small virtual machine with Debian's kernel, as its
# superuser, at the top of this source tree. It sees this machine's files, read-only, and an empty
# /tmp and /run. Prints what it printed and exits with its code; 124 when it takes longer than
# GUEST_SECONDS (180), 3 when there is no kernel to be had.
set -u
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../../../.." && pwd -P)
guest=$repo/build/guest
"$here/prepare.sh" "$guest" || exit $?
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
echo "$repo" >"$out/repo"
{
    echo "cd $(printf %q "$repo")"
    echo "export HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1"
    echo "export BTRACED_USB_BENCH=usbip"
    for name in ${GUEST_ENV:-}; do
        [ -z "${!name+set}" ] || printf 'export %s=%q\n' "$name" "${!name}"
    done
    printf '%q ' exec "$@"
    echo
} >"$out/command"
# The clock is told, not measured: on a busy machine the kernel's measurement may never end. One
# processor: two emulated ones wait for each other when the machine has none to spare.
khz=$(awk '/cpu MHz/ {printf "%d", $4 * 1000; exit}' /proc/cpuinfo)
timeout "${GUEST_SECONDS:-180}" qemu-system-x86_64 \
    -M microvm,pit=on,pic=on,rtc=on,isa-serial=on -accel tcg -smp 1 -m 1024 \
    -nodefaults -no-user-config -nographic -no-reboot -serial stdio \
    -kernel "$guest/vmlinux" -initrd "$guest/initrd" \
    -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-device,fsdev=root,mount_tag=root \
    -fsdev local,id=out,path="$out",security_model=none,multidevs=remap \
    -device virtio-9p-device,fsdev=out,mount_tag=out \
    -append "console=ttyS0 quiet tsc_early_khz=${khz:-1000000} tsc=reliable panic=-1" \
    </dev/null >"$out/console" 2>&1
[ -f "$out/log" ] && cat "$out/log"
if [ -f "$out/code" ]; then
    exit "$(cat "$out/code")"
fi
echo "the guest did not end:" >&2
tail -n 20 "$out/console" >&2
exit 124
