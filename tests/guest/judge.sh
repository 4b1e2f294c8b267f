# SPDX-License-Identifier: MIT
#
# judge.sh - a check and its line, as tests/run.sh reads it. For sh, busybox's too.
failed=0

judge() { # NAME CODE [LOG]
	if [ "$2" -eq 0 ]; then
		echo "ok $1"
	else
		echo "not ok $1"
		[ -z "${3:-}" ] || tail -n 12 "$3" | sed 's/^/#   /'
		failed=1
	fi
}
