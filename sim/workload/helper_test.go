package workload

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// seeded is a random source that the test can have again.
func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// mustFlows generates a list and demands that it keeps every promise of Check.
func mustFlows(t *testing.T, g Generator, hosts int, seed uint64) []Flow {
	t.Helper()
	flows, err := g.Flows(hosts, seeded(seed))
	if err != nil {
		t.Fatalf("%T among %d hosts: %v", g, hosts, err)
	}
	if err := Check(flows, hosts); err != nil {
		t.Fatalf("%T among %d hosts: %v", g, hosts, err)
	}
	return flows
}

// wantConfigError demands an ErrConfig about the field.
func wantConfigError(t *testing.T, err error, field string) {
	t.Helper()
	var fault *ConfigError
	if !errors.As(err, &fault) || !errors.Is(err, ErrConfig) {
		t.Fatalf("error %v, want a ConfigError about %s", err, field)
	}
	if fault.Field != field {
		t.Fatalf("error about field %s, want %s: %v", fault.Field, field, err)
	}
	for _, part := range []string{fault.Workload, fault.Got, fault.Want} {
		if part == "" || !strings.Contains(err.Error(), part) {
			t.Fatalf("error %q does not tell workload, value and expectation: %+v", err, fault)
		}
	}
}

// play runs flows under a scheduler that starts and completes them in any order
// that After allows, chosen by the seed, from all at once (seeds 0, 5, 10 ...) to
// one at a time (4, 9, 14 ...). It calls started and completed, and fails when
// flows are left that can never start.
func play(t *testing.T, flows []Flow, seed uint64, started, completed func(f *Flow)) {
	t.Helper()
	r := seeded(seed)
	waiting := make([]int, len(flows))
	dependents := make([][]int, len(flows))
	var ready, running []int
	for i := range flows {
		waiting[i] = len(flows[i].After)
		for _, id := range flows[i].After {
			dependents[id] = append(dependents[id], i)
		}
		if waiting[i] == 0 {
			ready = append(ready, i)
		}
	}
	done := 0
	for len(ready)+len(running) > 0 {
		if len(ready) > 0 && (len(running) == 0 || r.IntN(4) >= int(seed%5)) {
			id := take(&ready, r)
			started(&flows[id])
			running = append(running, id)
			continue
		}
		id := take(&running, r)
		completed(&flows[id])
		done++
		for _, next := range dependents[id] {
			if waiting[next]--; waiting[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	if done != len(flows) {
		t.Fatalf("%d of %d flows can run; the others wait for each other", done, len(flows))
	}
}

// take removes a random element.
func take(from *[]int, r *rand.Rand) int {
	list := *from
	i := r.IntN(len(list))
	id := list[i]
	list[i] = list[len(list)-1]
	*from = list[:len(list)-1]
	return id
}
