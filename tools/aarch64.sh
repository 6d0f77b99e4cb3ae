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
each=(xargs -P "$(nproc)" -I{} sh -c)
both=$(grep -l '_kernels(Pass)' core/kernels/*.cpp)
printf '%s\n' core/batch/*.cpp core/kernels/*.cpp tests/core/every_kernel.cpp |
  "${each[@]}" 'aarch64-linux-gnu-g++ "$@" -c {} -o '"$place"'/$(basename {}).o' _ "${options[@]}"
printf '%s\n' $both | "${each[@]}" 'aarch64-linux-gnu-g++ "$@" -DJOUNCE_DUALS -c {} -o '"$place"'/duals_$(basename {}).o' \
  _ "${options[@]}"
link=(aarch64-linux-gnu-g++ -pthread)
core=()
for file in core/batch/*.cpp core/kernels/*.cpp; do core+=("$place/$(basename "$file").o"); done
for file in $both; do core+=("$place/duals_$(basename "$file").o"); done
"${link[@]}" "$place/every_kernel.cpp.o" "${core[@]}" -o "$place/every_kernel"
qemu-aarch64 -L /usr/aarch64-linux-gnu "$place/every_kernel"
