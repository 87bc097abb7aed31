package monitor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world is a fabric whose faults are known: what its agents would report.
type world struct {
	hosts  []Host
	spines int
	rng    *rand.Rand

	dead, mute, busy, stuttering map[string]bool
	lossy                        map[string]float64    // by host
	rackLoss                     map[string]float64    // of a rack's switch, for what leaves the rack
	linkLoss                     map[[2]string]float64 // by rack and spine
	spineLoss                    map[int]float64
}

func newWorld(racks, perRack int) *world {
	return &world{
		hosts: fabric(racks, perRack), spines: 4, rng: rand.New(rand.NewPCG(1, 2)), dead: map[string]bool{}, mute: map[string]bool{},
		busy: map[string]bool{}, stuttering: map[string]bool{}, lossy: map[string]float64{}, rackLoss: map[string]float64{}, linkLoss: map[[2]string]float64{}, spineLoss: map[int]float64{},
	}
}

// windows are 30 s of probes by the pinglists.
func (w *world) windows() (all []Window) {
	for _, from := range w.hosts {
		if w.dead[from.Name] || w.mute[from.Name] {
			continue
		}
		window := Window{Host: from.Name, At: noon}
		for _, target := range (Mesh{Paths: 8, AllPaths: 16}).Pinglist(from, w.hosts, noon) {
			probes := int(30 * time.Second / target.Every)
			for i, path := range target.Paths {
				sent := probes / len(target.Paths)
				if i < probes%len(target.Paths) {
					sent++
				}
				if sent > 0 {
					window.Pairs = append(window.Pairs, w.pair(from, target.Host, path, sent))
				}
			}
		}
		all = append(all, window)
	}
	return all
}

func (w *world) host(name string) Host {
	return w.hosts[slices.IndexFunc(w.hosts, func(h Host) bool { return h.Name == name })]
}

// pair is what becomes of the probes of one flow, whose spine follows from its ends and source port as ECMP has it.
func (w *world) pair(from Host, toName string, path, sent int) Pair {
	to := w.host(toName)
	p := Pair{To: to.Name, Path: path, Sent: sent, Network: 20 * time.Microsecond, Responder: 5 * time.Microsecond, Prober: 5 * time.Microsecond}
	pass := (1 - w.lossy[from.Name]) * (1 - w.lossy[to.Name])
	if w.dead[to.Name] {
		pass = 0
	}
	if from.Rack != to.Rack {
		spine := int(hash(from.Name, to.Name, fmt.Sprint(path)) % uint64(w.spines))
		pass *= (1 - w.rackLoss[from.Rack]) * (1 - w.rackLoss[to.Rack]) * (1 - w.spineLoss[spine])
		for _, rack := range []string{from.Rack, to.Rack} {
			pass *= 1 - w.linkLoss[[2]string{rack, fmt.Sprint(spine)}]
		}
	}
	for range sent {
		if w.rng.Float64() >= pass {
			p.Lost++
		}
	}
	if w.busy[from.Name] {
		p.Prober = 40 * time.Millisecond
	}
	if w.busy[to.Name] || w.stuttering[to.Name] && path%4 > 0 {
		p.Responder = 40 * time.Millisecond
		p.Lost = max(p.Lost, sent/5) // replies that come too late
	}
	return p
}

// TestDiagnose injects faults one by one: each is one alarm, with the right cause.
func TestDiagnose(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(*world)
		blame Blame // empty: nothing is wrong
		of    string
	}{
		{"nothing", func(*world) {}, "", ""},
		{"a stray loss", func(w *world) { w.lossy["r2h1"] = 0.001 }, "", ""},
		{"a dead host", func(w *world) { w.dead["r2h3"] = true }, BlameHost, "r2h3"},
		{"a mute agent", func(w *world) { w.mute["r2h3"] = true }, BlameNoData, "r2h3"},
		{"a busy host", func(w *world) { w.busy["r2h3"] = true }, BlameOverload, "r2h3"},
		{"a host that is slow to reply alone", func(w *world) { w.stuttering["r2h3"] = true }, BlameOverload, "r2h3"},
		{"a host that loses 20 %", func(w *world) { w.lossy["r2h3"] = 0.2 }, BlameHost, "r2h3"},
		{"a rack that is cut off", func(w *world) { w.rackLoss["r4"] = 1 }, BlameRack, "r4"},
		{"a switch of a rack that loses most", func(w *world) { w.rackLoss["r4"] = 0.8 }, BlameRack, "r4"},
		{"a link from a rack to a spine", func(w *world) { w.linkLoss[[2]string{"r4", "1"}] = 1 }, BlamePath, "r4"},
		{"a spine", func(w *world) { w.spineLoss[2] = 1 }, BlamePath, "fabric"},
		{"a spine that loses 30 %", func(w *world) { w.spineLoss[2] = 0.3 }, BlamePath, "fabric"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(8, 8)
			test.fault(w)
			j := NewJudge(Limits{})
			if first := j.Judge(noon, w.hosts, w.windows()); len(first) != 0 {
				t.Errorf("one window is an alarm: %+v", first)
			}
			j.Judge(noon.Add(30*time.Second), w.hosts, w.windows())
			active := j.Active()
			if test.blame == "" {
				if len(active) != 0 {
					t.Errorf("%+v", active)
				}
				return
			}
			if len(active) != 1 || active[0].Blame != test.blame || active[0].Of != test.of || active[0].Says == "" {
				t.Errorf("%+v", active)
			}
		})
	}
}

// TestHysteresis checks that an alarm stays through a good window, and ends after three.
func TestHysteresis(t *testing.T) {
	w := newWorld(2, 4)
	j := NewJudge(Limits{})
	at := noon
	judge := func(dead bool) []Alarm {
		w.dead["r0h1"] = dead
		at = at.Add(30 * time.Second)
		return j.Judge(at, w.hosts, w.windows())
	}
	for i, step := range []struct {
		dead           bool
		changed, alive int
	}{
		{true, 0, 0}, {false, 0, 0}, {true, 0, 0}, {true, 1, 1}, {false, 0, 1}, {true, 0, 1}, {false, 0, 1}, {false, 0, 1}, {false, 1, 0}, {false, 0, 0},
	} {
		if changed := judge(step.dead); len(changed) != step.changed || len(j.Active()) != step.alive {
			t.Errorf("window %d: %+v changed, %+v active", i, changed, j.Active())
		}
	}
}

// TestTwoFaults checks that two faults at a time are two alarms.
func TestTwoFaults(t *testing.T) {
	w := newWorld(8, 8)
	w.dead["r1h1"], w.rackLoss["r5"], w.busy["r3h2"] = true, 1, true
	j := NewJudge(Limits{})
	for range 2 {
		j.Judge(noon, w.hosts, w.windows())
	}
	blames := map[string]bool{}
	for _, a := range j.Active() {
		blames[string(a.Blame)+" "+a.Of] = true
	}
	if len(blames) != 3 || !blames["host r1h1"] || !blames["rack r5"] || !blames["overload r3h2"] {
		t.Errorf("%v", blames)
	}
}
