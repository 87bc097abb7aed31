package udp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// openLooped opens an end on a device of several loops, with a completion queue and a queue pair for each of n.
func openLooped(t testing.TB, cfg Config, o verbs.QPOptions, n, size int) []*end {
	t.Helper()
	first := openEnd(t, cfg, o, size)
	ends := []*end{first}
	for range n - 1 {
		e := *first
		var err error
		e.cq, err = first.dev.CreateCQ(1024)
		noError(t, err)
		e.mr, err = first.pd.AllocMemory(size, allRights)
		noError(t, err)
		o.SendCQ = e.cq
		e.qp, err = first.pd.CreateQP(o)
		noError(t, err)
		ends = append(ends, &e)
	}
	return ends
}

// receivedBy is how many packets each loop of a device has received.
func receivedBy(d *verbs.Device) (packets []uint64) {
	for _, e := range enginesOf(d) {
		e.mu.Lock()
		packets = append(packets, e.stats.PacketsReceived)
		e.mu.Unlock()
	}
	return packets
}

// Queue pairs are spread over the loops, and the kernel gives each loop the packets of its own.
func TestLoopsShareTheWork(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			const loops, pairs = 3, 6
			o := verbs.QPOptions{Type: kind}
			as := openLooped(t, Config{Paths: 4, Loops: loops}, o, pairs, streamMemory(8192, 8))
			bs := openLooped(t, Config{Paths: 4, Loops: loops}, o, pairs, streamMemory(8192, 8))
			var running sync.WaitGroup
			for i := range pairs {
				join(t, as[i], bs[i])
				running.Go(func() {
					if err := newStream(as[i], bs[i], 8192, 8).runWhile(counted(200)); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			for _, d := range []*verbs.Device{as[0].dev, bs[0].dev} {
				s := statsOf(t, d)
				if s.Loops != loops || s.LoopsRefused+s.SharingDevices+s.UnknownQP+s.WrongSource+s.BadICRC+s.PacketsHandedOver != 0 {
					t.Errorf("%+v", s)
				}
				for i, n := range receivedBy(d) {
					if n < 100 {
						t.Errorf("loop %d has received %d packets", i, n)
					}
				}
			}
		})
	}
}

// A sender does not join packets for different loops of its peer to one message, which the kernel would give to one of them.
func TestLoopsGetWholeMessages(t *testing.T) {
	const pairs = 6
	o := verbs.QPOptions{Type: verbs.MP}
	as := openLooped(t, Config{Paths: 1, Loops: 1}, o, pairs, 64)
	bs := openLooped(t, Config{Paths: 1, Loops: 3}, o, pairs, 64)
	for i := range as {
		join(t, as[i], bs[i])
	}
	for range 50 {
		for i, a := range as {
			noError(t, a.qp.PostSendMore(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.All()}, RemoteAddr: bs[i].mr.Addr(), RKey: bs[i].mr.RKey()}))
		}
		e := engineOf(as[0].dev)
		e.Lock() // all of them are sent together
		for _, p := range e.ports {
			e.Kick(p.qp)
		}
		e.Unlock()
		for _, a := range as {
			a.wait()
		}
	}
	if s := statsOf(t, bs[0].dev); s.PacketsHandedOver+s.HandoverDropped+s.UnknownQP != 0 {
		t.Errorf("%+v", s)
	}
}

// counted is a condition that holds n times.
func counted(n int) func() bool {
	return func() bool {
		n--
		return n >= 0
	}
}

// A completion queue takes what queue pairs of all loops report, and wakes who waits there, whichever loop it is of.
func TestLoopsShareACompletionQueue(t *testing.T) {
	const pairs, messages = 6, 300
	o := verbs.QPOptions{Type: verbs.MP, RecvDepth: messages}
	as := openLooped(t, Config{Paths: 2, Loops: 2}, o, pairs, 4096)
	b := openEnd(t, Config{Paths: 2, Loops: 3}, verbs.QPOptions{}, 4096)
	cq, err := b.dev.CreateCQ(2 * pairs * messages)
	noError(t, err)
	o.SendCQ = cq
	var running sync.WaitGroup
	for _, a := range as {
		e := *b
		e.qp, err = b.pd.CreateQP(o)
		noError(t, err)
		noError(t, e.qp.Prepare())
		for i := range messages {
			noError(t, e.qp.PostRecv(&verbs.RecvWR{ID: uint64(i)}))
		}
		join(t, a, &e)
		running.Go(func() {
			for i := range messages {
				if err := a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSendImm, Flags: verbs.Signaled, Imm: uint32(i)}); err != nil {
					t.Error(err)
					return
				}
				a.wait()
			}
		})
	}
	next := make(map[verbs.QPN]uint32)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out [32]verbs.Completion
	for got := 0; got < pairs*messages; {
		n, err := cq.Wait(ctx, out[:])
		noError(t, err)
		for i := range out[:n] {
			c := &out[i]
			if c.Err() != nil || c.Imm != next[c.QPN] {
				t.Fatalf("%v of queue pair %v, want number %d", c, c.QPN, next[c.QPN])
			}
			next[c.QPN]++
		}
		got += n
	}
	running.Wait()
	if len(next) != pairs {
		t.Errorf("%d queue pairs, want %d", len(next), pairs)
	}
}

// When Deregister has returned nothing is written, whichever loop the writers' queue pairs are of.
func TestLoopsDeregister(t *testing.T) {
	const loops, size = 2, 256 << 10
	o := verbs.QPOptions{Type: verbs.MP}
	as := openLooped(t, Config{Paths: 4, Loops: loops}, o, loops, size)
	bs := openLooped(t, Config{Paths: 4, Loops: loops}, o, loops, 64)
	for i := range as {
		join(t, as[i], bs[i])
	}
	for round := range 20 {
		target, err := bs[0].pd.AllocMemory(size, allRights)
		noError(t, err)
		memory := target.Bytes()
		for _, a := range as {
			if round > 0 {
				noError(t, a.qp.Modify(verbs.Reset, nil))
			}
		}
		for i := range as {
			if round > 0 {
				noError(t, bs[i].qp.Modify(verbs.Reset, nil))
				join(t, as[i], bs[i])
			}
			for range 16 {
				noError(t, as[i].qp.PostSend(&verbs.SendWR{
					Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{as[i].mr.SGE(0, size/loops)},
					RemoteAddr: target.Addr() + uint64(i)*size/loops, RKey: target.RKey(),
				}))
			}
		}
		time.Sleep(time.Duration(round) * 50 * time.Microsecond) // anywhere in the transfer
		noError(t, target.Deregister())
		for i := range memory { // the detector, and the check below, see any later write
			memory[i] = 0xaa
		}
		for _, a := range as {
			drainAll(t, a, 16)
		}
		for i := range memory {
			if memory[i] != 0xaa {
				t.Fatalf("round %d: byte %d was written after Deregister", round, i)
			}
		}
	}
}

// drainAll takes n completions, failed or not.
func drainAll(t testing.TB, e *end, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out [16]verbs.Completion
	for n > 0 {
		got, err := e.cq.Wait(ctx, out[:])
		noError(t, err)
		n -= got
	}
}

// A completion queue that overflows breaks the queue pairs of every loop that report to it.
func TestLoopsOverflow(t *testing.T) {
	o := verbs.QPOptions{Type: verbs.RC}
	as := openLooped(t, Config{Paths: 1, Loops: 2}, o, 4, 64)
	b := openEnd(t, Config{Paths: 1, Loops: 2}, verbs.QPOptions{}, 64)
	cq, err := b.dev.CreateCQ(3)
	noError(t, err)
	o.SendCQ = cq
	var qps []*verbs.QP
	for _, a := range as {
		e := *b
		e.qp, err = b.pd.CreateQP(o)
		noError(t, err)
		qps = append(qps, e.qp)
		noError(t, e.qp.Prepare())
		for range 4 {
			noError(t, e.qp.PostRecv(&verbs.RecvWR{}))
		}
		join(t, a, &e)
	}
	for range 4 {
		noError(t, as[0].qp.PostSend(&verbs.SendWR{Op: verbs.OpSend}))
	}
	for i, q := range qps {
		eventually(t, "the queue pair fails", func() bool { return q.State() == verbs.Err })
		if i > 0 && q.Stats().PacketsReceived != 0 {
			t.Errorf("queue pair %d was not meant to receive", i)
		}
	}
	if n := cq.Lost(); n == 0 {
		t.Error("no completion was lost")
	}
}

// Queue pairs of a shared receive queue stay in one loop, and datagrams in the first.
func TestLoopsOfSharedReceives(t *testing.T) {
	b := openEnd(t, Config{Paths: 1, Loops: 2}, verbs.QPOptions{}, 64)
	srq, err := b.pd.CreateSRQ(16, 1)
	noError(t, err)
	noError(t, srq.PostRecv(&verbs.RecvWR{})) // before it has a loop
	o := verbs.QPOptions{Type: verbs.RC, SendCQ: b.cq, SRQ: srq}
	parts := make(map[int]bool)
	for range 4 {
		q, err := b.pd.CreateQP(o)
		noError(t, err)
		parts[partOf(q.Number())] = true
	}
	if len(parts) != 1 {
		t.Errorf("parts %v", parts)
	}
	noError(t, srq.PostRecv(&verbs.RecvWR{}))
	if n := srq.Len(); n != 2 {
		t.Errorf("%d receives, want 2", n)
	}
	for range 2 {
		q, err := b.pd.CreateQP(verbs.QPOptions{Type: verbs.UD, SendCQ: b.cq})
		noError(t, err)
		if partOf(q.Number()) != engineOf(b.dev).part.number {
			t.Errorf("a datagram queue pair has number %v", q.Number())
		}
	}
	o.Type = verbs.UD // the shared queue is of the second loop: the first queue pair has the first
	if _, err := b.pd.CreateQP(o); !errors.Is(err, verbs.ErrAttr) {
		t.Errorf("datagrams beside connections of another loop: %v", err)
	}
}

// Where there is no part of the numbers for a loop there are fewer, and the device says so. What does not share
// is for its own loops only.
func TestLoopsRefused(t *testing.T) {
	const port = 4799
	var taken []part
	for range loopParts {
		taken = append(taken, claimPart(port, loopParts))
	}
	defer func() { releaseAll(taken) }()
	few := openEnd(t, Config{Port: port, Paths: 1, Loops: 3}, verbs.QPOptions{}, 64)
	if s := statsOf(t, few.dev); s.Loops != 1 || s.LoopsRefused != 2 {
		t.Errorf("%d loops, %d refused; want 1 and 2", s.Loops, s.LoopsRefused)
	}
	alone := openEnd(t, Config{Addr: sharedAddress(), Paths: 1, Loops: 2, Exclusive: true}, verbs.QPOptions{}, 64)
	if s := statsOf(t, alone.dev); s.Loops != 2 {
		t.Errorf("%d loops, want 2", s.Loops)
	}
	if _, err := Open(Config{Addr: sharedAddress(), Paths: 1}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("beside a device that does not share: %v", err)
	}
	for _, loops := range []int{-1, maxLoops + 1} {
		if _, err := Open(Config{Loops: loops}); !errors.Is(err, transport.ErrAttr) {
			t.Errorf("%d loops: %v", loops, err)
		}
	}
}

// The loops of a device stay together when another device that led at its address has gone: its first loop leads.
func TestLoopsAfterTheLeader(t *testing.T) {
	at := sharedAddress()
	leader, err := Open(Config{Addr: at, Paths: 1, Loops: 2})
	noError(t, err)
	as := openLooped(t, Config{Addr: at, Paths: 2, Loops: 3}, verbs.QPOptions{Type: verbs.MP}, 3, streamMemory(4096, 8))
	bs := openLooped(t, Config{Paths: 2, Loops: 1}, verbs.QPOptions{Type: verbs.MP}, 3, streamMemory(4096, 8))
	var streams []*stream
	for i := range as {
		join(t, as[i], bs[i])
		streams = append(streams, newStream(bs[i], as[i], 4096, 8))
	}
	if n := statsOf(t, as[0].dev).SharingDevices; n != 2 {
		t.Errorf("%d others, want 2", n)
	}
	for _, s := range streams {
		s.run(20)
	}
	noError(t, leader.Close())
	group := engineOf(as[0].dev).own.group
	eventually(t, "the first loop leads", func() bool {
		group.mu.Lock()
		defer group.mu.Unlock()
		return group.leader == nil && len(group.conns) == 2
	})
	for _, s := range streams {
		s.run(20)
	}
}

// fuse is a tracer that panics after a number of events.
type fuse struct{ left atomic.Int64 }

func (f *fuse) Trace(transport.Time, transport.TraceEvent) {
	if f.left.Add(-1) == 0 {
		panic("a tracer of the test")
	}
}

// A loop that ends in a panic fails its own queue pairs, each request of which completes once. Those of other loops go on,
// and so does who waits for them in a completion queue of the loop that is gone.
func TestLoopsDieAlone(t *testing.T) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(old)
	for _, attended := range []bool{false, true} { // by whom the loop is run: its own thread, or one that waits
		t.Run(map[bool]string{false: "background", true: "attended"}[attended], func(t *testing.T) {
			o := verbs.QPOptions{Type: verbs.MP}
			bs := openLooped(t, Config{Paths: 2, Loops: 1}, o, 3, streamMemory(4096, 8))
			f := &fuse{}
			f.left.Store(500)
			o.Trace = f
			victim := openEnd(t, Config{Paths: 2, Loops: 2}, o, streamMemory(4096, 8))
			o.Trace = nil
			// The next queue pair of its completion queue is of the other loop.
			o.SendCQ = victim.cq
			neighbour := *victim
			var err error
			neighbour.qp, err = victim.pd.CreateQP(o)
			noError(t, err)
			other := *victim
			other.cq, err = victim.dev.CreateCQ(1024)
			noError(t, err)
			other.mr, err = victim.pd.AllocMemory(streamMemory(4096, 8), allRights)
			noError(t, err)
			o.SendCQ = other.cq
			other.qp, err = victim.pd.CreateQP(o)
			noError(t, err)
			for i, a := range []*end{victim, &other, &neighbour} {
				noError(t, bs[i].qp.Prepare())
				noError(t, a.qp.Prepare())
				join(t, a, bs[i])
			}
			stop := newStream(&other, bs[1], 4096, 8).background()
			failed := make(chan error, 1)
			victim.qp.OnFailure(func(cause error) { failed <- cause })
			completed, posted := 0, 0
			var out [16]verbs.Completion
			for victim.qp.State() == verbs.RTS {
				if posted-completed < 8 {
					noError(t, victim.qp.PostSend(&verbs.SendWR{
						Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{victim.mr.SGE(0, 4096)}, RemoteAddr: bs[0].mr.Addr(), RKey: bs[0].mr.RKey(),
					}))
					posted++
				}
				if attended {
					n, err := victim.cq.Poll(out[:])
					noError(t, err)
					completed += n
				} else {
					completed += take(victim.cq, out[:])
				}
			}
			if err := <-failed; err == nil {
				t.Error("it failed without a cause")
			}
			for completed < posted {
				n, err := victim.cq.Poll(out[:])
				noError(t, err)
				completed += n
			}
			for _, post := range []func() error{
				func() error { return victim.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite}) },
				func() error { return victim.qp.PostRecv(&verbs.RecvWR{}) },
			} {
				noError(t, post())
				if n := take(victim.cq, out[:]); n != 1 || !errors.Is(out[0].Err(), verbs.ErrFlushed) {
					t.Errorf("%d completions of a request posted later, the first %v; want one that was flushed", n, out[0].Err())
				}
			}
			noError(t, victim.qp.Modify(verbs.Reset, nil))
			if err := victim.qp.Connect(bs[0].qp.Params()); !errors.Is(err, errDied) {
				t.Errorf("connecting on a loop that has ended: %v, want %v", err, errDied)
			}
			stop()
			// The home of this completion queue is the loop that is gone.
			noError(t, neighbour.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{victim.mr.SGE(0, 64)}, RemoteAddr: bs[2].mr.Addr(), RKey: bs[2].mr.RKey()}))
			neighbour.wait()
			if n := take(victim.cq, out[:]); n != 0 {
				t.Errorf("%d completions more than requests", n)
			}
			if s := statsOf(t, victim.dev); s.Loops != 2 || s.LoopsDied != 1 {
				t.Errorf("%d loops, %d died", s.Loops, s.LoopsDied)
			}
		})
	}
}

// take takes completions without running a loop.
func take(cq *verbs.CQ, out []verbs.Completion) int {
	if !cq.Ready() {
		time.Sleep(10 * time.Microsecond)
		return 0
	}
	n, _ := cq.Poll(out)
	return n
}
