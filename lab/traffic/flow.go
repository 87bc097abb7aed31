package traffic

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"
)

// How long the parent waits for its agents.
const (
	helloTime = 10 * time.Second
	finalTime = drainTime + 5*time.Second
)

// Runner starts flows.
type Runner struct {
	Lab Starter
	// Command is what runs Agent: a program and its first arguments.
	Command []string
}

// End is one end of a flow: a host of the lab and its address to use.
type End struct {
	Host string
	Addr netip.Addr
}

// Flow is traffic on its way.
type Flow struct {
	Kind             Kind
	Began            time.Duration // when sending began, by Now
	sender, receiver *process

	mu     sync.Mutex
	record Record
	bytes  uint64
}

// Result is what came of a flow.
type Result struct {
	Kind   Kind
	Began  time.Duration
	Ended  time.Duration // when it was told to stop
	Record Record

	Messages uint64          // that arrived
	Wrong    uint64          // of these, with wrong bytes or out of order
	Sent     uint64          // messages that the sender took for delivered
	CPU      time.Duration   // of both ends together
	Times    []time.Duration // that messages took which went alone (Spec.Pause)
	Failure  string          // what went wrong; empty: nothing

	SenderCounters, ReceiverCounters map[string]uint64 // braid's
}

// Start starts a flow; it sends when Start returns. The caller stops it.
func (r *Runner) Start(spec Spec, from, to End) (*Flow, error) {
	f := &Flow{Kind: spec.Kind}
	spec = spec.withDefaults()
	var err error
	if f.receiver, err = r.agent(roleReceiver, spec, to, f.addArrivals); err == nil {
		f.sender, err = r.agent(roleSender, spec, from, f.addArrivals)
	}
	if err == nil {
		err = f.connect()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	f.Began = Now()
	f.sender.order(command{Start: true})
	return f, nil
}

// agent starts one end.
func (r *Runner) agent(role string, spec Spec, at End, record func(*arrivals)) (*process, error) {
	spec.Local = at.Addr
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return startProcess(r.Lab, at.Host, slices.Concat(r.Command, []string{role, string(text)}), record)
}

// connect introduces the ends to each other. The sender comes first, because it
// is who dials.
func (f *Flow) connect() error {
	receiver, err := f.receiver.await("greeting", helloTime)
	if err != nil {
		return err
	}
	sender, err := f.sender.await("greeting", helloTime)
	if err != nil {
		return err
	}
	if sender.Hello == nil || receiver.Hello == nil {
		return fmt.Errorf("%w: no greeting", ErrAgent)
	}
	f.sender.order(command{Connect: receiver.Hello})
	if _, err := f.sender.await("connection", helloTime); err != nil {
		return err
	}
	f.receiver.order(command{Connect: sender.Hello})
	_, err = f.receiver.await("connection", helloTime)
	return err
}

// addArrivals takes what the receiver reports.
func (f *Flow) addArrivals(a *arrivals) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record.merge(a)
	for _, b := range a.Bins {
		f.bytes += b.Bytes
	}
}

// Delivered is how many bytes have arrived so far.
func (f *Flow) Delivered() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes
}

// SignalReceiver sends a signal to the process that receives, to stop or kill it.
func (f *Flow) SignalReceiver(signal os.Signal) error { return f.receiver.cmd.Process.Signal(signal) }

// Stop ends a flow and returns what came of it. A failure of the traffic itself
// is part of the result.
func (f *Flow) Stop() (*Result, error) {
	defer f.Close()
	r := &Result{Kind: f.Kind, Began: f.Began, Ended: Now()}
	f.sender.order(command{Stop: true})
	sent, err := f.sender.await("last report", finalTime)
	if err != nil {
		return nil, err
	}
	f.receiver.order(command{Stop: true})
	received, err := f.receiver.await("last report", finalTime)
	if err != nil {
		return nil, err
	}
	if sent.Final == nil || received.Final == nil {
		return nil, fmt.Errorf("%w: no last report", ErrAgent)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Record = f.record
	r.conclude(sent.Final, received.Final)
	return r, nil
}

// conclude judges what the two ends say.
func (r *Result) conclude(sent, received *final) {
	r.Sent, r.Messages, r.Wrong = sent.Messages, received.Messages, received.Wrong
	r.CPU = time.Duration(sent.CPU + received.CPU)
	for _, t := range sent.Times {
		r.Times = append(r.Times, time.Duration(t))
	}
	r.SenderCounters, r.ReceiverCounters = sent.Counters, received.Counters
	switch {
	case received.Wrong > 0:
		r.Failure = fmt.Sprintf("%d of %d messages arrived wrong", received.Wrong, received.Messages)
	case sent.Failure != "":
		r.Failure = sent.Failure
	case received.Failure != "":
		r.Failure = received.Failure
	case sent.Messages != received.Messages:
		r.Failure = fmt.Sprintf("%d messages were sent, %d arrived", sent.Messages, received.Messages)
	}
}

// Close ends both processes at once.
func (f *Flow) Close() {
	for _, p := range []*process{f.sender, f.receiver} {
		if p != nil {
			p.close()
		}
	}
}
