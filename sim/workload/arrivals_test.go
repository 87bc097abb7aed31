package workload

import (
	"fmt"
	"math"
	"testing"
)

func TestPoissonOffersItsLoad(t *testing.T) {
	for _, test := range []struct {
		sizes    *Distribution
		load     float64
		duration int64
	}{
		{WebSearch(), 0.5, Second},
		{WebSearch(), 0.8, Second / 2},
		{Hadoop(), 0.1, Second / 25},
		{Storage(), 0.3, Second / 40},
	} {
		t.Run(fmt.Sprint(test.sizes.Name(), " ", test.load), func(t *testing.T) {
			const hosts, rate = 320, 40e9
			p := Poisson{Sizes: test.sizes, Load: test.load, LinkRate: rate, Duration: test.duration, HostsPerGroup: 10}
			bytes := 0.0
			flows := mustFlows(t, p, hosts, 1)
			for _, f := range flows {
				bytes += float64(f.Bytes)
				if f.Start >= test.duration+1 || f.Src/10 == f.Dst/10 || f.Class != test.sizes.Name() {
					t.Fatalf("flow %+v", f)
				}
			}
			capacity := rate / 8 * hosts * float64(test.duration) / float64(Second)
			if got := bytes / capacity; math.Abs(got/test.load-1) > 0.02 {
				t.Errorf("load %.4f from %d flows, want %.2f within 2 %%", got, len(flows), test.load)
			}
		})
	}
}

func TestPoissonCount(t *testing.T) {
	p := Poisson{Profile: Profile{Start: Second}, Sizes: WebSearch(), Load: 0.5, LinkRate: 40e9, Count: 2418}
	flows := mustFlows(t, p, 320, 1)
	if len(flows) != 2418 {
		t.Fatalf("%d flows, want 2418", len(flows))
	}
	// 320 hosts at 40 Gb/s and half load need about 5.2 ms for so many.
	if took := flows[2417].Start - Second; took < 4*Millisecond || took > 6*Millisecond {
		t.Errorf("arrivals took %d ps, want about 5.2 ms", took)
	}
}

func TestPoissonSpreadsOverHosts(t *testing.T) {
	const hosts, count = 8, 40_000
	p := Poisson{Sizes: Hadoop(), Load: 0.5, LinkRate: 1e9, Count: count, HostsPerGroup: 3}
	sent, received := [hosts]float64{}, [hosts]float64{}
	for _, f := range mustFlows(t, p, hosts, 1) {
		sent[f.Src]++
		received[f.Dst]++
	}
	for host := range hosts {
		if share := sent[host] / count * hosts; math.Abs(share-1) > 0.05 {
			t.Errorf("host %d sends %.3f of its share", host, share)
		}
		// Groups are 0-2, 3-5, 6-7: a host receives from those outside its group,
		// who have fewer others to choose from the larger their group is.
		inGroup := 3.0
		if host >= 6 {
			inGroup = 2
		}
		want := 0.0
		for src := range hosts {
			size := 3.0
			if src >= 6 {
				size = 2
			}
			if src/3 != host/3 {
				want += count / hosts / (hosts - size)
			}
		}
		if math.Abs(received[host]/want-1) > 0.06 {
			t.Errorf("host %d in a group of %v receives %.0f flows, want %.0f", host, inGroup, received[host], want)
		}
	}
}

func TestExponential(t *testing.T) {
	const draws = 200_000
	r := seeded(1)
	sum, squares := 0.0, 0.0
	above := [4]float64{}
	for range draws {
		x := exponential(r)
		sum += x
		squares += x * x
		for i := range above {
			if x > float64(i)+0.5 {
				above[i]++
			}
		}
	}
	if mean := sum / draws; math.Abs(mean-1) > 0.01 {
		t.Errorf("mean %.4f, want 1", mean)
	}
	if second := squares / draws; math.Abs(second-2) > 0.06 {
		t.Errorf("second moment %.4f, want 2", second)
	}
	for i, n := range above {
		if want := math.Exp(-float64(i) - 0.5); math.Abs(n/draws-want) > 0.005 {
			t.Errorf("%.4f of the draws above %d.5, want %.4f", n/draws, i, want)
		}
	}
}

func TestBackground(t *testing.T) {
	flows := mustFlows(t, Background{Profile: Profile{Rate: 1e9}, Count: 200, HostsPerGroup: 4}, 20, 1)
	if len(flows) != 200 {
		t.Fatalf("%d streams, want 200", len(flows))
	}
	ends := map[Pair]bool{}
	for _, f := range flows {
		ends[Pair{f.Src, f.Dst}] = true
		if f.Src/4 == f.Dst/4 || f.Bytes != 0 || f.Rate != 1e9 || f.Class != ClassBackground {
			t.Fatalf("stream %+v", f)
		}
	}
	if len(ends) < 100 {
		t.Errorf("only %d different pairs", len(ends))
	}
}

func TestMiceElephants(t *testing.T) {
	m := MiceElephants{
		Profile: Profile{Start: Millisecond}, Count: 100, MiceShare: 0.9,
		MouseBytes: 1024, ElephantBytes: 10e6, Duration: Second,
	}
	mice, elephants, late := 0, 0, 0
	for _, f := range mustFlows(t, m, 16, 1) {
		switch {
		case f.Class == ClassMouse && f.Bytes == 1024 && f.Start >= Millisecond && f.Start <= Millisecond+Second:
			mice++
			if f.Start > Second/2 {
				late++
			}
		case f.Class == ClassElephant && f.Bytes == 10e6 && f.Start == Millisecond:
			elephants++
		default:
			t.Errorf("flow %+v is neither mouse nor elephant", f)
		}
	}
	if mice != 90 || elephants != 10 {
		t.Errorf("%d mice and %d elephants, want 90 and 10", mice, elephants)
	}
	if late < 25 || late > 65 {
		t.Errorf("%d of 90 mice in the second half of the time, want about 45", late)
	}
}
