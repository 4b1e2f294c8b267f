#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sizing.py - how many orders a signing core takes: a small model, and what was measured.

    bench/sizing.py [--finish US] [--hedged US] [--refill US] [--base US] [...]
    bench/sizing.py --measure build [--rate N ...]
    bench/sizing.py --selftest

A discrete-event model of sigring-local, or of a signer behind an agent. Orders of many
sessions arrive at random at one signing thread, which answers them one at a time: by a
presignature while there is one, else hedged. When nothing waits it refills the pool piece
by piece, from the low-water mark until no other batch fits; who comes within a piece waits
for its end. A batch comes into the pool when its last piece is done. Priority orders are
taken before others. The base is what a round trip takes beside that: hops, copies, sealing
at the client.

With --measure the times come from this machine's benchmarks (bench_scale, bench_session,
bench_local) and what bench_load measured at each rate stands beside the model's word for
the same rate. Rounds that were disturbed count there, and it is said.

Python 3, standard library only; nothing else in the project needs it.
"""
import argparse
import heapq
import json
import math
import os
import random
import subprocess
import sys

BATCH = 256
INF = float("inf")


class Signer:
    """Times in microseconds. refill: of one presignature, its share of the batch included."""

    def __init__(self, finish, hedged, refill, slots=4096, low=50, batch=BATCH):
        self.finish, self.hedged, self.refill = finish, hedged, refill
        self.slots, self.batch = slots, batch
        self.low = slots * low // 100


def arrivals(rate, seconds, seed, priority=0.0):
    """Poisson arrivals in microseconds: (time, is priority)."""
    draw = random.Random(seed)
    at, end = 0.0, seconds * 1e6
    while True:
        at += draw.expovariate(rate / 1e6)
        if at >= end:
            return
        yield at, draw.random() < priority


def bursts(count, every_us, seconds):
    """So many at once, and then a cancel with priority."""
    at = 0.0
    while at < seconds * 1e6:
        for _ in range(count):
            yield at, False
        yield at, True
        at += every_us


def simulate(signer, orders, warm=0.2):
    """Returns latencies in the signer by class, [normal, priority], and counters."""
    waiting = []                    # heap of (class, number, arrival)
    orders = iter(orders)
    upcoming = next(orders, None)
    now, number = 0.0, 0
    depth, made, filling = signer.slots, 0, False
    latencies, counters = ([], []), {"signed": 0, "fallbacks": 0, "pieces": 0, "busy": 0.0}
    first = None

    while upcoming or waiting:
        while upcoming and upcoming[0] <= now:
            at, priority = upcoming
            heapq.heappush(waiting, (0 if priority else 1, number, at))
            number += 1
            first = at if first is None else first
            upcoming = next(orders, None)
        if waiting:
            klass, _, at = heapq.heappop(waiting)
            cost = signer.finish if depth else signer.hedged
            counters["fallbacks"] += not depth
            depth -= 1 if depth else 0
            now += cost
            counters["busy"] += cost
            counters["signed"] += 1
            if at > warm * 1e6:
                latencies[1 - klass].append(now - at)
            continue
        if depth < signer.low:
            filling = True
        if depth + signer.batch > signer.slots:
            filling = False
        if filling:
            now += signer.refill    # one piece, to its end
            counters["pieces"] += 1
            made += 1
            if made == signer.batch:
                depth, made = depth + made, 0
        elif upcoming:
            now = upcoming[0]
    counters["end"] = now
    return latencies, counters


def rank(values, share):
    """Nearest rank, as the benchmarks have it."""
    if not values:
        return float("nan")
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def predict(signer, base, rate, seconds=2.0, seed=1):
    (normal, _), counters = simulate(signer, arrivals(rate, seconds, seed))
    return {"p50": base + rank(normal, 0.5), "p99": base + rank(normal, 0.99),
            "p99.9": base + rank(normal, 0.999), "fallbacks": counters["fallbacks"],
            "rate": counters["signed"] / max(counters["end"], 1) * 1e6}


def sustained(signer):
    """Orders a second that keep the pool level: each is finished and made again."""
    return 1e6 / (signer.finish + signer.refill)


def knee(signer, base, target_us, seconds=2.0):
    """The highest rate at which p99 keeps to the target, by bisection."""
    low, high = 100.0, 2e6 / signer.finish
    while high / low > 1.03:
        middle = math.sqrt(low * high)
        outcome = predict(signer, base, middle, seconds)
        good = outcome["p99"] <= target_us and outcome["rate"] >= 0.97 * middle
        low, high = (middle, high) if good else (low, middle)
    return low


# ---- what this machine does ----

def run_json(argv):
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                              check=False)
    except OSError as error:
        sys.exit("sizing.py: %s: make bench-programs" % error)
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        sys.exit("sizing.py: %s failed:\n%s" % (" ".join(argv), done.stderr.decode().strip()))
    return json.loads(lines[-1])


def measured_signer(build, rounds, disturbed):
    """Service times of this machine: a record in, a sealed reply out."""
    flags = ["--json", "--rounds", str(rounds)] + (["--keep-disturbed"] if disturbed else [])
    scale = run_json([os.path.join(build, "bench", "bench_scale")] + flags)["rows"]
    session = run_json([os.path.join(build, "bench", "bench_session")] + flags)["rows"]
    local = run_json([os.path.join(build, "bench", "bench_local")] + flags)["rows"]
    seal = (session["open_384"]["median"] + session["seal_128"]["median"]) / 1e3
    core = 1e6 / scale["sessions_1"]["median"]
    signer = Signer(core + seal, 1e6 / scale["threads_1"]["median"] + seal,
                    1e6 / scale["apart"]["median"] - core)
    return signer, max(local["sealed"]["median"] / 1e3 - signer.finish, 0)


def told(ns):
    """Of too few samples a percentile is not."""
    return "-" if ns is None else "%.1f" % (ns / 1e3)


def measure(args):
    signer, base = measured_signer(args.measure, args.rounds, args.keep_disturbed)
    print("measured here: finish %.2f us (opened, signed, sealed), hedged %.2f us, refill %.2f us "
          "a presignature, base %.2f us%s" % (signer.finish, signer.hedged, signer.refill, base,
                                            "; disturbed rounds are in it" if args.keep_disturbed
                                            else ""))
    print("%10s | %10s %10s %10s | %10s %10s %10s" % ("", "measured", "", "", "the model", "", ""))
    print("%10s | %10s %10s %10s | %10s %10s %10s" % ("orders/s", "p50", "p99", "fallbacks",
                                                     "p50", "p99", "fallbacks"))
    for rate in args.rate or [1000, 5000, 10000, 20000]:
        got = run_json([os.path.join(args.measure, "bench", "bench_load"), "--json", "--rate",
                        str(rate), "--seconds", str(args.seconds), "--sessions", "4", "steady"])
        model = predict(signer, base, rate, args.seconds)
        print("%10d | %10s %10s %10s | %10.1f %10.1f %10d" % (
            rate, told(got["latency"]["p50_ns"]), told(got["latency"]["p99_ns"]),
            got["fallbacks"], model["p50"], model["p99"], model["fallbacks"]))
    table(signer, base, args, "extrapolated")


def table(signer, base, args, label):
    """label: of what follows from the service times alone."""
    rate = sustained(signer)
    burst, cancel = simulate(signer, bursts(64, 20000, 1.0))[0]
    enclaves = max(0, (args.cores - 2 - args.trading) // args.enclave_cores)
    print("sizing; service times are %s:" % ("measured" if label == "extrapolated" else "given"))
    rows = [
        ("signatures a second a core, pool level", rate, label, "1 / (finish + refill)"),
        ("signatures at once from a full pool", signer.slots, label,
         "pool-slots, at %.0f a second" % (1e6 / signer.finish)),
        ("signatures a second a core, hedged", 1e6 / signer.hedged, label, "1 / hedged"),
        ("  when orders never let up: the pool is dry", 1e6 / signer.hedged, label,
         "the same: idle turns refill, and there are none"),
        ("orders a second a core, p99 <= %g us" % args.target,
         min(rate, knee(signer, base, args.target)), label, "the model, at most the first line"),
        ("last of 64 orders at once, p99, us", base + rank(burst, 0.99), label,
         "64 finish + a piece + base"),
        ("a priority cancel behind them, p99, us", base + rank(cancel, 0.99), label,
         "finish + a piece + base"),
        ("sessions an agent, %g orders/s each" % args.session_rate,
         min(4096, rate / args.session_rate), "estimated", "first line / rate; 4096 at most"),
        ("enclaves a host of %d cores" % args.cores, enclaves, "estimated",
         "(cores - 2 of the host - %d trading) / %d each" % (args.trading, args.enclave_cores)),
        ("signatures a second a host", rate * enclaves * (args.enclave_cores - 1), "estimated",
         "first line * enclaves * (cores of each - 1)"),
    ]
    for name, value, word, formula in rows:
        print("  %-46s %10s  %-12s  %s" % (name, "%.1f" % value if value < 1000 else
                                           "%.0f" % value, word, formula))


# ---- the model against theory ----

def check(good, what):
    if not good:
        print("sizing.py: selftest: %s" % what, file=sys.stderr)
    return good


def selftest():
    # Without refilling it is M/D/1: the mean wait is rho / (2 mu (1 - rho)).
    endless = Signer(10.0, 27.0, 22.0, slots=1 << 40, low=0)
    (normal, _), _ = simulate(endless, arrivals(70000, 6.0, 3))
    wait = sum(normal) / len(normal) - 10.0
    good = check(abs(wait / (10.0 * 0.7 / (2 * 0.3)) - 1) < 0.05,
                 "the mean wait of M/D/1 is off: %.2f" % wait)
    # A pool that has to be made again bears 1 / (finish + refill), and no more.
    signer = Signer(1.0, 27.0, 22.0)
    below = predict(signer, 0, sustained(signer) * 0.9, 4.0)
    above = predict(signer, 0, sustained(signer) * 1.2, 4.0)
    good &= check(below["fallbacks"] == 0, "the pool runs dry below what a core sustains")
    good &= check(above["fallbacks"] > 1000, "it does not run dry above that")
    # Who comes within a piece waits for its end, and no longer.
    (normal, _), _ = simulate(Signer(1.0, 27.0, 22.0), arrivals(2000, 20.0, 5))
    good &= check(22.0 < rank(normal, 0.999) < 26.0, "a piece does not show in p99.9")
    # The last of a burst waits for all; a priority order for one at most, and a piece.
    burst, cancel = simulate(Signer(1.0, 27.0, 22.0), bursts(64, 20000, 2.0))[0]
    good &= check(64.0 <= rank(burst, 0.99) <= 64.0 + 1.0 + 22.0, "a burst is not added up")
    good &= check(rank(cancel, 0.99) <= 1.0 + 1.0 + 22.0, "priority waits for a burst")
    good &= check(rank([1, 2, 3], 0.5) == 2 and rank([4, 3, 2, 1], 0.5) == 2 and
                  rank([5], 0.99) == 5, "percentiles differ from the definition")
    print("sizing.py: selftest: %s" % ("ok" if good else "FAILED"))
    return 0 if good else 1


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--selftest", action="store_true", help="check the model against theory")
    p.add_argument("--measure", metavar="BUILD", help="take the times from this machine, and "
                   "print what bench_load measures beside the model")
    p.add_argument("--rate", type=int, action="append", help="orders a second to measure; may be "
                   "repeated")
    p.add_argument("--seconds", type=int, default=5, help="of each (5)")
    p.add_argument("--rounds", type=int, default=11, help="of the benchmarks (11)")
    p.add_argument("--keep-disturbed", action="store_true", help="as of the benchmarks")
    p.add_argument("--finish", type=float, default=1.13, help="us: open, sign, seal (1.13)")
    p.add_argument("--hedged", type=float, default=27.9, help="us, the same hedged (27.9)")
    p.add_argument("--refill", type=float, default=22.3, help="us a presignature (22.3)")
    p.add_argument("--base", type=float, default=0.9, help="us of a round trip beside it (0.9)")
    p.add_argument("--target", type=float, default=100.0, help="us, p99 of a capacity (100)")
    p.add_argument("--session-rate", type=float, default=100.0, help="orders a second of a session")
    p.add_argument("--cores", type=int, default=16, help="of a host (16)")
    p.add_argument("--trading", type=int, default=4, help="of them for engines and agent (4)")
    p.add_argument("--enclave-cores", type=int, default=2, help="of each enclave (2)")
    args = p.parse_args()
    if args.selftest:
        return selftest()
    if args.measure:
        measure(args)
    else:
        table(Signer(args.finish, args.hedged, args.refill), args.base, args, "estimated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
