#!/usr/bin/env bash
# tools/coverage.sh PYTHON TESTS...: lines and branches of the core, and lines of the package, that tests reach.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$1
shift
python=$(tools/variant.sh coverage "$base" JOUNCE_ISA=v3 JOUNCE_OPTIMIZE=-Og "CMAKE_CXX_FLAGS=--coverage -fprofile-update=atomic -g1 -DJOUNCE_INLINE_LESS")
place=build/variants/coverage
"$base" -m pip install --quiet --target "$place/tools" gcovr coverage pytest-cov
find "$place/cmake" -name '*.gcda' -delete
status=0
JOUNCE_ISA=v3 PYTHONPATH=$PWD/$place/tools "$python" -m pytest -p no:cacheprovider --cov=jounce \
  --cov-report=json:$place/python.json "$@" || status=$?
PYTHONPATH=$PWD/$place/tools "$base" -m gcovr --root . --filter core/ --filter "$place/cmake/include/jounce/" \
  --exclude-directories '.*CompilerId.*' --exclude-throw-branches --gcov-ignore-parse-errors=all \
  --merge-mode-functions=merge-use-line-min --object-directory "$place/cmake" --json "$place/core.json" "$place/cmake"
"$base" tools/coverage_report.py "$place"
exit $status
