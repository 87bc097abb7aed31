#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time, one after the other:
# the go command fuzzes a single target at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time_each=${1:-10s}

go list ./... | while read -r package; do
  go test -list '^Fuzz' "$package" | { grep '^Fuzz' || true; } | while read -r target; do
    echo "=== $package $target"
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time_each"
  done
done
