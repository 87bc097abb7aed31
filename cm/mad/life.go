package mad

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/wire"
)

// Private data of the messages that begin and end the life of a connection.
const (
	RTUPrivateLen  = 224
	DREQPrivateLen = 220
	DREPPrivateLen = 224
)

// RTU tells the side that sent a REP that the connection may be used
// (table 111).
type RTU struct {
	LocalID, RemoteID CommID
	PrivateData       [RTUPrivateLen]byte
}

// DREQ ends a connection (table 112).
type DREQ struct {
	LocalID, RemoteID CommID
	RemoteQPN         wire.QPN // the receiver's queue pair
	PrivateData       [DREQPrivateLen]byte
}

// DREP replies to a DREQ (table 113).
type DREP struct {
	LocalID, RemoteID CommID
	PrivateData       [DREPPrivateLen]byte
}

// Attribute is AttrRTU.
func (*RTU) Attribute() Attribute { return AttrRTU }

// Attribute is AttrDREQ.
func (*DREQ) Attribute() Attribute { return AttrDREQ }

// Attribute is AttrDREP.
func (*DREP) Attribute() Attribute { return AttrDREP }

func (m *RTU) decode(b []byte) {
	m.LocalID, m.RemoteID = decodeIDs(b)
	copy(m.PrivateData[:], b[8:])
}

func (m *RTU) encode(b []byte) {
	encodeIDs(b, m.LocalID, m.RemoteID)
	copy(b[8:], m.PrivateData[:])
}

func (m *DREQ) decode(b []byte) {
	m.LocalID, m.RemoteID = decodeIDs(b)
	m.RemoteQPN = wire.QPN(word24(b[8:]))
	copy(m.PrivateData[:], b[12:])
}

func (m *DREQ) encode(b []byte) {
	encodeIDs(b, m.LocalID, m.RemoteID)
	putWord24(b[8:], uint32(m.RemoteQPN))
	copy(b[12:], m.PrivateData[:])
}

func (m *DREP) decode(b []byte) {
	m.LocalID, m.RemoteID = decodeIDs(b)
	copy(m.PrivateData[:], b[8:])
}

func (m *DREP) encode(b []byte) {
	encodeIDs(b, m.LocalID, m.RemoteID)
	copy(b[8:], m.PrivateData[:])
}

func decodeIDs(b []byte) (local, remote CommID) {
	return CommID(binary.BigEndian.Uint32(b)), CommID(binary.BigEndian.Uint32(b[4:]))
}

func encodeIDs(b []byte, local, remote CommID) {
	binary.BigEndian.PutUint32(b, uint32(local))
	binary.BigEndian.PutUint32(b[4:], uint32(remote))
}
