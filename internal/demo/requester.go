package demo

import (
	"context"

	"github.com/braid-rdma/braid/cm"
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
	mail          *verbs.MR // room for digests and credits
	letters       [][]byte  // those that came and were not yet read
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
	manager, err := cm.New(device, cm.Config{})
	if err != nil {
		return nil, err
	}
	defer manager.Close()
	line, err := control.Dial(ctx, manager, r.Address, protocol)
	if err != nil {
		return nil, err
	}
	d, err := newRequester(device, line, r.Config)
	if err != nil {
		line.Close()
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

func newRequester(d *verbs.Device, line *control.Line, c Config) (*requester, error) {
	l, err := newLink(d, line)
	if err != nil {
		return nil, err
	}
	r := &requester{link: l, config: c, report: &Report{Schema: Schema, QP: "mp"}}
	for _, m := range []struct {
		region **verbs.MR
		size   int
	}{{&r.source, c.Size}, {&r.back, c.Size}, {&r.mail, mailSlots * mailSlotSize}, {&r.result, 8}} {
		if *m.region, err = l.pd.AllocMemory(m.size, verbs.LocalWrite); err != nil {
			return nil, err
		}
	}
	fillRandom(r.source.Bytes())
	return r, nil
}

// greet agrees with the responder on what to show, and connects.
func (r *requester) greet(ctx context.Context) error {
	if err := r.Send(ctx, askRegions, wish{Paths: r.config.Paths, Size: r.config.Size}); err != nil {
		return err
	}
	var theirs offer
	if err := r.Receive(ctx, tellRegions, &theirs); err != nil {
		return err
	}
	r.data, r.counter = theirs.Data, theirs.Counter
	options, err := r.config.queuePairOptions()
	if err != nil {
		return err
	}
	if err := r.join(ctx, r.Connect, options, r.postAllMail); err != nil {
		return err
	}
	r.report.MTU = r.qp.Query().Attr.MTU
	r.announcer.tell(Event{Kind: Connected})
	return nil
}

// perform runs all phases.
func (r *requester) perform(ctx context.Context) error {
	ctx, cancel := r.Watch(ctx)
	defer cancel()
	for _, phase := range []func(context.Context) error{
		r.greet, r.showWrite, r.showRead, r.showSend, r.showAtomics, r.showStream,
	} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	stats := r.qp.Stats()
	r.report.Retransmits, r.report.Spurious = stats.Retransmitted, stats.Spurious
	r.report.Verified = len(r.report.Failures) == 0
	return r.Receive(ctx, tellEnd, new(any))
}

// checked records an operation and tells of it.
func (r *requester) checked(op OperationDone, failure string) {
	r.report.note(op, failure)
	r.announcer.tell(Event{Kind: Checked, Op: op})
}
