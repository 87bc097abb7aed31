package transport

// streamID names what a queue pair sends in one direction: requests of its own,
// or responses to those of the peer. On MP each has PSNs of its own.
type streamID uint8

const (
	requests streamID = iota
	responses
	numStreams
)

func (id streamID) other() streamID { return 1 - id }

// turns lets requests and responses alternate, so that a message of one waits for
// a bounded number of packets of the other, however long its messages are.
type turns struct {
	stream streamID
	left   uint8
}

// turnPackets is the length of a turn: about the packets of one segmented
// send, so that taking turns does not cost system calls.
const turnPackets = 16

// order is the order in which they are asked for a packet.
func (t *turns) order() [numStreams]streamID {
	return [numStreams]streamID{t.stream, t.stream.other()}
}

// sent notes that a packet of a stream was sent. A stream that uses the time
// in which the other has nothing to send does not use up its own turn.
func (t *turns) sent(id streamID) {
	if id != t.stream {
		return
	}
	if t.left++; t.left >= turnPackets {
		t.stream, t.left = id.other(), 0
	}
}

// pass ends the turn of a stream that is not acknowledged. A peer that refuses its packets until it has
// those of the other would wait for ever for them: a window of one packet has one for each timeout.
func (t *turns) pass(id streamID) {
	if id == t.stream {
		t.stream, t.left = id.other(), 0
	}
}
