#!/bin/bash
# Boots a systemd of its own with one service, in namespaces of its own (unshare) and on a copy of this machine's files that ends with it.
# $1: this clone; $2: the unit; $3: a folder for results; $4: a script that runs in it. Then systemd halts.
set -euo pipefail
clone=$1 unit=$2 results=$3 probe=$4
mount --make-rprivate /
base=$results/base root=$results/base/root
mkdir "$base"
mount -t tmpfs tmpfs "$base"
mkdir "$base"/{up,work,cloneup,clonework,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/up,workdir=$base/work" "$root"
mount -t proc proc "$root/proc"
mount -o bind /proc/sys "$root/proc/sys"
mount -o remount,ro,bind "$root/proc/sys"
mount -o bind,ro /sys "$root/sys"
mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
mkdir "$root/sys/fs/cgroup/systemd"
mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
for folder in run tmp dev; do mount -t tmpfs tmpfs "$root/$folder"; done
for node in 'null 1 3' 'zero 1 5' 'full 1 7' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
  read -r name major minor <<< "$node"
  mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done
mkdir "$root/dev/pts" "$root/dev/shm" "$root/opt/parley"
ln -s /proc/self/fd "$root/dev/fd"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
ln -s pts/ptmx "$root/dev/ptmx"
mount -t overlay overlay -o "lowerdir=$clone,upperdir=$base/cloneup,workdir=$base/clonework" "$root/opt/parley"
mkdir "$root/results"
mount -o bind "$results" "$root/results"
ip link set lo up

system="$root/etc/systemd/system"
cp "$unit" "$system/parley.service"
# Nothing of the machine's own services is started, nor waited for.
mkdir "$system/parley.service.d"
printf '[Unit]\nDefaultDependencies=no\nWants=\nAfter=\n' > "$system/parley.service.d/alone.conf"
printf '[Unit]\nDefaultDependencies=no\nWants=systemd-journald.socket systemd-journald.service\n' > "$system/alone.target"
[ -x "$root/usr/bin/node" ] || ln -s "$NODE" "$root/usr/bin/node"
cp "$probe" "$root/probe.sh"

( chroot "$root" /bin/bash /probe.sh > "$results/out" 2>&1 || true; kill -s RTMIN+13 1; sleep 10; kill -9 -1 ) &
cd "$root"
exec env -i container=lxc "PATH=$PATH" chroot "$root" /lib/systemd/systemd --system --unit=alone.target --log-target=journal
