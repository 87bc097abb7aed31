package transport

import (
	"math/rand/v2"
	"testing"
)

// What the paper's sender believes to be in the network (§3.2: snd_nxt - snd_una -
// inflate) against what is there, on a link that loses packets.

const (
	pipeDelay  = 6 * Microsecond   // one way
	pipeSerial = Microsecond / 4   // of a data packet, at the bottleneck
	pipeEnd    = 20 * Millisecond  // of a run
	pipeBatch  = 1 << 12 * mpMTU   // bytes of a request
	pipeCalm   = 4 * 2 * pipeDelay // after this long no retransmission is on its way
)

// lost, as a delay, is that of a packet that never arrives.
const lost = Never

// inPipe is a packet on its way.
type inPipe struct {
	at Time // when it arrives
	p  Packet
}

// pipe is a sender and a receiver with a bottleneck between them. It knows
// what is in the network, whatever the sender believes.
type pipe struct {
	t           *testing.T
	a, b        *MP
	now, free   Time
	data, acks  fifo[inPipe]
	delay       func(*Packet) Time // beyond that of the pipe
	source      *Region
	target      *Region
	lastAgain   Time // when a packet was last sent again
	peak        int  // most data packets ever in the network
	calmPeak    int  // the same, where no retransmission is among them
	transmitted int
}

func newPipe(t *testing.T, o MPOptions, delay func(*Packet) Time) *pipe {
	t.Helper()
	l := newMPLink(t, o)
	attr := mpAttr()
	attr.Paths = 8
	x := &pipe{t: t, now: Second, delay: delay, source: l.source, target: l.target}
	x.a = connectMP(t, x.now, mpConfig(l.mem, o, 1), attr)
	attr.SendPSN, attr.RecvPSN = attr.RecvPSN, attr.SendPSN
	x.b = connectMP(t, x.now, mpConfig(l.mem, o, 2), attr)
	return x
}

// run keeps the sender busy until the end, from one event to the next.
func (x *pipe) run() {
	for end := x.now + pipeEnd; x.now < end; {
		x.post()
		x.send()
		next := min(x.a.Timeout(), x.b.Timeout())
		for _, q := range [...]*fifo[inPipe]{&x.data, &x.acks} {
			if q.len() > 0 {
				next = min(next, q.at(0).at)
			}
		}
		x.now = max(x.now, next)
		x.handle()
	}
}

// post sees to it that there always is new data.
func (x *pipe) post() {
	for c := (Completion{}); x.a.PollCompletion(&c); {
		if c.Status != Success {
			x.t.Fatalf("completed with %v", c.Status)
		}
	}
	for x.a.sq.wqes.len()-x.a.sq.started < 2 {
		wr := SendWR{Op: OpWrite, Flags: Signaled, SGEs: []SGE{x.source.span(0, pipeBatch)}, RemoteAddr: x.target.Base, RKey: x.target.RKey}
		if err := x.a.PostSend(x.now, &wr); err != nil {
			x.t.Fatal(err)
		}
	}
}

// send takes what both sides want to send.
func (x *pipe) send() {
	var p Packet
	for x.a.PollTransmit(x.now, &p) {
		x.transmitted++
		if p.MP.ReTx {
			x.lastAgain = x.now
		}
		if more := x.delay(&p); more != lost {
			x.free = max(x.free, x.now) + pipeSerial
			x.carry(inPipe{x.free + pipeDelay + more, p})
		}
		x.peak = max(x.peak, x.data.len()+x.acks.len())
		if x.now-x.lastAgain > pipeCalm {
			x.calmPeak = max(x.calmPeak, x.data.len()+x.acks.len())
		}
	}
	for x.b.PollTransmit(x.now, &p) {
		*x.acks.push() = inPipe{x.now + pipeDelay, p}
	}
}

// carry puts a data packet among those on their way, in the order of arrival.
func (x *pipe) carry(p inPipe) {
	x.data.push()
	i := x.data.len() - 1
	for ; i > 0 && x.data.at(i-1).at > p.at; i-- {
		*x.data.at(i) = *x.data.at(i - 1)
	}
	*x.data.at(i) = p
}

// handle hands over what has arrived, and runs timers.
func (x *pipe) handle() {
	for _, m := range [...]*MP{x.a, x.b} {
		if m.Timeout() <= x.now {
			m.HandleTimeout(x.now)
		}
	}
	for x.data.len() > 0 && x.data.at(0).at <= x.now {
		x.b.HandlePacket(x.now, &x.data.pop().p)
		x.send()
	}
	for x.acks.len() > 0 && x.acks.at(0).at <= x.now {
		x.a.HandlePacket(x.now, &x.acks.pop().p)
		x.send()
	}
}

// A window is what may be in the network. Recovery sends packets again that were
// not lost, and ends before they have all arrived; their acknowledgements must
// not open the window for others, nor may losses close it.
func TestMPRecoveryKeepsTheWindow(t *testing.T) {
	const window = 40
	for _, c := range []struct {
		name  string
		delay func(r *rand.Rand) Time // of one packet in 500
		again bool                    // retransmissions suffer too
	}{
		{"late", func(r *rand.Rand) Time { return Time(r.IntN(int(40 * Microsecond))) }, false},
		{"late, again too", func(r *rand.Rand) Time { return Time(r.IntN(int(40 * Microsecond))) }, true},
		{"lost", func(*rand.Rand) Time { return lost }, false},
		{"lost, again too", func(*rand.Rand) Time { return lost }, true},
		{"late or lost", func(r *rand.Rand) Time { return []Time{lost, 30 * Microsecond}[r.IntN(2)] }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			x := newPipe(t, optionsWith(fixedWindowOf(window)), func(p *Packet) Time {
				if r.IntN(500) == 0 && (c.again || !p.MP.ReTx) {
					return c.delay(r)
				}
				return 0
			})
			x.run()
			n := x.a.Counters()
			t.Logf("%d packets, %d again, %d timeouts; at most %d in the network, %d in calm times", x.transmitted, n.Retransmitted, n.LocalAckTimeoutErr, x.peak, x.calmPeak)
			if n.Retransmitted < 100 {
				t.Fatal("too little was sent again to say anything")
			}
			if x.calmPeak != window || x.peak > 2*window {
				t.Errorf("%d packets in the network, %d while nothing was sent again; the window is %d", x.peak, x.calmPeak, window)
			}
			if inside := x.a.loss.inFlight(); inside > window {
				t.Errorf("at the end the sender believes %d packets to be in the network", inside)
			}
		})
	}
}

func optionsWith(edit func(*MPOptions)) MPOptions {
	o := PaperOptions()
	o.ProbeProbability = 0
	edit(&o)
	return o
}
