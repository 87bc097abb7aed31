package verbs

import (
	"iter"

	"github.com/braid-rdma/braid/transport"
)

// Stats are the counters of a queue pair at one moment.
type Stats struct {
	transport.Counters
	// Blocked says why nothing is sent at that moment; as text, in the words of
	// docs/trace.md. What an engine has taken and could not send yet is not known here.
	Blocked Reason
}

// counterNames gives each counter the name that operators know it by: those of
// mlx5 where there is one, so that dashboards need not learn new ones. In a
// multi-path connection arrival out of order is normal, so it is counted apart
// (mp_ooo_accepted) from what was refused (out_of_sequence).
var counterNames = [...]struct {
	name  string
	value func(*transport.Counters) uint64
}{
	{"tx_packets", func(c *transport.Counters) uint64 { return c.PacketsSent }},
	{"rx_packets", func(c *transport.Counters) uint64 { return c.PacketsReceived }},
	{"tx_bytes", func(c *transport.Counters) uint64 { return c.BytesSent }},
	{"rx_bytes", func(c *transport.Counters) uint64 { return c.BytesReceived }},
	{"tx_acks", func(c *transport.Counters) uint64 { return c.AcksSent }},
	{"rx_acks", func(c *transport.Counters) uint64 { return c.AcksReceived }},
	{"tx_naks", func(c *transport.Counters) uint64 { return c.NaksSent }},
	{"rx_naks", func(c *transport.Counters) uint64 { return c.NaksReceived }},
	{"retransmits", func(c *transport.Counters) uint64 { return c.Retransmitted }},
	{"out_of_sequence", func(c *transport.Counters) uint64 { return c.OutOfSequence }},
	{"packet_seq_err", func(c *transport.Counters) uint64 { return c.PacketSeqErr }},
	{"rnr_nak_retry_err", func(c *transport.Counters) uint64 { return c.RNRNakRetryErr }},
	{"rnr_naks_sent", func(c *transport.Counters) uint64 { return c.RNRNaksSent }},
	{"rnr_naks_received", func(c *transport.Counters) uint64 { return c.RNRNaksReceived }},
	{"local_ack_timeout_err", func(c *transport.Counters) uint64 { return c.LocalAckTimeoutErr }},
	{"duplicate_request", func(c *transport.Counters) uint64 { return c.DuplicateRequest }},
	{"tx_keepalives", func(c *transport.Counters) uint64 { return c.Keepalives }},
	{"implied_nak_seq_err", func(c *transport.Counters) uint64 { return c.ImpliedNakSeqErr }},
	{"np_ecn_marked_roce_packets", func(c *transport.Counters) uint64 { return c.ECNMarked }},
	{"np_cnp_sent", func(c *transport.Counters) uint64 { return c.CNPSent }},
	{"rp_cnp_handled", func(c *transport.Counters) uint64 { return c.CNPHandled }},
	{"mp_ooo_accepted", func(c *transport.Counters) uint64 { return c.OOOAccepted }},
	{"mp_max_out_of_order", func(c *transport.Counters) uint64 { return c.MaxOutOfOrder }},
	{"mp_acknowledged", func(c *transport.Counters) uint64 { return c.Acknowledged }},
	{"mp_lost", func(c *transport.Counters) uint64 { return c.Lost }},
	{"mp_spurious_retransmits", func(c *transport.Counters) uint64 { return c.Spurious }},
	{"mp_early_retransmits", func(c *transport.Counters) uint64 { return c.EarlyRetransmits }},
	{"mp_early_synchronise", func(c *transport.Counters) uint64 { return c.EarlySynchronise }},
	{"mp_probes", func(c *transport.Counters) uint64 { return c.Probes }},
	{"mp_paths_retired", func(c *transport.Counters) uint64 { return c.PathsRetired }},
	{"mp_paths_restored", func(c *transport.Counters) uint64 { return c.PathsRestored }},
	{"rx_malformed", func(c *transport.Counters) uint64 { return c.Malformed }},
	{"rx_stale", func(c *transport.Counters) uint64 { return c.Stale }},
	{"resp_remote_access_errors", func(c *transport.Counters) uint64 { return c.AccessErrors }},
}

// All yields the counters by name, always in the same order.
func (s *Stats) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for i := range counterNames {
			if !yield(counterNames[i].name, counterNames[i].value(&s.Counters)) {
				return
			}
		}
	}
}

// Map is All as a map, for JSON.
func (s *Stats) Map() map[string]uint64 {
	m := make(map[string]uint64, len(counterNames))
	for name, value := range s.All() {
		m[name] = value
	}
	return m
}

// Stats are the queue pair's counters now, and what it waits for. They stay readable after Close.
func (q *QP) Stats() Stats {
	q.loop.Lock()
	defer q.loop.Unlock()
	return Stats{*q.transport.Counters(), q.transport.Blocked(q.loop.Now())}
}

// Blocked says why nothing is sent at this moment. It costs less than Stats, for whoever asks a
// thousand times a second.
func (q *QP) Blocked() Reason {
	q.loop.Lock()
	defer q.loop.Unlock()
	return q.transport.Blocked(q.loop.Now())
}

// PathStats are the statistics of each virtual path, by index. Only multi-path
// queue pairs have any.
func (q *QP) PathStats() []PathStats {
	q.loop.Lock()
	defer q.loop.Unlock()
	return append([]PathStats(nil), q.transport.Paths()...)
}
