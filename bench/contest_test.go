package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// scripted is a contestant that plays back one figure per round; zero fails.
func scripted(name string, turns *[]string, figures ...float64) contestant {
	round := 0
	return contestant{name: name, run: func(context.Context) (sample, error) {
		*turns = append(*turns, name)
		v := figures[round]
		round++
		if v == 0 {
			return sample{}, errors.New("stumbled")
		}
		return sample{GoodputGbps: v, RateMops: v, P50Micros: v, P99Micros: 2 * v}, nil
	}}
}

func TestContestantsTakeTurns(t *testing.T) {
	var turns []string
	g := group{metric: goodput, contestants: []contestant{
		scripted("a", &turns, 1, 1),
		scripted("b", &turns, 1, 1),
	}}
	if _, err := g.measure(t.Context(), 2, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "a", "b"}; !slices.Equal(turns, want) {
		t.Errorf("turns %v, want %v", turns, want)
	}
}

func TestBestRatioAndTarget(t *testing.T) {
	tests := []struct {
		name       string
		metric     metric
		peer, ours []float64
		target     target
		best       float64
		ratio      float64 // 0: none
		met        string
	}{
		{"highest goodput", goodput, []float64{20, 30, 10}, []float64{9, 27, 12}, target{0.8, true}, 27, 0.9, "yes"},
		{"goodput below target", goodput, []float64{30}, []float64{15}, target{0.8, true}, 15, 0.5, "no"},
		{"exactly on target", goodput, []float64{10}, []float64{8}, target{0.8, true}, 8, 0.8, "yes"},
		{"lowest latency", latency, []float64{5, 4, 6}, []float64{9, 5, 7}, target{1.3, true}, 5, 1.25, "yes"},
		{"latency above target", latency, []float64{4}, []float64{6}, target{1.3, true}, 6, 1.5, "no"},
		{"plain value", rate, []float64{1}, []float64{1.5}, target{1, false}, 1.5, 1.5, "yes"},
		{"a round fails", goodput, []float64{10, 0}, []float64{0, 9}, target{0.8, true}, 9, 0.9, "yes"},
		{"peer never ran", goodput, []float64{0}, []float64{9}, target{0.8, true}, 9, 0, "not compared"},
		{"ours never ran", rate, []float64{1}, []float64{0}, target{1, false}, 0, 0, "not compared"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var turns []string
			ours := scripted("ours", &turns, test.ours...)
			ours.target = &test.target
			g := group{metric: test.metric, contestants: []contestant{
				scripted("peer", &turns, test.peer...), ours,
			}}
			rows, err := g.measure(t.Context(), len(test.ours), &bytes.Buffer{})
			if err != nil {
				t.Fatal(err)
			}
			r := rows[1]
			if r.Best != test.best || r.metText() != test.met {
				t.Errorf("best %v met %q, want %v %q", r.Best, r.metText(), test.best, test.met)
			}
			switch {
			case (r.Ratio != nil) != (test.ratio != 0):
				t.Errorf("ratio %v, want %v", r.Ratio, test.ratio)
			case r.Ratio != nil && *r.Ratio != test.ratio:
				t.Errorf("ratio %v, want %v", *r.Ratio, test.ratio)
			}
			if rows[0].Ratio != nil {
				t.Error("the reference is compared with itself")
			}
		})
	}
}

func TestSkippedContestantIsAskedOnce(t *testing.T) {
	asked := 0
	g := group{metric: goodput, contestants: []contestant{{name: "absent", run: func(context.Context) (sample, error) {
		asked++
		return sample{}, fmt.Errorf("%w: not installed", errSkipped)
	}}}}
	rows, err := g.measure(t.Context(), 5, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if asked != 1 || !rows[0].Skipped || rows[0].Failures != 0 {
		t.Errorf("asked %d times, row %+v", asked, rows[0])
	}
}

func TestZeroIsAFailure(t *testing.T) {
	g := group{metric: rate, contestants: []contestant{{name: "idle", run: func(context.Context) (sample, error) {
		return sample{GoodputGbps: 3}, nil
	}}}}
	rows, err := g.measure(t.Context(), 1, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].Failures != 1 || len(rows[0].Samples) != 0 {
		t.Errorf("a rate of zero was believed: %+v", rows[0])
	}
}

func TestInterruptEndsTheContest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := group{metric: goodput, contestants: []contestant{{name: "a", run: func(context.Context) (sample, error) {
		cancel()
		return sample{GoodputGbps: 1}, nil
	}}}}
	if _, err := g.measure(ctx, 5, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestReportForms(t *testing.T) {
	var turns []string
	ours := scripted("ours", &turns, 5)
	ours.target = &target{bound: 1.3, ofReference: true}
	g := group{part: partSockets, metric: latency, contestants: []contestant{scripted("peer", &turns, 4), ours}}
	rows, err := g.measure(t.Context(), 1, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	r := &report{
		Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Machine: "a machine",
		Rounds: 1, Seconds: 3, Rows: rows,
	}
	var table, markdown bytes.Buffer
	if err := r.write(&table, options{}); err != nil {
		t.Fatal(err)
	}
	if err := r.write(&markdown, options{markdown: true}); err != nil {
		t.Fatal(err)
	}
	const line = "| ours | half round trip, p50 | 5.00 µs | 10.00 µs | 1.25 | peer | ≤ 1.3 | yes |"
	if !strings.Contains(markdown.String(), line+"\n") {
		t.Errorf("no line %q in\n%s", line, markdown.String())
	}
	const caption = "1 March 2026; a machine. Best of 1, 3 s each"
	for _, form := range []string{table.String(), markdown.String()} {
		if !strings.Contains(form, caption) {
			t.Errorf("no caption %q in\n%s", caption, form)
		}
	}
}

// Two transfers at once count together, and an error of one is an error of both.
func TestTwice(t *testing.T) {
	goodputs := make(chan float64, 2)
	goodputs <- 3
	goodputs <- 1
	m := twice(func(context.Context, time.Duration) (sample, error) {
		select {
		case g := <-goodputs:
			return sample{GoodputGbps: g}, nil
		default:
			return sample{}, errTooSlow
		}
	})
	s, err := m(t.Context(), time.Second)
	if err != nil || s.GoodputGbps != 4 || s.Cores.Jain != 0.8 {
		t.Errorf("%+v, %v", s, err)
	}
	goodputs <- 1
	if _, err := m(t.Context(), time.Second); !errors.Is(err, errTooSlow) {
		t.Errorf("one fails: %v", err)
	}
}
