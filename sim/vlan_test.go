package sim

import "testing"

// crossing sends packets of priority 3 from rack to rack and within a rack, in a network that keeps priorities in tags or
// not, and returns the priority of the queue that they were in at each link.
func crossing(t *testing.T, vlan bool) map[string]uint8 {
	t.Helper()
	n := newNetwork(t, leafSpine(2, 2, 1), Config{Switch: SwitchConfig{VLAN: vlan, PFC: PFC{On: true, Lossless: 1 << 3}}})
	inject(n, 0, 2, 1250, 3, 0) // to the other rack
	inject(n, 1, 0, 1250, 3, 0) // within the rack
	seen := map[string]uint8{}
	n.Run(Millisecond)
	for _, e := range n.lanes {
		for priority := range uint8(priorities) {
			if e.queue(priority).peak > 0 {
				seen[e.name] = priority
			}
		}
	}
	if err := n.AuditEnd(); err != nil {
		t.Error(err)
	}
	return seen
}

// TestVLANTagEndsWhereAPacketIsRouted checks where the priority is that the sender gave, and where it is 0.
func TestVLANTagEndsWhereAPacketIsRouted(t *testing.T) {
	for _, test := range []struct {
		vlan  bool
		wants map[string]uint8
	}{
		{false, map[string]uint8{"h1-leaf0>": 3, "leaf0-spine0>": 3, "leaf1-spine0<": 3, "h2-leaf1<": 3, "h0-leaf0<": 3}},
		{true, map[string]uint8{"h1-leaf0>": 3, "leaf0-spine0>": 3, "leaf1-spine0<": 0, "h2-leaf1<": 0, "h0-leaf0<": 3}},
	} {
		seen := crossing(t, test.vlan)
		for name, want := range test.wants {
			if got, ok := seen[name]; !ok || got != want {
				t.Errorf("VLAN %v, %s: priority %d (%v), want %d", test.vlan, name, got, ok, want)
			}
		}
	}
}
