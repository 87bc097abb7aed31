package rxe

import (
	"context"
	"fmt"
	"os"
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
	engine := filepath.Join(scratch, engineTest)
	if err := buildEngineTest(ctx, engine); err != nil {
		return nil, err
	}
	return map[string]string{braid: "/bin/braid", verbsd: "/bin/verbsd", engine: "/bin/" + engineTest}, nil
}

// buildEngineTest builds the tests of package ibverbs, which need C. Nothing else does:
// the rest is what the other programs are made of, and compiled already.
func buildEngineTest(ctx context.Context, output string) error {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-tags", "ibverbs,netgo", "-o", output, "github.com/braid-rdma/braid/ibverbs")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c -tags ibverbs: %w\n%s", err, text)
	}
	return nil
}
