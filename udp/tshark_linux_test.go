package udp

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// TestTsharkDecodesEveryRCOperation captures a connection that runs every
// operation of RC and meets every kind of trouble, and has an independent
// program decode it.
func TestTsharkDecodesEveryRCOperation(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	for _, addr := range []netip.Addr{{}, loopback6} {
		for _, mtu := range []int{256, 1024, 4096} {
			t.Run(fmt.Sprintf("IPv6=%v/%d", addr.Is6(), mtu), func(t *testing.T) {
				var file bytes.Buffer
				// Some ports below 0xc000 belong to protocols that tshark would
				// rather see.
				cfg := Config{Addr: addr, Paths: 2, FirstSourcePort: 0xc000, MTU: mtu}
				a, b := captureEnds(t, cfg, verbs.RC, &file)
				talk := &conversation{t: t, a: a, b: b}
				talk.prepare()
				talk.everyOperation(64)
				talk.everyOperation(3*mtu + 50)
				talk.receiverNotReady()
				talk.retransmission()
				talk.accessError() // ends the connection
				noError(t, a.dev.Close())
				checkDecoded(t, decodeByTshark(t, tshark, file.Bytes()), statsOf(t, a.dev), addr.Is6())
			})
		}
	}
}

// conversation is a connection under test, with the words in which it is told
// what to do.
type conversation struct {
	t    *testing.T
	a, b *end // requester, responder
}

// prepare fills the memory with a byte that resembles no protocol: tshark looks
// for known ones in the payload.
func (c *conversation) prepare() {
	for _, s := range []*end{c.a, c.b} {
		memory := s.mr.Bytes()
		copy(memory, bytes.Repeat([]byte{0xa5}, len(memory)))
	}
}

// request posts a request of size bytes and waits for its success.
func (c *conversation) request(wr verbs.SendWR, size int) {
	c.t.Helper()
	c.post(wr, size)
	if got := c.a.wait(); got.Op != wr.Op {
		c.t.Fatalf("completion of %v, want %v", got.Op, wr.Op)
	}
}

// post posts a request. Where it names no key it goes to the region of b.
func (c *conversation) post(wr verbs.SendWR, size int) {
	c.t.Helper()
	wr.Flags |= verbs.Signaled
	wr.SGEs = []verbs.SGE{c.a.mr.SGE(0, size)}
	if wr.RKey == 0 {
		wr.RemoteAddr, wr.RKey = c.b.mr.Addr(), c.b.mr.RKey()
	}
	noError(c.t, c.a.qp.PostSend(&wr))
}

func (c *conversation) postReceive() {
	c.t.Helper()
	noError(c.t, c.b.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{c.b.mr.SGE(1<<20, 1<<20)}}))
}

// everyOperation runs all operations, those that carry data with size bytes.
func (c *conversation) everyOperation(size int) {
	c.t.Helper()
	lent, err := c.b.pd.AllocMemory(4096, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteInvalidate)
	noError(c.t, err)
	for _, wr := range []verbs.SendWR{
		{Op: verbs.OpSend},
		{Op: verbs.OpSendImm, Imm: 0x01020304},
		{Op: verbs.OpSendInv, RKey: lent.RKey()},
		{Op: verbs.OpWriteImm, Imm: 0x05060708},
	} {
		c.postReceive()
		c.request(wr, size)
		c.b.wait()
	}
	c.request(verbs.SendWR{Op: verbs.OpWrite}, size)
	c.request(verbs.SendWR{Op: verbs.OpRead}, size)
	c.request(verbs.SendWR{Op: verbs.OpCompareSwap, Compare: 0xa5a5a5a5a5a5a5a5, SwapAdd: 7}, 8)
	c.request(verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: 9}, 8)
}

// receiverNotReady sends before there is a receive.
func (c *conversation) receiverNotReady() {
	c.t.Helper()
	c.post(verbs.SendWR{Op: verbs.OpSend}, 64)
	eventually(c.t, "an RNR NAK", func() bool { return c.a.qp.Stats().RNRNaksReceived > 0 })
	c.postReceive()
	c.a.wait()
	c.b.wait()
}

// retransmission lets the network lose a WRITE after it has left.
func (c *conversation) retransmission() {
	c.t.Helper()
	before := c.a.qp.Stats().Retransmitted
	e := engineOf(c.a.dev)
	e.mu.Lock()
	e.batch.send = func(fd int, messages []mmsghdr) (int, unix.Errno) {
		if *messages[0].hdr.Iov.Base != byte(wire.WriteOnly) {
			return sendmmsg(fd, messages)
		}
		e.batch.send = sendmmsg
		return len(messages), 0
	}
	e.mu.Unlock()
	c.request(verbs.SendWR{Op: verbs.OpWrite}, 64)
	if c.a.qp.Stats().Retransmitted == before {
		c.t.Fatal("nothing was sent again")
	}
}

// accessError writes with a key that does not exist.
func (c *conversation) accessError() {
	c.t.Helper()
	c.post(verbs.SendWR{Op: verbs.OpWrite, RemoteAddr: c.b.mr.Addr(), RKey: ^c.b.mr.RKey()}, 64)
	got, err := c.a.outcome(10 * time.Second)
	noError(c.t, err)
	if !errors.Is(got.Err(), verbs.ErrRemoteAccess) {
		c.t.Fatalf("a wrong key: %v", got.Err())
	}
}

// decodedFields are what tshark is asked for, in the order of decoded's fields.
var decodedFields = []string{
	"_ws.malformed", "frame.packet_flags_direction", "ip.checksum.status", "udp.checksum.status",
	"infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.aeth.syndrome",
}

// decoded is a packet as tshark sees it; a field that is not there is empty.
type decoded struct {
	malformed, direction, ipChecksum, udpChecksum, opcode, psn, syndrome string
}

func decodeByTshark(t *testing.T, tshark string, file []byte) (packets []decoded) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rc.pcapng")
	noError(t, os.WriteFile(name, file, 0o600))
	args := []string{
		"-r", name, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-T", "fields", "-E", "separator=|", "-E", "occurrence=f",
	}
	for _, field := range decodedFields {
		args = append(args, "-e", field)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(tshark, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.Bytes())
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) != len(decodedFields) {
			t.Fatalf("tshark printed %q", line)
		}
		packets = append(packets, decoded{f[0], f[1], f[2], f[3], f[4], f[5], f[6]})
	}
	return packets
}

// checkDecoded demands that every packet is whole and of InfiniBand, and that
// everything that the conversation did can be seen.
func checkDecoded(t *testing.T, packets []decoded, stats Stats, ipv6 bool) {
	t.Helper()
	if want := stats.PacketsSent + stats.PacketsReceived; uint64(len(packets)) != want {
		t.Errorf("tshark decoded %d packets, sent and received were %d", len(packets), want)
	}
	// Of a checksum 1 is good and 3 is none.
	ipWant, udpWant := "1", "3"
	if ipv6 {
		ipWant, udpWant = "", "1"
	}
	seen := map[wire.Opcode]bool{}
	syndromes := map[wire.Syndrome]bool{}
	sent := map[string]int{} // WRITEs of one packet, by their PSN
	for i, p := range packets {
		number, err := strconv.ParseUint(p.opcode, 0, 8)
		if p.malformed != "" || err != nil {
			t.Fatalf("packet %d is malformed or not of InfiniBand: %+v", i+1, p)
		}
		if p.ipChecksum != ipWant || p.udpChecksum != udpWant {
			t.Fatalf("packet %d: wrong checksum: %+v", i+1, p)
		}
		op := wire.Opcode(number)
		seen[op] = true
		if op == wire.Acknowledge {
			value, err := strconv.ParseUint(p.syndrome, 0, 8)
			noError(t, err)
			syndromes[wire.Syndrome(value)] = true
		}
		if op == wire.WriteOnly && p.direction == "0x00000002" {
			sent[p.psn]++
		}
	}
	for op := wire.SendFirst; op <= wire.SendOnlyInv; op++ {
		if op.Valid() && !seen[op] {
			t.Errorf("no packet is %v", op)
		}
	}
	checkTrouble(t, syndromes, sent)
}

// checkTrouble looks for the two NAKs and for the packet that was sent again.
func checkTrouble(t *testing.T, syndromes map[wire.Syndrome]bool, sent map[string]int) {
	t.Helper()
	notReady, again := false, false
	for s := range syndromes {
		notReady = notReady || s.IsRNR()
	}
	for _, n := range sent {
		again = again || n > 1
	}
	if !notReady || !syndromes[wire.NakRemoteAccess] {
		t.Errorf("not all NAKs are among the syndromes %v", syndromes)
	}
	if !again {
		t.Errorf("no WRITE was sent twice; by PSN: %v", sent)
	}
}
