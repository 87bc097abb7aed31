package udp

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// What docs/decisions/loops.md counts with: the costs that grow with the number of loops.

// Registering and deregistering a region takes the locks of all loops, twice.
func BenchmarkLoopsRegister(b *testing.B) {
	for _, c := range []struct {
		loops int
		busy  bool // one of them is
	}{{1, false}, {4, false}, {16, false}, {1, true}, {4, true}} {
		b.Run(fmt.Sprintf("loops=%d/busy=%v", c.loops, c.busy), func(b *testing.B) {
			e := openEnd(b, Config{Paths: 1, Loops: c.loops}, verbs.QPOptions{}, 64)
			if c.busy {
				o := verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq}
				x, y := *e, openEnd(b, Config{Paths: 1}, o, streamMemory(1<<16, 8))
				var err error
				x.qp, err = e.pd.CreateQP(o)
				noError(b, err)
				x.mr, err = e.pd.AllocMemory(streamMemory(1<<16, 8), allRights)
				noError(b, err)
				join(b, &x, y)
				defer newStream(&x, y, 1<<16, 8).background()()
			}
			buf := make([]byte, 4096)
			for b.Loop() {
				mr, err := e.pd.RegisterMemory(buf, allRights)
				noError(b, err)
				noError(b, mr.Deregister())
			}
		})
	}
}

// The kernel compares the part of each packet, or run of packets, with those of the loops, one after the other.
func BenchmarkLoopsSelector(b *testing.B) {
	for _, others := range []int{0, 15, parts - 1} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			first, err := openLoopback(wire.UDPPort, rxOptions{noGRO: true})
			noError(b, err)
			defer first.close()
			management := openManagement(first, rxOptions{})
			if management == nil {
				b.Skip("SKIPPED: the kernel does not tell the sockets of a port apart")
			}
			defer management.close()
			compare, places := make([]uint32, others), make([]uint32, others)
			for i := range compare {
				compare[i] = uint32(i)
			}
			noError(b, attachSelector(first.fd, compare, places))
			from, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			noError(b, err)
			defer unix.Close(from)
			to, err := sockaddrOf(first.local)
			noError(b, err)
			noError(b, unix.Connect(from, to))
			packet := make([]byte, 64)
			packet[5] = 0xff // the last part
			for b.Loop() {
				_, err := unix.Write(from, packet)
				noError(b, err)
				_, err = unix.Read(first.fd, packet[8:])
				noError(b, err)
			}
		})
	}
}

// A thread that spins in vain asks the runtime who waits for a processor, of which there is one answer at a time.
func BenchmarkLoopsYielder(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		var y yielder
		y.init()
		for now := yieldInterval; pb.Next(); now += yieldInterval {
			if y.wanted(now) {
				runtime.Gosched()
			}
		}
	})
}
