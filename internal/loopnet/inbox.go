package loopnet

import (
	"net/netip"
	"sync"

	"github.com/braid-rdma/braid/transport"
)

// frame is a packet on the wire, with a payload of its own.
type frame struct {
	from    netip.Addr
	packet  transport.Packet
	payload []byte
}

// inbox holds the frames that arrived at an engine and were not yet handled.
type inbox struct {
	mu     sync.Mutex
	frames []frame
	// arrived holds one token when the engine's goroutine should look.
	arrived chan struct{}
}

func newInbox() inbox { return inbox{arrived: make(chan struct{}, 1)} }

func (b *inbox) put(f frame) {
	b.mu.Lock()
	b.frames = append(b.frames, f)
	b.mu.Unlock()
	b.signal()
}

// take returns all frames and leaves the slice used as room for the next ones.
func (b *inbox) take(used []frame) []frame {
	b.mu.Lock()
	defer b.mu.Unlock()
	frames := b.frames
	b.frames = used[:0]
	return frames
}

func (b *inbox) signal() {
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}
