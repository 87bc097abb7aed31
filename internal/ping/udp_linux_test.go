package ping

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
)

// socketEnd is a device on real sockets, with its manager.
func socketEnd(t *testing.T) *cm.Manager {
	t.Helper()
	d, err := udp.Open(udp.Config{Loopback: true, Paths: testPaths})
	must(t, err)
	m, err := cm.New(d, cm.Config{})
	must(t, err)
	t.Cleanup(func() {
		m.Close()
		d.Close()
	})
	return m
}

// TestCutPathOverSockets: what takes the path that is cut is lost, the rest is not, and a connection over
// all paths loses nothing.
func TestCutPathOverSockets(t *testing.T) {
	serving, probing := socketEnd(t), socketEnd(t)
	port := func(m *cm.Manager) func(int) uint16 {
		return func(path int) uint16 { return udp.SourcePortOf(m.Device(), path) }
	}
	r, err := NewResponder(serving, ResponderOptions{SourcePort: port(serving)})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	defer func() {
		cancel()
		must(t, <-ended)
		r.Close()
	}()
	p, err := NewProber(probing, ProberOptions{SourcePort: port(probing)})
	must(t, err)
	defer p.Close()
	peer, err := p.Connect(t.Context(), r.Addr().Addr().String(), r.Addr().Port())
	must(t, err)

	udp.FaultsOf(probing.Device()).Cut(1)
	for path := range testPaths {
		for _, by := range Kinds {
			cut := path == 1 && by != MP
			within := time.Minute // a busy machine is not the network
			if cut {
				within = 50 * time.Millisecond
			}
			var r Result
			for range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				r = peer.Ping(ctx, Probe{by, path, 1000})
				cancel()
				if cut || by != RC || r.Err == nil {
					break // else the peer did not run for half a second, which ends a standard connection
				}
			}
			if cut != errors.Is(r.Err, ErrLost) || !cut && r.Err != nil {
				t.Errorf("%s on path %d: %v", by, path, r.Err)
			}
			if by == UD && r.Port != udp.SourcePortOf(probing.Device(), path) || r.Err == nil && by == UD && r.PeerPort != udp.SourcePortOf(serving.Device(), path) {
				t.Errorf("path %d by the ports %d and %d", path, r.Port, r.PeerPort)
			}
			if r.Err == nil && (r.Stamps.RTT() <= 0 || r.Stamps.Network()+r.Stamps.Prober()+r.Stamps.Responder() != r.Stamps.RTT()) {
				t.Errorf("%s: %v", by, r.Stamps)
			}
		}
	}
}
