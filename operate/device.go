package operate

import (
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// Device is the device of a program at one moment. Counters are sums since each was made.
type Device struct {
	Schema     int               `json:"schema"`
	Program    Identity          `json:"program"`
	At         time.Time         `json:"at"`
	Addrs      []netip.Addr      `json:"addrs"`
	PDs        int               `json:"pds"`
	CQs        int               `json:"cqs"`
	SRQs       int               `json:"srqs"`
	MRs        int               `json:"mrs"`
	Registered uint64            `json:"registered_bytes"`
	Counters   map[string]uint64 `json:"counters,omitempty"` // of the engine
	QueuePairs []QueuePairState  `json:"queue_pairs"`
}

// QueuePairState is a queue pair at one moment.
type QueuePairState struct {
	Number     uint32            `json:"number"`
	Type       string            `json:"type"`
	State      string            `json:"state"`
	Peer       netip.Addr        `json:"peer,omitzero"`
	MTU        int               `json:"mtu,omitempty"`
	Blocked    string            `json:"blocked"` // why nothing is sent; docs/trace.md has the words
	Counters   map[string]uint64 `json:"counters"`
	Window     float64           `json:"window,omitempty"`
	PeerWindow int               `json:"peer_window,omitempty"`
	InFlight   int               `json:"in_flight,omitempty"`
	RTT        time.Duration     `json:"rtt_ns,omitempty"`
	Paths      []Path            `json:"paths,omitempty"`
}

// state describes the device and all its queue pairs.
func (s *Source) state() *Device {
	attr := s.Device.Query()
	d := &Device{
		Schema: schema, Program: s.identity, At: time.Now(), Addrs: attr.Addrs, PDs: attr.PDs, CQs: attr.CQs, SRQs: attr.SRQs,
		MRs: attr.MRs, Registered: attr.RegisteredBytes, Counters: s.deviceCounters(), QueuePairs: []QueuePairState{},
	}
	for _, q := range s.Device.QPs() {
		d.QueuePairs = append(d.QueuePairs, stateOf(q))
	}
	return d
}

func stateOf(q *verbs.QP) QueuePairState {
	info, stats := q.Query(), q.Stats()
	s := QueuePairState{
		Number: uint32(info.Number), Type: info.Type.String(), State: info.State.String(), Peer: info.Attr.Remote, MTU: info.Attr.MTU,
		Blocked: stats.Blocked.String(), Counters: stats.Map(), Window: info.Flow.Window, PeerWindow: info.Flow.PeerWindow,
		InFlight: info.Flow.InFlight, RTT: time.Duration(info.Flow.SmoothedRTT),
	}
	for i, p := range q.PathStats() {
		s.Paths = append(s.Paths, pathSince(i, &p, &verbs.PathStats{}))
	}
	return s
}

// pathSince is what a path carried since an earlier look.
func pathSince(index int, now, then *verbs.PathStats) Path {
	return Path{
		Index: index, Sent: now.Sent - then.Sent, Acknowledged: now.Acknowledged - then.Acknowledged, Lost: since(now.Lost, then.Lost),
		Marked: now.Marked - then.Marked, Bytes: now.Bytes - then.Bytes, RTT: time.Duration(now.SmoothedRTT), Retired: now.Retired,
	}
}
