package oob

import (
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/verbs"
)

// frameOf is the bytes of a message on the wire.
func frameOf(t testing.TB, m message) []byte {
	b, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func helloFrame(t testing.TB) []byte {
	p := Params{ConnParams: goodParams()}
	p.Type = verbs.RC
	return frameOf(t, message{Kind: kindHello, Params: toWire(&p)})
}

// A client that says hello and then nothing, or dies, costs the server no more
// than the timeout, and leaves its queue pair free.
func TestHalfOpen(t *testing.T) {
	const timeout = 50 * time.Millisecond
	for name, c := range map[string]struct {
		play func(net.Conn)
		want error
	}{
		"silent from the start": {func(net.Conn) {}, ErrTimeout},
		"silent after hello":    {func(c net.Conn) { c.Write(helloFrame(t)) }, ErrTimeout},
		"gone at once":          {func(c net.Conn) { c.Close() }, ErrPeerLost},
		"gone after hello":      {func(c net.Conn) { c.Write(helloFrame(t)); c.(*net.TCPConn).CloseWrite() }, ErrPeerLost},
		"hello twice":           {func(c net.Conn) { c.Write(helloFrame(t)); c.Write(helloFrame(t)) }, ErrMalformed},
		"ready first":           {func(c net.Conn) { c.Write(frameOf(t, message{Kind: kindReady})) }, ErrMalformed},
		"not braid":             {func(c net.Conn) { c.Write([]byte("GET / HTTP/1.1\r\n\r\n")) }, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			b := newEnd(t, loopnet.New(loopnet.Options{}), verbs.RC)
			raw, server := rawPeer(t, timeout)
			result := b.connect(server, Options{})
			c.play(raw)
			select {
			case o := <-result:
				if !errors.Is(o.err, c.want) {
					t.Errorf("%v, want %v", o.err, c.want)
				}
			case <-time.After(5 * time.Second):
				t.Fatal("the server still waits")
			}
			b.wantState(verbs.Reset)
		})
	}
}

// A peer that sends a byte now and then gains no time by it.
func TestTrickle(t *testing.T) {
	b := newEnd(t, loopnet.New(loopnet.Options{}), verbs.RC)
	raw, server := rawPeer(t, 100*time.Millisecond)
	result := b.connect(server, Options{})
	for _, c := range helloFrame(t) {
		select {
		case o := <-result:
			if !errors.Is(o.err, ErrTimeout) {
				t.Fatal(o.err)
			}
			return
		case <-time.After(5 * time.Millisecond):
			raw.Write([]byte{c})
		}
	}
	t.Fatal("the whole message was awaited")
}

func TestTruncatedAnywhere(t *testing.T) {
	whole := helloFrame(t)
	for n := range len(whole) {
		ours, theirs := net.Pipe()
		go func() {
			theirs.Write(whole[:n])
			theirs.Close()
		}()
		c := newConn(ours, false)
		if _, err := c.Peer(testContext(t)); !errors.Is(err, ErrPeerLost) {
			t.Fatalf("after %d of %d bytes: %v", n, len(whole), err)
		}
		c.Close()
	}
}

// Truncated JSON in a frame of its own length is malformed, wherever it ends.
func TestDecodeTruncated(t *testing.T) {
	whole := helloFrame(t)[4:]
	for n := range len(whole) {
		if _, err := decode(whole[:n]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("after %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	hello := string(helloFrame(t)[4:])
	replace := func(old, with string) string {
		if !strings.Contains(hello, old) {
			t.Fatalf("%s does not contain %s", hello, old)
		}
		return strings.Replace(hello, old, with, 1)
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"version":          {replace(`"version":1`, `"version":2`), ErrVersion},
		"other shape":      {`{"magic":"braid-oob","version":2,"kind":{"new":true}}`, ErrVersion},
		"no version":       {replace(`"version":1,`, ``), ErrVersion},
		"magic":            {replace(`braid-oob`, `braid-foo`), ErrMalformed},
		"kind":             {replace(`"hello"`, `"hullo"`), ErrMalformed},
		"no parameters":    {`{"magic":"braid-oob","version":1,"kind":"hello"}`, ErrMalformed},
		"ready with them":  {replace(`"hello"`, `"ready"`), ErrMalformed},
		"data in bye":      {`{"magic":"braid-oob","version":1,"kind":"bye","data":"AA=="}`, ErrMalformed},
		"long reason":      {`{"magic":"braid-oob","version":1,"kind":"reject","reason":"` + strings.Repeat("r", 300) + `"}`, ErrMalformed},
		"much data":        {`{"magic":"braid-oob","version":1,"kind":"data","data":"` + strings.Repeat("AAAA", MaxData/3+1) + `"}`, ErrTooLarge},
		"trailing":         {hello + "{}", ErrMalformed},
		"list":             {"[]", ErrMalformed},
		"nothing":          {"", ErrMalformed},
		"type":             {replace(`"RC"`, `"XRC"`), ErrMalformed},
		"address":          {replace(`192.0.2.7`, `192.0.2.777`), ErrMalformed},
		"zone":             {replace(`192.0.2.7`, `fe80::1%eth0`), ErrMalformed},
		"no address":       {replace(`192.0.2.7`, `0.0.0.0`), ErrMalformed},
		"number":           {replace(`"qpn":11259375`, `"qpn":16777216`), ErrMalformed},
		"number text":      {replace(`"qpn":11259375`, `"qpn":"1"`), ErrMalformed},
		"number negative":  {replace(`"qpn":11259375`, `"qpn":-5`), ErrMalformed},
		"number fraction":  {replace(`"qpn":11259375`, `"qpn":5.5`), ErrMalformed},
		"packet":           {replace(`"psn":16777200`, `"psn":16777216`), ErrMalformed},
		"MTU":              {replace(`"mtu":4096`, `"mtu":1500`), ErrMalformed},
		"paths":            {replace(`"paths":4`, `"paths":257`), ErrMalformed},
		"no paths":         {replace(`"paths":4`, `"paths":0`), ErrMalformed},
		"window":           {replace(`"window":512`, `"window":-1`), ErrMalformed},
		"reads":            {replace(`"reads":16`, `"reads":17`), ErrMalformed},
		"private":          {replace(`"reads":16`, `"reads":16,"private":"`+strings.Repeat("AAAA", 1400)+`"`), ErrMalformed},
		"region overflow":  {replace(`"reads":16`, `"reads":16,"regions":[{"name":"r","addr":"18446744073709551615","rkey":1,"length":"2"}]`), ErrMalformed},
		"region name":      {replace(`"reads":16`, `"reads":16,"regions":[{"name":"\u001b[31m","addr":"1","rkey":1,"length":"2"}]`), ErrMalformed},
		"region no length": {replace(`"reads":16`, `"reads":16,"regions":[{"name":"r","addr":"1","rkey":1,"length":"0"}]`), ErrMalformed},
	} {
		m, err := decode([]byte(c.text))
		if err == nil && m.Params != nil {
			_, err = fromWire(m.Params)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := decode([]byte(replace(`"reads":16`, `"reads":16,"later":[1,2]`))); err != nil {
		t.Errorf("a field of a later release: %v", err)
	}
}

// Whatever is decoded and accepted survives the way back.
func FuzzDecode(f *testing.F) {
	f.Add(helloFrame(f)[4:])
	for _, k := range []kind{kindReady, kindReject, kindData, kindBye} {
		f.Add(frameOf(f, message{Kind: k})[4:])
	}
	f.Add([]byte(`{"magic":"braid-oob","version":1,"kind":"hello","params":{"type":"MP","addr":"::1","qpn":2,"mtu":256,"paths":1,"slots":2,"regions":[{"name":"","addr":"0","length":"1"}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err != nil {
			return
		}
		if m.Params == nil {
			return
		}
		p, err := fromWire(m.Params)
		if err != nil {
			return
		}
		if err := p.ConnParams.Check(); err != nil {
			t.Fatalf("accepted %+v: %v", p, err)
		}
		again, err := message{Kind: kindHello, Params: toWire(&p)}.encode()
		if err != nil {
			return // escapes may make it longer than it was
		}
		m2, err := decode(again)
		if err != nil {
			t.Fatalf("own message refused: %v", err)
		}
		p2, err := fromWire(m2.Params)
		if err != nil || p2.ConnParams != p.ConnParams || len(p2.Regions) != len(p.Regions) {
			t.Fatalf("%+v became %+v, %v", p, p2, err)
		}
	})
}

func TestDialSaysWhatToDo(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	if _, err := Listen(addr); !errors.Is(err, ErrListen) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("listening twice: %v", err)
	}
	if _, err := Listen("192.0.2.1:0"); !errors.Is(err, ErrListen) || !strings.Contains(err.Error(), "not one of this machine") {
		t.Errorf("listening elsewhere: %v", err)
	}
	must(t, l.Close())
	must(t, l.Close())
	if _, err := l.Accept(testContext(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("accept after close: %v", err)
	}
	if _, err := Dial(testContext(t), addr); !errors.Is(err, ErrRefused) {
		t.Errorf("dial to nobody: %v", err)
	}
	if _, err := Dial(testContext(t), "no port"); err == nil {
		t.Error("dial to nonsense")
	}
}
