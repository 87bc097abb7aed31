package udp

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// wayTo is a way to the other end: a queue, and a goroutine that empties it.
type wayTo struct {
	to    *end
	from  *end
	mu    sync.Mutex
	queue [][]byte
	full  bool
	news  chan struct{}
}

// wayRoom is how many packets a way has room for; few, so that it is often full.
const wayRoom = 8

func newWay(t *testing.T, from, to *end) *wayTo {
	w := &wayTo{to: to, from: from, news: make(chan struct{}, 1)}
	stop := make(chan struct{})
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			select {
			case <-w.news:
			case <-stop:
				return
			}
			w.mu.Lock()
			packets, full := w.queue, w.full
			w.queue, w.full = nil, false
			w.mu.Unlock()
			noError(t, to.qp.Inject(packets))
			if full {
				noError(t, from.qp.Resume())
			}
		}
	})
	t.Cleanup(func() { close(stop); carrying.Wait() })
	return w
}

func (w *wayTo) Room() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = len(w.queue) >= wayRoom
	return !w.full
}

func (w *wayTo) Carry(packet []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, bytes.Clone(packet))
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// cutAll loses all packets of two ends, or none.
func cutAll(cut bool, ends ...*end) {
	for _, e := range ends {
		for path := range e.dev.Query().Paths {
			if cut {
				FaultsOf(e.dev).Cut(path)
			} else {
				FaultsOf(e.dev).Restore(path)
			}
		}
	}
}

func connectedKinds(t *testing.T, test func(t *testing.T, kind verbs.QPType)) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) { test(t, kind) })
	}
}

// The packets of a queue pair change their way at any moment while data moves, and one
// way may be dead: everything arrives once.
func TestDetour(t *testing.T) {
	connectedKinds(t, func(t *testing.T, kind verbs.QPType) {
		o := verbs.QPOptions{Type: kind, Conn: verbs.ConnOptions{AckTimeout: 500 * time.Millisecond}}
		a, b := connect(t, Config{Paths: 4, Capture: io.Discard}, o, streamMemory(16<<10, 8))
		toB, toA := newWay(t, a, b), newWay(t, b, a)
		s := newStream(a, b, 16<<10, 8)
		s.run(10)
		if n := statsOf(t, a.dev).PacketsDiverted; n != 0 {
			t.Errorf("%d packets took a detour that there was not", n)
		}
		for range 3 {
			noError(t, a.qp.Divert(toB))
			s.run(10)
			noError(t, b.qp.Divert(toA))
			s.run(10)
			cutAll(true, a, b) // the network is not needed
			s.run(10)
			cutAll(false, a, b)
			noError(t, a.qp.Divert(nil))
			s.run(10)
			noError(t, b.qp.Divert(nil))
			s.run(10)
		}
		const steps = 1600
		step, target := 0, s.received+100
		noError(t, s.runWhile(func() bool { // packets are on their way
			switch step++; step * 8 / steps {
			case 1, 5:
				noError(t, a.qp.Divert(toB))
			case 2, 6:
				noError(t, b.qp.Divert(toA))
			case 3, 7:
				noError(t, a.qp.Divert(nil))
			case 4, 8:
				noError(t, b.qp.Divert(nil))
			}
			return step < steps || s.received < target
		}))
		for _, e := range []*end{a, b} {
			if s := statsOf(t, e.dev); s.PacketsDiverted == 0 || s.PacketsInjected == 0 || s.BadICRC != 0 || s.WrongSource != 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// What a way brings is for its queue pair or for nobody.
func TestInjectRefuses(t *testing.T) {
	connectedKinds(t, func(t *testing.T, kind verbs.QPType) {
		a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 4096)
		_, other := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 4096)
		// A valid packet, taken on its way.
		w := &wayTo{news: make(chan struct{}, 1)}
		noError(t, a.qp.Divert(w))
		noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
		<-w.news
		w.mu.Lock()
		valid := w.queue[0]
		w.mu.Unlock()
		changed := func(change func(b []byte)) []byte {
			b := bytes.Clone(valid)
			change(b)
			return b
		}
		misdirected := changed(func(p []byte) {
			n := other.qp.Number()
			p[5], p[6], p[7] = byte(n>>16), byte(n>>8), byte(n)
		})
		probe := changed(func(p []byte) { p[0] = byte(wire.NetworkProbe) })
		damaged := changed(func(p []byte) { p[len(p)-6] ^= 1 })
		stranger := changed(func(p []byte) { p[2] = 0 })
		before := b.qp.Stats().PacketsReceived
		noError(t, b.qp.Inject([][]byte{misdirected, probe, damaged, stranger, valid[:10], nil}))
		s := statsOf(t, b.dev)
		if s.WrongSource != 2 || s.BadICRC != 1 || s.BadPKey != 1 || s.Malformed != 2 || s.PacketsInjected != 6 {
			t.Errorf("%+v", s)
		}
		if n := b.qp.Stats().PacketsReceived; n != before {
			t.Errorf("%d packets reached the queue pair", n-before)
		}
		noError(t, b.qp.Inject([][]byte{valid}))
		if n := b.qp.Stats().PacketsReceived; n == before {
			t.Error("a valid packet did not reach the queue pair")
		}
	})
}

// watcher notes what it is told.
type watcher struct {
	silent chan struct{}
	probed chan uint32
}

func newWatcher() *watcher {
	return &watcher{silent: make(chan struct{}, 100), probed: make(chan uint32, 100)}
}

func (w *watcher) Silent()              { w.silent <- struct{}{} }
func (w *watcher) Probed(number uint32) { w.probed <- number }

// A probe takes the network, is as long as a packet may be, and disturbs nothing.
func TestProbe(t *testing.T) {
	connectedKinds(t, func(t *testing.T, kind verbs.QPType) {
		a, b := connect(t, Config{Paths: 4}, patientOptions(kind), streamMemory(64<<10, 8))
		w := newWatcher()
		noError(t, b.qp.Watch(w))
		noError(t, a.qp.Divert(newWay(t, a, b)))
		taken := tapSends(engineOf(a.dev), 100)
		noError(t, a.qp.Probe(0xabcdef))
		if n := <-w.probed; n != 0xabcdef {
			t.Errorf("number %#x", n)
		}
		mtu := a.qp.Query().Attr.MTU
		for _, p := range taken.taken() {
			if want := wire.BTHLen + mtu + wire.ICRCLen; len(p.data) != want {
				t.Errorf("a probe of %d bytes, want %d", len(p.data), want)
			}
		}
		hookSends(engineOf(a.dev), nil)
		newStream(a, b, 64<<10, 8).run(10)
		if c := b.qp.Stats(); c.Malformed != 0 || c.Stale != 0 {
			t.Errorf("the queue pair has seen it: %+v", c)
		}
		for len(w.probed) > 0 {
			<-w.probed // copies by other paths
		}
		cutAll(true, a)
		noError(t, a.qp.Probe(1))
		cutAll(false, a)
		noError(t, a.qp.Probe(2))
		if n := <-w.probed; n != 2 {
			t.Errorf("probe %d has come by a network that is cut", n)
		}
	})
}

// Silence is told well before the queue pair gives up, and not when it has packets of the peer.
func TestSilence(t *testing.T) {
	connectedKinds(t, func(t *testing.T, kind verbs.QPType) {
		o := verbs.QPOptions{Type: kind, Conn: verbs.ConnOptions{AckTimeout: 250 * time.Millisecond, RetryCount: 7}}
		a, b := connect(t, Config{Paths: 2}, o, 4096)
		w := newWatcher()
		noError(t, a.qp.Watch(w))
		write := func() {
			noError(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
		}
		write()
		a.wait()
		if len(w.silent) > 0 {
			t.Error("silence where there is none")
		}
		cutAll(true, a, b)
		write()
		<-w.silent
		if s := a.qp.State(); s != verbs.RTS {
			t.Errorf("the queue pair is in %v", s)
		}
		if n := a.qp.Stats().LocalAckTimeoutErr; kind == verbs.RC && n > 3 {
			t.Errorf("%d of 8 timeouts have passed", n)
		}
		cutAll(false, a, b)
		a.wait()
	})
}

// A queue pair that is connected anew begins on the network.
func TestDetourEndsWithTheConnection(t *testing.T) {
	a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP}, streamMemory(1024, 4))
	noError(t, a.qp.Divert(&wayTo{news: make(chan struct{}, 1)}))
	for _, e := range []*end{a, b} {
		noError(t, e.qp.Modify(verbs.Reset, nil))
	}
	join(t, a, b)
	newStream(a, b, 1024, 4).run(10)
}
