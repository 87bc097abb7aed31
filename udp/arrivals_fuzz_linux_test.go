package udp

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// FuzzArrivals hands bytes to the engine as if the kernel had received them from
// the peer. With repair they get the ICRC that belongs to them, so that they
// reach the queue pair. Whatever they are, nothing outside the region may change.
func FuzzArrivals(f *testing.F) {
	const size = 4096
	zero := make([]byte, size)
	var rooms [2]struct {
		a, b *end
		buf  []byte // the region and its neighbours
	}
	for i, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		a, b := connect(f, Config{Paths: 2}, verbs.QPOptions{Type: kind}, 4*size)
		buf := make([]byte, 3*size)
		rooms[i].a, rooms[i].b, rooms[i].buf = a, b, buf
		mr, err := b.pd.RegisterMemory(buf[size:2*size], allRights)
		noError(f, err)
		tap := tapSends(engineOf(a.dev), 20)
		for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpRead, verbs.OpFetchAdd} {
			noError(f, a.qp.PostSend(&verbs.SendWR{
				Op: op, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, 8)}, RemoteAddr: mr.Addr(), RKey: mr.RKey(),
			}))
			a.wait()
		}
		hookSends(engineOf(a.dev), nil)
		for _, p := range tap.taken() {
			f.Add(p.data, uint16(0), false, kind == verbs.MP)
			f.Add(p.data, uint16(20), true, kind == verbs.MP)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, segment uint16, repair, multi bool) {
		if len(data) == 0 || len(data) > maxMessage {
			return
		}
		room := &rooms[0]
		if multi {
			room = &rooms[1]
		}
		if room.b.qp.State() != verbs.RTS { // the last packet ended the connection, as it may
			for _, s := range []*end{room.a, room.b} {
				noError(t, s.qp.Modify(verbs.Reset, nil))
			}
			join(t, room.a, room.b)
		}
		src := netip.AddrPortFrom(room.a.dev.Query().Local, 50_000)
		e := engineOf(room.b.dev)
		if repair {
			data = repaired(data, src, e.own.ip, room.b.qp.Number())
		}
		m := rxMessage{data: data, segment: min(max(1, int(segment)), len(data)), src: src}
		if repair || segment == 0 {
			m.segment = len(data)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.handleRun(e.Now(), e.own, m)
		e.drive(e.Now())
		if !bytes.Equal(room.buf[:size], zero) || !bytes.Equal(room.buf[2*size:], zero) {
			t.Fatal("bytes outside the region changed")
		}
	})
}

// repaired is a packet for a queue pair with the bytes of data and a valid ICRC.
func repaired(data []byte, src netip.AddrPort, dst netip.Addr, qpn wire.QPN) []byte {
	var h wire.Headers
	b := bytes.Clone(data)
	if len(b) < wire.BTHLen+wire.ICRCLen {
		return b
	}
	b[2], b[3] = 0xff, 0xff // the partition key
	b[5], b[6], b[7] = byte(qpn>>16), byte(qpn>>8), byte(qpn)
	body := b[:len(b)-wire.ICRCLen]
	if _, err := wire.ParseHeaders(body, &h); err != nil {
		return b
	}
	id := uint16(0)
	if h.Opcode.IsMP() {
		id = wire.MPIdentification
	}
	f := flow{src: src.Addr(), dst: dst, sport: src.Port(), dport: rocePort}
	sum := f.prefix(len(b), id).Headers(body[:h.Len()]).Payload(body[h.Len():]).Sum()
	return wire.AppendICRC(body, sum)
}
