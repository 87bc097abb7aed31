#!/usr/bin/env bash
# Runs every check of the repository and prints the duration of each, with the
# processor time that it used. A failing step does not hide the others, except that
# nothing can be said about a tree that does not build. The last lines name what
# failed and what was skipped.
#
#   scripts/check.sh            all steps
#   scripts/check.sh test demo  only these, one after the other
#
# All steps run in lanes side by side: many of the tests wait more than they
# compute, and what only computes fills the gaps at a low priority. Each step
# has its output to itself and shows it when it ends.
#
# BRAID_SEEDS is the number of seeds for the fault harness, BRAID_SIM_SEEDS that
# for the simulator. The first seed changes with the commit (scripts/seedbase.sh);
# BRAID_SEED_BASE sets it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A block of the README that says `make check` is shown to work by this very run.
[[ -z ${BRAID_README_BLOCK:-} ]] || exit 0

export BRAID_SEEDS="${BRAID_SEEDS:-20000}"
export BRAID_SIM_SEEDS="${BRAID_SIM_SEEDS:-2000}"
seed_base=$(scripts/seedbase.sh)
# Nothing here needs C, except the race detector: without it every step, the
# programs of the virtual machine and of the README included, uses the same compiled packages.
export CGO_ENABLED=0
# What only a debugger wants to know is a sixth of the compiler's work and a third of the linker's.
export GOFLAGS="${GOFLAGS:-} -gcflags=all=-dwarf=false -ldflags=-s"
# Compilers and linters end before they fill the memory; collecting garbage would be a fifth of their work.
GOFLAGS+=" '-toolexec=env GOGC=off GOMEMLIMIT=1GiB'"
scratch=$(mktemp -d)

# skip ends a step without failing it; its reason is repeated at the end.
skip() {
  echo "SKIPPED: $1" >&2
  echo "$1" >"$scratch/skipped.$step"
  exit 0
}

step_setup() { scripts/setup.sh; }

# Programs are linked by the steps that run them.
step_build() {
  # shellcheck disable=SC2046 # a list of packages
  go build $(go list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' ./...)
}

step_vet() { go vet ./...; }

step_format() {
  local unformatted
  unformatted=$(gofmt -l .)
  [[ -z $unformatted ]] || {
    printf 'gofmt would change:\n%s\n' "$unformatted"
    return 1
  }
}

# The linters are modules from the network, and vet is one of them. Where they cannot be built, vet and gofmt have to do.
step_lint() {
  local linter=$scratch/linter
  go -C internal/tools build -buildvcs=false -o "$linter" ./lint >"$scratch/lint" 2>&1 || {
    go vet ./...
    go -C bench vet ./...
    skip "lint: the linters cannot be built here: $(tail -n 1 "$scratch/lint")"
  }
  "$linter" format .
  go vet -vettool="$linter" ./...
  go -C bench vet -vettool="$linter" ./...
  go -C internal/tools test ./...
  lint_ibverbs "$linter"
}

# The engine on libibverbs is compiled with its tag only, and needs C.
lint_ibverbs() {
  if [[ ! -e /usr/include/infiniband/verbs.h ]] || ! command -v "$(go env CC)" >/dev/null; then
    skip "lint: package ibverbs with its tag needs a C compiler and libibverbs-dev"
  fi
  # With netgo only what is of C needs compiling for it.
  CGO_ENABLED=1 go vet -vettool="$1" -tags ibverbs,netgo ./ibverbs
}

# Other systems lack engines, but everything builds there and says so. What keeps it
# from building are types, and checking those of all packages, their tests and the
# standard library takes seconds, where a cross build takes a minute or two.
step_darwin() {
  go build -o "$scratch/typecheck" ./scripts/typecheck
  GOOS=darwin GOARCH=arm64 "$scratch/typecheck" ./...
}

# Each package is tested once: under the race detector if its code or its tests start
# goroutines, else without. The figures are long runs of code that other tests cover under
# the detector, and the tests of the transport, which has no goroutine, only run side by side.
# The command's own goroutines hand over one value each, and those of what it calls are tested with
# the packages that start them; for it the detector would need what it is made of compiled a second time. So would
# plots, which are drawn side by side by their test alone, and trials, which only the lab runs.
needs_detector() {
  packages_with '(^|[^[:alnum:]_"])go (func\b|[[:alnum:]_.]+\()|\.Go\(func|\.Go\([a-z.]+\)|\.Parallel\(|AfterFunc\(' |
    grep -v -e /experiments/figures/ -e /transport$ -e /interop/rxe$ -e /cmd/braid/command$ -e /cmd/braid/full$ -e /experiments/plot$ -e /lab/trials$
}

# tests runs tests in random order. Their programs collect garbage less often than others, which is a fifth of what they do.
tests() { go test -vet=off -shuffle=on -exec 'env GOGC=400' "$@"; }

# What the detector would falsify, or what is not built with it, is tested without it as well:
# tests that count allocations, guard pages, and what asks whether the detector is there.
falsified='AllocsPerRun|pages\.Guarded|raceEnabled|onlyWithoutDetector|^//go:build .*race'

# falsified_tests is a pattern of the names of those tests: of what says so itself, or calls what does, and of files that do so for the whole of them.
falsified_tests() {
  local tests
  # shellcheck disable=SC2046 # a list of files
  tests=$(awk -v falsified="$falsified" '
    FNR == 1 { name = ""; whole = 0 }
    /^\/\/go:build / && $0 ~ falsified { whole = 1 }
    /^func / { name = $0; sub(/^func (\([^)]*\) )?/, "", name); sub(/[^[:alnum:]_].*/, "", name) }
    name == "" { next }
    name !~ /^Test/ { if ($0 ~ falsified) helpers = helpers "|[^[:alnum:]_]" name "\\("; next }
    whole || $0 ~ falsified { print name; next }
    { body[name] = body[name] "\n" $0 }
    END { for (name in body) if (helpers != "" && body[name] ~ substr(helpers, 2)) print name }
  ' $(grep -rlE --include='*_test.go' "$falsified" .) | sort -u)
  printf '^(%s)$' "${tests//$'\n'/|}"
}

# packages_with lists the packages that have tests, and a pattern in their code or their tests.
packages_with() {
  local directory package
  while read -r directory package; do
    if grep -qsE "$1" "$directory"/*.go; then echo "$package"; fi
  done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}} {{.ImportPath}}{{end}}' ./... | grep .)
}

# What is tested without the detector. The packages that only compute have a step of their own, and so has the virtual machine.
step_test() {
  local packages both
  packages=$(go list ./... | grep -v /interop/rxe$ | sort | comm -23 - <(computing))
  if CGO_ENABLED=1 have_detector; then
    both=$(comm -12 <(needs_detector | sort) <(packages_with "$falsified" | sort))
    packages=$(comm -23 <(echo "$packages") <(needs_detector | sort))
    # shellcheck disable=SC2086 # a list of packages
    tests -timeout 10m -run "$(falsified_tests)" $both
  fi
  # shellcheck disable=SC2086 # a list of packages
  BRAID_SEEDS=100 tests -timeout 10m $packages
  # Channels once more, with what finds wrong uses of memory; without the tests that mostly wait.
  BRAID_DEBUG_MEMORY=1 tests -timeout 5m -skip 'Kill|Move|Fault|TCP|Carriers|Commanded|Cut|QPCache' . ./netconn
}

# The figures and the transport, whose tests know no time but that of a simulator. The seeds have a step of their own; here they are only a few.
step_compute() {
  # shellcheck disable=SC2046 # a list of packages
  BRAID_SEEDS=100 tests -timeout 30m $(computing)
}

# computing lists the packages that need no detector, and whose tests have no processes and no sockets.
computing() {
  go list ./... | grep -vE '/cmd/|/examples/|/interop/|/lab/' | sort | comm -23 - <(needs_detector | sort)
}

# have_detector says whether there is a C compiler, which the detector needs.
have_detector() { command -v "$(go env CC)" >/dev/null; }

step_race() {
  export CGO_ENABLED=1
  have_detector || skip "race: the race detector needs a C compiler"
  local packages
  # Those that take long come first, so that none of them runs alone at the end.
  packages="./udp . ./sim/fuzz ./sim ./internal/perf $(needs_detector)"
  # shellcheck disable=SC2086 # a list of packages
  # Each of some fifty programs would sleep for a second when it has ended, should a race come to light late.
  BRAID_SEEDS=100 GORACE=atexit_sleep_ms=100 tests -race -timeout 15m $packages
}

# failures shows, of the output of `go test -v`, what the tests that failed have printed,
# and all that follows a panic.
failures() {
  awk '
    NR == FNR { if ($1 == "---" && $2 == "FAIL:") failed[$3] = 1; next }
    /^panic: / { panicked = 1 }
    /^=== / { name = $3 }
    panicked || failed[name] || /^ *--- FAIL/ || /^FAIL/
  ' "$1" "$1"
}

# Unmodified RDMA programs on the Linux kernel's RoCE driver, in a virtual machine.
step_interop() {
  go test -count=1 -timeout 30m -v ./interop/rxe >"$scratch/interop" 2>&1 || {
    failures "$scratch/interop"
    return 1
  }
  grep -e '^--- ' -e 'rxe .* braid RC' -e '^ok' "$scratch/interop"
  local reason
  reason=$(grep -m 1 -o 'interop: .*' "$scratch/interop" || true)
  [[ -z $reason ]] || skip "$reason"
}

step_seeds() {
  # `go test` is content when -run matches nothing, which would check nothing.
  local directory
  for directory in transport cm/machine bundle/machine internal/session internal/mock; do
    grep -qs '^func TestSeeds' "$directory"/*_test.go || {
      echo "there is no TestSeeds in $directory"
      return 1
    }
  done
  export GOGC=2000 # as scripts/soak has it
  echo "$BRAID_SEEDS seeds from $seed_base on (again: BRAID_SEED_BASE=$seed_base make seeds)"
  BRAID_SEED_BASE=$seed_base go test ./transport/... ./cm/machine ./bundle/machine -run '^TestSeeds' -count=1 -timeout 15m
  # Whole programs at both ends of a channel, and a device of whose peers one lies: a seed takes ten times as long.
  export BRAID_SEEDS=$((BRAID_SEEDS / 10))
  BRAID_SEED_BASE=$seed_base go test ./internal/session ./internal/mock -run '^TestSeeds' -count=1 -timeout 15m
  BRAID_SEED_BASE=$seed_base go test ./transport -run '^TestHostile$' -count=1 -timeout 15m
}

# Random networks, work and faults: what braid promises is checked in each.
step_fuzz() { go run ./cmd/braid-full sim fuzz --first "$seed_base" --seeds "$BRAID_SIM_SEEDS"; }

# The quick version of a figure of each paper, with the report. The tests of the figures have run
# them all and checked the numbers; this shows that the command makes the report, and that a browser shows it.
step_figures() {
  go run ./cmd/braid-full sim figure mp-rdma-11a data-partition-8-11 virtuoso x-rdma-10 roce-storm --quick --out "$scratch/figures" >"$scratch/figures.txt"
  tail -n 2 "$scratch/figures.txt"
  BRAID_REPORT=$scratch/figures/index.html go test -count=1 -v -run '^TestReportInABrowser$' ./experiments/figures >"$scratch/browser" 2>&1 || {
    failures "$scratch/browser"
    return 1
  }
  if grep -q -- '--- SKIP' "$scratch/browser"; then skip "figures: $(grep -m 1 -o 'TestReportInABrowser: .*' "$scratch/browser")"; fi
}

# The lab's trials in their short form: braid's promises on real queues and real
# routing, with cut, lossy, slow and shared paths. They need the machine for
# themselves, so `go test ./...` leaves them out.
step_lab() {
  BRAID_LAB=1 go test ./lab/trials -run '^TestShortForm$' -count=1 -timeout 10m -v >"$scratch/lab" 2>&1 || {
    failures "$scratch/lab"
    return 1
  }
  grep -E '^ *--- ' "$scratch/lab"
  if grep -q -- '--- SKIP' "$scratch/lab"; then
    skip "lab: $(grep -m 1 -E 'missing (privilege|kernel feature|processor time)' "$scratch/lab" | sed 's/^ *//')"
  fi
}

step_examples() {
  local main found=0
  for main in examples/*/main.go; do
    [[ -e $main ]] || continue
    # hello is a server or a client; its own test runs the two.
    [[ $main != examples/hello/main.go ]] || continue
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

# What the README shows is run as its readers run it.
step_readme() { scripts/readme.sh README.md; }

step_bench() { go -C bench test -vet=off ./...; }

# isolated runs one step with its output in a file.
isolated() {
  (
    set -e
    "step_$1"
  ) >"$scratch/log.$1" 2>&1 3>&-
}

# run_step runs one step, measures it, and tells the printer.
run_step() {
  local step=$1 status
  echo "begin $step" >&3
  TIMEFORMAT='%0R %0U %0S'
  # Not a condition, in which bash would ignore `set -e` inside the step.
  set +e
  { time isolated "$step"; } 2>"$scratch/time.$step"
  status=$?
  set -e
  echo "end $step $status" >&3
}

# steps runs some one after the other, whatever becomes of each.
steps() {
  local step
  for step in "$@"; do run_step "$step"; done
}

# lane is what the printer waits for.
lane() {
  steps "$@"
  echo "done" >&3
}

# test_lane tests. The lab measures, so what is not idle does not run beside it.
test_lane() {
  steps race &
  steps interop &
  steps test bench examples demo readme &
  wait
  lane lab
  touch "$scratch/measured"
}

# idle_lane leaves the processor to the others, above all to what measures time. When that has ended, its next
# steps have the priority of all programs, where it may be raised: else they would starve on a busy machine.
idle_lane() {
  local step priority own
  own=$(nice)
  for step in "$@"; do
    priority=10
    [[ ! -e $scratch/measured ]] || priority=$own
    renice -n "$priority" -p "$BASHPID" >/dev/null 2>&1 || true
    run_step "$step"
  done
  lane # ends
}

# side_by_side runs the given lanes, each one word, and prints each step when it
# has ended. The lanes write to descriptor 3 what the printer reads there.
mkfifo "$scratch/news"
exec 3<>"$scratch/news"
lanes=()
side_by_side() {
  local lane
  lanes=()
  for lane in "$@"; do
    # shellcheck disable=SC2086 # a command with arguments
    $lane </dev/null &
    lanes+=($!)
  done
  print_steps <&3
  wait "${lanes[@]}"
  lanes=()
}

failed=()
skipped=()
print_steps() {
  local event step status verdict wall user system open=${#lanes[@]}
  while [[ $open -gt 0 ]]; do
    read -r event step status
    case $event in
    done)
      open=$((open - 1))
      continue
      ;;
    begin)
      echo ">>> $step, at $((SECONDS - started)) s"
      continue
      ;;
    esac
    verdict=ok
    if [[ $status -ne 0 ]]; then
      verdict=FAILED
      failed+=("$step")
    elif [[ -e $scratch/skipped.$step ]]; then
      verdict=skipped
      skipped+=("$(<"$scratch/skipped.$step")")
    fi
    read -r wall user system < <(tail -n 1 "$scratch/time.$step")
    echo "=== $step"
    cat "$scratch/log.$step"
    echo "--- $step: $verdict in $wall s, $((user + system)) s of processor time"
  done
}

# descendants are the processes below those given, which need not share a group:
# timeout gives one of its own to what it runs.
descendants() {
  local children
  children=$(ps -A -o pid= -o ppid= | awk -v parents=" $* " 'index(parents, " " $2 " ") { print $1 }')
  [[ -z $children ]] || {
    echo "$children"
    # shellcheck disable=SC2086 # a list of numbers
    descendants $children
  }
}

# finish leaves nothing behind, however this ends.
finish() {
  local processes
  trap - INT TERM
  if [[ ${#lanes[@]} -gt 0 ]]; then
    processes=$(descendants "${lanes[@]}")
    # shellcheck disable=SC2086 # a list of numbers
    kill "${lanes[@]}" $processes 2>/dev/null || true
    wait "${lanes[@]}" 2>/dev/null || true
  fi
  rm -rf "$scratch"
}
trap finish EXIT
trap 'echo "check: interrupted" >&2; exit 130' INT TERM

started=$SECONDS
for step in "$@"; do
  declare -F "step_$step" >/dev/null || {
    echo "check: there is no step $step" >&2
    exit 2
  }
done
if [[ $# -gt 0 ]]; then
  side_by_side "lane $*"
else
  side_by_side "lane setup" "lane build format"
  if [[ " ${failed[*]:-} " != *" build "* ]]; then
    side_by_side "test_lane" "idle_lane lint darwin compute seeds fuzz figures"
  fi
fi

echo "=== all steps took $((SECONDS - started)) s"
for reason in "${skipped[@]:+${skipped[@]}}"; do echo "SKIPPED: $reason"; done
if [[ ${#failed[@]} -gt 0 ]]; then
  for step in "${failed[@]}"; do
    grep -e '--- FAIL' -e ' outside ' -e 'DATA RACE' -e '^panic: ' "$scratch/log.$step" | sed "s/^ */$step: /" | head -n 20 || true
  done
  echo "FAILED: ${failed[*]}"
  exit 1
fi
echo "check: ok"
