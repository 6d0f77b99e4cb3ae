#!/usr/bin/env bash
# tools/variant.sh NAME PYTHON [CMAKE DEFINITIONS...]
# Builds this tree in its own way into build/variants/NAME, an environment that shares the packages of
# PYTHON's. What is there and newer than the sources stays. Prints the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1 python=$2
shift 2
place=$PWD/build/variants/$name
stamp=$place/.built
if [ ! -e "$stamp" ] || [ -n "$(find core bindings src/jounce cmake CMakeLists.txt pyproject.toml -type f \
    ! -name '*.pyc' -newer "$stamp" -print -quit)" ]; then
  [ -x "$place/bin/python" ] || "$python" -m venv "$place" >&2
  packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  own=$("$place/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # further folders that PYTHON's environment adds to its path
  printf '%s\n' "$packages" > "$own/shared.pth"
  "$python" -c 'import sys; [print(p) for p in sys.path if p.endswith("-packages")]' >> "$own/shared.pth"
  settings=()
  for definition in "$@"; do settings+=("--config-settings=cmake.define.$definition"); done
  "$python" -m pip --python "$place/bin/python" install --quiet --no-build-isolation --no-deps --force-reinstall \
    "--config-settings=build-dir=$place/cmake" "--config-settings=install.strip=false" "${settings[@]}" . >&2
  touch "$stamp"
fi
echo "$place/bin/python"
