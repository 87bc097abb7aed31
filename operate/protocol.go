package operate

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// schema is the version of the messages. A later one adds fields and requests, which who does not know
// them ignores and refuses.
const schema = 1

// What can be asked for.
const (
	askIdentity   = "identity"
	askDevice     = "device"
	askEvidence   = "evidence"
	askParameters = "parameters"
	askSet        = "set"
	askHistory    = "history"
	askRollBack   = "rollback"
	askTraces     = "traces"
)

// Changes says whether a request, as a program reads it, needs the right to change something there: one that is not known here does. Says is who asks
// to change what, for a log; it is empty where nothing would change.
func Changes(line []byte) (changes bool, says string) {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return true, ""
	}
	switch q.Do {
	case askIdentity, askDevice, askEvidence, askParameters, askHistory, askTraces:
		return false, ""
	case askSet:
		if q.DryRun {
			return true, ""
		}
		var values []string
		for _, name := range slices.Sorted(maps.Keys(q.Values)) {
			values = append(values, name+"="+q.Values[name])
		}
		return true, fmt.Sprintf("%q asks to set %q", q.By, strings.Join(values, " "))
	case askRollBack:
		return true, fmt.Sprintf("%q asks to roll a change back", q.By)
	}
	return true, fmt.Sprintf("%q asks for %q", q.By, q.Do)
}

// request is one line from an operator.
type request struct {
	Schema    int               `json:"schema"`
	Do        string            `json:"do"`
	For       time.Duration     `json:"for_ns,omitempty"` // evidence: how long
	Selection                   // evidence; device: the queue pairs by number
	Most      int               `json:"most,omitempty"`    // device: no more queue pairs than these, the busiest; 0: all
	After     time.Time         `json:"after,omitzero"`    // traces: only slow events after this
	Values    map[string]string `json:"values,omitempty"`  // set
	By        string            `json:"by,omitempty"`      // set, rollback: who changes it
	Change    int               `json:"change,omitempty"`  // rollback: the change that is undone
	DryRun    bool              `json:"dry_run,omitempty"` // set: only check
}

// Selection is of which queue pairs evidence is gathered: of those with one of the numbers, of one of the channels or with one of the peers. Empty:
// of those that do something.
type Selection struct {
	QueuePairs []uint32     `json:"only,omitempty"`
	Channels   []int        `json:"channels,omitempty"`
	Peers      []netip.Addr `json:"peers,omitempty"`
}

// Empty says whether nothing is named.
func (s *Selection) Empty() bool { return len(s.QueuePairs)+len(s.Channels)+len(s.Peers) == 0 }

// response is one line to an operator: an error, or what was asked for.
type response struct {
	Schema int             `json:"schema"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Identity is who offers a socket.
type Identity struct {
	Host    string    `json:"host,omitempty"` // empty: this machine
	PID     int       `json:"pid"`
	Number  int       `json:"number"` // of those that the process offers, from 1
	Program string    `json:"program"`
	Labels  string    `json:"labels,omitempty"` // such as rack=3,role=db
	Opened  time.Time `json:"opened"`
}

func (i *Identity) String() string {
	text := fmt.Sprintf("%s (%d.%d)", i.Program, i.PID, i.Number)
	if i.Host != "" {
		text += " of " + i.Host
	}
	return text
}

// Parameter is a value of a program that can be looked at, and some of which can be changed.
type Parameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Online      bool   `json:"online"` // it can change while the program runs
}

// Change is one of a program's parameters, or several at once.
type Change struct {
	Number int               `json:"number"` // from 1
	At     time.Time         `json:"at"`
	By     string            `json:"by"`
	Before map[string]string `json:"before"`
	After  map[string]string `json:"after"`
	Undoes int               `json:"undoes,omitempty"` // the change that this one rolled back
}
