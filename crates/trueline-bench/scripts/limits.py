#!/usr/bin/env python3
"""Runs trueline on hard inputs with limits and prints how long it took and how much memory it held.

Usage: limits.py BINARY [--timeout SECONDS] [--memory MEGABYTES] [--only TEXT] [--allow FACTOR]

Every algorithm that can be named meets inputs that it cannot decide within the limits, and so do the
commands monitor, simulate and verify. A limit covers everything up to the exit of the process. The last
line says whether all runs kept both limits times the allowed factor.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

SOLVERS = ["saturate", "saturate r", "symbolic", "symbolic i", "symbolic c", "symbolic i,r", "enumerate", "enumerate c"]
SEARCHES = ["auto", "search", "depth-first", "just-in-time", "wgl", "wing-gong"]


def call(process, method, *arguments):
    return json.dumps({"process": process, "call": method, "args": list(arguments)})


def end(process, result=None):
    return json.dumps({"process": process, "return": result})


def pairs(process, method, n, result, *arguments):
    """The same call n times, one after the other; `result` makes the result of each."""
    for i in range(n):
        yield call(process, method, *[a(i) for a in arguments])
        yield end(process, result(i))


def rounds(n, width, add, remove, value, removed):
    """Rounds in which additions and removals of few values all overlap."""
    for r in range(n):
        yield from (call(i, add(i), value(i)) for i in range(width))
        yield from (call(width + i, remove(i)) for i in range(width))
        yield from (end(i) for i in range(width))
        yield from (end(width + i, removed(i, r)) for i in range(width))


def histories():
    """Name, specification, lines; and which algorithms meet them."""
    rng = random.Random(1)
    everybody = SEARCHES + SOLVERS
    none = lambda i: None
    own = lambda i: i
    n = 1000
    yield "enq-overlapping-deq-pending", "queue", everybody, (
        [call(i, "enq", i) for i in range(n)] + [call(n + i, "deq") for i in range(n)] + [end(i) for i in range(n)])
    yield "deq-pending-enq-in-turn", "queue", everybody, (
        [call(1 + i, "deq") for i in range(n)] + list(pairs(0, "enq", n, none, own)))
    yield "enq-deq-pending-in-turn", "queue", everybody, (
        [line for i in range(n) for line in (call(0, "enq", i), call(1 + i, "deq"), end(0))])
    few = lambda k: lambda i, r=0: 1 + (i * i + r) % k
    yield "queue-of-equal-values", "queue", everybody, list(
        rounds(30, 15, lambda i: "enq", lambda i: "deq", lambda i: 1 + i % 2, few(2)))
    yield "stack-of-equal-values", "stack", everybody, list(
        rounds(30, 18, lambda i: "push", lambda i: "pop", lambda i: 1 + i % 3, few(3)))
    yield "priority-queue-of-equal-values", "priority-queue", everybody, list(
        rounds(20, 20, lambda i: "insert", lambda i: "poll", lambda i: 1 + i % 3, few(3)))
    yield "register-writes-pending", "register", everybody, (
        [call(i, "write", i % 5) for i in range(400)]
        + list(pairs(1000, "read", 2000, lambda i: i * 7 % 5)))
    dense = []
    for _ in range(200):
        dense += [call(p, "write", rng.randrange(4)) for p in range(10)] + [call(10 + p, "read") for p in range(10)]
        dense += [end(p) for p in range(10)] + [end(10 + p, rng.randrange(4)) for p in range(10)]
    yield "register-violation-of-4000", "register", everybody, dense
    yield "cas-pending", "cas-register", SEARCHES, (
        [call(i, "cas", i % 7, i * 3 % 7) for i in range(200)]
        + list(pairs(1000, "read", 500, lambda i: i * i % 7)))
    yield "inc-pending", "counter", SEARCHES, (
        [call(i, "inc") for i in range(300)] + list(pairs(1000, "read", 299, own)))
    yield "add-pending", "counter", SEARCHES, (
        [call(i, "add", rng.choice([-3, 5, 7, 11])) for i in range(60)]
        + list(pairs(1000, "read", 50, lambda i: rng.randrange(90))))
    yield "deque-of-equal-values", "deque", SEARCHES, list(rounds(
        20, 14, lambda i: ["push_back", "push_front"][i % 2], lambda i: ["pop_back", "pop_front"][i % 2],
        lambda i: 1 + i % 3, few(3)))
    many = 200_000
    yield "deq-200000-open", "queue", ["auto", "search"], (
        [call(i, "deq") for i in range(many)] + [call(many, "enq", 1), end(many), call(many, "deq"), end(many, 2)])
    yield "cas-200000-open", "cas-register", ["auto", "search"], (
        [call(i, "cas", i, i + 1) for i in range(many)] + [call(many, "read"), end(many, many - 1)])
    yield "a-million-with-a-late-violation", "queue", ["auto", "search"], (
        line for i in range(n * n) for line in (
            call(0, "enq", i), end(0), call(1, "deq"), end(1, i if i < n * n - 10 else i + 1)))
    yield "a-million-of-equal-values", "queue", ["auto", "search"], (
        line for i in range(n * n) for line in (call(0, "enq", i % 100), call(1, "deq"), end(0), end(1, i % 100)))


QUASI = [
    ("stack-of-equal-values", "stack", ["--quasi", "pop=?", "--reading", "uniform"]),
    ("stack-of-equal-values", "stack", ["--quasi", "pop=?", "--reading", "literal"]),
    ("queue-of-equal-values", "queue", ["--quasi", "deq=?"]),
    ("queue-of-equal-values", "queue", ["--quasi", "deq=3", "--algorithm", "round-up"]),
    ("priority-queue-of-equal-values", "priority-queue", ["--quasi", "poll=?", "--reading", "uniform"]),
]

SIMULATE = [
    ["michael-scott-queue", "-p", "4", "-n", "4"],
    ["michael-scott-queue", "--program", " | ".join(["enq(1) deq() enq(2) deq() enq(3) deq()"] * 5)],
    ["treiber-stack-reuses-nodes", "-p", "4", "-n", "5", "--random", "1000"],
    ["fetch-add-queue-numbers-in-two-steps", "-p", "4", "-n", "6", "--random", "50"],
    ["herlihy-wing-queue", "-p", "4", "-n", "3"],
    ["herlihy-wing-queue-rereads", "--program", " | ".join(["enq(1) enq(2) deq() deq()"] * 4)],
    ["list-set-links-blindly", "-p", "4", "-n", "6", "--random", "20"],
    ["treiber-stack", "--mode", "stress", "-p", "4", "-n", "8", "--random", "1000000"],
    ["michael-scott-queue", "--mode", "stress", "-p", "2", "-n", "30", "--random", "1000000"],
    ["michael-scott-queue-moves-blindly", "--mode", "stress", "-p", "4", "-n", "16", "--random", "1000"],
    ["quasi-queue", "-p", "3", "-n", "4", "--quasi", "deq=?"],
]

VERIFY = [
    ["ms-queue", "--set", "procs=5", "--set", "ops=4"],
    ["ms-queue", "--set", "procs=4", "--set", "ops=4", "--progress"],
    ["treiber", "--set", "procs=6", "--set", "ops=4"],
    ["afek-bounded-snapshot", "--set", "procs=15", "--set", "ops=8"],
    ["riany-snapshot", "--set", "procs=3", "--set", "ops=2", "--set", "bug=1"],
    ["riany-snapshot", "--set", "procs=6", "--histories", "simple"],
    ["jayanti-snapshot", "--set", "procs=8", "--histories", "simple", "--automata"],
    ["lazy-list", "--set", "procs=4", "--set", "ops=4", "--reduction", "none"],
    ["elimination-stack", "--set", "procs=4", "--set", "ops=3"],
    ["harris-list", "--set", "procs=4", "--set", "ops=4", "--antichain", "off"],
]

MONITOR = [
    ("enq-overlapping-deq-pending", "queue"),
    ("register-writes-pending", "register"),
    ("deq-200000-open", "queue"),
    ("a-million-with-a-late-violation", "queue"),
    ("a-million-of-equal-values", "queue"),
]


def commands(folder, arguments):
    """Every command line and its name."""
    limits = ["--timeout", f"{arguments.timeout}s", "--memory", f"{arguments.memory}M"]
    files = {}
    for name, spec, algorithms, lines in histories():
        files[name] = os.path.join(folder, name + ".jsonl")
        with open(files[name], "w") as file:
            for line in lines:
                file.write(line + "\n")
        for algorithm in algorithms:
            which, _, options = algorithm.partition(" ")
            more = ["--algorithm", which] + (["--options", options] if options else [])
            yield f"check {algorithm}: {name}", ["check", "--spec", spec, *more, *limits, files[name]]
    for name, spec, more in QUASI:
        yield f"check {' '.join(more)}: {name}", ["check", "--spec", spec, *more, *limits, files[name]]
    for name, spec in MONITOR:
        yield f"monitor: {name}", ["monitor", "--spec", spec, *limits, files[name]]
        yield f"monitor saturate: {name}", ["monitor", "--algorithm", "saturate", "--spec", spec, *limits, files[name]]
    for more in SIMULATE:
        yield "simulate " + " ".join(more), ["simulate", *more, *limits]
    for more in VERIFY:
        yield "verify " + " ".join(more), ["verify", *more, *limits]


def run(binary, command, patience):
    """Seconds, megabytes at most, exit code, the first line that was printed."""
    start = time.perf_counter()
    child = subprocess.Popen([binary, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    printed = []
    reader = threading.Thread(target=lambda: printed.append(child.stdout.read()))
    reader.start()
    timer = threading.Timer(patience, child.kill)
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    timer.cancel()
    reader.join()
    text = printed[0].decode(errors="replace").strip()
    code = os.waitstatus_to_exitcode(status)
    child.returncode = code
    return seconds, usage.ru_maxrss * 1024 / 1e6, code, text.split("\n")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--timeout", type=float, default=1)
    parser.add_argument("--memory", type=float, default=100)
    parser.add_argument("--only", default="", help="only rows that contain this text")
    parser.add_argument("--allow", type=float, default=1.3, help="the factor by which a limit may be overrun")
    arguments = parser.parse_args()
    missed, rows, slowest, largest = 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(folder, arguments):
            if arguments.only not in name:
                continue
            seconds, megabytes, code, line = run(arguments.binary, command, 60 * arguments.timeout)
            kept = seconds <= arguments.allow * arguments.timeout and megabytes <= arguments.allow * arguments.memory
            kept = kept and code in (0, 1, 3)
            rows, missed = rows + 1, missed + (not kept)
            slowest, largest = max(slowest, seconds), max(largest, megabytes)
            note = "" if kept else "  MISSED " + line[:60]
            print(f"{name[:76]:76} {seconds:6.2f} s {megabytes:5.0f} MB  exit {code}{note}", flush=True)
    verdict = "met" if not missed else f"missed by {missed}"
    print(f"{rows} runs, at most {slowest:.2f} s and {largest:.0f} MB: {verdict}")
    sys.exit(1 if missed or not rows else 0)


if __name__ == "__main__":
    main()
