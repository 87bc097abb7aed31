package oob

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// The frame of every message.
const (
	magic   = "braid-oob"
	version = 1
)

// kind says what a message is for.
type kind string

const (
	kindHello  kind = "hello"  // parameters of the sender's queue pair
	kindReady  kind = "ready"  // the sender's queue pair is in RTS
	kindReject kind = "reject" // no connection, for Reason
	kindData   kind = "data"   // from the program, within a session
	kindBye    kind = "bye"    // the session ends in good order
)

// message is what travels. Which fields belong to it follows from its kind.
type message struct {
	Magic   string  `json:"magic"`
	Version int     `json:"version"`
	Kind    kind    `json:"kind"`
	Params  *params `json:"params,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Data    []byte  `json:"data,omitempty"`
}

// encode is the JSON of a message.
func (m message) encode() ([]byte, error) {
	m.Magic, m.Version = magic, version
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("oob: encode: %w", err)
	}
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(b))
	}
	return b, nil
}

// decode parses and checks a message. Fields that it does not know are passed
// over, so that a later release can add some without a new version.
func decode(b []byte) (message, error) {
	// Magic and version are looked at first, by themselves: what follows in
	// another version may have another shape.
	var head struct {
		Magic   string `json:"magic"`
		Version int    `json:"version"`
	}
	if err := unmarshal(b, &head); err != nil {
		return message{}, err
	}
	if head.Magic != magic {
		return message{}, fmt.Errorf("%w: the magic word is missing; the peer is not braid", ErrMalformed)
	}
	if head.Version != version {
		return message{}, fmt.Errorf("%w (theirs %d, ours %d)", ErrVersion, head.Version, version)
	}
	var m message
	if err := unmarshal(b, &m); err != nil {
		return message{}, err
	}
	return m, m.check()
}

func unmarshal(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w: something follows the message", ErrMalformed)
	}
	return nil
}

// check refuses a message whose fields do not fit its kind.
func (m *message) check() error {
	switch {
	case m.Kind == kindHello && m.Params == nil:
		return fmt.Errorf("%w: hello without parameters", ErrMalformed)
	case m.Kind != kindHello && m.Params != nil:
		return fmt.Errorf("%w: %q with parameters", ErrMalformed, m.Kind)
	case m.Kind != kindData && m.Data != nil:
		return fmt.Errorf("%w: %q with data", ErrMalformed, m.Kind)
	case len(m.Data) > MaxData:
		return fmt.Errorf("%w: %d bytes of data", ErrTooLarge, len(m.Data))
	case len(m.Reason) > maxReason:
		return fmt.Errorf("%w: a reason of %d bytes", ErrMalformed, len(m.Reason))
	}
	switch m.Kind {
	case kindHello, kindReady, kindReject, kindData, kindBye:
		return nil
	}
	return fmt.Errorf("%w: unknown kind %.20q", ErrMalformed, m.Kind)
}
