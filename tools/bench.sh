#!/usr/bin/env bash
# All benchmarks, after a full build: the C++ programs, then the Python scripts. Times mean something only
# on a quiet machine; what the project promises is stated as ratios within one run.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob

for program in build/dev/benchmarks/cpp/*_benchmark; do
  echo "== $program"
  "$program"
done
for script in benchmarks/*.py; do
  echo "== $script"
  python "$script"
done
