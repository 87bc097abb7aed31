package traffic

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// reportTime is how often a receiver tells what has arrived.
	reportTime = 100 * time.Millisecond
	// drainTime bounds the wait for what is on the way when a sender is to stop.
	drainTime = 3 * time.Second
	// connectTime bounds the wait for the peer.
	connectTime = 10 * time.Second
)

// The roles of an agent, as its first argument.
const (
	roleSender   = "send"
	roleReceiver = "receive"
)

// end is what both roles can do.
type end interface {
	hello() greeting
	connect(ctx context.Context, peer greeting) error
	counters() map[string]uint64
	close()
}

type sender interface {
	end
	send(ctx context.Context, stop <-chan struct{}) (uint64, error)
}

type receiver interface {
	end
	receive(ctx context.Context, c *checker, m *meter) error
}

// Agent is the body of a flow's process: a role and a specification as
// arguments, commands on stdin, reports on stdout. It ends when stdin does, and
// so with whoever started it.
func Agent(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("%w: an agent needs a role and a specification", ErrSpec)
	}
	a := &agent{commands: make(chan command), out: json.NewEncoder(stdout)}
	if err := json.Unmarshal([]byte(args[1]), &a.spec); err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go a.listen(ctx, cancel, stdin)
	err := a.spec.check()
	if err == nil {
		err = a.run(ctx, args[0])
	}
	if err != nil {
		a.say(report{Error: err.Error()})
	}
	return err
}

// agent is one end of a flow in its own process.
type agent struct {
	spec     Spec
	commands chan command

	mu  sync.Mutex
	out *json.Encoder
}

// say writes a report. If the parent has exited, the error is ignored.
func (a *agent) say(r report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.out.Encode(r)
}

// listen passes commands on until stdin ends, which ends everything.
func (a *agent) listen(ctx context.Context, cancel context.CancelFunc, stdin io.Reader) {
	defer cancel()
	lines := json.NewDecoder(bufio.NewReader(stdin))
	for {
		var c command
		if lines.Decode(&c) != nil {
			return
		}
		select {
		case a.commands <- c:
		case <-ctx.Done():
			return
		}
	}
}

// run plays a role.
func (a *agent) run(ctx context.Context, role string) error {
	switch role {
	case roleSender:
		return play(ctx, a, newSender, a.sendAll)
	case roleReceiver:
		return play(ctx, a, newReceiver, a.receiveAll)
	}
	return fmt.Errorf("%w: role %q", ErrSpec, role)
}

func newSender(spec Spec) (sender, error) {
	switch {
	case spec.Kind == Bundle:
		return newBundleSender(spec)
	case spec.Kind.rdma():
		return newRDMASender(spec)
	}
	return &tcpSender{spec: spec}, nil
}

func newReceiver(spec Spec) (receiver, error) {
	switch {
	case spec.Kind == Bundle:
		return newBundleReceiver(spec)
	case spec.Kind.rdma():
		return newRDMAReceiver(spec)
	}
	return newTCPReceiver(spec)
}

// play opens an end, connects it and lets it do its part.
func play[E end](ctx context.Context, a *agent, open func(Spec) (E, error), part func(context.Context, E) final) error {
	e, err := open(a.spec)
	if err != nil {
		return err
	}
	defer e.close()
	hello := e.hello()
	a.say(report{Hello: &hello})
	peer, err := a.next(ctx)
	if err != nil {
		return err
	}
	if peer.Connect == nil {
		return fmt.Errorf("%w: a command came before the peer", ErrAgent)
	}
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := e.connect(connecting, *peer.Connect); err != nil {
		return err
	}
	a.say(report{Ready: true})
	last := part(ctx, e)
	last.Counters = e.counters()
	a.say(report{Final: &last})
	return nil
}

// next waits for a command.
func (a *agent) next(ctx context.Context) (command, error) {
	select {
	case c := <-a.commands:
		return c, nil
	case <-ctx.Done():
		return command{}, context.Cause(ctx)
	}
}

// sendAll sends from the command to start until the one to stop.
func (a *agent) sendAll(ctx context.Context, s sender) final {
	if _, err := a.next(ctx); err != nil {
		return final{Failure: err.Error()}
	}
	began := processorTime()
	stop := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = a.next(ctx)
		close(stop)
		time.AfterFunc(drainTime, cancel)
	}()
	messages, err := s.send(ctx, stop)
	if err != nil && closed(stop) {
		err = fmt.Errorf("what was on the way has not arrived within %v: %w", drainTime, err)
	}
	last := final{Messages: messages}
	if timed, ok := s.(interface{ times() []int64 }); ok {
		last.Times = timed.times()
	}
	return finish(last, began, err)
}

// receiveAll receives until the command to stop, or until the sender has ended.
func (a *agent) receiveAll(ctx context.Context, r receiver) final {
	check, m := newChecker(a.spec.Size, a.spec.Depth), new(meter)
	began := processorTime()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = a.next(ctx)
		cancel()
	}()
	reporting := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(reportTime)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-reporting:
			}
			if news, some := m.take(); some {
				a.say(report{Arrivals: &news})
			}
			if closed(reporting) {
				return
			}
		}
	}()
	err := r.receive(ctx, check, m)
	close(reporting)
	<-ended
	return finish(final{Messages: check.next, Wrong: check.wrong}, began, err)
}

// finish completes the last report.
func finish(f final, began time.Duration, err error) final {
	f.CPU = int64(processorTime() - began)
	if err != nil {
		f.Failure = err.Error()
	}
	return f
}
