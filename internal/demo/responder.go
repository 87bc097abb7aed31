package demo

import (
	"context"
	"errors"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// messageCount is how many messages the SEND phase has.
const messageCount = 64

// Responder waits for a requester.
type Responder struct {
	device   *verbs.Device
	context  *braid.Context
	listener *braid.Listener
}

// NewResponder makes a device with a number of paths wait for a requester.
func NewResponder(paths int, open Opener) (r *Responder, err error) {
	r = new(Responder)
	if r.device, err = open(paths); err != nil {
		return nil, err
	}
	if r.context, err = control.Open(r.device, maxCalls); err != nil {
		r.device.Close()
		return nil, err
	}
	if r.listener, err = r.context.Listen(0); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// maxCalls bounds the connections of those who may want to be the requester.
const maxCalls = 16

// Address is where the requester finds it, as host:port.
func (r *Responder) Address() string { return r.listener.Addr().String() }

// Close ends the responder and its device.
func (r *Responder) Close() error {
	r.context.Close()
	return r.device.Close()
}

// Respond waits for one requester and serves it to the end.
func (r *Responder) Respond(ctx context.Context) error {
	channel, err := r.listener.Accept(ctx)
	if err != nil {
		return err
	}
	var asked wish
	line, err := control.Accept(ctx, channel, protocol, &asked)
	if err != nil {
		return err
	}
	defer line.Close()
	served, err := newResponder(r.device, channel, line, &asked)
	if err == nil {
		err = served.serve(ctx, asked.End)
	}
	if err != nil && !errors.Is(err, braid.ErrPeerClosed) {
		return line.Fail(err)
	}
	return nil
}

// responder is the end whose memory is written.
type responder struct {
	*link
	paths   int
	credit  region    // the requester's
	data    *verbs.MR // written and read by the requester
	counter *verbs.MR // for atomics
	inbox   *verbs.MR // for messages
}

// newResponder makes what the requester wishes.
func newResponder(d *verbs.Device, channel *braid.Channel, line *control.Line, asked *wish) (*responder, error) {
	c := Config{Paths: asked.Paths, Size: asked.Size}.WithDefaults()
	if err := c.Check(); err != nil {
		return nil, err
	}
	l, err := newLink(d, channel, queuePairOptions(c.Paths))
	if err != nil {
		return nil, err
	}
	l.Line = line
	r := &responder{link: l, paths: c.Paths, credit: asked.Credit}
	for _, m := range []struct {
		region **verbs.MR
		size   int
		rights verbs.Access
	}{
		{&r.data, c.Size, verbs.RemoteWrite | verbs.RemoteRead},
		{&r.counter, 8, verbs.RemoteAtomic | verbs.RemoteRead},
		{&r.inbox, messageCount * chunkSize, 0},
	} {
		if *m.region, err = l.pd.AllocMemory(m.size, verbs.LocalWrite|m.rights); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// serve does what the requester asks for, in the order of the
// demonstration.
func (r *responder) serve(ctx context.Context, requester verbs.ConnParams) error {
	if err := r.connect(requester, r.paths); err != nil {
		return err
	}
	end, err := r.qp.ParamsFor(r.peer)
	if err != nil {
		return err
	}
	if err := r.Send(ctx, tellOffer, offer{Data: regionOf(r.data), Counter: regionOf(r.counter), End: end}); err != nil {
		return err
	}
	for _, step := range []struct {
		ask string
		do  func(context.Context) error
	}{
		{askDigest, r.tellDataDigest},
		{askMessages, r.takeMessages},
		{askStream, r.checkStream},
		{askDigest, r.tellDataDigest},
	} {
		if err := r.Receive(ctx, step.ask, new(any)); err != nil {
			return err
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return r.End(ctx, nil)
}

func (r *responder) tellDataDigest(ctx context.Context) error { return r.tellDigestOf(ctx, r.data) }

func (r *responder) tellDigestOf(ctx context.Context, m *verbs.MR) error {
	sum, err := digest(m)
	if err != nil {
		return err
	}
	return r.Send(ctx, tellDigest, sum)
}

// takeMessages receives the messages of the SEND phase and replies with the
// digest of them all.
func (r *responder) takeMessages(ctx context.Context) error {
	for i := range messageCount {
		wr := verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{r.inbox.SGE(i*chunkSize, chunkSize)}}
		if err := r.qp.PostRecv(&wr); err != nil {
			return err
		}
	}
	if err := r.Send(ctx, tellReady, nil); err != nil {
		return err
	}
	for received := 0; received < messageCount; {
		completions, err := r.wait(ctx)
		if err != nil {
			return err
		}
		received += len(completions)
	}
	return r.tellDigestOf(ctx, r.inbox)
}
