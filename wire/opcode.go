package wire

// Opcode is the first byte of a packet: the service (upper three bits) and the
// operation (lower five).
type Opcode uint8

// Reliable connection. The numbers are those of the InfiniBand specification.
const (
	SendFirst          Opcode = 0x00
	SendMiddle         Opcode = 0x01
	SendLast           Opcode = 0x02
	SendLastImm        Opcode = 0x03
	SendOnly           Opcode = 0x04
	SendOnlyImm        Opcode = 0x05
	WriteFirst         Opcode = 0x06
	WriteMiddle        Opcode = 0x07
	WriteLast          Opcode = 0x08
	WriteLastImm       Opcode = 0x09
	WriteOnly          Opcode = 0x0a
	WriteOnlyImm       Opcode = 0x0b
	ReadRequest        Opcode = 0x0c
	ReadResponseFirst  Opcode = 0x0d
	ReadResponseMiddle Opcode = 0x0e
	ReadResponseLast   Opcode = 0x0f
	ReadResponseOnly   Opcode = 0x10
	Acknowledge        Opcode = 0x11
	AtomicAcknowledge  Opcode = 0x12
	CompareSwap        Opcode = 0x13
	FetchAdd           Opcode = 0x14
	SendLastInv        Opcode = 0x16
	SendOnlyInv        Opcode = 0x17
)

// Unreliable datagram, and the congestion notification packet of RoCEv2.
const (
	UDSendOnly    Opcode = 0x64
	UDSendOnlyImm Opcode = 0x65
	CNP           Opcode = 0x81
)

// MPBit makes, or-ed with an RC opcode, its multi-path twin. It lies in the
// range that the InfiniBand specification leaves to manufacturers, so a standard
// peer drops such a packet instead of misreading it.
const MPBit Opcode = 0xc0

// Multi-path opcodes with no RC twin.
const (
	// MPAcknowledgeBatch acknowledges many packets of one path; see [MPAckBatch].
	MPAcknowledgeBatch = MPBit | 0x18
	// MPProbe asks whether a path works, without carrying data.
	MPProbe = MPBit | 0x19
	// MPProbeAck acknowledges MPProbe.
	MPProbeAck = MPBit | 0x1a
)

// NetworkProbe is between the engines of two connected queue pairs of any type: it asks whether
// the network carries packets of its length. Its PSN is a number that the sender
// chose. It is of the second service that is left to manufacturers.
const NetworkProbe Opcode = 0xe0

const (
	serviceMask   Opcode = 0xe0
	operationMask Opcode = 0x1f
)

// IsMP reports whether o belongs to the multi-path service.
func (o Opcode) IsMP() bool { return o&serviceMask == MPBit }

// Base returns the RC opcode whose multi-path twin o is, and o itself where o
// is not multi-path. The opcodes that only MP has are left without MPBit.
func (o Opcode) Base() Opcode {
	if o.IsMP() {
		return o & operationMask
	}
	return o
}

// Valid reports whether o is an opcode of this package.
func (o Opcode) Valid() bool { return opcodes[o].is(opValid) }

// Starts reports whether o is the first packet of a message: FIRST, ONLY, and
// the requests and responses that are a single packet.
func (o Opcode) Starts() bool { return opcodes[o].is(opStarts) }

// Ends reports whether o is the last packet of a message: LAST, ONLY, and the
// requests and responses that are a single packet.
func (o Opcode) Ends() bool { return opcodes[o].is(opEnds) }

// IsSend reports whether o is any packet of a SEND, of UD too.
func (o Opcode) IsSend() bool { return opcodes[o].is(opSend) }

// IsWrite reports whether o is any packet of an RDMA WRITE.
func (o Opcode) IsWrite() bool { return opcodes[o].is(opWrite) }

// IsReadResponse reports whether o is any packet of the answer to a READ.
func (o Opcode) IsReadResponse() bool { return opcodes[o].is(opReadResponse) }

// IsAtomic reports whether o is an atomic request (its answer is
// AtomicAcknowledge).
func (o Opcode) IsAtomic() bool { return opcodes[o].is(opAtomicRequest) }

// HasImm reports whether o carries immediate data.
func (o Opcode) HasImm() bool { return opcodes[o].ext&extImm != 0 }

// HasPayload reports whether o may carry payload. It may still be empty.
func (o Opcode) HasPayload() bool { return opcodes[o].is(opPayload) }

// IsRequest reports whether o travels from requester to responder. Answers
// (READ responses, acknowledgements, probe answers) and CNP do not.
func (o Opcode) IsRequest() bool { return opcodes[o].is(opRequest) }

// String returns the service and the operation, such as "RC_WRITE_FIRST".
func (o Opcode) String() string { return opcodeNames[o] }
