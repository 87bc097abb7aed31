package mad

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/wire"
)

// REPPrivateLen is the private data of a REP.
const REPPrivateLen = 196

// REP grants a connection (table 110).
type REP struct {
	LocalID, RemoteID                  CommID
	QKey                               wire.QKey
	QPN                                wire.QPN
	PSN                                wire.PSN // of the first packet that the receiver shall send
	ResponderResources, InitiatorDepth uint8    // as in a REQ
	TargetAckDelay                     Interval
	Failover                           uint8 // 2 bits: whether the alternate path was accepted
	FlowControl                        bool
	RNRRetry                           uint8 // 3 bits
	SRQ                                bool
	LocalGUID                          uint64
	PrivateData                        [REPPrivateLen]byte
}

// Attribute is AttrREP.
func (*REP) Attribute() Attribute { return AttrREP }

func (m *REP) decode(b []byte) {
	be := binary.BigEndian
	m.LocalID, m.RemoteID = decodeIDs(b)
	m.QKey = wire.QKey(be.Uint32(b[8:]))
	m.QPN = wire.QPN(word24(b[12:]))
	m.PSN = wire.PSN(word24(b[20:]))
	m.ResponderResources, m.InitiatorDepth = b[24], b[25]
	m.TargetAckDelay, m.Failover, m.FlowControl = Interval(b[26]>>3), b[26]>>1&3, b[26]&1 != 0
	m.RNRRetry, m.SRQ = b[27]>>5, b[27]&0x10 != 0
	m.LocalGUID = be.Uint64(b[28:])
	copy(m.PrivateData[:], b[36:])
}

func (m *REP) encode(b []byte) {
	be := binary.BigEndian
	encodeIDs(b, m.LocalID, m.RemoteID)
	be.PutUint32(b[8:], uint32(m.QKey))
	putWord24(b[12:], uint32(m.QPN))
	putWord24(b[20:], uint32(m.PSN))
	b[24], b[25] = m.ResponderResources, m.InitiatorDepth
	b[26] = byte(m.TargetAckDelay)<<3 | m.Failover&3<<1 | bit(m.FlowControl)
	b[27] = m.RNRRetry<<5 | bit(m.SRQ)<<4
	be.PutUint64(b[28:], m.LocalGUID)
	copy(b[36:], m.PrivateData[:])
}
