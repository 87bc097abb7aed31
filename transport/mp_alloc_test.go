package transport

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"
)

// In steady state nothing is allocated per packet or per operation: posting,
// transmitting, receiving, acknowledging, completing, on both sides.
func TestMPAllocatesNothing(t *testing.T) {
	for mode, o := range map[string]MPOptions{"paper": PaperOptions(), "wire": WireOptions()} {
		l := newMPLink(t, o)
		n := 0
		l.mark = func(*Packet) bool { n++; return n%50 == 0 }
		spans, word := []Span{l.source.span(0, 1<<18)}, []Span{l.source.span(0, 8)}
		recv := RecvWR{SGEs: []SGE{l.target.span(0, 1<<18)}}
		for name, wr := range map[string]*SendWR{
			"WRITE":          {Op: OpWrite, SGEs: spans},
			"WRITE with imm": {Op: OpWriteImm, SGEs: spans},
			"SEND":           {Op: OpSend, SGEs: spans},
			"small SEND":     {Op: OpSend, SGEs: word},
			"inline SEND":    {Op: OpSend, Inline: make([]byte, 16)},
			"READ":           {Op: OpRead, SGEs: spans},
			"FETCH_ADD":      {Op: OpFetchAdd, SGEs: word},
		} {
			wr.Flags |= Signaled
			wr.RemoteAddr, wr.RKey = l.target.Base, l.target.RKey
			once := func() {
				if wr.Op.consumesReceive() {
					if err := l.b.PostRecv(&recv); err != nil {
						t.Fatal(err)
					}
				}
				l.run(wr)
			}
			for range 200 {
				once() // the rings grow to what the traffic needs
			}
			if got := testing.AllocsPerRun(100, once); got != 0 {
				t.Errorf("%s, %s: %v allocations per operation", mode, name, got)
			}
		}
	}
}

// An idle connection takes less than 4 KiB beyond its queues, which grow only
// with use.
func TestMPIdleConnectionIsSmall(t *testing.T) {
	const count, limit = 1000, 4096
	mem := mpMemory{newTestMemory()}
	o := WireOptions()
	attr := mpAttr()
	sources := make([]*rand.Rand, count) // belong to the engine
	for i := range sources {
		sources[i] = rand.New(rand.NewPCG(uint64(i), 0))
	}
	all := make([]*MP, count)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // what earlier tests left behind must not count
	runtime.ReadMemStats(&before)
	for i := range all {
		cfg := mpConfig(mem, o, 0)
		cfg.Rand = sources[i]
		all[i] = connectMP(t, Second, cfg, attr)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := int64(after.HeapAlloc-before.HeapAlloc) / count
	runtime.KeepAlive(all)
	t.Logf("%d bytes for an idle connection over %d paths", each, attr.Paths)
	if each > limit {
		t.Errorf("%d bytes for an idle connection, want at most %d", each, limit)
	}
}

// What every packet touches is together at the beginning of a queue pair.
func TestMPLayout(t *testing.T) {
	const line, lines = 64, 17
	if n := (unsafe.Offsetof(MP{}.lastAck) + line - 1) / line; n > lines {
		t.Errorf("what every packet touches begins %d cache lines, want at most %d", n, lines)
	}
	for name, size := range map[string]uintptr{"arrival": unsafe.Sizeof(arrival{}), "ackHead": unsafe.Sizeof(ackHead{})} {
		if size > line {
			t.Errorf("%s has %d bytes, more than a cache line", name, size)
		}
	}
}
