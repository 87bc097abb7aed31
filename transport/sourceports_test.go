package transport

import "testing"

// Where the engine has more source ports than the connection has paths, probing
// tries all of them in time, and a path stays at the port that it has tried (§3.5: "a
// new random VP"). Packets that are on their way keep their port.
func TestMPProbesNewSourcePorts(t *testing.T) {
	const ports, paths = 64, 4
	o := WireOptions()
	o.ProbeProbability, o.Run, o.Control = 1, 1, NewFixedWindow
	o.InitialWindow, o.MaxWindow, o.MaxWindowBytes = 1, 1, 0
	attr := mpAttr()
	attr.Paths = paths
	q := newMPTestWith(t, o, attr)
	q.mp.paths.sources.total = ports
	q.write(400)
	q.wantSent("a window of one", 0)
	tried := map[uint16]bool{}
	for n := range 399 {
		q.ack(n)
		sent := q.wantSent("one per RTT", n+1)
		if got, want := sent[0].Source, q.mp.paths.sources.of(sent[0].Path); got != want {
			t.Fatalf("path %d sent from source port %d, has %d", sent[0].Path, got, want)
		}
		if sent[0].MP.Path >= paths {
			t.Fatalf("the peer was told of path %d of %d", sent[0].MP.Path, paths)
		}
		tried[sent[0].Source] = true
	}
	if len(tried) < ports*9/10 {
		t.Errorf("400 probes tried %d of %d source ports", len(tried), ports)
	}
}

// With a packet in flight a path does not move: its packets would overtake each
// other, and look lost.
func TestMPProbeMovesIdlePathsOnly(t *testing.T) {
	const paths = 16
	o := WireOptions()
	o.ProbeProbability, o.Run, o.Control = 1, 1, NewFixedWindow
	o.InitialWindow, o.MaxWindow, o.MaxWindowBytes = 24, 24, 0
	attr := mpAttr()
	attr.Paths = paths
	q := newMPTestWith(t, o, attr)
	q.mp.paths.sources.total = 64
	q.write(400)
	q.drain()
	moves := 0
	for n := range 300 {
		var before [paths]int
		var held [paths]uint16
		for p := range Path(paths) {
			before[p], held[p] = q.mp.paths.InFlight(p), q.mp.paths.sources.of(p)
		}
		q.ack(n)
		q.drain()
		for p := range Path(paths) {
			if q.mp.paths.sources.of(p) == held[p] {
				continue
			}
			if moves++; before[p] > 1 { // the acknowledgement took one away
				t.Fatalf("path %d moved with %d packets in flight", p, before[p])
			}
		}
	}
	if moves == 0 {
		t.Error("no path moved at all")
	}
}
