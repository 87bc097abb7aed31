# The commands of the house. `make check` is what CI runs and what the README
# tells a reader to run; it needs Go, make and git, and says what else it misses.

# Seeds of the fault harness and of each kind in a soak, time per fuzz target, and
# further arguments of the benchmark (for example BENCH='-rounds 1 -json'). The
# first seed changes with the commit; BRAID_SEED_BASE sets it.
SEEDS ?= 20000
SOAK ?= 1000000
FUZZTIME ?= 10s
BENCH ?=

.PHONY: check test race seeds soak lint fuzz bench setup help

check: ## everything that CI checks, each step with its duration
	@BRAID_SEEDS=$(SEEDS) scripts/check.sh

test: ## the tests, once
	go test -shuffle=on ./...

race: ## the tests under the race detector
	go test -race -shuffle=on ./...

seeds: ## SEEDS seeds of the fault harness, handshakes and bundles; a tenth of sessions, Mock and hostile peers
	@BRAID_SEEDS=$(SEEDS) scripts/check.sh seeds

soak: ## SOAK seeds of each kind, on all cores; an interrupt shows what was covered
	@go run ./scripts/soak -seeds $(SOAK) -base $$(scripts/seedbase.sh)

lint: ## vet and other linters, pinned in internal/tools
	@scripts/check.sh lint

fuzz: ## every fuzz target for FUZZTIME
	@scripts/fuzz.sh $(FUZZTIME)

bench: setup ## braid beside its peers, best of five
	go -C bench run . $(BENCH)

setup: ## the Debian packages that some tests and the benchmark use
	@scripts/setup.sh

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile
