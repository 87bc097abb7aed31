package netconn

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid"
)

// serveHTTP serves bodies of as many bytes as the path says.
func serveHTTP(t testing.TB, l net.Listener, body []byte) {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, body[:len(got)]) {
			http.Error(w, "another body", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Length", r.URL.Path[1:])
		w.Write(body[:n])
	})}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) })
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
}

// client returns a client of a server on braid.
func client(t testing.TB, body []byte) (*http.Client, string) {
	l := listen(t, open(t, braid.Config{}))
	serveHTTP(t, l, body)
	transport := &http.Transport{DialContext: Dialer{open(t, braid.Config{})}.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, "http://" + l.Addr().String()
}

// loopback returns a client of a server on TCP.
func loopback(t testing.TB, body []byte) (*http.Client, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveHTTP(t, l, body)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, "http://" + l.Addr().String()
}

func TestHTTP(t *testing.T) {
	body := text(1 << 20)
	c, url := client(t, body)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, n := range []int{0, 1, 4095, 4097, 100_000, len(body)} {
				r, err := c.Post(fmt.Sprint(url, "/", n), "", bytes.NewReader(body[:len(body)-n]))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(r.Body)
				if r.Body.Close(); err != nil || r.StatusCode != 200 || !bytes.Equal(got, body[:n]) {
					t.Errorf("%d bytes: %v, %d others, %v", n, r.Status, len(got), err)
				}
			}
		})
	}
	all.Wait()
}

const benchBody = 1 << 20

// get reads a body into a buffer.
func get(t testing.TB, c *http.Client, url string, into []byte) {
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r.Body, into); err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
}

// BenchmarkHTTP gets bodies of 1 MiB over braid and over TCP in turns, and prints the ratio of
// their median times: above 1, braid is faster.
func BenchmarkHTTP(b *testing.B) {
	body, into := text(benchBody), make([]byte, benchBody)
	overBraid, braidURL := client(b, body)
	overTCP, tcpURL := loopback(b, body)
	path := fmt.Sprint("/", benchBody)
	var braids, tcps []time.Duration
	timed := func(all *[]time.Duration, c *http.Client, url string) {
		start := time.Now()
		get(b, c, url+path, into)
		*all = append(*all, time.Since(start))
	}
	for b.Loop() {
		timed(&braids, overBraid, braidURL)
		timed(&tcps, overTCP, tcpURL)
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return all[len(all)/2].Seconds()
	}
	b.ReportMetric(median(braids)*1e6, "braid-µs")
	b.ReportMetric(median(tcps)*1e6, "tcp-µs")
	b.ReportMetric(median(tcps)/median(braids), "tcp/braid")
}

// BenchmarkHTTPBraid is the half of it that is worth a profile.
func BenchmarkHTTPBraid(b *testing.B) {
	body, into := text(benchBody), make([]byte, benchBody)
	c, url := client(b, body)
	b.SetBytes(benchBody)
	for b.Loop() {
		get(b, c, fmt.Sprint(url, "/", benchBody), into)
	}
}
