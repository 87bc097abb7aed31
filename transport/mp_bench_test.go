package transport

import (
	"fmt"
	"testing"
)

// BenchmarkMP is what a packet costs the two state machines, its acknowledgement included: on one connection,
// whose state is in the processor's cache, and on many in turn, whose state is not, where the time
// is that of the cache lines which a packet touches. Payload is not copied.
func BenchmarkMP(b *testing.B) {
	const packets = 16
	for _, connections := range []int{1, 4096} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			links := make([]*mpLink, connections)
			for i := range links {
				links[i] = newMPLink(b, WireOptions())
			}
			wr := SendWR{Op: OpWrite, Flags: Signaled, SGEs: []Span{links[0].source.span(0, packets*MaxMTU)}}
			write := func(l *mpLink) {
				wr.SGEs[0].Region, wr.RemoteAddr, wr.RKey = l.source, l.target.Base, l.target.RKey
				l.writeWithoutBytes(&wr)
			}
			for range 2 {
				for _, l := range links {
					write(l) // queues grow to what the traffic needs
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += packets {
				write(links[i/packets%connections])
			}
		})
	}
}

// writeWithoutBytes is run without the bytes.
func (l *mpLink) writeWithoutBytes(wr *SendWR) {
	if err := l.a.PostSend(l.now, wr); err != nil {
		l.t.Fatal(err)
	}
	var c Completion
	for !l.a.PollCompletion(&c) {
		l.now += Microsecond
		for _, m := range [...]*MP{l.a, l.b} {
			if m.Timeout() <= l.now {
				m.HandleTimeout(l.now)
			}
		}
		for l.a.PollTransmit(l.now, &l.packet) {
			l.b.HandlePacket(l.now, &l.packet)
		}
		for l.b.PollTransmit(l.now, &l.packet) {
			l.a.HandlePacket(l.now, &l.packet)
		}
	}
	if c.Status != Success {
		l.t.Fatalf("%v: %v", wr.Op, c.Status)
	}
}
