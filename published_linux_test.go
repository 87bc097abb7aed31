package braid

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/internal/statfile"
)

// statsDir has the contexts of a test, and its second processes, publish in a directory of their own.
func statsDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "braid-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv(statfile.DirVariable, dir)
	return dir
}

// readOwn reads what a context publishes.
func readOwn(t testing.TB, c *Context) *PublishedContext {
	t.Helper()
	path, err := c.StatsFile()
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadPublished(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is published is what the channel says of itself.
func TestPublishedIsTrue(t *testing.T) {
	statsDir(t)
	a, b := pair(t, Config{})
	begin := time.Now()
	for range 10 {
		if err := a.Send(soon(t), payload(50)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Send(soon(t), payload(100000)); err != nil {
		t.Fatal(err)
	}
	held := receiveAll(t, b, 5)
	before := b.Stats()
	p := readOwn(t, b.context)
	if p.PID != os.Getpid() || !p.Alive || p.Program != filepath.Base(os.Args[0]) || len(p.Channels) != 1 || p.Other != nil || p.Stats.Channels != 1 {
		t.Fatalf("%+v", p)
	}
	ch := &p.Channels[0]
	if ch.State != "open" || ch.Carrier != "mp" || ch.Peer != b.RemoteAddr() || ch.Local != b.LocalAddr() || ch.Other != nil {
		t.Errorf("%+v", ch)
	}
	if ch.LastActive.Before(begin) || ch.LastActive.After(time.Now()) || ch.Opened.After(begin) || p.LastActive.Before(begin) {
		t.Errorf("opened %v, active %v; began at %v", ch.Opened, ch.LastActive, begin)
	}
	want := b.Stats()
	want.RTT, ch.Stats.RTT = 0, 0 // are samples
	want.Retransmitted, ch.Stats.Retransmitted = 0, 0
	if before.Acks <= ch.Stats.Acks && ch.Stats.Acks <= want.Acks {
		want.Acks = ch.Stats.Acks // the last may go just now
	}
	if ch.Stats != want || want.Received != 11 || want.ReceivedBytes != 100500 || want.Unread != 6 || want.FetchedBytes != 100000 {
		t.Errorf("published %+v\nwant %+v", ch.Stats, want)
	}
	releaseAll(append(held, receiveAll(t, b, 6)...))
	if err := a.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	if s := readOwn(t, a.context).Channels[0].Stats; s.Sent != 11 || s.Acknowledged != 11 || s.SentBytes != 100500 || s.RTT == 0 {
		t.Errorf("the sender: %+v", s)
	}
}

func receiveAll(t *testing.T, ch *Channel, n int) (all []*Msg) {
	t.Helper()
	for range n {
		m, err := ch.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// A channel that has ended is gone, and so is the file of a context that is closed.
func TestPublishedEnds(t *testing.T) {
	dir := statsDir(t)
	a, b := pair(t, Config{})
	path, _ := a.context.StatsFile()
	a.Close()
	<-b.gone
	for _, c := range []*Context{a.context, b.context} {
		eventually(t, "the channel is not published", func() bool { // at the end of the turn
			p := readOwn(t, c)
			return len(p.Channels) == 0 && p.Stats.Channels == 0
		})
		c.Close()
	}
	if _, err := ReadPublished(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if path, err := a.context.StatsFile(); path != "" || !errors.Is(err, ErrClosed) {
		t.Errorf("StatsFile: %q, %v", path, err)
	}
}

// Where statistics cannot be published a context works as well, and says why.
func TestNotPublished(t *testing.T) {
	dir := statsDir(t)
	for name, set := range map[string]func() (cfg Config, want string){
		"configured":   func() (Config, string) { return Config{NoStats: true}, "NoStats" },
		"no directory": func() (Config, string) { t.Setenv(statfile.DirVariable, dir+"/a/b"); return Config{}, "no such file" },
		"not a directory": func() (Config, string) {
			t.Setenv(statfile.DirVariable, dir+"/file")
			_ = os.WriteFile(dir+"/file", nil, 0o600)
			return Config{}, "not a directory"
		},
	} {
		cfg, want := set()
		a, b := pair(t, cfg)
		if path, err := a.context.StatsFile(); path != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", name, path, err, want)
		}
		releaseAll(receiveHeld(t, a, b, 3, 100))
	}
}

// A process need not know how it was started.
func TestPublishedWithoutName(t *testing.T) {
	statsDir(t)
	defer func(args []string) { os.Args = args }(os.Args)
	os.Args = nil
	c := open(t, Config{})
	if p := readOwn(t, c); p.Program != "" || p.PID != os.Getpid() {
		t.Errorf("%+v", p)
	}
	if p := operatorOf(t, c); p.Program != "" {
		t.Errorf("%+v", p.Identity)
	}
}

// What is published lies in memory that the garbage collector does not know.
func TestRecordsHaveNoPointers(t *testing.T) {
	var check func(name string, at reflect.Type)
	check = func(name string, at reflect.Type) {
		switch at.Kind() {
		case reflect.Struct:
			for i := range at.NumField() {
				check(name+"."+at.Field(i).Name, at.Field(i).Type)
			}
		case reflect.Array:
			check(name+"[]", at.Elem())
		case reflect.Pointer, reflect.String, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
			t.Errorf("%s is a %v", name, at.Kind())
		}
	}
	check("context", reflect.TypeFor[contextRecord]())
	check("channel", reflect.TypeFor[channelRecord]())
}

func TestRates(t *testing.T) {
	then := &PublishedContext{Read: time.Unix(10, 0), Channels: []PublishedChannel{
		{Number: 1, Generation: 1, Stats: Stats{Sent: 100, ReceivedBytes: 1000}},
		{Number: 2, Generation: 1, Stats: Stats{Sent: 500}},
	}}
	now := &PublishedContext{Read: time.Unix(12, 0), Channels: []PublishedChannel{
		{Number: 1, Generation: 1, Stats: Stats{Sent: 300, ReceivedBytes: 5000, Calls: 4}},
		{Number: 2, Generation: 3, Stats: Stats{Sent: 7}, Opened: time.Unix(11, 0)}, // another channel
	}}
	got := now.Rates(then)
	if len(got) != 2 || got[0] != (Rates{Sent: 100, ReceivedBytes: 2000, Calls: 2}) || got[1] != (Rates{Sent: 7}) {
		t.Errorf("got %+v", got)
	}
	if got := now.Rates(now); got[0] != (Rates{}) {
		t.Errorf("no time: %+v", got)
	}
}

// published finds the contexts of a process.
func published(t *testing.T, pid int) (all []*PublishedContext) {
	t.Helper()
	for c, err := range Published() {
		if err != nil {
			t.Fatal(err)
		}
		if c.PID == pid {
			all = append(all, c)
		}
	}
	return all
}

// Another process' counters move while they are read; when it is killed its file is known to be stale, and
// the next context removes it.
func TestPublishedByAnotherProcess(t *testing.T) {
	statsDir(t)
	cmd, out := startChild(t, "serve")
	address, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ch, err := open(t, impatient).Dial(soon(t), strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for range 5 {
		for range 20 {
			m, err := ch.Call(soon(t), payload(8))
			if err != nil {
				t.Fatal(err)
			}
			m.Release()
		}
		last += 20
		eventually(t, "the calls are published", func() bool {
			all := published(t, cmd.Process.Pid)
			if len(all) != 1 || !all[0].Alive || len(all[0].Channels) != 1 || all[0].Channels[0].Peer.Addr() != ch.LocalAddr().Addr() {
				t.Fatalf("%+v", all)
			}
			return all[0].Channels[0].Stats.Received == last
		})
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	all := published(t, cmd.Process.Pid)
	if len(all) != 1 || all[0].Alive || all[0].Channels[0].Stats.Received != last {
		t.Fatalf("of the dead process: %+v", all)
	}
	open(t, Config{})
	if all := published(t, cmd.Process.Pid); len(all) != 0 {
		t.Errorf("after the next Open: %+v", all)
	}
}

// Two contexts of a process are apart.
func TestPublishedTwoContexts(t *testing.T) {
	statsDir(t)
	a, b := pair(t, Config{})
	releaseAll(receiveHeld(t, a, b, 7, 10))
	all := published(t, os.Getpid())
	if len(all) != 2 || all[0].Number == all[1].Number || all[0].Path == all[1].Path {
		t.Fatalf("%+v", all)
	}
	eventually(t, "seven were sent and received", func() bool {
		sent, received := uint64(0), uint64(0)
		for _, c := range published(t, os.Getpid()) {
			sent, received = sent+c.Channels[0].Stats.Sent, received+c.Channels[0].Stats.Received
		}
		return sent == 7 && received == 7
	})
}

// A file that is no file of statistics is one error, and the others are read.
func TestPublishedBesideACorruptFile(t *testing.T) {
	dir := statsDir(t)
	open(t, Config{})
	if err := os.WriteFile(filepath.Join(dir, "ctx-1-1-1"), []byte("something"), 0o600); err != nil {
		t.Fatal(err)
	}
	good, bad := 0, 0
	for c, err := range Published() {
		if err != nil && errors.Is(err, statfile.ErrCorrupt) && c == nil {
			bad++
		} else if err == nil {
			good++
		}
	}
	if good != 1 || bad != 1 {
		t.Errorf("%d good and %d bad files, want one of each", good, bad)
	}
}

// What publishing costs a call: batches of calls with it and without take turns, and the medians are compared.
func BenchmarkCall64Stats(b *testing.B) {
	statsDir(b)
	with, without := serve(b, Config{}, echo), serve(b, Config{NoStats: true}, echo)
	request := make([]byte, 64)
	batch := func(ch *Channel) float64 {
		begin := time.Now()
		for range 100 {
			m, err := ch.Call(context.Background(), request)
			if err != nil {
				b.Fatal(err)
			}
			m.Release()
		}
		return float64(time.Since(begin)) / 100
	}
	var on, off []float64
	for b.Loop() {
		on, off = append(on, batch(with)), append(off, batch(without))
	}
	slices.Sort(on)
	slices.Sort(off)
	b.ReportMetric(off[len(off)/2], "ns/call-off")
	b.ReportMetric(on[len(on)/2], "ns/call-on")
	b.ReportMetric(on[len(on)/2]/off[len(off)/2], "on/off")
}

func BenchmarkPublish(b *testing.B) {
	statsDir(b)
	ch, _ := pair(b, Config{})
	ch.context.exclusive(func() {
		now := ch.context.now()
		for b.Loop() {
			ch.publish(now)
			ch.context.publish()
		}
	})
}
