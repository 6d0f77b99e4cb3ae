# need PROGRAM PACKAGE...: makes sure that a program is there, by Debian's packages if this is root.
# Where it cannot be had, says so and ends the check as passed: there is nothing to run it with. What was
# not run for that reason is noted in the file MISSED, if that is set.
need() {
  local program=$1
  shift
  command -v "$program" >/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq >/dev/null 2>&1 || true
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 || true
  fi
  command -v "$program" >/dev/null && return
  local why="$(basename "$0"): $program is not here and cannot be installed (Debian has it in: $*)"
  echo "skipped: $why"
  [ -z "${MISSED:-}" ] || echo "$why" >> "$MISSED"
  exit 0
}
