#!/usr/bin/env bash
# Shows what a package does in a fresh Debian with Node and nothing else, no compiler, no git: the Debian package installed,
# upgraded over an older store, damaged, and removed; the tarball installed by npm for a new user, damaged, and removed.
#
#   sudo test/package/debian.sh PACKAGE.deb PACKAGE.tgz [SUITE]     both of `npm run package`; SUITE: trixie unless told
#
# By hand and by `npm run soak -- package`, not by `npm test`: it downloads a Debian (debian-root.sh).
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "expected the Debian package, the tarball, and no more than a suite, got $# words" >&2
  exit 2
fi
deb=$(realpath "$1")
tarball=$(realpath "$2")
suite=${3:-trixie}
packages=nodejs
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
inside=$here/debian-inside.sh
# shellcheck source=test/debian-root.sh
. "$here/../debian-root.sh"

require_tools
make_work
# The same program under a lower version, to be upgraded from.
dpkg-deb --raw-extract "$deb" "$work/older"
sed -i 's/^Version: .*/Version: 0.0.1/' "$work/older/DEBIAN/control"
dpkg-deb --root-owner-group --build "$work/older" "$work/older.deb" >/dev/null
cp "$deb" "$work/newer.deb"
cp "$tarball" "$work/ctxfs.tgz"
# Debian's own npm brings hundreds of packages: ours is taken along, to install the tarball with.
tar -C "$(npm root --global)" -cf "$work/npm.tar" npm
cp "$here/../support/older-store.mjs" "$work/older-store.mjs"
files=("$work/older.deb" "$work/newer.deb" "$work/ctxfs.tgz" "$work/npm.tar" "$work/older-store.mjs")
run_in_fresh_root
