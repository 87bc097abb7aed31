package transport

import "testing"

// Acknowledged packets are counted in both modes, for the connection and for
// the path that each of them came by.
func TestMPCountsAcknowledgedPackets(t *testing.T) {
	for _, selective := range []bool{false, true} {
		q := newMPTest(t, func(o *MPOptions) { o.Selective = selective })
		id := q.write(4)
		q.acks(3, 1, 0, 2)
		q.wantDone("all arrived", id)
		sent, acked := uint64(0), uint64(0)
		for _, p := range q.mp.Paths() {
			sent += p.Sent
			acked += p.Acknowledged
		}
		if c := q.mp.Counters(); c.PacketsSent != 4 || c.Acknowledged != 4 || sent != 4 || acked != 4 {
			t.Errorf("selective=%v: sent %d and acknowledged %d; by paths %d and %d", selective, c.PacketsSent, c.Acknowledged, sent, acked)
		}
	}
}
