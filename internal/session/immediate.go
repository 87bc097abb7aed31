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
//	26-15   messages that the peer may send in all, responses apart, modulo 2^12
//	14      sequence that the next field is about
//	13-0    messages of that sequence that the application has received, modulo 2^14
type immediate uint32

const (
	edgeBits  = 12
	takenBits = 14
	edgeMask  = 1<<edgeBits - 1
	takenMask = 1<<takenBits - 1

	// maxWindow is the largest window of which it can be told whether it has grown.
	maxWindow = 1<<(edgeBits-1) - 1
)

func makeImmediate(kind frameKind, echo uint8, edge uint64, q sequence, taken uint64) immediate {
	return immediate(kind)<<29 | immediate(echo&3)<<27 | immediate(edge&edgeMask)<<15 | immediate(q)<<takenBits | immediate(taken&takenMask)
}

func (i immediate) kind() frameKind    { return frameKind(i >> 29) }
func (i immediate) echo() uint8        { return uint8(i>>27) & 3 }
func (i immediate) sequence() sequence { return sequence(i>>takenBits) & 1 }

// edge is the count that the field stands for, given one that it cannot be below.
func (i immediate) edge(from uint64) uint64 { return from + (uint64(i>>15)-from)&edgeMask }

// taken is the same of the last field.
func (i immediate) taken(from uint64) uint64 { return from + (uint64(i)-from)&takenMask }
