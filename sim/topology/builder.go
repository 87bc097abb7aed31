package topology

import "strconv"

// A Builder is the configuration of a family of graphs. Build checks the fields,
// answering a ConfigError for the first that is out of range, and the graph it
// makes passes Check.
type Builder interface {
	Build() (*Graph, error)
}

// fields checks the fields of one builder, first fault first.
type fields struct {
	builder string
	err     error
}

func (f *fields) fail(field string, value any, want string) {
	if f.err == nil {
		f.err = &ConfigError{Builder: f.builder, Field: field, Value: value, Want: want}
	}
}

// count checks a number of things that the graph is made of.
func (f *fields) count(field string, value, most int) {
	if value < 1 || value > most {
		f.fail(field, value, "1 to "+strconv.Itoa(most))
	}
}

func (f *fields) rate(field string, value int64) {
	if value <= 0 {
		f.fail(field, value, "a positive rate in bits per second")
	}
}

func (f *fields) delay(field string, value int64) {
	if value < 0 {
		f.fail(field, value, "a delay in picoseconds, not negative")
	}
}

// total checks a number that follows from several fields, before memory is spent
// on the graph.
func (f *fields) total(what string, value, most int) {
	if value > most {
		f.fail(what, value, "at most "+strconv.Itoa(most)+" in all")
	}
}

// finish is the end of each Build. The fields have been checked one by one; what
// Check may still find is a fault that only the whole graph shows.
func finish(g *Graph) (*Graph, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	return g, nil
}

// or returns value, or the default where value was left at zero.
func or[T int | int64](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// numbered makes names such as "leaf7".
func numbered(prefix string, i int) string { return prefix + strconv.Itoa(i) }

// addHosts adds the hosts h0, h1, ... in groups of equal size. Builders call it
// first, so that host numbers are node numbers.
func addHosts(g *Graph, groups, perGroup int) {
	for host := range groups * perGroup {
		g.AddHost(numbered("h", host), host/perGroup)
	}
}

// addSwitches adds n switches of one tier and returns the node of the first.
func addSwitches(g *Graph, prefix string, n, tier int) int {
	first := len(g.Nodes)
	for i := range n {
		g.AddSwitch(numbered(prefix, i), tier)
	}
	return first
}

// addParallel joins two nodes by n equal links, which are called a-b or, where
// there are several, a-b.0, a-b.1 and so on.
func addParallel(g *Graph, n int, l Link) {
	name := g.Nodes[l.A].Name + "-" + g.Nodes[l.B].Name
	for i := range n {
		l.Name = name
		if n > 1 {
			l.Name = numbered(name+".", i)
		}
		g.AddLink(l)
	}
}
