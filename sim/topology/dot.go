package topology

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Dot writes the graph in the language of Graphviz, one rank per tier, hosts at
// the bottom:
//
//	dot -Tsvg network.dot > network.svg
//
// The order of the output is that of nodes and links, so equal graphs give equal
// bytes.
func (g *Graph) Dot(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "graph topology {")
	fmt.Fprintln(out, "  rankdir=BT; node [fontsize=10]; edge [fontsize=8];")
	for _, tier := range g.tiers() {
		fmt.Fprintln(out, "  { rank=same;")
		for i, n := range g.Nodes {
			if n.Tier == tier {
				fmt.Fprintf(out, "    n%d [label=%s, shape=%s];\n", i, strconv.Quote(n.Name), dotShape(n.Kind))
			}
		}
		fmt.Fprintln(out, "  }")
	}
	for _, l := range g.Links {
		label := fmt.Sprintf("%s\n%s, %s", l.Name, dotRate(l.Rate), dotDelay(l.Delay))
		fmt.Fprintf(out, "  n%d -- n%d [label=%s];\n", l.A, l.B, strconv.Quote(label))
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

func (g *Graph) tiers() []int {
	var tiers []int
	for _, n := range g.Nodes {
		tiers = append(tiers, n.Tier)
	}
	slices.Sort(tiers)
	return slices.Compact(tiers)
}

func dotShape(k Kind) string {
	if k == Host {
		return "ellipse"
	}
	return "box"
}

func dotRate(rate int64) string { return fmt.Sprintf("%g Gb/s", float64(rate)/Gbps) }

func dotDelay(delay int64) string { return fmt.Sprintf("%g µs", float64(delay)/Microsecond) }
