package topology

// A Step is one forwarding decision of a path: the packet leaves Node by Port.
type Step struct {
	Node int
	Port uint16
	Link int
}

// Path follows a packet from one host to another, both given by host number.
// Where several ports are equal, choose returns the hash that the node computes
// for the packet, and Pick turns it into a port. The answer is nil where no path
// exists, and from a host to itself.
func (r *Routes) Path(from, to int, choose func(node int) uint32) []Step {
	if from == to {
		return nil
	}
	var steps []Step
	// Each step leads one link closer, so the loop ends.
	for node := r.hosts[from]; node != r.hosts[to]; {
		ports := r.Ports(node, to)
		if len(ports) == 0 {
			return nil
		}
		port := ports[0]
		if len(ports) > 1 {
			port = ports[Pick(choose(node), len(ports))]
		}
		p := r.ports[node][port]
		steps = append(steps, Step{Node: node, Port: port, Link: p.Link})
		node = p.Peer
	}
	return steps
}

// CountPaths returns how many different shortest paths lead from one host to
// another, both given by host number; parallel links count apart.
func (r *Routes) CountPaths(from, to int) int {
	if from == to {
		return 0
	}
	// Shortest paths proceed level by level: every node of a level is equally
	// far from the target, so its count is complete when its turn comes.
	count := make([]int, len(r.ports))
	target := r.hosts[to]
	count[r.hosts[from]] = 1
	for level := []int{r.hosts[from]}; len(level) > 0 && level[0] != target; {
		var next []int
		for _, node := range level {
			for _, port := range r.Ports(node, to) {
				peer := r.ports[node][port].Peer
				if count[peer] == 0 {
					next = append(next, peer)
				}
				count[peer] += count[node]
			}
		}
		level = next
	}
	return count[target]
}
