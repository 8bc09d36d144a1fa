#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# prepare.sh FOLDER: makes FOLDER/vmlinux and FOLDER/initrd, a small Linux whose only disk is this
# machine's root, read-only. The kernel is Debian's, downloaded and unpacked but not installed. Does
# nothing when both are there. Exit code 3: the kernel's package cannot be had.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
exec 9>lock # two tests may want it at once
flock 9
[ -f vmlinux ] && [ -f initrd ] && [ initrd -nt "$here/init" ] && exit 0

modules="virtio_mmio 9p 9pnet_virtio vhci-hcd usbhid"
if [ ! -d root ]; then
    package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image/ {print $2; exit}')
    [ -n "$package" ] || exit 3
    apt-get download "$package" >download.log 2>&1 || exit 3
    rm -rf unpacked
    dpkg-deb -x ./"$package"_*.deb unpacked
    rm -f ./"$package"_*.deb
    mv unpacked root
fi

# The compressed kernel is an xz stream inside a program that unpacks it; unpacked, it boots directly.
image=$(echo root/boot/vmlinuz-*)
LC_ALL=C grep -abo -m1 $'\xfd7zXZ' "$image" | cut -d: -f1 | while read -r at; do
    tail -c +$((at + 1)) "$image" | xz -dc --single-stream >vmlinux.new 2>/dev/null || true
done
[ -s vmlinux.new ] || { echo "no kernel in $image" >&2; exit 1; }

release=$(ls root/lib/modules)
PATH=$PATH:/usr/sbin:/sbin
depmod -b root "$release"
rm -rf ird
mkdir -p ird/bin ird/modules ird/host
cp "$(command -v busybox)" ird/bin/busybox
cp "$here/init" ird/init
for m in $modules; do
    modprobe -d root -S "$release" --show-depends "$m"
done | awk '$1 == "insmod" && !seen[$2]++ {print $2}' >list
n=100
while read -r file; do
    cp "$file" ird/modules/"$n-$(basename "$file")"
    n=$((n + 1))
done <list
(cd ird && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1) >initrd.new
mv vmlinux.new vmlinux
mv initrd.new initrd
rm -rf ird list
