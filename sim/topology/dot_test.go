package topology_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

func TestDot(t *testing.T) {
	g := &topology.Graph{}
	host, leaf := g.AddHost("h0", 0), g.AddSwitch(`a "quoted" leaf`, 1)
	g.AddLink(topology.Link{A: host, B: leaf, Rate: 40 * topology.Gbps, Delay: 1500 * topology.Nanosecond, Name: "up"})
	var out strings.Builder
	if err := g.Dot(&out); err != nil {
		t.Fatal(err)
	}
	want := `graph topology {
  rankdir=BT; node [fontsize=10]; edge [fontsize=8];
  { rank=same;
    n0 [label="h0", shape=ellipse];
  }
  { rank=same;
    n1 [label="a \"quoted\" leaf", shape=box];
  }
  n0 -- n1 [label="up\n40 Gb/s, 1.5 µs"];
}
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestDotReportsAWriteError(t *testing.T) {
	full := errors.New("disk full")
	if err := pair().Dot(brokenWriter{full}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
