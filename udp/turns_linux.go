package udp

import (
	"math/rand/v2"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
)

// In a flood of queue pair 1 sources take turns: by a hash of their addresses they are in one of
// so many parts, of which the kernel takes one at a time. As much is dropped as if it were by chance, and an
// honest peer that repeats itself often enough is still certain to be listened to, within a cycle, and then
// for long enough to connect. Who floods does not know which part a peer is in; in that
// peer's name he can, and then only as many pass as intakeRate says.

const (
	sourceParts = 24
	// turnTime is longer than the time between the first requests of a braid peer (cm/machine).
	turnTime = 14 * transport.Millisecond
)

// turns is whose turn it is.
type turns struct {
	part  uint32
	salt  uint32 // of the hash
	began transport.Time
}

func newTurns() turns { return turns{salt: rand.Uint32() | 1} }

// next says whether a turn has ended, and moves on to the next.
func (t *turns) next(now transport.Time) bool {
	if now-t.began < turnTime {
		return false
	}
	t.part, t.began = (t.part+1)%sourceParts, now
	return true
}

// turnManagement lets the kernel take datagrams for queue pair 1 from those whose turn it is.
func (e *engine) turnManagement() {
	for _, a := range e.addrs {
		if a.management != nil {
			a.management.takeTurn(&e.turns)
		}
	}
}

// takeTurn has the kernel drop what is not from those whose turn it is. Where it has no filters
// the sources have no turns.
func (s *rxSocket) takeTurn(t *turns) {
	program := t.program(s.local.Addr())
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_ = unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter)
}

// takeAll ends the turns.
func (s *rxSocket) takeAll() {
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) // there may be none
}

// program is the filter of a turn, for a socket at an address.
func (t *turns) program(local netip.Addr) (p []unix.SockFilter) {
	const (
		networkHeader = 0xfff00000 // SKF_NET_OFF
		half          = 16         // of the bits of a word
		mixer         = 0x85ebca6b // spreads what one multiplication leaves in a row
		drop, whole   = 0, 0xffffffff
	)
	source, words := uint32(networkHeader+12), uint32(1)
	if local.Is6() {
		source, words = networkHeader+8, 4
	}
	p = append(p, unix.SockFilter{Code: unix.BPF_LDX | unix.BPF_IMM, K: t.salt >> 16})
	for i := range words {
		p = append(p,
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: source + 4*i},
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_ADD | unix.BPF_X},
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_MUL | unix.BPF_K, K: t.salt},
			unix.SockFilter{Code: unix.BPF_MISC | unix.BPF_TAX},
		)
	}
	return append(p,
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K, K: half},
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_XOR | unix.BPF_X},
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_MUL | unix.BPF_K, K: mixer},
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K, K: half},
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_MUL | unix.BPF_K, K: sourceParts},
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K, K: half},
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: t.part, Jf: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: whole},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: drop},
	)
}
