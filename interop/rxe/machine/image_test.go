package machine

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// The archive is read back by cpio itself where that is installed, and by its
// own layout everywhere.
func TestArchive(t *testing.T) {
	a := archive{
		"/init":        {data: []byte("#!"), executable: true},
		"/bin/busybox": {data: []byte("box"), executable: true},
		"/bin/sh":      {target: "busybox"},
	}
	var out bytes.Buffer
	if err := a.writeTo(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if len(text)%4 != 0 || !strings.HasPrefix(text, "070701") {
		t.Errorf("%d bytes that begin with %q", len(text), text[:6])
	}
	order := []string{"bin\x00", "bin/busybox\x00", "bin/sh\x00", "init\x00", trailerName}
	at := 0
	for _, name := range order {
		found := strings.Index(text[at:], name)
		if found < 0 {
			t.Fatalf("%q is missing or out of order", name)
		}
		at += found
	}
	if _, err := exec.LookPath("cpio"); err != nil {
		return
	}
	list := exec.Command("cpio", "-t", "--quiet")
	list.Stdin = &out
	if listed, err := list.Output(); err != nil || string(listed) != "bin\nbin/busybox\nbin/sh\ninit\n" {
		t.Errorf("cpio: %v: %q", err, listed)
	}
}

func TestArchiveRefusesPathsThatLeaveTheRoot(t *testing.T) {
	if err := (archive{"/a/../../b": {}}).writeTo(&bytes.Buffer{}); err == nil {
		t.Error("it was written")
	}
}

func TestModuleOrderNamesWhatIsMissing(t *testing.T) {
	_, err := moduleOrder(nil)
	if err == nil || !strings.Contains(err.Error(), wantedModules[0]) {
		t.Errorf("error %v, want the name of a module", err)
	}
}
