package transport

import (
	"testing"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// Retired paths: beyond the paper. See docs/decisions.

// fourPaths makes a sender that takes four paths in turn, packet by packet.
func fourPaths(t *testing.T) *mpTest {
	t.Helper()
	o, attr := WireOptions(), mpAttr()
	o.Policy, o.Control, o.Run, o.ProbeProbability = NewRoundRobin, NewFixedWindow, 1, 0
	o.InitialWindow, o.MaxWindow, o.MaxWindowBytes, o.InitialRTT = 32, 32, 0, time.Duration(mpRTT)
	o.EarlyRetransmit, o.MinRTO = 1e9, time.Second
	attr.Paths, attr.Timeout = 4, 24
	return newMPTestWith(t, o, attr)
}

// carry acts as the network: for so many packets it acknowledges whatever is
// sent, in order, unless drop loses it.
func (q *mpTest) carry(packets int, drop func(p *Packet) bool) {
	q.t.Helper()
	for packets > 0 {
		sent := q.unwanted
		q.unwanted = nil
		if len(sent) == 0 {
			q.t.Fatal("nothing is on its way")
		}
		for i := range sent {
			if isStreamData(sent[i].Opcode) && !drop(&sent[i]) {
				q.ack(q.number(sent[i].PSN))
			}
			packets--
		}
	}
}

func lossless(*Packet) bool { return false }

// probesOf returns the probes among what was sent, and forgets the rest.
func (q *mpTest) probesOf() []Packet {
	var probes []Packet
	for _, p := range q.unwanted {
		if p.Opcode == wire.MPProbe {
			probes = append(probes, p)
		}
	}
	q.unwanted = nil
	return probes
}

// retirePath2 brings path 2 to retirement: it loses, the others do not.
func retirePath2(t *testing.T) *mpTest {
	t.Helper()
	q := fourPaths(t)
	q.write(4000)
	arrivals := 0
	q.carry(400, func(p *Packet) bool {
		if p.Path != 2 {
			return false
		}
		arrivals++
		return arrivals%5 != 0 // four of five are lost
	})
	if !q.mp.Paths()[2].Retired {
		t.Fatal("a path that loses while others do not stays in use")
	}
	q.wantEvents("one path", EventPathRetired)
	return q
}

func TestMPLossyPathIsRetired(t *testing.T) {
	q := retirePath2(t)
	used := map[Path]int{}
	q.carry(64, lossless)
	q.carry(200, func(p *Packet) bool { used[p.Path]++; return false })
	if used[2] != 0 || used[0] == 0 || used[1] == 0 || used[3] == 0 {
		t.Errorf("packets by path after the retirement of 2: %v", used)
	}
	if c := q.mp.Counters(); c.PathsRetired != 1 || c.PathsRestored != 0 {
		t.Errorf("retired %d, restored %d", c.PathsRetired, c.PathsRestored)
	}
}

// Probes without an answer come at doubling distances, up to a limit.
func TestMPProbesBackOff(t *testing.T) {
	q := retirePath2(t)
	var times []Time
	for range 20000 {
		for _, p := range q.probesOf() {
			if p.Path != 2 || p.MP.Path != 2 || p.Length != 0 {
				t.Fatalf("probe %+v", p)
			}
			times = append(times, q.now)
		}
		if len(times) >= 10 {
			break
		}
		q.advance(100 * Microsecond)
	}
	if len(times) < 10 {
		t.Fatalf("%d probes", len(times))
	}
	for i := 2; i < len(times); i++ {
		last, gap := times[i-1]-times[i-2], times[i]-times[i-1]
		if want := min(2*last, longestProbeWait); gap < want*9/10 || gap > want*11/10 {
			t.Errorf("gap %d is %d ns, want about %d", i, gap, want)
		}
	}
}

func (q *mpTest) answerProbe(p Packet) {
	q.t.Helper()
	q.handlePacket(Packet{Headers: wire.Headers{
		BTH:  wire.BTH{Opcode: wire.MPProbeAck, PSN: q.psn(0)},
		AETH: wire.AETH{Syndrome: wire.AckSyndrome(wire.NoCredit)},
		Ack:  wire.MPAck{Path: p.MP.Path, SACK: q.psn(0), AACK: q.psn(q.peerNext[requests]), SentAt: p.MP.SentAt},
	}})
}

// Three probes in a row bring a path back; copies of one answer do not.
func TestMPRestoredPathIsUsedAgain(t *testing.T) {
	q := retirePath2(t)
	q.unwanted = nil
	for answered := 0; answered < 3; {
		if !q.mp.Paths()[2].Retired {
			t.Fatalf("restored after %d answers", answered)
		}
		probes := q.probesOf()
		if len(probes) == 0 {
			q.advance(500 * Microsecond)
			continue
		}
		q.now++
		for range 3 {
			q.answerProbe(probes[0])
		}
		answered++
	}
	if q.mp.Paths()[2].Retired || q.mp.Counters().PathsRestored != 1 {
		t.Fatal("three answers did not restore the path")
	}
	q.wantEvents("it is back", EventPathRestored)
	before := q.mp.Paths()[2].Sent
	q.write(1000)
	q.advance(mpRTT)
	if len(q.unwanted) == 0 {
		q.ack(q.peerNext[requests])
	}
	q.carry(100, lossless)
	if q.mp.Paths()[2].Sent == before {
		t.Error("the restored path carries nothing")
	}
}

// Loss on all paths is congestion and retires none.
func TestMPLossOnAllPathsRetiresNone(t *testing.T) {
	q := fourPaths(t)
	q.write(4000)
	q.carry(64, func(p *Packet) bool { return q.number(p.PSN) < 4 && !p.MP.ReTx })
	if got := q.mp.Counters(); got.Lost < 4 || got.PathsRetired != 0 {
		t.Errorf("each of four paths lost a packet: %d lost, %d paths retired", got.Lost, got.PathsRetired)
	}
}

// However bad it gets, one path stays in use.
func TestMPLastPathStays(t *testing.T) {
	q := fourPaths(t)
	q.write(4000)
	for p := range Path(4) {
		q.mp.paths.losing(q.now, p, true, false, mpRTT)
	}
	inUse := 0
	for _, p := range q.mp.Paths() {
		if !p.Retired {
			inUse++
		}
	}
	if inUse != 1 {
		t.Errorf("%d paths in use, want one", inUse)
	}
}
