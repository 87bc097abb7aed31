package sim

import "testing"

// TestHeadroomFormulas checks each formula against numbers worked out by hand.
func TestHeadroomFormulas(t *testing.T) {
	for _, test := range []struct {
		name      string
		got, want int
	}{
		// 12.5 B/ns x (2 x 1000 + 2408) ns = 55,100; 3 x 4296 = 12,888; 8 x 84 = 672.
		{"100 Gb/s, 1 µs", Headroom(100*gbps, Microsecond, DefaultReaction, 4296), 68_660},
		// 5 B/ns x (2 x 1500 + 600) ns = 18,000; 3 x 1086 = 3258; 672.
		{"40 Gb/s, 300 m", Headroom(40*gbps, CableDelay(300), 600*Nanosecond, 1086), 21_930},
		// (301 + 2.16 x 300) x 40 = 37,960; 2.72 x 1086 = 2953.92.
		{"mlx5, 300 m", HeadroomMLX5(40*gbps, 300, 1086), 40_914},
		// 301 x 100 = 30,100 and 2.72 x 1500 = 4080.
		{"mlx5, no cable", HeadroomMLX5(100*gbps, 0, 1500), 34_180},
		// 12.5 B/ns x 3000 ns.
		{"HPCC", HeadroomHPCC(100*gbps, Microsecond), 37_500},
		// 12.5 B/ns x 2000 ns + 2 x 1000.
		{"ConWeave", HeadroomConWeave(100*gbps, Microsecond, 1000), 27_000},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, test.got, test.want)
		}
	}
}

// TestHeadroomIsSetAside checks what is left to share when headroom and reserves are kept
// for each port and lossless priority.
func TestHeadroomIsSetAside(t *testing.T) {
	for _, test := range []struct {
		name string
		mtu  int
		pfc  PFC
		want int32 // of each of the two ports
	}{
		// 100 Gb/s, 1 µs: 55,100 bytes as above, three packets, eight frames; reserve 4096.
		{"default", 1024, PFC{}, 55_100 + 3*4296 + 672 + 4096},
		{"jumbo", 9000, PFC{}, 55_100 + 3*9200 + 672 + 4096},
		{"fast to react", 4096, PFC{Reaction: 400 * Nanosecond}, 30_000 + 3*4296 + 672 + 4096},
		{"two priorities", 4096, PFC{Lossless: 1<<3 | 1<<4}, 2 * (55_100 + 3*4296 + 672 + 4096)},
		{"told", 4096, PFC{Headroom: 10_000, Reserve: 1000}, 11_000},
		{"too large", 4096, PFC{Headroom: 500_000}, (1 << 20) * 3 / 4 / 2},
	} {
		test.pfc.On = true
		n := newNetwork(t, star(2, 100*gbps), Config{MTU: test.mtu, Switch: SwitchConfig{Buffer: 1 << 20, PFC: test.pfc}})
		if got := 1<<20 - n.switches[2].pool; got != 2*test.want {
			t.Errorf("%s: %d bytes are set aside, want %d", test.name, got, 2*test.want)
		}
	}
}

// overrun sends 20 packets of 1 µs each from host 0 to host 2, which is stopped from the
// beginning, through a switch that sends XOFF above 5000 bytes, over links of 10 Gb/s and
// 1 µs to hosts that react after 1 µs. It returns what the link from host 0 suffered. With
// busy, a packet for host 0 has just begun when XOFF has to be sent.
func overrun(t *testing.T, headroom int, busy bool) LinkResult {
	t.Helper()
	cfg := Config{Switch: SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 5000, Headroom: headroom, Reaction: Microsecond}}}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	n.switches[3].ports[2].paused = 1 << 3
	for range 20 {
		inject(n, 0, 2, 1250, 3, 0)
	}
	if busy {
		n.hosts[1].call(3990*Nanosecond, func() { inject(n, 1, 0, 1250, 5, 0) })
	}
	n.Run(Millisecond)
	if err := n.Audit(); err != nil {
		t.Error(err)
	}
	return n.Link(0)
}

// TestHeadroomBounds checks that what arrives after XOFF goes into the headroom, byte by
// byte, and that what exceeds it is dropped.
//
// Packet k of host 0 begins at k-1 µs and arrives at k+1 µs. Four of them are 5000 bytes;
// the fifth, at 6 µs, exceeds that and makes the switch send XOFF, which takes 67.2 ns and
// 1 µs and is obeyed 1 µs later, at 8.0672 µs. By then packet 9 has begun. So packets 5 to
// 9 go to the headroom: 6250 bytes.
//
// If a packet to host 0 has begun at 5.99 µs, XOFF waits until 6.99 µs and is obeyed at
// 9.0572 µs: packet 10 has begun as well, 7500 bytes. The formula gives, for 3 µs at
// 1.25 B/ns, three packets and eight frames, 3750 + 3750 + 672 = 8172.
func TestHeadroomBounds(t *testing.T) {
	right := Headroom(10*gbps, Microsecond, Microsecond, 1250)
	for _, test := range []struct {
		name       string
		headroom   int
		busy       bool
		dropped    uint64
		used, sent int
	}{
		{"formula", right, false, 0, 6250, 9},
		{"exact", 6250, false, 0, 6250, 9},
		{"a byte less", 6249, false, 1, 5000, 9},
		{"two packets", 2500, false, 3, 2500, 9},
		{"busy, formula", right, true, 0, 7500, 10},
		{"busy, exact", 7500, true, 0, 7500, 10},
		{"busy, a byte less", 7499, true, 1, 6250, 10},
	} {
		l := overrun(t, test.headroom, test.busy)
		if l.Overrun != test.dropped || l.Headroom != test.used || l.Packets != uint64(test.sent) {
			t.Errorf("%s: %d of %d packets dropped, %d bytes in the headroom; want %d of %d, %d bytes",
				test.name, l.Overrun, l.Packets, l.Headroom, test.dropped, test.sent, test.used)
		}
	}
}

// TestHeadroomIsPerPortAndPriority checks that what one port and priority have used up is
// there for the others: two senders and two priorities each have room for two packets.
func TestHeadroomIsPerPortAndPriority(t *testing.T) {
	cfg := Config{Switch: SwitchConfig{Buffer: 1 << 20, PFC: PFC{On: true, XOFF: 5000, Headroom: 2500, Lossless: 1<<3 | 1<<4}}}
	n := newNetwork(t, star(3, 10*gbps), cfg)
	n.switches[3].ports[2].paused = 1<<3 | 1<<4
	for i := range 40 {
		inject(n, 0, 2, 1250, uint8(3+i%2), 0)
		inject(n, 1, 2, 1250, uint8(3+i%2), 0)
	}
	n.Run(Millisecond)
	// Each has 4 packets below XOFF and 2 in the headroom.
	s := n.switches[3]
	for port := range 2 {
		for _, priority := range []int{3, 4} {
			if got := s.ins[port].buffered[priority]; got != 6*1250 {
				t.Errorf("port %d, priority %d has %d bytes in the buffer, want 7500", port, priority, got)
			}
		}
	}
	if to := n.Link(5); to.Dropped == 0 || to.Dropped != n.Link(0).Overrun+n.Link(2).Overrun {
		t.Errorf("%d packets to host 2 were dropped, %d and %d of them beyond the headroom of their ports", to.Dropped, n.Link(0).Overrun, n.Link(2).Overrun)
	}
}
