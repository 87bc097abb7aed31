package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

// versionInfo is what `braid version --json` prints.
type versionInfo struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // empty: built outside of a repository
	Time     string `json:"time"`     // of the commit
	Modified bool   `json:"modified"` // the tree had changes beyond the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// readVersion takes the version from what the linker recorded.
func readVersion(info *debug.BuildInfo) versionInfo {
	v := versionInfo{Schema: "braid.version/1", Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.time":
			v.Time = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

// newVersion is `braid version`.
func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  braid version\n  braid version --json",
		Args:    cli.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			v := readVersion(info)
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), v)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// String is the version on one line.
func (v versionInfo) String() string {
	commit := ""
	if v.Commit != "" {
		commit = ", commit " + v.Commit
		if v.Modified {
			commit += " with changes"
		}
	}
	return fmt.Sprintf("braid %s (%s, %s/%s%s)", v.Version, v.Go, v.OS, v.Arch, commit)
}
