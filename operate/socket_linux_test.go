package operate

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/statfile"
	"github.com/braid-rdma/braid/verbs"
)

// TestStaleSockets checks that what killed processes have left is passed over, and removed by the next one; also what one has left that had the
// number of this one, as in a container that is started again.
func TestStaleSockets(t *testing.T) {
	dir := directory(t)
	var stale []string
	for i, pid := range []int{dead, os.Getpid()} {
		path, l := socketOf(t, dir, pid, i)
		l.SetUnlinkOnClose(false)
		l.Close()
		stale = append(stale, path)
	}
	for p, err := range Programs(t.Context()) {
		t.Errorf("%+v, %v", p, err)
	}
	_, a, _ := connected(t, verbs.RC)
	o, err := Offer(Source{Device: a.dev})
	must(t, err)
	defer o.Close()
	for _, path := range stale {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("the socket of a dead process is still there: %s", path)
		}
	}
}

// TestSocketsOfOtherContainers checks that a socket at which somebody listens stays, though no process here has its number: the directory may be
// used by containers, each with numbers of its own.
func TestSocketsOfOtherContainers(t *testing.T) {
	path, l := socketOf(t, directory(t), dead, 1)
	defer l.Close()
	_, a, _ := connected(t, verbs.RC)
	o, err := Offer(Source{Device: a.dev})
	must(t, err)
	defer o.Close()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// dead is a number that no process has.
const dead = 1 << 30

// socketOf makes the socket of a process, which is not new.
func socketOf(t *testing.T, dir string, pid, number int) (string, *net.UnixListener) {
	t.Helper()
	path := filepath.Join(dir, fmt.Sprintf("%s%d-%d-abc%s", socketPrefix, pid, number, socketSuffix))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	must(t, err)
	made := time.Now().Add(-settled)
	must(t, os.Chtimes(path, made, made))
	return path, l
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

// TestDirectoriesOfOthers checks that root finds a program once, and undoes one change of it, though somebody has made a link to where it is.
func TestDirectoriesOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skipf("SKIPPED: %s: only root looks at the programs of others", t.Name())
	}
	t.Setenv(statfile.DirVariable, "")
	parent := t.TempDir()
	defer func(before []string) { othersDirs = before }(othersDirs)
	othersDirs = []string{filepath.Join(parent, "braid-*")}
	dir := filepath.Join(parent, "braid-1000")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Symlink(dir, filepath.Join(parent, "braid-1001")))
	found := slices.DeleteFunc(directories(), func(d string) bool { return filepath.Dir(d) != parent })
	if !slices.Equal(found, []string{dir}) {
		t.Errorf("%v", found)
	}
}

// TestLongGreeting checks that who says without end who it is does not fill the memory of an operator, who may be root and asks all at the same time.
func TestLongGreeting(t *testing.T) {
	path, l := socketOf(t, directory(t), dead, 1)
	defer l.Close()
	said := make(chan int)
	go func() {
		n := 0
		defer func() { said <- n }()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for part := []byte(strings.Repeat("x", 4096)); err == nil && n < maxResponse; {
			var more int
			more, err = conn.Write(part)
			n += more
		}
	}()
	if p, err := Dial(t.Context(), path); err == nil {
		t.Errorf("%+v", p)
	}
	if n := <-said; n > 1<<22 { // with what the socket holds
		t.Errorf("%d bytes were taken", n)
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
