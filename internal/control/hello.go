package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Protocol names a tool and the version of what its two ends say to each other.
type Protocol struct {
	Tool    string // at most toolLen bytes
	Version uint8
}

// ErrProtocol is a peer that speaks something else than this end.
var ErrProtocol = errors.New("the peer speaks another protocol")

// What a request for a connection is for.
const (
	forTalk  = 't' // a conversation
	forQueue = 'q' // a further queue pair of the conversation with the ticket
)

// hello is the private data of a request:
//
//	bytes   field
//	0-7     the tool, padded with zeros
//	8       version
//	9       purpose: 't' for a conversation, 'q' for a further queue pair
//	10-17   ticket of the conversation, for a further queue pair
type hello struct {
	Protocol
	purpose byte
	ticket  uint64
}

const (
	toolLen  = 8
	helloLen = toolLen + 10
)

func (h *hello) encode() []byte {
	b := make([]byte, toolLen, helloLen)
	copy(b, h.Tool)
	b = append(b, h.Version, h.purpose)
	return binary.BigEndian.AppendUint64(b, h.ticket)
}

// parseHello reads the private data of a request; what follows it is left to
// later versions. A peer of another version is told from a stranger, since it
// can be told what to do.
func parseHello(b []byte, own Protocol) (h hello, err error) {
	if len(b) < helloLen {
		return h, fmt.Errorf("%w: it is no braid %s", ErrProtocol, own.Tool)
	}
	h.Tool = string(bytes.TrimRight(b[:toolLen], "\x00"))
	h.Version, h.purpose = b[toolLen], b[toolLen+1]
	h.ticket = binary.BigEndian.Uint64(b[toolLen+2:])
	switch {
	case h.Tool != own.Tool:
		return h, fmt.Errorf("%w: it is no braid %s", ErrProtocol, own.Tool)
	case h.Version != own.Version:
		return h, fmt.Errorf("%w: version %d here, %d there; use the same braid on both sides", ErrProtocol, own.Version, h.Version)
	case h.purpose != forTalk && h.purpose != forQueue:
		return h, fmt.Errorf("%w: purpose %d", ErrProtocol, h.purpose)
	}
	return h, nil
}
