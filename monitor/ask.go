package monitor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braid-rdma/braid/operate"
)

const (
	// maxAsked is how long an agent may take for a question: evidence takes a minute at most.
	maxAsked = 90 * time.Second
	// maxQuestions is how many an agent has at a time.
	maxQuestions = 8
	// maxReply is how long one may be when it is unpacked.
	maxReply = 64 << 20
)

// ProgramID names a program of a machine.
type ProgramID struct {
	PID    int `json:"pid"`
	Number int `json:"number"` // of those that its process offers
}

// question is asked of an agent, about a program of its machine.
type question struct {
	Version   int             `json:"version"`
	Program   *ProgramID      `json:"program,omitempty"`    // nil: which programs are there?
	Line      json.RawMessage `json:"line,omitempty"`       // a request, as package operate has it
	QueuePair uint32          `json:"queue_pair,omitempty"` // without a line: its last hour
}

// reply is what an agent says to that, compressed.
type reply struct {
	Version  int                `json:"version"`
	Error    string             `json:"error,omitempty"`
	Programs []operate.Identity `json:"programs,omitempty"`
	Line     json.RawMessage    `json:"line,omitempty"`
	History  *History           `json:"history,omitempty"`
}

// asked is a question for this agent; mayChange says whether who asks may change something. The programs are waited for elsewhere.
func (a *Agent) asked(m *nats.Msg, mayChange bool) {
	select {
	case a.questions <- struct{}{}:
	default:
		a.reply(m, &reply{Error: errQuestions.Error()})
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return // it ends, and nobody would wait for this
	}
	a.probing.Go(func() {
		defer func() { <-a.questions }()
		ctx, cancel := context.WithTimeout(a.ctx, maxAsked)
		defer cancel()
		var q question
		err := json.Unmarshal(m.Data, &q)
		r := &reply{}
		if err == nil {
			err = a.find(ctx, &q, mayChange, r)
		}
		if err != nil {
			r = &reply{Error: err.Error()}
		}
		a.reply(m, r)
	})
}

// reply sends what was found to whoever has asked.
func (a *Agent) reply(m *nats.Msg, r *reply) {
	r.Version = version
	packed, err := pack(r)
	if most := a.nats.MaxPayload(); err == nil && int64(len(packed)) > most {
		packed, err = pack(&reply{Version: version, Error: fmt.Sprintf("%d bytes, compressed, are more than the %d that can be sent; ask for less", len(packed), most)})
	}
	if err == nil {
		err = m.Respond(packed)
	}
	if err != nil {
		a.cfg.Log.Warn("a question has no reply", "error", err)
	}
}

// pack compresses a reply: the states of thousands of queue pairs are much alike.
func pack(r *reply) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// unpack is the opposite, and bounds what somebody makes of a few bytes.
func unpack(packed []byte) (*reply, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxReply+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxReply {
		return nil, fmt.Errorf("more than %d bytes", maxReply)
	}
	r := new(reply)
	return r, json.Unmarshal(text, r)
}

var (
	// errNoProgram means that a program has ended, or is of another user.
	errNoProgram = errors.New("there is no such program")
	// errReadOnly means that nobody elsewhere changes programs of this machine.
	errReadOnly = errors.New("this agent only lets programs be read, not changed")
	// errQuestions means that others ask as well.
	errQuestions = fmt.Errorf("the agent has %d questions already", maxQuestions)
)

// find looks for what a question is about, among the programs of this machine that the agent may ask.
func (a *Agent) find(ctx context.Context, q *question, mayChange bool, r *reply) (err error) {
	if q.Program != nil && q.Line == nil {
		r.History, err = a.collected.history(*q.Program, q.QueuePair)
		return err
	}
	changes, says := operate.Changes(q.Line)
	if q.Program != nil && changes && (!mayChange || a.cfg.ReadOnly) {
		return errReadOnly
	}
	for p, err := range operate.Programs(ctx) {
		if err != nil {
			continue // it is stopped, perhaps
		}
		switch {
		case q.Program == nil:
			r.Programs = append(r.Programs, p.Identity)
		case *q.Program == ProgramID{p.PID, p.Number} && r.Line == nil:
			if says != "" {
				a.cfg.Log.Info(shorten(says), "program", p.Identity.String())
			}
			r.Line, err = p.Exchange(ctx, q.Line)
		}
		p.Close()
		if err != nil {
			return err
		}
	}
	if q.Program != nil && r.Line == nil {
		return errNoProgram
	}
	return nil
}

// noteChange notes that somebody changes a program, whether it obeys or not; the program knows that.
func (m *Monitor) noteChange(msg *nats.Msg) {
	var q question
	name, err := nameOf(msg.Subject, subjectChange)
	if err == nil {
		err = json.Unmarshal(msg.Data, &q)
	}
	if err != nil || q.Program == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, says := operate.Changes(q.Line); says != "" && m.hosts[name] != nil {
		m.note(Event{At: time.Now(), Says: shorten(fmt.Sprintf("%s in program %d of %s.", says, q.Program.PID, name))})
	}
}

// maxEvent is how long an event may be that others have a word in.
const maxEvent = 1000

func shorten(text string) string {
	if len(text) <= maxEvent {
		return text
	}
	return text[:maxEvent] + "…"
}
