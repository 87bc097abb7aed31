package statfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

type contextRecord struct {
	Channels int      `stat:"gauge"`
	Opened   int64    `stat:"time"`
	Program  [16]byte `stat:"text"`
}

type counts struct {
	Sent, FetchedBytes uint64
	RTT                time.Duration `stat:"duration"`
	hidden             uint64
	Skipped            uint64 `stat:"-"`
}

type channelRecord struct {
	Generation uint64 `stat:"-"`
	counts
	Peer  [24]byte `stat:"text"`
	Short uint16   `stat:"gauge"`
	Yes   bool     `stat:"gauge"`
}

var (
	contextType = reflect.TypeFor[contextRecord]()
	channelType = reflect.TypeFor[channelRecord]()
)

// directory is one in memory, that the package uses.
func directory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "braid-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv(DirVariable, dir)
	return dir
}

func publish(t testing.TB, dir string) *File {
	t.Helper()
	f, err := Create([]string{dir}, 1, contextType, channelType)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if f.header != nil {
			f.Close()
		}
	})
	return f
}

func channel(t testing.TB, f *File, number int, sent uint64, peer string) *channelRecord {
	t.Helper()
	p, err := f.Channel(number)
	if err != nil {
		t.Fatal(err)
	}
	r := (*channelRecord)(p)
	r.Sent, r.RTT, r.Short, r.Yes = sent, 5*time.Microsecond, 300, true
	copy(r.Peer[:], peer)
	Publish(p)
	return r
}

func TestFieldsOf(t *testing.T) {
	want := []Field{
		{"sent", Counter, 8, 8},
		{"fetched_bytes", Counter, 16, 8},
		{"rtt", Duration, 24, 8},
		{"peer", Text, 48, 24},
		{"short", Gauge, 72, 2},
		{"yes", Gauge, 74, 1},
	}
	if got := FieldsOf(channelType); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	dir := directory(t)
	f := publish(t, dir)
	c := (*contextRecord)(f.Context())
	c.Channels = 2
	copy(c.Program[:], "server")
	channel(t, f, 0, 7, "10.0.0.1:5")
	gone := channel(t, f, 1, 8, "10.0.0.2:5")
	far := channel(t, f, 1000, 9, "10.0.0.3:5")
	Withdraw(unsafe.Pointer(gone))
	s, err := Read(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	var got contextRecord
	if others := s.Context.Into(&got); others != nil || got.Channels != 2 || String(got.Program[:]) != "server" || !s.Alive {
		t.Errorf("context %+v, others %v, alive %v", got, others, s.Alive)
	}
	if len(s.Channels) != 2 || s.Channels[0].Number != 0 || s.Channels[1].Number != 1000 {
		t.Fatalf("channels %+v", s.Channels)
	}
	var last channelRecord
	s.Channels[1].Into(&last)
	if last.Sent != 9 || last.RTT != 5*time.Microsecond || last.Short != 300 || !last.Yes || String(last.Peer[:]) != "10.0.0.3:5" {
		t.Errorf("channel 1000: %+v", last)
	}
	far.Sent++ // seen at the next look, without a call
	if s, err = Read(f.Path()); err != nil {
		t.Fatal(err)
	}
	if s.Channels[1].Into(&last); last.Sent != 10 {
		t.Errorf("sent %d, want 10", last.Sent)
	}
	again := channel(t, f, 1, 1, "")
	if again.Generation != 3 {
		t.Errorf("generation %d of the second channel of a number, want 3", again.Generation)
	}
	path := f.Path()
	f.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
}

func TestNumbers(t *testing.T) {
	r := channelRecord{counts: counts{Sent: 3, RTT: 4}, Short: 5, Yes: true}
	want := map[string]int64{"sent": 3, "fetched_bytes": 0, "rtt": 4, "short": 5, "yes": 1}
	if got := maps.Collect(Numbers(&r)); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{"mp\x00\x00rest": "mp", "": "", "ünï": "ünï", "\x1b[2J\x9b2J\n": "\ufffd[2J\ufffd2J\ufffd"} {
		if got := String([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A reader that knows other fields than the writer gets what both know, and the rest by name.
func TestOtherVersion(t *testing.T) {
	f := publish(t, directory(t))
	channel(t, f, 0, 7, "x")
	s, err := Read(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	var other struct {
		New  uint64
		Sent uint64
		Peer uint64 // was a text
	}
	others := s.Channels[0].Into(&other)
	if other.Sent != 7 || other.New != 0 || other.Peer != 0 || others["rtt"] != 5000 || others["yes"] != 1 || len(others) != 4 {
		t.Errorf("%+v, others %v", other, others)
	}
}

func TestList(t *testing.T) {
	dir := directory(t)
	a, b := publish(t, dir), publish(t, dir)
	os.WriteFile(filepath.Join(dir, "something else"), nil, 0o600)
	got := map[string]bool{}
	for path, err := range List() {
		if err != nil {
			t.Error(err)
		}
		got[path] = true
	}
	if len(got) != 2 || !got[a.Path()] || !got[b.Path()] {
		t.Errorf("got %v", got)
	}
	t.Setenv(DirVariable, dir+"/none")
	for path, err := range List() {
		t.Errorf("%s: %v", path, err)
	}
}

// What cannot be done has a reason, and nothing is left behind.
func TestCreateFails(t *testing.T) {
	dir := directory(t)
	open, link, file := filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "file")
	must(t, os.Mkdir(open, 0o700))
	must(t, os.Chmod(open, 0o755))
	must(t, os.Symlink(dir, link))
	must(t, os.WriteFile(file, nil, 0o600))
	foreign := filepath.Join(dir, "foreign")
	must(t, os.Mkdir(foreign, 0o700))
	wants := map[string]string{
		open: "others have rights", link: "not a directory", file: "not a directory",
		filepath.Join(dir, "no", "parent"): "no such file",
	}
	if os.Chown(foreign, 12345, -1) == nil { // root can
		wants[foreign] = "another user"
	}
	if disk := t.TempDir(); !inMemory(disk) {
		must(t, os.Chmod(disk, 0o700))
		wants[disk] = "not in memory"
	}
	for path, want := range wants {
		if _, err := Create([]string{path}, 1, contextType, channelType); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	// The next directory is tried.
	f, err := Create([]string{open, dir}, 1, contextType, channelType)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, "*-*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func inMemory(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && s.Type == unix.TMPFS_MAGIC
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A file system without room gives an error, not a signal.
func TestFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("braid-test", dir, "tmpfs", 0, "size=32k,mode=0700"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	f := publish(t, dir)
	channel(t, f, 0, 1, "first")
	if _, err := f.Channel(5000); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("5000 channels: %v", err)
	}
	channel(t, f, 1, 1, "second")
	if s, err := Read(f.Path()); err != nil || len(s.Channels) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Create([]string{dir}, 2, contextType, channelType); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a second file: %v", err)
	}
}

// Files that are damaged, of another user or no files are refused.
func TestReadRefuses(t *testing.T) {
	dir := directory(t)
	f := publish(t, dir)
	channel(t, f, 0, 7, "x")
	good, err := os.ReadFile(f.Path())
	must(t, err)
	damaged := func(offset int, value uint32) []byte {
		b := bytes.Clone(good)
		binary.NativeEndian.PutUint32(b[offset:], value)
		return b
	}
	for name, content := range map[string][]byte{
		"empty": nil, "short": good[:39], "no table": good[:60], "zeros": make([]byte, 8192), "other magic": damaged(0, 1),
		"other version": damaged(8, 2), "other order": damaged(12, 0x04030201), "table beyond": damaged(20, 1<<31), "context beyond": damaged(24, 1<<30),
		"channels beyond": damaged(32, 1<<31), "tiny records": damaged(36, 0), "huge records": damaged(36, 1<<31),
		"field beyond": bytes.Replace(good, []byte("channel sent counter 8 8"), []byte("channel sent counter 9999"), 1),
		"no number":    bytes.Replace(good, []byte("channel sent counter 8 8"), []byte("channel sent counter 8 -"), 1),
	} {
		path := filepath.Join(dir, prefix+"1-1-1")
		must(t, os.WriteFile(path, content, 0o600))
		if _, err := Read(path); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(dir, "file")
	must(t, os.WriteFile(path, good, 0o644))
	if _, err := Read(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("readable by all: %v", err)
	}
	must(t, os.Chmod(path, 0o600))
	must(t, os.Symlink(path, path+"-link"))
	if _, err := Read(path + "-link"); err == nil {
		t.Error("a link was followed")
	}
	must(t, unix.Mkfifo(path+"-pipe", 0o600))
	if _, err := Read(path + "-pipe"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a pipe: %v", err)
	}
	if os.Chown(path, 12345, -1) == nil {
		if _, err := Read(path); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("of another user: %v", err)
		}
	}
}

// No content of a file makes the reader fail otherwise than by an error.
func FuzzRead(f *testing.F) {
	file := publish(f, directory(f))
	channel(f, file, 0, 7, "x")
	good, err := os.ReadFile(file.Path())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:4096+512])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v", err)
			}
			return
		}
		s.Context.Into(&contextRecord{})
		for _, c := range s.Channels {
			c.Into(&channelRecord{})
		}
	})
}

// The lock of a process that is killed is free: its file is stale, and removed by the next one.
func TestStaleFiles(t *testing.T) {
	dir := directory(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestPublishAndWait$")
	cmd.Env = append(os.Environ(), "BRAID_TEST_PUBLISH="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	defer in.Close()
	path := make([]byte, 4096)
	n, err := out.Read(path)
	must(t, err)
	name := strings.TrimSpace(string(path[:n]))
	if s, err := Read(name); err != nil || !s.Alive {
		t.Errorf("of a living process: %+v, %v", s, err)
	}
	publish(t, dir) // does not remove it
	if s, err := Read(name); err != nil || !s.Alive {
		t.Errorf("of a living process, later: %+v, %v", s, err)
	}
	must(t, cmd.Process.Kill())
	cmd.Wait()
	if s, err := Read(name); err != nil || s.Alive {
		t.Errorf("of a dead process: %+v, %v", s, err)
	}
	publish(t, dir)
	if _, err := Read(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the next context: %v", err)
	}
}

// What a process has left that had the number of this one is removed, and what this one publishes is not.
func TestStaleFileOfTheSameNumber(t *testing.T) {
	dir := directory(t)
	f := publish(t, dir)
	content, err := os.ReadFile(f.Path())
	must(t, err)
	stale := filepath.Join(dir, fmt.Sprintf("%s%d-1-abc", prefix, os.Getpid()))
	must(t, os.WriteFile(stale, content, 0o600))
	publish(t, dir)
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an earlier process: %v", err)
	}
	if s, err := Read(f.Path()); err != nil || !s.Alive {
		t.Errorf("of this process: %+v, %v", s, err)
	}
}

// TestPublishAndWait is the second process of TestStaleFiles.
func TestPublishAndWait(t *testing.T) {
	dir := os.Getenv("BRAID_TEST_PUBLISH")
	if dir == "" {
		t.Skip("not the second process")
	}
	f, err := Create([]string{dir}, 1, contextType, channelType)
	must(t, err)
	os.Stdout.WriteString(f.Path() + "\n")
	os.Stdin.Read(make([]byte, 1))
}
