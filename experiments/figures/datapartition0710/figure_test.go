package datapartition0710

import (
	"testing"

	"github.com/braid-rdma/braid/experiments/figures/datapartition/quicktest"
)

func TestQuick(t *testing.T) { quicktest.Check(t, Figure()) }
