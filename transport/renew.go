package transport

import "fmt"

// Renew makes a new queue pair of one that has ended, in the memory of the old one: its queues
// are as long as they have grown. Nothing else of it stays. It needs RESET or ERR, and fails as
// NewMP does.
func (m *MP) Renew(cfg Config) error {
	if err := cfg.MP.check(); err != nil {
		return err
	}
	b, err := m.renewed(cfg)
	if err != nil {
		return err
	}
	*m = MP{} // in place: a literal with the base in it would be made on the stack first
	m.base = b
	m.opt = &m.cfg.MP
	return nil
}

// Renew makes a new queue pair of one that has ended, as that of MP does.
func (q *RC) Renew(cfg Config) error {
	if err := cfg.RC.check(); err != nil {
		return err
	}
	b, err := q.renewed(cfg)
	if err != nil {
		return err
	}
	*q = RC{}
	q.base = b
	return nil
}

// renewed is a new base with the memory of this one.
func (b *base) renewed(cfg Config) (base, error) {
	if b.state != Reset && b.state != Err {
		return base{}, fmt.Errorf("%w: %v; Renew needs RESET or ERR", ErrState, b.state)
	}
	n, err := newBase(cfg)
	if err != nil {
		return base{}, err
	}
	b.sq.clear()
	b.rq.clear()
	b.done.clear()
	b.events.clear()
	n.sq.wqes, n.rq.own.wqes, n.done, n.events = b.sq.wqes, b.rq.own.wqes, b.done, b.events
	return n, nil
}
