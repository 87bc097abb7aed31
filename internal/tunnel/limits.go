package tunnel

import "time"

// Everything has a limit; these are a tunnel's, with reasons.
const (
	// MaxControl is the longest control frame. The shortest packet has a base header and a check value, 16
	// bytes, so the two cannot be mistaken for each other.
	MaxControl = 15
	// MaxPacket is longer than the longest packet: a payload of 16,320 bytes and all headers.
	MaxPacket = 17 << 10
	// maxQueue is how many bytes may wait for the stream before there is no room: some tens
	// of the longest packets, so that the writer is never idle. What waits here waits
	// in addition to what the kernel holds, so more would only be late.
	maxQueue = 256 << 10
	// maxControlQueue is how many bytes of control frames may be waiting beyond that. Somebody who is asked
	// something all the time and does not read the replies loses the tunnel.
	maxControlQueue = 64 << 10
	// readBuffer is how much is read at once: packets that came together are handled
	// together, and acknowledged together. Thousands of channels may move to TCP at once, so
	// it is not more.
	readBuffer = 64 << 10
	// socketBuffer is what the kernel may hold of what was sent.
	socketBuffer = 1 << 20
	// closeTime is how long Close goes on writing what is queued, and then waits for the peer to
	// close as well.
	closeTime = time.Second
)
