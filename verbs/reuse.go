package verbs

import "github.com/braid-rdma/braid/transport"

// renewable is a state machine that can begin anew in the memory that it has.
type renewable interface {
	transport.QP
	Renew(cfg transport.Config) error
}

// transportFor is the state machine of a new queue pair: that of a closed one if the options
// name one that fits, else a new one. The old one's number is not used again, so that a packet
// of its connection that comes late finds no queue pair.
func (d *Device) transportFor(o *QPOptions, cfg transport.Config) (transport.QP, error) {
	old := o.Reuse
	o.Reuse = nil // a queue pair does not keep those before it
	if old == nil || !old.closed || old.device != d || old.kind != o.Type {
		return d.newTransport(o.Type, cfg)
	}
	t, ok := old.transport.(renewable)
	if !ok { // a NIC has destroyed it, or another queue pair has it
		return d.newTransport(o.Type, cfg)
	}
	former := &formerQP{counters: *t.Counters()}
	if err := t.Renew(cfg); err != nil {
		return nil, err
	}
	old.transport = former
	return t, nil
}

// formerQP is what a closed queue pair has when another uses its memory: only what a program may
// ask of a closed one. The counters of its paths are gone: they take longer to copy than all else.
type formerQP struct {
	transport.QP // nil: nothing else is called
	counters     transport.Counters
}

func (f *formerQP) State() State                                { return Err }
func (f *formerQP) Attr() transport.Attr                        { return transport.Attr{} }
func (f *formerQP) Counters() *transport.Counters               { return &f.counters }
func (f *formerQP) Paths() []transport.PathCounters             { return nil }
func (f *formerQP) Blocked(transport.Time) (r transport.Reason) { return r }
