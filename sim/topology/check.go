package topology

import "fmt"

// Check returns nil for a graph that can be routed and simulated, and otherwise
// the first fault: a NodeError or LinkError that wraps one of the errors of this
// package. A host may have several links, to one switch or to several, and two
// hosts may be linked directly; but hosts do not forward, so every pair of hosts
// needs a path through switches alone.
func (g *Graph) Check() error {
	if err := g.checkSize(); err != nil {
		return err
	}
	for _, check := range []func() error{g.checkNodes, g.checkHosts, g.checkLinks, g.checkDegrees, g.checkReach} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) checkSize() error {
	switch {
	case len(g.Hosts) == 0:
		return fmt.Errorf("topology: %w", ErrNoHosts)
	case len(g.Hosts) > MaxHosts:
		return fmt.Errorf("topology: %w: %d hosts, at most %d", ErrTooLarge, len(g.Hosts), MaxHosts)
	case g.switches() > MaxSwitches:
		return fmt.Errorf("topology: %w: %d switches, at most %d", ErrTooLarge, g.switches(), MaxSwitches)
	case len(g.Links) > MaxLinks:
		return fmt.Errorf("topology: %w: %d links, at most %d", ErrTooLarge, len(g.Links), MaxLinks)
	case len(g.GroupOf) != len(g.Hosts):
		return fmt.Errorf("topology: %w: %d hosts, groups for %d", ErrHostList, len(g.Hosts), len(g.GroupOf))
	}
	return nil
}

func (g *Graph) checkNodes() error {
	taken := make(map[string]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		switch {
		case n.Name == "":
			return g.nodeError(i, ErrNoName)
		case taken[n.Name]:
			return g.nodeError(i, ErrDuplicateName)
		case n.Kind != Host && n.Kind != Switch:
			return g.nodeError(i, ErrKind)
		}
		taken[n.Name] = true
	}
	return nil
}

// checkHosts makes sure that Hosts lists each node of kind Host exactly once.
func (g *Graph) checkHosts() error {
	listed := make([]bool, len(g.Nodes))
	for i, node := range g.Hosts {
		if !g.isNode(node) {
			return fmt.Errorf("topology: %w: host %d is node %d of %d", ErrHostList, i, node, len(g.Nodes))
		}
		if listed[node] || g.Nodes[node].Kind != Host {
			return g.nodeError(node, ErrHostList)
		}
		listed[node] = true
	}
	for i, n := range g.Nodes {
		if n.Kind == Host && !listed[i] {
			return g.nodeError(i, ErrHostList)
		}
	}
	return nil
}

func (g *Graph) checkLinks() error {
	taken := make(map[string]bool, len(g.Links))
	for i, l := range g.Links {
		var err error
		switch {
		case !g.isNode(l.A) || !g.isNode(l.B):
			err = ErrNoNode
		case l.A == l.B:
			err = ErrSelfLoop
		case l.Rate <= 0:
			err = ErrRate
		case l.Delay < 0:
			err = ErrDelay
		case l.Name == "":
			err = ErrNoName
		case taken[l.Name]:
			err = ErrDuplicateName
		}
		if err != nil {
			return &LinkError{Link: i, Name: l.Name, Err: err}
		}
		taken[l.Name] = true
	}
	return nil
}

func (g *Graph) checkDegrees() error {
	for node, ports := range g.Ports() {
		switch {
		case len(ports) == 0:
			return g.nodeError(node, ErrUnconnected)
		case len(ports) > MaxPorts:
			return g.nodeError(node, ErrTooManyPorts)
		}
	}
	return nil
}

// checkReach looks for a host that another cannot reach, and for a switch that
// no host can reach. Reaching is not transitive where hosts have several links
// (two networks that share one host are still two networks), so each distinct
// attachment is looked at.
func (g *Graph) checkReach() error {
	ports := g.Ports()
	attached := findAttachments(g, ports)
	search := newSearch(g, ports)
	used := make([]bool, len(g.Nodes))
	for a, peers := range attached.peers {
		search.from(peers)
		for node, distance := range search.distance {
			used[node] = used[node] || distance > 0
		}
		for b, source := range attached.member {
			alone := a == b && attached.size[a] == 1
			if search.distance[source] == 0 && !alone {
				target := g.Nodes[attached.member[a]].Name
				return g.nodeError(source, fmt.Errorf("%w: no path to %q", ErrDisconnected, target))
			}
		}
	}
	for node, n := range g.Nodes {
		if n.Kind == Switch && !used[node] {
			return g.nodeError(node, ErrDisconnected)
		}
	}
	return nil
}

func (g *Graph) nodeError(node int, err error) error {
	return &NodeError{Node: node, Name: g.Nodes[node].Name, Err: err}
}
