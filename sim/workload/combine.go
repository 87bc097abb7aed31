package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Mix puts several workloads together, such as a measured flow and its
// background. Each part draws from a random source of its own, so that a change
// in one does not alter the others.
type Mix []Generator

// Flows makes the flows of all parts and merges them by start.
func (m Mix) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	if len(m) == 0 {
		return nil, &ConfigError{Workload: "mix", Field: "parts", Got: "0", Want: "at least one workload"}
	}
	var b builder
	for i, part := range m {
		if part == nil {
			return nil, &ConfigError{Workload: "mix", Field: "part " + strconv.Itoa(i+1), Got: "missing", Want: "a workload"}
		}
		own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		flows, err := part.Flows(hosts, own)
		if err != nil {
			return nil, fmt.Errorf("mix, part %d: %w", i+1, err)
		}
		c := configCheck{workload: "mix"}
		c.flowCount(int64(len(b.flows)) + int64(len(flows)))
		if c.err != nil {
			return nil, c.err
		}
		base := len(b.flows)
		for _, f := range flows {
			for j := range f.After {
				f.After[j] += base
			}
			b.add(f)
		}
	}
	return b.finish(), nil
}

// Among runs a workload on some of the hosts only: it sees len(Hosts) hosts,
// and what it calls host i is Hosts[i].
type Among struct {
	Hosts     []int
	Generator Generator
}

// Flows makes the flows and gives them their true hosts.
func (a Among) Flows(hosts int, r *rand.Rand) ([]Flow, error) {
	c := configCheck{workload: "among"}
	c.hosts(hosts)
	if a.Generator == nil {
		c.fail("Generator", "missing", "a workload")
	}
	if c.err == nil {
		a.checkHosts(&c, hosts)
	}
	if c.err != nil {
		return nil, c.err
	}
	flows, err := a.Generator.Flows(len(a.Hosts), r)
	if err != nil {
		return nil, err
	}
	for i := range flows {
		flows[i].Src = a.Hosts[flows[i].Src]
		flows[i].Dst = a.Hosts[flows[i].Dst]
	}
	return flows, nil
}

// checkHosts demands that every host exists and is named only once.
func (a Among) checkHosts(c *configCheck, hosts int) {
	named := make([]bool, hosts)
	for i, host := range a.Hosts {
		place := "Hosts[" + strconv.Itoa(i) + "]"
		if host < 0 || host >= hosts {
			c.within(place, int64(host), 0, int64(hosts)-1)
			return
		}
		if named[host] {
			c.fail(place, host, "each host only once")
			return
		}
		named[host] = true
	}
}
