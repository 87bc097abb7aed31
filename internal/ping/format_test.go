package ping

import (
	"bytes"
	"testing"
)

func TestFormats(t *testing.T) {
	h := header{kind: kindReply, path: 300, token: 1 << 63, arrived: 5, replied: 6, qkey: 7, port: 8}
	b := make([]byte, headerLen)
	h.put(b)
	if got, err := parseHeader(b, kindReply); err != nil || got != h {
		t.Errorf("header %+v, %v", got, err)
	}
	if k, path, err := parseRequest(appendRequest(nil, kindWrite, 9)); k != kindWrite || path != 9 || err != nil {
		t.Errorf("request %v %d, %v", k, path, err)
	}
	d := description{qpn: 1 << 23, qkey: 0, mtu: 1024}
	// A REJ loses the zeros at its end.
	if got, err := parseDescription(bytes.TrimRight(d.append(nil), "\x00")); err != nil || got != d {
		t.Errorf("description %+v, %v", got, err)
	}
	g := grant{addr: 1 << 47, rkey: 5, length: MaxWrite}
	if got, err := parseGrant(g.append(nil)); err != nil || got != g {
		t.Errorf("grant %+v, %v", got, err)
	}
}

// FuzzFormats: what a peer sends is read without harm, and what was read is written as it was.
func FuzzFormats(f *testing.F) {
	h := header{kind: kindProbe, path: 1, token: 2, qkey: 3}
	b := make([]byte, headerLen)
	h.put(b)
	f.Add(b)
	f.Add(appendRequest(nil, kindDescribe, 0))
	f.Add((&description{qpn: 1, mtu: 4096}).append(nil))
	f.Add((&grant{length: 1}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, k := range []kind{kindProbe, kindReply} {
			if h, err := parseHeader(b, k); err == nil {
				out := make([]byte, headerLen)
				h.put(out)
				if !bytes.Equal(out[:38], b[:38]) {
					t.Errorf("%x became %x", b[:38], out[:38])
				}
			}
		}
		_, _, _ = parseRequest(b)
		if d, err := parseDescription(b); err == nil && d.mtu < MinSize {
			t.Errorf("an MTU of %d was taken", d.mtu)
		}
		_, _ = parseGrant(b)
	})
}
