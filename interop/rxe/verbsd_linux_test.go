package rxe

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/interop/rxe/agent"
	"github.com/braid-rdma/braid/verbs"
)

// What libibverbs calls by number.
const (
	ibvWrite = iota
	ibvWriteImm
	ibvSend
	ibvSendImm
	ibvRead
	ibvCompareSwap
	ibvFetchAdd
)

const (
	ibvSuccess      = 0
	ibvFlushErr     = 5
	ibvRemInvReqErr = 9
	ibvRemAccessErr = 10
	ibvRetryExcErr  = 12
	ibvRNRRetryErr  = 13

	ibvRecv    = 128
	ibvRecvImm = 129

	ibvWithImm = 2

	ibvStateErr = 6

	ibvLocalWrite   = 1
	ibvRemoteWrite  = 2
	ibvRemoteRead   = 4
	ibvRemoteAtomic = 8
	ibvAllAccess    = ibvLocalWrite | ibvRemoteWrite | ibvRemoteRead | ibvRemoteAtomic
)

// kernelEnd is a process in the machine that uses the kernel's RoCE driver as
// it is told; see testdata/verbsd.c.
type kernelEnd struct {
	t       *testing.T
	process *agent.Command
	lines   *bufio.Reader
}

// newKernelEnd starts the process. It ends with the test.
func newKernelEnd(t *testing.T) *kernelEnd {
	t.Helper()
	process, err := guest(t).Start(context.Background(), "verbsd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	return &kernelEnd{t: t, process: process, lines: bufio.NewReader(process)}
}

// ask gives a command and returns what it says after "ok".
func (k *kernelEnd) ask(format string, args ...any) string {
	k.t.Helper()
	command := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(k.process, command); err != nil {
		k.t.Fatalf("%s: %v", command, err)
	}
	line, err := k.lines.ReadString('\n')
	if err != nil {
		k.t.Fatalf("%s: %v", command, err)
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ok")
	if !ok {
		k.t.Fatalf("%s: %s", command, line)
	}
	return rest
}

// scan is ask for numbers.
func (k *kernelEnd) scan(into []any, format string, args ...any) {
	k.t.Helper()
	text := k.ask(format, args...)
	verbs := strings.Repeat("%x ", len(into))
	if _, err := fmt.Sscanf(strings.TrimSpace(text), strings.TrimSpace(verbs), into...); err != nil {
		k.t.Fatalf("%q: %v", text, err)
	}
}

// exit ends the process without a word to the peers of its queue pairs, which
// the kernel then destroys.
func (k *kernelEnd) exit() {
	k.t.Helper()
	if _, err := fmt.Fprintln(k.process, "exit"); err != nil {
		k.t.Fatal(err)
	}
	if err := k.process.Wait(); err != nil {
		k.t.Fatal(err)
	}
}

// kernelMR is memory of the process.
type kernelMR struct {
	k     *kernelEnd
	index int
	addr  uint64
	rkey  verbs.RKey
}

func (k *kernelEnd) register(size, access int) kernelMR {
	k.t.Helper()
	m := kernelMR{k: k}
	k.scan([]any{&m.index, &m.addr, &m.rkey}, "mr %x %x", size, access)
	return m
}

func (m kernelMR) fill(offset, length int, seed byte) {
	m.k.t.Helper()
	m.k.ask("fill %x %x %x %x", m.index, offset, length, seed)
}

func (m kernelMR) sum(offset, length int) (sum uint64) {
	m.k.t.Helper()
	m.k.scan([]any{&sum}, "sum %x %x %x", m.index, offset, length)
	return sum
}

func (m kernelMR) store(offset int, value uint64) {
	m.k.t.Helper()
	m.k.ask("store %x %x %x", m.index, offset, value)
}

func (m kernelMR) load(offset int) (value uint64) {
	m.k.t.Helper()
	m.k.scan([]any{&value}, "load %x %x", m.index, offset)
	return value
}

// kernelQP is a queue pair of the process.
type kernelQP struct {
	k     *kernelEnd
	index int
	qpn   verbs.QPN
}

func (k *kernelEnd) createQP(sendDepth, recvDepth int) kernelQP {
	k.t.Helper()
	q := kernelQP{k: k}
	k.scan([]any{&q.index, &q.qpn}, "qp %x %x", sendDepth, recvDepth)
	return q
}

// kernelAttr is what a queue pair of the process is connected with.
type kernelAttr struct {
	mtu               int
	remoteQPN         verbs.QPN
	sendPSN, recvPSN  verbs.PSN
	remote            netip.Addr
	gidIndex          int
	reads             int
	timeout, retries  int
	rnrRetries, timer int // timer: what a sender is asked to wait
}

func (q kernelQP) connect(a kernelAttr) {
	q.k.t.Helper()
	// The address is written out, so that no part of it looks like a number.
	gid := netip.AddrFrom16(a.remote.As16()).StringExpanded()
	q.k.ask("rtr %x %x %x %x %s %x %x %x", q.index, a.mtu, uint32(a.remoteQPN), a.recvPSN, gid, a.reads, a.timer, a.gidIndex)
	q.k.ask("rts %x %x %x %x %x %x", q.index, a.sendPSN, a.timeout, a.retries, a.rnrRetries, a.reads)
}

func (q kernelQP) recv(m kernelMR, offset, length int, id uint64) {
	q.k.t.Helper()
	q.k.ask("recv %x %x %x %x %x", q.index, m.index, offset, length, id)
}

// kernelWR is a send request of the process.
type kernelWR struct {
	op             int
	mr             kernelMR
	offset, length int
	id             uint64
	raddr          uint64
	rkey           verbs.RKey
	imm            uint32
	compare, value uint64
}

func (q kernelQP) post(w kernelWR) {
	q.k.t.Helper()
	q.k.ask("post %x %x %x %x %x %x %x %x %x %x %x", q.index, w.op, w.mr.index, w.offset, w.length, w.id,
		w.raddr, w.rkey, w.imm, w.compare, w.value)
}

func (q kernelQP) state() (state int) {
	q.k.t.Helper()
	q.k.scan([]any{&state}, "state %x", q.index)
	return state
}

// kernelWC is a completion of the process.
type kernelWC struct {
	id                    uint64
	status, opcode, bytes int
	flags                 int
	imm                   uint32
}

// poll waits for a completion.
func (k *kernelEnd) poll(within time.Duration) (c kernelWC, ok bool) {
	k.t.Helper()
	text := k.ask("poll %x", within.Milliseconds())
	if strings.TrimSpace(text) == "none" {
		return c, false
	}
	if _, err := fmt.Sscanf(strings.TrimSpace(text), "%x %x %x %x %x %x", &c.id, &c.status, &c.opcode, &c.bytes, &c.flags, &c.imm); err != nil {
		k.t.Fatalf("%q: %v", text, err)
	}
	return c, true
}

// want waits for a completion with a status.
func (k *kernelEnd) want(status int) kernelWC {
	k.t.Helper()
	c, ok := k.poll(playTime)
	if !ok {
		k.t.Fatalf("the kernel completes nothing; status %d was expected", status)
	}
	if c.status != status {
		k.t.Fatalf("the kernel completes with %+v; status %d was expected", c, status)
	}
	return c
}

// pattern fills bytes as verbsd does.
func pattern(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(int(seed) + i*131 + (i>>8)*17)
	}
}

// patternSum is the sum that verbsd has of such bytes.
func patternSum(length int, seed byte) uint64 {
	b := make([]byte, length)
	pattern(b, seed)
	return sumOf(b)
}

// sumOf is verbsd's sum.
func sumOf(b []byte) uint64 {
	sum := uint64(0xcbf29ce484222325)
	for _, octet := range b {
		sum = (sum ^ uint64(octet)) * 0x100000001b3
	}
	return sum
}
