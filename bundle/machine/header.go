package machine

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/wire"
)

// HeaderKind is the kind of a message between the two machines.
type HeaderKind uint8

const (
	// HeaderAnnounce offers the buffer of a receive.
	HeaderAnnounce HeaderKind = iota + 1
	// HeaderMessage is a whole short message: the bytes follow the header.
	HeaderMessage
	// HeaderDelivered tells that a message is whole in its buffer. It takes the place of
	// the empty SEND of Virtuoso §3.4, and says what that could not: which receive,
	// since SENDs of different queue pairs arrive in any order, and how many bytes.
	// They are Data Partition's data ID and total size (§III.B).
	HeaderDelivered
	// HeaderFailed tells that a message will never be whole.
	HeaderFailed
	// HeaderTooLong tells that the message does not fit the buffer.
	HeaderTooLong
	// HeaderBye ends the connection.
	HeaderBye
	// HeaderOffer is HeaderAnnounce of a buffer that is filled by HeaderChunks.
	HeaderOffer
	// HeaderChunk is a part of a message, which follows the header: Data Partition's
	// custom header (§III.B). Number is its data ID.
	HeaderChunk
)

// Header is a message between the two machines.
type Header struct {
	Kind   HeaderKind
	Number Number // of the receive
	Target Target // HeaderAnnounce: the buffer; else Length is the bytes of the message
	Offset int    // HeaderChunk: of the part in the message
}

// HeaderLen is the length of an encoded header:
//
//	bytes   field
//	0       version, 1
//	1       kind
//	2-7     zero
//	8-15    number of the receive
//	16-23   length
//	24-31   address; HeaderOffer: bytes of a chunk; HeaderChunk: offset
//	32-35   remote key
const HeaderLen = 36

const headerVersion = 1

// Append encodes the header.
func (h *Header) Append(b []byte) []byte {
	b = append(b, headerVersion, byte(h.Kind), 0, 0, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(h.Number))
	b = binary.BigEndian.AppendUint64(b, h.Target.Length)
	b = binary.BigEndian.AppendUint64(b, h.Target.Addr+uint64(h.Target.Chunk)+uint64(h.Offset)) // one of them
	return binary.BigEndian.AppendUint32(b, uint32(h.Target.Key))
}

// ParseHeader decodes a header; rest is what follows it.
func ParseHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < HeaderLen || b[0] != headerVersion {
		return h, nil, ErrProtocol
	}
	h.Kind = HeaderKind(b[1])
	if h.Kind < HeaderAnnounce || h.Kind > HeaderChunk {
		return h, nil, ErrProtocol
	}
	h.Number = Number(binary.BigEndian.Uint64(b[8:]))
	h.Target = Target{
		Length: binary.BigEndian.Uint64(b[16:]), Addr: binary.BigEndian.Uint64(b[24:]),
		Key: wire.RKey(binary.BigEndian.Uint32(b[32:])),
	}
	word := &h.Target.Addr
	switch {
	case h.Kind != HeaderOffer && h.Kind != HeaderChunk:
	case *word > maxTransfer || h.Target.Length > maxTransfer:
		return h, nil, ErrProtocol
	case h.Kind == HeaderOffer:
		h.Target.Chunk, *word = int(*word), 0
	default:
		h.Offset, *word = int(*word), 0
	}
	rest = b[HeaderLen:]
	if h.Kind == HeaderMessage && uint64(len(rest)) != h.Target.Length {
		return h, nil, ErrProtocol
	}
	return h, rest, nil
}
