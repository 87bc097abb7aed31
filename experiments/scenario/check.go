package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
)

// A checker looks for what no single field shows: impossible values, names that
// nothing has, and parts that do not fit each other.
type checker struct {
	*Scenario
	*decoder
}

func (c *checker) check() {
	c.checkRun()
	c.checkTransports()
	if !c.checkTopology() {
		return // the rest is about hosts and links
	}
	c.checkFabric()
	c.checkFaults()
	c.checkReceivers()
	c.checkQueues()
	if c.checkWorkload() {
		c.checkSamples()
	}
}

// wrong reports a field; one that was left out is reported where its parent is.
func (c *checker) wrong(field string, got any, want string) { c.wrongName(field, got, want, "") }

func (c *checker) wrongName(field string, got any, want, suggestion string) {
	e := Error{Field: field, Want: want, Suggestion: suggestion}
	if got != nil {
		e.Got = fmt.Sprint(got)
	}
	place := field
	for place != "" && c.decoder.places[place] == nil {
		place = place[:max(0, strings.LastIndexAny(place, ".["))]
	}
	c.fail(c.decoder.places[place], e)
}

// within demands a whole number in a range.
func (c *checker) within(field string, got, low, high int) {
	if got < low || got > high {
		c.wrong(field, got, fmt.Sprintf("%d to %d", low, high))
	}
}

// share demands a fraction. The condition is written so that NaN fails it.
func (c *checker) share(field string, got float64) {
	if !(got >= 0 && got <= 1) {
		c.wrong(field, got, "a number from 0 to 1")
	}
}

// named demands one of several names.
func (c *checker) named(field, got string, names []string) {
	if !slices.Contains(names, got) {
		c.wrongName(field, strconv.Quote(got), oneOf(names), similar(got, names))
	}
}

func (c *checker) checkRun() {
	if c.Duration <= 0 {
		c.wrong("duration", timeText(c.Duration), "a time above 0")
	}
	c.within("workers", c.Workers, 1, maxWorkers)
	if c.Topology.config == nil {
		c.wrong("topology", nil, "a network, such as topology: {kind: testbed}")
	}
	if len(c.Workload) == 0 {
		c.wrong("workload", nil, "at least one workload, such as - {kind: permutation, bytes: 2MB}")
	}
}

// checkTopology builds the graph.
func (c *checker) checkTopology() bool {
	if c.Topology.config == nil {
		return false
	}
	g, err := c.Topology.Builder().Build()
	if err == nil {
		c.graph = g
		return true
	}
	var config *topology.ConfigError
	var node *topology.NodeError
	var link *topology.LinkError
	isGraph := c.Topology.Kind == "graph"
	switch {
	case errors.As(err, &config):
		c.wrong("topology."+kebabField(config.Field), fmt.Sprintf("%v", config.Value), config.Want)
	case isGraph && errors.As(err, &node):
		c.wrong(fmt.Sprintf("topology.nodes[%d]", node.Node), strconv.Quote(node.Name), "a node that fits: it "+node.Err.Error())
	case isGraph && errors.As(err, &link):
		c.wrong(fmt.Sprintf("topology.links[%d]", link.Link), strconv.Quote(link.Name), "a link that fits: "+link.Err.Error())
	default:
		c.wrong("topology", nil, "a network that works: "+err.Error())
	}
	return false
}

// kebabField writes the Go name of a field, such as Pairs[2].Src, as a scenario
// has it.
func kebabField(field string) string {
	parts := strings.Split(field, ".")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(kebab(part), "-[", "[")
	}
	return strings.Join(parts, ".")
}

// checkWorkload draws all flows and reports whether that went well.
func (c *checker) checkWorkload() bool {
	before := len(c.errors)
	names := sortedKeys(c.Transports)
	for i, w := range c.Workload {
		field := fmt.Sprintf("workload[%d]", i)
		switch {
		case w.Transport != "":
			c.named(field+".transport", w.Transport, names)
		case len(names) == 1:
			w.Transport = names[0]
		default:
			c.wrong(field+".transport", "nothing", oneOf(names))
		}
		flows, err := c.drawFlows(i)
		if err != nil {
			c.wrongWorkload(field, err)
			continue
		}
		for _, f := range flows {
			c.flows = append(c.flows, plannedFlow{f, i})
		}
	}
	if len(c.flows) > workload.MaxFlows {
		c.wrong("workload", fmt.Sprint(len(c.flows), " flows"), fmt.Sprint("at most ", workload.MaxFlows))
	}
	if len(c.flows) == 0 && len(c.errors) == before {
		c.wrong("workload", "no flow at all", "at least one")
	}
	return len(c.errors) == before
}

// wrongWorkload finds the field that a generator refuses.
func (c *checker) wrongWorkload(field string, err error) {
	var config *workload.ConfigError
	var trace *workload.TraceError
	switch {
	case errors.As(err, &config) && config.Field == "hosts":
		c.wrong(field, config.Got+" hosts", config.Want)
	case errors.As(err, &config):
		c.wrong(field+"."+kebabField(config.Field), config.Got, config.Want)
	case errors.As(err, &trace):
		c.wrong(field+".file", trace.Got, fmt.Sprintf("%s, in line %d of the trace", trace.Want, trace.Line))
	default:
		c.wrong(field+".file", err, "a trace that can be read")
	}
}
