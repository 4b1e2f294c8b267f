#!/bin/sh
# SPDX-License-Identifier: MIT
#
# sign_figures.sh - the seed's figures, drawn from samples of bench_sign.
#
#	bench_sign --samples FILE; bench/sign_figures.sh FILE [FOLDER]
#
# Writes figure1.svg (share of samples in each half microsecond), figure1_fine.svg (the
# presigned ones, in tens of nanoseconds) and figure2.svg (time at each percentile) to
# FOLDER, build/figures by default. What the seed published stands beside, and is
# labelled so: it was measured on other machines.
set -eu
samples=${1:?usage: bench/sign_figures.sh SAMPLES [FOLDER]}
out=${2:-build/figures}
here=$(dirname "$0")

if ! command -v gnuplot >/dev/null; then
	echo "sign_figures.sh: gnuplot is missing: install gnuplot-nox (Debian), then run" \
		"$0 $samples $out" >&2
	exit 1
fi
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
machine=$(sed -n '1s/^# [^;]*; //p' "$samples")

# column KEY: its samples, sorted. Nothing for a row that was not measured.
column()
{
	awk -v key="$1" '/^#/ { next }
		!at { for (i = 1; i <= NF; i++) if ($i == key) at = i; if (!at) exit; next }
		$at != "-" { print $at }' "$samples" | sort -n
}

# bins SORTED WIDTH_NS: where a bin begins, in microseconds, and its share in percent.
bins()
{
	awk -v width="$2" '{ n[int($1 / width)]++; total++ }
		END { for (bin in n) print bin * width / 1000, 100 * n[bin] / total }' "$1" |
		sort -n
}

# percentiles SORTED: number of the mark on the axis, and microseconds (nearest rank).
percentiles()
{
	awk '{ v[NR] = $1 }
		END {
			split("0.5 0.9 0.99 0.999 0.9999", share, " ")
			for (i = 1; NR && i <= 5; i++) {
				rank = int(NR * share[i])
				if (rank < NR * share[i])
					rank++
				print i, v[rank] / 1000
			}
		}' "$1"
}

# p99 SORTED FACTOR: its 99th percentile times FACTOR, in microseconds.
p99()
{
	awk -v factor="$2" '{ v[NR] = $1 }
		END { print v[int((NR * 99 + 99) / 100)] / 1000 * factor }' "$1"
}

for key in seed_loop bare openssl k256 finish finish_checked presigned core; do
	column $key >"$work/$key"
	bins "$work/$key" 500 >"$work/$key.half"
	bins "$work/$key" 10 >"$work/$key.fine"
	percentiles "$work/$key" >"$work/$key.share"
done
for key in seed_loop bare finish finish_checked presigned core; do
	[ -s "$work/$key" ] && continue
	echo "sign_figures.sh: no samples of $key in $samples" >&2
	exit 1
done
awk '!/^#/ { print $1, $2 / 2000 }' "$here/seed_m2.txt" >"$work/m2.half"
printf '1 39.1\n2 40.1\n3 47.4\n4 54.0\n5 100.4\n' >"$work/m2.share"
printf '1 41.2\n3 61.7\n4 81.6\n' >"$work/runner.share"
count=$(wc -l <"$work/presigned")

# series KEY SUFFIX STYLE TITLE: a clause of `plot`, where there is such data.
series()
{
	[ ! -s "$work/$1.$2" ] || printf '%s"%s" %s title "%s: %s us"' "$comma" "$work/$1.$2" \
		"$3" "$4" "$(median "$1")"
}

# median KEY: in microseconds, three digits.
median()
{
	awk '$1 == 1 { printf $2 < 1 ? "%.2f" : "%.1f", $2 }' "$work/$1.share"
}

head_of()
{
	cat <<-END
	set terminal svg size 1000,600 dynamic font "sans-serif,14" background rgb "white"
	set output "$out/$1.svg"
	set title "$2\n$machine\n$count samples a row, the clock's own cost included" noenhanced
	set key noenhanced reverse Left samplen 1.5
	set border 3
	set tics nomirror out
	set grid ytics lc rgb "#e0e0e0"
	END
}

grey='lc rgb "#9a9a9a"' blue='lc rgb "#1f6fb4"' orange='lc rgb "#d95f02"' green='lc rgb "#1b8a5a"'
purple='lc rgb "#7a4fa3"'
published="published (seed, M2)"

{
	head_of figure1 "Figure 1. Time of a signature: share in each half microsecond"
	cat <<-END
	set xlabel "microseconds (SHA-256 of 256 bytes, then ECDSA; beside the names: medians)"
	set ylabel "share of signatures, %"
	set xrange [0:64]
	set yrange [0:125]
	set ytics 0, 20, 100
	set xtics 4
	set boxwidth 0.5 absolute
	set style fill solid 0.75 noborder
	set key top right
	END
	box='using ($1+0.25):2 with boxes'
	comma=', '
	printf 'plot "%s" %s %s title "%s, k256 0.13.4: 39.1 us"' "$work/m2.half" "$box" \
		"$grey" "$published"
	series k256 half "$box $purple" "k256, here"
	series bare half "$box $orange" "libsecp256k1, here"
	series seed_loop half "$box $blue" "our RFC 6979 path, here"
	series presigned half "$box $green" "presigned, checked, here"
	echo
} >"$work/figure1.gp"

{
	head_of figure1_fine "Figure 1, finer. Presigned signatures: share in each 10 nanoseconds"
	cat <<-END
	set xlabel "microseconds (beside the names: medians)"
	set ylabel "share of samples, %"
	set xrange [0:$(p99 "$work/core" 1.25)]
	set yrange [0:120]
	set ytics 0, 20, 100
	set boxwidth 0.01 absolute
	set style fill solid 0.75 noborder
	set key top right
	END
	box='using ($1+0.005):2 with boxes'
	comma=
	printf 'plot '
	series finish fine "$box $grey" "finish on a digest, unchecked"
	comma=', '
	series finish_checked fine "$box $blue" "finish on a digest, checked, wiped"
	series presigned fine "$box $green" "SHA-256 of 256 B + take + checked finish"
	series core fine "$box $orange" "sr_core: a record in, a record out"
	echo
} >"$work/figure1_fine.gp"

{
	head_of figure2 "Figure 2. Time that a given share of signatures stayed within"
	cat <<-END
	set xlabel "share of signatures at or below the time (beside the names: half of them)"
	set ylabel "microseconds, logarithmic"
	set logscale y
	set yrange [0.1:*]
	set xrange [0.8:5.2]
	set xtics ("50%%" 1, "90%%" 2, "99%%" 3, "99.9%%" 4, "99.99%%" 5)
	set key outside bottom center horizontal maxcols 2
	END
	line='using 1:2 with linespoints lw 2 pt 7 ps 0.6'
	comma=', '
	printf 'plot "%s" %s dt 2 %s title "%s: 39.1 us"' "$work/m2.share" "$line" "$grey" \
		"$published"
	printf ', "%s" %s dt 3 lc rgb "#5a5a5a" title "%s: 41.2 us"' "$work/runner.share" "$line" \
		"published (seed, shared runner)"
	series openssl share "$line lc rgb \"#c2a000\"" "OpenSSL, here"
	series k256 share "$line $purple" "k256, here"
	series bare share "$line $orange" "libsecp256k1, here"
	series seed_loop share "$line $blue" "our RFC 6979 path, here"
	series core share "$line dt 4 $green" "sr_core, presigned, here"
	series presigned share "$line $green" "presigned, checked, here"
	series finish_checked share "$line lc rgb \"#7fc97f\"" "its finish alone, here"
	echo
} >"$work/figure2.gp"

for figure in figure1 figure1_fine figure2; do
	gnuplot "$work/$figure.gp"
	echo "$out/$figure.svg"
done
