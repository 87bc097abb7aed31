package braid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braid-rdma/braid/internal/sched"
	"github.com/braid-rdma/braid/operate"
)

// beginOffering opens the socket for operators. Where that is not possible the context works without.
func (c *Context) beginOffering() {
	if c.cfg.NoOperator || c.runtime.Virtual() {
		return
	}
	// Nil where it fails; StatsFile says why there is no directory.
	c.offering, _ = operate.Offer(operate.Source{
		Device: c.device, Labels: c.cfg.Labels, State: c.operatorState, QueuePairOf: c.queuePairOf, Parameters: c.operatorParameters, Set: c.operatorSet,
		Traces: c.operatorTraces,
	})
}

// operatorTraces are the traces and slow events that the context has kept, or only the slow events after an instant.
func (c *Context) operatorTraces(slowAfter time.Time) (t *operate.Traces, err error) {
	t = &operate.Traces{}
	slow := slices.DeleteFunc(c.SlowEvents(), func(s *Slow) bool { return !s.At.After(slowAfter) })
	if t.Slow, err = texts(slow); err != nil || !slowAfter.IsZero() {
		return t, err
	}
	if t.Last, err = texts(c.Traces()); err == nil {
		t.Slowest, err = texts(c.SlowestTraces())
	}
	return t, err
}

// texts are values as JSON.
func texts[T any](all []T) ([]json.RawMessage, error) {
	list := make([]json.RawMessage, len(all))
	for i, one := range all {
		text, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		list[i] = text
	}
	return list, nil
}

// operatorState is what an operator is shown of the context at this moment.
func (c *Context) operatorState(wanted func(qpn uint32) bool) (s operate.ContextState) {
	c.exclusive(func() {
		s.MemoryFull, s.Waiting = len(c.bulk.starved) > 0, int(c.waiting.Load())
		for _, ch := range c.channels {
			if ch != nil && ch.conn != nil && wanted(uint32(ch.qp.Number())) {
				s.Channels = append(s.Channels, ch.operatorState())
			}
		}
	})
	s.LongestPoll, s.PollPlace = c.longestPoll(time.Now().Add(-2 * time.Second))
	return s
}

// queuePairOf is the queue pair of a channel.
func (c *Context) queuePairOf(channel int) (qpn uint32, ok bool) {
	c.exclusive(func() {
		if channel < 0 || channel >= len(c.channels) {
			return
		}
		if ch := c.channels[channel]; ch != nil && ch.conn != nil {
			qpn, ok = uint32(ch.qp.Number()), true
		}
	})
	return qpn, ok
}

func (ch *Channel) operatorState() operate.ChannelState {
	var n Stats
	ch.count(&n)
	state := operate.ChannelState{
		Number: int(ch.number), QPN: uint32(ch.qp.Number()), Peer: ch.conn.RemoteAddr().String(),
		Queued: n.Queued, SendWindow: n.SendWindow, Unread: n.Unread, OpenCalls: n.OpenCalls, Handling: n.Handling,
		Calls: ch.context.cfg.Calls, Reads: n.Reads, Sent: n.Sent, Received: n.Received,
	}
	if ch.fallback != nil {
		at := ch.fallback.snapshot()
		state.OnTCP, state.OnCommand = at.onTCP, at.onTCP && at.reason == MovedOnCommand
	}
	return state
}

// longestPoll is the longest time since an instant in which the device was not polled, if that is measured (Config.PollingWarn).
func (c *Context) longestPoll(since time.Time) (longest time.Duration, place string) {
	for _, s := range c.SlowEvents() {
		if s.Phase == PhasePoll && s.At.After(since) && s.Took > longest {
			longest, place = s.Took, s.Place
		}
	}
	return longest, place
}

// filterParameter is what operators have beyond the configuration.
const filterParameter = "filter"

// operatorParameters are those of the configuration, and the filter.
func (c *Context) operatorParameters() (all []operate.Parameter) {
	for p, value := range c.Config().Parameters() {
		all = append(all, operate.Parameter{Name: p.Name, Value: value, Description: p.Description, Online: p.Online})
	}
	filter := operate.Parameter{Name: filterParameter, Online: true, Description: "what is done to messages that arrive, as drop=0.01,corrupt=0.001,duplicate=0.01,slow=0.1,delay=5ms,seed=1; off"}
	c.exclusive(func() { filter.Value = c.filter.text() })
	return append(all, filter)
}

// operatorSet changes parameters, all or none; all that is wrong is told.
func (c *Context) operatorSet(values map[string]string, dryRun bool) (err error) {
	var filter *Filter
	text, filtered := values[filterParameter]
	if filtered {
		values = maps.Clone(values)
		delete(values, filterParameter)
		filter, err = parseFilter(text)
	}
	change := func(cfg *Config) error { return errors.Join(err, cfg.setAll(values)) }
	var wrong error
	var before Config
	var moves []<-chan error
	c.exclusive(func() {
		if dryRun {
			_, wrong = c.changed(change)
			return
		}
		before = c.cfg
		moves, wrong = c.update(change)
	})
	if wrong == nil {
		wrong = c.awaitMoves(moves)
	}
	switch {
	case dryRun:
	case wrong == nil:
		c.exclusive(func() {
			if filtered {
				c.install(filter)
			}
		})
		c.logChange(values, text)
	case moves != nil:
		c.restore(&before, values)
	}
	return wrong
}

// moveTime is how long an operator waits for the channels to move. To open a connection takes a third of the patience
// at most, of which the default is 4.3 s.
const moveTime = 5 * time.Second

// awaitMoves waits for channels that were commanded to a carrier, and fails if one does not obey. Those that end have no need to.
func (c *Context) awaitMoves(moves []<-chan error) error {
	ctx, cancel := c.runtime.WithTimeout(context.Background(), moveTime)
	defer cancel()
	failed := 0
	var first error
	for _, move := range moves {
		err, replied := sched.Receive(ctx, c.runtime, move, c.closed)
		if !replied {
			err = fmt.Errorf("not within %v", moveTime)
		}
		if err == nil || errors.Is(err, ErrClosed) {
			continue
		}
		if failed++; first == nil {
			first = err
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d channels do not move, so that nothing is changed: %w", failed, len(moves), first)
}

// restore gives some parameters the values that they had.
func (c *Context) restore(before *Config, changed map[string]string) {
	old := map[string]string{}
	for p, value := range before.Parameters() {
		if _, ok := changed[p.Name]; ok {
			old[p.Name] = value
		}
	}
	// They were possible a moment ago. If the program has changed something meanwhile, what it made stays.
	c.exclusive(func() { _, _ = c.update(func(cfg *Config) error { return cfg.setAll(old) }) })
}

// noFilter and ownFilter stand for what a text cannot say.
const noFilter, ownFilter = "off", "the program's own"

// parseFilter reads a filter for all messages.
func parseFilter(text string) (*Filter, error) {
	if text == noFilter {
		return nil, nil
	}
	f := &Filter{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch name {
		case "drop":
			f.Drop, err = strconv.ParseFloat(value, 64)
		case "duplicate":
			f.Duplicate, err = strconv.ParseFloat(value, 64)
		case "corrupt":
			f.Corrupt, err = strconv.ParseFloat(value, 64)
		case "slow":
			f.Slow, err = strconv.ParseFloat(value, 64)
		case "delay":
			f.Delay, err = time.ParseDuration(value)
		case "seed":
			f.Seed, err = strconv.ParseUint(value, 10, 64)
		default:
			err = errors.New("want drop, duplicate, corrupt, slow, delay or seed, or off")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: filter: %q: %w", ErrConfig, part, err)
		}
	}
	return f, f.check()
}

// text is a filter as parseFilter reads it.
func (f *filtering) text() string {
	switch {
	case f == nil:
		return noFilter
	case f.Match != nil:
		return ownFilter
	}
	return fmt.Sprintf("drop=%v,duplicate=%v,corrupt=%v,slow=%v,delay=%v,seed=%d", f.Drop, f.Duplicate, f.Corrupt, f.Slow, f.Delay, f.Seed)
}
