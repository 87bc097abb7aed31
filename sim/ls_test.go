package sim

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

func runLS(t testing.TB, b topology.Builder, workers int, opts verbs.QPOptions) {
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Seed: 1, Workers: workers}
	cfg.Switch.Marking = Marking{Kmin: 100 << 10, Kmax: 400 << 10, Pmax: 0.2}
	cfg.Switch.PFC.On = true
	n, err := New(g, cfg)
	if err != nil {
		t.Fatal(err)
	}
	flows, err := workload.Permutation{Bytes: 2_000_000}.Flows(n.Hosts(), rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	traffic, err := n.Carry(flows, Carrier{QP: opts})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	left := n.Run(100 * Millisecond)
	took := time.Since(start)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	least, most, count := never, Time(0), 0
	var slow float64
	for i := range traffic.Flows() {
		r := traffic.Result(i)
		if r.Done() {
			least, most, count, slow = min(least, r.Duration()), max(most, r.Duration()), count+1, max(slow, r.Slowdown())
		}
	}
	var pauses, marks, drops uint64
	for _, l := range n.lanes {
		pauses += l.pauses
		marks += l.marked
		drops += l.dropped
	}
	t.Logf("left %v; %d flows done, %v to %v, slowdown to %.2f; %d events, %d hops in %v: %.2f M hops/s; pauses %d marks %d drops %d; heap %d MB", left, count, least, most, slow, n.Events(), n.Hops(), took, float64(n.Hops())/took.Seconds()/1e6, pauses, marks, drops, mem.HeapSys>>20)
}

var paper = verbs.QPOptions{Type: verbs.MP, MP: verbs.PaperOptions()}

func TestLS128(t *testing.T) {
	runLS(t, topology.LS128(), 1, paper)
	runLS(t, topology.LS128(), 2, paper)
}

func TestLSX(t *testing.T) { runLS(t, topology.LS1024(), 1, paper) }
func TestLS1024(t *testing.T) {
	runLS(t, topology.LS1024(), 1, paper)
	runLS(t, topology.LS1024(), 2, paper)
}
