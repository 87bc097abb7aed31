package udp

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/verbs"
)

// BenchmarkPingAfterIdleness: a round trip of 64 B after 200 µs in which nothing came, when all threads
// sleep, beside blocking calls on plain sockets.
func BenchmarkPingAfterIdleness(b *testing.B) {
	b.Run("UDP", func(b *testing.B) {
		client, server := plainSocket(b), plainSocket(b)
		noError(b, unix.Connect(client, boundTo(b, server)))
		noError(b, unix.Connect(server, boundTo(b, client)))
		var all sync.WaitGroup
		all.Go(func() {
			runtime.LockOSThread()
			buf := make([]byte, 64)
			for range b.N {
				_, _ = unix.Read(server, buf)
				_, _ = unix.Write(server, buf)
			}
		})
		buf := make([]byte, 64)
		afterIdleness(b, func() {
			_, _ = unix.Write(client, buf)
			_, _ = unix.Read(client, buf)
		})
		all.Wait()
	})
	for _, kind := range []verbs.QPType{verbs.MP, verbs.RC} {
		b.Run(kind.String(), func(b *testing.B) {
			client, server := connect(b, Config{Loopback: true}, verbs.QPOptions{Type: kind, SendDepth: 8, RecvDepth: 8}, 4096)
			var all sync.WaitGroup
			server.receive()
			client.receive()
			all.Go(func() {
				for range b.N {
					server.awaitReceive()
					server.receive()
					server.send()
				}
				server.awaitReceive() // of nobody: until the device closes
			})
			afterIdleness(b, func() {
				client.send()
				client.awaitReceive()
				client.receive()
			})
			server.cq.Close()
			all.Wait()
		})
	}
}

// afterIdleness reports the median of what an operation takes.
func afterIdleness(b *testing.B, operation func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pause := unix.NsecToTimespec(150_000) // and some 50 µs that the kernel adds; time.Sleep takes a millisecond
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		_ = unix.Nanosleep(&pause, nil)
		begin := time.Now()
		operation()
		took = append(took, time.Since(begin))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-µs")
}

func plainSocket(b *testing.B) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	noError(b, err)
	b.Cleanup(func() { _ = unix.Close(fd) })
	noError(b, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(net.IPv4(127, 0, 0, 1).To4())}))
	return fd
}

func boundTo(b *testing.B, fd int) unix.Sockaddr {
	addr, err := unix.Getsockname(fd)
	noError(b, err)
	return addr
}

func (s *end) receive() {
	noError(s.t, s.qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{s.mr.SGE(0, 64)}}))
}

func (s *end) send() {
	noError(s.t, s.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{s.mr.SGE(64, 64)}}))
}

// awaitReceive waits for a message, or the end of the queue.
func (s *end) awaitReceive() {
	var done [1]verbs.Completion
	for {
		if _, err := s.cq.Wait(s.t.Context(), done[:]); err != nil || done[0].Op == verbs.OpRecv {
			return
		}
	}
}
