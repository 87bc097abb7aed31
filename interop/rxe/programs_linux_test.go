package rxe

import (
	"context"
	"path/filepath"

	"github.com/braid-rdma/braid/interop/rxe/machine"
)

// buildPrograms builds what of ours runs in the machine, and answers where it is
// here and there.
func buildPrograms(ctx context.Context, scratch string) (map[string]string, error) {
	braid := filepath.Join(scratch, "braid")
	if err := machine.BuildStatic(ctx, "github.com/braid-rdma/braid/cmd/braid", braid); err != nil {
		return nil, err
	}
	return map[string]string{braid: "/bin/braid"}, nil
}
