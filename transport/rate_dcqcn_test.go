package transport

import (
	"errors"
	"math"
	"testing"
)

// The trajectories below were computed apart from the code, by stepping through
// the published equations microsecond by microsecond in exact fractions.

const fortyGigabit = 40e9

// trajectory is what a connection receives, and its state at some instants. Times
// are in µs.
type trajectory struct {
	name   string
	params DCQCNParameters
	cnps   []int64
	sent   []sentBytes
	want   []dcqcnPoint
}

type sentBytes struct{ at, bytes int64 }

type dcqcnPoint struct {
	at          int64
	rate, alpha float64
}

func steadyCNPs(every, until int64) []int64 {
	var at []int64
	for t := every; t < until; t += every {
		at = append(at, t)
	}
	return at
}

func trajectories() []trajectory {
	keep := DCQCNHPCCPaper(fortyGigabit)
	// The paper's equations lower the target each time.
	lower, lowerPaper := DCQCNHPCC(fortyGigabit), DCQCNHPCCPaper(fortyGigabit)
	lower.KeepTarget, lowerPaper.KeepTarget = false, false
	byBytes := DCQCNAuthors(fortyGigabit)
	byBytes.ByteCounter, byBytes.FastRecovery = 1_000_000, 2
	return []trajectory{
		{"authors", DCQCNAuthors(fortyGigabit), []int64{10, 40, 170, 600}, nil, []dcqcnPoint{
			{9, 40000000000, 0},
			{10, 20000000000, 1}, // the first notice halves the rate
			{59, 20000000000, 1},
			{60, 10000000000, 1}, // the second waited for its interval
			{119, 10000000000, 1},
			{120, 15000000000, 0.996093750000}, // fast recovery
			{170, 7529296875, 0.996093750000},
			{229, 7529296875, 0.996109008789},
			{230, 11264648437.5, 0.992217957973},
			{410, 14533081054.688, 0.980635764771},
			{470, 14766540527.344, 0.976805156315},
			{530, 14903270263.672, 0.972989511173}, // the sixth increase is additive
			{590, 14991635131.836, 0.969188770895},
			{600, 7726772918.269, 0.969188770895},
			{660, 11359204025.052, 0.969309127259},
			{960, 14898121659.749, 0.946811649715},
			{1020, 14984878395.792, 0.943113166708},
			{5000, 17671635131.836, 0.711507196073}, // without a byte counter to follow, no hyper increase
		}},
		{"HPCC's dcqcn, target lowered", lower, []int64{10, 12, 13, 20, 40}, nil, []dcqcnPoint{
			{9, 40000000000, 0},
			{10, 20000000000, 1},
			{11, 20000000000, 0.996093750000},
			{13, 20000000000, 0.992233216763},
			{14, 10077364442.404, 0.992263555760}, // two notices, one decrease
			{20, 5193705793.269, 0.969233310366},
			{30, 5193705793.269, 0.935802315772},
			{40, 2856840837.998, 0.899883454430},
			{339, 2856840837.998, 0.280439427710},
			{340, 4025273315.633, 0.279343961196}, // fast recovery
			{640, 4613489554.451, 0.086338365760}, // additive
			{940, 4947597673.860, 0.026685070872}, // hyper
			{1240, 5154651733.564, 0.008247700789},
			{5000, 6241674774.211, 0.000000003351},
			{60000, 20881705793.269, 0},
		}},
		{"HPCC's dcqcn_paper, target lowered", lowerPaper, []int64{10, 40, 170, 600}, nil, []dcqcnPoint{
			{9, 40000000000, 0},
			{10, 20000000000, 1},
			{59, 20000000000, 1},
			{60, 10000000000, 1},
			{114, 10000000000, 0.996093750000},
			{115, 15000000000, 0.996093750000},
			{170, 8820241455.078, 0.992202758789},
			{225, 13162120727.539, 0.992233216763},
			{280, 15337060363.770, 0.988357305760},
			{335, 16464530181.885, 0.984496535034},
			{600, 9190470147.329, 0.965417723673},
			{655, 13478501641.849, 0.965552810690},
			{710, 15626517389.108, 0.958024162523},
			{765, 16740525262.738, 0.954281880638},
			{5000, 23934533136.368, 0.686901948035},
			{60000, 40000000000, 0.009271102494}, // line rate again
		}},
		{"byte counter", byBytes, []int64{10, 60}, []sentBytes{
			{20, 900_000}, {65, 999_999}, {70, 1}, {80, 2_500_000}, {140, 500_000}, {190, 1_000_000}, {250, 3_000_000},
		}, []dcqcnPoint{
			{60, 10000000000.000, 1.000000000000},
			{65, 10000000000.000, 1.000000000000},
			{70, 15000000000.000, 1.000000000000},
			{80, 18770000000.000, 1.000000000000},
			{119, 18770000000.000, 1.000000000000},
			{120, 19425000000.000, 0.996093750000},
			{140, 19772500000.000, 0.996093750000},
			{180, 19966250000.000, 0.992202758789},
			{190, 20083125000.000, 0.992202758789},
			{240, 20161562500.000, 0.988326966763},
			{250, 20655195312.500, 0.988326966763},
			{300, 20847597656.250, 0.984466314549},
			{360, 21043798828.125, 0.980620743007},
		}},
		{"never below the minimum", DCQCNHPCCPaper(fortyGigabit), steadyCNPs(10, 2000), nil, []dcqcnPoint{
			{10, 20000000000, 1},
			{60, 10000000000, 1},
			{110, 5000000000, 1},
			{360, 156250000, 1},
			{410, 100000000, 1},
			{1999, 100000000, 1},
		}},
		{"target kept", keep, []int64{10, 60, 110}, nil, []dcqcnPoint{
			{10, 20000000000, 1},
			{60, 10039062500, 0.996093750000},
			{110, 5039062201.977, 0.996109008789},
			{165, 22519531100.988, 0.996124207973}, // half way back to line rate
			{220, 31259765550.494, 0.992233097786},
			{275, 35629882775.247, 0.988357187248},
		}},
	}
}

// play gives a control all events up to an instant, in their order.
func (tr *trajectory) play(d *dcqcn, origin Time, from, to int64) {
	for t := from; t <= to; t++ {
		now := origin + Time(t)*Microsecond
		for _, s := range tr.sent {
			if s.at == t {
				d.OnSent(now, int(s.bytes))
			}
		}
		for _, at := range tr.cnps {
			if at == t {
				d.OnCNP(now)
			}
		}
	}
}

func TestDCQCNFollowsItsEquations(t *testing.T) {
	const origin = Second
	for _, tr := range trajectories() {
		t.Run(tr.name, func(t *testing.T) {
			d := tr.params.New().(*dcqcn)
			from := int64(0)
			for _, w := range tr.want {
				tr.play(d, origin, from, w.at)
				from = w.at + 1
				rate := d.Rate(origin + Time(w.at)*Microsecond)
				if math.Abs(rate-w.rate) > 1 || math.Abs(d.alpha-w.alpha) > 1e-11 {
					t.Fatalf("at %d µs: rate %.3f, alpha %.12f; want %.3f and %.12f", w.at, rate, d.alpha, w.rate, w.alpha)
				}
			}
		})
	}
}

// It makes no difference how often somebody asks: the state is a function of
// what happened and of the time.
func TestDCQCNCatchesUp(t *testing.T) {
	const origin = Second
	for _, tr := range trajectories() {
		often, seldom := tr.params.New().(*dcqcn), tr.params.New().(*dcqcn)
		last := tr.want[len(tr.want)-1].at
		for at := range last + 1 {
			tr.play(often, origin, at, at)
			often.Rate(origin + Time(at)*Microsecond)
		}
		tr.play(seldom, origin, 0, last)
		end := origin + Time(last)*Microsecond
		if a, b := often.Rate(end), seldom.Rate(end); math.Abs(a-b) > 1e-3 {
			t.Errorf("%s: %v when asked all the time, %v when asked once", tr.name, a, b)
		}
	}
}

// After a long silence a connection is at line rate, and a million periods of
// its timers take no time to catch up with.
func TestDCQCNRecoversInSilence(t *testing.T) {
	for _, params := range []DCQCNParameters{DCQCNAuthors(fortyGigabit), DCQCNHPCC(fortyGigabit), DCQCNHPCCPaper(fortyGigabit)} {
		d := params.New().(*dcqcn)
		for i := range Time(20) {
			d.OnCNP(Second + i*Time(params.DecreaseInterval))
		}
		if rate := d.Rate(100_000 * Second); rate != fortyGigabit || d.alpha > 1e-9 {
			t.Errorf("rate %v, alpha %v after a day", rate, d.alpha)
		}
		if d.timeStage != params.FastRecovery+1 {
			t.Errorf("stage %d", d.timeStage)
		}
		// By then alpha is nothing: the first notice only raises it to g.
		later := 100_000*Second + 2*(Time(params.AlphaTimer)+Time(params.DecreaseInterval))
		d.OnCNP(100_000*Second + 1)
		d.OnCNP(later)
		if rate := d.Rate(later); rate > fortyGigabit*(1-params.Gain/4) || rate < fortyGigabit*(1-params.Gain) {
			t.Errorf("rate %v after two notices, alpha %v", rate, d.alpha)
		}
	}
}

func TestDCQCNRefusesNonsense(t *testing.T) {
	for name, spoil := range map[string]func(*DCQCNParameters){
		"no line rate":     func(p *DCQCNParameters) { p.LineRate = 0 },
		"line rate is NaN": func(p *DCQCNParameters) { p.LineRate = math.NaN() },
		"no minimum":       func(p *DCQCNParameters) { p.MinRate = 0 },
		"minimum above":    func(p *DCQCNParameters) { p.MinRate = 2 * p.LineRate },
		"gain":             func(p *DCQCNParameters) { p.Gain = 1.5 },
		"alpha timer":      func(p *DCQCNParameters) { p.AlphaTimer = 0 },
		"rate timer":       func(p *DCQCNParameters) { p.RateTimer = 0 },
		"byte counter":     func(p *DCQCNParameters) { p.ByteCounter = -1 },
		"stages":           func(p *DCQCNParameters) { p.FastRecovery = -1 },
		"increase":         func(p *DCQCNParameters) { p.HyperIncrease = math.NaN() },
	} {
		p := DCQCNAuthors(fortyGigabit)
		if err := p.Check(); err != nil {
			t.Fatalf("published parameters: %v", err)
		}
		if spoil(&p); !errors.Is(p.Check(), ErrAttr) {
			t.Errorf("%s: %v", name, p.Check())
		}
	}
}
