// Package wire turns bytes into RoCEv2 headers and headers into bytes, and
// computes the invariant CRC that guards them.
//
// The flow through the package, for a datagram that arrived on [UDPPort]:
//
//	datagram = BTH | extension headers | payload | pad | ICRC
//
//	ICRCAt                      the check value the sender stored
//	ICRCPrefix4 or ICRCPrefix6  the state after the masked IP and UDP headers
//	ICRC.Headers, ICRC.Payload  the state after BTH, extensions, payload, pad
//	ICRC.Sum                    what the check value should have been
//	ParseHeaders                the headers that the opcode calls for, and the payload
//
// On the way out the order is [Headers.Append], then the payload and
// [PadLen] zero bytes, then the same CRC calls and [AppendICRC].
//
// Two families of opcodes share these headers. The standard ones (RC, UD, CNP)
// are laid out as the InfiniBand specification says, so that a kernel driver, a
// hardware NIC or a packet analyser understands them. The multi-path ones (MP)
// are the RC opcodes moved into the manufacturer range by [MPBit], and add the
// headers [MPData], [MPAck] and [MPAckBatch]. docs/wire-format.md gives every
// byte of both.
//
// Nothing here does I/O, reads a clock, keeps state between calls or allocates
// (appending to a slice that lacks capacity aside). No input makes a parser
// panic: what a peer sends wrongly comes back as one of the Err values. Bits
// that the formats reserve are written as zero and ignored when read.
package wire

// UDPPort is the UDP destination port of RoCEv2.
const UDPPort = 4791

// Lengths on the wire in bytes.
const (
	BTHLen          = 12
	RETHLen         = 16
	AETHLen         = 4
	AtomicETHLen    = 28
	AtomicAckETHLen = 8
	ImmDtLen        = 4
	IETHLen         = 4
	DETHLen         = 8
	MPDataLen       = 16
	MPAckLen        = 20
	MPAckBatchLen   = 44
	ICRCLen         = 4

	// MaxHeadersLen is the longest BTH with its extension headers: that of a
	// batched multi-path acknowledgement.
	MaxHeadersLen = BTHLen + AETHLen + MPAckBatchLen
)
