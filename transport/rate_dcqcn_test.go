package transport

import (
	"errors"
	"math"
	"testing"
)

// The trajectories below were computed apart from the code, by stepping through
// the rules of the two public simulators microsecond by microsecond in fractions.

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

func everyFrom(first, every, until int64) []int64 {
	var at []int64
	for t := first; t < until; t += every {
		at = append(at, t)
	}
	return at
}

func trajectories() []trajectory {
	byBytes := DCQCNAuthors(fortyGigabit)
	byBytes.ByteCounter, byBytes.FastRecovery = 1_000_000, 2
	return []trajectory{
		{"authors", DCQCNAuthors(fortyGigabit), []int64{10, 60, 170, 600}, nil, []dcqcnPoint{
			{9, 40000000000, 0.5},
			{10, 29960937500, 0.501953125}, // alpha has gone from 1/2 to 1/2 + 1/512 before the cut
			{59, 29960937500, 0.501953125},
			{60, 22412299960.852, 0.503898620605}, // every notice cuts
			{64, 22412299960.852, 0.503898620605},
			{65, 22412299960.852, 0.503898620605},
			{119, 22412299960.852, 0.501930266619}, // the decay of 65 µs was put off by the notice of 60 µs
			{120, 26186618730.426, 0.501930266619}, // the first step of fast recovery
			{170, 19614787639.984, 0.501922845259},
			{225, 19614787639.984, 0.499962209145}, // 55 µs after the notice of 170 µs
			{229, 19614787639.984, 0.499962209145},
			{230, 22900703185.205, 0.499962209145},
			{290, 24543660957.815, 0.498009231765},
			{350, 25365139844.121, 0.496063883203},
			{410, 25775879287.273, 0.49412613366}, // the fourth and last step of fast recovery
			{469, 25775879287.273, 0.49219595345},
			{470, 26001249008.850, 0.49219595345}, // additive
			{530, 26133933869.638, 0.490273313007},
			{600, 19791631122.584, 0.490356783726},
			{655, 19791631122.584, 0.48844132754},
			{660, 23005953711.308, 0.48844132754},
			{900, 26039381138.237, 0.480854033596},
			{960, 26169828719.134, 0.478975697528},
			{1020, 26255052509.583, 0.477104698709},
			{5000, 28940276300.032, 0.358533216732}, // without a byte counter to follow, no hyper increase
			{60000, 40000000000, 0.007157222519},
		}},
		{"authors: byte counter", byBytes, []int64{10, 60}, []sentBytes{
			{20, 900_000}, {65, 1_000_000}, {66, 1}, {80, 2_500_000}, {100, 1_000_001}, {110, 1_000_001}, {190, 600_000}, {200, 600_000}, {215, 600_000}, {230, 1_000_000},
		}, []dcqcnPoint{
			{60, 22412299960.852, 0.503898620605},
			{65, 22412299960.852, 0.503898620605}, // exactly the byte counter does not exceed it
			{66, 26186618730.426, 0.503898620605}, // fast recovery, one step for F = 2
			{80, 28093778115.213, 0.503898620605}, // additive; what exceeds the counter is forgotten
			{100, 29067357807.606, 0.503898620605},
			{110, 29574147653.803, 0.503898620605}, // the bytes alone do not make it hyper
			{119, 29574147653.803, 0.501930266619},
			{120, 29847542576.902, 0.501930266619}, // one increase by time
			{150, 29847542576.902, 0.501930266619},
			{179, 29847542576.902, 0.499969601515},
			{180, 30084240038.451, 0.499969601515}, // both counters have F or more: hyper, once the step
			{190, 30084240038.451, 0.499969601515},
			{200, 30302588769.225, 0.499969601515}, // half the byte counter is enough now
			{209, 30302588769.225, 0.499969601515},
			{210, 30302588769.225, 0.499969601515},
			{215, 30511763134.613, 0.499969601515},
			{230, 30716350317.306, 0.498016595259},
			{240, 31018643908.653, 0.498016595259}, // half the timer: min(time, bytes) is 3, twice the step
			{269, 31018643908.653, 0.498016595259},
			{270, 31469790704.327, 0.498016595259}, // three times
		}},
		{"authors: target above line rate", DCQCNAuthors(fortyGigabit), []int64{10}, nil, []dcqcnPoint{
			{10, 29960937500, 0.501953125},
			{70, 34980468750, 0.499992370605},
			{130, 37490234375, 0.498039275408},
			{190, 38745117187.500, 0.496093809488},
			{250, 39372558593.750, 0.494155943045},
			{310, 39706279296.875, 0.492225646392}, // the target is 40.04 Gb/s
			{370, 39893139648.438, 0.490302889961},
			{430, 40000000000, 0.488387644297}, // and 40.12: line rate is there sooner than below a limit
			{490, 40000000000, 0.486479880062},
		}},
		{"authors: never below the minimum", DCQCNAuthors(fortyGigabit), everyFrom(10, 50, 5000), nil, []dcqcnPoint{
			{10, 29960937500, 0.501953125},
			{60, 22412299960.852, 0.503898620605},
			{110, 16743820090.046, 0.505836516619},
			{510, 1551355190.505, 0.521069637476},
			{1010, 100000000, 0.53945240165},
			{2010, 100000000, 0.574128257814},
			{4999, 100000000, 0.661941767445},
		}},
		{"HPCC's dcqcn", DCQCNHPCC(fortyGigabit), []int64{10, 12, 13, 20, 40, 339, 345}, nil, []dcqcnPoint{
			{9, 40000000000, 1},
			{10, 40000000000, 1}, // the first notice cuts nothing yet
			{13, 40000000000, 0.992233216763},
			{14, 20154728884.809, 0.99226355576}, // the look; alpha was updated four times, once with a notice
			{15, 20154728884.809, 0.988387526245},
			{18, 20154728884.809, 0.9768500458},
			{22, 10424358779.021, 0.965566955666}, // and not at 18, since nothing came between 14 and 18
			{23, 10424358779.021, 0.961795209745},
			{26, 10424358779.021, 0.950568142294},
			{41, 10424358779.021, 0.900274534686},
			{42, 5750296062.141, 0.896757837285}, // the third decrease, the target is line rate yet
			{341, 5750296062.141, 0.282143765058},
			{342, 19660713460.960, 0.281041640976}, // increase and look at one instant: back half way, then down
			{345, 19660713460.960, 0.27776103256},
			{346, 16902489570.796, 0.280582278526},
			{350, 16902489570.796, 0.276223801668},
			{645, 16902489570.796, 0.087061182012},
			{646, 19888818800.933, 0.086721099269}, // fast recovery, one step
			{650, 19888818800.933, 0.085374000991},
			{949, 21385983416.002, 0.026490487847}, // additive from 946 µs on
			{950, 21385983416.002, 0.026387009379},
			{1250, 22174565723.536, 0.008155577294}, // hyper
			{1550, 22608856877.303, 0.002520688875},
			{5000, 23842975037.343, 0.000000003446},
			{60000, 38483148031.070, 0},
		}},
		{"HPCC's dcqcn: increase and decrease at once", DCQCNHPCC(fortyGigabit), []int64{10, 312}, nil, []dcqcnPoint{
			{13, 40000000000, 0.988326966763},
			{14, 20310673709.027, 0.984466314549},
			{313, 20310673709.027, 0.309373870569},
			{314, 25508921450.890, 0.308165378887},
			{613, 25508921450.890, 0.095619874077},
			{614, 27832129152.702, 0.095246358944},
			{914, 28997733003.608, 0.029438313041},
		}},
		{"HPCC's dcqcn_paper", DCQCNHPCCPaper(fortyGigabit), []int64{10, 40, 170, 600, 1150}, nil, []dcqcnPoint{
			{9, 40000000000, 1},
			{10, 40000000000, 1},
			{59, 40000000000, 1},
			{60, 20000000000, 1},
			{61, 20000000000, 1},
			{114, 20000000000, 0.99609375},
			{115, 30000000000, 0.99609375}, // the target was kept at line rate
			{170, 35000000000, 0.992202758789},
			{209, 35000000000, 0.992202758789},
			{210, 17635918706.656, 0.992233216763}, // looks are at 10 + 50 n µs
			{264, 17635918706.656, 0.98835730576},
			{265, 26317959353.328, 0.98835730576},
			{320, 30662979676.664, 0.984496535034},
			{375, 32875489838.332, 0.980650845444},
			{600, 35194718114.896, 0.965417723673},
			{609, 35194718114.896, 0.965417723673},
			{610, 18203538616.254, 0.96555281069},
			{665, 26699128365.575, 0.961781120023},
			{720, 30950923240.235, 0.958024162523},
			{775, 33116820677.566, 0.954281880638},
			{1160, 19146295438.938, 0.928771365319},
			{1215, 27446358740.052, 0.925143352174},
			{5000, 39999994776.736, 0.689803139452},
			{60000, 40000000000, 0.00931025982},
		}},
		{"HPCC's dcqcn_paper: never below the minimum", DCQCNHPCCPaper(fortyGigabit), everyFrom(10, 10, 2000), nil, []dcqcnPoint{
			{59, 40000000000, 1},
			{60, 20000000000, 1},
			{110, 10000000000, 1},
			{160, 5000000000, 1},
			{360, 312500000, 1},
			{410, 156250000, 1},
			{460, 100000000, 1},
			{1999, 100000000, 1},
		}},
	}
}

// play gives a control all events up to an instant, in their order.
func (tr *trajectory) play(d RateControl, origin Time, from, to int64) {
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

func alphaOf(c RateControl) float64 {
	if d, ok := c.(*dcqcnHPCC); ok {
		return d.alpha
	}
	return c.(*dcqcn).alpha
}

func TestDCQCNFollowsItsEquations(t *testing.T) {
	const origin = Second
	for _, tr := range trajectories() {
		t.Run(tr.name, func(t *testing.T) {
			d := tr.params.New()
			from := int64(0)
			for _, w := range tr.want {
				tr.play(d, origin, from, w.at)
				from = w.at + 1
				rate := d.Rate(origin + Time(w.at)*Microsecond)
				if alpha := alphaOf(d); math.Abs(rate-w.rate) > 1 || math.Abs(alpha-w.alpha) > 1e-11 {
					t.Fatalf("at %d µs: rate %.3f, alpha %.12f; want %.3f and %.12f", w.at, rate, alpha, w.rate, w.alpha)
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
		often, seldom := tr.params.New(), tr.params.New()
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
		d := params.New()
		for i := range Time(20) {
			d.OnCNP(Second + i*Time(params.DecreaseInterval))
		}
		if rate, alpha := d.Rate(100_000*Second), alphaOf(d); rate != fortyGigabit || alpha > 1e-9 {
			t.Errorf("rate %v, alpha %v after a day", rate, alpha)
		}
		// By then alpha is nothing: the first notice only raises it to g.
		later := 100_000*Second + 2*(Time(params.AlphaTimer)+Time(params.DecreaseInterval))
		d.OnCNP(100_000*Second + 1)
		d.OnCNP(later)
		if rate := d.Rate(later + Time(params.DecreaseInterval)); rate > fortyGigabit*(1-params.Gain/4) || rate < fortyGigabit*(1-2*params.Gain) {
			t.Errorf("rate %v after two notices, alpha %v", rate, alphaOf(d))
		}
	}
}

// The variants are chosen by name, each with its parameters and its notices.
func TestDCQCNVariantsByName(t *testing.T) {
	for name, want := range map[string]struct {
		set     DCQCNParameters
		notices Notices
	}{
		"dcqcn":            {DCQCNAuthors(fortyGigabit), PolledNotices},
		"dcqcn-hpcc":       {DCQCNHPCC(fortyGigabit), NoticesInAcks},
		"dcqcn-hpcc-paper": {DCQCNHPCCPaper(fortyGigabit), NoticesInAcks},
	} {
		var o RCOptions
		if err := o.ChooseRate(name, fortyGigabit); err != nil {
			t.Fatal(err)
		}
		var got DCQCNParameters
		switch d := o.Rate().(type) {
		case *dcqcn:
			got = d.DCQCNParameters
		case *dcqcnHPCC:
			got = d.DCQCNParameters
		}
		if got != want.set || o.Notices != want.notices || o.CNPInterval != want.set.DecreaseInterval {
			t.Errorf("%s: %+v, notices %d every %v", name, got, o.Notices, o.CNPInterval)
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
		"rules":            func(p *DCQCNParameters) { p.Rules = HPCCRules + 1 },
		"bytes by HPCC":    func(p *DCQCNParameters) { p.Rules = HPCCRules },
		"interval":         func(p *DCQCNParameters) { p.DecreaseInterval = 0 },
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
