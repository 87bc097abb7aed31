package scenario

import (
	"math/rand/v2"
	"os"
	"reflect"

	"go.yaml.in/yaml/v3"

	"github.com/braid-rdma/braid/sim/workload"
)

// Workload is one generator of flows. The generator's own fields follow in
// kebab-case.
type Workload struct {
	Kind      string `oneof:"workload"`
	Transport string // by name; may be left out where there is only one
	Hosts     []int  // the hosts among which there is traffic; none: all
	chosen
}

// traceConfig is a workload from a file.
type traceConfig struct {
	workload.Profile
	File string // CSV, beside the scenario
}

// generators are the kinds of workload.
var generators = kinds{
	{"permutation", workload.Permutation{}},
	{"incast", workload.Incast{}},
	{"all-to-all", workload.AllToAll{}},
	{"ring-all-reduce", workload.RingAllReduce{}},
	{"tree-all-reduce", workload.TreeAllReduce{}},
	{"poisson", workload.Poisson{}},
	{"background", workload.Background{}},
	{"mice-elephants", workload.MiceElephants{}},
	{"pairs", workload.Pairs{}},
	{"trace", traceConfig{}},
}

// WorkloadKinds lists the kinds of workload.
func WorkloadKinds() []string { return generators.names() }

func (w *Workload) choose(d *decoder, mapping *yaml.Node, field string) bool {
	return w.chooseFrom(generators, d, mapping, field)
}

// streamMessage is the message size of an endless flow that names none. The
// longest possible message would never complete within a simulation, and its
// progress would not be seen.
const streamMessage = workload.PacedMessage

// flows draws the flows of entry i of the workload. They depend on the seed and
// on i alone, so that a change to one entry leaves the flows of the others as
// they are.
func (s *Scenario) drawFlows(i int) ([]workload.Flow, error) {
	w := s.Workload[i]
	generator, err := s.generatorOf(w)
	if err != nil {
		return nil, err
	}
	if len(w.Hosts) > 0 {
		generator = workload.Among{Hosts: w.Hosts, Generator: generator}
	}
	flows, err := generator.Flows(len(s.graph.Hosts), rand.New(rand.NewPCG(s.Seed, uint64(i)+1)))
	if err != nil {
		return nil, err
	}
	for f := range flows {
		if flows[f].Bytes == 0 && flows[f].Message == 0 {
			flows[f].Message = streamMessage
		}
	}
	return flows, nil
}

// generatorOf fills in what the rest of the scenario already says.
func (s *Scenario) generatorOf(w *Workload) (workload.Generator, error) {
	switch g := w.config.(type) {
	case *traceConfig:
		f, err := os.Open(s.beside(g.File))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		trace, err := workload.ParseTrace(f)
		if err != nil {
			return nil, err
		}
		trace.Profile = g.Profile
		return trace, nil
	case *workload.Poisson:
		p := *g
		if p.LinkRate == 0 {
			p.LinkRate = s.hostRate()
		}
		if p.Duration == 0 && p.Count == 0 {
			p.Duration = max(0, int64(s.Duration)-p.Start)
		}
		return p, nil
	}
	return reflect.ValueOf(w.config).Elem().Interface().(workload.Generator), nil
}

// hostRate is the rate of the slowest host's link.
func (s *Scenario) hostRate() int64 {
	slowest := int64(0)
	ports := s.graph.Ports()
	for _, node := range s.graph.Hosts {
		for _, port := range ports[node] {
			if r := s.graph.Links[port.Link].Rate; slowest == 0 || r < slowest {
				slowest = r
			}
		}
	}
	return slowest
}
