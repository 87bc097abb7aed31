package ping

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// By is what a probe consists of.
type By string

// The kinds of probe.
const (
	UD By = "ud" // a datagram and its reply
	RC By = "rc" // a WRITE on a standard connection, which has one path
	MP By = "mp" // a WRITE on a multi-path connection, which chooses the paths itself
)

// Kinds are all of them.
var Kinds = []By{UD, RC, MP}

// AnyPath is the path of probes by MP.
const AnyPath = -1

// Probe is what to send.
type Probe struct {
	By   By
	Path int // of the device; of MP it has no meaning
	Size int // bytes; of datagrams that are too long for the network as many as it carries
}

// check refuses what cannot be sent.
func (p *Probe) check(paths int) error {
	switch {
	case !slices.Contains(Kinds, p.By):
		return fmt.Errorf("ping: probes by %q are not known", p.By)
	case p.By != MP && (p.Path < 0 || p.Path >= paths):
		return fmt.Errorf("ping: path %d: the device has 0 to %d", p.Path, paths-1)
	case p.Size < MinSize || p.Size > MaxWrite:
		return fmt.Errorf("ping: size %d: use %d to %d", p.Size, MinSize, MaxWrite)
	}
	return nil
}

// Result is what became of a probe.
type Result struct {
	Probe         // as it was sent: the size of a datagram may be less than was asked for
	Number uint64 // from 1, in the order of a Run
	Err    error  // nil: there was a reply

	// Stamps are those of the probe, by this end's clock but for T3 and T4.
	Stamps Stamps
	// Port and PeerPort are the source ports of the probe and of the reply, 0: not known.
	Port, PeerPort uint16
	// Retransmitted is how many packets of a WRITE were sent again, or of another one that was
	// under way on the same connection.
	Retransmitted uint64
}

// Stamps are the six times of a probe (R-Pingmesh). Of a WRITE there are neither T3 nor T4.
type Stamps [6]time.Duration

// RTT is T6-T1, what a program sees.
func (s *Stamps) RTT() time.Duration { return s[5] - s[0] }

// Responder is T4-T3, the time that the peer's program took.
func (s *Stamps) Responder() time.Duration { return min(max(0, s[3]-s[2]), s.RTT()) }

// Network is (T5-T2)-(T4-T3). Where stamps are not those of the kernel, a prober that lost the processor while
// it sent may have the reply before T2; then all the time was its own.
func (s *Stamps) Network() time.Duration { return max(0, s[4]-s[1]-s.Responder()) }

// Prober is the rest: (T6-T1)-(T5-T2).
func (s *Stamps) Prober() time.Duration { return s.RTT() - s.Network() - s.Responder() }

// Schedule says which probes a peer is sent, and when.
type Schedule struct {
	By       []By
	Paths    []int
	Sizes    []int
	Delay    time.Duration // before the first probe, so that those to many peers do not leave at once
	Interval time.Duration // between probes
	Timeout  time.Duration // after which a probe is lost
	Count    uint64        // of probes; 0: until the context ends
}

// probe is the probe with a number, from 0. Kinds take turns, each goes through the paths, and sizes
// move on by one more with each turn of the paths, so that every path has every size.
func (s *Schedule) probe(n uint64) Probe {
	by := s.By[n%uint64(len(s.By))]
	turn := n / uint64(len(s.By))
	paths := uint64(len(s.Paths))
	p := Probe{By: by, Path: s.Paths[turn%paths], Size: s.Sizes[(turn+turn/paths)%uint64(len(s.Sizes))]}
	if by == MP {
		p.Path = AnyPath
	}
	return p
}

// Run sends probes to the peer by a schedule. It hands the result of each to report, one at a time
// and in the order in which they are known, and returns when all are. Probes that are under way when
// ctx ends count as never sent.
func (p *Peer) Run(ctx context.Context, s *Schedule, report func(Result)) {
	results := make(chan Result)
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		p.sendAll(ctx, s, results)
	}()
	for {
		select {
		case r := <-results:
			report(r)
		case <-sending:
			return
		}
	}
}

// sendAll sends the probes, each in a goroutine that waits for its reply, and returns when all
// results have been taken.
func (p *Peer) sendAll(ctx context.Context, s *Schedule, results chan<- Result) {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	next := time.NewTimer(s.Delay)
	defer next.Stop()
	for n := uint64(0); s.Count == 0 || n < s.Count; n++ {
		select {
		case <-next.C:
			next.Reset(s.Interval)
		case <-ctx.Done():
			return
		}
		waiting.Go(func() {
			within, cancel := context.WithTimeout(ctx, s.Timeout)
			defer cancel()
			r := p.Ping(within, s.probe(n))
			r.Number = n + 1
			if ctx.Err() == nil {
				results <- r
			}
		})
	}
}
