package wire

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// header is any header type with its parser, so that one test serves all.
type header interface{ Append([]byte) []byte }

func parserOf[H header](parse func([]byte) (H, []byte, error)) func([]byte) (header, []byte, error) {
	return func(b []byte) (header, []byte, error) { return parse(b) }
}

// layouts states, for each header, bytes written down by hand from
// docs/wire-format.md, and which bits of them are reserved.
var layouts = []struct {
	name     string
	h        header
	parse    func([]byte) (header, []byte, error)
	bytes    string
	reserved string
}{
	{
		"BTH",
		BTH{
			Opcode: SendLastImm, Solicited: true, Pad: 2, PKey: 0x1234, BECN: true,
			DestQP: 0xabcdef, AckReq: true, PSN: 0x010203,
		},
		parserOf(ParseBTH),
		"03 a0 1234 40 abcdef 80 010203", "00 00 0000 3f 000000 7f 000000",
	},
	{
		"BTH other flags",
		BTH{
			Opcode: WriteFirst, MigReq: true, Pad: 1, TVer: 5, PKey: DefaultPKey, FECN: true, PSN: 0xffffff,
		},
		parserOf(ParseBTH),
		"06 55 ffff 80 000000 00 ffffff", "00 00 0000 3f 000000 7f 000000",
	},
	{
		"RETH",
		RETH{VA: 0x0102030405060708, RKey: 0x11121314, Length: 0x21222324},
		parserOf(ParseRETH),
		"0102030405060708 11121314 21222324", "0000000000000000 00000000 00000000",
	},
	{
		"AETH",
		AETH{Syndrome: NakRemoteAccess, MSN: 0x0a0b0c},
		parserOf(ParseAETH),
		"62 0a0b0c", "80 000000",
	},
	{
		"AtomicETH",
		AtomicETH{VA: 0x0102030405060708, RKey: 0x11121314, SwapAdd: 0x2122232425262728, Compare: 0x3132333435363738},
		parserOf(ParseAtomicETH),
		"0102030405060708 11121314 2122232425262728 3132333435363738", "0000000000000000 00000000 0000000000000000 0000000000000000",
	},
	{
		"AtomicAckETH",
		AtomicAckETH{Original: 0x0102030405060708},
		parserOf(ParseAtomicAckETH),
		"0102030405060708", "0000000000000000",
	},
	{"ImmDt", ImmDt(0x01020304), parserOf(ParseImmDt), "01020304", "00000000"},
	{"IETH", IETH{RKey: 0x01020304}, parserOf(ParseIETH), "01020304", "00000000"},
	{
		"DETH",
		DETH{QKey: 0x80010000, SrcQP: 0x123456},
		parserOf(ParseDETH),
		"80010000 00123456", "00000000 ff000000",
	},
	{
		"MPData",
		MPData{ReTx: true, Path: 0xc001, MSN: 0x0a0b0c, Offset: 0x0d0e0f, SentAt: 0x01020304},
		parserOf(ParseMPData),
		"82 00 c001 00 0a0b0c 00 0d0e0f 01020304", "30 ff 0000 ff 000000 ff 000000 00000000",
	},
	{
		"MPData synchronise",
		MPData{Sync: true, MSN: 1},
		parserOf(ParseMPData),
		"42 00 0000 00 000001 00 000000 00000000", "30 ff 0000 ff 000000 ff 000000 00000000",
	},
	{
		"MPAck",
		MPAck{ECE: true, Path: 0xc001, SACK: 0x0a0b0c, AACK: 0x0d0e0f, SentAt: 0x01020304, Window: 0x0506},
		parserOf(ParseMPAck),
		"82 00 c001 00 0a0b0c 00 0d0e0f 01020304 0506 0000", "10 ff 0000 ff 000000 ff 000000 00000000 0000 ffff",
	},
	{
		"MPAck of a retransmission",
		MPAck{ReTx: true},
		parserOf(ParseMPAck),
		"42 00 0000 00 000000 00 000000 00000000 0000 0000", "10 ff 0000 ff 000000 ff 000000 00000000 0000 ffff",
	},
	{
		"MPAck of a response",
		MPAck{Responses: true},
		parserOf(ParseMPAck),
		"22 00 0000 00 000000 00 000000 00000000 0000 0000", "10 ff 0000 ff 000000 ff 000000 00000000 0000 ffff",
	},
	{
		"MPAckBatch",
		MPAckBatch{
			Responses: true, Path: 0xc001, Base: 0x0a0b0c, AACK: 0x0d0e0f, SentAt: 0x01020304, Window: 0x0506,
			Received: 0x8000000000000107, Marked: 0x8000000000000002, ReTx: 0x0000000000000100,
		},
		parserOf(ParseMPAckBatch),
		"22 00 c001 00 0a0b0c 00 0d0e0f 01020304 0506 0000 8000000000000107 8000000000000002 0000000000000100",
		"d0 ff 0000 ff 000000 ff 000000 00000000 0000 ffff 0000000000000000 0000000000000000 0000000000000000",
	},
}

func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			want := unhex(t, l.bytes)
			before := []byte("before")
			got := l.h.Append(before)
			if string(got) != "before"+string(want) {
				t.Errorf("Append wrote\n%x, want\n%x", got[len(before):], want)
			}
			h, rest, err := l.parse(append(want, "rest"...))
			if err != nil || h != l.h || string(rest) != "rest" {
				t.Errorf("Parse gave %+v, rest %q, error %v; want %+v", h, rest, err, l.h)
			}
		})
	}
}

func TestReservedBitsAreIgnored(t *testing.T) {
	for _, l := range layouts {
		b := unhex(t, l.bytes)
		for i, reserved := range unhex(t, l.reserved) {
			if b[i]&reserved != 0 {
				t.Errorf("%s: Append sets reserved bits of byte %d", l.name, i)
			}
			b[i] |= reserved
		}
		if h, _, err := l.parse(b); err != nil || h != l.h {
			t.Errorf("%s with reserved bits set: %+v, %v; want %+v", l.name, h, err, l.h)
		}
	}
}

func TestEveryOtherBitMatters(t *testing.T) {
	for _, l := range layouts {
		reserved := unhex(t, l.reserved)
		for bit := range 8 * len(reserved) {
			b := unhex(t, l.bytes)
			b[bit/8] ^= 0x80 >> (bit % 8)
			h, _, err := l.parse(b)
			same := err == nil && h == l.h
			if isReserved := reserved[bit/8]<<(bit%8)&0x80 != 0; same != isReserved {
				t.Errorf("%s: flipping bit %d of byte %d: unchanged %v, reserved %v", l.name, bit%8, bit/8, same, isReserved)
			}
		}
	}
}

func TestTruncatedHeaders(t *testing.T) {
	for _, l := range layouts {
		b := unhex(t, l.bytes)
		for n := range b {
			if _, _, err := l.parse(b[:n:n]); !errors.Is(err, ErrTruncated) {
				t.Errorf("%s cut to %d bytes: error %v, want ErrTruncated", l.name, n, err)
			}
		}
	}
}

func TestWideFieldsDoNotSpill(t *testing.T) {
	// A value too wide for its field must not reach the bits beside it.
	for _, tt := range []struct {
		name      string
		wide, cut header
	}{
		{"BTH", BTH{Pad: 0xff, DestQP: 0xff000001, PSN: 0xff000002}, BTH{Pad: 3, DestQP: 1, PSN: 2}},
		{"AETH", AETH{Syndrome: 0xff, MSN: 0xff000001}, AETH{Syndrome: 0x7f, MSN: 1}},
		{"DETH", DETH{SrcQP: 0xff000001}, DETH{SrcQP: 1}},
		{"MPData", MPData{MSN: 0xff000001, Offset: 0xff000002}, MPData{MSN: 1, Offset: 2}},
		{"MPAck", MPAck{SACK: 0xff000001, AACK: 0xff000002}, MPAck{SACK: 1, AACK: 2}},
		{"MPAckBatch", MPAckBatch{Base: 0xff000001, AACK: 0xff000002}, MPAckBatch{Base: 1, AACK: 2}},
	} {
		if got, want := tt.wide.Append(nil), tt.cut.Append(nil); string(got) != string(want) {
			t.Errorf("%s: wrote %x, want %x", tt.name, got, want)
		}
	}
}

func TestMPVersions(t *testing.T) {
	for _, l := range layouts {
		if !strings.HasPrefix(l.name, "MP") {
			continue
		}
		for version := range byte(16) {
			b := unhex(t, l.bytes)
			b[0] = b[0]&0xf0 | version
			_, _, err := l.parse(b)
			if version == MPVersion && err != nil || version != MPVersion && !errors.Is(err, ErrVersion) {
				t.Errorf("%s with version %d: error %v", l.name, version, err)
			}
		}
	}
}

func TestMPAckBatchMapsMustAgree(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		received, marked, reTx uint64
		want                   error
		count                  int
	}{
		{"one packet", 1, 0, 0, nil, 1},
		{"all, marked and sent again", 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, nil, 64},
		{"gaps", 0b1001, 0b1000, 0b0001, nil, 2},
		{"nothing received", 0, 0, 0, ErrMalformed, 0},
		{"base not received", 0b1110, 0, 0, ErrMalformed, 0},
		{"mark without packet", 0b1001, 0b0010, 0, ErrMalformed, 0},
		{"retransmission without packet", 0b1001, 0, 0b0100, ErrMalformed, 0},
	} {
		h := MPAckBatch{Received: tt.received, Marked: tt.marked, ReTx: tt.reTx}
		got, _, err := ParseMPAckBatch(h.Append(nil))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
		if got.Count() != tt.count {
			t.Errorf("%s: Count() = %d, want %d", tt.name, got.Count(), tt.count)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
