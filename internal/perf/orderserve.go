package perf

import (
	"context"
	"time"

	"github.com/braid-rdma/braid/internal/control"
)

// flowReport is what became of an order.
type flowReport struct {
	Result   FlowResult `json:"result"` // its Servers are the targets of the order
	Tally    tallyText  `json:"tally"`
	Progress Progress   `json:"progress"`
	// Limit is what the server sends at most, in bit/s.
	Limit float64 `json:"limit"`
}

// obey sends the flows that a client asks for, and tells it what became of them.
func (s *Server) obey(ctx context.Context, line *control.Line, c *caller, asked *order, g *grant) error {
	spec, err := s.Orders.check(c.channel.RemoteAddr().Addr(), asked, s.Listener.Addrs())
	if err == nil {
		err = g.reserve(spec.Connection.memory() * int64(len(asked.Targets)))
	}
	if err != nil {
		return line.Fail(err)
	}
	if !s.Orders.busy.CompareAndSwap(false, true) {
		return line.Fail(ErrBusy)
	}
	defer s.Orders.busy.Store(false)
	d := newFlowDriver(&spec, len(asked.Targets))
	defer d.close()
	// Others send to this server meanwhile, and their sessions need the processors as well.
	d.yields = true
	d.pace = newPace(s.Orders.rate(), time.Now())
	if err := s.gather(ctx, line, c, d, asked, g); err != nil {
		return line.Fail(err)
	}
	report, err := d.obey(ctx, line, asked, s.Orders)
	if err != nil {
		return line.Fail(err)
	}
	ending, stop := withinIdle(ctx, g.budget.limits.Idle)
	defer stop()
	return line.End(ending, report)
}

// gather connects to the targets, says so, and waits for the word to begin.
func (s *Server) gather(ctx context.Context, line *control.Line, c *caller, d *flowDriver, asked *order, g *grant) error {
	idle, stop := withinIdle(ctx, g.budget.limits.Idle)
	defer stop()
	beginning, stopWatching := line.Watch(idle)
	defer stopWatching()
	for _, target := range asked.Targets {
		if err := d.join(beginning, s.Listener.towards(beginning, target, c)); err != nil {
			return causeOf(idle, err)
		}
	}
	if err := line.Send(beginning, msgReady, nil); err != nil {
		return err
	}
	return causeOf(idle, line.Receive(beginning, msgGo, new(any)))
}

// obey runs the flows until their time is over, the client says so, or it has gone.
func (d *flowDriver) obey(ctx context.Context, line *control.Line, asked *order, limits *Orders) (*flowReport, error) {
	// The drain ends by itself; this is for a machine that is too busy to see it.
	ctx, cancel := context.WithTimeout(ctx, limits.time()+interruptGrace)
	defer cancel()
	watched, stop := line.Watch(ctx)
	defer stop()
	running, interrupt := context.WithCancel(watched)
	defer interrupt()
	go func() {
		defer interrupt()
		_ = line.Receive(running, msgStop, new(any)) // whatever it is, the client does not want more
	}()
	var last Progress
	o := newObserver(func(p Progress) {
		last = p
		telling, stop := context.WithTimeout(watched, asked.Interval)
		defer stop()
		_ = line.Send(telling, msgProgress, p) // who does not listen misses it
	}, asked.Interval)
	result, err := d.measure(running, interruptGrace, o)
	if err != nil {
		return nil, err
	}
	return &flowReport{Result: *result, Tally: d.tally.text(), Progress: last, Limit: limits.rate()}, nil
}
