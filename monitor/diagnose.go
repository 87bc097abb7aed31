package monitor

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Blame is what is at fault.
type Blame string

// What can be at fault. Each alarm has one cause.
const (
	BlameHost     Blame = "host"     // it does not respond, to anybody
	BlameRack     Blame = "rack"     // its switch, or the links above it: the rack is well inside
	BlamePath     Blame = "path"     // some source ports lose between many racks: a spine, or a link to it
	BlameOverload Blame = "overload" // a host is too busy to respond in time; the network is well
	BlameNoData   Blame = "no-data"  // a host responds, and its agent does not report
)

// blames are all of them.
var blames = []Blame{BlameHost, BlameRack, BlamePath, BlameOverload, BlameNoData}

// Alarm is something that is wrong.
type Alarm struct {
	Blame Blame     `json:"blame"`
	Of    string    `json:"of"` // the host, the rack, or the two racks of a path
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended,omitzero"`
	Says  string    `json:"says"`
	Worst float64   `json:"worst"`           // loss, a fraction, or the time of a busy host in seconds
	Paths []int     `json:"paths,omitempty"` // of BlamePath
}

// Window is what the agent of a host saw in some time.
type Window struct {
	Host  string    `json:"host"`
	At    time.Time `json:"at"` // its end
	Pairs []Pair    `json:"pairs"`
	// Programs are those of the host that use braid, the busiest first.
	Programs []ProgramWindow `json:"programs,omitempty"`
	Slow     []SlowEvent     `json:"slow,omitempty"`
	// Switches are the ports of switches whose counters the agent can read, those that dropped most first.
	Switches []SwitchPort `json:"switches,omitempty"`
}

// Pair is what became of the probes to one host on one path.
type Pair struct {
	To        string        `json:"to"`
	Path      int           `json:"path"`
	Sent      int           `json:"sent"`
	Lost      int           `json:"lost"`
	Network   time.Duration `json:"network_ns"`   // 99th percentile of the time in the network
	Responder time.Duration `json:"responder_ns"` // of that in the peer's program
	Prober    time.Duration `json:"prober_ns"`    // of that in this one
}

// Limits are from where on something is wrong, after R-Pingmesh; the zero value has the defaults.
type Limits struct {
	Loss     float64       // default 0.02
	Overload time.Duration // of prober or responder, default 10 ms
	// Raise and Clear are in how many windows in a row something must be wrong, or well, default 2 and 3: one bad window is no alarm, and an alarm does not come and go.
	Raise, Clear int
}

func (l Limits) withDefaults() Limits {
	l.Loss, l.Overload = cmp.Or(l.Loss, 0.02), cmp.Or(l.Overload, 10*time.Millisecond)
	l.Raise, l.Clear = cmp.Or(l.Raise, 2), cmp.Or(l.Clear, 3)
	return l
}

// Judge turns windows into alarms.
type Judge struct {
	limits Limits
	states map[string]*state // by blame and of what
}

// state is an alarm that is, or may become one.
type state struct {
	alarm     Alarm
	bad, good int // windows in a row
	raised    bool
}

// NewJudge makes a judge.
func NewJudge(l Limits) *Judge { return &Judge{limits: l.withDefaults(), states: map[string]*state{}} }

// Judge looks at the windows of all hosts of one time, and returns the alarms that have begun or ended.
func (j *Judge) Judge(at time.Time, hosts []Host, windows []Window) []Alarm {
	return j.decide(at, j.find(hosts, windows))
}

// find looks for what is wrong in one window. It changes nothing of the judge.
func (j *Judge) find(hosts []Host, windows []Window) []Alarm {
	return newEvidence(j.limits, hosts, windows).alarms()
}

// decide takes what was found in one window, and returns the alarms that have begun or ended.
func (j *Judge) decide(at time.Time, wrong []Alarm) []Alarm {
	found := map[string]Alarm{}
	for _, a := range wrong {
		found[string(a.Blame)+" "+a.Of] = a
	}
	var changed []Alarm
	for key, a := range found {
		s := j.states[key]
		if s == nil {
			s = &state{alarm: a}
			s.alarm.Since = at
			j.states[key] = s
		}
		s.good, s.bad = 0, s.bad+1
		s.alarm.Says, s.alarm.Worst, s.alarm.Paths = a.Says, max(s.alarm.Worst, a.Worst), a.Paths
		if s.bad >= j.limits.Raise && !s.raised {
			s.raised = true
			changed = append(changed, s.alarm)
		}
	}
	for key, s := range j.states {
		if _, bad := found[key]; bad {
			continue
		}
		s.bad, s.good = 0, s.good+1
		switch {
		case !s.raised:
			delete(j.states, key)
		case s.good >= j.limits.Clear:
			s.alarm.Ended = at
			changed = append(changed, s.alarm)
			delete(j.states, key)
		}
	}
	slices.SortFunc(changed, func(a, b Alarm) int { return cmp.Or(cmp.Compare(a.Blame, b.Blame), cmp.Compare(a.Of, b.Of)) })
	return changed
}

// Active are the alarms that have not ended.
func (j *Judge) Active() (all []Alarm) {
	for _, s := range j.states {
		if s.raised {
			all = append(all, s.alarm)
		}
	}
	slices.SortFunc(all, func(a, b Alarm) int { return a.Since.Compare(b.Since) })
	return all
}

// tally counts probes.
type tally struct{ sent, lost int }

func (t *tally) add(p *Pair) { t.sent, t.lost = t.sent+p.Sent, t.lost+p.Lost }

func (t *tally) loss() float64 { return float64(t.lost) / float64(max(1, t.sent)) }

// flow is the probes of one host to another on one source port: they take one way through the network, as long as nothing
// is rerouted.
type flow struct {
	from, to string
	Pair
}

// evidence is one window of all hosts. Causes are looked for from the nearest to the farthest, and what one explains
// is left out where the next is looked for: a host that is dead, or too busy, looks like a bad network to all who probe it.
type evidence struct {
	limits   Limits
	hosts    []Host
	rackOf   map[string]string
	reported map[string]bool
	flows    []flow // that nothing explains yet
	port     string // what is said of the port of a switch that dropped most; empty: none did
}

func newEvidence(l Limits, hosts []Host, windows []Window) *evidence {
	e := &evidence{limits: l, hosts: hosts, rackOf: map[string]string{}, reported: map[string]bool{}, port: worstPort(windows, l.Loss)}
	for _, h := range hosts {
		e.rackOf[h.Name] = cmp.Or(h.Rack, "the rack of "+h.Name)
	}
	for _, w := range windows {
		e.reported[w.Host] = true
		for _, p := range w.Pairs {
			if e.rackOf[w.Host] != "" && e.rackOf[p.To] != "" && p.Sent > 0 {
				e.flows = append(e.flows, flow{w.Host, p.To, p})
			}
		}
	}
	return e
}

func (e *evidence) alarms() (all []Alarm) {
	for _, cause := range []func() []Alarm{e.silentHosts, e.busyHosts, e.lossyHosts, e.racks, e.ways} {
		all = append(all, cause()...)
	}
	return all
}

// explain leaves out the flows that a cause has explained.
func (e *evidence) explain(explained func(*flow) bool) {
	e.flows = slices.DeleteFunc(e.flows, func(f flow) bool { return explained(&f) })
}

// touching leaves out what begins or ends at some hosts.
func (e *evidence) touching(hosts map[string]bool) {
	e.explain(func(f *flow) bool { return hosts[f.from] || hosts[f.to] })
}

// few is how many probes are too few to call a host dead.
const few = 3

// silentHosts are those that nobody has a reply from, and those that reply and whose agent says nothing.
func (e *evidence) silentHosts() (all []Alarm) {
	to := map[string]*tally{}
	for i := range e.flows {
		f := &e.flows[i]
		entry(to, f.to).add(&f.Pair)
	}
	dead := map[string]bool{}
	for _, h := range e.hosts {
		t := to[h.Name]
		switch {
		case t != nil && t.sent >= few && t.lost == t.sent:
			dead[h.Name] = true
			all = append(all, Alarm{Blame: BlameHost, Of: h.Name, Worst: 1, Says: fmt.Sprintf("%s responds to nobody: none of %d probes had a reply.", h.Name, t.sent)})
		case !e.reported[h.Name] && t != nil && t.lost < t.sent:
			all = append(all, Alarm{Blame: BlameNoData, Of: h.Name, Says: fmt.Sprintf("%s responds to probes, but its agent does not report.", h.Name)})
		case !e.reported[h.Name]:
			all = append(all, Alarm{Blame: BlameNoData, Of: h.Name, Says: fmt.Sprintf("Nothing is known of %s: its agent does not report, and nobody has probed it.", h.Name)})
		}
	}
	e.touching(dead)
	return all
}

// busyHosts are those whose programs, not the network, take long with most of their peers: where they reply, or where they probe. A program that
// gets the processor now and then is slow to reply, but probes only while it has it.
func (e *evidence) busyHosts() (all []Alarm) {
	type part struct {
		host    string
		replies bool
	}
	slow, flows, worst := map[part]int{}, map[part]int{}, map[string]time.Duration{}
	note := func(p part, took time.Duration) {
		flows[p]++
		if took > e.limits.Overload {
			slow[p]++
		}
		worst[p.host] = max(worst[p.host], took)
	}
	for i := range e.flows {
		if f := &e.flows[i]; f.Lost < f.Sent {
			note(part{f.from, false}, f.Prober)
			note(part{f.to, true}, f.Responder)
		}
	}
	isSlow := func(p part) bool { return slow[p] > 0 && 2*slow[p] >= flows[p] }
	busy := map[string]bool{}
	for _, h := range e.hosts {
		if !isSlow(part{h.Name, false}) && !isSlow(part{h.Name, true}) {
			continue
		}
		busy[h.Name] = true
		all = append(all, Alarm{
			Blame: BlameOverload, Of: h.Name, Worst: worst[h.Name].Seconds(),
			Says: fmt.Sprintf("%s is overloaded, not the network: its program takes up to %v for a probe.", h.Name, worst[h.Name].Round(time.Millisecond)),
		})
	}
	e.touching(busy)
	return all
}

// lossyHosts are those with which others of the same rack lose probes, and more than the rest of the rack among itself. In a rack of
// two neither can be told from the other, and both are named in one alarm.
func (e *evidence) lossyHosts() (all []Alarm) {
	pairs := map[[2]string]*tally{}
	with := map[string]*tally{}
	members := map[string]map[string]bool{}
	for i := range e.flows {
		f := &e.flows[i]
		rack := e.rackOf[f.from]
		if rack != e.rackOf[f.to] {
			continue
		}
		entry(with, f.from).add(&f.Pair)
		entry(with, f.to).add(&f.Pair)
		entry(pairs, [2]string{min(f.from, f.to), max(f.from, f.to)}).add(&f.Pair)
		if members[rack] == nil {
			members[rack] = map[string]bool{}
		}
		members[rack][f.from], members[rack][f.to] = true, true
	}
	lossy := map[string]bool{}
	for pair, t := range pairs {
		if t.loss() <= e.limits.Loss {
			continue
		}
		// Of two the one that loses more with all others is to blame.
		a, b := pair[0], pair[1]
		switch la, lb := with[a].loss(), with[b].loss(); {
		case len(members[e.rackOf[a]]) == 2:
			lossy[a], lossy[b] = true, true
			all = append(all, Alarm{Blame: BlameHost, Of: a + " or " + b, Worst: t.loss(), Says: fmt.Sprintf("%s and %s lose %.1f %% between them; with two hosts in a rack either may be at fault.", a, b, 100*t.loss())})
		case la >= lb:
			lossy[a] = true
		default:
			lossy[b] = true
		}
	}
	for _, h := range e.hosts {
		if lossy[h.Name] && len(members[e.rackOf[h.Name]]) > 2 {
			t := with[h.Name]
			all = append(all, Alarm{Blame: BlameHost, Of: h.Name, Worst: t.loss(), Says: fmt.Sprintf("%s loses %.1f %% of the probes inside its rack: its link, its NIC or the host itself.", h.Name, 100*t.loss())})
		}
	}
	e.touching(lossy)
	return all
}

// racks are those that lose probes with most other racks, while inside they are well.
func (e *evidence) racks() (all []Alarm) {
	between := map[[2]string]*tally{}
	for i := range e.flows {
		f := &e.flows[i]
		if a, b := e.rackOf[f.from], e.rackOf[f.to]; a != b {
			entry(between, [2]string{min(a, b), max(a, b)}).add(&f.Pair)
		}
	}
	// One at a time, the worst first: its losses are half of what the others have.
	for range e.hosts {
		worst, t, partners := worstRack(between, e.limits.Loss)
		if worst == "" {
			return all
		}
		all = append(all, Alarm{Blame: BlameRack, Of: worst, Worst: t.loss(), Says: fmt.Sprintf("%s loses %.1f %% of the probes to %d other racks, and none inside: its switch, or all links above it.", worst, 100*t.loss(), partners)})
		for pair := range between {
			if pair[0] == worst || pair[1] == worst {
				delete(between, pair)
			}
		}
		e.explain(func(f *flow) bool {
			a, b := e.rackOf[f.from], e.rackOf[f.to]
			return a != b && (a == worst || b == worst)
		})
	}
	return all
}

// mostPartners is the part of other racks that a rack loses probes with if its switch is at fault.
const mostPartners = 0.75

// worstRack finds the rack that loses with three quarters of its partners, and more than any other.
func worstRack(between map[[2]string]*tally, limit float64) (worst string, of *tally, partners int) {
	racks, lossy, met := map[string]*tally{}, map[string]int{}, map[string]int{}
	for pair, t := range between {
		for _, rack := range pair {
			sum := entry(racks, rack)
			sum.sent, sum.lost = sum.sent+t.sent, sum.lost+t.lost
			met[rack]++
			if t.loss() > limit {
				lossy[rack]++
			}
		}
	}
	for rack, t := range racks {
		if lossy[rack] < 2 || float64(lossy[rack]) < mostPartners*float64(met[rack]) || t.loss() < aRack {
			continue
		}
		if of == nil || t.loss() > of.loss() || t.loss() == of.loss() && rack < worst {
			worst, of, partners = rack, t, lossy[rack]
		}
	}
	return worst, of, partners
}

// aRack is the loss from which on a switch is at fault, and not one of its uplinks: of two uplinks one is half.
const aRack = 0.6

// ways are losses of some flows between racks and not of others: a spine, or a link to one.
func (e *evidence) ways() []Alarm {
	touched := map[string]int{}
	pairs := map[[2]string]bool{}
	bad, all := tally{}, tally{}
	var paths []int
	lossy := 0
	for i := range e.flows {
		f := &e.flows[i]
		a, b := e.rackOf[f.from], e.rackOf[f.to]
		if a == b {
			continue
		}
		all.add(&f.Pair)
		if f.Lost == 0 {
			continue
		}
		bad.add(&f.Pair)
		lossy++
		if pair := [2]string{min(a, b), max(a, b)}; !pairs[pair] {
			pairs[pair] = true
			touched[a]++
			touched[b]++
		}
		paths = append(paths, f.Path)
	}
	if all.loss() <= e.limits.Loss/4 || lossy < 2 {
		return nil
	}
	slices.Sort(paths)
	of, where := "fabric", "between two racks"
	if len(pairs) > 1 {
		where = fmt.Sprintf("between %d pairs of racks", len(pairs))
	}
	for rack, n := range touched {
		if n == len(pairs) && len(pairs) > 1 {
			of, where = rack, fmt.Sprintf("between %s and %d other racks", rack, n)
		}
	}
	return []Alarm{{
		Blame: BlamePath, Of: of, Worst: bad.loss(), Paths: slices.Compact(paths),
		Says: fmt.Sprintf("%d flows lose %.0f %% of their probes %s, and others nothing: a link or a switch that some paths take.%s", lossy, 100*bad.loss(), where, e.port),
	}}
}

// entry is a tally that is made when it is first asked for.
func entry[K comparable](m map[K]*tally, key K) *tally {
	t := m[key]
	if t == nil {
		t = &tally{}
		m[key] = t
	}
	return t
}
