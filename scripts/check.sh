#!/usr/bin/env bash
# Runs every check of the repository in order and prints the duration of each.
# A failing step does not hide the later ones, except that nothing can be said
# about a tree that does not build. The last lines name what failed and what was
# skipped.
#
#   scripts/check.sh            all steps
#   scripts/check.sh test demo  only these
#
# BRAID_SEEDS is the number of seeds for the fault harness, BRAID_SIM_SEEDS that
# for the simulator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A block of the README that says `make check` is shown to work by this very run.
[[ -z ${BRAID_README_BLOCK:-} ]] || exit 0

export BRAID_SEEDS="${BRAID_SEEDS:-20000}"
export BRAID_SIM_SEEDS="${BRAID_SIM_SEEDS:-2000}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

tool() { go tool -modfile=internal/tools/go.mod "$@"; }

# skip ends a step without failing it; its reason is repeated at the end.
skip() {
  echo "SKIPPED: $1" >&2
  echo "$1" >"$scratch/skipped"
  exit 0
}

step_setup() { scripts/setup.sh; }
step_build() { go build ./...; }
step_vet() { go vet ./...; }

step_format() {
  local unformatted
  unformatted=$(gofmt -l .)
  [[ -z $unformatted ]] || {
    printf 'gofmt would change:\n%s\n' "$unformatted"
    return 1
  }
}

# The linter is a large program from the network; where it cannot be built, vet
# and gofmt have to do.
step_lint() {
  local linter
  tool golangci-lint version >"$scratch/lint" 2>&1 ||
    skip "lint: golangci-lint cannot be built here: $(tail -n 1 "$scratch/lint")"
  linter=$(tool -n golangci-lint)
  "$linter" run ./...
  (cd bench && "$linter" run ./...)
}

# Other systems lack engines, but everything builds there and says so.
step_darwin() { GOOS=darwin GOARCH=arm64 go build ./...; }

# The seeds have a step of their own; here they are only a few.
step_test() { BRAID_SEEDS=500 go test -shuffle=on -timeout 10m ./...; }

step_race() {
  command -v "$(go env CC)" >/dev/null ||
    skip "race: the race detector needs a C compiler"
  # The figures are long runs of code that other tests cover under the detector.
  local packages
  packages=$(go list ./... | grep -v /experiments/figures/)
  # shellcheck disable=SC2086 # a list of packages
  BRAID_SEEDS=500 go test -race -shuffle=on -timeout 15m $packages
}

step_seeds() {
  # `go test` is content when -run matches nothing, which would check nothing.
  [[ $(go test -list '^TestSeeds' ./transport/...) == *TestSeeds* ]] || {
    echo "there is no TestSeeds in ./transport/..."
    return 1
  }
  echo "seeds: $BRAID_SEEDS"
  go test ./transport/... -run '^TestSeeds' -count=1 -timeout 15m
}

# Random networks, work and faults: what braid promises is checked in each.
step_fuzz() { go run ./cmd/braid sim fuzz --seeds "$BRAID_SIM_SEEDS"; }

# The quick version of every figure, with its report. Their tests have checked
# the numbers; this shows that the command makes the report.
step_figures() {
  go run ./cmd/braid sim figure all --quick --out "$scratch/figures" >"$scratch/figures.txt"
  tail -n 2 "$scratch/figures.txt"
  [[ -s $scratch/figures/index.html ]]
}

# The lab's trials in their short form: braid's promises on real queues and real
# routing, with cut, lossy, slow and shared paths. They need the machine for
# themselves, so `go test ./...` leaves them out.
step_lab() {
  BRAID_LAB=1 go test ./lab/trials -run '^TestShortForm$' -count=1 -timeout 10m -v >"$scratch/lab" 2>&1 || {
    cat "$scratch/lab"
    return 1
  }
  grep -E '^ *--- ' "$scratch/lab"
  if grep -q -- '--- SKIP' "$scratch/lab"; then
    skip "lab: $(grep -m 1 -E 'missing (privilege|kernel feature)' "$scratch/lab" | sed 's/^ *//')"
  fi
}

step_examples() {
  local main found=0
  for main in examples/*/main.go; do
    [[ -e $main ]] || continue
    found=1
    echo "go run ./${main%/main.go}"
    timeout 60 go run "./${main%/main.go}"
  done
  [[ $found == 1 ]] || {
    echo "there are no examples"
    return 1
  }
}

step_demo() {
  timeout 120 go run ./cmd/braid demo --json >"$scratch/demo.json"
  go run ./scripts/checkdemo <"$scratch/demo.json"
}

step_readme() { scripts/readme.sh README.md; }

step_bench() { go -C bench vet ./... && go -C bench test ./...; }

steps=(setup build format vet lint darwin test race seeds fuzz figures lab examples demo readme bench)
[[ $# -eq 0 ]] || steps=("$@")
failed=()
skipped=()
started=$SECONDS

for step in "${steps[@]}"; do
  declare -F "step_$step" >/dev/null || {
    echo "check: there is no step $step" >&2
    exit 2
  }
  echo "=== $step"
  rm -f "$scratch/skipped"
  before=$SECONDS
  # Not a condition, in which bash would ignore `set -e` inside the step.
  set +e
  (
    set -e
    "step_$step"
  )
  status=$?
  set -e
  verdict=ok
  if [[ $status -ne 0 ]]; then
    verdict=FAILED
    failed+=("$step")
  elif [[ -e $scratch/skipped ]]; then
    verdict=skipped
    skipped+=("$(<"$scratch/skipped")")
  fi
  echo "--- $step: $verdict in $((SECONDS - before)) s"
  [[ $step != build || $status -eq 0 ]] || break
done

echo "=== all steps took $((SECONDS - started)) s"
for reason in "${skipped[@]}"; do echo "SKIPPED: $reason"; done
if [[ ${#failed[@]} -gt 0 ]]; then
  echo "FAILED: ${failed[*]}"
  exit 1
fi
echo "check: ok"
