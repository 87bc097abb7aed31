package monitor

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/internal/statfile"
)

// conversation is a program with two contexts that talk to each other until the test ends. All that they do is told as slow.
func conversation(t *testing.T) {
	t.Helper()
	converse(t, braid.Config{Trace: braid.TraceReqRsp, SlowThreshold: time.Microsecond}, func(_ context.Context, m *braid.Msg) ([]byte, error) { return m.Bytes(), nil })
}

// converse is a conversation of contexts with a configuration, one of which has a handler.
func converse(t *testing.T, cfg braid.Config, handler braid.Handler) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "braid-test-") // statistics and sockets are in memory
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv(statfile.DirVariable, dir)
	open := func() *braid.Context {
		c, err := braid.Open(cfg)
		must(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	server, client := open(), open()
	l, err := server.Listen(0)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served, talked := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-served
		<-talked
	})
	go func() {
		defer close(served)
		_ = l.Serve(ctx, handler)
	}()
	ch, err := client.Dial(ctx, l.Addr().String())
	must(t, err)
	go func() {
		defer close(talked)
		for ctx.Err() == nil {
			if m, err := ch.Call(ctx, make([]byte, 4096)); err == nil {
				m.Release()
			}
			_ = sleep(ctx, 2*time.Millisecond)
		}
	}()
}

// TestPrograms asks for the programs of a machine by way of its agent, as readers and operators do.
func TestPrograms(t *testing.T) {
	conversation(t)
	m := quick(t, t.TempDir())
	newMachine(t, m, "a", "r1")
	eventually(t, "the host is there", func() bool { return len(m.Hosts()) == 1 })
	reader, err := Dial(m.Addr(), m.Join(RoleReader))
	must(t, err)
	defer reader.Close()
	ctx := t.Context()
	programs, err := reader.Programs(ctx, "a")
	must(t, err)
	if len(programs) != 2 || programs[0].Host != "a" {
		t.Fatalf("programs %+v", programs)
	}
	p := programs[0]
	d, err := p.Busiest(ctx, 1)
	must(t, err)
	if len(d.QueuePairs) != 1 || d.Program.Host != "a" || d.Sum["tx_bytes"] == 0 || d.Pairs["RTS"] == 0 {
		t.Errorf("device %+v", d)
	}
	e, err := p.Gather(ctx, 50*time.Millisecond)
	must(t, err)
	if e.Samples == 0 || len(e.Explain()) == 0 {
		t.Errorf("evidence %+v", e)
	}
	traces, err := p.Traces(ctx)
	must(t, err)
	var trace braid.Trace
	if len(traces.Last) == 0 || json.Unmarshal(traces.Last[0], &trace) != nil || len(trace.Segments) == 0 {
		t.Errorf("traces %+v", traces)
	}
	id := ProgramID{p.PID, p.Number}
	eventually(t, "the agent has some of its history", func() bool {
		h, err := reader.History(ctx, "a", id, d.QueuePairs[0].Number)
		return err == nil && len(h.Points) > 0 && h.Points[0].Sent > 0 && len(h.Points[0].Paths) > 0
	})
	eventually(t, "windows tell of the program", func() bool {
		windows := m.Windows()
		return len(windows) == 1 && len(windows[0].Programs) == 2 && windows[0].Programs[0].Counters["tx_bytes"] > 0
	})
	eventually(t, "slow phases are gathered", func() bool {
		slow := m.State().Slow
		return len(slow) > 0 && slow[0].Host == "a" && slow[0].PID == p.PID && slow[0].Took > 0 && slow[0].Phase != "" && slow[0].Place != ""
	})

	change := map[string]string{"keepalive": "7s"}
	if _, err := p.Set(ctx, change, "test", false); err == nil || !strings.Contains(err.Error(), "operator") {
		t.Errorf("a reader changes something: %v", err)
	}
	operator, err := Dial(m.Addr(), m.Join(RoleOperator))
	must(t, err)
	defer operator.Close()
	p = operator.Program("a", id)
	_, err = p.Set(ctx, change, "test", false)
	must(t, err)
	eventually(t, "the change is an event", func() bool {
		all := m.Events()
		return strings.HasPrefix(all[len(all)-1].Says, `"test" asks to set "keepalive=7s" in program`)
	})
	history, err := p.History(ctx)
	must(t, err)
	if len(history) != 1 || history[0].After["keepalive"] != "7s" {
		t.Errorf("history %+v", history)
	}

	if _, err := reader.Programs(ctx, "nobody"); err == nil || !strings.Contains(err.Error(), "no agent") {
		t.Errorf("a host that is not there: %v", err)
	}
	if _, err := reader.Program("a", ProgramID{1, 1}).Device(ctx); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestAgentThatOnlyReads checks that a machine can keep operators elsewhere from changing its programs.
func TestAgentThatOnlyReads(t *testing.T) {
	conversation(t)
	m := quick(t, t.TempDir())
	a := newMachine(t, m, "a", "r1")
	a.stop()
	a.cfg.ReadOnly = true
	a.start(t)
	client := m.Client(true)
	var programs []ProgramID
	eventually(t, "the agent is there", func() bool {
		all, err := client.Programs(t.Context(), "a")
		for _, p := range all {
			programs = append(programs, ProgramID{p.PID, p.Number})
		}
		return err == nil
	})
	p := client.Program("a", programs[0])
	if _, err := p.Set(t.Context(), map[string]string{"keepalive": "7s"}, "test", false); err == nil || !strings.Contains(err.Error(), "not changed") {
		t.Errorf("it is changed: %v", err)
	}
	if _, err := p.Parameters(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRoles checks that the token of a role gives no right of another: it may not send what others send, nor receive what they receive.
func TestRoles(t *testing.T) {
	t.Parallel()
	m := quick(t, t.TempDir())
	for _, test := range []struct {
		role               Role
		publish, subscribe []string // that are refused
	}{
		{RoleAgent, []string{subjectRead + "00", subjectChange + "00", subjectState, subjectAssign + "00"}, []string{">", RoleReader.inbox() + ".>", RoleOperator.inbox() + ".>", subjectWindow + "*"}},
		{RoleReader, []string{subjectChange + "00", subjectHello + "00", subjectWindow + "00", subjectAssign + "00"}, []string{">", subjectRead + "*", subjectWindow + "*", RoleOperator.inbox() + ".>"}},
		{RoleOperator, []string{subjectHello + "00", subjectWindow + "00", subjectAssign + "00"}, []string{">", subjectRead + "*", subjectChange + "*"}},
	} {
		options, err := joinAs(m.Join(test.role), test.role)
		must(t, err)
		refused := make(chan error, 100)
		c, err := nats.Connect("tls://"+m.Addr(), append(options, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))...)
		must(t, err)
		expect := func(what string) {
			t.Helper()
			must(t, c.Flush())
			select {
			case err := <-refused:
				if !strings.Contains(err.Error(), "ermissions") {
					t.Errorf("%s %s: %v", test.role, what, err)
				}
			case <-time.After(30 * time.Second):
				t.Errorf("%s may %s", test.role, what)
			}
		}
		for _, subject := range test.publish {
			must(t, c.Publish(subject, []byte("{}")))
			expect("publish " + subject)
		}
		for _, subject := range test.subscribe {
			_, err := c.Subscribe(subject, func(*nats.Msg) {})
			must(t, err)
			expect("subscribe to " + subject)
		}
		c.Close()
	}
}
