package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/operate"
)

// get asks for something and reads it.
func get[T any](x *person, path string) (result T) {
	x.t.Helper()
	text := x.wants(http.StatusOK, "GET", path, nil)
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		x.t.Fatalf("%s: %v: %.500s", path, err, text)
	}
	return result
}

// programsOf waits until a page tells of the two programs of a conversation.
func programsOf(x *person, host string) (all []pageProgram) {
	x.t.Helper()
	eventually(x.t, "the programs of the host are there", func() bool {
		status, text := x.do("GET", "/api/host/"+host+"/programs", nil)
		var r struct {
			Programs []pageProgram `json:"programs"`
		}
		if status != http.StatusOK || json.Unmarshal([]byte(text), &r) != nil {
			return false
		}
		all = r.Programs
		return len(all) == 2 && all[0].Device != nil && busiest(all[0].Device).Counters["tx_bytes"] > 1<<16
	})
	return all
}

// busiest is the queue pair that has moved most.
func busiest(d *operate.Device) operate.QueuePairState {
	return slices.MaxFunc(d.QueuePairs, func(a, b operate.QueuePairState) int {
		return cmp.Compare(a.Counters["tx_bytes"], b.Counters["tx_bytes"])
	})
}

// TestPageOfPrograms asks a page about the programs of a machine, and changes one.
func TestPageOfPrograms(t *testing.T) {
	conversation(t)
	m := quick(t, t.TempDir())
	newMachine(t, m, "a", "r1")
	p, err := m.ServePage(PageConfig{Listen: "127.0.0.1:0"})
	must(t, err)
	t.Cleanup(p.Close)
	x := newPerson(t, p)
	one := programsOf(x, "a")[0]
	at, qpn := fmt.Sprintf("/api/host/a/program/%d.%d", one.PID, one.Number), busiest(one.Device).Number

	if d := get[operate.Device](x, at); len(d.QueuePairs) == 0 || d.Program.PID != one.PID {
		t.Errorf("device %+v", d)
	}
	q := get[struct {
		QueuePair operate.QueuePairState `json:"queue_pair"`
	}](x, fmt.Sprintf("%s/qp?qp=%d", at, qpn))
	if q.QueuePair.Number != qpn || q.QueuePair.Counters["tx_bytes"] == 0 {
		t.Errorf("queue pair %+v", q)
	}
	x.wants(http.StatusNotFound, "GET", at+"/qp?qp=0xfffffe", nil)
	why := get[struct {
		Evidence operate.Evidence  `json:"evidence"`
		Findings []operate.Finding `json:"findings"`
	}](x, fmt.Sprintf("%s/why?for=100ms&qp=%d", at, qpn))
	if len(why.Evidence.QueuePairs) != 1 || why.Evidence.Samples == 0 || len(why.Findings) == 0 || why.Findings[0].Says == "" {
		t.Errorf("why: %+v", why)
	}
	eventually(t, "there is some history", func() bool {
		h := get[History](x, fmt.Sprintf("%s/history?qp=%d", at, qpn))
		return len(h.Points) > 0 && h.Points[0].Sent > 0
	})
	if traces := get[operate.Traces](x, at+"/traces"); len(traces.Last) == 0 || len(traces.Slowest) == 0 {
		t.Errorf("traces %+v", traces)
	}
	get[map[string]any](x, "/api/host/a/slow")
	sides := get[struct {
		Programs []programValues `json:"programs"`
	}](x, "/api/host/a/parameters")
	if len(sides.Programs) != 2 || sides.Programs[1].Values["keepalive"] == "" {
		t.Errorf("parameters %+v", sides)
	}
	x.wants(http.StatusNotFound, "GET", "/api/host/a/program/1.1/why?for=50ms", nil)
	testPageChanges(t, m, x, at)
}

// testPageChanges has an operator change a program, look at the history, and undo it.
func testPageChanges(t *testing.T, m *Monitor, x *person, at string) {
	t.Helper()
	type values struct {
		Parameters []operate.Parameter `json:"parameters"`
		History    []operate.Change    `json:"history"`
	}
	change := func(value string, dryRun bool) map[string]any {
		return map[string]any{"values": map[string]string{"keepalive": value}, "dry_run": dryRun}
	}
	x.wants(http.StatusForbidden, "POST", at+"/parameters", change("7s", false))
	if status := x.logIn(m.Join(RoleOperator), "Otto <b>"); status != http.StatusOK {
		t.Fatalf("login: %d", status)
	}
	x.wants(http.StatusUnprocessableEntity, "POST", at+"/parameters", change("nonsense", true))
	x.wants(http.StatusUnprocessableEntity, "POST", at+"/parameters", map[string]any{"values": map[string]string{"nothing": "1"}})
	x.wants(http.StatusOK, "POST", at+"/parameters", change("7s", true))
	if v := get[values](x, at+"/parameters"); len(v.History) != 0 || len(v.Parameters) == 0 {
		t.Errorf("a dry run has changed something: %+v", v.History)
	}
	x.wants(http.StatusOK, "POST", at+"/parameters", change("7s", false))
	if v := get[values](x, at+"/parameters"); len(v.History) != 1 || v.History[0].By != "Otto <b>" || v.History[0].After["keepalive"] != "7s" {
		t.Errorf("history %+v", v.History)
	}
	x.wants(http.StatusOK, "POST", at+"/rollback", map[string]int{"change": 1})
	if v := get[values](x, at+"/parameters"); len(v.History) != 2 || v.History[1].Undoes != 1 {
		t.Errorf("history %+v", v.History)
	}
	eventually(t, "the changes are events", func() bool {
		r := get[struct{ Matching int }](x, "/api/events?text=IN+program")
		return r.Matching == 3 // a refused one among them
	})
	if r := get[struct {
		Events []Event `json:"events"`
		Of     int     `json:"of"`
	}](x, "/api/events?alarms=1"); len(r.Events) != 0 || r.Of < 3 {
		t.Errorf("alarms %+v", r)
	}
}

// TestPageAsksLittle checks that pages share what they look at, and do not ask an agent more than half of what it takes at a time.
func TestPageAsksLittle(t *testing.T) {
	t.Parallel()
	_, p := page(t)
	var asked, now, most atomic.Int32
	release := make(chan struct{})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			_, err := p.asking.share(t.Context(), fmt.Sprint("key ", i%10), time.Minute, func(ctx context.Context) (any, error) {
				end, err := p.asking.turn(ctx, "a")
				if err != nil {
					return nil, err
				}
				defer end()
				asked.Add(1)
				most.Store(max(most.Load(), now.Add(1)))
				<-release
				now.Add(-1)
				return nil, nil // it is not looked at
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "as many are asked as may", func() bool { return now.Load() == askedOfHost })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := p.asking.turn(ctx, "a"); statusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("one more: %v", err)
	}
	end, err := p.asking.turn(t.Context(), "b")
	must(t, err)
	end()
	close(release)
	all.Wait()
	if asked.Load() != 10 || most.Load() > askedOfHost {
		t.Errorf("%d questions, %d at a time", asked.Load(), most.Load())
	}
	p.asking.end()
	if _, err := p.asking.share(t.Context(), "late", 0, nil); statusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("after the end: %v", err)
	}
}

// TestPageAsksForSoMuch checks that those who ask for ever more, and wait for none of it, are refused, and that others share what is there.
func TestPageAsksForSoMuch(t *testing.T) {
	t.Parallel()
	_, p := page(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	release := make(chan struct{})
	ask := func(ctx context.Context, i int) error {
		_, err := p.asking.share(ctx, fmt.Sprint("key ", i), 0, func(asking context.Context) (any, error) {
			select {
			case <-release:
			case <-asking.Done(): // the test has failed
			}
			return nil, nil // it is not looked at
		})
		return err
	}
	for i := range maxShared {
		if err := ask(gone, i); !errors.Is(err, context.Canceled) {
			t.Fatalf("question %d: %v", i, err)
		}
	}
	if err := ask(t.Context(), maxShared); statusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("one more: %v", err)
	}
	if err := ask(gone, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("one that is shared: %v", err)
	}
	close(release)
	eventually(t, "there is room again", func() bool { return ask(t.Context(), maxShared) == nil })
}

// TestPageStatus checks how errors are named.
func TestPageStatus(t *testing.T) {
	t.Parallel()
	for status, err := range map[int]error{
		http.StatusNotFound:            fmt.Errorf("a: %w", errNoProgram),
		http.StatusForbidden:           fmt.Errorf("a: %w", errReadOnly),
		http.StatusServiceUnavailable:  fmt.Errorf("a: %w", errQuestions),
		http.StatusGatewayTimeout:      fmt.Errorf("a: %w", context.DeadlineExceeded),
		http.StatusUnprocessableEntity: &operate.RefusedError{Reason: "no"},
		http.StatusBadGateway:          errors.New("anything"),
	} {
		if got := statusOf(err); got != status {
			t.Errorf("%v: %d, want %d", err, got, status)
		}
	}
	if got := statusOf(fmt.Errorf("a: %w", errNoAgent)); got != http.StatusServiceUnavailable || !strings.Contains(errNoAgent.Error(), "no agent") {
		t.Errorf("no agent: %d", got)
	}
}
