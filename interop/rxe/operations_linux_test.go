package rxe

import (
	"fmt"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// An operation moves bytes from one end's memory to the other's, at the request
// of either.
type operation struct {
	name string
	// run moves length bytes, which were made with a seed. kernelHas tells where
	// they arrive.
	run       func(c *couple, length int, seed byte)
	kernelHas bool
}

const testImm = 0x12345678

var operations = []operation{
	{"braid writes", func(c *couple, length int, seed byte) {
		c.fill(length, seed)
		c.post(verbs.SendWR{Op: verbs.OpWrite}, length)
		c.want(nil)
	}, true},
	{"braid writes with immediate data", func(c *couple, length int, seed byte) {
		c.fill(length, seed)
		c.kqp.recv(c.kmr, 0, 1, 7)
		c.post(verbs.SendWR{Op: verbs.OpWriteImm, Imm: testImm}, length)
		c.want(nil)
		c.wantKernelReceive(ibvRecvImm, length, true)
	}, true},
	{"braid sends", func(c *couple, length int, seed byte) {
		c.fill(length, seed)
		c.kqp.recv(c.kmr, 0, length, 7)
		c.post(verbs.SendWR{Op: verbs.OpSend}, length)
		c.want(nil)
		c.wantKernelReceive(ibvRecv, length, false)
	}, true},
	{"braid sends with immediate data", func(c *couple, length int, seed byte) {
		c.fill(length, seed)
		c.kqp.recv(c.kmr, 0, length, 7)
		c.post(verbs.SendWR{Op: verbs.OpSendImm, Imm: testImm}, length)
		c.want(nil)
		c.wantKernelReceive(ibvRecv, length, true)
	}, true},
	{"braid reads", func(c *couple, length int, seed byte) {
		c.kmr.fill(0, length, seed)
		c.post(verbs.SendWR{Op: verbs.OpRead}, length)
		c.want(nil)
	}, false},
	{"the kernel writes", func(c *couple, length int, seed byte) {
		c.kmr.fill(0, length, seed)
		c.kpost(kernelWR{op: ibvWrite}, length)
		c.kernel.want(ibvSuccess)
	}, false},
	{"the kernel writes with immediate data", func(c *couple, length int, seed byte) {
		c.kmr.fill(0, length, seed)
		c.recv(1)
		c.kpost(kernelWR{op: ibvWriteImm, imm: testImm}, length)
		c.kernel.want(ibvSuccess)
		c.wantReceive(verbs.OpRecvWriteImm, length, true)
	}, false},
	{"the kernel sends", func(c *couple, length int, seed byte) {
		c.kmr.fill(0, length, seed)
		c.recv(length)
		c.kpost(kernelWR{op: ibvSend}, length)
		c.kernel.want(ibvSuccess)
		c.wantReceive(verbs.OpRecv, length, false)
	}, false},
	{"the kernel sends with immediate data", func(c *couple, length int, seed byte) {
		c.kmr.fill(0, length, seed)
		c.recv(length)
		c.kpost(kernelWR{op: ibvSendImm, imm: testImm}, length)
		c.kernel.want(ibvSuccess)
		c.wantReceive(verbs.OpRecv, length, true)
	}, false},
	{"the kernel reads", func(c *couple, length int, seed byte) {
		c.fill(length, seed)
		c.kpost(kernelWR{op: ibvRead}, length)
		c.kernel.want(ibvSuccess)
	}, true},
}

func (c *couple) wantKernelReceive(opcode, length int, imm bool) {
	c.t.Helper()
	got := c.kernel.want(ibvSuccess)
	if got.opcode != opcode || got.bytes != length || got.flags&ibvWithImm != 0 != imm || imm && got.imm != testImm {
		c.t.Errorf("the kernel received %+v; want opcode %d, %d bytes, immediate data: %v", got, opcode, length, imm)
	}
}

func (c *couple) wantReceive(op verbs.Op, length int, imm bool) {
	c.t.Helper()
	got := c.want(nil)
	if got.Op != op || int(got.Bytes) != length || got.HasImm != imm || imm && got.Imm != testImm {
		c.t.Errorf("braid received %+v; want %v, %d bytes, immediate data: %v", got, op, length, imm)
	}
}

// run runs an operation and compares what has arrived.
func (o operation) check(c *couple, length int, seed byte) {
	c.t.Helper()
	o.run(c, length, seed)
	want := patternSum(length, seed)
	got := uint64(0)
	if o.kernelHas {
		got = c.kmr.sum(0, length)
	} else {
		got = c.sum(length)
	}
	if got != want {
		c.t.Errorf("%s, %d bytes: other bytes arrived", o.name, length)
	}
}

// sizesFor are message sizes around the borders of packets, to a mebibyte.
func sizesFor(mtu int) []int {
	return []int{1, 2, 3, 5, mtu - 1, mtu, mtu + 1, 2 * mtu, 7*mtu + 3, 65536, 1 << 20}
}

func TestSizes(t *testing.T) {
	for _, mtu := range []int{256, 512, 1024, 2048, 4096} {
		t.Run(fmt.Sprint("MTU ", mtu), func(t *testing.T) {
			c := newCouple(t, coupleOptions{mtu: mtu})
			for i, o := range operations {
				for j, size := range sizesFor(mtu) {
					o.check(c, size, byte(i*16+j))
				}
			}
			wantQuiet(t, c)
		})
	}
}

// wantQuiet checks that nothing arrived out of order where nothing was lost. What
// was repeated because the machine did not run for a second is no fault of its.
func wantQuiet(t *testing.T, c *couple) {
	t.Helper()
	s := c.qp.Stats()
	if s.NaksReceived+s.NaksSent > 0 {
		t.Errorf("packets were missed, though none was lost: %v", s.Map())
	}
	if s.Retransmitted+s.DuplicateRequest > 0 {
		t.Logf("packets were repeated, though none was lost: %v", s.Map())
	}
}

func TestPacketNumbersWrap(t *testing.T) {
	c := newCouple(t, coupleOptions{mtu: 256, braidPSN: 0xffffff - 20, kernelPSN: 0xffffff - 30})
	for round := range 3 {
		for i, o := range operations {
			o.check(c, 256*5+1, byte(round*16+i))
		}
	}
	wantQuiet(t, c)
}

func TestAtomics(t *testing.T) {
	c := newCouple(t, coupleOptions{})
	const at = 4096 // an offset of both ends' memory
	old := func() uint64 { return loadOf(c, 0) }

	c.kmr.store(at, 40)
	c.post(verbs.SendWR{Op: verbs.OpFetchAdd, RemoteAddr: c.kmr.addr + at, SwapAdd: 2}, 8)
	c.want(nil)
	c.post(verbs.SendWR{Op: verbs.OpFetchAdd, RemoteAddr: c.kmr.addr + at, SwapAdd: ^uint64(0)}, 8)
	c.want(nil)
	if got, now := old(), c.kmr.load(at); got != 42 || now != 41 {
		t.Errorf("braid's FETCH_ADD: %d, then %d; want 42 and 41", got, now)
	}
	for _, test := range []struct{ compare, swap, before, after uint64 }{
		{41, 1 << 63, 41, 1 << 63}, {41, 5, 1 << 63, 1 << 63},
	} {
		c.post(verbs.SendWR{Op: verbs.OpCompareSwap, RemoteAddr: c.kmr.addr + at, Compare: test.compare, SwapAdd: test.swap}, 8)
		c.want(nil)
		if got, now := old(), c.kmr.load(at); got != test.before || now != test.after {
			t.Errorf("braid's CMP_SWAP %+v: %#x, then %#x", test, got, now)
		}
	}

	storeAt(c, at, 100)
	for range 3 {
		c.kpost(kernelWR{op: ibvFetchAdd, raddr: c.mr.Addr() + at, value: 7}, 8)
		c.kernel.want(ibvSuccess)
	}
	if got, now := c.kmr.load(0), loadOf(c, at); got != 114 || now != 121 {
		t.Errorf("the kernel's FETCH_ADD: %d, then %d; want 114 and 121", got, now)
	}
	for _, test := range []struct{ compare, swap, before, after uint64 }{
		{121, 9, 121, 9}, {121, 5, 9, 9},
	} {
		c.kpost(kernelWR{op: ibvCompareSwap, raddr: c.mr.Addr() + at, compare: test.compare, value: test.swap}, 8)
		c.kernel.want(ibvSuccess)
		if got, now := c.kmr.load(0), loadOf(c, at); got != test.before || now != test.after {
			t.Errorf("the kernel's CMP_SWAP %+v: %d, then %d", test, got, now)
		}
	}
	wantQuiet(t, c)
}
