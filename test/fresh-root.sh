#!/usr/bin/env bash
# Shows that a fresh clone in a fresh Debian passes both commands of the README: as root, and `npm start` as a new user.
#
#   sudo test/fresh-root.sh [SUITE]        SUITE: trixie unless told; it has to have Node 20.19 or newer
#
# By hand, not by `npm test`: it downloads a Debian (debian-root.sh).
set -euo pipefail

suite=${1:-trixie}
packages=
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
inside=$here/fresh-root-inside.sh
# shellcheck source=test/debian-root.sh
. "$here/debian-root.sh"

require_tools
make_work
git -c safe.directory="${here%/*}" -C "${here%/*}" bundle create --quiet "$work/head.bundle" HEAD
files=("$work/head.bundle")
run_in_fresh_root
