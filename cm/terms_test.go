package cm

import (
	"bytes"
	"errors"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

func TestTermsBytes(t *testing.T) {
	room := make([]byte, programLen)
	must(t, pack(room, []byte("mine"), &terms{multiPath: true, mtu: 5, paths: 0x0102, slots: 0x0400, window: 0x0607, payload: 0x22d8}))
	want := append([]byte("mine"), make([]byte, 36)...)
	want = append(want, 'b', 'r', 'a', 'i', 2, 1, 5, 4, 1, 2, 4, 0, 6, 7, 0x22, 0xd8)
	if !bytes.Equal(room, want) {
		t.Errorf("%x\nwant %x", room, want)
	}
}

// TestPayloadAgreed: two ends come to the same payload, whatever each may send, also
// where one of them knows the powers of two alone and says nothing in bytes 14-15.
func TestPayloadAgreed(t *testing.T) {
	for _, test := range []struct {
		ours, theirs int
		old          bool // the peer is of a version without bytes 14-15
		want         int
	}{
		{1420, 8920, false, 1420},
		{16384, 8920, false, 8920},
		{4096, 4096, false, 4096},
		{1420, 4096, true, 1024},
		{8920, 4096, true, 4096},
		{8920, 256, true, 256},
		{256, 4096, true, 256},
	} {
		theirs := termsOf(&verbs.ConnParams{Type: verbs.MP, MTU: test.theirs})
		if test.old {
			theirs.payload = 0
		}
		p := verbs.ConnParams{Type: verbs.MP}
		theirs.apply(&p, test.ours)
		if got := min(p.MTU, test.ours); got != test.want {
			t.Errorf("%+v: we send %d", test, got)
		}
		// What the other side makes of our terms; the older one reads byte 6 alone.
		ours := termsOf(&verbs.ConnParams{Type: verbs.MP, MTU: test.ours})
		got := min(int(ours.payload), test.theirs)
		if test.old {
			got = min(ours.mtu.Bytes(), test.theirs)
		}
		if got != test.want {
			t.Errorf("%+v: the peer sends %d", test, got)
		}
	}
}

func TestPackLimits(t *testing.T) {
	for _, test := range []struct {
		data  int
		terms *terms
		ok    bool
	}{
		{MaxDialData, &terms{}, true},
		{MaxDialData + 1, &terms{}, false},
		{MaxStandardData, nil, true},
		{MaxStandardData + 1, nil, false},
	} {
		err := pack(make([]byte, programLen), make([]byte, test.data), test.terms)
		if (err == nil) != test.ok || !test.ok && !errors.Is(err, ErrPrivateData) {
			t.Errorf("%d bytes: %v", test.data, err)
		}
	}
}

// TestTermsNotOurs: data of standard peers, and of versions to come, is the
// program's.
func TestTermsNotOurs(t *testing.T) {
	room := make([]byte, programLen)
	must(t, pack(room, nil, &terms{}))
	for name, change := range map[string]func(b []byte){
		"magic":   func(b []byte) { b[0] = 'B' },
		"version": func(b []byte) { b[4]++ },
		"length":  func(b []byte) { b[7] = MaxDialData + 1 },
	} {
		b := bytes.Clone(room)
		change(b[MaxDialData:])
		if data, terms := unpack(b); terms != nil || len(data) != programLen {
			t.Errorf("%s: %d bytes, %+v", name, len(data), terms)
		}
	}
}

// FuzzUnpack checks that no private data panics, that what was accepted
// survives being written and read again, and that verbs refuses what no peer
// can have.
func FuzzUnpack(f *testing.F) {
	room := make([]byte, programLen)
	_ = pack(room, []byte("seed"), &terms{multiPath: true, mtu: 3, paths: 4, slots: 1024, window: 100, payload: 1420})
	f.Add(room)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < termsLen {
			return
		}
		data, terms := unpack(b)
		if terms == nil {
			return
		}
		again := make([]byte, len(b))
		if err := pack(again, data, terms); err != nil {
			t.Fatal(err)
		}
		if data2, terms2 := unpack(again); *terms2 != *terms || !bytes.Equal(data, data2) {
			t.Fatalf("%+v %q, want %+v %q", terms2, data2, terms, data)
		}
		p := verbs.ConnParams{Type: verbs.MP, QPN: 7}
		terms.apply(&p, 4096)
		_ = p.Check()
	})
}
