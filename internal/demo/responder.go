package demo

import (
	"context"
	"errors"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// messageCount is how many messages the SEND phase has.
const messageCount = 64

// Responder waits for a requester.
type Responder struct {
	device *verbs.Device
	calls  *control.Listener
}

// NewResponder makes a device with a number of paths wait for a requester.
func NewResponder(paths int, open Opener) (*Responder, error) {
	device, err := open(paths)
	if err != nil {
		return nil, err
	}
	calls, err := control.Listen(protocol, 0, device)
	if err != nil {
		device.Close()
		return nil, err
	}
	return &Responder{device: device, calls: calls}, nil
}

// Address is where the requester finds it, as host:port.
func (r *Responder) Address() string { return r.calls.Addrs()[0].String() }

// Close ends the responder and its device.
func (r *Responder) Close() error {
	r.calls.Close()
	return r.device.Close()
}

// Respond waits for one requester and serves it to the end.
func (r *Responder) Respond(ctx context.Context) error {
	call, err := r.calls.Next(ctx)
	if err != nil {
		return err
	}
	line, err := call.Accept(ctx)
	if err != nil {
		return err
	}
	served, err := newResponder(ctx, r.device, line)
	if err != nil {
		err = line.Fail(err)
		line.Close()
		return err
	}
	defer served.close()
	if err := served.serve(ctx); err != nil && !errors.Is(err, cm.ErrPeerClosed) {
		return served.Fail(err)
	}
	return nil
}

// responder is the end whose memory is written.
type responder struct {
	*link
	paths   int
	data    *verbs.MR // written and read by the requester
	counter *verbs.MR // for atomics
	inbox   *verbs.MR // for messages
	outbox  *verbs.MR // for digests
}

// newResponder makes what the requester wishes.
func newResponder(ctx context.Context, d *verbs.Device, line *control.Line) (*responder, error) {
	var asked wish
	if err := line.Receive(ctx, askRegions, &asked); err != nil {
		return nil, err
	}
	c := Config{Paths: asked.Paths, Size: asked.Size}.WithDefaults()
	if err := c.Check(); err != nil {
		return nil, err
	}
	l, err := newLink(d, line)
	if err != nil {
		return nil, err
	}
	r := &responder{link: l, paths: c.Paths}
	for _, m := range []struct {
		region **verbs.MR
		size   int
		rights verbs.Access
	}{
		{&r.data, c.Size, verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead},
		{&r.counter, 8, verbs.LocalWrite | verbs.RemoteAtomic | verbs.RemoteRead},
		{&r.inbox, messageCount * chunkSize, verbs.LocalWrite},
		{&r.outbox, digestSize, 0},
	} {
		if *m.region, err = l.pd.AllocMemory(m.size, m.rights); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// serve does what the requester asks for, in the order of the
// demonstration.
func (r *responder) serve(ctx context.Context) error {
	if err := r.Send(ctx, tellRegions, offer{Data: regionOf(r.data), Counter: regionOf(r.counter)}); err != nil {
		return err
	}
	if err := r.join(ctx, r.Admit, queuePairOptions(r.paths), nil); err != nil {
		return err
	}
	for _, step := range []struct {
		ask string
		do  func(context.Context) error
	}{
		{askDigest, r.sendDigest},
		{askMessages, r.takeMessages},
		{askStream, r.checkStream},
		{askDigest, r.sendDigest},
	} {
		if err := r.Receive(ctx, step.ask, new(any)); err != nil {
			return err
		}
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	if err := r.Send(ctx, tellEnd, nil); err != nil {
		return err
	}
	// The requester leaves first; its disconnect request is the end of the conversation.
	return r.Receive(ctx, "nothing", new(any))
}

// sendDigest replies with the digest of the data region.
func (r *responder) sendDigest(ctx context.Context) error {
	sum, err := digest(r.data)
	if err != nil {
		return err
	}
	return r.send(ctx, sum)
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
	sum, err := digest(r.inbox)
	if err != nil {
		return err
	}
	return r.send(ctx, sum)
}

// digestID tells the completion of a digest from that of a credit.
const digestID = 1

// send sends a few bytes to the requester and waits until it has them.
func (r *responder) send(ctx context.Context, b []byte) error {
	copy(r.outbox.Bytes(), b)
	err := r.qp.PostSend(&verbs.SendWR{
		ID: digestID, Op: verbs.OpSend, Flags: verbs.Signaled,
		SGEs: []verbs.SGE{r.outbox.SGE(0, len(b))},
	})
	if err != nil {
		return err
	}
	for {
		completions, err := r.wait(ctx)
		if err != nil {
			return err
		}
		for i := range completions {
			if completions[i].WRID == digestID && !isReceive(&completions[i]) {
				return nil
			}
		}
	}
}
