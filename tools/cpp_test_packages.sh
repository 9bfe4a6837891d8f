#!/usr/bin/env bash
# Prints ON if GoogleTest and Google Benchmark can be included, else OFF. With --install it first tries to
# install the missing Debian packages, and says so (on stderr) when it may not.
set -uo pipefail

can_include() { echo "#include <$1>" | "${CXX:-c++}" -x c++ -std=c++20 -E - > /dev/null 2>&1; }

missing() {
  can_include gtest/gtest.h || echo libgtest-dev
  can_include benchmark/benchmark.h || echo libbenchmark-dev
}

packages=$(missing | tr '\n' ' ')
# Counts instructions (benchmarks/instructions.py); the tests do without.
command -v valgrind > /dev/null || optional=valgrind
if [[ -n $packages${optional:-} && ${1:-} == --install ]] && command -v apt-get > /dev/null; then
  as_root=()
  if [[ $(id -u) -ne 0 ]]; then as_root=(sudo -n); fi
  if [[ ${#as_root[@]} -eq 0 ]] || sudo -n true 2> /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    { "${as_root[@]}" apt-get update && "${as_root[@]}" apt-get install -y --no-install-recommends $packages ${optional:-}; } >&2
    packages=$(missing | tr '\n' ' ')
  fi
fi

if [[ -z $packages ]]; then
  echo ON
else
  if [[ ${1:-} == --install ]]; then
    echo "C++ tests: left out, these Debian packages are missing: ${packages% }" >&2
    echo "C++ tests: install them by hand (apt-get install ${packages% }), then run this again" >&2
  fi
  echo OFF
fi
