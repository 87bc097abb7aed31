package braid

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/udp"
)

// traffic sends messages with numbers, calls, reads and writes between two channels, until it is
// told to stop. Each message comes once and in order, and nothing fails.
type traffic struct {
	t        *testing.T
	stop     chan struct{}
	running  sync.WaitGroup
	callers  sync.WaitGroup
	messages atomic.Uint64
	calls    atomic.Uint64
	writes   atomic.Uint64
}

func startTraffic(t *testing.T, a, b *Channel, seed uint64) *traffic {
	tr := &traffic{t: t, stop: make(chan struct{})}
	for i := range 4 {
		tr.callers.Go(func() { tr.call(a, rand.New(rand.NewPCG(seed, uint64(10+i)))) })
	}
	for i, way := range [][2]*Channel{{a, b}, {b, a}} {
		last := make(chan uint64, 1)
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		tr.running.Go(func() { tr.send(way[0], r, last) })
		tr.running.Go(func() { tr.receive(way[1], last) })
	}
	memory, err := b.context.Alloc(1<<20, CanRead|CanWrite|CanAtomic)
	if err != nil {
		t.Fatal(err)
	}
	tr.running.Go(func() { tr.oneSided(a, memory, rand.New(rand.NewPCG(seed, 20))) })
	t.Cleanup(func() {
		memory.Close()
		if t.Failed() {
			for _, ch := range []*Channel{a, b} {
				u, _ := udp.StatsOf(ch.context.device)
				u.Paths = nil
				t.Logf("%+v\n%+v\n%+v", ch.Stats(), ch.qp.Stats(), u)
			}
		}
	})
	return tr
}

func (tr *traffic) stopped() bool {
	select {
	case <-tr.stop:
		return true
	default:
		return tr.t.Failed()
	}
}

// end stops the traffic; what was begun ends well.
func (tr *traffic) end() {
	close(tr.stop)
	tr.running.Wait()
}

// progress waits until some of everything has happened.
func (tr *traffic) progress() {
	tr.t.Helper()
	m, c, w := tr.messages.Load(), tr.calls.Load(), tr.writes.Load()
	deadline := time.Now().Add(60 * time.Second)
	for tr.messages.Load() < m+20 || tr.calls.Load() < c+20 || tr.writes.Load() < w+5 {
		if tr.t.Failed() {
			return
		}
		if time.Now().After(deadline) {
			tr.t.Fatalf("the traffic stands: %d messages, %d calls, %d writes", tr.messages.Load()-m, tr.calls.Load()-c, tr.writes.Load()-w)
		}
		time.Sleep(time.Millisecond)
	}
}

func someLength(r *rand.Rand) int {
	if r.IntN(20) == 0 {
		return r.IntN(200_000)
	}
	return r.IntN(2000)
}

func (tr *traffic) send(ch *Channel, r *rand.Rand, last chan<- uint64) {
	number := uint64(0)
	for !tr.stopped() {
		number++
		if err := ch.Send(soon(tr.t), message(number, someLength(r))); err != nil {
			tr.t.Errorf("message %d: %v", number, err)
			break
		}
	}
	last <- number
	tr.callers.Wait()                                          // who receives the last message responds to no further call
	if err := ch.Send(soon(tr.t), message(0, 8)); err != nil { // the end
		tr.t.Errorf("the last message: %v", err)
	}
}

func (tr *traffic) receive(ch *Channel, last <-chan uint64) {
	for want := uint64(1); ; {
		m, err := ch.Receive(soon(tr.t))
		if err != nil {
			tr.t.Errorf("instead of message %d: %v", want, err)
			return
		}
		number := binary.BigEndian.Uint64(m.Bytes())
		if !bytes.Equal(m.Bytes(), message(number, m.Len())) {
			tr.t.Errorf("message %d is damaged", number)
		}
		if m.IsCall() {
			if err := m.Reply(soon(tr.t), m.Bytes()); err != nil {
				tr.t.Errorf("reply: %v", err)
			}
			m.Release()
			continue
		}
		m.Release()
		if number == 0 {
			if n := <-last; n != want-1 {
				tr.t.Errorf("%d messages of %d arrive", want-1, n)
			}
			return
		}
		if number != want {
			tr.t.Errorf("message %d comes instead of %d", number, want)
			return
		}
		want++
		tr.messages.Add(1)
	}
}

func (tr *traffic) call(ch *Channel, r *rand.Rand) {
	for !tr.stopped() {
		want := message(r.Uint64()>>1, someLength(r))
		m, err := ch.Call(soon(tr.t), want)
		if err != nil {
			tr.t.Errorf("call: %v", err)
			return
		}
		if !bytes.Equal(m.Bytes(), want) {
			tr.t.Errorf("a call of %d bytes gets %d others", len(want), m.Len())
		}
		m.Release()
		tr.calls.Add(1)
	}
}

// oneSided writes and reads, and counts in the peer's memory: an addition that ran twice would show.
func (tr *traffic) oneSided(ch *Channel, memory *Memory, r *rand.Rand) {
	counter, area := memory.Remote().Slice(0, 8), memory.Remote().Slice(8, 1<<20)
	for count := uint64(0); !tr.stopped(); count++ {
		old, err := ch.FetchAdd(soon(tr.t), counter, 1)
		if err != nil || old != count {
			tr.t.Errorf("addition %d: %d, %v", count, old, err)
			return
		}
		want := message(count, 1+r.IntN(50_000))
		if err := ch.Write(soon(tr.t), want, area.Slice(0, len(want))); err != nil {
			tr.t.Errorf("write: %v", err)
			return
		}
		got := make([]byte, len(want))
		if err := ch.Read(soon(tr.t), got, area.Slice(0, len(got))); err != nil {
			tr.t.Errorf("read: %v", err)
			return
		}
		if !bytes.Equal(got, want) {
			tr.t.Errorf("%d bytes are read that were not written", len(got))
		}
		tr.writes.Add(1)
	}
}
