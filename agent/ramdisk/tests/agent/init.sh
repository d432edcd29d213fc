#!/bin/sh
# The first process of what a test installs: it says on the first serial port what its configuration holds, and turns
# the machine off.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/ttyS0 2>&1

while read -r module; do
  insmod "/modules/$module" || echo "b7: the module $module can't be loaded"
done </modules/order

# The kernel finds disks while this runs.
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  found=$(grep -l '^PARTNAME=cidata$' /sys/class/block/*/uevent) && break
  sleep 0.3
done
name=$(basename "$(dirname "$found")")
mkdir -p /mnt
mount -t iso9660 -o ro "/dev/$name" /mnt || echo "b7: $name can't be mounted"
echo "b7: the installed system found $name: $(cat /mnt/user-data)"
# What was written to a serial port is on its way for a while.
sleep 1
poweroff -f
