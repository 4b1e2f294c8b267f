#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Random orders at sigring-replay --offline and at the venues' SDKs, from npm: make difftest.
#
#   tests/difftest.sh BUILD [ORDERS [SEED]]
#
# ORDERS are for each venue, 100,000 by default. Without Node 20 or a registry it is skipped,
# and says which of them is missing. Versions are pinned, with their hashes, by
# tests/difftest/package-lock.json.
set -eu
bin=$(realpath "$1")
orders=${2:-100000}
seed=${3:-$(date +%s)}
here=$(dirname "$(realpath "$0")")/difftest

skip() { echo "skip difftest: $1"; exit 77; }
command -v node >/dev/null || skip "there is no node (apt-get install nodejs npm)"
command -v npm >/dev/null || skip "there is no npm (apt-get install npm)"
major=$(node -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 20 ] || skip "node is of version $(node --version), and the SDKs need 20"

# Installed beside what was built, and again when a version has changed.
work=$bin/difftest
mkdir -p "$work"
cp "$here"/*.mjs "$here/package.json" "$work/"
if ! cmp -s "$here/package-lock.json" "$work/package-lock.json" || [ ! -d "$work/node_modules" ]; then
	rm -rf "$work/node_modules"
	cp "$here/package-lock.json" "$work/"
	if ! (cd "$work" && timeout 600 npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1); then
		rm -f "$work/package-lock.json"
		skip "npm ci does not get the SDKs: $(grep -m1 'npm error' "$work/npm.log")"
	fi
fi
exec node "$work/difftest.mjs" "$bin" "$orders" "$seed"
