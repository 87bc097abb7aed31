//go:build ibverbs && linux && cgo

package ibverbs

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

var addresses = flag.String("addrs", "", "two addresses, with a comma between, of RoCE devices of this host")

// patience is what anything may take, in an emulated machine with a busy host.
const patience = time.Minute

const (
	memorySize = 2 << 20
	allRights  = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openDevices opens a device at each of the two addresses.
func openDevices(t testing.TB) (a, b *verbs.Device) {
	t.Helper()
	return openDevice(t, 0, Config{}), openDevice(t, 1, Config{})
}

func openDevice(t testing.TB, which int, cfg Config) *verbs.Device {
	t.Helper()
	list := strings.Split(*addresses, ",")
	if len(list) != 2 {
		t.Skip("needs RoCE devices: -addrs names two addresses of them; go test ./interop/rxe runs this test in its machine")
	}
	cfg.Addr = netip.MustParseAddr(list[which])
	d, err := Open(cfg)
	must(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the device: %v", err)
		}
	})
	return d
}

// end is one side of a connection.
type end struct {
	t  testing.TB
	pd *verbs.PD
	cq *verbs.CQ
	qp *verbs.QP
	mr *verbs.MR
}

func newEnd(t testing.TB, d *verbs.Device, o verbs.QPOptions) *end {
	t.Helper()
	e := &end{t: t}
	var err error
	e.pd, err = d.CreatePD()
	must(t, err)
	e.cq, err = d.CreateCQ(1024)
	must(t, err)
	e.mr, err = e.pd.AllocMemory(memorySize, allRights)
	must(t, err)
	o.SendCQ = e.cq
	e.qp, err = e.pd.CreateQP(o)
	must(t, err)
	return e
}

// newPair connects two ends.
func newPair(t testing.TB, o verbs.QPOptions) (a, b *end) {
	t.Helper()
	da, db := openDevices(t)
	a, b = newEnd(t, da, o), newEnd(t, db, o)
	connect(t, a, b)
	return a, b
}

func connect(t testing.TB, a, b *end) {
	t.Helper()
	pa, pb := a.qp.Params(), b.qp.Params()
	must(t, a.qp.Connect(pb))
	must(t, b.qp.Connect(pa))
}

// post posts a signalled request on the first bytes of both ends' memory, if it does not
// say otherwise.
func (e *end) post(peer *end, wr verbs.SendWR, length int) {
	e.t.Helper()
	if wr.SGEs == nil && wr.Inline == nil {
		wr.SGEs = []verbs.SGE{e.mr.SGE(0, length)}
	}
	if wr.RemoteAddr == 0 {
		wr.RemoteAddr, wr.RKey = peer.mr.Addr(), peer.mr.RKey()
	}
	wr.Flags |= verbs.Signaled
	must(e.t, e.qp.PostSend(&wr))
}

func (e *end) recv(id uint64, length int) {
	e.t.Helper()
	must(e.t, e.qp.PostRecv(&verbs.RecvWR{ID: id, SGEs: []verbs.SGE{e.mr.SGE(0, length)}}))
}

// want waits for a completion; status nil is success.
func (e *end) want(id uint64, op verbs.Op, status error) verbs.Completion {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var done [1]verbs.Completion
	if _, err := e.cq.Wait(ctx, done[:]); err != nil {
		e.t.Fatalf("no completion of %d (%v): %v", id, op, err)
	}
	c := done[0]
	if c.WRID != id || c.Op != op || !errors.Is(c.Err(), status) || c.QPN != e.qp.Number() {
		e.t.Fatalf("%+v (%v), want that of %d (%v) with %v", c, c.Err(), id, op, status)
	}
	return c
}

// wantNothing checks that no completion is there or comes soon.
func (e *end) wantNothing() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var done [1]verbs.Completion
	if n, err := e.cq.Wait(ctx, done[:]); n != 0 {
		e.t.Fatalf("%+v (%v), want nothing: %v", done[0], done[0].Err(), err)
	}
}

// pattern is bytes that differ from place to place and from seed to seed.
func pattern(length int, seed byte) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(int(seed) + i*131 + (i>>8)*17)
	}
	return b
}

func (e *end) fill(length int, seed byte) { copy(e.mr.Bytes(), pattern(length, seed)) }

func (e *end) wantBytes(what string, want []byte) {
	e.t.Helper()
	got := make([]byte, len(want))
	must(e.t, e.mr.Load(0, got))
	if !bytes.Equal(got, want) {
		i := 0
		for got[i] == want[i] {
			i++
		}
		e.t.Fatalf("%s: byte %d of %d is %#x, want %#x", what, i, len(want), got[i], want[i])
	}
}
