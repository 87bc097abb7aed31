package udp

import (
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// gate keeps a flood of datagrams for queue pair 1 in the kernel. Everybody may send there: each
// datagram would be received, checked and looked at, at the cost of those who move data. While too
// many come, the kernel drops most of them before they take up the buffer or wake anybody. Which,
// is left to chance, so that an honest one, which is repeated, has its share. Other queue pairs have one
// peer, or are a program's own, and are not touched.
type gate struct {
	shift  int // one of 2^shift datagrams passes
	passed int // since the last look
	looked transport.Time
	broken bool // the kernel takes no filter
}

const (
	// gateTime is the time between looks. It is long enough that clients which all start at
	// once, and ask a few thousand times, are not taken for a flood.
	gateTime = 100 * transport.Millisecond
	// Datagrams in gateTime: from gateHigh on the gate narrows, so that gateAim pass; below gateLow it
	// widens. They are so far apart that twice as many as gateLow are less than gateHigh.
	gateHigh = 5000
	gateAim  = 2500
	gateLow  = 1000
	maxShift = 16
)

// due is when to look at the gate again, even if nothing arrives; a gate that is open can wait.
func (g *gate) due() transport.Time {
	if g.shift == 0 {
		return transport.Never
	}
	return g.looked + gateTime
}

// look follows what has passed and returns true when the gate is to be as wide as shift says.
func (g *gate) look(now transport.Time) bool {
	rate := int(transport.Time(g.passed) * gateTime / max(1, now-g.looked))
	g.passed, g.looked = 0, now
	shift := g.shift
	switch {
	case rate >= gateHigh:
		shift = min(maxShift, shift+bits.Len(uint((rate-1)/gateAim)))
	case rate < gateLow:
		shift = max(0, shift-1)
	}
	changed := shift != g.shift && !g.broken
	if changed {
		g.shift = shift
	}
	return changed
}

// lookAtGate lets as many datagrams for queue pair 1 pass as are good for the rest.
func (e *engine) lookAtGate(now transport.Time) {
	if !e.gate.look(now) {
		return
	}
	var failed error
	for _, a := range e.addrs {
		failed = errors.Join(failed, a.rx.sample(e.gate.shift))
	}
	if failed == nil {
		return
	}
	// A kernel without filters, or a sandbox that allows none: all pass.
	e.gate.shift, e.gate.broken = 0, true
	for _, a := range e.addrs {
		_ = a.rx.sample(0)
	}
}

// sample lets one of 2^shift datagrams for queue pair 1 pass, by chance; all others do.
func (s *rxSocket) sample(shift int) error {
	if shift == 0 {
		if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("udp: remove the filter of the receiving socket: %w", err)
		}
		return nil
	}
	const (
		udpHeader  = 8
		destQPWord = udpHeader + 4 // of the BTH, with eight other bits before it
		drop       = 0
		whole      = 0xffffffff
		random     = 0xfffff000 + 56 // SKF_AD_OFF + SKF_AD_RANDOM
	)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: destQPWord},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xffffff},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(wire.ManagementQPN), Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: random},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 1 << (32 - shift), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: drop},
		{Code: unix.BPF_RET | unix.BPF_K, K: whole},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &filter); err != nil {
		return fmt.Errorf("udp: give the receiving socket a filter: %w", err)
	}
	return nil
}
