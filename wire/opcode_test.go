package wire

import (
	"strings"
	"testing"
)

// opcodeWants restates the table of docs/wire-format.md. Letters: S starts, E
// ends, r request, p payload, s SEND, w WRITE, a READ answer, t atomic, i
// immediate. The lengths are those of the headers with BTH.
var opcodeWants = []struct {
	op           Opcode
	name         string
	letters      string
	rcLen, mpLen int // mpLen 0: no multi-path twin
}{
	{0x00, "SEND_FIRST", "S rps", 12, 28},
	{0x01, "SEND_MIDDLE", "rps", 12, 28},
	{0x02, "SEND_LAST", "E rps", 12, 28},
	{0x03, "SEND_LAST_IMM", "E rpsi", 16, 32},
	{0x04, "SEND_ONLY", "SE rps", 12, 28},
	{0x05, "SEND_ONLY_IMM", "SE rpsi", 16, 32},
	{0x06, "WRITE_FIRST", "S rpw", 28, 44},
	{0x07, "WRITE_MIDDLE", "rpw", 12, 44},
	{0x08, "WRITE_LAST", "E rpw", 12, 44},
	{0x09, "WRITE_LAST_IMM", "E rpwi", 16, 48},
	{0x0a, "WRITE_ONLY", "SE rpw", 28, 44},
	{0x0b, "WRITE_ONLY_IMM", "SE rpwi", 32, 48},
	{0x0c, "READ_REQUEST", "SE r", 28, 44},
	{0x0d, "READ_RESPONSE_FIRST", "S pa", 16, 28},
	{0x0e, "READ_RESPONSE_MIDDLE", "pa", 12, 28},
	{0x0f, "READ_RESPONSE_LAST", "E pa", 16, 28},
	{0x10, "READ_RESPONSE_ONLY", "SE pa", 16, 28},
	{0x11, "ACKNOWLEDGE", "", 16, 36},
	{0x12, "ATOMIC_ACKNOWLEDGE", "SE", 24, 36},
	{0x13, "COMPARE_SWAP", "SE rt", 40, 56},
	{0x14, "FETCH_ADD", "SE rt", 40, 56},
	{0x16, "SEND_LAST_INV", "E rps", 16, 32},
	{0x17, "SEND_ONLY_INV", "SE rps", 16, 32},
	{0x64, "UD_SEND_ONLY", "SE rps", 20, 0},
	{0x65, "UD_SEND_ONLY_IMM", "SE rpsi", 24, 0},
	{0x81, "CNP", "", 28, 0},
	{0xd8, "MP_ACK_BATCH", "", 60, 0},
	{0xd9, "MP_PROBE", "r", 28, 0},
	{0xda, "MP_PROBE_ACK", "", 36, 0},
	{0xe0, "NETWORK_PROBE", "p", 12, 0},
}

func TestOpcodeTable(t *testing.T) {
	known := map[Opcode]bool{}
	for _, want := range opcodeWants {
		if want.mpLen == 0 {
			known[want.op] = true
			checkOpcode(t, want.op, want.name, want.letters, want.rcLen)
			continue
		}
		twin := 0xc0 | want.op
		known[want.op], known[twin] = true, true
		checkOpcode(t, want.op, "RC_"+want.name, want.letters, want.rcLen)
		checkOpcode(t, twin, "MP_"+want.name, want.letters, want.mpLen)
		if want.op.IsMP() || !twin.IsMP() || twin.Base() != want.op || want.op.Base() != want.op {
			t.Errorf("%v and %v are not recognised as twins", want.op, twin)
		}
	}
	for op := range 256 {
		if op := Opcode(op); op.Valid() != known[op] {
			t.Errorf("%v.Valid() = %v", op, op.Valid())
		}
	}
}

func checkOpcode(t *testing.T, op Opcode, name, letters string, length int) {
	t.Helper()
	if op.String() != name {
		t.Errorf("opcode 0x%02x is called %q, want %q", uint8(op), op, name)
	}
	for letter, got := range map[string]bool{
		"S": op.Starts(), "E": op.Ends(), "r": op.IsRequest(), "p": op.HasPayload(),
		"s": op.IsSend(), "w": op.IsWrite(), "a": op.IsReadResponse(),
		"t": op.IsAtomic(), "i": op.HasImm(),
	} {
		if want := strings.Contains(letters, letter); got != want {
			t.Errorf("%v: property %q is %v, want %v", op, letter, got, want)
		}
	}
	h := Headers{BTH: BTH{Opcode: op}}
	if h.Len() != length {
		t.Errorf("%v: headers take %d bytes, want %d", op, h.Len(), length)
	}
	if length > MaxHeadersLen {
		t.Errorf("%v: %d bytes exceed MaxHeadersLen", op, length)
	}
}

func TestOpcodeConstants(t *testing.T) {
	for want, op := range []Opcode{
		SendFirst, SendMiddle, SendLast, SendLastImm, SendOnly, SendOnlyImm,
		WriteFirst, WriteMiddle, WriteLast, WriteLastImm, WriteOnly, WriteOnlyImm,
		ReadRequest, ReadResponseFirst, ReadResponseMiddle, ReadResponseLast,
		ReadResponseOnly, Acknowledge, AtomicAcknowledge, CompareSwap, FetchAdd,
	} {
		if op != Opcode(want) {
			t.Errorf("%v has number %#x, want %#x", op, uint8(op), want)
		}
	}
	for op, want := range map[Opcode]uint8{
		SendLastInv: 0x16, SendOnlyInv: 0x17, UDSendOnly: 0x64, UDSendOnlyImm: 0x65,
		CNP: 0x81, MPAcknowledgeBatch: 0xd8, MPProbe: 0xd9, MPProbeAck: 0xda,
	} {
		if uint8(op) != want {
			t.Errorf("%v has number %#x, want %#x", op, uint8(op), want)
		}
	}
	if got := Opcode(0x15).String(); got != "OPCODE_0x15" {
		t.Errorf("a reserved opcode prints as %q", got)
	}
	if Opcode(0xe6).IsMP() {
		t.Error("0xe6 lies outside the multi-path service")
	}
}
