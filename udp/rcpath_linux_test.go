package udp

import (
	"testing"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// TestRCPathIsChosen makes queue pairs that ask for a path each: the engine gives
// them that one, whatever their numbers are.
func TestRCPathIsChosen(t *testing.T) {
	dev, err := Open(Config{Loopback: true, Paths: 4, Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	pd, err := dev.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := dev.CreateCQ(64)
	if err != nil {
		t.Fatal(err)
	}
	e := dev.Engine().(*engine)
	for path := range 4 {
		q, err := pd.CreateQP(verbs.QPOptions{SendCQ: cq, RC: transport.RCOptions{Path: path + 1}})
		if err != nil {
			t.Fatal(err)
		}
		e.Lock()
		got := e.ports[q.Number()].path
		e.Unlock()
		if got != path {
			t.Errorf("queue pair %v has path %d, want %d", q.Number(), got, path)
		}
	}
}
