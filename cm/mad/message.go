package mad

import (
	"encoding/binary"
	"fmt"
)

// Attribute says which message a datagram carries.
type Attribute uint16

// The messages of connection set-up and end.
const (
	AttrREQ  Attribute = 0x10
	AttrMRA  Attribute = 0x11
	AttrREJ  Attribute = 0x12
	AttrREP  Attribute = 0x13
	AttrRTU  Attribute = 0x14
	AttrDREQ Attribute = 0x15
	AttrDREP Attribute = 0x16
)

var attributeNames = map[Attribute]string{
	AttrREQ: "REQ", AttrMRA: "MRA", AttrREJ: "REJ", AttrREP: "REP",
	AttrRTU: "RTU", AttrDREQ: "DREQ", AttrDREP: "DREP",
}

// String is the name that the specification gives the message.
func (a Attribute) String() string {
	if name, ok := attributeNames[a]; ok {
		return name
	}
	return fmt.Sprintf("attribute %#x", uint16(a))
}

// The header's fields, which have one value each in this class.
const (
	baseVersion  = 1
	classCM      = 0x07
	classVersion = 2
	methodSend   = 0x03
)

// CommID names a connection at one of its ends. Each end chooses its own, and
// every message but the first carries both.
type CommID uint32

// TransactionID ties an answer to its question: a REP and its RTU carry the
// identifier of the REQ.
type TransactionID uint64

// Message is one of *REQ, *MRA, *REJ, *REP, *RTU, *DREQ and *DREP.
type Message interface {
	Attribute() Attribute
	// decode reads the 232 bytes after the header, encode writes them; encode finds
	// them zero.
	decode(b []byte)
	encode(b []byte)
}

// newMessage is an empty message of an attribute, or nil.
func newMessage(a Attribute) Message {
	switch a {
	case AttrREQ:
		return new(REQ)
	case AttrMRA:
		return new(MRA)
	case AttrREJ:
		return new(REJ)
	case AttrREP:
		return new(REP)
	case AttrRTU:
		return new(RTU)
	case AttrDREQ:
		return new(DREQ)
	case AttrDREP:
		return new(DREP)
	}
	return nil
}

// Parse reads a datagram. What it returns does not refer to b.
func Parse(b []byte) (Message, TransactionID, error) {
	if len(b) != Len {
		return nil, 0, ErrLength
	}
	if b[1] != classCM {
		return nil, 0, ErrClass
	}
	if b[0] != baseVersion || b[2] != classVersion {
		return nil, 0, ErrVersion
	}
	m := newMessage(Attribute(binary.BigEndian.Uint16(b[16:])))
	if m == nil || b[3] != methodSend {
		return nil, 0, ErrAttribute
	}
	m.decode(b[HeaderLen:])
	return m, TransactionID(binary.BigEndian.Uint64(b[8:])), nil
}

// Append writes a datagram after b.
func Append(b []byte, m Message, tid TransactionID) []byte {
	start := len(b)
	b = append(b, make([]byte, Len)...)
	d := b[start:]
	d[0], d[1], d[2], d[3] = baseVersion, classCM, classVersion, methodSend
	SetTransactionID(d, tid)
	binary.BigEndian.PutUint16(d[16:], uint16(m.Attribute()))
	m.encode(d[HeaderLen:])
	return b
}

// SetTransactionID changes the transaction of a datagram.
func SetTransactionID(datagram []byte, tid TransactionID) {
	binary.BigEndian.PutUint64(datagram[8:], uint64(tid))
}

// word24 reads the upper 24 bits of the four bytes at b; the lowest byte
// belongs to other fields.
func word24(b []byte) uint32 { return binary.BigEndian.Uint32(b) >> 8 }

// putWord24 writes 24 bits and leaves the fourth byte alone.
func putWord24(b []byte, v uint32) {
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}
