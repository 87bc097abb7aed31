package rocelivelock

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
)

func TestDebug(t *testing.T) {
	o, err := Figure().Run(t.Context(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range o.Data {
		if d.Name == "runs" {
			for i := range d.Rows {
				t.Log(d.Labels[i], d.Rows[i])
			}
		}
	}
	t.Log("\n" + o.Table.Markdown())
}
