package fluid

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

func mustSolve(t *testing.T, cfg Config) *Result {
	t.Helper()
	result, err := Solve(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// wantFixedPoint fails unless the tail stands at the closed form.
func wantFixedPoint(t *testing.T, why string, r *Result, tolerance float64) {
	t.Helper()
	for g, group := range r.Steady.Groups {
		if want := r.Equilibrium.Windows[g]; !near(group.Window, want, tolerance) {
			t.Errorf("%s: window of group %d is %v, want %v", why, g, group.Window, want)
		}
	}
	for j, link := range r.Steady.Links {
		want := r.Equilibrium.Links[j]
		if !near(link.Queue, want.Queue, tolerance) || !near(link.MarkingRatio, want.MarkingRatio, 3*tolerance) {
			t.Errorf("%s: link %d has queue %v and ratio %v, want %+v", why, j, link.Queue, link.MarkingRatio, want)
		}
	}
}

// §3.2.1 on figure 4: with standard RED the queue is stable, the delay of the
// feedback included.
func TestFigure4StandardREDSettles(t *testing.T) {
	r := mustSolve(t, Figure4(Figure4StandardRED))
	wantFixedPoint(t, "figure 4", r, 1e-6)
	if !r.Steady.Settled || r.FixedPointError() > 1e-6 {
		t.Errorf("settled %v, F off 2/(W+2) by %v", r.Steady.Settled, r.FixedPointError())
	}
	if !near(r.Steady.Links[0].Utilisation, 1, 1e-9) {
		t.Errorf("utilisation %v, want full", r.Steady.Links[0].Utilisation)
	}
}

// §3.2.1 on figure 4: with DCTCP marking the queue oscillates widely, and it is
// the delay that makes it.
func TestFigure4DCTCPOscillates(t *testing.T) {
	cfg := Figure4(Figure4DCTCP)
	r := mustSolve(t, cfg)
	link := r.Steady.Links[0]
	if r.Steady.Settled || link.QueueHigh < 65 || link.QueueHigh-link.QueueLow < 40 {
		t.Errorf("queue between %v and %v: want a wide oscillation over 65", link.QueueLow, link.QueueHigh)
	}
	if link.Utilisation < 0.95 {
		t.Errorf("utilisation %v", link.Utilisation)
	}
	cfg.Feedback = Immediate
	if still := mustSolve(t, cfg).Steady.Links[0]; still.QueueHigh-still.QueueLow > 2 || !near(still.Queue, 65, 0.02) {
		t.Errorf("without delay the queue is between %v and %v, want 65", still.QueueLow, still.QueueHigh)
	}
}

// §3.2.1 on figure 5: the ratios of the four links are equal, F = 2/(cwnd+2),
// and the links are full, so that rates are proportional to theirs.
func TestFigure5EqualMarkingRatios(t *testing.T) {
	r := mustSolve(t, Figure5())
	wantFixedPoint(t, "figure 5", r, 1e-6)
	if spread := r.MarkingSpread(); spread > 1e-6 {
		t.Errorf("marking ratios differ by %v of their mean", spread)
	}
	if e := r.FixedPointError(); e > 1e-6 {
		t.Errorf("F is off 2/(cwnd+2) by %v", e)
	}
	group := r.Steady.Groups[0]
	for i, rate := range group.PathRates {
		if want := float64(i%4+1) * 20e9 / 10 / 2; !near(rate, want, 1e-6) {
			t.Errorf("virtual path %d sends %v b/s, want half a tenth of its link, %v", i, rate, want)
		}
	}
	if !near(group.RateBitsPerSecond, 20e9, 1e-6) {
		t.Errorf("a connection sends %v b/s, want a tenth of 200 Gb/s", group.RateBitsPerSecond)
	}
	first := r.Trajectory[50].MarkingRatios
	if first[0] == first[3] {
		t.Errorf("ratios %v are equal from the start: the check shows nothing", first)
	}
}

// The claim holds "regardless of RTTs, capacities and RED marking curves".
func TestMarkingRatiosAreEqualForUnlikePaths(t *testing.T) {
	cfg := Figure5()
	for j := range cfg.Links {
		cfg.Links[j].BaseRTT = time.Duration(10*(j+1)) * time.Microsecond
		cfg.Links[j].Marking.KMin = float64(5 + 10*j)
		cfg.Links[j].Marking.KMax = 400
	}
	r := mustSolve(t, cfg)
	wantFixedPoint(t, "unlike paths", r, 1e-3)
	if spread := r.MarkingSpread(); spread > 1e-3 {
		t.Errorf("marking ratios differ by %v of their mean", spread)
	}
}

// The start does not matter for windows, queues and ratios.
func TestSolveConvergesFromAnywhere(t *testing.T) {
	for _, c := range []struct {
		name    string
		windows []float64
		queue   float64
	}{
		{"little", []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, 0},
		{"much", []float64{60, 60, 60, 60, 60, 60, 60, 60}, 0},
		{"all on one link", []float64{50, 0.01, 0.01, 0.01, 50, 0.01, 0.01, 0.01}, 0},
		{"full queues", []float64{1, 2, 3, 4, 5, 6, 7, 8}, 500},
	} {
		cfg := Figure5()
		cfg.Duration = 100 * time.Millisecond
		cfg.Groups[0].InitialWindows = c.windows
		for j := range cfg.Links {
			cfg.Links[j].InitialQueue = c.queue
		}
		r := mustSolve(t, cfg)
		wantFixedPoint(t, c.name, r, 1e-4)
		if spread := r.MarkingSpread(); spread > 1e-4 || !r.Steady.Settled {
			t.Errorf("%s: spread %v, settled %v", c.name, spread, r.Steady.Settled)
		}
	}
}

// Halving the step changes no sample of the whole trajectory by a thousandth.
func TestSolveDoesNotDependOnTheStep(t *testing.T) {
	for name, cfg := range map[string]Config{"figure 4": Figure4(Figure4StandardRED), "figure 5": Figure5()} {
		cfg.Step = cfg.Links[0].BaseRTT / 50
		cfg.SampleEvery = cfg.Links[0].BaseRTT
		coarse := mustSolve(t, cfg)
		cfg.Step /= 2
		fine := mustSolve(t, cfg)
		if len(coarse.Trajectory) != len(fine.Trajectory) {
			t.Fatalf("%s: %d samples and %d", name, len(coarse.Trajectory), len(fine.Trajectory))
		}
		for k, a := range coarse.Trajectory {
			b := fine.Trajectory[k]
			for g := range a.Windows {
				if !near(a.Windows[g], b.Windows[g], 1e-3) {
					t.Fatalf("%s at %v s: window %v, with half the step %v", name, a.Seconds, a.Windows[g], b.Windows[g])
				}
			}
			for j := range a.Queues {
				if math.Abs(a.Queues[j]-b.Queues[j]) > 1e-3*max(1, b.Queues[j]) {
					t.Fatalf("%s at %v s: queue %v, with half the step %v", name, a.Seconds, a.Queues[j], b.Queues[j])
				}
			}
		}
	}
}

// Where everything is smooth the error falls with the fourth power of the step.
// R* is a whole number of steps, so that the bend of the queue at time zero, which
// senders learn of at R*, falls between two steps.
func TestSolveIsOfOrderFour(t *testing.T) {
	at := func(feedback Feedback, step time.Duration) float64 {
		cfg := Figure4(Figure4StandardRED)
		cfg.Feedback = feedback
		cfg.Groups[0].InitialWindows = []float64{24}
		cfg.Links[0].InitialQueue = 60
		cfg.Links[0].FeedbackRTT = 120 * time.Microsecond
		cfg.Duration, cfg.Step, cfg.SampleEvery = 360*time.Microsecond, step, 360*time.Microsecond
		samples := mustSolve(t, cfg).Trajectory
		return samples[len(samples)-1].Queues[0]
	}
	for _, feedback := range []Feedback{Delayed, Immediate} {
		exact := at(feedback, 200*time.Nanosecond)
		coarse := math.Abs(at(feedback, 40*time.Microsecond) - exact)
		fine := math.Abs(at(feedback, 20*time.Microsecond) - exact)
		if ratio := coarse / fine; ratio < 10 || ratio > 40 {
			t.Errorf("feedback %d: half the step divides the error by %v, want about 16", feedback, ratio)
		}
	}
}

// The islands that the closed form predicts are where the dynamics go.
func TestSolveLeavesTheCrowdedLink(t *testing.T) {
	r := mustSolve(t, crowdedConfig())
	wantFixedPoint(t, "crowd", r, 1e-3)
	mixed := r.Steady.Groups[1]
	if mixed.PathWindows[0] > 1e-3*mixed.Window {
		t.Errorf("windows %v: want nothing left on the crowded link", mixed.PathWindows)
	}
	if r.MarkingSpread() < 0.5 || r.FixedPointError() > 1e-3 {
		t.Errorf("spread %v, error of the fixed point %v", r.MarkingSpread(), r.FixedPointError())
	}
}

// Ten connections that each draw eight virtual paths at random, as in figure 5:
// every draw ends where the closed form says.
func TestFigure5WithRandomMappings(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := Figure5()
		cfg.Groups = nil
		for range 10 {
			group := Group{Count: 1}
			for range 8 {
				group.Paths = append(group.Paths, rng.IntN(4))
			}
			cfg.Groups = append(cfg.Groups, group)
		}
		cfg.Duration, cfg.Step = 60*time.Millisecond, time.Microsecond
		wantFixedPoint(t, "random mapping", mustSolve(t, cfg), 1e-3)
	}
}

// A link without virtual paths stays out of everything.
func TestSolveIgnoresAnUnusedLink(t *testing.T) {
	cfg := Figure5()
	cfg.Groups[0].Paths = []int{0, 1, 2}
	r := mustSolve(t, cfg)
	if link := r.Steady.Links[3]; link.Used || link.MarkingRatio != 0 || link.RateBitsPerSecond != 0 {
		t.Errorf("unused link: %+v", link)
	}
	if spread := r.MarkingSpread(); spread > 1e-6 || !r.Steady.Settled {
		t.Errorf("spread %v, settled %v", spread, r.Steady.Settled)
	}
}

func TestSolveIsDeterministic(t *testing.T) {
	cfg := Figure4(Figure4DCTCP)
	a, b := mustSolve(t, cfg), mustSolve(t, cfg)
	if !reflect.DeepEqual(a.Trajectory, b.Trajectory) || !reflect.DeepEqual(a.Steady, b.Steady) {
		t.Error("two runs of one Config differ")
	}
}
