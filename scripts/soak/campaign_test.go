package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// record is a runner that notes how often each seed ran.
type record struct {
	mu   sync.Mutex
	runs map[uint64]int
}

func (r *record) run(_ context.Context, first, count uint64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for seed := first; seed < first+count; seed++ {
		r.runs[seed]++
	}
	return nil, nil
}

func TestEverySeedRunsOnce(t *testing.T) {
	r := record{runs: map[uint64]int{}}
	c := campaign{name: "kind", first: 1000, seeds: 1234, chunk: 100, jobs: 3, out: &bytes.Buffer{}}
	c.work(t.Context(), r.run)
	for seed := uint64(1000); seed < 2234; seed++ {
		if r.runs[seed] != 1 {
			t.Fatalf("seed %d ran %d times", seed, r.runs[seed])
		}
	}
	if len(r.runs) != 1234 || c.done != 1234 || c.failed != 0 {
		t.Errorf("%d seeds ran; %s", len(r.runs), c.summary())
	}
}

func TestFailuresAreShownAndCounted(t *testing.T) {
	var out bytes.Buffer
	c := campaign{name: "kind", first: 1, seeds: 300, chunk: 100, jobs: 1, out: &out}
	c.work(t.Context(), func(_ context.Context, first, _ uint64) ([]byte, error) {
		switch first {
		case 1:
			return []byte("seed 7\nreplay: run 7\nseed 9\nreplay: run 9\n"), errors.New("exit status 1")
		case 101:
			return []byte("panic"), errors.New("exit status 2")
		}
		return nil, nil
	})
	if c.done != 300 || c.failed != 3 {
		t.Errorf("%s; want 300 done, 3 failed", c.summary())
	}
	if !strings.Contains(out.String(), "replay: run 9") || !strings.Contains(out.String(), "seeds 101 to 200: exit status 2") {
		t.Errorf("the failures are not shown: %s", out.String())
	}
}

// A chunk that was cut off says nothing about its seeds, and is no failure.
func TestInterruptCountsWhatWasCovered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := campaign{name: "kind", first: 1, seeds: 1000, chunk: 100, jobs: 1, out: &bytes.Buffer{}}
	c.work(ctx, func(ctx context.Context, first, _ uint64) ([]byte, error) {
		if first == 301 {
			cancel()
			return nil, ctx.Err()
		}
		return nil, nil
	})
	if c.done != 300 || c.failed != 0 {
		t.Errorf("%s; want 300 done, none failed", c.summary())
	}
}

func TestInterruptEndsTheProcess(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip("there is no sleep")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, exec.Command("sleep", "600")); err == nil {
		t.Error("the process ended by itself")
	}
}
