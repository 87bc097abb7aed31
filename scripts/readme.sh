#!/usr/bin/env bash
# Runs the commands that a document shows, so that they stay true. A block is run
# when the line above its fence is <!-- checked -->, which a reader does not see:
#
#   <!-- checked -->
#   ```sh
#   go run ./cmd/braid version
#   ```
#
# <!-- checked as root --> runs the block only there, and else says that it does not.
#
# Each block is one bash script, started in the root of the repository. Within it
# `make check` does nothing, since it is what runs the block.
set -euo pipefail
document=${1:?usage: readme.sh DOCUMENT}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

[[ -r $document ]] || {
  echo "readme: there is no $document" >&2
  exit 1
}
awk -v dir="$scratch" '
  /^```/ && open { open = 0; next }
  open           { print > file; next }
  /^```/ && mark { open = 1; file = sprintf("%s/block%03d%s", dir, ++blocks, mark == 2 ? ".root" : "") }
                 { mark = /^<!-- checked -->$/ ? 1 : /^<!-- checked as root -->$/ ? 2 : 0 }
' "$document"

shopt -s nullglob
blocks=("$scratch"/block*)
[[ ${#blocks[@]} -gt 0 ]] || {
  echo "readme: $document marks no block with <!-- checked -->, so none of its commands is known to work" >&2
  exit 1
}
for block in "${blocks[@]}"; do
  if [[ $block == *.root && $EUID -ne 0 ]]; then
    echo "readme: not run, because it needs root:"
    sed 's/^/+ /' "$block"
    continue
  fi
  sed 's/^/+ /' "$block"
  BRAID_README_BLOCK=1 timeout 180 bash -euo pipefail "$block" || {
    echo "readme: the block above fails" >&2
    exit 1
  }
done
