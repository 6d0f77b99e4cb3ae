#!/usr/bin/env bash
# tools/aarch64.sh: compiles the core for ARM with Debian's cross compiler and runs its checks in QEMU.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/need.sh
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
need qemu-aarch64 qemu-user
place=$PWD/build/variants/aarch64
rm -rf "$place"
mkdir -p "$place/include"
ln -sfn "$PWD/core" "$place/include/jounce"
options=(-std=c++20 -O1 -fno-strict-aliasing -fno-math-errno -fno-trapping-math -ffp-contract=fast -w -pthread
  -DJOUNCE_INLINE_LESS -I "$place/include")
# The passes of core/batch/passes.hpp, each in one piece; once.cpp includes its header in another way.
# Each file defines the name that it has: that of its pass, or one that nobody asks for.
together() { (echo "#define $1" && printf "#include \"$PWD/%s\"\n" "${@:2}") > "$place/$1.cpp"; }
together JOUNCE_NUMBERS core/batch/*.cpp $(ls core/kernels/*.cpp | grep -v /once.cpp)
together JOUNCE_RECURSIONS core/kernels/once.cpp
together JOUNCE_DUALS $(grep -l '_kernels(Pass)' core/kernels/*.cpp)
together JOUNCE_SECONDS $(grep -l 'second_derivatives<' core/kernels/*.cpp)
together JOUNCE_CHECK tests/core/every_kernel.cpp
ls "$place"/*.cpp | xargs -P "$(nproc)" -I{} aarch64-linux-gnu-g++ "${options[@]}" -c {} -o {}.o
aarch64-linux-gnu-g++ -pthread "$place"/*.o -o "$place/every_kernel"
qemu-aarch64 -L /usr/aarch64-linux-gnu "$place/every_kernel"
