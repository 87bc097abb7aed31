package monitor

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"
)

// version is that of the messages. A later one adds fields, which who does not know them ignores.
const version = 1

// Subjects of NATS; an agent's end with the name of its host, encoded.
const (
	subjectHello  = "braid.hello."  // a request of an agent, replied to with an assignment
	subjectAssign = "braid.assign." // an assignment to an agent
	subjectCall   = "braid.call"    // a monitor that was started asks agents of an external cluster who they are
	subjectWindow = "braid.window." // a window of an agent, in the stream
	subjectRead   = "braid.read."   // a question to an agent about the programs of its machine
	subjectChange = "braid.change." // one that changes something there
	streamName    = "BRAID_WINDOWS"
)

// hello is what an agent says of itself.
type hello struct {
	Version int       `json:"version"`
	Host    Host      `json:"host"`
	Port    uint16    `json:"port"` // of its responder
	Now     time.Time `json:"now"`
	Have    string    `json:"have,omitempty"` // digest of the assignment that it follows
}

// assignment is what an agent is to do.
type assignment struct {
	Version int           `json:"version"`
	Serial  uint64        `json:"serial"` // a later one takes the place of an earlier one
	Window  time.Duration `json:"window_ns"`
	Targets []assigned    `json:"targets"`
	Digest  string        `json:"digest,omitempty"` // of all that matters to the agent
	Same    bool          `json:"same,omitempty"`   // it is the one that the agent has, and not told again
}

// assigned is a target with the port of its responder.
type assigned struct {
	Target
	Port uint16 `json:"port"`
}

// maxName is the length of a DNS name.
const maxName = 253

// check refuses a host that cannot be: its name is shown to people, and part of subjects.
func (h *Host) check() error {
	for _, text := range []string{h.Name, h.Rack} {
		if len(text) > maxName || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%q is no name of a host or rack", text)
		}
	}
	if h.Paths < 0 || h.Paths > 1<<16 {
		return fmt.Errorf("host %q: %d paths", h.Name, h.Paths)
	}
	if h.Name == "" {
		return errors.New("a host without a name")
	}
	if _, err := netip.ParseAddr(h.Addr); err != nil {
		return fmt.Errorf("host %q: %w", h.Name, err)
	}
	return nil
}

// token is a name as a part of a subject, in which dots and stars have a meaning.
func token(name string) string { return hex.EncodeToString([]byte(name)) }

// nameOf is the name behind the token at the end of a subject.
func nameOf(subject, prefix string) (string, error) {
	name, err := hex.DecodeString(strings.TrimPrefix(subject, prefix))
	return string(name), err
}

// maxPairs bounds a window: a hundred targets of a hundred paths.
const maxPairs = 10_000

// check refuses a window that cannot be.
func (w *Window) check() error {
	if len(w.Pairs) > maxPairs {
		return fmt.Errorf("%d pairs in a window", len(w.Pairs))
	}
	if len(w.Programs) > maxPrograms || len(w.Slow) > maxSlow || len(w.Switches) > maxPorts {
		return fmt.Errorf("%d programs, %d slow events and %d ports in a window", len(w.Programs), len(w.Slow), len(w.Switches))
	}
	for i := range w.Switches {
		if err := w.Switches[i].check(); err != nil {
			return err
		}
	}
	for i := range w.Programs {
		if err := w.Programs[i].check(); err != nil {
			return err
		}
	}
	for i := range w.Pairs {
		if p := &w.Pairs[i]; p.Sent < 0 || p.Lost < 0 || p.Lost > p.Sent || p.Network < 0 || p.Responder < 0 || p.Prober < 0 {
			return fmt.Errorf("pair %+v", *p)
		}
	}
	return nil
}

// maxCounters is how many counters of a program are taken.
const maxCounters = 256

// check refuses a program that cannot be: its names are shown to people.
func (w *ProgramWindow) check() error {
	if len(w.Counters) > maxCounters || len(w.Pairs) > maxCounters || len(w.Program) > maxName || len(w.Labels) > maxEvent {
		return fmt.Errorf("program %d tells too much", w.PID)
	}
	return nil
}
