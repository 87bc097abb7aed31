package wire

import "errors"

// What can be wrong with bytes that claim to be a packet. The parsers return
// these values themselves, unwrapped, because wrapping would allocate for every
// bad packet that a peer cares to send.
var (
	// ErrTruncated: fewer bytes than the header, or the opcode's headers, need.
	ErrTruncated = errors.New("wire: truncated")
	// ErrOpcode: an opcode that is reserved or belongs to a service not supported here.
	ErrOpcode = errors.New("wire: unknown opcode")
	// ErrVersion: a transport header version other than 0, or a multi-path
	// header version other than MPVersion.
	ErrVersion = errors.New("wire: unknown header version")
	// ErrPad: a pad count larger than the bytes that follow the headers.
	ErrPad = errors.New("wire: pad count exceeds payload")
	// ErrPayload: bytes after the headers of an opcode that carries no payload.
	ErrPayload = errors.New("wire: payload on an opcode that has none")
	// ErrMalformed: fields that contradict each other.
	ErrMalformed = errors.New("wire: contradictory fields")
)
