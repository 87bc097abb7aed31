package session

// frameKind is what a frame holds.
type frameKind uint8

const (
	frameBare   frameKind = iota // a small one-way message and nothing else
	frameHeaded                  // a header, then the payload if it is small
	frameAck                     // nothing: the immediate data is the news
	frameNop                     // the same, and asks for it from the peer
	frameBundle                  // several small messages, see bundle.go
	numFrameKinds
)

// isControl says whether the frame holds no message. Control frames have receives of
// their own at the peer, so that they can go when the window is closed.
func (k frameKind) isControl() bool { return k == frameAck || k == frameNop }

// immediate is the immediate data of a frame:
//
//	bits    field
//	31-29   kind of the frame
//	28-27   control frames received, modulo 4
//	26-16   messages that the peer may send beyond the acknowledged ones
//	15-0    messages that the application has received, modulo 2^16
type immediate uint32

// maxWindow is the largest window that fits.
const maxWindow = 1<<11 - 1

func makeImmediate(kind frameKind, echo uint8, window uint64, ack uint64) immediate {
	return immediate(kind)<<29 | immediate(echo&3)<<27 | immediate(window)<<16 | immediate(uint16(ack))
}

func (i immediate) kind() frameKind { return frameKind(i >> 29) }
func (i immediate) echo() uint8     { return uint8(i>>27) & 3 }
func (i immediate) window() uint64  { return uint64(i>>16) & maxWindow }

// ack is the count that the low 16 bits stand for, given one that it cannot be below.
func (i immediate) ack(from uint64) uint64 { return from + uint64(uint16(i)-uint16(from)) }
