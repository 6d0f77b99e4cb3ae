#!/usr/bin/env bash
# tools/aarch64.sh: compiles the core for ARM with Debian's cross compiler and runs its checks in QEMU.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/need.sh
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
need qemu-aarch64 qemu-user
place=build/variants/aarch64
mkdir -p "$place/include"
ln -sfn "$PWD/core" "$place/include/jounce"
options=(-std=c++20 -O1 -fno-strict-aliasing -fno-math-errno -fno-trapping-math -ffp-contract=fast -w
  -I "$place/include")
printf '%s\n' core/batch/*.cpp core/kernels/*.cpp tests/core/every_kernel.cpp |
  xargs -P "$(nproc)" -I{} sh -c 'aarch64-linux-gnu-g++ "$@" -c {} -o '"$place"'/$(basename {}).o' _ "${options[@]}"
link=(aarch64-linux-gnu-g++ -pthread)
core=()
for file in core/batch/*.cpp core/kernels/*.cpp; do core+=("$place/$(basename "$file").o"); done
"${link[@]}" "$place/every_kernel.cpp.o" "${core[@]}" -o "$place/every_kernel"
qemu-aarch64 -L /usr/aarch64-linux-gnu "$place/every_kernel"
