package wire

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// validOpcodes returns every opcode that ParseHeaders accepts.
func validOpcodes() (ops []Opcode) {
	for op := range 256 {
		if Opcode(op).Valid() {
			ops = append(ops, Opcode(op))
		}
	}
	return ops
}

// randomHeaders fills the fields that op puts on the wire, and only those, so
// that what comes back can be compared as a whole.
func randomHeaders(r *rand.Rand, op Opcode) Headers {
	h := Headers{BTH: BTH{
		Opcode: op, Solicited: r.IntN(2) == 0, MigReq: r.IntN(2) == 0, PKey: uint16(r.Uint32()),
		FECN: r.IntN(2) == 0, BECN: r.IntN(2) == 0, DestQP: QPN(r.Uint32() & mask24),
		AckReq: r.IntN(2) == 0, PSN: PSN(r.Uint32() & mask24),
	}}
	ext := opcodes[op].ext
	if ext&extMPData != 0 {
		h.MP = MPData{
			ReTx: r.IntN(2) == 0, Sync: r.IntN(2) == 0, Path: uint16(r.Uint32()),
			MSN: r.Uint32() & mask24, Offset: r.Uint32() & mask24, SentAt: r.Uint32(),
		}
	}
	if ext&extDETH != 0 {
		h.DETH = DETH{QKey: QKey(r.Uint32()), SrcQP: QPN(r.Uint32() & mask24)}
	}
	if ext&extRETH != 0 {
		h.RETH = RETH{VA: r.Uint64(), RKey: RKey(r.Uint32()), Length: r.Uint32()}
	}
	if ext&extAtomicETH != 0 {
		h.AtomicETH = AtomicETH{VA: r.Uint64(), RKey: RKey(r.Uint32()), SwapAdd: r.Uint64(), Compare: r.Uint64()}
	}
	if ext&extAETH != 0 {
		h.AETH = AETH{Syndrome: Syndrome(r.Uint32()) & syndromeMask, MSN: r.Uint32() & mask24}
	}
	if ext&extAtomicAck != 0 {
		h.AtomicAck = AtomicAckETH{Original: r.Uint64()}
	}
	if ext&extImm != 0 {
		h.Imm = ImmDt(r.Uint32())
	}
	if ext&extIETH != 0 {
		h.IETH = IETH{RKey: RKey(r.Uint32())}
	}
	if ext&extMPAck != 0 {
		h.Ack = MPAck{
			ECE: r.IntN(2) == 0, ReTx: r.IntN(2) == 0, Responses: r.IntN(2) == 0, Path: uint16(r.Uint32()), SACK: PSN(r.Uint32() & mask24),
			AACK: PSN(r.Uint32() & mask24), SentAt: r.Uint32(), Window: uint16(r.Uint32()),
		}
	}
	if ext&extMPAckBatch != 0 {
		received := r.Uint64() | 1
		h.Batch = MPAckBatch{
			Responses: r.IntN(2) == 0, Path: uint16(r.Uint32()), Base: PSN(r.Uint32() & mask24), AACK: PSN(r.Uint32() & mask24), SentAt: r.Uint32(),
			Window: uint16(r.Uint32()), Received: received, Marked: r.Uint64() & received, ReTx: r.Uint64() & received,
		}
	}
	return h
}

func TestHeadersRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, op := range validOpcodes() {
		for size := range 20 {
			want := randomHeaders(r, op)
			var data []byte
			if op.HasPayload() {
				data = make([]byte, size)
				for i := range data {
					data[i] = byte(r.Uint32())
				}
				want.Pad = PadLen(size)
			}
			b := want.Append(nil)
			if len(b) != want.Len() {
				t.Fatalf("%v: Append wrote %d bytes, Len says %d", op, len(b), want.Len())
			}
			b = append(b, data...)
			b = append(b, make([]byte, want.Pad)...)
			if op.HasPayload() && len(b)%4 != 0 {
				t.Fatalf("%v: %d bytes with pad, not a multiple of four", op, len(b))
			}
			var got Headers
			payload, err := ParseHeaders(b, &got)
			if err != nil || got != want || string(payload) != string(data) {
				t.Fatalf("%v: parsed\n%+v, payload %x, error %v; want\n%+v, payload %x", op, got, payload, err, want, data)
			}
		}
	}
}

// TestHeadersAreConcatenated ties the combined form to the single headers,
// whose bytes TestLayouts knows.
func TestHeadersAreConcatenated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, tt := range []struct {
		op   Opcode
		join func(h *Headers) []header
	}{
		{SendMiddle, func(h *Headers) []header { return []header{h.BTH} }},
		{SendLastInv, func(h *Headers) []header { return []header{h.BTH, h.IETH} }},
		{WriteOnlyImm, func(h *Headers) []header { return []header{h.BTH, h.RETH, h.Imm} }},
		{AtomicAcknowledge, func(h *Headers) []header { return []header{h.BTH, h.AETH, h.AtomicAck} }},
		{CompareSwap, func(h *Headers) []header { return []header{h.BTH, h.AtomicETH} }},
		{UDSendOnlyImm, func(h *Headers) []header { return []header{h.BTH, h.DETH, h.Imm} }},
		{MPBit | WriteMiddle, func(h *Headers) []header { return []header{h.BTH, h.MP, h.RETH} }},
		{MPBit | WriteLastImm, func(h *Headers) []header { return []header{h.BTH, h.MP, h.RETH, h.Imm} }},
		{MPBit | SendOnlyInv, func(h *Headers) []header { return []header{h.BTH, h.MP, h.IETH} }},
		{MPBit | ReadResponseLast, func(h *Headers) []header { return []header{h.BTH, h.MP} }},
		{MPBit | FetchAdd, func(h *Headers) []header { return []header{h.BTH, h.MP, h.AtomicETH} }},
		{MPBit | AtomicAcknowledge, func(h *Headers) []header { return []header{h.BTH, h.MP, h.AtomicAck} }},
		{MPBit | Acknowledge, func(h *Headers) []header { return []header{h.BTH, h.AETH, h.Ack} }},
		{MPProbe, func(h *Headers) []header { return []header{h.BTH, h.MP} }},
		{MPProbeAck, func(h *Headers) []header { return []header{h.BTH, h.AETH, h.Ack} }},
		{MPAcknowledgeBatch, func(h *Headers) []header { return []header{h.BTH, h.AETH, h.Batch} }},
	} {
		h := randomHeaders(r, tt.op)
		var want []byte
		for _, single := range tt.join(&h) {
			want = single.Append(want)
		}
		if got := h.Append(nil); string(got) != string(want) {
			t.Errorf("%v: wrote\n%x, want\n%x", tt.op, got, want)
		}
	}
}

func TestCNPEndsInZeros(t *testing.T) {
	h := Headers{BTH: BTH{Opcode: CNP, PKey: DefaultPKey, BECN: true, DestQP: 0xd2}}
	dirty := []byte("leftovers of an earlier packet")
	want := unhex(t, "81 00 ffff 40 0000d2 00 000000 00000000 00000000 00000000 00000000")
	if got := h.Append(dirty[:0]); string(got) != string(want) || len(got) != CNPLen {
		t.Errorf("CNP is %x, want %x", got, want)
	}
}

func TestTruncatedPackets(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, op := range validOpcodes() {
		want := randomHeaders(r, op)
		b := want.Append(nil)
		for n := range b {
			var h Headers
			if _, err := ParseHeaders(b[:n:n], &h); !errors.Is(err, ErrTruncated) {
				t.Errorf("%v cut to %d of %d bytes: error %v, want ErrTruncated", op, n, len(b), err)
			}
		}
	}
}

func TestBadPackets(t *testing.T) {
	bth := func(op Opcode, change func(*BTH)) []byte {
		h := Headers{BTH: BTH{Opcode: op}, Batch: MPAckBatch{Received: 1}}
		if change != nil {
			change(&h.BTH)
		}
		return h.Append(nil)
	}
	pad := func(n uint8) func(*BTH) { return func(h *BTH) { h.Pad = n } }
	patch := func(b []byte, at int, v byte) []byte { b[at] = v; return b }
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"reserved RC opcode", bth(0x15, nil), ErrOpcode},
		{"unreliable connection", bth(0x24, nil), ErrOpcode},
		{"reserved MP opcode", bth(MPBit|0x1b, nil), ErrOpcode},
		{"UD WRITE", bth(0x6a, nil), ErrOpcode},
		{"transport version 1", bth(SendOnly, func(h *BTH) { h.TVer = 1 }), ErrVersion},
		{"pad without payload", bth(SendOnly, pad(1)), ErrPad},
		{"pad longer than payload", append(bth(SendOnly, pad(3)), 1, 2), ErrPad},
		{"pad on an acknowledgement", bth(Acknowledge, pad(2)), ErrPad},
		{"payload on an acknowledgement", append(bth(Acknowledge, nil), 1), ErrPayload},
		{"nothing but pad on a READ request", append(bth(ReadRequest, pad(2)), 0, 0), ErrPayload},
		{"payload on a CNP", append(bth(CNP, nil), 0), ErrPayload},
		{"payload on an atomic answer", append(bth(AtomicAcknowledge, nil), 0, 0, 0, 0), ErrPayload},
		{"payload on a probe", append(bth(MPProbe, nil), 0, 0, 0, 0), ErrPayload},
		{"MP data of version 1", patch(bth(MPBit|SendOnly, nil), BTHLen, 1), ErrVersion},
		{"MP ACK of version 0", patch(bth(MPBit|Acknowledge, nil), BTHLen+AETHLen, 0), ErrVersion},
		{"batch without bit 0", patch(bth(MPAcknowledgeBatch, nil), BTHLen+AETHLen+27, 2), ErrMalformed},
		{"nothing but pad on a SEND", append(bth(SendOnly, pad(3)), 1, 2, 3), nil},
		{"SEND with no payload", bth(SendOnly, nil), nil},
	} {
		var h Headers
		payload, err := ParseHeaders(tt.b, &h)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
		if len(payload) != 0 {
			t.Errorf("%s: payload %x", tt.name, payload)
		}
	}
}

func TestParseLeavesOtherFields(t *testing.T) {
	h := Headers{RETH: RETH{VA: 7}, MP: MPData{Path: 9}}
	packet := Headers{BTH: BTH{Opcode: Acknowledge}, AETH: AETH{Syndrome: NakInvalidRequest}}
	if _, err := ParseHeaders(packet.Append(nil), &h); err != nil {
		t.Fatal(err)
	}
	if h.RETH.VA != 7 || h.MP.Path != 9 || h.AETH.Syndrome != NakInvalidRequest {
		t.Errorf("parsing an acknowledgement left %+v", h)
	}
}

func TestPadLen(t *testing.T) {
	for n, want := range []uint8{0, 3, 2, 1, 0, 3} {
		if got := PadLen(n); got != want {
			t.Errorf("PadLen(%d) = %d, want %d", n, got, want)
		}
	}
}
