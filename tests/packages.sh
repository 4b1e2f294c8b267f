#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what is missing of $PACKAGES through apt; with NO_INSTALL=1 only says so.
set -u
missing=()
for p in $PACKAGES; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
command="${sudo:+$sudo }apt-get install -y --no-install-recommends ${missing[*]}"
if [ -n "${NO_INSTALL:-}" ]; then
	echo "These packages are missing. Install them with:" >&2
	echo "  $command" >&2
	exit 1
fi
echo "Installing what is missing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A new machine has no package lists yet; an old one may have stale ones.
if ! { $command >"$log" 2>&1 || { $sudo apt-get update >"$log" 2>&1 && $command >>"$log" 2>&1; }; }; then
	tail -n 20 "$log" >&2
	echo "apt could not install them; try: $command" >&2
	exit 1
fi
