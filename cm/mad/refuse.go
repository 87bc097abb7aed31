package mad

import "encoding/binary"

// Private data and additional information of the messages that refuse or
// delay.
const (
	REJPrivateLen = 148
	// REJInfoLen is the most additional information that a REJ carries; what it
	// means depends on the reason.
	REJInfoLen    = 72
	MRAPrivateLen = 222
)

// Subject is the message that a REJ or an MRA is about.
type Subject uint8

// What can be rejected or delayed.
const (
	SubjectREQ   Subject = 0
	SubjectREP   Subject = 1
	SubjectOther Subject = 2
)

// REJ refuses a REQ or a REP (table 108).
type REJ struct {
	LocalID, RemoteID CommID // zero where the sender has or knows none
	Subject           Subject
	Reason            Reason
	InfoLen           uint8 // bytes of Info that count, at most REJInfoLen
	Info              [REJInfoLen]byte
	PrivateData       [REJPrivateLen]byte
}

// Attribute is AttrREJ.
func (*REJ) Attribute() Attribute { return AttrREJ }

func (m *REJ) decode(b []byte) {
	m.LocalID, m.RemoteID = decodeIDs(b)
	m.Subject = Subject(b[8] >> 6)
	// Seven bits can say more than there is room for.
	m.InfoLen = min(b[9]>>1, REJInfoLen)
	m.Reason = Reason(binary.BigEndian.Uint16(b[10:]))
	copy(m.Info[:], b[12:])
	copy(m.PrivateData[:], b[84:])
}

func (m *REJ) encode(b []byte) {
	encodeIDs(b, m.LocalID, m.RemoteID)
	b[8] = byte(m.Subject) << 6
	b[9] = min(m.InfoLen, REJInfoLen) << 1
	binary.BigEndian.PutUint16(b[10:], uint16(m.Reason))
	copy(b[12:84], m.Info[:])
	copy(b[84:], m.PrivateData[:])
}

// MRA says that a message has arrived and that the answer takes longer
// (table 107).
type MRA struct {
	LocalID, RemoteID CommID
	Subject           Subject
	ServiceTimeout    Interval // how much longer
	PrivateData       [MRAPrivateLen]byte
}

// Attribute is AttrMRA.
func (*MRA) Attribute() Attribute { return AttrMRA }

func (m *MRA) decode(b []byte) {
	m.LocalID, m.RemoteID = decodeIDs(b)
	m.Subject = Subject(b[8] >> 6)
	m.ServiceTimeout = Interval(b[9] >> 3)
	copy(m.PrivateData[:], b[10:])
}

func (m *MRA) encode(b []byte) {
	encodeIDs(b, m.LocalID, m.RemoteID)
	b[8] = byte(m.Subject) << 6
	b[9] = byte(m.ServiceTimeout) << 3
	copy(b[10:], m.PrivateData[:])
}
