package trials

import (
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/lab/traffic"
)

// scripted is a result whose goodput follows a function, in units of a path.
func scripted(kind traffic.Kind, length time.Duration, paths func(at time.Duration) float64) *traffic.Result {
	const step = time.Millisecond
	r := &traffic.Result{Kind: kind, Began: time.Second, Ended: time.Second + length}
	for at := time.Duration(0); at < length; at += step {
		if bytes := paths(at) * gigabit / 8 * step.Seconds(); bytes > 0 {
			r.Record.Add(r.Began+at, int(bytes))
		}
	}
	return r
}

// TestFindCuts recognises a run that takes 50 ms after each cut, and 300 ms after
// each restoration.
func TestFindCuts(t *testing.T) {
	const paths = 3
	_, length := cutScript(paths)
	r := scripted(traffic.MP, length, func(at time.Duration) float64 {
		step, within := int(at/cutStep), at%cutStep
		switch {
		case step == 0:
			return 4
		case step <= paths && within < 50*time.Millisecond:
			return 0
		case step <= paths:
			return float64(4 - step)
		case within < 300*time.Millisecond:
			return float64(step - paths)
		}
		return float64(step - paths + 1)
	})
	f := findCuts(r, paths, gigabit)
	near := func(got, want, by time.Duration) bool { return got >= want-by && got <= want+by }
	if !near(f.stall, 50*time.Millisecond, 2*time.Millisecond) || f.left < 0.99 || !f.full || f.restored > 300*time.Millisecond || f.restored < 250*time.Millisecond {
		t.Errorf("%+v", f)
	}
	slow := scripted(traffic.MPTCP, length, func(at time.Duration) float64 {
		if at < cutStep {
			return 4
		}
		return 0
	})
	if f := findCuts(slow, paths, gigabit); f.full || f.left != 0 || f.stall < cutStep-10*time.Millisecond {
		t.Errorf("what never recovers: %+v", f)
	}
}

func TestExpectedIsTheMeanOverPaths(t *testing.T) {
	if got := expected(1, 5, 3); got != 2 {
		t.Errorf("three of four paths with 1, one with 5: %v, want 2", got)
	}
}

func TestBetterPrefersWhatDidNotFail(t *testing.T) {
	fast := scripted(traffic.RC, 3*time.Second, func(time.Duration) float64 { return 2 })
	slow := scripted(traffic.RC, 3*time.Second, func(time.Duration) float64 { return 1 })
	if !better(fast, slow) || better(slow, fast) {
		t.Error("the slower run is taken")
	}
	fast.Failure = "broken"
	if better(fast, slow) || !better(slow, fast) {
		t.Error("the failed run is taken")
	}
}

func TestGrid(t *testing.T) {
	g := Grid{Title: "A title", Columns: []string{"loss", "braid MP"}}
	g.add("0.5 %", "3.90")
	if text := g.Text(); text != "A title\n  loss   braid MP\n  0.5 %  3.90\n" {
		t.Errorf("%q", text)
	}
	if text := g.Markdown(); text != "| loss | braid MP |\n| --- | --- |\n| 0.5 % | 3.90 |\n" {
		t.Errorf("%q", text)
	}
	if text, err := g.CSV(); err != nil || string(text) != "loss,braid MP\n0.5 %,3.90\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestTrialsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, trial := range All() {
		if seen[trial.Name] || strings.ContainsAny(trial.Name, " /") || trial.Title == "" || trial.run == nil {
			t.Errorf("%+v", trial)
		}
		seen[trial.Name] = true
		if found, err := Named(trial.Name); err != nil || found.Title != trial.Title {
			t.Errorf("%s: %v", trial.Name, err)
		}
	}
	if _, err := Named("nothing"); err == nil {
		t.Error("there is a trial of nothing")
	}
}
