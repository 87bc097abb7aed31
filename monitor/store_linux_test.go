package monitor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallDisk is a file system of its own, of some MB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); errors.Is(err, unix.EPERM) {
		t.Skipf("SKIPPED: %s: mounting a file system needs root", t.Name())
	} else {
		must(t, err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// small is a monitor on a small disk.
func small(t *testing.T, dir, listen string) *Monitor {
	t.Helper()
	m, err := Start(Config{Listen: listen, Dir: dir, Window: time.Second, MaxBytes: 2 << 20, Mesh: Mesh{RackRate: 50, FabricRate: 50}, Log: testLog(t)})
	must(t, err)
	t.Cleanup(m.Close)
	return m
}

func told(m *Monitor, text string) bool {
	return slices.ContainsFunc(m.Events(), func(e Event) bool { return strings.Contains(e.Says, text) })
}

// TestDiskIsFull fills the disk of a monitor: it says so, and judges all the same; agents keep their windows, and it has them when
// there is room again.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	m := small(t, dir, "127.0.0.1:0")
	newMachine(t, m, "a", "r1")
	b := newMachine(t, m, "b", "r1")
	eventually(t, "both see each other", func() bool { return sees(m, "a", "b") })
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 16<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	eventually(t, "it is said that the disk is full", func() bool {
		s := m.State().Store
		return !s.Up && strings.Contains(s.Says, "no space left") && told(m, "cannot be stored")
	})
	full := time.Now()
	latest := func(host string) time.Time {
		i := slices.IndexFunc(m.Windows(), func(w Window) bool { return w.Host == host })
		return m.Windows()[i].At
	}
	eventually(t, "windows still come", func() bool { return latest("a").After(full.Add(2 * time.Second)) })
	b.stop()
	eventually(t, "a dead host is still named", func() bool { return alarmed(m, BlameHost, "b") })
	room := time.Now()
	must(t, os.Remove(filler))
	eventually(t, "it is stored again", func() bool { return m.State().Store.Up && told(m, "stored again") })
	eventually(t, "the windows of the time between are stored", func() bool {
		return storedBetween(t, m, full.Add(time.Second), room) >= int(room.Sub(full)/time.Second)-2
	})
}

// TestDiskIsReadOnly starts a monitor on a disk that cannot be written: it works without its store, and has it when the disk is mended.
func TestDiskIsReadOnly(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	first := small(t, dir, "127.0.0.1:0")
	addr := first.Addr()
	newMachine(t, first, "a", "r1")
	newMachine(t, first, "b", "r1")
	eventually(t, "both see each other", func() bool { return sees(first, "a", "b") })
	first.Close()
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	begun := time.Now()
	m := small(t, dir, addr)
	if s := m.State().Store; s.Up || !strings.Contains(s.Says, "read-only") || !told(m, "cannot be stored") {
		t.Errorf("%+v", s)
	}
	eventually(t, "both see each other without a store", func() bool { return sees(m, "a", "b") })
	mended := time.Now()
	must(t, unix.Mount("", dir, "", unix.MS_REMOUNT, ""))
	eventually(t, "it is stored again", func() bool { return m.State().Store.Up })
	if len(m.State().Store.SetAside) != 0 {
		t.Errorf("set aside without need: %+v", m.State().Store)
	}
	eventually(t, "the windows of the time between are stored", func() bool { return storedBetween(t, m, begun.Add(-time.Second), mended) >= 2 })
}

// TestStoreIsDamaged damages one file after another: the monitor starts, says so, and sets aside what is damaged.
func TestStoreIsDamaged(t *testing.T) {
	t.Parallel()
	garble := func(text []byte) []byte {
		for i := len(text) / 3; i < len(text)/3+8; i++ {
			text[i] ^= 0x5a
		}
		return text
	}
	half := func(text []byte) []byte { return text[:len(text)/2] }
	for _, test := range []struct {
		name, file string
		damage     func([]byte) []byte
		aside      string // what is set aside; empty: nothing
	}{
		{"nothing", "tls.pem", func(text []byte) []byte { return text }, ""},
		{"a garbled block", "jetstream/*/streams/*/msgs/1.blk", garble, "jetstream"},
		{"a block cut short", "jetstream/*/streams/*/msgs/1.blk", half, "jetstream"},
		{"an empty block", "jetstream/*/streams/*/msgs/1.blk", func([]byte) []byte { return nil }, "jetstream"},
		{"a garbled description", "jetstream/*/streams/*/meta.inf", garble, "jetstream"},
		{"no checksum", "jetstream/*/streams/*/meta.sum", func([]byte) []byte { return nil }, "jetstream"},
		{"a garbled index", "jetstream/*/streams/*/msgs/index.db", garble, ""}, // it is made anew
		{"a key cut short", "tls.pem", half, "tls.pem"},
		{"a garbled key", "tls.pem", garble, "tls.pem"},
		{"an empty token", "join-agent", func([]byte) []byte { return nil }, "join-agent"},
		{"a token of zeroes", "join-operator", func(text []byte) []byte { return make([]byte, len(text)) }, "join-operator"},
		{"a garbled note", "store.json", func([]byte) []byte { return []byte("{") }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := slowIn(t, dir)
			for range 20 {
				must(t, first.pulse())
			}
			before := first.Join(RoleAgent)
			first.Close()
			files, err := filepath.Glob(filepath.Join(dir, test.file))
			must(t, err)
			if len(files) != 1 {
				t.Fatalf("%s: %v", test.file, files)
			}
			text, err := os.ReadFile(files[0])
			must(t, err)
			must(t, os.WriteFile(files[0], test.damage(text), 0o600))
			m := slowIn(t, dir)
			s := m.State().Store
			must(t, m.pulse())
			if test.aside == "" {
				if len(s.SetAside) != 0 || !s.Up || m.store.now().Windows != 21 {
					t.Errorf("%+v", m.State().Store)
				}
				return
			}
			if !s.Up || len(s.SetAside) != 1 || !strings.HasPrefix(s.SetAside[0], filepath.Join(dir, test.aside)+".damaged-") || !told(m, "set aside") {
				t.Fatalf("%+v, %+v", s, m.Events())
			}
			if _, err := os.Stat(s.SetAside[0]); err != nil {
				t.Error(err)
			}
			if kept := m.Join(RoleAgent) == before; kept != (test.aside == "jetstream" || test.aside == "join-operator") {
				t.Errorf("agents may stay: %v", kept)
			}
		})
	}
}

// TestStoreAfterACrash checks that a store that was not closed is none that is damaged.
func TestStoreAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := slowIn(t, dir)
	for range 20 {
		must(t, first.pulse())
	}
	// What is on the disk while it runs is what a crash leaves.
	copied := t.TempDir()
	must(t, os.CopyFS(copied, os.DirFS(dir)))
	m := slowIn(t, copied)
	must(t, m.pulse())
	if s := m.State().Store; !s.Up || len(s.SetAside) != 0 || s.Windows != 21 {
		t.Errorf("%+v", s)
	}
}
