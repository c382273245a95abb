#!/bin/sh
# Michael and Scott's queue: SPIN's search of a Promela program without a specification beside ours with one.
# Usage: spin.sh PROMELA-FILE [processes operations]. Prints one line each with states and seconds.
set -eu
promela=${1:?usage: spin.sh PROMELA-FILE [processes operations]}
processes=${2:-3}
operations=${3:-2}
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
trueline verify ms-queue --set procs="$processes" --set ops="$operations" --set values=1 --threads 1 | sed 's/^/trueline: /'
