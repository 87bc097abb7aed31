package sim

import "github.com/braid-rdma/braid/transport"

// FlowState is how a flow moves just now: the state of its first queue pair.
type FlowState struct {
	transport.Flow                          // window, packets in flight, round trip; zero for RC
	Paths          []transport.PathCounters // by virtual path; none for RC
}

// State returns how flow i moves just now.
func (t *Traffic) State(i int) FlowState {
	f := t.flows[i]
	qp, _ := f.ends(&f.lanes[0])
	return FlowState{Flow: qp.Query().Flow, Paths: qp.PathStats()}
}
