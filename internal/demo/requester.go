package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/braid-rdma/braid/oob"
	"github.com/braid-rdma/braid/verbs"
)

// Requester gives the demonstration to a responder.
type Requester struct {
	Config
	Address string                     // of the responder, host:port
	Open    Opener                     // required
	Faults  func(*verbs.Device) Faults // required: the fault filter of a device
	Observe func(Event)                // hears of what happens; may be nil
}

// requester is a demonstration under way.
type requester struct {
	*link
	config    Config
	faults    Faults
	announcer *announcer
	report    *Report

	data, counter oob.Region // the responder's
	source        *verbs.MR  // what is written
	back          *verbs.MR  // what is read back
	mail          *verbs.MR  // room for digests and credits
	letters       [][]byte   // those that came and were not yet read
	result        *verbs.MR  // results of atomics
}

// Run gives the demonstration. Data that is not as it should be is no error:
// the report says so.
func (r Requester) Run(ctx context.Context) (*Report, error) {
	r.Config = r.WithDefaults()
	if err := r.Check(); err != nil {
		return nil, err
	}
	conn, err := oob.Dial(ctx, r.Address)
	if err != nil {
		return nil, err
	}
	device, err := r.Open(localFor(conn.LocalAddr()), r.Paths)
	if err != nil {
		conn.Close()
		return nil, err
	}
	defer device.Close()
	d, err := newRequester(device, r.Config)
	if err != nil {
		conn.Close()
		return nil, err
	}
	d.faults = r.Faults(device)
	if err := d.greet(ctx, conn); err != nil {
		return nil, err
	}
	defer d.session.Close()
	d.announcer = newAnnouncer(r.Observe)
	defer d.announcer.close()
	if err := d.perform(ctx); err != nil {
		return nil, d.Fail(err)
	}
	return d.report, nil
}

func newRequester(d *verbs.Device, c Config) (*requester, error) {
	l, err := newLink(d, c.Paths)
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
	for i := range mailSlots {
		if err := r.postMail(uint64(i)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// greet connects to the responder.
func (r *requester) greet(ctx context.Context, conn *oob.Conn) error {
	private, err := json.Marshal(hello{Version: version, Paths: r.config.Paths, Size: r.config.Size})
	if err != nil {
		conn.Close()
		return err
	}
	if err := r.connect(ctx, conn, oob.Options{PrivateData: private}); err != nil {
		return err
	}
	remote := r.session.Remote()
	var hasData, hasCounter bool
	r.data, hasData = remote.Region(dataRegion)
	r.counter, hasCounter = remote.Region(counterRegion)
	if !hasData || !hasCounter || r.data.Length != uint64(r.config.Size) {
		r.session.Close()
		return fmt.Errorf("%w: the responder does not offer the regions", ErrConfig)
	}
	attr := r.qp.Query().Attr
	r.report.MTU = attr.MTU
	if attr.Paths != r.config.Paths {
		r.session.Close()
		return fmt.Errorf("%w: the connection has %d paths, not %d", ErrConfig, attr.Paths, r.config.Paths)
	}
	return nil
}

// perform runs all phases.
func (r *requester) perform(ctx context.Context) error {
	ctx, cancel := r.Watch(ctx)
	defer cancel()
	r.announcer.tell(Event{Kind: Connected})
	for _, phase := range []func(context.Context) error{
		r.showWrite, r.showRead, r.showSend, r.showAtomics, r.showStream,
	} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	r.report.Retransmits = r.qp.Stats().Retransmitted
	r.report.Verified = len(r.report.Failures) == 0
	return nil
}

// checked records an operation and tells of it.
func (r *requester) checked(op OperationDone, failure string) {
	r.report.note(op, failure)
	r.announcer.tell(Event{Kind: Checked, Op: op})
}
