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

// respond gives the turn to the responses when requests are not acknowledged. A peer that refuses one of them
// drops them until it has its responses, and a window of one packet has one for each timeout. It never drops
// responses until it has requests, so the turn is not given the other way round.
func (t *turns) respond() {
	if t.stream == requests {
		t.stream, t.left = responses, 0
	}
}
