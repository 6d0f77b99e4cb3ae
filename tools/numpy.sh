#!/usr/bin/env bash
# tools/numpy.sh PYTHON TESTS...: the tests with the oldest and the newest NumPy that this Python and the
# package allow. The core is PYTHON's own: the interface that it is compiled for is that of the oldest.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$1
shift
minor=$("$base" -c 'import sys; print(sys.version_info.minor)')
case $minor in
  10 | 11) oldest=1.24.4 ;;
  12) oldest=1.26.4 ;;
  13) oldest=2.1.3 ;;
  *) oldest=2.3.5 ;;
esac
for version in "==$oldest" ">=2"; do
  place=build/variants/numpy/with
  rm -rf "$place"
  "$base" -m pip install --quiet --upgrade --no-deps --target "$place" "numpy$version"
  PYTHONPATH=$place "$base" -c 'import numpy, jounce; print("NumPy", numpy.__version__, jounce.core_info()["isa"])'
  # a plugin of zarr, which wants a newer NumPy than the oldest
  PYTHONPATH=$place "$base" -m pytest -p no:cacheprovider -p no:zarr "$@"
done
