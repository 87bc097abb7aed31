package rxe

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/braid-rdma/braid/interop/rxe/machine"
)

// buildPrograms builds what of ours runs in the machine, and returns where it is
// here and there.
func buildPrograms(ctx context.Context, scratch string) (map[string]string, error) {
	braid := filepath.Join(scratch, "braid")
	if err := machine.BuildStatic(ctx, "github.com/braid-rdma/braid/cmd/braid", braid); err != nil {
		return nil, err
	}
	verbsd := filepath.Join(scratch, "verbsd")
	compile := exec.CommandContext(ctx, "cc", "-O2", "-Wall", "-o", verbsd, filepath.Join("testdata", "verbsd.c"), "-libverbs", "-lrdmacm", "-lpthread")
	if output, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: verbsd.c needs a C compiler, libibverbs-dev and librdmacm-dev: %w\n%s", machine.ErrUnavailable, err, output)
	}
	return map[string]string{braid: "/bin/braid", verbsd: "/bin/verbsd"}, nil
}
