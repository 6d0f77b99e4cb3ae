#!/usr/bin/env bash
# Install Chromium for the tests of the viewer and of the documentation, if there is none: Debian's package, as
# downloads of other browsers do not work everywhere. Ends well either way; those tests are skipped without it.
set -u
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" > /dev/null; then
    echo "browser: $(command -v "$name")"
    exit 0
  fi
done
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if command -v apt-get > /dev/null; then
  install="apt-get install -y -qq --no-install-recommends chromium"
  if $as_root $install > /dev/null 2>&1 || { $as_root apt-get update -qq && $as_root $install; } > /dev/null 2>&1; then
    echo "browser: $(command -v chromium)"
    exit 0
  fi
fi
echo "browser: none is to be had; tests of pages are skipped"
