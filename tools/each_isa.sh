#!/usr/bin/env bash
# tools/each_isa.sh PYTHON COMMAND...: runs Python once with each variant of the core that is built and that
# this processor runs.
set -euo pipefail
base=$1
shift
for isa in $("$base" -c 'import jounce; print(*jounce.core_info()["available"])'); do
  if ! why=$(JOUNCE_ISA=$isa "$base" -c "import jounce" 2>&1); then
    echo "$isa skipped: ${why##*: }"
    continue
  fi
  echo "$isa"
  JOUNCE_ISA=$isa "$base" "$@"
done
