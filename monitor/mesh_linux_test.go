package monitor

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestMeshInParts checks what the page asks for when there are too many hosts for the whole mesh.
func TestMeshInParts(t *testing.T) {
	t.Parallel()
	m, p := slow(t)
	all := fabric(11, 11)
	join(t, m, all...)
	for i, from := range all {
		var pairs []Pair
		for _, to := range all {
			if to.Name != from.Name {
				pairs = append(pairs, Pair{To: to.Name, Sent: 10, Lost: i % 2, Network: time.Duration(i+1) * time.Microsecond}, Pair{To: to.Name, Path: 1, Sent: 10})
			}
		}
		report(t, m, from.Name, pairs...)
	}
	m.judgeWindow(time.Now())
	var s State
	ask(t, p, "api/state", &s)
	if !s.Split || len(s.Mesh) != 0 || len(s.Hosts) != 121 || s.Total.Sent != 121*120*20 || s.Total.Lost != 60*120 || s.Hosts[0].Sent != 2400 || s.Hosts[0].Probed != 2400 {
		t.Errorf("split %v, %d cells, %d hosts, %+v, %+v", s.Split, len(s.Mesh), len(s.Hosts), s.Total, s.Hosts[0])
	}
	var racks RackMesh
	ask(t, p, "api/racks", &racks)
	if len(racks.Racks) != 11 || len(racks.Cells) != 121 || racks.Hosts[3] != 11 || racks.Cells[1] != [5]int64{0, 1, 11 * 11 * 20, 5 * 11, int64(11 * time.Microsecond)} {
		t.Errorf("%+v", racks)
	}
	var pair PairMesh
	ask(t, p, "api/mesh?from=r0&to=r1", &pair)
	want := Cell{From: "r0h1", To: "r1h0", Sent: 20, Lost: 1, Network: 2 * time.Microsecond}
	if len(pair.From) != 11 || len(pair.To) != 11 || len(pair.Cells) != 121 || !slices.Contains(pair.Cells, want) {
		t.Errorf("%+v", pair)
	}
	var view HostView
	ask(t, p, "api/host?name=r1h0", &view)
	if view.Host.Rack != "r1" || len(view.From) != 120 || len(view.To) != 120 || !slices.Contains(view.To, want) {
		t.Errorf("%+v", view)
	}
	if r, _ := fetch(t, "GET", p.URL()+"api/host?name=nobody", "", nil); r.StatusCode != http.StatusNotFound {
		t.Errorf("a host that has not joined: %s", r.Status)
	}
	var none PairMesh
	if ask(t, p, "api/mesh?from=no&to=where", &none); len(none.From)+len(none.To)+len(none.Cells) != 0 {
		t.Errorf("%+v", none)
	}
}

func ask(t *testing.T, p *Page, path string, into any) {
	t.Helper()
	r, text := fetch(t, "GET", p.URL()+path, "", nil)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, r.Status)
	}
	must(t, json.Unmarshal([]byte(text), into))
}

// TestAssignmentIsToldOnce checks that an agent that has its assignment is not told it again, until it changes.
func TestAssignmentIsToldOnce(t *testing.T) {
	t.Parallel()
	m := slowIn(t, t.TempDir())
	join(t, m, Host{Name: "a", Addr: "10.0.0.1", Rack: "r"}, Host{Name: "b", Addr: "10.0.0.2", Rack: "r"})
	told := func(have string) (a assignment) {
		text, err := m.assignmentText("a", have)
		must(t, err)
		must(t, json.Unmarshal(text, &a))
		return a
	}
	first := told("")
	if first.Same || len(first.Targets) != 1 || first.Digest == "" {
		t.Fatalf("%+v", first)
	}
	if again := told(first.Digest); !again.Same || len(again.Targets) != 0 || again.Digest != first.Digest {
		t.Errorf("%+v", again)
	}
	if lost := told("another"); lost.Same || len(lost.Targets) != 1 {
		t.Errorf("one that has another: %+v", lost)
	}
	join(t, m, Host{Name: "c", Addr: "10.0.0.3", Rack: "r"})
	eventually(t, "a further host is among the targets", func() bool {
		next := told(first.Digest)
		return !next.Same && len(next.Targets) == 2
	})
}
