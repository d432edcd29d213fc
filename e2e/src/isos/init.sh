#!/bin/sh
# The first process of what boots from a test's ISO or from the network. It says everything on the first serial port, each line behind
# "b7:", and then stays.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/ttyS0 2>&1

say() { echo "b7: $*"; }

say "cmdline: $(cat /proc/cmdline)"

while read -r module; do
  insmod "/modules/$module" || say "failed: the module $module"
done </modules/order

# The parameters, as programs that read /proc/cmdline take them: quotes fall away.
url= check= off= network= partition=
set -f
for word in $(tr -d '"' </proc/cmdline); do
  case $word in
    b7.config=*) url=${word#b7.config=} ;;
    ds=nocloud*\;s=*) url=${word##*;s=} ;;
    ip=*) network=${word#ip=} ;;
    b7.check) check=yes ;;
    b7.partition) partition=yes ;;
    b7.poweroff) off=yes ;;
  esac
done
set +f

ip link set lo up
ip link set eth0 up
case $network in
  # QEMU's user network. No route: the host's loopback, at 10.0.2.2, is all that can be reached.
  '') ip address add 10.0.2.15/24 dev eth0 ;;
  dhcp) udhcpc -f -q -n -t 10 -T 3 -i eth0 -s /lease || say "failed: no address by DHCP" ;;
  # address::gateway:netmask, as the kernel and every initramfs read it
  *)
    address=$(echo "$network" | cut -d : -f 1) gateway=$(echo "$network" | cut -d : -f 3)
    ip address add "$address/$(ipcalc -p "$address" "$(echo "$network" | cut -d : -f 4)" | cut -d = -f 2)" dev eth0
    [ -z "$gateway" ] || ip route add default via "$gateway"
    ;;
esac
say "address: $(ip -4 -o address show dev eth0 | sed 's/.*inet \([^ ]*\).*/\1/')"

drives() {
  for try in 1 2 3 4 5 6 7 8 9 10; do
    [ -b /dev/sr1 ] && return
    sleep 0.3
  done
}

# The partition that is named as such volumes are, on whatever disk.
partition() {
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    found=$(grep -l -E '^PARTNAME=(cidata|config-2)$' /sys/class/block/*/uevent) && break
    sleep 0.3
  done
  [ -n "$found" ] && echo "/dev/$(basename "$(dirname "$found")")"
}

# The volume label of an ISO: 32 bytes in its primary volume descriptor.
label() { dd if="$1" bs=1 skip=32808 count=32 2>/dev/null | sed 's/ *$//' | tr A-Z a-z; }

report() {
  if [ -f "$2" ]; then
    say "$1 sha256: $(sha256sum "$2" | cut -d ' ' -f 1)"
  else
    say "failed: no $1"
  fi
}

mkdir -p /tmp /mnt
if [ -n "$url" ]; then
  for name in meta-data user-data; do
    while ! problem=$(wget -q -O "/tmp/$name.part" "${url%/}/$name" 2>&1); do
      rm -f "/tmp/$name.part"
      # Who has it not now is asked again, as cloud-init does.
      case $problem in
        *" 503 "*) sleep 1 ;;
        *)
          say "failed: $problem"
          break
          ;;
      esac
    done
    [ ! -f "/tmp/$name.part" ] || mv "/tmp/$name.part" "/tmp/$name"
    report "$name" "/tmp/$name"
  done
else
  if [ -n "$partition" ]; then
    volumes=$(partition)
    [ -n "$volumes" ] || say "failed: no partition with a configuration"
  else
    drives
    volumes="/dev/sr0 /dev/sr1"
  fi
  for drive in $volumes; do
    case $(label $drive) in
      cidata)
        mount -t iso9660 -o ro $drive /mnt
        cp /mnt/meta-data /mnt/user-data /tmp/
        umount /mnt
        ;;
      config-2)
        mount -t iso9660 -o ro $drive /mnt
        cp /mnt/openstack/latest/meta_data.json /tmp/meta-data
        cp /mnt/openstack/latest/user_data /tmp/user-data
        umount /mnt
        ;;
      *) continue ;;
    esac
    say "volume: $(label $drive) in ${drive#/dev/}"
    report meta-data /tmp/meta-data
    report user-data /tmp/user-data
  done
fi

if [ -n "$check" ]; then
  drives
  mount -t iso9660 -o ro /dev/sr0 /mnt
  if [ -f /mnt/md5sum.txt ] && (cd /mnt && md5sum -c -s md5sum.txt); then
    say "media: every checksum is right"
  else
    say "failed: the medium's checksums"
  fi
  umount /mnt
fi

home=
[ -f /tmp/meta-data ] && home=$(sed -n 's/.*phone_home_url"\{0,1\} *: *"\{0,1\}\([^",} ]*\).*/\1/p' /tmp/meta-data)
if [ -n "$home" ]; then
  uuid=$(cat /sys/class/dmi/id/product_uuid)
  if wget -q -O /dev/null --post-data "uuid=$uuid" "$home"; then
    say "called home"
  else
    say "failed: to call home"
  fi
fi

say "done"
[ -n "$off" ] && poweroff -f
while :; do sleep 3600; done
