#!/bin/sh
# SPDX-License-Identifier: MIT
#
# exp01_figures.sh - Figures 1 to 4 of the latency page, from a run of bench/exp01.
#
#	bench/exp01 --out FOLDER; bench/exp01_figures.sh [FOLDER]
#
# Writes figure1 (histogram), figure2 (percentile tails), figure3 (where the time goes) and
# figure4 (beside what others have published), each as .svg and .png, to FOLDER,
# build/exp01 by default. Each value says whether it was measured in this run, published
# by others, or is an estimate; where no enclave took part, the title says so.
set -eu
run=${1:-build/exp01}
data=$run/figures

if ! command -v gnuplot >/dev/null; then
	echo "exp01_figures.sh: gnuplot is missing: install gnuplot-nox (Debian), then run" \
		"$0 $run" >&2
	exit 1
fi
if [ ! -s "$data/facts.tsv" ]; then
	echo "exp01_figures.sh: no run in $run: make one with bench/exp01 --out $run" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fact() { awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$data/facts.tsv"; }

# tail_of ROW MARK COLUMN: a percentile in microseconds; mark 1 is the median.
tail_of() { awk -v mark="$2" -v column="$3" '$1 == mark { print $column }' "$data/tails-$1.tsv"; }

short() { awk -v v="$1" 'BEGIN { printf v < 10 ? "%.2f" : "%.1f", v }'; }

place="no enclave: $(fact where)"
trips="Through a Nitro Enclave: an estimate until it is measured"
kind=estimated
if [ "$(fact enclave)" = 1 ]; then
	place="Nitro Enclave at $(fact where)"
	trips="Beside the estimate of the latency page"
	kind=measured
fi
caption="$(fact machine); commit $(fact commit); $(fact date)"
paced=$(tail_of paced 1 2)
paced_name="paced, $(fact pool_paced)"
burst=$(tail_of burst 1 2)
burst_name="flat out, $(fact pool_burst)"
rows="burst paced"
if [ "$(fact dry_burst)" != 0 ]; then # not all of it was presigned: no figure
	caption="$caption; no row flat out: its pool was dry $(fact dry_burst) times"
	rows=paced
fi

# drawn ROW: is it one of those that have a figure?
drawn() { case " $rows " in *" $1 "*) ;; *) return 1 ;; esac; }

# each COMMAND: what it says of each row that is drawn.
each() { for row in $rows; do "$1" "$row"; done | paste -sd, - | sed 's/,/ and /'; }
median() { short "$(tail_of "$1" 1 2)"; echo; }

# Published: Lutsch, Franck, El-Hindi, Istvan, Binnig, DaMoN 2025, c6in.8xlarge; and the
# latency page (RustCrypto k256 0.13.4 on an Apple M2 and on a shared runner).
vsock=77.4
# The stream that was measured makes way for the published trip.
estimate=$(awk -F '\t' -v vsock=$vsock '$1 != "out" && $1 != "back" && $1 != "stream" { sum += $2 }
	END { printf "%.1f", sum + vsock }' "$data/stages-paced.tsv")

# head_of NAME TITLE: both forms of a figure begin alike; @TERMINAL is one or the other.
head_of()
{
	cat <<-END
	set title "$2\n{/*0.8 $place}\n{/*0.7 $caption}"
	set border 3
	set tics nomirror out
	set key noenhanced samplen 1.5
	grey = "#9a9a9a"; dark = "#5a5a5a"; blue = "#1f6fb4"; light = "#7fb4e0"
	orange = "#d95f02"; green = "#1b8a5a"
	END
}

# draw NAME WIDTH HEIGHT < commands
draw()
{
	cat >"$work/$1.gp"
	{
		echo "set terminal svg size $2,$3 dynamic enhanced font \"sans-serif,14\" background rgb \"white\""
		echo "set output \"$run/$1.svg\""
		cat "$work/$1.gp"
	} | gnuplot
	{
		echo "set terminal pngcairo size $2,$3 enhanced font \"sans-serif,11\" background rgb \"white\""
		echo "set output \"$run/$1.png\""
		cat "$work/$1.gp"
	} | gnuplot
	echo "$run/$1.svg"
	echo "$run/$1.png"
}

[ $kind = estimated ] || estimate=$(short "$paced")

# ---- Figure 1 ----

# As far as 90 in 100 of either row, and half as much again; what lies beyond is said.
end=$(for row in $rows; do tail_of "$row" 2 2; done |
	awk '$1 > m { m = $1 } END { printf "%.1f", m * 1.5 }')
beyond() { awk -v end="$end" '$1 < end { in_sight += $2 } END { printf "%.2f %%\n", in_sight < 100 ? 100 - in_sight : 0 }' \
	"$data/bins-$1.tsv"; }
top=$(for row in $rows; do cat "$data/bins-$row.tsv"; done |
	awk '$2 > m { m = $2 } END { printf "%.1f", m * 1.25 }')
{
	head_of figure1 "Figure 1. Order to signature and back: share of round trips in each 50 ns (measured)"
	cat <<-END
	set xlabel "microseconds, from submit to popped (beside the names: medians; beyond the right edge: $(each beyond))"
	set ylabel "share of round trips, %"
	set xrange [0:$end]
	set yrange [0:$top]
	set grid ytics lc rgb "#e0e0e0"
	set boxwidth 0.05 absolute
	set style fill solid 0.7 noborder
	set key top right
	END
	printf 'plot '
	! drawn burst || printf '"%s" using ($1 + 0.025):2 with boxes lc rgb orange title "%s: %s us, measured", ' \
		"$data/bins-burst.tsv" "$burst_name" "$(short "$burst")"
	printf '"%s" using ($1 + 0.025):2 with boxes lc rgb blue title "%s, %s orders: %s us, measured"\n' \
		"$data/bins-paced.tsv" "$paced_name" "$(fact orders_paced)" "$(short "$paced")"
} | draw figure1 1000 600

# ---- Figure 2 ----

printf '1 39.1\n2 40.1\n3 47.4\n4 54.0\n5 100.4\n' >"$work/m2"
printf '1 41.2\n3 61.7\n4 81.6\n' >"$work/runner"
printf '1 77.4\n3 85.5\n4 665.4\n' >"$work/vsock"
{
	head_of figure2 "Figure 2. Time that a given share of round trips stayed within"
	cat <<-END
	set xlabel "share at or below the time (beside the names: half of them)"
	set ylabel "microseconds, logarithmic"
	set logscale y
	set xrange [0.8:5.2]
	set xtics ("50%%" 1, "90%%" 2, "99%%" 3, "99.9%%" 4, "99.99%%" 5)
	set grid ytics lc rgb "#e0e0e0"
	set key outside bottom center vertical maxcols 1
	set bmargin 11
	set style data linespoints
	plot "$work/vsock" lw 2 pt 7 ps 0.7 dt 3 lc rgb dark \
		title "vsock to an enclave and back: 77.4 us, published (DaMoN 2025)", \
	     "$work/m2" lw 2 pt 7 ps 0.7 dt 2 lc rgb grey \
		title "signing alone, k256, Apple M2: 39.1 us, published", \
	     "$work/runner" lw 2 pt 7 ps 0.7 dt 4 lc rgb grey \
		title "signing alone, k256, shared runner: 41.2 us, published", \
	     "$data/tails-paced.tsv" using 1:3 lw 2 pt 6 ps 0.8 lc rgb light \
		title "paced, counted from the schedule: $(short "$(tail_of paced 1 3)") us, measured", \\
	END
	! drawn burst || printf '"%s" using 1:2 lw 2 pt 7 ps 0.8 lc rgb orange title "%s: %s us, measured", ' \
		"$data/tails-burst.tsv" "$burst_name" "$(short "$burst")"
	printf '"%s" using 1:2 lw 2 pt 7 ps 0.8 lc rgb blue title "%s: %s us, measured"\n' \
		"$data/tails-paced.tsv" "$paced_name" "$(short "$paced")"
} | draw figure2 1000 700

# ---- Figure 3 ----

# bars ROW Y: from, to, y, number of the stage.
bars()
{
	awk -F '\t' -v y="$2" '{ printf "%.3f %.3f %s %d\n", at, at + $2, y, NR; at += $2 }' \
		"$data/stages-$1.tsv"
}
bars paced 1 >"$work/bars"
high=1.6
! drawn burst || { bars burst 2 >>"$work/bars"; high=2.6; }
wide=$(awk '$2 > m { m = $2 } END { printf "%.2f", m * 1.02 }' "$work/bars")
total() { awk -F '\t' '{ sum += $2 } END { printf "%.2f\n", sum }' "$data/stages-$1.tsv"; }
# Of the page: from, to, y, who says so (1 published, 2 measured here, 3 estimate).
awk -v vsock=$vsock -v ours="$estimate" -v kind=$kind 'BEGIN {
	print 0, 77, 2, 1; print 77, 117, 2, 1; print 117, 120, 2, 3
	if (kind == "measured") { print 0, ours, 1, 2; exit }
	print 0, vsock, 1, 1; print vsock, ours, 1, 2 }' >"$work/trips"
far=$(awk '$2 > m { m = $2 } END { printf "%.0f", m * 1.08 }' "$work/trips")
{
	cat <<-END
	set multiplot
	set size 1,0.62
	set origin 0,0.38
	END
	head_of figure3 "Figure 3. Where the time of an order goes: medians of each stage (measured)"
	cat <<-END
	set xlabel "microseconds (medians of the stages add up to $(each total); of whole orders: $(each median))"
	set xrange [0:$wide]
	set yrange [0.4:$high]
	set ytics ("paced" 1, "flat out" 2)
	set grid xtics lc rgb "#e0e0e0"
	set style fill solid 0.85 border lc rgb "white"
	set key outside right center vertical width -4 font ",10" title "paced:"
	array colour[12] = ["#1f6fb4", "#7fb4e0", "#9a9a9a", "#c7c7c7", "#1b8a5a", "#7fc97f", \
		"#c2a000", "#d95f02", "#7a4fa3", "#9a9a9a", "#5a9bd4", "#6b6b6b"]
	END
	printf 'plot '
	n=0
	while IFS="$(printf '\t')" read -r key median text; do
		n=$((n + 1))
		[ $n -eq 1 ] || printf ', '
		printf '"%s" using ($4 == %d ? ($1 + $2) / 2 : 1/0):3:1:2:($3 - 0.3):($3 + 0.3) with boxxyerror lc rgb colour[%d] title "%s: %s us"' \
			"$work/bars" $n $n "$text" "$(short "$median")"
	done <"$data/stages-paced.tsv"
	cat <<-END

	set size 1,0.38
	set origin 0,0
	unset title
	set title "{/*0.9 $trips}"
	set xlabel "microseconds"
	set xrange [0:$far]
	set yrange [0.4:2.6]
	set ytics ("ours, $estimate us,\n$kind" 1, "latency page,\n120 us, estimated" 2)
	set key outside right center vertical width -4 font ",10" title ""
	plot "$work/trips" using (\$4 == 1 ? (\$1 + \$2) / 2 : 1/0):3:1:2:(\$3 - 0.3):(\$3 + 0.3) \
		with boxxyerror lc rgb grey title "published: vsock trip 77, signing 40 us", \
	     "" using (\$4 == 2 ? (\$1 + \$2) / 2 : 1/0):3:1:2:(\$3 - 0.3):(\$3 + 0.3) \
		with boxxyerror lc rgb blue title "measured here$([ $kind = measured ] || echo ", without its stream")", \
	     "" using (\$4 == 3 ? (\$1 + \$2) / 2 : 1/0):3:1:2:(\$3 - 0.3):(\$3 + 0.3) \
		with boxxyerror lc rgb orange title "estimated: session, policy 3 us"
	unset multiplot
	END
} | draw figure3 1150 750

# ---- Figure 4 ----

{
	! drawn burst || printf '%s\t%s\t1\n' "$(short "$burst")" "order there and back, $burst_name"
	printf '%s\t%s\t1\n' "$(short "$paced")" "order there and back, $paced_name"
	printf '19.6\tTCP, loopback on one instance\t2\n'
	printf '39.1\tsigning alone, k256, Apple M2\t2\n'
	printf '49.0\tTCP between two instances, one zone\t2\n'
	printf '77.4\tvsock, instance to its enclave\t2\n'
	[ $kind = measured ] || printf '%s\t%s\t3\n' "$estimate" "order through an enclave, ours"
	printf '120\torder through an enclave, latency page\t3\n'
	printf '1125.6\tfrom another instance, through socat\t2\n'
} | sort -n | awk -F '\t' '{ split("measured published estimated", w, " ")
	printf "%s\t%d\t%s\t%s\t%s us, %s\n", $1, NR, $2, $3, $1, w[$3] }' >"$work/points"
{
	head_of figure4 "Figure 4. Where these numbers sit"
	cat <<-END
	set xlabel "microseconds, round trip, logarithmic; medians"
	set logscale x
	set xrange [0.5:20000]
	set yrange [0.3:$(wc -l <"$work/points").7]
	set ytics scale 0
	set grid xtics ytics lc rgb "#e0e0e0"
	set key bottom right
	set datafile separator "\t"
	plot "$work/points" using (\$4 == 1 ? \$1 : 1/0):2:ytic(3) with points pt 7 ps 1.6 lc rgb blue title "measured in this run", \
	     "" using (\$4 == 2 ? \$1 : 1/0):2:ytic(3) with points pt 7 ps 1.6 lc rgb grey title "published by others", \
	     "" using (\$4 == 3 ? \$1 : 1/0):2:ytic(3) with points pt 6 ps 1.6 lw 2 lc rgb orange title "estimated", \
	     "" using 1:2:5 with labels left offset char 1,0 noenhanced font ",10" notitle
	END
} | draw figure4 1000 600
