package operate

import (
	"cmp"
	"net/netip"
	"slices"
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
	Pairs      map[string]int    `json:"pairs"`              // how many queue pairs there are, by state
	Sum        map[string]uint64 `json:"sum"`                // of the counters of all queue pairs that there are
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

// state describes the device and its queue pairs, or the busiest of them, or only some by number.
func (s *Source) state(most int, only []uint32) *Device {
	attr := s.Device.Query()
	d := &Device{
		Schema: schema, Program: s.identity, At: time.Now(), Addrs: attr.Addrs, PDs: attr.PDs, CQs: attr.CQs, SRQs: attr.SRQs,
		MRs: attr.MRs, Registered: attr.RegisteredBytes, Counters: s.Device.Counters(), Pairs: map[string]int{}, Sum: map[string]uint64{},
		QueuePairs: []QueuePairState{},
	}
	all := s.Device.QPs()
	moved := make(map[*verbs.QP]uint64, len(all))
	for _, q := range all {
		stats := q.Stats()
		moved[q] = stats.BytesSent + stats.BytesReceived
		d.Pairs[q.State().String()]++
		for name, n := range stats.Map() {
			d.Sum[name] += n
		}
	}
	if len(only) > 0 {
		all = slices.DeleteFunc(all, func(q *verbs.QP) bool { return !slices.Contains(only, uint32(q.Number())) })
	}
	if most > 0 && len(all) > most {
		slices.SortStableFunc(all, func(a, b *verbs.QP) int { return cmp.Compare(moved[b], moved[a]) })
		all = all[:most]
	}
	for _, q := range all {
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
