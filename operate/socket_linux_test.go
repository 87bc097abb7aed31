package operate

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// TestStaleSockets checks that what a killed process has left is passed over, and removed by the next one.
func TestStaleSockets(t *testing.T) {
	dir := directory(t)
	const dead = 1 << 30 // no process has this number
	stale := filepath.Join(dir, fmt.Sprintf("%s%d-1-abc%s", socketPrefix, dead, socketSuffix))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: stale})
	must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	for p, err := range Programs(t.Context()) {
		t.Errorf("%+v, %v", p, err)
	}
	_, a, _ := connected(t, verbs.RC)
	o, err := Offer(Source{Device: a.dev})
	must(t, err)
	defer o.Close()
	if _, err := os.Stat(stale); err == nil {
		t.Error("the socket of a dead process is still there")
	}
}

// TestStoppedProgram checks that one that says nothing does not keep the operator from the others.
func TestStoppedProgram(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	o, p := offered(t, Source{Device: a.dev})
	p.Close()
	silent := filepath.Join(filepath.Dir(o.Path()), fmt.Sprintf("%s%d-0-abc%s", socketPrefix, os.Getpid(), socketSuffix))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: silent})
	must(t, err)
	defer l.Close()
	responded, failed := 0, 0
	for p, err := range Programs(t.Context()) {
		if err != nil {
			failed++
			if !errors.Is(err, ErrSilent) {
				t.Error(err)
			}
			continue
		}
		responded++
		p.Close()
	}
	if responded != 1 || failed != 1 {
		t.Errorf("%d programs responded, %d did not", responded, failed)
	}
}

// TestLinksAreNotFollowed checks that a name among the sockets that leads elsewhere leads nowhere: root looks at the directories of others.
func TestLinksAreNotFollowed(t *testing.T) {
	directory(t)
	_, a, _ := connected(t, verbs.RC)
	o, err := Offer(Source{Device: a.dev})
	must(t, err)
	defer o.Close()
	link := filepath.Join(t.TempDir(), "op-1-1-0.sock")
	must(t, os.Symlink(o.Path(), link))
	if p, err := Dial(t.Context(), link); err == nil {
		p.Close()
		t.Error("a link was followed")
	}
	if p, err := Dial(t.Context(), filepath.Dir(link)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a directory is a socket: %v, %v", p, err)
	}
}
