package figures

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
)

func TestRegister(t *testing.T) {
	own := &figure.Figure{Name: "own", Title: "Of the test"}
	Register(own)
	defer func() { registered = nil }()
	if found, ok := Named("own"); !ok || found != own {
		t.Errorf("got %+v", found)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name that is taken was accepted")
		}
	}()
	Register(&figure.Figure{Name: All()[0].Name})
}
