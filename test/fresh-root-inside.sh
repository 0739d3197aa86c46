#!/usr/bin/env bash
# The part of fresh-root.sh that runs inside the fresh Debian, as its process 1.
set -euo pipefail

quiet=(-c init.defaultBranch=main -c advice.detachedHead=false)
failures=0
summary=

# timed NAME COMMAND... : runs it, and goes on where it fails.
timed() {
  local name=$1 started=$SECONDS outcome=passed
  shift
  printf '\n== %s\n' "$name"
  "$@" || { outcome="FAILED with $?" && failures=$((failures + 1)); }
  summary+="$(printf '%5d s  %s: %s' $((SECONDS - started)) "$name" "$outcome")"$'\n'
}

install_node() {
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update && apt-get install -y --no-install-recommends nodejs npm git; } >/tmp/apt.log 2>&1; then
    tail -n 30 /tmp/apt.log >&2
    return 1
  fi
  echo "Node $(node --version), npm $(npm --version), $(git --version)"
}

as_root() {
  cd /root/ctxfs && "$@"
}

as_person() {
  runuser -u person -- env HOME=/home/person bash -c 'cd /home/person/ctxfs && "$@"' bash "$@"
}

cd /
umount --lazy /old-root
rmdir /old-root
# shellcheck disable=SC1091
. /root/settings
mount -t tmpfs -o mode=1777 tmpfs /dev/shm 2>/dev/null || true

timed 'install Node, npm and git' install_node
git "${quiet[@]}" clone --quiet /root/head.bundle /root/ctxfs
useradd --create-home --uid 1000 --shell /bin/bash person
install -o person -m 644 /root/head.bundle /home/person/head.bundle
runuser -u person -- git "${quiet[@]}" clone --quiet /home/person/head.bundle /home/person/ctxfs

timed 'npm start, as root' as_root npm start
timed 'npm test, as root' as_root npm test
timed 'npm start, as a new user' as_person npm start
timed 'npm start again, as a new user' as_person npm start

printf '\n== summary\n%s' "$summary"
[ "$failures" = 0 ]
