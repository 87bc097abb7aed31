#!/usr/bin/env bash
# Prints the first seed that the checks run. It changes with the commit, so that
# each one covers new ground, and is the same for everybody who has that commit, so
# that a failure can be repeated. Each commit has a million seeds to itself.
#
# BRAID_SEED_BASE overrides it. Outside a git checkout the base is 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n ${BRAID_SEED_BASE:-} ]]; then
  echo "$BRAID_SEED_BASE"
elif [[ $(git rev-parse --show-prefix 2>/dev/null || echo none) == "" ]] &&
  commit=$(git rev-parse --verify -q HEAD); then
  echo $((16#${commit:0:7} * 1000000 + 1))
else
  echo 1
fi
