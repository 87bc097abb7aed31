package monitor

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/braid-rdma/braid/internal/ping"
)

// maxTimes is of how many replies of a flow the times are kept in one window.
const maxTimes = 1000

// seen gathers what becomes of probes. Its zero value is empty.
type seen struct {
	mu    sync.Mutex
	flows map[flowKey]*flowTimes
}

type flowKey struct {
	to   string
	path int
}

type flowTimes struct {
	sent, lost                 int
	network, responder, prober []time.Duration
}

func (s *seen) flow(to string, path int) *flowTimes {
	if s.flows == nil {
		s.flows = map[flowKey]*flowTimes{}
	}
	f := s.flows[flowKey{to, path}]
	if f == nil {
		f = &flowTimes{}
		s.flows[flowKey{to, path}] = f
	}
	return f
}

// lost notes a probe that could not even be sent.
func (s *seen) lost(to string, path int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flow(to, path)
	f.sent++
	f.lost++
}

// add notes what became of a probe. One that was not sent, since too many were under way at this end, tells nothing.
func (s *seen) add(to string, r *ping.Result) {
	if errors.Is(r.Err, ping.ErrBusy) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flow(to, r.Path)
	f.sent++
	if r.Err != nil {
		f.lost++
		return
	}
	if len(f.network) < maxTimes {
		f.network = append(f.network, r.Stamps.Network())
		f.responder = append(f.responder, r.Stamps.Responder())
		f.prober = append(f.prober, r.Stamps.Prober())
	}
}

// take returns what was gathered, and begins anew.
func (s *seen) take() []Pair {
	s.mu.Lock()
	flows := s.flows
	s.flows = nil
	s.mu.Unlock()
	pairs := make([]Pair, 0, len(flows))
	for key, f := range flows {
		pairs = append(pairs, Pair{
			To: key.to, Path: key.path, Sent: f.sent, Lost: f.lost, Network: slowest(f.network), Responder: slowest(f.responder), Prober: slowest(f.prober),
		})
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.To, b.To), a.Path-b.Path) })
	return pairs[:min(len(pairs), maxPairs)]
}

// slowest is the 99th percentile.
func slowest(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[(len(times)-1)*99/100]
}
