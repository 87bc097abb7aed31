package wire

import "fmt"

// Syndrome is the verdict in an AETH: a kind in bits 6 and 5, and in the lower
// five bits a credit count, a timer code or an error code.
type Syndrome uint8

// Negative acknowledgements.
const (
	NakPSNSequence       Syndrome = 0x60 // a packet is missing: send again from this PSN
	NakInvalidRequest    Syndrome = 0x61 // the request breaks the protocol
	NakRemoteAccess      Syndrome = 0x62 // key, right, domain or bounds do not allow it
	NakRemoteOperational Syndrome = 0x63 // the responder failed for a reason of its own

	// NakEarlySynchronise says that a synchronise operation arrived before the
	// operations it must follow, and was dropped (MP-RDMA §3.4). Only MP has it;
	// its code lies among those the InfiniBand specification reserves.
	NakEarlySynchronise Syndrome = 0x70
)

// NoCredit is, given to [AckSyndrome], the credit code of a responder that does
// not limit its requester.
const NoCredit = 0x1f

const (
	syndromeMask      Syndrome = 0x7f
	syndromeKindMask  Syndrome = 0x60
	syndromeValueMask Syndrome = 0x1f

	kindAck Syndrome = 0x00
	kindRNR Syndrome = 0x20
	kindNak Syndrome = 0x60
)

// AckSyndrome returns the positive acknowledgement that carries a credit code.
func AckSyndrome(credit uint8) Syndrome {
	return kindAck | Syndrome(credit)&syndromeValueMask
}

// RNRSyndrome returns the receiver-not-ready NAK that carries a timer code.
func RNRSyndrome(timer uint8) Syndrome {
	return kindRNR | Syndrome(timer)&syndromeValueMask
}

// IsAck reports whether s is a positive acknowledgement.
func (s Syndrome) IsAck() bool { return s&syndromeKindMask == kindAck }

// IsRNR reports whether s says that the receiver is not ready.
func (s Syndrome) IsRNR() bool { return s&syndromeKindMask == kindRNR }

// IsNak reports whether s is a negative acknowledgement other than RNR.
func (s Syndrome) IsNak() bool { return s&syndromeKindMask == kindNak }

// RNRTimer returns the timer code of a receiver-not-ready NAK; see
// [RNRTimerNanos].
func (s Syndrome) RNRTimer() uint8 { return uint8(s & syndromeValueMask) }

// String names the verdict and its value.
func (s Syndrome) String() string {
	value := uint8(s & syndromeValueMask)
	switch {
	case s.IsAck():
		return fmt.Sprintf("ACK(credit %d)", value)
	case s.IsRNR():
		return fmt.Sprintf("RNR_NAK(timer %d)", value)
	case !s.IsNak():
		return fmt.Sprintf("SYNDROME_0x%02x", uint8(s))
	}
	switch s & syndromeMask {
	case NakPSNSequence:
		return "NAK_PSN_SEQUENCE"
	case NakInvalidRequest:
		return "NAK_INVALID_REQUEST"
	case NakRemoteAccess:
		return "NAK_REMOTE_ACCESS"
	case NakRemoteOperational:
		return "NAK_REMOTE_OPERATIONAL"
	case NakEarlySynchronise:
		return "NAK_EARLY_SYNCHRONISE"
	}
	return fmt.Sprintf("NAK(code %d)", value)
}
