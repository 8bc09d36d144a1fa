#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What an administrator and GDBs do. Each step's output is a file in /run/out. `readme` has the commands
# of the README's chapter for the bench PC, one a line, `connect` that of the desk.
cd /run/out || exit 1
configs=/usr/local/share/btraced/configs
export HOME=/run/out/desk

# readme PATTERN: runs the README's command that begins so.
readme() {
    local line
    line=$(grep "^$1" readme) || echo "the README has no '$1'"
    case $1 in
        'systemctl edit') script -qec "$line" /dev/null ;; # it wants a terminal
        *) eval "$line" ;;
    esac
}

show() {
    systemctl show btraced.service -p ActiveState,SubState,ExecMainStatus,Result
    echo "socket: $(systemctl is-active btraced.socket)"
}

# debug SECONDS WHERE COMMAND...: GDB at the service.
debug() {
    local seconds=$1 words=(-ex "$2")
    shift 2
    for word; do words+=(-ex "$word"); done
    timeout "$seconds" gdb-multiarch -q -nx -batch $configs/virtual/crash-m3.elf \
        -ex 'set remotetimeout 300' "${words[@]}" 2>&1
}

ip link set lo up
{ readme systemd-sysusers && getent passwd btraced && id btraced; } >users 2>&1
systemctl start btraced.socket
{ ls -l /run/btraced.sock; systemctl show -p ActiveState btraced.service; } >socket 2>&1

# until COMMAND...: some minutes at most.
until_true() {
    local n
    for n in {1..300}; do
        "$@" && return
        sleep 1
    done
    echo "never: $*, $n"
}

# The default board: there is no probe. Somebody connects and waits.
waits_for_restart() { systemctl show -p SubState btraced.service | grep -q auto-restart; }
socat UNIX-CONNECT:/run/btraced.sock EXEC:'sleep 600' &
waits=$!
{ until_true waits_for_restart; show; } >no-probe 2>&1
kill $waits
systemctl stop btraced.socket btraced.service

# A virtual board: what somebody with an editor writes.
editor() {
    {
        sed "s/^listen = 127.*/listen = systemd/; s,\$DIR,$configs," $configs/virtual-m3.conf
        printf '[record]\ndir = /var/lib/btraced\nstart = no\n'
    } >"$1"
}
readme editor
readme 'btraced serve' >checked 2>&1
mkdir -p /run/systemd/system/btraced.service.d
printf '[Service]\nMemoryDenyWriteExecute=no\nTimeoutStartSec=1200\nTimeoutStopSec=300\n' >/run/systemd/system/btraced.service.d/qemu.conf
systemctl daemon-reload
{ readme 'systemctl enable' && systemctl is-enabled btraced.socket; } >enabled 2>&1
debug 300 'target extended-remote /run/btraced.sock' 'break main' continue reverse-stepi 'monitor clients' 'monitor record start rec' stepi >session
{ show; ps -o user= -o comm= -C btraced,qemu-system-arm; ls -l /var/lib/btraced; } >running 2>&1
grep -E 'NoNewPrivs|CapEff|Seccomp:' "/proc/$(systemctl show -p MainPID --value btraced)/status" >rights
{ systemctl reload btraced && systemctl stop btraced.service && show; } >stopped 2>&1

# Certificates, a section [tls], and an address for others.
cp certificates/*.pem /etc/btraced
install -g btraced -m 640 certificates/server.key /etc/btraced
printf '[tls]\nca = ca.pem\ncert = server.pem\nkey = server.key\nallow = alice\n' >>/etc/btraced/btraced.conf
echo '127.0.0.1 lab-7' >>/etc/hosts
export SYSTEMD_EDITOR=/run/out/socket-editor
{ readme 'systemctl edit' && readme 'systemctl restart' && systemctl cat btraced.socket; } >edited 2>&1
debug 300 "$(cat connect)" 'break main' continue 'monitor clients' >over-tls
mv desk/.config/btraced/cert.pem desk/alice.pem
debug 300 "$(cat connect)" 'info registers pc' >without-certificate
systemctl stop btraced.service

# An error in the board file.
echo junk >>/etc/btraced/btraced.conf
systemctl restart btraced.socket
socat UNIX-CONNECT:/run/btraced.sock EXEC:'sleep 600' &
waits=$!
{ until_true systemctl is-failed -q btraced.socket; show; } >bad-file 2>&1
kill $waits
journalctl --sync; journalctl --no-pager -o cat >journal 2>&1
touch done
sync
systemctl poweroff -ff
