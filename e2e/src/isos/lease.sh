#!/bin/sh
# What udhcpc does with what it is given.
case $1 in
  bound | renew)
    ip address flush dev "$interface"
    ip address add "$ip/$mask" dev "$interface"
    for gateway in $router; do ip route add default via "$gateway" dev "$interface"; done
    ;;
esac
