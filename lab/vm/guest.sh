#!/bin/sh
# The first process of the virtual machine, and what a transfer is made of. /transfers.sh calls the functions.
#
#   a eth0 - r1 [bridge in r: tbf on r2, netem for acknowledgments on r1] r2 - d1 [bridge in d: netem on d2] d2 - eth0 b

inside() { ip netns exec "$@"; }

pair() { # NAMESPACE DEVICE NAMESPACE DEVICE
    ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
    for end in "$1 $2" "$3 $4"; do
        set -- $end
        inside $1 ethtool -K $2 tso off gso off gro off >/dev/null 2>&1
        ip -n $1 link set $2 up
    done
}

bridge() { # NAMESPACE DEVICE DEVICE
    ip -n $1 link add br0 type bridge
    ip -n $1 link set $2 master br0
    ip -n $1 link set $3 master br0
    ip -n $1 link set br0 up
}

hosts() {
    for name in a r d b; do
        ip netns add $name
        ip -n $name link set lo up
    done
    pair a eth0 r r1
    pair r r2 d d1
    pair d d2 b eth0
    bridge r r1 r2
    bridge d d1 d2
    ip -n a addr add 192.168.1.3/24 dev eth0
    ip -n b addr add 192.168.1.34/24 dev eth0
}

path() { # BIT/S QUEUE-BYTES NETEM-FORTH NETEM-BACK
    inside r tc qdisc add dev r2 root tbf rate "$1" burst 4000 limit "$2"
    inside d tc qdisc add dev d2 root netem limit 5000 $3
    inside r tc qdisc add dev r1 root netem limit 5000 $4
    inside a ping -c 2 -W 2 192.168.1.34 >/dev/null || echo "no path"
}

lock() { # METRICS; the second connection takes them up, so there has to be a first
    inside a ip route change 192.168.1.0/24 dev eth0 $1
    inside b trecv 5090 >/dev/null &
    sleep 1
    inside a tsend 192.168.1.34 5090 info=/dev/null bytes=20000 >/dev/null
    wait
}

listen() { # NAMESPACE DEVICE FILE FILTER
    inside $1 tcpdump -Z root -i $2 -s 96 -B 8192 -w "$3.pcap" "$4" 2>"$3.said" &
    listening="$listening $!"
}

begin() { # NAME
    out=/out/$1
    mkdir -p $out
    listening=
    listen a eth0 $out/sender tcp
    listen b eth0 $out/receiver tcp
    listen r r2 $out/middle tcp
    listen r r1 $out/arrivals "tcp and src host 192.168.1.3"
    chrt -r 1 sampler a 192.168.1.3 $out >/dev/null &
    listening="$listening $!"
    sleep 2.5
}

finish() {
    sleep 2
    kill $listening
    wait $listening
    for name in a r d b; do
        for process in $(ip netns pids $name); do kill $process; done
    done
    sleep 0.5
    for name in a r d b; do ip netns del $name; done
}

turn() { # NAME; whoever started the machine says when
    printf "\nturn %s\n" "$1" # whatever was said before, on a line of its own
    read answer </dev/console
}

main() {
    export PATH=/bin:/sbin:/usr/bin:/usr/sbin
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t devtmpfs dev /dev
    mount -t tmpfs -o size=1200m out /out
    mount -t tmpfs run /run
    while read module; do insmod /modules/$module || echo "no $module"; done </modules/order
    ip link set lo up
    sysctl -qw net.ipv4.tcp_child_ehash_entries=1024
    uname -r >/out/kernel
    . /transfers.sh
    tar -C /out -cf /dev/vda .
    sync
    echo "finished"
    poweroff -f
}

main
