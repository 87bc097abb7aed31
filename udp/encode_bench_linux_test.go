package udp

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// BenchmarkEncode is what it takes to write a packet into the batch, its ICRC included, with a kernel that takes everything
// at once.
func BenchmarkEncode(b *testing.B) {
	for _, kind := range []verbs.QPType{verbs.MP, verbs.RC} {
		for _, size := range []int{0, 64, 128, 4096} {
			b.Run(fmt.Sprintf("%v/%d", kind, size), func(b *testing.B) {
				x, _ := connect(b, Config{Paths: 4}, verbs.QPOptions{Type: kind}, 1<<20)
				peer := x.qp.Query().Attr.RemoteQPN
				e := engineOf(x.dev)
				e.Lock()
				defer e.Unlock()
				kernel := e.batch.send
				e.batch.send = func(_ int, messages []mmsghdr) (int, unix.Errno) { return len(messages), 0 }
				defer func() { e.flush(); e.batch.send = kernel }()
				p := e.ports[x.qp.Number()]
				packet := transport.Packet{Length: size}
				packet.Opcode, packet.PKey, packet.DestQP = wire.WriteOnly, wire.DefaultPKey, peer
				if kind == verbs.MP {
					packet.Opcode |= wire.MPBit
				}
				if size > 0 {
					packet.Spans = []transport.Span{x.mr.SGE(0, size)}
				}
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					e.encode(p, &packet)
					if e.batch.ripe(flushMessages) {
						e.flush()
					}
				}
			})
		}
	}
}
