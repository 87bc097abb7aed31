package scenario

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// compare checks a text against a golden file.
func compare(t *testing.T, name, got string) {
	t.Helper()
	compareFile(t, filepath.Join("testdata", name), got)
}

func compareFile(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-rewrite writes it anew):\n%s", file, got)
	}
}

// topologies has a scenario's topology for every kind that is no preset.
var topologies = map[string]string{
	"leaf-spine":     "{kind: leaf-spine, leaves: 2, hosts-per-leaf: 2, spines: 2, host-rate: 10Gbps, fabric-rate: 40Gbps, host-delay: 1us, fabric-delay: 500ns, links-per-spine: 2}",
	"fat-tree":       "{kind: fat-tree, k: 2, rate: 100Gbps, delay: 1us, hosts-per-edge: 2, core-uplinks: 1, host-rate: 25Gbps, pods: 3, edges-per-pod: 2, host-delay: 500ns, core-delay: 2us}",
	"parallel-paths": "{kind: parallel-paths, senders: 1, receivers: 2, host-rate: 40Gbps, rates: [10Gbps, 20Gbps], delays: [1us, 2us], middle-switches: false}",
	"mesh":           "{kind: mesh, switches: 3, hosts-per-switch: 1, host-rate: 40Gbps, host-delay: 1us, fabric-delay: 1us, without: [[0, 2]]}",
	"graph":          "{kind: graph, nodes: [{name: a, kind: host}, {name: b, kind: host, group: 1}, {name: s, kind: switch, tier: 2}], links: [{from: a, to: s, rate: 1Gbps, delay: 1us}, {from: s, to: b, rate: 2Gbps, delay: 0, name: last}]}",
}

// TestTopologyKinds shows the network of each kind, and that it carries a flow.
func TestTopologyKinds(t *testing.T) {
	var b strings.Builder
	for _, kind := range TopologyKinds() {
		text, ok := topologies[kind]
		if !ok {
			text = "{kind: " + kind + "}"
		}
		s := mustParse(t, "topology: "+text+"\nworkload: [{kind: pairs, pairs: [[0, 1]], bytes: 20KB}]\nduration: 1ms")
		if result := mustRun(t, s).Flows[0].Result(); !result.Done() {
			t.Errorf("%s carries nothing", kind)
		}
		g := s.Graph()
		fmt.Fprintf(&b, "%s: %d hosts, %d switches, %d links\n", kind, len(g.Hosts), len(g.Nodes)-len(g.Hosts), len(g.Links))
		if !ok {
			fmt.Fprintf(&b, "  first %s, last %s\n", linkText(&g.Links[0]), linkText(&g.Links[len(g.Links)-1]))
			continue
		}
		for i := range g.Links {
			fmt.Fprintf(&b, "  %s\n", linkText(&g.Links[i]))
		}
	}
	compare(t, "topologies.golden", b.String())
}

func linkText(l *topology.Link) string {
	return fmt.Sprintf("%s %v %s", l.Name, Rate(l.Rate), timeText(sim.Time(l.Delay)))
}

// workloads has an entry for every kind.
var workloads = map[string]string{
	"permutation":     "{kind: permutation, bytes: 20KB, senders: random-half, hosts-per-group: 2, jitter: 2us}",
	"incast":          "{kind: incast, receiver: any, degree: 3, bytes: 10KB, class: burst}",
	"all-to-all":      "{kind: all-to-all, bytes: 5KB, concurrency: 1, hosts: [1, 3, 5], shuffle: true}",
	"ring-all-reduce": "{kind: ring-all-reduce, bytes: 30KB, hosts: [0, 2, 4], rounds: 2, compute: 1us, reduce: 100ns}",
	"tree-all-reduce": "{kind: tree-all-reduce, bytes: 30KB, hosts: [0, 1, 2, 3], fanout: 3, segments: 2}",
	"poisson":         "{kind: poisson, sizes: storage, load: 0.3, count: 6, hosts-per-group: 2, message: 4KB}",
	"background":      "{kind: background, count: 2, rate: 1Gbps, start: 3us, priority: 2}",
	"mice-elephants":  "{kind: mice-elephants, count: 4, mice-share: 0.5, mouse-bytes: 1KB, elephant-bytes: 40KB, duration: 10us}",
	"pairs":           "{kind: pairs, pairs: [[0, 1], {src: 2, dst: 3}], bytes: 20KB, message: 1KB, sync: 0.5}",
	"trace":           "{kind: trace, file: testdata/trace.csv, start: 1us}",
}

const plannedOn = `duration: 3ms
topology: {kind: leaf-spine, leaves: 3, hosts-per-leaf: 2, spines: 2, host-rate: 10Gbps, host-delay: 1us, fabric-delay: 1us}
fabric: {mtu: 1024, ecn: {kmin: 20KB, kmax: 20KB}, pfc: true}
workload:
  - {kind: pairs, pairs: [[5, 0]], bytes: 1KB}
  - `

// TestWorkloadKinds shows the flows of each kind, and runs them to their end.
func TestWorkloadKinds(t *testing.T) {
	var b strings.Builder
	for _, kind := range WorkloadKinds() {
		s := mustParse(t, plannedOn+workloads[kind])
		fmt.Fprintf(&b, "%s\n", kind)
		r, err := s.Start()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Flows[1:] { // the first one shows that After is counted right behind others
			p := f.Result()
			fmt.Fprintf(&b, "  %d: %d to %d, %v in %v at %s, class %s, rate %v, priority %d, sync %g, after %v\n", f.Number,
				p.Src, p.Dst, Bytes(p.Bytes), Bytes(p.MessageSize()), timeText(sim.Time(p.Start)), p.Class, Rate(p.Rate), p.Priority, p.Sync, p.After)
		}
		if err := r.Go(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Flows {
			if result := f.Result(); result.Err != nil || result.Bytes > 0 && !result.Done() || result.Acked == 0 {
				t.Errorf("%s: flow %d came to %+v", kind, f.Number, result)
			}
		}
	}
	compare(t, "workloads.golden", b.String())
}

// TestFieldsGolden is the reference of all fields of a scenario.
func TestFieldsGolden(t *testing.T) {
	var b strings.Builder
	for _, f := range mustParse(t, small).Fields() {
		fmt.Fprintf(&b, "%s = %s    # %s\n", f.Name, f.Value, f.Want)
	}
	compare(t, "fields.golden", b.String())
}
