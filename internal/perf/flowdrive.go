package perf

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// flowServer is this end of what a server takes part in.
type flowServer struct {
	*connection
	name    string
	meter   *meter
	lanes   []*lane
	waiting []flow // in the order in which they began
	flows   uint64 // that have arrived
}

// flowDriver runs a model of flows. One thread begins the flows and polls for all servers.
type flowDriver struct {
	spec        *FlowSpec
	source      *flowSource
	servers     []*flowServer
	total       *meter
	tally       *tally
	waiting     int   // flows that wait, of all servers
	active      int   // lanes that are busy, of all servers
	pace        *pace // nil: as fast as the network takes it
	turn        int   // of the servers, for the pace
	yields      bool  // as that of an endpoint
	interrupted atomic.Bool
}

// newFlowDriver is one without servers yet, of which there will be as many.
func newFlowDriver(spec *FlowSpec, servers int) *flowDriver {
	return &flowDriver{
		spec: spec, source: newFlowSource(spec, servers), total: newMeter(), tally: newTally(),
		yields: runtime.GOMAXPROCS(0) == 1,
	}
}

// run begins flows until their time is over, and waits for those that have begun.
func (d *flowDriver) run(ctx context.Context) error {
	// A thread that polls stays where its cache is warm.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.total.begin()
	over := false
	for spins := 0; ; spins++ {
		now := time.Since(d.total.start)
		if !over {
			// Those that were due before the end begin, if late.
			if err := d.begin(min(now, d.spec.Connection.Duration)); err != nil {
				return err
			}
			over = now >= d.spec.Connection.Duration || d.interrupted.Load()
		}
		if err := d.collect(); err != nil {
			return err
		}
		if err := d.resume(); err != nil {
			return err
		}
		switch {
		case over && d.end(now):
			return nil
		case spins%spinsPerCheck == 0 && ctx.Err() != nil:
			return context.Cause(ctx)
		case spins%spinsPerCheck == 0 && d.yields:
			runtime.Gosched()
		case d.active == 0:
			d.rest(now)
		}
	}
}

// begin begins the flows that are due.
func (d *flowDriver) begin(now time.Duration) error {
	if d.spec.Rate == 0 {
		return d.beginClosed(now)
	}
	for d.source.next.at <= now {
		f := d.source.next
		d.source.advance()
		if d.waiting == maxWaiting {
			d.tally.turnedAway++
			continue
		}
		s := d.servers[f.server]
		s.waiting = append(s.waiting, f)
		d.waiting++
		if err := d.fill(s); err != nil {
			return err
		}
	}
	return nil
}

// beginClosed begins a flow on each lane that has none.
func (d *flowDriver) beginClosed(now time.Duration) error {
	if !d.source.on(now) {
		return nil
	}
	for i, s := range d.servers {
		for _, l := range s.lanes {
			if l.busy {
				continue
			}
			if err := d.start(l, d.source.another(now, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill begins flows that wait for a server, on the lanes that have none.
func (d *flowDriver) fill(s *flowServer) error {
	for _, l := range s.lanes {
		if l.busy {
			continue
		}
		if len(s.waiting) == 0 {
			return nil
		}
		f := s.waiting[0]
		s.waiting = s.waiting[1:]
		d.waiting--
		if err := d.start(l, f); err != nil {
			return err
		}
	}
	return nil
}

// start begins a flow on a lane that has none.
func (d *flowDriver) start(l *lane, f flow) error {
	d.active++
	l.pace = d.pace
	return l.begin(f)
}

// collect takes in what has completed.
func (d *flowDriver) collect() error {
	for _, s := range d.servers {
		n, err := s.cq.Poll(s.completions[:])
		if err != nil {
			return err
		}
		if err := firstError(s.completions[:n]); err != nil {
			return s.Explain(err)
		}
		for i := range n {
			if err := d.complete(s, s.lanes[s.completions[i].WRID>>countBits]); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete takes in that a message has arrived, and with it perhaps a flow.
func (d *flowDriver) complete(s *flowServer, l *lane) error {
	now := time.Now()
	bytes := l.complete()
	s.meter.add(now, 1, int(bytes))
	d.total.add(now, 1, int(bytes))
	if l.busy {
		return l.post()
	}
	d.active--
	if d.stopped(l) {
		return nil
	}
	s.flows++
	took := now.Sub(d.total.start) - l.flow.at
	s.meter.latency.record(took)
	d.tally.finish(&l.flow, took)
	return d.fill(s)
}

// stopped says whether a lane's flow was cut off.
func (d *flowDriver) stopped(l *lane) bool { return l.flow.server < 0 }

// end says whether all is over. What has not arrived when the drain is over too, or when
// somebody asks for the end, is cut off.
func (d *flowDriver) end(now time.Duration) bool {
	for _, s := range d.servers {
		d.tally.waiting += uint64(len(s.waiting))
		d.waiting -= len(s.waiting)
		s.waiting = nil
	}
	if d.interrupted.Load() || now > d.spec.Connection.Duration+d.spec.Drain {
		d.cut()
	}
	return d.active == 0
}

// cut ends the flows that are on their way.
func (d *flowDriver) cut() {
	for _, s := range d.servers {
		for _, l := range s.lanes {
			if !l.busy || d.stopped(l) {
				continue
			}
			d.tally.unfinished++
			l.flow.server = -1
			if l.stop(); !l.busy {
				d.active--
			}
		}
	}
}

// rest lets the processor go while nothing is on its way. A sleep ends late, so it ends some
// time before the next flow.
func (d *flowDriver) rest(now time.Duration) {
	const early = time.Millisecond
	gap := early * 2
	if d.spec.Rate > 0 {
		gap = min(d.source.next.at, d.spec.Connection.Duration) - now
	}
	if gap > early {
		// Not for long: the end may be asked for meanwhile.
		time.Sleep(min(gap-early, 10*early))
	}
}
