package operate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/internal/statfile"
	"github.com/braid-rdma/braid/verbs"
)

var (
	errNoQueuePair  = errors.New("there is no such queue pair or channel")
	errNoParameters = errors.New("the program has no parameters")
)

// Source is what a program offers to its operator.
type Source struct {
	Device *verbs.Device // required
	Labels string        // by which operators choose among programs, such as rack=3,role=db
	// State is what a context does at this moment, and those of its channels whose queue pairs are wanted; nil: there is none.
	State func(wanted func(qpn uint32) bool) ContextState
	// QueuePairOf is the number of the queue pair of a channel; nil: there are no channels.
	QueuePairOf func(channel int) (qpn uint32, ok bool)
	// Parameters lists what can be looked at and changed, and Set changes some of it as a whole or not at all; with dryRun it only
	// says whether it could. Nil: there is nothing.
	Parameters func() []Parameter
	Set        func(values map[string]string, dryRun bool) error
	// Traces are those that were kept, or, after an instant that is not zero, only the slow events since; nil: there are none.
	Traces func(slowAfter time.Time) (*Traces, error)

	identity Identity
}

const (
	// maxOperators is how many may be connected, and maxRequest how long a request may be.
	maxOperators = 8
	maxRequest   = 64 << 10
	// patience is for an operator who is connected and asks for nothing.
	patience = time.Minute
	// maxChanges is how many changes are remembered.
	maxChanges = 100
)

// Offering is the socket of a program.
type Offering struct {
	source   Source
	listener *net.UnixListener
	ctx      context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]bool
	changing sync.Mutex // one change at a time
	changes  []Change
	last     int // number of the last change
}

// offers counts those that the process has made.
var offers atomic.Int64

// Offer opens the socket of a program. It fails where the user has no directory for it; that is no reason not to go on.
func Offer(s Source) (*Offering, error) {
	s.identity = Identity{
		PID: os.Getpid(), Number: int(offers.Add(1)), Program: statfile.Program(), Labels: s.Labels, Opened: time.Now(),
	}
	listener, err := listen(&s.identity)
	if err != nil {
		return nil, fmt.Errorf("operate: %w", err)
	}
	o := &Offering{source: s, listener: listener, conns: map[net.Conn]bool{}}
	o.ctx, o.end = context.WithCancel(context.Background())
	o.running.Go(o.accept)
	return o, nil
}

// Path is that of the socket.
func (o *Offering) Path() string { return o.listener.Addr().String() }

// Close closes the socket and whatever operators have asked for.
func (o *Offering) Close() error {
	o.end()
	err := o.listener.Close() // and removes it
	o.mu.Lock()
	for c := range o.conns {
		c.Close()
	}
	o.mu.Unlock()
	o.running.Wait()
	return err
}

func (o *Offering) accept() {
	for {
		conn, err := o.listener.AcceptUnix()
		if err != nil {
			if o.ctx.Err() != nil || sleep(o.ctx, 100*time.Millisecond) != nil { // no descriptor is free, perhaps
				return
			}
			continue
		}
		if !o.admit(conn) {
			conn.Close()
			continue
		}
		o.running.Go(func() { o.serve(conn) })
	}
}

// admit keeps strangers and crowds out.
func (o *Offering) admit(conn *net.UnixConn) bool {
	if checkPeer(conn) != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.conns) >= maxOperators || o.ctx.Err() != nil {
		return false
	}
	o.conns[conn] = true
	return true
}

func (o *Offering) serve(conn net.Conn) {
	defer func() {
		o.mu.Lock()
		delete(o.conns, conn)
		o.mu.Unlock()
		conn.Close()
	}()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxRequest)
	for {
		_ = conn.SetDeadline(time.Now().Add(patience)) // a closed one fails below
		if !lines.Scan() {
			if errors.Is(lines.Err(), bufio.ErrTooLong) {
				_ = json.NewEncoder(conn).Encode(response{Schema: schema, Error: fmt.Sprintf("a request has %d bytes at most", maxRequest)})
			}
			return
		}
		_ = conn.SetDeadline(time.Now().Add(maxTook + patience))
		if err := json.NewEncoder(conn).Encode(o.respond(lines.Bytes())); err != nil {
			return
		}
	}
}

// respond does what a line asks for.
func (o *Offering) respond(line []byte) response {
	var q request
	err := json.Unmarshal(line, &q)
	var result any
	if err == nil {
		result, err = o.do(&q)
	}
	r := response{Schema: schema}
	if err == nil {
		r.Result, err = json.Marshal(result)
	}
	if err != nil {
		r.Result, r.Error = nil, err.Error()
	}
	return r
}

func (o *Offering) do(q *request) (any, error) {
	switch q.Do {
	case askIdentity:
		return &o.source.identity, nil
	case askDevice:
		return o.source.state(q.Most, q.QueuePairs), nil
	case askEvidence:
		if q.For <= 0 || q.For > maxTook {
			return nil, fmt.Errorf("samples of %v: want more than 0 and at most %v", q.For, maxTook)
		}
		return o.source.gather(o.ctx, q.For, &q.Selection)
	case askParameters:
		if o.source.Parameters == nil {
			return []Parameter{}, nil
		}
		return o.source.Parameters(), nil
	case askSet:
		o.changing.Lock()
		defer o.changing.Unlock()
		return o.set(q.Values, q.By, q.DryRun, 0)
	case askHistory:
		o.changing.Lock()
		defer o.changing.Unlock()
		return slices.Clone(o.changes), nil
	case askRollBack:
		o.changing.Lock()
		defer o.changing.Unlock()
		return o.rollBack(q.Change, q.By)
	case askTraces:
		if o.source.Traces == nil {
			return &Traces{}, nil
		}
		return o.source.Traces(q.After)
	}
	return nil, fmt.Errorf("this version of braid does not know %q", q.Do)
}

// set changes parameters, all or none, and remembers it. It is the only change at this time.
func (o *Offering) set(values map[string]string, by string, dryRun bool, undoes int) (*Change, error) {
	if o.source.Set == nil {
		return nil, errNoParameters
	}
	if len(values) == 0 {
		return nil, errors.New("nothing is to be changed")
	}
	before := o.values(values)
	if err := o.source.Set(values, dryRun); err != nil {
		return nil, err
	}
	c := Change{At: time.Now(), By: by, Before: before, After: values, Undoes: undoes}
	if dryRun {
		return &c, nil
	}
	c.After = o.values(values)
	o.last++
	c.Number = o.last
	o.changes = append(o.changes, c)
	if len(o.changes) > maxChanges {
		o.changes = slices.Delete(o.changes, 0, len(o.changes)-maxChanges)
	}
	return &c, nil
}

// values are what some parameters are now.
func (o *Offering) values(names map[string]string) map[string]string {
	now := map[string]string{}
	for _, p := range o.source.Parameters() {
		if _, ok := names[p.Name]; ok {
			now[p.Name] = p.Value
		}
	}
	return now
}

// rollBack undoes a change, unless somebody has changed the same since: nobody does meanwhile. Number 0 is the last one that was not undone.
func (o *Offering) rollBack(number int, by string) (*Change, error) {
	c, err := o.toUndo(number)
	if err != nil {
		return nil, err
	}
	if now := o.values(c.After); !maps.Equal(now, c.After) {
		return nil, fmt.Errorf("change %d is not what is set now: somebody has changed it since", c.Number)
	}
	return o.set(c.Before, by, false, c.Number)
}

func (o *Offering) toUndo(number int) (Change, error) {
	undone := map[int]bool{}
	for _, c := range slices.Backward(o.changes) {
		switch {
		case c.Undoes != 0:
			undone[c.Undoes] = true
		case c.Number == number && undone[c.Number]:
			return Change{}, fmt.Errorf("change %d was rolled back already", number)
		case c.Number == number || number == 0 && !undone[c.Number]:
			return c, nil
		}
	}
	if number == 0 {
		return Change{}, errors.New("there is no change to roll back")
	}
	return Change{}, fmt.Errorf("there is no change %d", number)
}
