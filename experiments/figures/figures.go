// Package figures is the list of all reproductions of the papers' figures, and
// the report that is made of them.
package figures

import (
	"github.com/braid-rdma/braid/experiments/figure"
	"github.com/braid-rdma/braid/experiments/figures/datapartition0710"
	"github.com/braid-rdma/braid/experiments/figures/datapartition0811"
	"github.com/braid-rdma/braid/experiments/figures/datapartition0912"
	"github.com/braid-rdma/braid/experiments/figures/mprdma01"
	"github.com/braid-rdma/braid/experiments/figures/mprdma02"
	"github.com/braid-rdma/braid/experiments/figures/mprdma04"
	"github.com/braid-rdma/braid/experiments/figures/mprdma05"
	"github.com/braid-rdma/braid/experiments/figures/mprdma11a"
	"github.com/braid-rdma/braid/experiments/figures/mprdma11b"
	"github.com/braid-rdma/braid/experiments/figures/mprdma12a"
	"github.com/braid-rdma/braid/experiments/figures/mprdma12b"
	"github.com/braid-rdma/braid/experiments/figures/mprdma13"
	"github.com/braid-rdma/braid/experiments/figures/mprdma14a"
	"github.com/braid-rdma/braid/experiments/figures/mprdma14b"
	"github.com/braid-rdma/braid/experiments/figures/mprdma15"
	"github.com/braid-rdma/braid/experiments/figures/mprdma16"
	"github.com/braid-rdma/braid/experiments/figures/mprdma17"
	"github.com/braid-rdma/braid/experiments/figures/mprdma18"
	"github.com/braid-rdma/braid/experiments/figures/mprdma19"
	"github.com/braid-rdma/braid/experiments/figures/mprdma20"
	"github.com/braid-rdma/braid/experiments/figures/mprdmaloss"
	"github.com/braid-rdma/braid/experiments/figures/mprdmapaths"
	"github.com/braid-rdma/braid/experiments/figures/rocebuffers"
	"github.com/braid-rdma/braid/experiments/figures/rocedeadlock"
	"github.com/braid-rdma/braid/experiments/figures/rocedscp"
	"github.com/braid-rdma/braid/experiments/figures/roceheadroom"
	"github.com/braid-rdma/braid/experiments/figures/rocelatency"
	"github.com/braid-rdma/braid/experiments/figures/rocelivelock"
	"github.com/braid-rdma/braid/experiments/figures/rocepodset"
	"github.com/braid-rdma/braid/experiments/figures/roceslowreceiver"
	"github.com/braid-rdma/braid/experiments/figures/rocestorm"
	"github.com/braid-rdma/braid/experiments/figures/virtuoso"
	"github.com/braid-rdma/braid/experiments/figures/xrdma10"
)

// published lists the figures in the order of their papers.
func published() []*figure.Figure {
	return []*figure.Figure{
		mprdma01.Figure(),
		mprdmaloss.Figure(),
		mprdma02.Figure(),
		mprdma04.Figure(),
		mprdma05.Figure(),
		mprdma11a.Figure(),
		mprdma11b.Figure(),
		mprdma12a.Figure(),
		mprdma12b.Figure(),
		mprdma13.Figure(),
		mprdmapaths.Figure(),
		mprdma14a.Figure(),
		mprdma14b.Figure(),
		mprdma15.Figure(),
		mprdma16.Figure(),
		mprdma17.Figure(),
		mprdma18.Figure(),
		mprdma19.Figure(),
		mprdma20.Figure(),
		datapartition0710.Figure(),
		datapartition0811.Figure(),
		datapartition0912.Figure(),
		roceheadroom.Figure(),
		rocedscp.Figure(),
		rocelivelock.Figure(),
		rocedeadlock.Figure(),
		rocestorm.Figure(),
		roceslowreceiver.Figure(),
		rocebuffers.Figure(),
		rocelatency.Figure(),
		rocepodset.Figure(),
		xrdma10.Figure(),
		virtuoso.Figure(),
	}
}
