package braid

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/braid-rdma/braid/internal/pages"
)

// receiveHeld sends messages and keeps them.
func receiveHeld(t *testing.T, a, b *Channel, n, length int) (held []*Msg) {
	t.Helper()
	var sending sync.WaitGroup
	defer sending.Wait()
	content := payload(length)
	sending.Go(func() {
		for range n {
			if err := a.Send(soon(t), content); err != nil {
				t.Error(err)
			}
		}
	})
	for range n {
		m, err := b.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, m)
	}
	return held
}

func releaseAll(held []*Msg) {
	for _, m := range held {
		m.Release()
	}
}

// Memory grows with what the application holds, and shrinks to what is in use when it is not needed for a while.
func TestMemoryGrowsAndShrinks(t *testing.T) {
	t.Setenv("BRAID_DEBUG_MEMORY", "false") // it needs more
	a, b := pair(t, Config{})
	c := b.context
	floor := c.Stats()
	if used := floor.FrameBytes - floor.UnusedFrameBytes; floor.BufferBytes != 0 || floor.FrameBytes != regionBytes || used < 7*4096 || used > 20*5000 {
		t.Fatalf("at first: %+v", floor)
	}
	held := receiveHeld(t, a, b, 9, 1<<20)
	held = append(held, receiveHeld(t, a, b, 2, 5<<20)...)
	held = append(held, receiveHeld(t, a, b, 2000, 100)...)
	s := c.Stats()
	if s.BufferBytes != 3*regionBytes+2*8<<20 || s.UnusedBytes != 3<<20 || s.FrameBytes < 2*regionBytes {
		t.Errorf("under load: %+v", s)
	}
	c.memory.shrink(true)
	if after := c.Stats(); after.BufferBytes != s.BufferBytes || after.FrameBytes != s.FrameBytes {
		t.Errorf("memory in use was given back: %+v, was %+v", after, s)
	}
	for _, m := range []*Msg{held[0], held[10], held[len(held)-1]} {
		if !bytes.Equal(m.Bytes(), payload(m.Len())) {
			t.Fatal("a message has changed")
		}
	}
	releaseAll(held)
	if s := c.Stats(); s.UnusedBytes != s.BufferBytes {
		t.Errorf("after the load: %+v", s)
	}
	c.memory.shrink(false) // what was used a moment ago is kept
	if s := c.Stats(); s.BufferBytes == 0 {
		t.Errorf("given back at once: %+v", s)
	}
	c.memory.shrink(false)
	// The receives that were posted under load move as they are used.
	releaseAll(receiveHeld(t, a, b, 300, 10))
	c.memory.shrink(true)
	if s := c.Stats(); s.BufferBytes != 0 || s.FrameBytes != floor.FrameBytes {
		t.Errorf("after a while: %+v, want %+v", s, floor)
	}
	releaseAll(receiveHeld(t, a, b, 5, 1<<20)) // it comes back
	if s := c.Stats(); s.BufferBytes == 0 {
		t.Errorf("used again: %+v", s)
	}
}

// It shrinks by itself, also when the program does nothing.
func TestMemoryShrinksByItself(t *testing.T) {
	l := listen(t, open(t, Config{}))
	c := open(t, Config{})
	c.memory.idle = 20 * time.Millisecond
	a, err := c.Dial(soon(t), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	held := receiveHeld(t, b, a, 8, 2<<20)
	if s := c.Stats(); s.BufferBytes < 16<<20 {
		t.Errorf("under load: %+v", s)
	}
	releaseAll(held)
	for ctx := soon(t); c.memory.buffers.Load() != 0; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("%+v", c.Stats())
		}
	}
	a.Close()
	for ctx := soon(t); c.memory.frames.Load() != 0; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("without a channel: %+v", c.Stats())
		}
	}
	if s := c.Stats(); s.CachedQPs != 1 {
		t.Errorf("the queue pair does not wait: %+v", s)
	}
	b.Close()
	for range 2 { // without receives, and with them
		if a, err = c.Dial(soon(t), l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		if b, err = l.Accept(soon(t)); err != nil {
			t.Fatal(err)
		}
		releaseAll(receiveHeld(t, a, b, 1, 10))
		a.Close()
		b.Close()
	}
	if s := c.Stats(); s.ReusedQPs != 2 {
		t.Errorf("%d were used again", s.ReusedQPs)
	}
}

// What is not used is not kept beyond Config.Memory.
func TestMemoryIsBounded(t *testing.T) {
	a, b := pair(t, Config{Memory: 32 << 20})
	for _, length := range []int{100 << 10, 1 << 20, 7 << 20, 15 << 20} {
		releaseAll(receiveHeld(t, a, b, 2, length))
		if s := b.context.Stats(); s.BufferBytes > 32<<20 {
			t.Errorf("after messages of %d bytes: %+v", length, s)
		}
	}
}

// Goroutines take and put while regions come and go: nobody gets what another has.
func TestMemoryConcurrently(t *testing.T) {
	rounds := 100
	if !pages.Guarded {
		rounds = 20 // the race detector makes a region slow to map
	}
	for _, debug := range []bool{false, true} {
		c := open(t, Config{DebugMemory: debug})
		m := c.memory
		var all, shrinking sync.WaitGroup
		done := make(chan struct{})
		shrinking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					m.shrink(true)
					runtime.Gosched()
				}
			}
		})
		for g := range uint64(4) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(g, 0))
				for i := range uint64(rounds) {
					var mine []*block
					for range r.IntN(8) + 1 {
						b, err := m.takeFrame()
						if r.IntN(8) == 0 {
							m.put(b)
							b, err = m.takeBuffer(1 + r.IntN(100000))
						}
						if err != nil {
							t.Error(err)
							return
						}
						binary.NativeEndian.PutUint64(b.bytes(8), g<<32|i)
						mine = append(mine, b)
					}
					runtime.Gosched()
					for _, b := range mine {
						if got := binary.NativeEndian.Uint64(b.bytes(8)); got != g<<32|i {
							t.Errorf("a block has %#x, want %#x", got, g<<32|i)
						}
						m.put(b)
					}
				}
			})
		}
		all.Wait()
		close(done)
		shrinking.Wait()
		m.shrink(true)
		if s := c.Stats(); s.FrameBytes != 0 || s.BufferBytes != 0 {
			t.Errorf("left: %+v", s)
		}
	}
}

// A message that was not released can be read after its context is closed.
func TestMessageOutlivesContext(t *testing.T) {
	for _, length := range []int{100, 1 << 20} {
		a, b := pair(t, Config{})
		held := receiveHeld(t, a, b, 2, length)
		c := b.context
		held[0].Release()
		c.Close()
		if !bytes.Equal(held[1].Bytes(), payload(length)) {
			t.Error("the message has changed")
		}
		if c.memory.frames.Load()+c.memory.buffers.Load() != regionBytes {
			t.Errorf("%+v", c.Stats())
		}
		held[1].Release()
		if c.memory.frames.Load()+c.memory.buffers.Load() != 0 {
			t.Errorf("after the last release: %+v", c.Stats())
		}
	}
}

// faults collects what debug mode finds in a context.
func faults(c *Context) *[]*MemoryError {
	var mu sync.Mutex
	found := new([]*MemoryError)
	c.memory.debug.report = func(err *MemoryError) {
		mu.Lock()
		defer mu.Unlock()
		*found = append(*found, err)
	}
	return found
}

// wildWrite writes a byte where no slice of Go would let it.
func wildWrite(b []byte, offset int) {
	*(*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), offset)) ^= 0xff
}

func releaseIt(m *Msg) { m.Release() }

// Each wrong use of a message's memory is found, with the buffer, the offset and the place.
func TestDebugMemory(t *testing.T) {
	for _, length := range []int{1, 100, 4096, 100000} {
		for name, test := range map[string]struct {
			do     func(m *Msg)
			fault  string
			offset int
		}{
			"before":     {func(m *Msg) { wildWrite(m.Bytes(), -1); releaseIt(m) }, "write before the start", -1},
			"behind":     {func(m *Msg) { wildWrite(m.Bytes(), length); releaseIt(m) }, "write behind the end", length},
			"afterwards": {func(m *Msg) { b := m.Bytes(); releaseIt(m); b[length-1] = 7 }, "write after it was freed", length - 1},
			"twice":      {func(m *Msg) { releaseIt(m); m.Release() }, "message released twice", 0},
		} {
			a, b := pair(t, Config{DebugMemory: true})
			found := faults(b.context)
			m, want := receiveHeld(t, a, b, 1, length)[0], uintptr(0)
			want = uintptr(unsafe.Pointer(&m.Bytes()[0]))
			test.do(m)
			b.context.Close()
			if len(*found) != 1 {
				t.Errorf("%s, %d bytes: found %v, want one fault", name, length, *found)
				continue
			}
			e := (*found)[0]
			if e.Fault != test.fault || e.Addr != want || e.Size != length || e.Offset != test.offset {
				t.Errorf("%s, %d bytes at %#x: %+v", name, length, want, e)
			}
			if text := e.Error(); !strings.Contains(text, "braid.releaseIt\n") || !strings.Contains(text, "cache_test.go:") {
				t.Errorf("%s: no place in %s", name, text)
			}
		}
	}
}

// A response has a header before it, which nobody may change either.
func TestDebugMemoryOfResponses(t *testing.T) {
	ch := serve(t, Config{DebugMemory: true}, echo)
	found := faults(ch.context)
	m, err := ch.Call(soon(t), payload(100))
	if err != nil {
		t.Fatal(err)
	}
	wildWrite(m.Bytes(), -1)
	m.Release()
	if len(*found) != 1 || (*found)[0].Offset != -1 || (*found)[0].Size != 100 {
		t.Errorf("found %v", *found)
	}
}

// Memory of Alloc is looked at when it is closed, and ends at a guard page.
func TestDebugMemoryOfAlloc(t *testing.T) {
	for _, length := range []int{1, 64, 4000, 4096, 100001} {
		for _, offset := range []int{-1, length} {
			c := open(t, Config{DebugMemory: true})
			found := faults(c)
			m, err := c.Alloc(length, CanRead)
			if err != nil {
				t.Fatal(err)
			}
			behind := -length & (redZone - 1) // bytes before the guard page
			if offset < length || behind > 0 {
				wildWrite(m.Bytes(), offset)
			}
			m.Close()
			m.Close()
			if offset < length || behind > 0 {
				if len(*found) != 1 || (*found)[0].Offset != offset || (*found)[0].Size != length || !strings.Contains((*found)[0].Allocated, "cache_test.go:") {
					t.Errorf("%d bytes, write at %d: %v", length, offset, *found)
				}
			} else if len(*found) != 0 {
				t.Errorf("%d bytes: %v", length, *found)
			}
		}
	}
}

// A handler may release its message itself; and debug mode finds nothing where nothing is wrong.
func TestDebugMemoryOfGoodPrograms(t *testing.T) {
	ch := serve(t, Config{DebugMemory: true}, func(_ context.Context, m *Msg) ([]byte, error) {
		if m.Len()%3 == 0 {
			return m.Bytes(), nil
		}
		defer m.Release()
		return bytes.Clone(m.Bytes()), nil
	})
	found := faults(ch.context)
	for i := range 50 {
		want := payload(1 << (i % 20))
		m, err := ch.Call(soon(t), want)
		if err != nil || !bytes.Equal(m.Bytes(), want) {
			t.Fatalf("call of %d bytes: %v", len(want), err)
		}
		m.Release()
	}
	ch.context.Close()
	if len(*found) != 0 {
		t.Errorf("found %v", *found)
	}
}

// A program may release messages while it closes the context: what is just being freed is not taken for a fault.
func TestDebugMemoryWhileClosing(t *testing.T) {
	c := open(t, Config{DebugMemory: true})
	var blocks []*block
	for range 256 {
		b, err := c.memory.takeFrame()
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	var faults []error
	c.memory.debug.report = func(err *MemoryError) { faults = append(faults, err) }
	var freeing sync.WaitGroup
	freeing.Go(func() {
		for _, b := range blocks {
			c.memory.put(b)
		}
	})
	for range 200 {
		for class := range c.memory.classes {
			c.memory.grow.Lock()
			c.memory.debug.checkAll(c.memory.classes[class].regions)
			c.memory.grow.Unlock()
		}
	}
	freeing.Wait()
	if len(faults) > 0 {
		t.Error(faults[0])
	}
}

func TestDebugMemoryFromEnvironment(t *testing.T) {
	t.Setenv("BRAID_DEBUG_MEMORY", "true")
	if !open(t, Config{}).Config().DebugMemory {
		t.Error("off")
	}
	t.Setenv("BRAID_DEBUG_MEMORY", "perhaps")
	if _, err := Open(Config{}); !errors.Is(err, ErrConfig) {
		t.Errorf("Open: %v", err)
	}
}

// overrunRole makes the test binary a program that runs over the end of a message, and on.
const overrunRole = "overrun"

func beOverrun() int {
	c, err := Open(Config{})
	if err != nil {
		return 1
	}
	b, err := c.memory.takeBuffer(100)
	if err != nil {
		return 1
	}
	for i := range 2 * regionBytes {
		wildWrite(b.bytes(100), i)
	}
	return 0
}

// A program that runs over the end of a region is stopped there, and its trace says where it was.
func TestOverrunFaults(t *testing.T) {
	if !pages.Guarded {
		t.Skip("no guard pages in this build")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(cmd.Environ(), childVariable+"="+overrunRole)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "SIGSEGV") || !strings.Contains(string(out), "braid.wildWrite(") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// What the memory of a frame costs on the data path.
func BenchmarkFrameMemory(b *testing.B) {
	m := open(b, Config{}).memory
	for b.Loop() {
		f, err := m.takeFrame()
		if err != nil {
			b.Fatal(err)
		}
		m.put(f)
	}
}
