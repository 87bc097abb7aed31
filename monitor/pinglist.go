package monitor

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"time"
)

// Host is a machine with an agent.
type Host struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
	Rack string `json:"rack"` // empty: of its own
	// Paths is how many source ports it has; 0: as many as Mesh says.
	Paths int `json:"paths,omitempty"`
}

// Target is a host that another one probes.
type Target struct {
	Host  string        `json:"host"`
	Addr  string        `json:"addr"`
	Every time.Duration `json:"every_ns"` // between two probes
	Paths []int         `json:"paths"`    // which they take in turn
	Sizes []int         `json:"sizes"`    // bytes, in turn
}

// Mesh is how hosts probe each other (R-Pingmesh §4; RoCE at scale, RDMA Pingmesh). The zero value has the defaults.
type Mesh struct {
	RackRate   float64 // probes a second of one host to all others of its rack; default 10
	FabricRate float64 // the same to hosts of other racks; default 1
	Others     int     // hosts of other racks that one probes; default 20, or one in each rack if that is more, up to 256
	Paths      int     // source ports of each pair between racks, default 35: they meet each of 16 equal paths with nine chances in ten
	Changed    float64 // part of the pairs and source ports between racks that changes each hour; default 0.2
	AllPaths   int     // source ports of a host that does not say how many it has; default 128
}

func (m Mesh) withDefaults() Mesh {
	m.RackRate, m.FabricRate = cmp.Or(m.RackRate, 10), cmp.Or(m.FabricRate, 1)
	m.Others, m.Paths = cmp.Or(m.Others, 20), cmp.Or(m.Paths, 35)
	m.Changed, m.AllPaths = cmp.Or(m.Changed, 0.2), cmp.Or(m.AllPaths, 128)
	return m
}

const (
	// maxTargets bounds whom one host probes, inside its rack and outside: a pinglist has some ten KB, whatever hosts say of themselves.
	maxTargets = 256
	// maxPaths bounds the source ports that are chosen from; a power of two.
	maxPaths = 1024
)

// sizes vary: small probes miss the loss of large packets.
var sizes = []int{64, 512, 1024, 4096}

// Pinglist is whom a host probes at a time. It depends on the hosts and the time alone, so that a monitor that was started
// again gives the same. Lists of different hosts are as even as chance makes them.
func (m Mesh) Pinglist(from Host, all []Host, at time.Time) []Target {
	return m.pinglist(from, newFloor(all), at)
}

// floor is hosts in their racks, made once for the pinglists of all of them.
type floor struct {
	hosts   []Host
	keys    []uint64 // of their names
	rackOf  []int    // which of racks; of its own: noRack
	racks   map[string]int
	members [][]int // of each rack
}

const noRack = -1

func newFloor(all []Host) *floor {
	f := &floor{hosts: all, keys: make([]uint64, len(all)), rackOf: make([]int, len(all)), racks: map[string]int{}}
	for i := range all {
		f.keys[i], f.rackOf[i] = hash(all[i].Name), noRack
		if all[i].Rack == "" {
			continue
		}
		rack, ok := f.racks[all[i].Rack]
		if !ok {
			rack = len(f.members)
			f.racks[all[i].Rack] = rack
			f.members = append(f.members, nil)
		}
		f.rackOf[i] = rack
		f.members[rack] = append(f.members[rack], i)
	}
	return f
}

// rack is that of a host; nobody is in noRack.
func (f *floor) rack(of Host) int {
	if rack, ok := f.racks[of.Rack]; ok && of.Rack != "" {
		return rack
	}
	return noRack
}

func (m Mesh) pinglist(from Host, f *floor, at time.Time) []Target {
	m = m.withDefaults()
	m.AllPaths = min(cmp.Or(from.Paths, m.AllPaths), maxPaths)
	key, rack := hash(from.Name), f.rack(from)
	var list []Target
	if rack != noRack {
		// Inside a rack there is one path; two source ports tell a broken host from a broken socket.
		others := m.chooseInside(key, from, f, f.members[rack], at)
		for _, i := range others {
			h := &f.hosts[i]
			list = append(list, Target{Host: h.Name, Addr: h.Addr, Every: interval(len(others), m.RackRate), Paths: []int{0, 1}[:min(2, m.AllPaths)], Sizes: sizes})
		}
	}
	others := m.chooseOutside(key, rack, from, f, at)
	every := interval(len(others), m.FabricRate)
	// More ports than probes in an hour would never have their turn.
	m.Paths = min(m.Paths, m.AllPaths, max(1, int(time.Hour/max(1, every))))
	for _, i := range others {
		h := &f.hosts[i]
		list = append(list, Target{Host: h.Name, Addr: h.Addr, Every: every, Paths: m.paths(mix(key, f.keys[i]), at), Sizes: sizes})
	}
	return list
}

// interval is that of each of n targets which share a rate.
func interval(n int, rate float64) time.Duration {
	return time.Duration(float64(n) / rate * float64(time.Second))
}

// ranked is a host in the order in which it is chosen. A rank changes when its turn comes, which it does for a part of all pairs in each hour.
type ranked struct {
	rank uint64
	host int
}

func (m Mesh) ranked(key uint64, f *floor, host int, at time.Time) ranked {
	pair := mix(key, f.keys[host])
	return ranked{mix(pair, m.epoch(at, pair)), host}
}

func byRank(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), a.host-b.host) }

// chooseInside takes the others of a rack; of a very large one, some.
func (m Mesh) chooseInside(key uint64, from Host, f *floor, members []int, at time.Time) []int {
	others := slices.DeleteFunc(slices.Clone(members), func(i int) bool { return f.hosts[i].Name == from.Name })
	if len(others) <= maxTargets {
		return others
	}
	all := make([]ranked, len(others))
	for n, i := range others {
		all[n] = m.ranked(key, f, i, at)
	}
	slices.SortFunc(all, byRank)
	return hostsOf(all[:maxTargets])
}

// chooseOutside takes hosts of other racks: one of each rack, and then more, by rank. Where there are more racks than one host
// can probe, the hosts of its rack take different ones.
func (m Mesh) chooseOutside(key uint64, rack int, from Host, f *floor, at time.Time) []int {
	best := make([]ranked, len(f.members))
	found := make([]bool, len(f.members))
	var rest []ranked
	for i := range f.hosts {
		of := f.rackOf[i]
		if of != noRack && of == rack || f.hosts[i].Name == from.Name {
			continue
		}
		r := m.ranked(key, f, i, at)
		switch {
		case of == noRack:
			rest = append(rest, r)
		case !found[of]:
			best[of], found[of] = r, true
		case byRank(r, best[of]) < 0:
			best[of], r = r, best[of]
			rest = append(rest, r)
		default:
			rest = append(rest, r)
		}
	}
	first := slices.Collect(func(yield func(ranked) bool) {
		for of, r := range best {
			if found[of] && !yield(r) {
				return
			}
		}
	})
	slices.SortFunc(first, byRank)
	if more := m.Others - len(first); more > 0 && len(rest) > 0 {
		slices.SortFunc(rest, byRank)
		first = append(first, rest[:min(len(rest), more)]...)
	}
	return hostsOf(first[:min(len(first), maxTargets)])
}

func hostsOf(all []ranked) []int {
	hosts := make([]int, len(all))
	for i, r := range all {
		hosts[i] = r.host
	}
	return hosts
}

// paths are the source ports of a pair, by rank.
func (m Mesh) paths(pair uint64, at time.Time) []int {
	ranks := make([]uint64, m.AllPaths)
	for i := range ranks {
		path := mix(pair, uint64(i))
		ranks[i] = mix(path, m.epoch(at, path))&^(maxPaths-1) | uint64(i) // the port is found again in the low bits
	}
	chosen := make([]int, min(m.Paths, m.AllPaths))
	ranks = lowest(ranks, len(chosen))
	for i := range chosen {
		chosen[i] = int(ranks[i] & (maxPaths - 1))
	}
	slices.Sort(chosen)
	return chosen
}

// lowest sorts numbers that are as good as random, at least as many as are wanted. Most of the others are left out without sorting
// them: a monitor does this a million times when the hour changes.
func lowest(all []uint64, wanted int) []uint64 {
	expected := float64(wanted) + 3*math.Sqrt(float64(wanted)) + 3
	if part := expected / float64(len(all)); part < 1 {
		limit := uint64(part * (1 << 63) * 2)
		few := make([]uint64, 0, 2*int(expected))
		for _, x := range all {
			if x <= limit {
				few = append(few, x)
			}
		}
		if len(few) >= wanted {
			all = few
		}
	}
	slices.Sort(all)
	return all
}

// epoch is how often the rank of something has changed: once in 1/Changed hours, and not all in the same hour.
func (m Mesh) epoch(at time.Time, of uint64) uint64 {
	period := max(1, uint64(1/m.Changed))
	return (uint64(at.Unix()/3600) + of%period) / period
}

// hash is a number that follows from names.
func hash(names ...string) uint64 {
	h := fnv.New64a()
	for _, n := range names {
		_, _ = h.Write([]byte(n + "\x00")) // it cannot fail
	}
	return mix(h.Sum64(), 0)
}

// mix makes one number of two that differs in all bits where either differs in one (the finaliser of MurmurHash3).
func mix(a, b uint64) uint64 {
	x := a ^ b*0x9e3779b97f4a7c15
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
