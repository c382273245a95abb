#!/usr/bin/env python3
"""Runs two commands in turn and prints medians of wall clock and processor time, and their ratios.

Usage: beside.py [--runs N] 'OUR COMMAND' 'THEIR COMMAND'

Commands are run by a shell, what they print is thrown away. In turn, so that what else the machine does meets both.
"""
import argparse
import resource
import statistics
import subprocess
import time


def run(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall, processor, done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("ours")
    parser.add_argument("theirs")
    arguments = parser.parse_args()
    runs = [(run(arguments.ours), run(arguments.theirs)) for _ in range(arguments.runs)]
    medians = []
    for which, name in enumerate(["ours", "theirs"]):
        wall = statistics.median(pair[which][0] for pair in runs)
        processor = statistics.median(pair[which][1] for pair in runs)
        codes = sorted({pair[which][2] for pair in runs})
        medians.append((wall, processor))
        print(f"{name:7} {wall * 1000:9.1f} ms wall, {processor * 1000:9.1f} ms processor, exit code {codes}")
    (our_wall, our_processor), (their_wall, their_processor) = medians
    print(f"theirs/ours: {their_wall / our_wall:.1f} by wall clock, {their_processor / max(our_processor, 1e-6):.1f} by processor time")


main()
