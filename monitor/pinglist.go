package monitor

import (
	"cmp"
	"hash/fnv"
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
	Others     int     // hosts of other racks that one probes; default 20, or one in each rack if that is more
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

// sizes vary: small probes miss the loss of large packets.
var sizes = []int{64, 512, 1024, 4096}

// Pinglist is whom a host probes at a time. It depends on the hosts and the time alone, so that a monitor that was started
// again gives the same. Lists of different hosts are as even as chance makes them.
func (m Mesh) Pinglist(from Host, all []Host, at time.Time) []Target {
	m = m.withDefaults()
	m.AllPaths = cmp.Or(from.Paths, m.AllPaths)
	var rack, fabric []Host
	for _, h := range all {
		switch {
		case h.Name == from.Name:
		case h.Rack == from.Rack && from.Rack != "":
			rack = append(rack, h)
		default:
			fabric = append(fabric, h)
		}
	}
	fabric = m.choose(from, fabric, at)
	var list []Target
	for _, h := range rack {
		// Inside a rack there is one path; two source ports tell a broken host from a broken socket.
		list = append(list, Target{Host: h.Name, Addr: h.Addr, Every: interval(len(rack), m.RackRate), Paths: []int{0, 1}[:min(2, m.AllPaths)], Sizes: sizes})
	}
	for _, h := range fabric {
		list = append(list, Target{Host: h.Name, Addr: h.Addr, Every: interval(len(fabric), m.FabricRate), Paths: m.paths(from, h, at), Sizes: sizes})
	}
	return list
}

// interval is that of each of n targets which share a rate.
func interval(n int, rate float64) time.Duration {
	return time.Duration(float64(n) / rate * float64(time.Second))
}

// choose takes hosts of other racks: one of each rack, and then more, by rank. A rank changes when its turn
// comes, which it does for a part of all pairs in each hour.
func (m Mesh) choose(from Host, others []Host, at time.Time) []Host {
	type ranked struct {
		Host
		rank uint64
	}
	all := make([]ranked, len(others))
	for i, h := range others {
		pair := hash(from.Name, h.Name)
		all[i] = ranked{h, mix(pair, m.epoch(at, pair))}
	}
	slices.SortFunc(all, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Name, b.Name)) })
	var first, rest []Host
	seen := map[string]bool{}
	for _, r := range all {
		if r.Rack != "" && !seen[r.Rack] {
			seen[r.Rack] = true
			first = append(first, r.Host)
			continue
		}
		rest = append(rest, r.Host)
	}
	most := max(m.Others, len(first))
	return append(first, rest[:min(len(rest), most-len(first))]...)
}

// paths are the source ports of a pair, by rank.
func (m Mesh) paths(from, to Host, at time.Time) []int {
	all := make([]int, m.AllPaths)
	ranks := make([]uint64, m.AllPaths)
	pair := hash(from.Name, to.Name)
	for i := range all {
		all[i] = i
		path := mix(pair, uint64(i))
		ranks[i] = mix(path, m.epoch(at, path))
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	chosen := all[:min(m.Paths, m.AllPaths)]
	slices.Sort(chosen)
	return chosen
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
