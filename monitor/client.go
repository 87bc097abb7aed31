package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/braid-rdma/braid/operate"
)

// Client asks a monitor what it knows, and the agents about the programs of their machines.
type Client struct {
	nats    *nats.Conn
	changes bool // it may change something
}

// Dial connects to a monitor with the token of a reader or an operator.
func Dial(address, join string) (*Client, error) { return new(External).Dial(address, join) }

// Dial connects to the monitor of a cluster, where the cluster says what who may do; without one it is the function of that name.
func (e *External) Dial(address, join string) (*Client, error) {
	where, options, err := e.dial(address, join, RoleReader, RoleOperator)
	if err != nil {
		return nil, err
	}
	name, changes := address, true
	if e.URL != "" {
		name = e.name()
	} else if role, _, _, err := parseJoin(join); err == nil {
		changes = role == RoleOperator
	}
	c, err := nats.Connect(where, append(options, nats.Name("braid"), nats.MaxReconnects(0))...)
	if err != nil {
		return nil, fmt.Errorf("monitor %s: %w", name, err)
	}
	return &Client{c, changes}, nil
}

// Close ends the connection.
func (c *Client) Close() { c.nats.Close() }

// State is what the monitor knows.
func (c *Client) State(ctx context.Context) (*State, error) {
	m, err := c.nats.RequestWithContext(ctx, subjectState, nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("there is no monitor: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	s := new(State)
	return s, json.Unmarshal(m.Data, s)
}

// Programs are those of a machine. Each request to one of them goes by way of its agent.
func (c *Client) Programs(ctx context.Context, host string) ([]*operate.Program, error) {
	r, err := c.ask(ctx, host, subjectRead, &question{})
	if err != nil {
		return nil, err
	}
	all := make([]*operate.Program, len(r.Programs))
	for i, identity := range r.Programs {
		all[i] = c.program(host, identity)
	}
	return all, nil
}

// Program is one of them, which need not exist.
func (c *Client) Program(host string, id ProgramID) *operate.Program {
	return c.program(host, operate.Identity{PID: id.PID, Number: id.Number})
}

func (c *Client) program(host string, identity operate.Identity) *operate.Program {
	identity.Host = host
	id := &ProgramID{identity.PID, identity.Number}
	return operate.Remote(identity, func(ctx context.Context, line []byte) ([]byte, error) {
		subject := subjectRead
		if changes, _ := operate.Changes(line); changes {
			if !c.changes {
				return nil, errors.New("the token of an operator is needed to change something")
			}
			subject = subjectChange
		}
		r, err := c.ask(ctx, host, subject, &question{Program: id, Line: line})
		if err != nil {
			return nil, err
		}
		return r.Line, nil
	})
}

// History is the last hour of a queue pair, as the agent of its machine has seen it.
func (c *Client) History(ctx context.Context, host string, id ProgramID, qpn uint32) (*History, error) {
	r, err := c.ask(ctx, host, subjectRead, &question{Program: &id, QueuePair: qpn})
	if err != nil {
		return nil, err
	}
	return r.History, nil
}

// ask asks the agent of a machine.
func (c *Client) ask(ctx context.Context, host, subject string, q *question) (*reply, error) {
	q.Version = version
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxAsked)
	defer cancel()
	m, err := c.nats.RequestWithContext(ctx, subject+token(host), text)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("%s: %w", host, errNoAgent)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	r, err := unpack(m.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	for _, known := range []error{errNoProgram, errReadOnly, errQuestions} {
		if r.Error == known.Error() {
			return nil, fmt.Errorf("%s: %w", host, known)
		}
	}
	if r.Error != "" {
		return nil, fmt.Errorf("%s: %s", host, r.Error)
	}
	return r, nil
}

// errNoAgent means that a host is unknown, or its agent away.
var errNoAgent = errors.New("no agent of this name is there")
