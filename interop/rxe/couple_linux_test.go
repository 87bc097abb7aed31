package rxe

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// coupleMemory is the memory of each end.
const coupleMemory = 2 << 20

// couple is a connection between a queue pair of braid and one of the kernel.
type couple struct {
	t      *testing.T
	cq     *verbs.CQ
	qp     *verbs.QP
	mr     *verbs.MR
	pd     *verbs.PD
	kernel *kernelEnd
	kqp    kernelQP
	kmr    kernelMR
}

// coupleOptions are what a test wants to be otherwise. Retries and times are
// those of both ends.
type coupleOptions struct {
	mtu              int
	braidPSN         verbs.PSN // of the first packet that braid sends
	kernelPSN        verbs.PSN
	timeout          int // the code of an ACK timeout; default 18, longTimeout
	retries          int // default 7
	rnrRetries       int // default 7: for ever
	host, guest      netip.Addr
	gidIndex         int
	device           *verbs.Device // default: a new one
	sendDepth, depth int
}

func (o coupleOptions) withDefaults() coupleOptions {
	orDefault(&o.mtu, 1024)
	orDefault(&o.timeout, 18)
	orDefault(&o.retries, 7)
	orDefault(&o.rnrRetries, 7)
	orDefault(&o.gidIndex, 1)
	orDefault(&o.host, hostAddr)
	orDefault(&o.guest, guestAddr)
	orDefault(&o.sendDepth, 64)
	orDefault(&o.depth, 64)
	return o
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// reads is how many READs and atomics each end has outstanding at most.
const reads = 8

// newCouple connects two ends.
func newCouple(t *testing.T, o coupleOptions) *couple {
	t.Helper()
	o = o.withDefaults()
	d := o.device
	if d == nil {
		d = openDevice(t)
	}
	c := &couple{t: t, kernel: newKernelEnd(t)}
	c.kmr = c.kernel.register(coupleMemory, ibvAllAccess)
	c.kqp = c.kernel.createQP(o.sendDepth, o.depth)
	c.makeBraidEnd(d, o)
	c.kqp.connect(kernelAttr{
		mtu: o.mtu, remoteQPN: c.qp.Number(), sendPSN: o.kernelPSN, recvPSN: o.braidPSN,
		remote: o.host, gidIndex: o.gidIndex, reads: reads,
		timeout: o.timeout, retries: o.retries, rnrRetries: o.rnrRetries, timer: 12,
	})
	attr := &verbs.QPAttr{Remote: o.guest, Attr: transport.Attr{
		MTU: o.mtu, RemoteQPN: c.kqp.qpn, SendPSN: o.braidPSN, RecvPSN: o.kernelPSN,
		Reads: reads, ReadsServed: reads, Timeout: uint8(o.timeout), RetryCount: uint8(o.retries),
		RNRRetry: uint8(o.rnrRetries), MinRNRTimer: 12, Paths: 1,
	}}
	for _, state := range []verbs.State{verbs.Init, verbs.RTR, verbs.RTS} {
		if err := c.qp.Modify(state, attr); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *couple) makeBraidEnd(d *verbs.Device, o coupleOptions) {
	c.t.Helper()
	var err error
	if c.pd, err = d.CreatePD(); err != nil {
		c.t.Fatal(err)
	}
	if c.cq, err = d.CreateCQ(o.sendDepth + o.depth); err != nil {
		c.t.Fatal(err)
	}
	all := verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
	if c.mr, err = c.pd.AllocMemory(coupleMemory, all); err != nil {
		c.t.Fatal(err)
	}
	c.qp, err = c.pd.CreateQP(verbs.QPOptions{
		Type: verbs.RC, SendCQ: c.cq, SendDepth: o.sendDepth, RecvDepth: o.depth, SignalAll: true,
		Conn: verbs.ConnOptions{MTU: o.mtu, AckTimeout: verbs.AckTimeoutOf(o.timeout), RetryCount: o.retries},
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// post posts a request of braid that concerns the first bytes of both ends'
// memory, if it does not say otherwise.
func (c *couple) post(wr verbs.SendWR, length int) {
	c.t.Helper()
	if wr.SGEs == nil {
		wr.SGEs = []verbs.SGE{c.mr.SGE(0, length)}
	}
	if wr.RemoteAddr == 0 {
		wr.RemoteAddr = c.kmr.addr
	}
	if wr.RKey == 0 {
		wr.RKey = c.kmr.rkey
	}
	if err := c.qp.PostSend(&wr); err != nil {
		c.t.Fatal(err)
	}
}

// kpost is post for the kernel.
func (c *couple) kpost(w kernelWR, length int) {
	c.t.Helper()
	w.mr, w.length = c.kmr, length
	if w.raddr == 0 {
		w.raddr = c.mr.Addr()
	}
	if w.rkey == 0 {
		w.rkey = c.mr.RKey()
	}
	c.kqp.post(w)
}

// recv posts a receive of braid into the first bytes of its memory.
func (c *couple) recv(length int) {
	c.t.Helper()
	if err := c.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{c.mr.SGE(0, length)}}); err != nil {
		c.t.Fatal(err)
	}
}

// want waits for a completion of braid; status nil is success.
func (c *couple) want(status error) verbs.Completion {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), playTime)
	defer cancel()
	var done [1]verbs.Completion
	if _, err := c.cq.Wait(ctx, done[:]); err != nil {
		c.t.Fatalf("braid completes nothing: %v", err)
	}
	if err := done[0].Err(); !errors.Is(err, status) {
		c.t.Fatalf("braid completes with %v; want %v", err, status)
	}
	return done[0]
}

// sum is that of the first bytes of braid's memory.
func (c *couple) sum(length int) uint64 {
	c.t.Helper()
	b := make([]byte, length)
	if err := c.mr.Load(0, b); err != nil {
		c.t.Fatal(err)
	}
	return sumOf(b)
}

// fill fills the first bytes of braid's memory.
func (c *couple) fill(length int, seed byte) { pattern(c.mr.Bytes()[:length], seed) }

// loadOf is a word of braid's memory.
func loadOf(c *couple, offset int) uint64 {
	c.t.Helper()
	value, err := c.mr.LoadUint64(offset)
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}

// storeAt sets a word of braid's memory while nothing is under way.
func storeAt(c *couple, offset int, value uint64) {
	binary.NativeEndian.PutUint64(c.mr.Bytes()[offset:], value)
}
