package perf

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/braid-rdma/braid/internal/perftest"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// perftestEnd is an endpoint whose peer is a program of perftest.
type perftestEnd struct {
	*endpoint
	talk *perftest.Conn
	keys []perftest.Keys // ours, of each queue pair
}

// CheckPerftest refuses tests that perftest's programs have no part in, or
// that they need another conversation for.
func (s *Spec) CheckPerftest() error {
	switch {
	case s.QP != "rc":
		return fmt.Errorf("%w: perftest knows standard queue pairs only: use --qp rc", ErrSpec)
	case s.Bidirectional:
		return fmt.Errorf("%w: bidirectional tests are not possible with perftest", ErrSpec)
	case s.Verify:
		return fmt.Errorf("%w: perftest does not tell its data, so it cannot be verified", ErrSpec)
	case s.Duration > 0 && s.receives():
		return fmt.Errorf("%w: with perftest this test needs a number of operations", ErrSpec)
	}
	return nil
}

// perftestLayout gives each queue pair one buffer, like perftest: its peers
// reserve no more.
func perftestLayout(s *Spec) layout {
	return layout{size: s.Size, stride: max(s.Size, slotAlign), slots: 1}
}

// newPerftestEnd makes this end of a test with a program of perftest. It owns
// conn.
func newPerftestEnd(conn net.Conn, open Opener, device *verbs.Device, spec Spec, client bool) (*perftestEnd, *verbs.Device, error) {
	if device == nil {
		var err error
		if device, err = open(localFor(conn.LocalAddr())); err != nil {
			conn.Close()
			return nil, nil, err
		}
	}
	mtu := device.Engine().Info().MTU
	if spec.MTU != 0 {
		mtu = min(mtu, spec.MTU)
	}
	talk, err := perftest.Open(conn, client, mtu)
	if err != nil {
		return nil, device, err
	}
	spec.MTU = talk.MTU()
	e, err := newEndpointWith(device, spec, 1, perftestLayout(&spec))
	if err != nil {
		talk.Close()
		return nil, device, err
	}
	// perftest counts every message, so there can be none before the measured.
	e.warmUp = 0
	p := &perftestEnd{endpoint: e, talk: talk}
	for i, qp := range e.qps {
		p.keys = append(p.keys, keysOf(qp, e.shared, e.layout.offset(i, 0)))
	}
	return p, device, nil
}

// keysOf describes a queue pair and its memory to a program of perftest.
func keysOf(qp *verbs.QP, memory *verbs.MR, offset int) perftest.Keys {
	p := qp.Params()
	return perftest.Keys{
		Reads: p.ReadsServed, QPN: p.QPN, PSN: p.PSN,
		RKey: memory.RKey(), Addr: memory.Addr() + uint64(offset), GID: p.Addr,
	}
}

// paramsOf are the keys of a peer as a queue pair is connected with them.
func paramsOf(k perftest.Keys, mtu int) verbs.ConnParams {
	return verbs.ConnParams{
		Type: verbs.RC, Addr: k.GID, QPN: k.QPN, PSN: k.PSN,
		MTU: mtu, Paths: 1, ReadsServed: min(k.Reads, transport.MaxReads),
	}
}

// connect exchanges keys and connects the queue pairs, in the steps that the
// program of this test takes.
func (p *perftestEnd) connect() error {
	if p.spec.Metric == Latency && p.spec.Op != Send {
		if _, err := p.talk.SwapKeys(p.keys[0]); err != nil {
			return err
		}
	}
	for i, qp := range p.qps {
		peer, err := p.talk.SwapKeys(p.keys[i])
		if err != nil {
			return err
		}
		if err := qp.Connect(paramsOf(peer, p.spec.MTU)); err != nil {
			return err
		}
		// A stream adds the offset of its own buffer, which the peer's address
		// must not have.
		offset := uint64(p.layout.offset(i, 0))
		p.peers = append(p.peers, region{Addr: peer.Addr - offset, RKey: peer.RKey})
	}
	// They show each other all keys once more, and use the first to wait for each
	// other: before, where receives are posted after the connection is made, and after.
	again := append(slices.Clone(p.keys), p.keys[0])
	if p.spec.Op == Send {
		again = append(p.keys[:1:1], again...)
	}
	for _, keys := range again {
		if _, err := p.talk.SwapKeys(keys); err != nil {
			return err
		}
	}
	return nil
}

// part ends the conversation as the program of this test does.
func (p *perftestEnd) part(m *meter) error {
	if p.spec.Metric == Latency && p.spec.Op == Write {
		return nil // ib_write_lat just leaves
	}
	if p.spec.Metric == Bandwidth && p.spec.Op != Send {
		if _, err := p.talk.SwapKeys(p.keys[0]); err != nil {
			return err
		}
		s := m.summary()
		report := perftest.Report{
			Size: uint64(p.spec.Size), Iterations: s.Operations,
			Peak: s.Peak / (1 << 20), Average: s.Average / (1 << 20), Rate: float64(s.Operations) / s.Seconds / 1e6,
		}
		if _, err := p.talk.SwapReport(report); err != nil {
			return err
		}
	}
	return p.talk.Farewell(p.keys[0])
}

// result is what this end measured; a program of perftest tells nothing.
func (p *perftestEnd) result(m *meter) *Result {
	own, here := m.summary(), p.counters()
	return newResult(p.endpoint, &own, &summary{}, &here, &counters{})
}

func (p *perftestEnd) close() {
	p.talk.Close()
	p.endpoint.close()
}

// RunPerftest runs a test against a server of perftest, which must have been
// started with the same options.
func (c *Client) RunPerftest(ctx context.Context, spec Spec) (*Result, error) {
	spec = spec.WithDefaults()
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if err := spec.CheckPerftest(); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var p *perftestEnd
	if p, c.device, err = newPerftestEnd(conn, c.Open, c.device, spec, true); err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.connect(); err != nil {
		return nil, err
	}
	m := newMeter()
	if err := p.measure(ctx, m, newObserver(c.Progress, c.Interval)); err != nil {
		if ctx.Err() != nil {
			return p.sofar(m), ctx.Err() // perftest has no way to learn of it but the end of the conversation
		}
		return nil, err
	}
	if err := p.part(m); err != nil {
		return nil, err
	}
	return p.result(m), nil
}

// measure runs the active side of a test.
func (p *perftestEnd) measure(ctx context.Context, m *meter, o observer) error {
	defer o.watch(m, p.counters, false)()
	switch {
	case p.spec.Metric == Latency && p.spec.Op == Write:
		return p.bounce(ctx, true, m)
	case p.spec.Metric == Latency:
		return p.measureLatency(ctx, m)
	}
	_, err := p.drive(ctx, m)
	return err
}
