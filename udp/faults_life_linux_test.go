package udp

import (
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
	"golang.org/x/sys/unix"
)

func TestFault47PortInUse(t *testing.T) {
	first, err := Open(Config{Paths: 1})
	noError(t, err)
	defer first.Close()
	addr := first.Query().Local
	time.Sleep(time.Millisecond) // the first timer has the runtime open files of its own
	before := openFiles()
	if _, err := Open(Config{Addr: addr, Paths: 4}); !errors.Is(err, ErrPortInUse) {
		t.Errorf("a second device at the same address: %v", err)
	}
	if _, err := Open(Config{Addr: netip.MustParseAddr("192.0.2.77")}); !errors.Is(err, ErrNoAddress) {
		t.Errorf("a foreign address: %v", err)
	}
	if now := openFiles(); now != before {
		t.Errorf("%d files were left open", now-before)
	}
	noError(t, first.Close())
	second, err := Open(Config{Addr: addr, Paths: 1})
	noError(t, err)
	noError(t, second.Close())
}

// TestFault51FilesExhausted opens devices until there are no files left. The
// connection that exists goes on, and nothing leaks.
func TestFault51FilesExhausted(t *testing.T) {
	a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP}, streamMemory(4096, 8))
	s := newStream(a, b, 4096, 8)
	s.run(10)
	openSourcePorts(a, b)
	before := openFiles()
	var limit unix.Rlimit
	noError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	for room := -before; room < 24; room++ { // each step of opening fails once, whatever numbers are free
		tight := limit
		tight.Cur = uint64(before + room)
		noError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &tight))
		dev, err := Open(Config{Paths: 2, Loops: 2})
		noError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
		if err == nil {
			noError(t, dev.Close())
		} else if !errors.Is(err, ErrTooManyFiles) {
			t.Errorf("with room for %d files: %v", room, err)
		}
	}
	s.run(10)
	if now := openFiles(); now != before {
		t.Errorf("%d files were left open", now-before)
	}
}

// openSourcePorts opens the sockets of all source ports, which wait for their first
// packet otherwise, so that open files can be compared.
func openSourcePorts(ends ...*end) {
	for _, x := range ends {
		e := engineOf(x.dev)
		e.Lock()
		for i := range e.pool.sockets {
			e.pool.socket(i)
		}
		e.Unlock()
	}
}

// TestFault54CreateAndDestroy makes and ends connections under traffic, so that
// packets and timers of the dead keep coming.
func TestFault54CreateAndDestroy(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	if raceEnabled {
		rounds /= 4
	}
	a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: verbs.MP}, streamMemory(4096, 4))
	stop := newStream(a, b, 4096, 4).background()
	x := &end{t: t, dev: a.dev, pd: a.pd, mr: a.mr}
	y := &end{t: t, dev: b.dev, pd: b.pd, mr: b.mr}
	var err error
	x.cq, err = a.dev.CreateCQ(1 << 10)
	noError(t, err)
	y.cq, err = b.dev.CreateCQ(1 << 10)
	noError(t, err)
	openSourcePorts(a, b)
	goroutines, files := runtime.NumGoroutine(), openFiles()
	var out [64]verbs.Completion
	for i := range rounds {
		kind := verbs.RC
		if i%2 == 0 {
			kind = verbs.MP
		}
		o := verbs.QPOptions{Type: kind, SendDepth: 4, RecvDepth: 4, MaxInline: 16}
		o.SendCQ = x.cq
		x.qp, err = x.pd.CreateQP(o)
		noError(t, err)
		o.SendCQ = y.cq
		y.qp, err = y.pd.CreateQP(o)
		noError(t, err)
		join(t, x, y)
		for range 2 { // neither end waits for what comes of it
			noError(t, x.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, Inline: []byte("to be lost")}))
			noError(t, y.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, Flags: verbs.Signaled, Inline: []byte("to be lost")}))
		}
		noError(t, x.qp.Close())
		noError(t, y.qp.Close())
		want := map[*verbs.CQ]int{x.cq: 2, y.cq: 2}
		for cq, n := range want {
			if got, err := cq.Poll(out[:]); err != nil || got != n {
				t.Fatalf("round %d: %d completions, %v; want %d", i, got, err, n)
			}
		}
	}
	stop()
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	if now := openFiles(); now > files {
		t.Errorf("%d files, %d before", now, files)
	}
	for _, d := range []*verbs.Device{a.dev, b.dev} {
		e := engineOf(d)
		e.mu.Lock()
		if len(e.ports) != 1 || len(e.timers) > 1 || len(e.dirty) > 1 {
			t.Errorf("left: %d queue pairs, %d timers, %d to be driven", len(e.ports), len(e.timers), len(e.dirty))
		}
		e.mu.Unlock()
	}
}

// TestFault55CloseInFlight closes each kind of object while a large message or
// a READ is on its way. Each request completes once, and later closes are idle.
func TestFault55CloseInFlight(t *testing.T) {
	closers := map[string]func(s *end) error{
		"qp":     func(s *end) error { return s.qp.Close() },
		"cq":     func(s *end) error { return s.cq.Close() },
		"pd":     func(s *end) error { return s.pd.Close() },
		"device": func(s *end) error { return s.dev.Close() },
	}
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		for name, shut := range closers {
			for _, op := range []verbs.Op{verbs.OpRead, verbs.OpWrite} {
				t.Run(kind.String()+"/"+name+"/"+op.String(), func(t *testing.T) {
					const size, depth = 8 << 20, 4
					a, b := connect(t, Config{Paths: 2}, verbs.QPOptions{Type: kind}, size)
					for range depth {
						noError(t, a.qp.PostSend(&verbs.SendWR{
							Op: op, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
						}))
					}
					time.Sleep(time.Millisecond)
					var group sync.WaitGroup
					for range 3 {
						group.Go(func() { noError(t, shut(a)) })
					}
					group.Wait()
					clear(a.mr.Bytes()) // nothing reads or writes it any more
					done := 0
					for {
						var out [16]verbs.Completion
						n, err := a.cq.Poll(out[:])
						done += n
						if n == 0 || err != nil {
							break
						}
					}
					if done != depth {
						t.Errorf("%d completions, want %d", done, depth)
					}
				})
			}
		}
	}
}

// TestIdleConnectionMemory measures what a connected multi-path queue pair takes
// beyond its queues, which are as short as can be: when it is new, and when it
// has moved data and rests.
func TestIdleConnectionMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector adds memory of its own")
	}
	const pairs = 500
	a, b := connect(t, Config{}, verbs.QPOptions{Type: verbs.MP}, 1<<16)
	o := verbs.QPOptions{Type: verbs.MP, SendDepth: 1, RecvDepth: 1, MaxSendSGE: 1, MaxRecvSGE: 1, MaxInline: verbs.None}
	var xs, ys [pairs]end
	before := heap()
	for i := range pairs {
		xs[i], ys[i] = *a, *b
		var err error
		o.SendCQ = a.cq
		xs[i].qp, err = a.pd.CreateQP(o)
		noError(t, err)
		o.SendCQ = b.cq
		ys[i].qp, err = b.pd.CreateQP(o)
		noError(t, err)
		join(t, &xs[i], &ys[i])
	}
	fresh := (heap() - before) / (2 * pairs)
	for i := range pairs {
		noError(t, xs[i].qp.PostSend(&verbs.SendWR{
			Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 1<<16)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
		}))
		xs[i].wait()
	}
	rested := (heap() - before) / (2 * pairs)
	t.Logf("bytes per queue pair: %d new, %d rested", fresh, rested)
	if fresh > 4096 {
		t.Errorf("a new queue pair takes %d bytes", fresh)
	}
	if rested > 8192 { // its records of what is under way have grown to the size of the message
		t.Errorf("a queue pair that has moved data takes %d bytes", rested)
	}
	runtime.KeepAlive(&xs)
	runtime.KeepAlive(&ys)
}

// heap is the memory in use once garbage is gone.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
