package mprdma01

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/outoforder"
)

// Without control the degree grows from normal through the wrong threshold to the
// slow link, each by a multiple; and what the wrong threshold costs is near the
// paper's number.
func TestFigureQuick(t *testing.T) {
	out, err := Figure().Run(t.Context(), figure.Options{Quick: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.Table.Text())
	normal, misconfigured, degraded := out.Data[0].Rows[0][2], out.Data[0].Rows[1][2], out.Data[0].Rows[2][2]
	if normal > 64 {
		t.Errorf("normal: degree %v, want what a bitmap of 64 slots holds", normal)
	}
	if misconfigured < 0.7*outoforder.PublishedMisconfigured || misconfigured > 1.4*outoforder.PublishedMisconfigured {
		t.Errorf("ECN mis-config: degree %v, want about %d", misconfigured, outoforder.PublishedMisconfigured)
	}
	if degraded < 2*misconfigured {
		t.Errorf("link degradation: degree %v, want well above the %v of ECN mis-config", degraded, misconfigured)
	}
	low, high := out.Data[1].Rows[0][1], out.Data[1].Rows[1][1]
	// The long queue is still filling when the quick run ends.
	if high < 3*low {
		t.Errorf("marking from 240 KB on gives %v, from 20 KB on %v: the threshold should decide", high, low)
	}
	for _, p := range out.Plots {
		if _, err := p.Chart.SVG(); err != nil {
			t.Errorf("plot %s: %v", p.Name, err)
		}
	}
}
