package perftest

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
)

// pair is a client and a server that have opened their conversation.
func pair(t *testing.T, clientMTU, serverMTU int) (client, server *Conn) {
	t.Helper()
	a, b := net.Pipe()
	opened := make(chan error, 1)
	go func() {
		var err error
		client, err = Open(a, true, clientMTU)
		opened <- err
	}()
	server, err := Open(b, false, serverMTU)
	if err := errors.Join(err, <-opened); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

var sampleKeys = Keys{
	Reads: 16, QPN: 0xabc, PSN: 0xfffffe, RKey: 0xdeadbeef, Addr: 0x7f0011223344,
	GID: netip.MustParseAddr("10.1.2.3"),
}

func TestKeys(t *testing.T) {
	message := sampleKeys.append(nil)
	want := "0000:0010:000abc:fffffe:deadbeef:00007f0011223344:" +
		"00:00:00:00:00:00:00:00:00:00:ff:ff:0a:01:02:03:00000000:"
	if len(message) != keysLen || string(message[:len(want)]) != want || message[len(want)] != 0 {
		t.Errorf("%q", message)
	}
	if got, err := parseKeys(message); err != nil || got != sampleKeys {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheSmallerMTUWins(t *testing.T) {
	for _, test := range []struct{ client, server, want int }{
		{4096, 1024, 1024}, {256, 4096, 256}, {2048, 2048, 2048}, {4000, 4096, 2048},
	} {
		client, server := pair(t, test.client, test.server)
		if client.MTU() != test.want || server.MTU() != test.want {
			t.Errorf("%+v: %d and %d", test, client.MTU(), server.MTU())
		}
	}
}

// A server that only replies follows a client through a whole test.
func TestReplies(t *testing.T) {
	client, server := pair(t, 1024, 1024)
	theirs := Keys{QPN: 7, GID: sampleKeys.GID}
	ours := Report{Size: 65536, Iterations: 5000, Peak: 12.5, Average: 11.25, Rate: 0.5}
	ended := make(chan error, 1)
	go func() {
		ended <- func() error {
			for range 3 {
				if got, err := client.SwapKeys(sampleKeys); err != nil || got != theirs {
					return errors.Join(err, errors.New("other keys"))
				}
			}
			if _, err := client.SwapReport(ours); err != nil {
				return err
			}
			return client.Farewell(sampleKeys)
		}()
	}()
	var kinds []RequestKind
	for {
		r, err := server.NextRequest()
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, r.Kind)
		switch r.Kind {
		case KeysRequest:
			if r.Keys != sampleKeys {
				t.Errorf("keys %+v", r.Keys)
			}
			err = server.ReplyKeys(theirs)
		case ReportRequest:
			var got Report
			if got, err = server.ReplyReport(Report{}); got != ours {
				t.Errorf("report %+v", got)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == EndRequest {
			break
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(kinds) != 6 || kinds[3] != ReportRequest {
		t.Errorf("requests %v", kinds)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	for _, opening := range []string{"GET / HTTP/1.1\r\n\r\n", "5.10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "6.06"} {
		a, b := net.Pipe()
		go func() {
			_, _ = a.Write([]byte(opening)[:min(len(opening), versionLen)])
			_, _ = io.CopyN(io.Discard, a, versionLen)
			a.Close()
		}()
		if len(opening) < versionLen {
			a.Close()
		}
		if _, err := Open(b, false, 1024); err == nil {
			t.Errorf("%q was taken for perftest", opening)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add(sampleKeys.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := parseKeys(b)
		if err != nil {
			return
		}
		if again, err := parseKeys(k.append(nil)); err != nil || again != k {
			t.Errorf("%q: %+v, then %+v, %v", b, k, again, err)
		}
	})
}
