package operate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braid-rdma/braid/internal/loopnet"
	"github.com/braid-rdma/braid/internal/statfile"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// directory is where programs of a test offer their sockets.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "braid-test-")
	if err != nil {
		t.Skipf("SKIPPED: %s: no memory for files: %v", t.Name(), err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv(statfile.DirVariable, dir)
	return dir
}

// offered is a source that is offered, and an operator at it.
func offered(t *testing.T, s Source) (*Offering, *Program) {
	t.Helper()
	directory(t)
	o, err := Offer(s)
	must(t, err)
	t.Cleanup(func() { o.Close() })
	var found *Program
	for p, err := range Programs(t.Context()) {
		must(t, err)
		if found != nil {
			t.Fatal("there are two programs")
		}
		found = p
	}
	if found == nil || found.PID != os.Getpid() || found.Labels != s.Labels {
		t.Fatalf("the program is %+v", found)
	}
	t.Cleanup(func() { found.Close() })
	return o, found
}

// end is one end of a connection over a network in memory.
type end struct {
	dev *verbs.Device
	pd  *verbs.PD
	cq  *verbs.CQ
	qp  *verbs.QP
	mr  *verbs.MR
}

func newEnd(t *testing.T, n *loopnet.Network, kind verbs.QPType) *end {
	t.Helper()
	e := &end{dev: n.Open()}
	t.Cleanup(func() { e.dev.Close() })
	var err error
	e.pd, err = e.dev.CreatePD()
	must(t, err)
	e.cq, err = e.dev.CreateCQ(1024)
	must(t, err)
	e.mr, err = e.pd.AllocMemory(1<<16, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead)
	must(t, err)
	e.qp, err = e.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: e.cq, SendDepth: 256, Conn: verbs.ConnOptions{AckTimeout: time.Minute}})
	must(t, err)
	return e
}

func connected(t *testing.T, kind verbs.QPType) (n *loopnet.Network, a, b *end) {
	t.Helper()
	n = loopnet.New(loopnet.Options{})
	a, b = newEnd(t, n, kind), newEnd(t, n, kind)
	pa, pb := a.qp.Params(), b.qp.Params()
	must(t, a.qp.Connect(pb))
	must(t, b.qp.Connect(pa))
	return n, a, b
}

// write posts WRITEs to a peer.
func (e *end) write(t *testing.T, peer *end, times int) {
	t.Helper()
	for range times {
		must(t, e.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{e.mr.SGE(0, 1<<16)}, RemoteAddr: peer.mr.Addr(), RKey: peer.mr.RKey(), Flags: verbs.Signaled}))
	}
}

// stream writes until the test is over.
func (e *end) stream(t *testing.T, peer *end) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var completions [64]verbs.Completion
		for ctx.Err() == nil {
			for e.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{e.mr.SGE(0, 1<<16)}, RemoteAddr: peer.mr.Addr(), RKey: peer.mr.RKey(), Flags: verbs.Signaled}) == nil {
			}
			_, _ = e.cq.Wait(ctx, completions[:]) // the context ends it
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// causes gathers until a cause is among the findings, and returns all of the last time. A busy machine may
// need more than one look.
func causes(t *testing.T, p *Program, want Cause) []Finding {
	t.Helper()
	var found []Finding
	for range 100 {
		e, err := p.Gather(t.Context(), 100*time.Millisecond)
		must(t, err)
		found = e.Explain()
		if slices.ContainsFunc(found, func(f Finding) bool { return f.Cause == want }) {
			return found
		}
	}
	t.Fatalf("no %s in %+v", want, found)
	return nil
}

// TestFaultsAreNamed causes faults between two queue pairs and asks what is the matter.
func TestFaultsAreNamed(t *testing.T) {
	byPath := func(dropped func(path transport.Path) bool) loopnet.Filter {
		return func(_, _ netip.Addr, p *transport.Packet) bool { return !dropped(p.Path) }
	}
	for _, test := range []struct {
		want  Cause
		cause func(t *testing.T, n *loopnet.Network, a, b *end)
	}{
		{CauseIdle, func(*testing.T, *loopnet.Network, *end, *end) {}},
		{CausePeerReceives, func(t *testing.T, _ *loopnet.Network, a, _ *end) {
			must(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{a.mr.SGE(0, 100)}}))
		}},
		{CauseUnreachable, func(t *testing.T, n *loopnet.Network, a, b *end) {
			n.SetFilter(byPath(func(transport.Path) bool { return true }))
			a.write(t, b, 1)
		}},
		{CauseClosed, func(t *testing.T, _ *loopnet.Network, a, b *end) {
			must(t, b.mr.Deregister())
			a.write(t, b, 1)
		}},
		{CauseSender, func(t *testing.T, _ *loopnet.Network, a, b *end) { b.stream(t, a) }},
		{CausePathsRetired, func(t *testing.T, n *loopnet.Network, a, b *end) {
			n.SetFilter(byPath(func(p transport.Path) bool { return p == 1 }))
			a.stream(t, b)
		}},
		{CauseFence, func(t *testing.T, n *loopnet.Network, a, b *end) {
			n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return !p.Opcode.IsReadResponse() })
			must(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{a.mr.SGE(0, 100)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
			must(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpWrite, Flags: verbs.Fence, SGEs: []verbs.SGE{a.mr.SGE(0, 100)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
		}},
		{CauseInitiatorDepth, func(t *testing.T, n *loopnet.Network, a, b *end) {
			n.SetFilter(func(_, _ netip.Addr, p *transport.Packet) bool { return !p.Opcode.IsReadResponse() })
			for range 200 {
				must(t, a.qp.PostSend(&verbs.SendWR{Op: verbs.OpRead, SGEs: []verbs.SGE{a.mr.SGE(0, 100)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()}))
			}
		}},
	} {
		t.Run(string(test.want), func(t *testing.T) {
			n, a, b := connected(t, verbs.MP)
			_, p := offered(t, Source{Device: a.dev})
			test.cause(t, n, a, b)
			causes(t, p, test.want)
			n.SetFilter(nil)
		})
	}
}

// parameters are those of a program in a test: any number.
type parameters map[string]string

func (p parameters) list() (all []Parameter) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		all = append(all, Parameter{Name: name, Value: p[name], Online: true})
	}
	return all
}

func (p parameters) set(values map[string]string, dryRun bool) error {
	for name, value := range values {
		if _, ok := p[name]; !ok || value == "bad" {
			return fmt.Errorf("%s cannot be %s", name, value)
		}
	}
	if !dryRun {
		maps.Copy(p, values)
	}
	return nil
}

// TestChanges checks that changes are made as a whole, remembered, and undone unless somebody has changed the same since.
func TestChanges(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	values := parameters{"a": "1", "b": "2"}
	_, p := offered(t, Source{Device: a.dev, Labels: "rack=3", Parameters: values.list, Set: values.set})
	ctx := t.Context()
	set := func(values map[string]string, dryRun bool) error {
		_, err := p.Set(ctx, values, "ann", dryRun)
		return err
	}
	var refused *RefusedError
	if err := set(map[string]string{"a": "5", "b": "bad"}, false); !errors.As(err, &refused) || !strings.Contains(err.Error(), "b cannot be bad") {
		t.Errorf("a change that is half bad: %v", err)
	}
	must(t, set(map[string]string{"a": "9"}, true))
	if values["a"] != "1" {
		t.Error("a dry run has changed something")
	}
	if _, err := p.RollBack(ctx, 0, "ann"); err == nil {
		t.Error("there was nothing to roll back")
	}
	must(t, set(map[string]string{"a": "5"}, false))
	must(t, set(map[string]string{"a": "6", "b": "7"}, false))
	if _, err := p.RollBack(ctx, 1, "bob"); err == nil {
		t.Error("a change was undone on which another was built")
	}
	for _, want := range []parameters{{"a": "5", "b": "2"}, {"a": "1", "b": "2"}} {
		_, err := p.RollBack(ctx, 0, "bob")
		must(t, err)
		if !maps.Equal(values, want) {
			t.Errorf("after rolling back %v, want %v", values, want)
		}
	}
	if _, err := p.RollBack(ctx, 2, "bob"); err == nil {
		t.Error("a change was rolled back twice")
	}
	history, err := p.History(ctx)
	must(t, err)
	if len(history) != 4 || history[1].Before["a"] != "5" || history[1].By != "ann" || history[2].Undoes != 2 || history[3].Undoes != 1 {
		t.Errorf("%+v", history)
	}
}

// TestRollBackIsAlone checks that nobody changes anything between the look at what is set and the roll-back, which would be undone as well.
func TestRollBackIsAlone(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	values := parameters{"a": "1"}
	var o *Offering
	look := func() []Parameter {
		if o.changing.TryLock() {
			o.changing.Unlock()
			t.Error("another change may begin")
		}
		return values.list()
	}
	o, p := offered(t, Source{Device: a.dev, Parameters: look, Set: values.set})
	_, err := p.Set(t.Context(), map[string]string{"a": "2"}, "ann", false)
	must(t, err)
	c, err := p.RollBack(t.Context(), 0, "bob")
	if err != nil || c.After["a"] != "1" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestHistoryIsBounded checks that the changes of a busy operator do not fill the memory of a program.
func TestHistoryIsBounded(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	values := parameters{"a": "1"}
	_, p := offered(t, Source{Device: a.dev, Parameters: values.list, Set: values.set})
	for i := range maxChanges + 5 {
		_, err := p.Set(t.Context(), map[string]string{"a": fmt.Sprint(i)}, "ann", false)
		must(t, err)
	}
	history, err := p.History(t.Context())
	must(t, err)
	if len(history) != maxChanges || history[0].Number != 6 {
		t.Errorf("%d changes, from %d on", len(history), history[0].Number)
	}
}

// TestBadRequests sends lines that are none, and checks that the next one is served.
func TestBadRequests(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	o, _ := offered(t, Source{Device: a.dev})
	for _, line := range []string{
		"", "nonsense", `{"do":"dance"}`, `{"do":"evidence"}`, `{"do":"evidence","for_ns":99999999999999}`, `{"do":"set"}`,
		`{"do":"set","values":{"a":"b"}}`, `{"do":"rollback"}`, `{"do":"evidence","for_ns":1000000,"only":[77]}`,
	} {
		conn, err := net.Dial("unix", o.Path())
		must(t, err)
		lines := bufio.NewScanner(conn)
		for _, sent := range []string{line, `{"do":"identity"}`} {
			_, err = fmt.Fprintln(conn, sent)
			must(t, err)
			if !lines.Scan() {
				t.Fatalf("%q: the connection ended: %v", line, lines.Err())
			}
			var r response
			must(t, json.Unmarshal(lines.Bytes(), &r))
			if bad := sent == line; bad != (r.Error != "") {
				t.Errorf("%q: %+v", sent, r)
			}
		}
		conn.Close()
	}
}

// TestRequestWithinARequest checks that an operator elsewhere who may only read brings no change along: what is one document, as Changes reads it, is three
// lines to a program.
func TestRequestWithinARequest(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	values := parameters{"a": "1"}
	_, p := offered(t, Source{Device: a.dev, Parameters: values.list, Set: values.set})
	line := []byte("{\"do\":\"identity\",\"unknown\":\n{\"do\":\"set\",\"values\":{\"a\":\"2\"},\"by\":\"eve\"}\n}")
	if changes, _ := Changes(line); changes {
		t.Fatalf("%s is known to change something", line)
	}
	if response, err := p.Exchange(t.Context(), line); err == nil {
		t.Errorf("the response is %s", response)
	}
	for range 2 { // later than whatever the lines have done
		_, err := p.Exchange(t.Context(), []byte(`{"do":"identity"}`))
		must(t, err)
	}
	if values["a"] != "1" {
		t.Error("something is changed")
	}
}

// TestLongRequestEndsTheConnection checks that a line without an end does not fill the memory of a program, and that the operator is told.
func TestLongRequestEndsTheConnection(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	o, p := offered(t, Source{Device: a.dev})
	conn, err := net.Dial("unix", o.Path())
	must(t, err)
	defer conn.Close()
	for err == nil { // until it is closed at the other end
		_, err = conn.Write([]byte(strings.Repeat("x", 4096)))
	}
	var r response
	if err := json.NewDecoder(conn).Decode(&r); err != nil || r.Error == "" {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = p.Parameters(t.Context())
	must(t, err)
}

// TestCrowd checks that only some operators are served at a time, and others later, and that these are told why.
func TestCrowd(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	o, p := offered(t, Source{Device: a.dev})
	p.Close()
	served := func() (all []*Program) {
		for len(all) <= maxOperators {
			one, err := Dial(t.Context(), o.Path())
			if err != nil {
				if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "too many operators") {
					t.Errorf("one too many is told: %v", err)
				}
				break
			}
			all = append(all, one)
		}
		return all
	}
	var all []*Program
	for len(all) < maxOperators { // the one that was closed above may still be there
		for _, one := range all {
			one.Close()
		}
		all = served()
	}
	if len(all) != maxOperators {
		t.Errorf("%d operators are served", len(all))
	}
	for _, one := range all {
		one.Close()
	}
}

// TestCloseEndsGathering checks that a program which ends does not wait for its operator.
func TestCloseEndsGathering(t *testing.T) {
	_, a, _ := connected(t, verbs.RC)
	o, p := offered(t, Source{Device: a.dev})
	gathered := make(chan error)
	go func() {
		_, err := p.Gather(t.Context(), time.Minute)
		gathered <- err
	}()
	o.Close()
	if err := <-gathered; err == nil {
		t.Error("a minute has passed")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Path()), "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
