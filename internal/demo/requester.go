package demo

import (
	"context"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/control"
	"github.com/braid-rdma/braid/verbs"
)

// Requester gives the demonstration to a responder.
type Requester struct {
	Config
	Address string                     // of the responder, host:port
	Open    Opener                     // required
	Faults  func(*verbs.Device) Faults // required: the fault filter of a device
	Observe func(Event)                // is told what happens; may be nil
}

// requester is a demonstration under way.
type requester struct {
	*link
	config    Config
	faults    Faults
	announcer *announcer
	report    *Report

	data, counter region    // the responder's
	source        *verbs.MR // what is written
	back          *verbs.MR // what is read back
	credit        *verbs.MR // how much of the stream the responder has checked
	result        *verbs.MR // results of atomics
}

// Run gives the demonstration. Data that is not as it should be is no error:
// the report says so.
func (r Requester) Run(ctx context.Context) (*Report, error) {
	r.Config = r.WithDefaults()
	if err := r.Check(); err != nil {
		return nil, err
	}
	device, err := r.Open(r.Paths)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	c, err := control.Open(device, 1)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	channel, err := control.Dial(ctx, c, r.Address)
	if err != nil {
		return nil, err
	}
	d, err := newRequester(device, channel, r.Config)
	if err != nil {
		return nil, err
	}
	defer d.close()
	d.faults = r.Faults(device)
	d.announcer = newAnnouncer(r.Observe)
	defer d.announcer.close()
	if err := d.perform(ctx); err != nil {
		return nil, d.Fail(err)
	}
	return d.report, nil
}

// newRequester makes what the requester needs and calls the responder.
func newRequester(d *verbs.Device, channel *braid.Channel, c Config) (*requester, error) {
	options, err := c.queuePairOptions()
	if err != nil {
		return nil, err
	}
	l, err := newLink(d, channel, options)
	if err != nil {
		return nil, err
	}
	r := &requester{link: l, config: c, report: &Report{Schema: Schema, QP: "mp"}}
	for _, m := range []struct {
		region **verbs.MR
		size   int
		rights verbs.Access
	}{{&r.source, c.Size, 0}, {&r.back, c.Size, 0}, {&r.credit, 8, verbs.RemoteWrite}, {&r.result, 8, 0}} {
		if *m.region, err = l.pd.AllocMemory(m.size, verbs.LocalWrite|m.rights); err != nil {
			return nil, err
		}
	}
	fillRandom(r.source.Bytes())
	end, err := r.qp.ParamsFor(r.peer)
	if err != nil {
		return nil, err
	}
	r.Line, err = control.Ask(channel, protocol, wish{Paths: c.Paths, Size: c.Size, Credit: regionOf(r.credit), End: end})
	return r, err
}

// greet receives what the responder offers, and connects.
func (r *requester) greet(ctx context.Context) error {
	var theirs offer
	if err := r.Receive(ctx, tellOffer, &theirs); err != nil {
		return err
	}
	r.data, r.counter = theirs.Data, theirs.Counter
	if err := r.connect(theirs.End, r.config.Paths); err != nil {
		return err
	}
	r.report.MTU = r.qp.Query().Attr.MTU
	r.announcer.tell(Event{Kind: Connected})
	return nil
}

// perform runs all phases.
func (r *requester) perform(ctx context.Context) error {
	watched, cancel := r.Watch(ctx)
	defer cancel()
	for _, phase := range []func(context.Context) error{
		r.greet, r.showWrite, r.showRead, r.showSend, r.showAtomics, r.showStream,
	} {
		if err := phase(watched); err != nil {
			return err
		}
	}
	stats := r.qp.Stats()
	r.report.Retransmits, r.report.Spurious = stats.Retransmitted, stats.Spurious
	r.report.Verified = len(r.report.Failures) == 0
	return r.Result(ctx, new(any))
}

// checked records an operation and tells of it.
func (r *requester) checked(op OperationDone, failure string) {
	r.report.note(op, failure)
	r.announcer.tell(Event{Kind: Checked, Op: op})
}
