#!/usr/bin/env bash
# tools/sanitize.sh address|thread PYTHON COMMAND...: runs Python with the core compiled under a sanitizer.
# "address" looks for bad memory and undefined behavior, "thread" for races.
set -euo pipefail
cd "$(dirname "$0")/.."
kind=$1 base=$2
shift 2
case $kind in
  # What is left out shows in the address sanitizer too or never, and triples the time to compile, as code
  # for each check in place of calls does.
  address)
    flags="-fsanitize=address,undefined -fno-sanitize=null,object-size,alignment,pointer-overflow"
    flags+=" --param asan-instrumentation-with-call-threshold=0"
    flags+=" -fno-sanitize-address-use-after-scope -fno-sanitize-recover=undefined"
    library=libasan.so
    ;;
  thread) flags="-fsanitize=thread" library=libtsan.so ;;
  *) echo "address or thread, not $kind" && exit 2 ;;
esac
python=$(tools/variant.sh "$kind" "$base" JOUNCE_ISA=v3 JOUNCE_OPTIMIZE=-O1 \
  "CMAKE_CXX_FLAGS=$flags -fno-omit-frame-pointer -g1 -DJOUNCE_INLINE_LESS")
# Python's own allocations are not the core's; a fork of threads is what some tests are about.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS="halt_on_error=1:die_after_fork=0:suppressions=$PWD/tools/tsan.supp"
# Memory that is used again hides who uses it too late.
export JOUNCE_ISA=v3 JOUNCE_CACHE_MB=0
LD_PRELOAD="$(g++ -print-file-name=$library) $(g++ -print-file-name=libstdc++.so)" exec "$python" "$@"
