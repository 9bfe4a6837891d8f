#!/usr/bin/env bash
# All tests, after `make build`: C++ (ctest), lint, Python (pytest, last, so that its closing line ends the output).
# Every part runs even when an earlier one failed; the exit status is 0 only when all passed. Arguments go to pytest.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()

if [[ $(tools/cpp_test_packages.sh) == ON ]]; then
  echo "== C++ tests"
  { cmake --build --preset dev && ctest --preset dev -j "${JOBS:-2}"; } || failed+=("C++ tests")
else
  echo "== C++ tests: left out, libgtest-dev or libbenchmark-dev is missing"
fi

echo "== lint"
tools/lint.sh || failed+=("lint")

echo "== Python tests"
if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'note: failed before the Python tests (see above): %s\n' "${failed[@]}"
fi
python -m pytest -n "${JOBS:-2}" -m "not slow" "$@" || failed+=("Python tests")

[[ ${#failed[@]} -eq 0 ]]
