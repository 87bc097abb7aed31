package udp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// Everybody may send to queue pair 1, and each datagram would be received, checked and looked at, at
// the cost of those who move data. So what is for it has a socket of its own at each address: a flood
// neither takes the room of data nor wakes a thread for each datagram. In a flood sources take turns
// (turns_linux.go); of what is still too much the kernel drops as much as has no room, whoever sent it, and an
// honest peer repeats itself. Other queue pairs have one peer, or are a program's own.

const (
	// intakeRate is how many datagrams for queue pair 1 may come in a second, in the long run, without
	// being a flood; and in a flood, how many of those whose turn it is are taken. To take one, look at it
	// and reply costs up to 10 µs.
	intakeRate = 16_000
	// intakeBurst is how many may come at once: clients that all start together have two for each
	// connection.
	intakeBurst = 16 << 10
	// intakeCrowd is how many, beyond that rate, are a crowd. Then nobody is woken for them, and they are
	// taken once in intakeTick, as many at most; in a flood floodQuota.
	intakeCrowd = 256
	intakeTick  = transport.Millisecond
	floodQuota  = int(intakeRate * intakeTick / transport.Second)
	// intakeCalm is the credit that ends a flood, and what it lacks at most while it lasts: so it ends
	// 128 ms after the last datagram.
	intakeCalm = 1024

	// The room for datagrams, as the kernel counts it: that of a thousand or two, and in a flood of a
	// hundred or two, so that what is taken has waited for some milliseconds at most.
	managementBuffer = 1 << 20
	floodBuffer      = 64 << 10

	// managementEvery is in how many rounds the sockets are read that nothing came to of late.
	managementEvery = 64
)

// intake bounds how many datagrams for queue pair 1 a device takes.
type intake struct {
	credit  int            // how many may come at once
	quota   int            // how many a crowd may have taken in this tick; less than zero after a run that the kernel joined
	counted transport.Time // until when the credit counts
	crowded bool           // look at ticks only
	flooded bool           // a crowd that has spent the credit
}

// took counts a datagram.
func (in *intake) took() {
	in.credit--
	in.quota--
}

// missed counts datagrams that the kernel dropped.
func (in *intake) missed(n uint32) { in.credit -= int(min(n, intakeBurst)) }

// refill adds the credit of the time that has passed.
func (in *intake) refill(now transport.Time) {
	const each = transport.Second / intakeRate
	if in.credit == intakeBurst {
		in.counted = now
		return
	}
	if now-in.counted > 2*intakeBurst*each {
		in.credit, in.counted = intakeBurst, now
		return
	}
	more := (now - in.counted) / each
	in.counted += more * each
	in.credit = min(intakeBurst, max(in.credit, -intakeCalm)+int(more))
}

// look says whether to take what has come, and whether a crowd or a flood has begun or ended.
func (in *intake) look(now transport.Time) (open, changed bool) {
	if in.crowded && now-in.counted < intakeTick {
		return false, false
	}
	was, spent := *in, in.credit <= 0
	in.refill(now)
	in.flooded = spent || was.flooded && in.credit < intakeCalm
	in.crowded = in.credit < intakeBurst-intakeCrowd || was.crowded && in.credit < intakeBurst
	quota := intakeCrowd
	if in.flooded {
		quota = floodQuota
	}
	in.quota = min(max(in.quota, -quota)+quota, quota)
	return in.open(), in.crowded != was.crowded || in.flooded != was.flooded
}

// open says whether more may be taken now.
func (in *intake) open() bool { return !in.crowded || in.quota > 0 }

// due is when to look again, even if nothing arrives that wakes anybody.
func (in *intake) due() transport.Time {
	if !in.crowded {
		return transport.Never
	}
	return in.counted + intakeTick
}

// receiveManagement takes what has come for queue pair 1, and returns whether there was something.
func (e *engine) receiveManagement(now transport.Time) (worked bool) {
	open, changed := e.intake.look(now)
	if changed {
		e.noteCrowd()
	}
	if e.intake.flooded && e.turns.next(now) {
		e.turnManagement()
	}
	if !open {
		return false
	}
	for _, a := range e.addrs {
		if a.management != nil && (e.intake.crowded || !a.management.cold(e.rounds, managementEvery)) {
			worked = e.drainManagement(now, a) || worked
		}
	}
	return worked
}

// drainManagement takes what has come for queue pair 1 at an address.
func (e *engine) drainManagement(now transport.Time, a *address) (worked bool) {
	for total := 0; total < roundMessages || e.intake.crowded; {
		asked := a.management.ask
		n := e.receiveBatch(now, a, a.management)
		worked = worked || n > 0
		total += n
		if n < asked || !e.intake.open() {
			break
		}
	}
	return worked
}

// noteCrowd gives the sockets the room that suits the time, and has arrivals wake who sleeps, or not.
func (e *engine) noteCrowd() {
	size := managementBuffer
	if e.intake.flooded {
		size = floodBuffer
	}
	for _, a := range e.addrs {
		if a.management == nil {
			continue
		}
		_, _ = setBuffer(a.management.fd, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, size) // as it was, if that fails
		if !e.intake.flooded {
			a.management.takeAll()
		}
	}
	e.watchSockets()
}

// watchSockets lists the sockets of which an arrival wakes who sleeps, and wakes who has another list.
func (e *engine) watchSockets() {
	e.receivers = nil
	for _, a := range e.addrs {
		if e.died {
			break
		}
		e.receivers = append(e.receivers, a.rx)
		if a.management != nil && !e.intake.crowded {
			e.receivers = append(e.receivers, a.management)
		}
	}
	for who := range e.wakers {
		e.wakeSleeper(who)
	}
}

// openManagement opens a second socket at the address of a receiving one and lets the kernel
// give it what is for queue pair 1. Sockets share a port when all say so: the first says it once it has the
// port, so that another device cannot have the address unless it joins the group. Where the kernel does not do that there is
// no such socket, and all comes to the first.
func openManagement(rx *rxSocket, opt rxOptions) *rxSocket {
	share := option{unix.SOL_SOCKET, unix.SO_REUSEPORT, 1}
	if unix.SetsockoptInt(rx.fd, share.level, share.name, share.value) != nil {
		return nil
	}
	opt.rcvbuf = managementBuffer
	second, err := openRx(rx.local, opt, share)
	if err == nil {
		if err = attachSelector(second.fd, nil, nil); err != nil {
			_ = second.close()
		}
	}
	if err != nil {
		_ = unix.SetsockoptInt(rx.fd, share.level, share.name, 0)
		return nil
	}
	return second
}

// attachSelector has the kernel choose among the sockets that share a port: the second gets what is for queue pair
// 1, those at other places the parts of the numbers that are theirs, and the first the rest.
func attachSelector(fd int, parts, places []uint32) error {
	const destQPWord = 4 // of the BTH, with eight other bits before it
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: destQPWord},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xffffff},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(wire.ManagementQPN), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: managementSeat},
		{Code: unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K, K: 24 - partBits},
	}
	for i := range parts {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: parts[i], Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: places[i]})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: firstSeat})
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &filter); err != nil {
		return fmt.Errorf("udp: tell the sockets of a port apart: %w", err)
	}
	return nil
}

// close closes the sockets of an address.
func (a *address) close() (err error) {
	if a.group != nil {
		a.group.close()
	}
	if a.management != nil {
		err = a.management.close() // before the other, whose place it would take
	}
	return errors.Join(err, a.rx.close())
}
