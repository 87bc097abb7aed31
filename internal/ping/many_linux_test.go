package ping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
)

// manyVariable says what TestManyPeers is to do: kinds, peers, paths, time between probes to a peer, and how long.
const manyVariable = "BRAID_PING_MANY"

// many is that.
type many struct {
	kinds           string
	peers, paths    int
	every, duration time.Duration
}

func parseMany(text string) (m many, err error) {
	var every, duration string
	if _, err = fmt.Sscan(text, &m.kinds, &m.peers, &m.paths, &every, &duration); err != nil {
		return m, err
	}
	if m.every, err = time.ParseDuration(every); err == nil {
		m.duration, err = time.ParseDuration(duration)
	}
	return m, err
}

// schedule is that of one of the peers: they are not probed all at once.
func (m *many) schedule(peer int) *Schedule {
	s := &Schedule{
		Sizes: []int{64, 1024, 4096}, Delay: m.every * time.Duration(peer) / time.Duration(m.peers), Interval: m.every, Timeout: time.Second,
	}
	for by := range strings.SplitSeq(m.kinds, ",") {
		s.By = append(s.By, By(by))
	}
	for path := range m.paths {
		s.Paths = append(s.Paths, path)
	}
	return s
}

// open is a device as that of `braid ping`, with its manager.
func (m *many) open(t *testing.T) *cm.Manager {
	t.Helper()
	d, err := udp.Open(udp.Config{Loopback: true, Paths: m.paths, Spin: -1})
	must(t, err)
	manager, err := cm.New(d, cm.Config{})
	must(t, err)
	t.Cleanup(func() {
		manager.Close()
		d.Close()
	})
	return manager
}

// serve starts responders, which end with the test.
func (m *many) serve(t *testing.T) (all []*Responder) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	for range m.peers {
		r, err := NewResponder(m.open(t), ResponderOptions{})
		must(t, err)
		all = append(all, r)
		serving.Go(func() { _ = r.Serve(ctx) }) // the probes tell what is wrong
	}
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		for _, r := range all {
			r.Close()
		}
	})
	return all
}

// processorTime is what the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestManyPeers pings many responders, on addresses of this machine, and tells what was lost, what was not sent, and what it took.
func TestManyPeers(t *testing.T) {
	m, err := parseMany(os.Getenv(manyVariable))
	if err != nil {
		t.Skipf("SKIPPED: %s: set %s='rc,mp 100 128 100ms 20s' (kinds, peers, paths, time between probes to a peer, how long)", t.Name(), manyVariable)
	}
	responders := m.serve(t)
	p, err := NewProber(m.open(t), ProberOptions{})
	must(t, err)
	t.Cleanup(p.Close)
	var peers []*Peer
	for _, r := range responders {
		peer, err := p.Connect(t.Context(), r.Addr().Addr().String(), r.Addr().Port())
		must(t, err)
		peers = append(peers, peer)
	}
	ctx, cancel := context.WithTimeout(t.Context(), m.duration)
	defer cancel()
	var mu sync.Mutex
	sent, lost, skipped := 0, 0, 0
	reasons := map[string]int{}
	began, before := time.Now(), processorTime(t)
	var running sync.WaitGroup
	for i, peer := range peers {
		running.Go(func() {
			peer.Run(ctx, m.schedule(i), func(r Result) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(r.Err, ErrBusy):
					skipped++
				case r.Err != nil:
					lost++
					sent++
				default:
					sent++
				}
				if r.Err != nil {
					reasons[r.Err.Error()]++
				}
			})
		})
	}
	running.Wait()
	share := float64(processorTime(t)-before) / float64(time.Since(began))
	t.Logf("%d probes sent, %d lost, %d due and not sent, %.0f %% of a core for both ends; %v", sent, lost, skipped, 100*share, reasons)
	if sent == 0 || lost+skipped > (sent+skipped)/50 {
		t.Error("more than 2 % had no reply")
	}
}
