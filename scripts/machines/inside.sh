#!/bin/bash
# The first process of a machine of `npm run machines`: says what the machine is, runs the suites, and ends it. Lines that begin
# with @@ are for the script outside.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
export CTX_KEEPER=off CTX_TEST_SLOWNESS=20

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm /run
ln -sfn /proc/self/fd /dev/fd
for name in stdin:0 stdout:1 stderr:2; do ln -sfn "/proc/self/fd/${name#*:}" "/dev/${name%:*}"; done
mount -t devpts -o mode=620,gid=5,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs tmp /run
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t securityfs security /sys/kernel/security 2>/dev/null
ip link set lo up
hostname machine
chmod 1777 /tmp
cd /opt/ctxfs || exit
# Packages were unpacked and not set up: what their scripts would have done.
depmod
ldconfig
modprobe fuse
# As the first process of a usual system does.
echo '+cpu +memory +pids +io' >/sys/fs/cgroup/cgroup.subtree_control

echo "@@ kernel $(uname -r)"
echo "@@ node $(node --version)"
echo "@@ lsm $(cat /sys/kernel/security/lsm 2>/dev/null)"
echo "@@ cgroup $(stat -f -c %T /sys/fs/cgroup)"
bin/ctx doctor 2>&1 | sed 's/^/@@ doctor /'
while read -r suite; do
  started=$SECONDS
  timeout 3600 node --test --test-reporter=tap --test-concurrency=1 "dist/js/test/$suite.js" >/tmp/suite.tap 2>&1
  code=$?
  counted() { sed -n "s/^# $1 //p" /tmp/suite.tap | tail -n 1; }
  echo "@@ suite $suite $code $(counted pass) $(counted fail) $(counted skipped) $((SECONDS - started))"
  grep -E '^ *not ok' /tmp/suite.tap | sed 's/^ */@@ failed /'
  # Why: those that were cancelled with their parent say nothing.
  [ "$code" = 0 ] || grep -vE '^ *(ok|#|---|\.\.\.|duration_ms|type:)' /tmp/suite.tap |
    grep -E -A 30 "failureType: '(hookFailed|testCodeFailure|uncaughtException|testTimeoutFailure)'" | head -n 120
done </opt/machine/suites
echo '@@ end'
sync
echo o >/proc/sysrq-trigger
sleep 60
