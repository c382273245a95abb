#!/bin/sh
# Michael and Scott's queue: SPIN's search of a Promela program without a specification beside ours with one.
# Usage: spin.sh PROMELA-FILE [processes operations]. Prints states and seconds of each.
# Both run the same programs: each process chooses among deq and enq of its own number, as often as there are operations.
set -eu
promela=${1:?usage: spin.sh PROMELA-FILE [processes operations]}
processes=${2:-3}
operations=${3:-2}
models=$(dirname "$(realpath "$0")")/../../../models
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
promela=$(realpath "$promela")

if command -v spin >/dev/null 2>&1 && command -v gcc >/dev/null 2>&1; then
  (
    cd "$folder"
    spin -a -DN="$processes" -DOPS="$operations" "$promela"
    gcc -O3 -DSAFETY -o pan pan.c
    ./pan -m10000 -w26 | grep -E 'states, stored|elapsed time' | sed 's/^/spin: /'
  )
else
  echo "spin: skipped, as spin or gcc is not installed (Debian: apt install spin gcc)"
fi

roles=
for process in $(seq "$processes"); do
  roles="$roles role p$process 1 { enq($process), deq }"
done
sed -e '/^\/\/! expect/d' -e "s/values: 1..4 = 2/values: 1..4 = $processes/" \
  -e "s/^client { procs procs;/client {$roles/" "$models/ms-queue.tl" >"$folder/ms-queue.tl"
for reduction in none both; do
  antichain=$([ $reduction = none ] && echo off || echo on)
  trueline verify "$folder/ms-queue.tl" --set procs="$processes" --set ops="$operations" \
    --reduction $reduction --antichain "$antichain" --threads 1 --json >"$folder/ours.json"
  sed -E 's/.*"verdict":"([a-z]*)".*/trueline, reduction '$reduction': \1/' "$folder/ours.json"
  grep -o -E '"(states|seconds)":[0-9.]*' "$folder/ours.json" | sed 's/^/trueline:   /'
done
