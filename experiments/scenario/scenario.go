package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/transport"
)

// A Scenario describes a simulation completely. Its fields are for reading; Set
// and Change change them, because a change has to pass the same checks as the file.
type Scenario struct {
	Name        string // in results
	Description string
	Seed        uint64 // of all that is random
	// Duration is when the run ends at the latest. It ends earlier when every flow
	// has ended.
	Duration   sim.Time
	Workers    int // threads; the result does not depend on them
	Topology   Topology
	Fabric     Fabric
	Transports map[string]*Transport
	Workload   []*Workload
	Faults     []*Fault
	Receivers  []*Receiver // that are slow
	Measure    Measure
	Verify     bool // carry real bytes and compare them at the end
	Wire       bool // also encode and parse every packet

	// Trace, if not nil, makes the tracer of a host's queue pairs by the host's
	// name. Set forgets it.
	Trace func(host string) transport.Tracer `yaml:"-"`

	file     string
	document *yaml.Node        // what was decoded, overrides included
	edits    []func(*Scenario) // see Change
	places   map[string]*yaml.Node
	graph    *topology.Graph
	flows    []plannedFlow
}

// A plannedFlow is a flow of the scenario before it has a network.
type plannedFlow struct {
	workload.Flow     // ID and After count within the workload
	entry         int // of the workload
}

const (
	// defaultDuration ends runs of flows that never end because all their paths
	// are cut; whoever means more says so.
	defaultDuration = 10 * sim.Second
	// maxWorkers is more than the cores of any machine that this runs on.
	maxWorkers = 256
	// maxFile bounds a scenario: a graph of thousands of links fits.
	maxFile = 16 << 20
)

// defaults is what holds where a scenario says nothing.
func defaults() *Scenario {
	return &Scenario{Seed: 1, Duration: defaultDuration, Workers: 1, Fabric: defaultFabric()}
}

// Load reads a scenario from a file.
func Load(path string) (*Scenario, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a scenario. file is its name in errors, and the files that it names
// are looked for beside it. What is wrong with the scenario is an Errors that
// holds everything found.
func Parse(file string, data []byte) (*Scenario, error) {
	if len(data) > maxFile {
		return nil, Errors{{File: file, Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("at most %d", maxFile)}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, syntaxError(file, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, Errors{{File: file, Got: "more after the first document", Want: "one scenario in a file"}}
	}
	return decode(file, &document)
}

// rootOf is the mapping that a document consists of.
func rootOf(document *yaml.Node) *yaml.Node {
	if document.Kind == yaml.DocumentNode {
		return document.Content[0]
	}
	return document
}

// nameTransport gives the transport that a scenario does not name its name:
// "transport: {...}" is short for a single one, and with none there is still one.
// Everything after it, overrides too, has to know only the long form.
func nameTransport(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		return
	}
	word := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	named := func(n *yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column, Content: []*yaml.Node{word(defaultName), n}}
	}
	if several, _ := entry(root, "transports"); several != nil {
		return // "transport" beside it is an unknown field
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "transport" {
			root.Content[i].Value = "transports"
			root.Content[i+1] = named(root.Content[i+1])
			return
		}
	}
	standard := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{word("kind"), word(kindMP)}}
	root.Content = append(root.Content, word("transports"), named(standard))
}

// lineOf finds the place in an error of the YAML parser, which has it in its text
// only.
var lineOf = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

func syntaxError(file string, err error) error {
	e := &Error{File: file, Got: "a file that is not YAML (" + err.Error() + ")", Want: "a scenario"}
	if errors.Is(err, io.EOF) {
		e.Got = "an empty file"
	}
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		if strings.HasPrefix(m[2], "did not find expected") {
			e.Line++ // these messages of the parser count lines from zero, others from one
		}
		e.Column, e.Got, e.Want = 1, m[2], "valid YAML"
	}
	return Errors{e}
}

// decode makes a scenario of a document and checks it.
func decode(file string, document *yaml.Node) (*Scenario, error) {
	s, d := decodeOnly(file, document)
	if len(d.errors) == 0 {
		c := &checker{Scenario: s, decoder: d}
		c.check()
	}
	if err := d.errors.orNil(); err != nil {
		return nil, err
	}
	return s, nil
}

// decodeOnly makes a scenario of a document; the decoder has what is wrong with its fields.
func decodeOnly(file string, document *yaml.Node) (*Scenario, *decoder) {
	s := defaults()
	s.file, s.document = file, document
	d := &decoder{file: file, places: map[string]*yaml.Node{}}
	s.places = d.places
	root := rootOf(document)
	nameTransport(root)
	d.value(root, "", reflect.ValueOf(s).Elem(), form{})
	return s, d
}

// beside is where a file stands that the scenario names.
func (s *Scenario) beside(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(s.file), name)
}

// Graph is the network of the scenario.
func (s *Scenario) Graph() *topology.Graph { return s.graph }

// File is the name under which the scenario was read.
func (s *Scenario) File() string { return s.file }
