package traffic

import (
	"net/netip"

	"github.com/braid-rdma/braid/verbs"
)

// greeting is how an end is reached: the parameters of its queue pair, or the
// address that it listens at.
type greeting struct {
	Params  *verbs.ConnParams `json:"params,omitempty"`
	Address string            `json:"address,omitempty"`
	Further []netip.Addr      `json:"further,omitempty"` // addresses, on the same port
}

// report is a line that an agent writes: one of its fields.
type report struct {
	Hello    *greeting `json:"hello,omitempty"` // first
	Ready    bool      `json:"ready,omitempty"` // connected
	Arrivals *arrivals `json:"arrivals,omitempty"`
	Final    *final    `json:"final,omitempty"` // last
	Error    string    `json:"error,omitempty"` // instead of all that would follow
}

// command is a line that an agent reads.
type command struct {
	Connect *greeting `json:"connect,omitempty"` // the peer's
	Start   bool      `json:"start,omitempty"`   // to the sender: begin
	Stop    bool      `json:"stop,omitempty"`
}

// final is what an end has to say when all is over.
type final struct {
	Messages uint64            `json:"messages"`        // that completed, or arrived
	Wrong    uint64            `json:"wrong"`           // that arrived with wrong bytes, or out of order
	CPU      int64             `json:"cpu"`             // processor time since the start, in ns
	Times    []int64           `json:"times,omitempty"` // of messages that went alone, in ns
	Failure  string            `json:"failure,omitempty"`
	Counters map[string]uint64 `json:"counters,omitempty"`
}
