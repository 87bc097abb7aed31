package command

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

func TestReadVersion(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"},
			{Key: "vcs.time", Value: "2030-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	v := readVersion(info)
	if v.Version != "v1.2.3" || v.Commit != "abc" || !v.Modified || v.Time == "" {
		t.Errorf("%+v", v)
	}
	if line := v.String(); !strings.HasPrefix(line, "braid v1.2.3 (go") || !strings.HasSuffix(line, "commit abc with changes)") {
		t.Errorf("line %q", line)
	}
	if v := readVersion(nil); v.Version != "(devel)" {
		t.Errorf("no build information: %+v", v)
	}
}

func TestVersionJSON(t *testing.T) {
	code, stdout, _ := braid(t, "version", "--json")
	var v versionInfo
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != cli.ExitOK || v.Schema != "braid.version/1" || v.Go == "" {
		t.Errorf("exit code %d, %q, %v", code, stdout, err)
	}
}
