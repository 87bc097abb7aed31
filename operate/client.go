package operate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"syscall"
	"time"
)

// maxResponse is how long a response may be, and maxGreeting the first one: root is greeted by whoever likes, all at the same time.
const (
	maxResponse = 64 << 20
	maxGreeting = 256 << 10
)

// Program is a program that offers its socket, seen from an operator's side. One goroutine at a time uses it.
type Program struct {
	Identity
	carrier carrier
}

// carrier takes a line to a program and brings one back.
type carrier interface {
	exchange(ctx context.Context, line []byte) ([]byte, error)
	Close() error
}

const (
	// greetingTime is how long a program may take to say who it is: one that was stopped never does.
	greetingTime = 3 * time.Second
	// responseTime is for any other response, besides the time for which samples are taken. Changes wait for channels, and for each other.
	responseTime = 30 * time.Second
)

// ErrSilent means that a program does not say who it is, or has stopped to respond.
var ErrSilent = errors.New("the program does not respond; is it stopped?")

// errLines is a request that others wrote, in more lines than one. JSON may have them between its words, but a program takes each line
// for a request of its own: a change within one that Changes takes for harmless.
var errLines = errors.New("a request is one line")

// Programs yields the programs of this user, or for root of all, that offer a socket, connected; whoever takes one closes it. A socket that cannot be
// used is an error, after which others follow. They are asked at the same time, so that one that is stopped does not
// hold up the others.
func Programs(ctx context.Context) iter.Seq2[*Program, error] {
	return func(yield func(*Program, error) bool) {
		type greeted struct {
			program *Program
			err     error
		}
		var all []chan greeted
		for path := range sockets() {
			c := make(chan greeted, 1)
			all = append(all, c)
			go func() {
				p, err := Dial(ctx, path)
				c <- greeted{p, err}
			}()
		}
		wanted := true
		for _, c := range all {
			g := <-c
			switch {
			case errors.Is(g.err, fs.ErrNotExist) || errors.Is(g.err, syscall.ECONNREFUSED):
				// It has ended, a moment ago or by a kill.
			case wanted:
				wanted = yield(g.program, g.err)
			case g.err == nil:
				g.program.Close()
			}
		}
	}
}

// Dial connects to the socket of a program.
func Dial(ctx context.Context, path string) (*Program, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetingTime, ErrSilent)
	defer cancel()
	conn, err := dial(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &socket{conn, bufio.NewReader(conn), maxGreeting}
	p := &Program{carrier: s}
	if err := p.ask(ctx, &request{Do: askIdentity}, &p.Identity); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.most = maxResponse
	return p, nil
}

// Close ends the connection.
func (p *Program) Close() error { return p.carrier.Close() }

// Exchange takes a request of an operator elsewhere to the program, and returns what it responds.
func (p *Program) Exchange(ctx context.Context, line []byte) ([]byte, error) {
	return p.carrier.exchange(ctx, line)
}

// Device is the device of the program and its queue pairs, as they are now.
func (p *Program) Device(ctx context.Context) (*Device, error) { return p.Busiest(ctx, 0) }

// Busiest is the device with no more than some of its queue pairs: those that have moved most. Zero stands for all.
func (p *Program) Busiest(ctx context.Context, most int) (*Device, error) {
	d := new(Device)
	err := p.ask(ctx, &request{Do: askDevice, Most: most}, d)
	d.Program.Host = p.Host
	return d, err
}

// QueuePair is the state of one queue pair, and when that was so; nil if there is none of this number.
func (p *Program) QueuePair(ctx context.Context, number uint32) (*QueuePairState, time.Time, error) {
	d := new(Device)
	if err := p.ask(ctx, &request{Do: askDevice, Selection: Selection{QueuePairs: []uint32{number}}}, d); err != nil {
		return nil, time.Time{}, err
	}
	for i := range d.QueuePairs {
		if q := &d.QueuePairs[i]; q.Number == number {
			return q, d.At, nil
		}
	}
	return nil, d.At, nil
}

// Traces are those that the program has kept of its messages.
func (p *Program) Traces(ctx context.Context) (*Traces, error) {
	t := new(Traces)
	return t, p.ask(ctx, &request{Do: askTraces}, t)
}

// SlowAfter are the phases and polls that took too long after an instant, as package braid writes a Slow.
func (p *Program) SlowAfter(ctx context.Context, after time.Time) ([]json.RawMessage, error) {
	t := new(Traces)
	err := p.ask(ctx, &request{Do: askTraces, After: after}, t)
	return t.Slow, err
}

// Gather takes samples for a while, of the queue pairs that do something.
func (p *Program) Gather(ctx context.Context, took time.Duration) (*Evidence, error) {
	return p.GatherOf(ctx, took, Selection{})
}

// GatherOf takes samples for a while of some queue pairs, however many others there are. A program of an earlier version may
// return those that do something.
func (p *Program) GatherOf(ctx context.Context, took time.Duration, of Selection) (*Evidence, error) {
	e := new(Evidence)
	err := p.ask(ctx, &request{Do: askEvidence, For: took, Selection: of}, e)
	e.Program.Host = p.Host
	return e, err
}

// Parameters are what the program is set to.
func (p *Program) Parameters(ctx context.Context) (all []Parameter, err error) {
	return all, p.ask(ctx, &request{Do: askParameters}, &all)
}

// Set changes parameters, all of them or none; by is who does. With dryRun it only says whether it could.
func (p *Program) Set(ctx context.Context, values map[string]string, by string, dryRun bool) (*Change, error) {
	c := new(Change)
	return c, p.ask(ctx, &request{Do: askSet, Values: values, By: by, DryRun: dryRun}, c)
}

// History lists the changes of the program's parameters by operators.
func (p *Program) History(ctx context.Context) (all []Change, err error) {
	return all, p.ask(ctx, &request{Do: askHistory}, &all)
}

// RollBack undoes a change; 0 is the last one.
func (p *Program) RollBack(ctx context.Context, change int, by string) (*Change, error) {
	c := new(Change)
	return c, p.ask(ctx, &request{Do: askRollBack, Change: change, By: by}, c)
}

// ask sends a request and reads the response into result.
func (p *Program) ask(ctx context.Context, q *request, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, min(max(0, q.For), maxTook)+responseTime, ErrSilent)
	defer cancel()
	q.Schema = schema
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if line, err = p.carrier.exchange(ctx, line); err != nil {
		if p.PID == 0 { // who it is, is what was asked
			return err
		}
		return fmt.Errorf("%v: %w", &p.Identity, err)
	}
	var r response
	if err := json.Unmarshal(plain(line), &r); err != nil {
		return err
	}
	if r.Error != "" {
		return &RefusedError{p.Identity, r.Error}
	}
	return json.Unmarshal(r.Result, result)
}

// socket carries requests to a program of this machine.
type socket struct {
	net.Conn
	lines *bufio.Reader
	most  int // how long a response may be
}

// exchange sends a line and reads one. The end of the context ends the connection.
func (s *socket) exchange(ctx context.Context, line []byte) (response []byte, err error) {
	line = bytes.TrimSpace(line)
	if bytes.IndexByte(line, '\n') >= 0 {
		return nil, errLines
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if _, err = s.Write(append(line, '\n')); err == nil {
		response, err = readLine(s.lines, s.most)
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET): // the last two where it has not read the request
		err = fmt.Errorf("the program has ended, or has too many operators: %w", io.ErrUnexpectedEOF)
	}
	return response, err
}

// readLine reads a line that is not too long.
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, fmt.Errorf("a response of more than %d bytes", most)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// RefusedError is a program's no.
type RefusedError struct {
	Program Identity
	Reason  string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%v: %s", &e.Program, e.Reason) }

// Remote is a program of another machine, whose requests exchange takes there.
func Remote(i Identity, exchange func(ctx context.Context, line []byte) ([]byte, error)) *Program {
	return &Program{i, remote(exchange)}
}

type remote func(ctx context.Context, line []byte) ([]byte, error)

func (r remote) exchange(ctx context.Context, line []byte) ([]byte, error) { return r(ctx, line) }

// Close has nothing to do: each request is one of its own.
func (remote) Close() error { return nil }
