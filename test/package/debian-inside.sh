#!/usr/bin/env bash
# The part of debian.sh that runs inside the fresh Debian, as its process 1. Each line of its report is one thing shown.
set -euo pipefail

failures=0

# shows WHAT COMMAND... : runs it, and goes on where it fails.
shows() {
  local what=$1
  shift
  if "$@" >/tmp/said 2>&1; then
    echo "ok      $what"
  else
    echo "FAILED  $what: $* ended with $?"
    sed 's/^/          /' /tmp/said | tail -n 20
    failures=$((failures + 1))
  fi
}

# refuses WHAT PATTERN COMMAND... : it fails, and says why.
refuses() {
  local what=$1 pattern=$2
  shift 2
  if "$@" >/tmp/said 2>&1 || ! grep -qE "$pattern" /tmp/said; then
    echo "FAILED  $what: expected a failure that says $pattern"
    sed 's/^/          /' /tmp/said | tail -n 20
    failures=$((failures + 1))
  else
    echo "ok      $what"
  fi
}

as_person() {
  runuser -u person -- env -i HOME=/home/person PATH="$person_path" LANG=C.UTF-8 sh -euc "cd /home/person/project; $1"
}

as_root() {
  cd /root/project && env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 sh -euc "$1"
}

# As a new file, here and below: a keeper that starts may be running the one that is there, which no one can write then.
flip() {
  cp --preserve "$1" /tmp/flipping
  local size
  size=$(stat -c %s "$1")
  local middle=$((size / 2)) byte
  byte=$(od -An -tu1 -j "$middle" -N 1 "$1")
  printf "\\$(printf %o $((byte ^ 1)))" | dd of=/tmp/flipping bs=1 seek="$middle" conv=notrunc status=none
  replace /tmp/flipping "$1"
}

replace() {
  cp --preserve --remove-destination "$1" "$2"
}

cd /
umount --lazy /old-root
rmdir /old-root
mount -t tmpfs -o mode=1777 tmpfs /dev/shm 2>/dev/null || true
useradd --create-home --uid 1000 --shell /bin/bash person
person_path=/usr/bin:/bin
for home in /root /home/person; do
  mkdir "$home/project"
  echo one >"$home/project/file"
done
chown -R person:person /home/person
echo "Debian $(cat /etc/debian_version), Node $(node --version), $(uname -sr)"

cp /root/older-store.mjs /tmp/
echo "Object.defineProperty(process, 'arch', { value: 's390x' });" >/tmp/other-machine.cjs
chmod 644 /tmp/older-store.mjs /tmp/other-machine.cjs

echo '== the Debian package'
refuses 'in a Debian without a compiler and git' 'not found' sh -c 'cc -v; gcc -v; git -v'
shows 'it is installed' dpkg -i /root/older.deb
for who in person root; do
  shows "$who: it runs right away" "as_$who" "ctx exec -- sh -c 'echo two > file; echo more > more'"
  shows "$who: the host is fit" "as_$who" 'ctx doctor'
  shows "$who: the directory is untouched" "as_$who" 'test "$(cat file)" = one; ctx diff --names | grep -q more'
  shows "$who: (the store becomes one of format 1)" "as_$who" 'node /tmp/older-store.mjs ~/.local/share/ctxfs'
done
shows 'it is upgraded' dpkg -i /root/newer.deb
for who in person root; do
  shows "$who: the store is migrated" "as_$who" 'ctx doctor 2>&1 | grep "is now of format 2"; ctx fsck'
  shows "$who: nothing of the fork is lost" "as_$who" "ctx exec -- grep -qx two file; ctx apply; grep -qx more more"
  shows "$who: the same again" "as_$who" "ctx exec -- true; ctx exec -- true; test -z \"\$(ctx diff)\""
done
shows 'manual page and completions are there' ls /usr/share/man/man1/ctx.1.gz \
  /usr/share/bash-completion/completions/ctx /usr/share/zsh/vendor-completions/_ctx
shows 'its files are as packaged' sh -c 'test -z "$(dpkg --verify ctxfs | grep -v /usr/share)"'
for name in dist/cli/exec.cjs "dist/native/$(node -p process.arch)/jail"; do
  replace "/usr/lib/ctxfs/$name" /tmp/whole
  flip "/usr/lib/ctxfs/$name"
  refuses "a flipped byte in $name" 'not what was packaged|damaged' as_person 'ctx exec -- true'
  replace /tmp/whole "/usr/lib/ctxfs/$name"
  shows "and its right bytes again" as_person 'ctx exec -- true'
done
cp /usr/lib/ctxfs/dist/build.json /tmp/whole
truncate --size 1000 /usr/lib/ctxfs/dist/build.json
refuses 'digests that are cut short' 'build\.json' as_person 'ctx exec -- true'
cp /tmp/whole /usr/lib/ctxfs/dist/build.json
other='node --require=/tmp/other-machine.cjs'
refuses 'another architecture' 'expected x86_64 or arm64, got s390x' as_person "$other /usr/lib/ctxfs/dist/cli/ctx.cjs exec -- true"
cp /root/newer.deb /tmp/flipped.deb
flip /tmp/flipped.deb
refuses 'a package with a flipped byte' 'dpkg' dpkg -i /tmp/flipped.deb
shows '(installed again)' dpkg -i /root/newer.deb
shows 'person: ctx uninstall says what stays' as_person 'ctx uninstall | grep -q .local/share/ctxfs'
shows 'it is removed' dpkg -r ctxfs
refuses 'nothing of it is left' 'No such file|cannot access' ls /usr/lib/ctxfs /usr/bin/ctx
shows 'what people made is left' test -d /home/person/.local/share/ctxfs/vault
shows 'it is purged' dpkg -P ctxfs

echo '== the tarball'
mkdir /opt/npm
tar -C /opt/npm -xf /root/npm.tar
cp /root/ctxfs.tgz /tmp/ctxfs.tgz
cp /root/ctxfs.tgz /tmp/flipped.tgz
flip /tmp/flipped.tgz
install='node /opt/npm/npm/bin/npm-cli.js install --offline --no-audit --no-fund --global --prefix'
person_path=/home/person/.local/bin:/usr/bin:/bin
refuses 'a flipped byte' 'npm (ERR!|error)' as_person "$install ~/.local /tmp/flipped.tgz"
refuses 'and nothing is installed' 'not found' as_person 'ctx --version'
refuses 'a prefix that the person may not write' 'EACCES' as_person "$install /usr /tmp/ctxfs.tgz"
refuses 'another architecture' 'EBADPLATFORM|Unsupported platform' as_person "$other ${install#node } ~/.local /tmp/ctxfs.tgz"
shows 'it is installed by an unprivileged person' as_person "$install ~/.local /tmp/ctxfs.tgz"
shows 'and runs right after' as_person "ctx exec -- sh -c 'echo three > file'; ctx status; ctx diff | grep -q three"
chmod -R a-w /home/person/.local/lib/node_modules/ctxfs
shows 'also where it may not be written' as_person 'ctx exec -- true; HOME=/nonexistent CTX_DATA=/home/person/data ctx exec -- true'
chmod -R u+w /home/person/.local/lib/node_modules/ctxfs
shows 'it is removed' as_person 'node /opt/npm/npm/bin/npm-cli.js uninstall --offline --global --prefix ~/.local ctxfs'
refuses 'nothing of it is left' 'not found' as_person 'ctx --version'

echo
echo "failures: $failures"
[ "$failures" = 0 ]
