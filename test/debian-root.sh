# shellcheck shell=bash
# A fresh Debian in a directory, entered by pivot_root: the kernel refuses user namespaces in a chroot. Every mount is made in a
# mount namespace of our own and ends with it, however that ends. Sourced by scripts that set `inside`, the script that is
# process 1 there, and `files`, what it finds in /root; `packages` are installed beyond the minimum.
#
# How this machine reaches its package mirrors (proxies, certificates, registry) is carried over. DEBIAN_MIRROR overrides
# the mirror.

# Makes the root of $suite and runs $inside in it. $work is gone afterwards.
run_in_fresh_root() {
  root=$work/root
  mkdir "$root"
  write_settings >"$work/settings"
  HOST_CERTIFICATES=$(certificates)
  export -f build_root enter_root
  export suite root work inside packages HOST_CERTIFICATES
  export file_list="${files[*]}"
  unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
    bash -euo pipefail -c 'build_root; enter_root'
}

make_work() {
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/ctxfs-fresh-root.XXXXXX")
  trap 'rm -rf --one-file-system "$work"' EXIT
  trap 'exit 130' INT TERM HUP
}

require_tools() {
  if [ "$(id -u)" != 0 ]; then
    echo "$0: needs root, to make a root filesystem: sudo $0 $suite" >&2
    exit 69
  fi
  local tool
  for tool in debootstrap unshare pivot_root git; do
    if ! command -v "$tool" >/dev/null; then
      echo "$0: $tool is missing. Run: apt-get install -y debootstrap util-linux git" >&2
      exit 69
    fi
  done
}

# The environment inside, as shell assignments.
write_settings() {
  local name value
  for name in http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY; do
    [ -z "${!name-}" ] || printf 'export %s=%q\n' "$name" "${!name}"
  done
  for name in registry proxy https-proxy noproxy; do
    value=$(cd / && npm config get "$name" 2>/dev/null) || continue
    case $value in '' | null | undefined) continue ;; esac
    printf 'export npm_config_%s=%q\n' "${name//-/_}" "$value"
  done
  if [ -n "$(certificates)" ]; then
    for name in NODE_EXTRA_CA_CERTS SSL_CERT_FILE GIT_SSL_CAINFO npm_config_cafile; do
      printf 'export %s=/etc/ssl/host-certificates.crt\n' "$name"
    done
  fi
}

# The file of certificates this machine was told to trust beyond its programs' defaults, if any.
certificates() {
  local file
  for file in "${NODE_EXTRA_CA_CERTS-}" "${SSL_CERT_FILE-}" "$(cd / && npm config get cafile 2>/dev/null)"; do
    if [ -n "$file" ] && [ -f "$file" ]; then
      echo "$file"
      return
    fi
  done
}

build_root() {
  local mirror proxy=
  mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 2>/dev/null |
    sed -n 's/^Debian Debian //p' | head -n 1)}
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  echo "== $suite from ${mirror:-the default mirror}"
  local started=$SECONDS
  if ! http_proxy=${http_proxy:-$proxy} debootstrap --variant=minbase --include="ca-certificates${packages:+,$packages}" \
    "$suite" "$root" ${mirror:+"$mirror"} >"$work/debootstrap.log" 2>&1; then
    tail -n 30 "$work/debootstrap.log" >&2
    exit 1
  fi
  echo "== made in $((SECONDS - started)) s"

  cp /etc/resolv.conf "$root/etc/resolv.conf"
  grep -v '^#' /etc/hosts >"$root/etc/hosts"
  apt-config dump | grep -E '^Acquire::https?::' >"$root/etc/apt/apt.conf.d/99host" || true
  if [ -n "$HOST_CERTIFICATES" ]; then cp "$HOST_CERTIFICATES" "$root/etc/ssl/host-certificates.crt"; fi
  # Names without spaces: ours.
  # shellcheck disable=SC2086
  cp "$work/settings" $file_list "$root/root/"
  cp "$inside" "$root/root/inside.sh"
}

enter_root() {
  mount --bind "$root" "$root"
  cd "$root"
  mount -t proc proc proc
  mount --rbind /sys sys
  mount --rbind /dev dev
  mkdir old-root
  pivot_root . old-root
  exec /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    bash /root/inside.sh </dev/null
}
