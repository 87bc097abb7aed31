package testbed

import (
	"sync"
	"time"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/sim"
)

// Account adds up what the simulations of a figure cost. Several goroutines may
// book; sums do not depend on their order.
type Account struct {
	began        time.Time
	mutex        sync.Mutex
	hops, events uint64
	simulated    sim.Time
}

// Open begins an account.
func Open() *Account { return &Account{began: time.Now()} }

// Book adds a simulation that is done.
func (a *Account) Book(r *Rig) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.hops += r.Net.Hops()
	a.events += r.Net.Events()
	a.simulated += r.at
}

// Enter writes the sums into an outcome.
func (a *Account) Enter(o *figure.Outcome) {
	o.Hops, o.Events = a.hops, a.events
	o.Simulated = time.Duration(a.simulated / sim.Nanosecond)
	o.Wall = time.Since(a.began)
}
