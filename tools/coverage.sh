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
PYTHONPATH=$PWD/$place/tools "$python" - "$place/python.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
total = report["totals"]
print(f"package: {total['percent_covered']:.1f} % of {total['num_statements']} lines")
low = sorted((f["summary"]["percent_covered"], n) for n, f in report["files"].items())
for percent, name in low[:10]:
    print(f"  {percent:5.1f} % {name.split('site-packages/')[-1]}")
END
PYTHONPATH=$PWD/$place/tools "$base" -m gcovr --root . --filter core/ --object-directory "$place/cmake" \
  --exclude-directories '.*CompilerId.*' \
  --exclude-throw-branches --merge-mode-functions=merge-use-line-min --gcov-ignore-parse-errors=all \
  --print-summary --sort uncovered-percent -o "$place/core.txt" "$place/cmake"
exit $status
