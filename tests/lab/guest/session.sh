#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What an administrator and two GDBs do. Each step's output is a file in /run/out.
cd /run/out || exit 1
configs=/run/bt/share/btraced/configs

show() {
    systemctl show btraced.service -p ActiveState,SubState,ExecMainStatus,Result
    echo "socket: $(systemctl is-active btraced.socket)"
}

# debug SECONDS COMMAND...: GDB at the service's port.
debug() {
    local seconds=$1 words=()
    shift
    for word; do words+=(-ex "$word"); done
    timeout "$seconds" gdb-multiarch -q -nx -batch $configs/virtual/crash-m3.elf \
        -ex 'set remotetimeout 60' -ex 'target extended-remote :3333' "${words[@]}" 2>&1
}

ip link set lo up
systemd-sysusers /run/bt/lib/sysusers.d/btraced.conf >users 2>&1
systemctl daemon-reload
systemctl start btraced.socket
{ ls -l /run/btraced.sock; systemctl show -p ActiveState btraced.service; } >socket 2>&1

# until COMMAND...: half a minute at most.
until_true() {
    local n
    for n in {1..30}; do
        "$@" && return
        sleep 1
    done
    echo "never: $*, $n"
}

# The default board: there is no probe. Somebody connects and waits.
waits_for_restart() { systemctl show -p SubState btraced.service | grep -q auto-restart; }
exec 3<>/dev/tcp/127.0.0.1/3333
{ until_true waits_for_restart; show; } >no-probe 2>&1
exec 3>&-
systemctl stop btraced.socket btraced.service

# A virtual board.
sed "s/^listen = 127.*/listen = systemd/; s,\$DIR,$configs," $configs/virtual-m3.conf >/etc/btraced/btraced.conf
mkdir -p /run/systemd/system/btraced.service.d
printf '[Service]\nMemoryDenyWriteExecute=no\n' >/run/systemd/system/btraced.service.d/qemu.conf
systemctl daemon-reload
systemctl restart btraced.socket
debug 60 'break main' continue reverse-stepi 'monitor clients' 'monitor record start rec' stepi >session
{ show; ps -o user= -o comm= -C btraced,qemu-system-arm; ls -l /var/lib/btraced; } >running 2>&1
grep -E 'NoNewPrivs|CapEff|Seccomp:' "/proc/$(systemctl show -p MainPID --value btraced)/status" >rights
{ systemctl reload btraced && systemctl stop btraced.service && show; } >stopped 2>&1

# An error in the board file.
echo junk >>/etc/btraced/btraced.conf
systemctl restart btraced.socket
exec 3<>/dev/tcp/127.0.0.1/3333
{ until_true systemctl is-failed -q btraced.socket; show; } >bad-file 2>&1
exec 3>&-
journalctl --sync; journalctl --no-pager -o cat >journal 2>&1
touch done
sync
systemctl poweroff -ff
