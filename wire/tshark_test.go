package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/internal/pcapng"
)

// tsharkColumn compares one field that tshark decodes with the header field it
// was written from. A field whose extension header the opcode lacks must be
// empty.
type tsharkColumn struct {
	field string
	ext   extSet // 0: part of BTH
	base  int    // of tshark's text; 0: by its prefix
	value func(*Headers) uint64
}

func asBit(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

var tsharkColumns = []tsharkColumn{
	{"infiniband.bth.opcode", 0, 0, func(h *Headers) uint64 { return uint64(h.Opcode) }},
	{"infiniband.bth.se", 0, 0, func(h *Headers) uint64 { return asBit(h.Solicited) }},
	{"infiniband.bth.m", 0, 0, func(h *Headers) uint64 { return asBit(h.MigReq) }},
	{"infiniband.bth.padcnt", 0, 0, func(h *Headers) uint64 { return uint64(h.Pad) }},
	{"infiniband.bth.tver", 0, 0, func(h *Headers) uint64 { return uint64(h.TVer) }},
	{"infiniband.bth.p_key", 0, 0, func(h *Headers) uint64 { return uint64(h.PKey) }},
	{"infiniband.bth.destqp", 0, 0, func(h *Headers) uint64 { return uint64(h.DestQP) }},
	{"infiniband.bth.a", 0, 0, func(h *Headers) uint64 { return asBit(h.AckReq) }},
	{"infiniband.bth.psn", 0, 0, func(h *Headers) uint64 { return uint64(h.PSN) }},
	{"infiniband.reth.dmalen", extRETH, 0, func(h *Headers) uint64 { return uint64(h.RETH.Length) }},
	{"infiniband.aeth.syndrome", extAETH, 0, func(h *Headers) uint64 { return uint64(h.AETH.Syndrome) }},
	{"infiniband.aeth.msn", extAETH, 0, func(h *Headers) uint64 { return uint64(h.AETH.MSN) }},
	{"infiniband.atomiceth.swapdt", extAtomicETH, 0, func(h *Headers) uint64 { return h.AtomicETH.SwapAdd }},
	{"infiniband.atomiceth.cmpdt", extAtomicETH, 0, func(h *Headers) uint64 { return h.AtomicETH.Compare }},
	{"infiniband.atomicacketh.origremdt", extAtomicAck, 0, func(h *Headers) uint64 { return h.AtomicAck.Original }},
	{"infiniband.deth.q_key", extDETH, 0, func(h *Headers) uint64 { return uint64(h.DETH.QKey) }},
	{"infiniband.deth.srcqp", extDETH, 0, func(h *Headers) uint64 { return uint64(h.DETH.SrcQP) }},
	{"infiniband.immdt", extImm, 16, func(h *Headers) uint64 { return uint64(h.Imm) }},
	{"infiniband.ieth", extIETH, 16, func(h *Headers) uint64 { return uint64(h.IETH.RKey) }},
	{"infiniband.reth.va", extRETH | extAtomicETH, 0, func(h *Headers) uint64 { return h.RETH.VA | h.AtomicETH.VA }},
	{"infiniband.reth.r_key", extRETH | extAtomicETH, 0, func(h *Headers) uint64 { return uint64(h.RETH.RKey | h.AtomicETH.RKey) }},
}

// check returns what is wrong with tshark's text for a packet, or "".
func (c *tsharkColumn) check(text string, h *Headers) string {
	if c.ext != 0 && opcodes[h.Opcode].ext&c.ext == 0 {
		if text != "" {
			return fmt.Sprintf("%s is %q, want none", c.field, text)
		}
		return ""
	}
	// Releases differ in how they print a boolean.
	text = strings.NewReplacer("True", "1", "False", "0").Replace(text)
	got, err := strconv.ParseUint(text, c.base, 64)
	if want := c.value(h); err != nil || got != want {
		return fmt.Sprintf("%s is %q, want %#x", c.field, text, want)
	}
	return ""
}

// TestTsharkDecodesStandardPackets has an independent decoder read every
// standard opcode. The multi-path ones are private, and CNP is unknown to the
// releases of tshark in use.
func TestTsharkDecodesStandardPackets(t *testing.T) {
	checkByTshark(t, func(op Opcode) []int {
		switch {
		case !op.HasPayload():
			return []int{0}
		case op.IsSend(): // short ones have a test of their own
			return []int{13, 18, 63, 256, 1023, 4096}
		}
		return []int{0, 1, 2, 3, 4, 8, 63, 1023, 4096}
	})
}

// TestTsharkDecodesShortSends covers SENDs that take up to eight bytes with
// their pad. tshark guesses at the protocol they carry, RPC over RDMA or, for
// empty datagrams, Ethernet over InfiniBand; those decoders read beyond the end
// and call the packet malformed, so they are switched off.
func TestTsharkDecodesShortSends(t *testing.T) {
	checkByTshark(t, func(op Opcode) []int {
		if op.IsSend() {
			return []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
		}
		return nil
	}, "--disable-protocol", "rpcordma", "--disable-protocol", "infiniband.eoib")
}

// checkByTshark writes standard packets with payloads of the given sizes into a
// capture and compares every field that tshark reads from it.
func checkByTshark(t *testing.T, sizes func(Opcode) []int, options ...string) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	sent, packets := standardPackets(sizes)
	capture := filepath.Join(t.TempDir(), "standard.pcapng")
	writeCapture(t, capture, packets)
	args := append([]string{"-r", capture, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"}, options...)
	args = append(args, "-e", "_ws.malformed")
	for _, c := range tsharkColumns {
		args = append(args, "-e", c.field)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(tshark, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.Bytes())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(sent) {
		t.Fatalf("tshark printed %d packets of %d", len(lines), len(sent))
	}
	for i, line := range lines {
		texts := strings.Split(line, "|")
		if texts[0] != "" {
			t.Errorf("packet %d, %v, %d bytes: malformed", i+1, sent[i].Opcode, len(packets[i]))
		}
		for j := range tsharkColumns {
			if wrong := tsharkColumns[j].check(texts[j+1], &sent[i]); wrong != "" {
				t.Errorf("packet %d, %v: %s", i+1, sent[i].Opcode, wrong)
			}
		}
	}
}

// writeCapture writes IP packets to a file of their own.
func writeCapture(t *testing.T, name string, packets [][]byte) {
	t.Helper()
	var file bytes.Buffer
	w, err := pcapng.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for i, packet := range packets {
		if err := w.WritePacket(&pcapng.Packet{Time: int64(i), Data: packet}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// standardPackets returns IP packets of every RC and UD opcode, in IPv4 and
// IPv6 and in the given sizes of payload, and their headers.
func standardPackets(sizes func(Opcode) []int) (sent []Headers, packets [][]byte) {
	r := rand.New(rand.NewPCG(29, 30))
	for _, op := range validOpcodes() {
		if op.IsMP() || op == CNP {
			continue
		}
		for i, size := range sizes(op) {
			for _, v6 := range []bool{false, true} {
				h := randomHeaders(r, op)
				h.Pad = PadLen(size)
				if opcodes[op].ext&extAETH != 0 {
					h.AETH.Syndrome = []Syndrome{AckSyndrome(NoCredit), RNRSyndrome(14), NakRemoteAccess}[i%3]
				}
				f := randomFlow(r, v6)
				b := h.Append(nil)
				// Random bytes would now and then resemble a protocol that
				// tshark knows.
				b = append(b, bytes.Repeat([]byte{0xa5}, size)...)
				b = append(b, make([]byte, h.Pad)...)
				sum := f.prefix(len(b) + ICRCLen).Headers(b[:h.Len()]).Payload(b[h.Len():]).Sum()
				sent = append(sent, h)
				packets = append(packets, AppendICRC(f.ipPacket(b), sum))
			}
		}
	}
	return sent, packets
}
