#!/usr/bin/env bash
# tools/clang.sh PYTHON COMMAND...: runs Python with the core compiled by Clang, warnings as errors.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/need.sh
need clang++ clang
base=$1
shift
python=$(tools/variant.sh clang "$base" JOUNCE_ISA=v3 CMAKE_CXX_COMPILER=clang++ JOUNCE_WERROR=ON)
JOUNCE_ISA=v3 exec "$python" "$@"
