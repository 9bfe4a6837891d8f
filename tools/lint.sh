#!/usr/bin/env bash
# Layers, generated docs and style. With --fix it writes the docs and mends the style instead of checking.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0

mapfile -t cpp < <(find csrc tests benchmarks examples -name '*.h' -o -name '*.cc' 2> /dev/null | sort)
mapfile -t python < <(find torch_tpu tests benchmarks examples tools -name '*.py' 2> /dev/null | sort)

if [[ ${1:-} == --fix ]]; then
  python tools/gen_docs.py
  clang-format -i "${cpp[@]}"
  ruff check --fix "${python[@]}"
  ruff format "${python[@]}"
  exit
fi

python tools/check_layers.py || status=1
python tools/gen_docs.py --check || status=1
badly_formatted=$(clang-format --dry-run -Werror "${cpp[@]}" 2>&1 | grep ' error: ' | cut -d: -f1 | sort -u)
if [[ -n $badly_formatted ]]; then
  printf 'clang-format: run make format for\n%s\n' "$badly_formatted"
  status=1
fi
ruff check --quiet "${python[@]}" || status=1
ruff format --check "${python[@]}" || status=1
codespell csrc torch_tpu tests benchmarks examples tools docs ./*.md || status=1
exit $status
