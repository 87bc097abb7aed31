package mad

import (
	"encoding/binary"

	"github.com/braid-rdma/braid/wire"
)

// REQPrivateLen is the private data of a REQ, of which the RDMA CM uses the
// first IPHeaderLen bytes.
const REQPrivateLen = 92

// Transport is the service that a REQ asks for.
type Transport uint8

// Services of connected queue pairs.
const (
	TransportRC Transport = 0
	TransportUC Transport = 1
)

// REQ asks for a connection (table 106). Fields of end-to-end contexts and of
// the alternate path, which RoCE has no use for, are not kept.
type REQ struct {
	LocalID   CommID
	Service   ServiceID
	LocalGUID uint64 // of the sender's adapter
	QKey      wire.QKey
	QPN       wire.QPN
	// ResponderResources is how many READs and atomics the sender serves at a
	// time, InitiatorDepth how many it would like to have outstanding.
	ResponderResources, InitiatorDepth uint8
	// RemoteTimeout is the time within which the sender expects an answer,
	// LocalTimeout the time within which it will answer itself.
	RemoteTimeout, LocalTimeout Interval
	Transport                   Transport
	FlowControl                 bool
	PSN                         wire.PSN // of the first packet that the receiver shall send
	Retry, RNRRetry             uint8    // 3 bits each
	PKey                        uint16
	MTU                         MTU
	MaxCMRetries                uint8 // 4 bits
	SRQ                         bool
	Primary                     Route
	PrivateData                 [REQPrivateLen]byte
}

// Route is how the packets of a connection travel.
type Route struct {
	LocalLID, RemoteLID uint16
	LocalGID, RemoteGID [16]byte
	FlowLabel           uint32 // 20 bits
	PacketRate          uint8  // 6 bits
	TrafficClass        uint8
	HopLimit            uint8
	SL                  uint8 // 4 bits
	SubnetLocal         bool
	AckTimeout          Interval
}

// Attribute is AttrREQ.
func (*REQ) Attribute() Attribute { return AttrREQ }

func (m *REQ) decode(b []byte) {
	be := binary.BigEndian
	m.LocalID = CommID(be.Uint32(b))
	m.Service = ServiceID(be.Uint64(b[8:]))
	m.LocalGUID = be.Uint64(b[16:])
	m.QKey = wire.QKey(be.Uint32(b[28:]))
	m.QPN, m.ResponderResources = wire.QPN(word24(b[32:])), b[35]
	m.InitiatorDepth = b[39]
	m.RemoteTimeout, m.Transport, m.FlowControl = Interval(b[43]>>3), Transport(b[43]>>1&3), b[43]&1 != 0
	m.PSN, m.LocalTimeout, m.Retry = wire.PSN(word24(b[44:])), Interval(b[47]>>3), b[47]&7
	m.PKey = be.Uint16(b[48:])
	m.MTU, m.RNRRetry = MTU(b[50]>>4), b[50]&7
	m.MaxCMRetries, m.SRQ = b[51]>>4, b[51]&8 != 0
	m.Primary.decode(b[52:])
	copy(m.PrivateData[:], b[140:])
}

func (m *REQ) encode(b []byte) {
	be := binary.BigEndian
	be.PutUint32(b, uint32(m.LocalID))
	be.PutUint64(b[8:], uint64(m.Service))
	be.PutUint64(b[16:], m.LocalGUID)
	be.PutUint32(b[28:], uint32(m.QKey))
	putWord24(b[32:], uint32(m.QPN))
	b[35] = m.ResponderResources
	b[39] = m.InitiatorDepth
	b[43] = byte(m.RemoteTimeout)<<3 | byte(m.Transport)&3<<1 | bit(m.FlowControl)
	putWord24(b[44:], uint32(m.PSN))
	b[47] = byte(m.LocalTimeout)<<3 | m.Retry&7
	be.PutUint16(b[48:], m.PKey)
	b[50] = byte(m.MTU)<<4 | m.RNRRetry&7
	b[51] = m.MaxCMRetries<<4 | bit(m.SRQ)<<3
	m.Primary.encode(b[52:])
	copy(b[140:], m.PrivateData[:])
}

func (r *Route) decode(b []byte) {
	be := binary.BigEndian
	r.LocalLID, r.RemoteLID = be.Uint16(b), be.Uint16(b[2:])
	copy(r.LocalGID[:], b[4:])
	copy(r.RemoteGID[:], b[20:])
	word := be.Uint32(b[36:])
	r.FlowLabel, r.PacketRate = word>>12, uint8(word&0x3f)
	r.TrafficClass, r.HopLimit = b[40], b[41]
	r.SL, r.SubnetLocal = b[42]>>4, b[42]&8 != 0
	r.AckTimeout = Interval(b[43] >> 3)
}

func (r *Route) encode(b []byte) {
	be := binary.BigEndian
	be.PutUint16(b, r.LocalLID)
	be.PutUint16(b[2:], r.RemoteLID)
	copy(b[4:20], r.LocalGID[:])
	copy(b[20:36], r.RemoteGID[:])
	be.PutUint32(b[36:], r.FlowLabel<<12|uint32(r.PacketRate&0x3f))
	b[40], b[41] = r.TrafficClass, r.HopLimit
	b[42] = r.SL<<4 | bit(r.SubnetLocal)<<3
	b[43] = byte(r.AckTimeout) << 3
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}
