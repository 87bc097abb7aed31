package cm

import (
	"bytes"
	"errors"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

func TestTermsBytes(t *testing.T) {
	room := make([]byte, programLen)
	must(t, pack(room, []byte("mine"), &terms{multiPath: true, mtu: 5, paths: 0x0102, slots: 0x0400, window: 0x0607}))
	want := append([]byte("mine"), make([]byte, 36)...)
	want = append(want, 'b', 'r', 'a', 'i', 1, 1, 5, 4, 1, 2, 4, 0, 6, 7, 0, 0)
	if !bytes.Equal(room, want) {
		t.Errorf("%x\nwant %x", room, want)
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
		"version": func(b []byte) { b[4] = 2 },
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
	_ = pack(room, []byte("seed"), &terms{multiPath: true, mtu: 3, paths: 4, slots: 1024, window: 100})
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
		terms.apply(&p)
		_ = p.Check()
	})
}
