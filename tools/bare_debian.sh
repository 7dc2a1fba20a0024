#!/bin/sh
# bare_debian.sh [SUITE [FOLDER [TARGET...]]]: what a newcomer types, in a Debian that has its own
# python3 and make and nothing else. Needs root and debootstrap; what is committed is what runs.
#
#     sh tools/bare_debian.sh bookworm                        # make demo, then make test
#     sh tools/bare_debian.sh forky /var/tmp/forky demo       # another Python, one target
#     sh tools/bare_debian.sh forky /var/tmp/forky matrix     # a Python that this machine lacks
set -eu
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
place=${2:-/var/tmp/thrifty-$suite}
[ $# -gt 1 ] && shift 2 || shift $#
[ $# -gt 0 ] || set -- demo test

scripts=/usr/share/debootstrap/scripts
if [ ! -x "$place/usr/bin/make" ]; then
  script=$scripts/$suite
  [ -e "$script" ] || script=$scripts/sid # a suite that is younger than debootstrap
  debootstrap --variant=minbase --include=python3,make,ca-certificates "$suite" "$place" \
    "${MIRROR:-http://deb.debian.org/debian}" "$script" >"$place.log"
fi
# How this machine reaches its package index goes along; nothing else does.
for file in /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
  [ ! -e "$file" ] || cp "$file" "$place$file"
done
# The lists of a mirror that lags behind are good enough here.
echo 'Acquire::Check-Valid-Until "false";' >"$place/etc/apt/apt.conf.d/99lagging"
if mountpoint -q "$place/proc"; then
  echo "$place is in use: somebody else runs there" >&2
  exit 1
fi
rm -rf "$place/root/thrifty"
mkdir -p "$place/root/thrifty"
git archive HEAD | tar -x -C "$place/root/thrifty"

leave() { umount -l "$place/proc" "$place/sys" "$place/dev" 2>/dev/null || true; }
trap leave EXIT
mount -t proc proc "$place/proc"
mount --rbind /sys "$place/sys" # where the number of cores is looked up
mount --rbind /dev "$place/dev"
for target in "$@"; do
  began=$(date +%s)
  env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${PIP_CERT:+PIP_CERT="$PIP_CERT"} ${PIP_DEFAULT_TIMEOUT:+PIP_DEFAULT_TIMEOUT="$PIP_DEFAULT_TIMEOUT"} \
    chroot "$place" make -C /root/thrifty "$target"
  # what `make matrix` says of a Python, for tools/release_check.py
  [ "$target" != matrix ] || cp "$place"/root/thrifty/matrix-*.log .
  echo "make $target on $suite ($(chroot "$place" python3 -V)): passed in $(($(date +%s) - began)) s"
done
