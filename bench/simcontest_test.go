package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// simulated is a contestant that plays back simulations, one per round.
func simulated(name string, rounds ...simFigures) contestant {
	round := 0
	return contestant{name: name, ours: true, run: func(context.Context) (sample, error) {
		f := &rounds[round]
		round++
		return sample{RateMops: float64(f.Hops) / f.RunSeconds / 1e6, Simulation: f}, nil
	}}
}

func TestReferenceCanBeChosen(t *testing.T) {
	var turns []string
	two := scripted("two workers", &turns, 9)
	two.reference, two.target = 1, &target{bound: 1.6, ofReference: true}
	g := group{metric: rate, contestants: []contestant{
		scripted("heap", &turns, 10), scripted("one worker", &turns, 5), two,
	}}
	rows, err := g.measure(t.Context(), 1, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[1]; *r.Ratio != 0.5 || r.Reference != "heap" {
		t.Errorf("ratio %v to %q, want 0.5 to heap", *r.Ratio, r.Reference)
	}
	if r := rows[2]; *r.Ratio != 1.8 || r.Reference != "one worker" || r.metText() != "yes" {
		t.Errorf("ratio %v to %q met %s, want 1.8 to one worker, met", *r.Ratio, r.Reference, r.metText())
	}
}

// TestWorstMemoryCounts: the fastest round does not excuse the one that took
// more memory than promised.
func TestWorstMemoryCounts(t *testing.T) {
	c := simulated("sim",
		simFigures{Hops: 4e6, RunSeconds: 2, PeakBytes: 350 * megabyte},
		simFigures{Hops: 4e6, RunSeconds: 1, PeakBytes: 250 * megabyte})
	c.also = []aspect{{simPeak, &target{bound: 300}}}
	g := group{part: partSimulator, metric: simRate, contestants: []contestant{c}}
	rows, err := g.measure(t.Context(), 2, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Best != 4 || rows[1].Best != 350 || rows[1].metText() != "no" {
		t.Errorf("rows %+v: want a best of 4 M/s and a missed target at 350 MB", rows)
	}
}

func TestLongGroupsHaveFewerRounds(t *testing.T) {
	for _, test := range []struct{ most, wanted, rounds int }{{0, 5, 5}, {2, 5, 2}, {2, 1, 1}} {
		var turns []string
		g := group{metric: rate, maxRounds: test.most, contestants: []contestant{scripted("a", &turns, 1, 1, 1, 1, 1)}}
		if _, err := g.measure(t.Context(), test.wanted, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
		if len(turns) != test.rounds {
			t.Errorf("at most %d of %d: %d rounds, want %d", test.most, test.wanted, len(turns), test.rounds)
		}
	}
}

// TestDifferentResultsFailTheRun: also when another round went well.
func TestDifferentResultsFailTheRun(t *testing.T) {
	run := func(digest string) simFigures {
		return simFigures{Scenario: "s", Digest: digest, Hops: 1e6, RunSeconds: 1, PeakBytes: 1}
	}
	g := group{metric: simRate, contestants: []contestant{
		simulated("one", run("a"), run("a")),
		simulated("two", run("a"), run("b")),
	}}
	rows, err := g.measure(t.Context(), 2, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if same := rows[1].SameResults; same == nil || !*same {
		t.Errorf("the good round is not known to be the same: %v", same)
	}
	if err := (&report{Rows: rows}).verdict(false); !errors.Is(err, errDiffers) {
		t.Errorf("verdict %v, want %v", err, errDiffers)
	}
}

func TestSimulatorTable(t *testing.T) {
	figures := simFigures{
		Scenario: "s", Digest: "a", Hops: 4e6, RunSeconds: 1, PeakBytes: 210 * megabyte,
		CompletionMicros: spread{170.4, 240, 260.6},
	}
	var turns []string
	one, two := simulated("one worker", figures), simulated("two workers", figures)
	one.target = &target{bound: 3}
	one.beside = []published{publishedRate("another", 1.16, 12, spread{})}
	two.reference = 1
	heap := scripted("heap", &turns, 8)
	heap.metric = &simHeap
	wall := simulated("web search", simFigures{
		RunSeconds: 7, SetupSeconds: 2, PeakBytes: 1, Flows: 10, DataPackets: 4_100_000, SlowdownMean: 2.1, SlowdownP99: 7,
	})
	wall.target = &target{bound: 20}
	r := &report{Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Machine: "a machine", Rounds: 1}
	for _, g := range []group{
		{part: partSimulator, metric: simRate, contestants: []contestant{heap, one, two}},
		{part: partSimulator, metric: simWall, contestants: []contestant{wall}},
	} {
		rows, err := g.measure(t.Context(), 1, &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		r.Rows = append(r.Rows, rows...)
	}
	var markdown bytes.Buffer
	if err := r.write(&markdown, options{markdown: true}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| what | measured | best | ratio | to | target | met | memory | flows |",
		"| heap | pushes and pops | 8.00 M/s |  |  |  |  |  |  |",
		"| one worker | packet-hops | 4.00 M/s | 0.50 | heap | ≥ 3.0 M/s | yes | 210 MB | 170 / 240 / 261 µs |",
		"| another (published) | packet-hops | 1.16 M/s |  |  |  |  | 12 MB |  |",
		"| two workers | packet-hops | 4.00 M/s | 1.00 | one worker |  |  | 210 MB | 170 / 240 / 261 µs, identical |",
		"| web search | wall time | 9.00 s |  |  | ≤ 20.0 s | yes | 0 MB | slowdown 2.10, p99 7.00 (10 flows, 4.10 M packets) |",
	} {
		if !strings.Contains(markdown.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, markdown.String())
		}
	}
	if !strings.Contains(markdown.String(), publishedSource) || strings.Contains(markdown.String(), "loopback") {
		t.Errorf("the caption is not that of the simulator:\n%s", markdown.String())
	}
}
