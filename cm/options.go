package cm

import (
	"context"
	"errors"
	"fmt"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// Room for the program's private data.
const (
	// MaxDialData is what Dial can send to a peer of either kind. An RC queue
	// pair may send MaxStandardData, as other RDMA programs do.
	MaxDialData     = programLen - termsLen
	MaxStandardData = programLen
	// MaxAcceptData is what Accept can answer to a braid peer; a standard peer
	// may be told sixteen bytes more.
	MaxAcceptData = mad.REPPrivateLen - termsLen
	// MaxRejectData is what Reject can say.
	MaxRejectData = mad.REJPrivateLen
)

// Config of a manager; the zero value is the default.
type Config struct {
	// Machine has the times and limits of the conversation.
	Machine machine.Config
	// Backlog is how many requests of peers that have proven their address may
	// wait for the program of a listener; default 4096.
	Backlog int
	// Wait, if set, is how Dial and Conn.Close wait for the peer: until one of two channels is closed, or ctx has
	// ended. A program that polls the device for all that it waits for does it that way; see Manager.Attend.
	Wait func(ctx context.Context, a, b <-chan struct{})
}

// Options say how a connection is made.
type Options struct {
	// PD is where the queue pair is made; required.
	PD *verbs.PD
	// QP are the options of the queue pair. Type MP asks for several paths and
	// takes one (RC) where the peer, or the device, does not have MP or does not want it.
	QP verbs.QPOptions
	// Ready, if set, is a queue pair in RESET that was created with such options, or in INIT after what Prepare does. It
	// takes the place of a new one in Dial and where a request is granted, which close it if they fail.
	Ready *verbs.QP
	// NoTicket has Dial prove its address anew, though an earlier connection to the peer has
	// left a ticket which spares the round trip.
	NoTicket bool
	// PrivateData goes to the peer's program with the request or its answer.
	PrivateData []byte
	// Prepare, if set, is called with the queue pair in state INIT: the place to
	// post receives, because the peer may send as soon as it is connected. A queue pair that was ready in INIT needs it
	// only where the two ends come to another type: what was posted has then been flushed.
	Prepare func(*verbs.QP) error
}

// check refuses what would fail only after the peer was bothered.
func (o *Options) check(d *verbs.Device) error {
	switch {
	case o.PD == nil:
		return fmt.Errorf("%w: no protection domain", ErrOptions)
	case o.PD.Device() != d:
		return fmt.Errorf("%w: the protection domain is of another device", ErrOptions)
	case o.QP.Type != verbs.RC && o.QP.Type != verbs.MP:
		return fmt.Errorf("%w: queue pairs of type %v are not connected", ErrOptions, o.QP.Type)
	}
	return nil
}

// discard closes a queue pair that no connection has come to.
func (o *Options) discard() {
	if o.Ready != nil {
		o.Ready.Close()
	}
}

// queuePair is the queue pair of a connection: the one that is ready, or a new one; one of RC where
// the device has no MP, as a NIC has none.
func (o *Options) queuePair() (*verbs.QP, error) {
	if o.Ready != nil {
		err := o.Ready.Retype(o.QP.Type)
		if o.withoutMP(err) {
			err = nil // it is one of RC
		}
		if err == nil && o.Ready.SetConn(o.QP.Conn) == nil {
			return o.Ready, nil
		}
		o.Ready.Close()
	}
	q, err := o.PD.CreateQP(o.QP)
	if o.withoutMP(err) {
		return o.PD.CreateQP(o.QP)
	}
	return q, err
}

// withoutMP makes the options those of RC, if the device has refused MP.
func (o *Options) withoutMP(err error) bool {
	if o.QP.Type != verbs.MP || !errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	o.QP.Type, o.QP.Conn.MTU = verbs.RC, mad.MTUOf(o.QP.Conn.MTU).Bytes()
	return true
}
