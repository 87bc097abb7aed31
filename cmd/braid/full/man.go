package full

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

// newMan is `braid man`.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages to a directory",
		Long:    "man writes a page for each command to DIR, which is made if it does not exist.",
		Example: "  braid man /usr/local/share/man/man1",
		Args:    cli.Arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("the manual pages need a directory that can be written: %w", err)
			}
			header := &doc.GenManHeader{Title: "BRAID", Section: "1", Source: "braid", Manual: "braid manual"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			return nil
		},
	}
}
