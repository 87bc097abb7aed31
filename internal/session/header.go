package session

import (
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/wire"
)

// Kind is the kind of a message.
type Kind uint8

const (
	// Oneway is a message that wants no response. They arrive in order.
	Oneway Kind = 1 + iota
	// Request begins a call. It arrives as soon as it is complete, and so do the others.
	Request
	// Response ends a call.
	Response
	// Failure ends it too; its payload says why.
	Failure
	// Cancel says that the caller does not wait for the response any more, which still comes.
	Cancel
	numKinds
)

// Source is where a large payload is read from.
type Source struct {
	Addr uint64
	RKey wire.RKey
}

// header precedes the payload of a headed frame, or stands for a large one.
//
//	bytes   field
//	0       kind
//	1       flags: 1 large, 2 traced, 4 its trace has a span
//	2-3     length of the header, so that a later version may have more
//	4-7     call
//
// Of a large message follows:
//
//	8-15    address
//	16-19   remote key
//	20-23   length of the payload
//
// and of a traced one its Trace, at the end.
type header struct {
	kind   Kind
	call   uint32
	large  bool
	source Source
	length uint32
	trace  *Trace // nil: it has none
}

const (
	flagLarge   = 1
	flagTraced  = 2
	flagSpan    = 4
	shortHeader = 8
	longHeader  = 24
	// MaxHeader is the most that a frame has before its payload.
	MaxHeader = longHeader + requestTrace + spanTrace
)

// header is that of a message to send.
func (m *Out) header() header {
	return header{kind: m.Kind, call: m.Call, large: m.Large, source: m.Source, length: uint32(m.Length), trace: m.Trace}
}

// size is how many bytes append adds.
func (h header) size() int {
	n := shortHeader
	if h.large {
		n = longHeader
	}
	if h.trace != nil {
		n += traceLength(h.kind, h.trace.spanned(h.kind))
	}
	return n
}

// append adds the header to a frame.
func (h header) append(b []byte) []byte {
	flags := byte(0)
	if h.large {
		flags = flagLarge
	}
	if h.trace != nil {
		flags |= flagTraced
		if h.trace.spanned(h.kind) {
			flags |= flagSpan
		}
	}
	b = append(b, byte(h.kind), flags)
	b = binary.BigEndian.AppendUint16(b, uint16(h.size()))
	b = binary.BigEndian.AppendUint32(b, h.call)
	if h.large {
		b = binary.BigEndian.AppendUint64(b, h.source.Addr)
		b = binary.BigEndian.AppendUint32(b, uint32(h.source.RKey))
		b = binary.BigEndian.AppendUint32(b, h.length)
	}
	if h.trace != nil {
		b = h.trace.append(b, h.kind)
	}
	return b
}

// parse takes a frame apart into its header, whose trace is put into told if there is one, and what follows.
func (h *header) parse(b []byte, told *Trace) (rest []byte, err error) {
	if len(b) < shortHeader {
		return nil, fmt.Errorf("%w: a frame of %d bytes has no header", ErrPeer, len(b))
	}
	length := int(binary.BigEndian.Uint16(b[2:]))
	*h = header{kind: Kind(b[0]), large: b[1]&flagLarge != 0, call: binary.BigEndian.Uint32(b[4:])}
	least := shortHeader
	if h.large {
		least = longHeader
	}
	traced, spanned, fixed := b[1]&flagTraced != 0, b[1]&flagSpan != 0, least
	if traced {
		least += traceLength(h.kind, spanned)
	}
	if length < least || length > len(b) {
		return nil, fmt.Errorf("%w: a header of %d bytes in a frame of %d", ErrPeer, length, len(b))
	}
	if h.kind == 0 || h.kind >= numKinds {
		return nil, fmt.Errorf("%w: a message of kind %d", ErrPeer, h.kind)
	}
	if traced {
		h.trace = told
		h.trace.parse(b[fixed:], h.kind, spanned)
	}
	if h.large {
		h.source = Source{Addr: binary.BigEndian.Uint64(b[8:]), RKey: wire.RKey(binary.BigEndian.Uint32(b[16:]))}
		h.length = binary.BigEndian.Uint32(b[20:])
	}
	return b[length:], nil
}
