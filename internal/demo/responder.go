package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/oob"
	"github.com/braid-rdma/braid/verbs"
)

// messageCount is how many messages the SEND phase has.
const messageCount = 64

// responder is the end whose memory is written.
type responder struct {
	*link
	data    *verbs.MR // written and read by the requester
	counter *verbs.MR // for atomics
	inbox   *verbs.MR // for messages
	outbox  *verbs.MR // for digests
}

// Respond waits for one requester and serves it to the end.
func Respond(ctx context.Context, listener *oob.Listener, open Opener) error {
	conn, err := listener.Accept(ctx)
	if err != nil {
		return err
	}
	config, err := readHello(ctx, conn)
	if err != nil {
		// The peer may have left before it hears the reason.
		_ = conn.Reject(ctx, err.Error())
		return err
	}
	device, err := open(localFor(conn.LocalAddr()), config.Paths)
	if err != nil {
		_ = conn.Reject(ctx, err.Error())
		return err
	}
	defer device.Close()
	r, err := newResponder(device, config)
	if err != nil {
		_ = conn.Reject(ctx, err.Error())
		return err
	}
	regions := []oob.Region{oob.RegionOf(dataRegion, r.data), oob.RegionOf(counterRegion, r.counter)}
	if err := r.connect(ctx, conn, oob.Options{Regions: regions}); err != nil {
		return err
	}
	defer r.session.Close()
	if err := r.serve(ctx); err != nil && !errors.Is(err, oob.ErrPeerClosed) {
		return r.Fail(err)
	}
	return nil
}

func readHello(ctx context.Context, conn *oob.Conn) (*Config, error) {
	peer, err := conn.Peer(ctx)
	if err != nil {
		return nil, err
	}
	var h hello
	if err := json.Unmarshal(peer.PrivateData, &h); err != nil || h.Version != version {
		return nil, fmt.Errorf("%w: the peer is no braid demo of this version", ErrConfig)
	}
	c := Config{Paths: h.Paths, Size: h.Size}.WithDefaults()
	return &c, c.Check()
}

func newResponder(d *verbs.Device, c *Config) (*responder, error) {
	l, err := newLink(d, c.Paths)
	if err != nil {
		return nil, err
	}
	r := &responder{link: l}
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

// serve answers what the requester asks for, in the order of the
// demonstration.
func (r *responder) serve(ctx context.Context) error {
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
	// The requester leaves first; its goodbye is the end of the session.
	return r.Receive(ctx, "nothing", new(any))
}

// sendDigest answers with the digest of the data region.
func (r *responder) sendDigest(ctx context.Context) error {
	sum, err := digest(r.data)
	if err != nil {
		return err
	}
	return r.send(ctx, sum)
}

// takeMessages receives the messages of the SEND phase and answers with the
// digest of them all.
func (r *responder) takeMessages(ctx context.Context) error {
	for i := range messageCount {
		wr := verbs.RecvWR{ID: uint64(i), SGEs: []verbs.SGE{{MR: r.inbox, Offset: i * chunkSize, Length: chunkSize}}}
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
		SGEs: []verbs.SGE{{MR: r.outbox, Length: len(b)}},
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
